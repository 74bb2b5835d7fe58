//! The bodies of HTTP exchanges: a JSON body is one message, an event stream one for each event that has data.

use mcp_parley_trace::{Channel, Event, Recording};

use super::exchange::{Body, Exchange, Head, Part, is_write, part};
use super::message::{NONE, Side};
use super::{Buffers, Moment, What};

impl Buffers {
    /// Takes the next event of an exchange into the story.
    pub(super) fn take_exchange(&mut self, run: &Recording, seq: u32, event: &Event) {
        let Channel::Exchange(number) = event.channel else { return };
        let place = self.numbers.binary_search(&number).unwrap_or_default();
        let Some((side, part)) = part(event) else {
            let client_seen = self.ends.has(Side::Client);
            if let Some(exchange) = self.exchanges.get_mut(place) {
                exchange.life(seq, event, client_seen);
            }
            self.moments.push(Moment { seq, t_us: event.t_us, what: What::Life(*event) });
            return;
        };
        let index = place * 2 + usize::from(side == Side::Server);
        let now = (seq, event.t_us);
        if self.streams[index].is_source(is_write(event.kind)) {
            match part {
                Part::Head => self.head(run, index, now, run.bytes(event)),
                Part::Bytes => self.piece(index, side, now, run.bytes(event)),
                Part::End => self.end_body(index, side, now),
            }
        }
        let receiver = if side == Side::Client { Side::Server } else { Side::Client };
        if is_write(event.kind) && self.ends.has(receiver) {
            return;
        }
        if let Some(exchange) = self.exchanges.get_mut(place).filter(|_| side == Side::Server) {
            // Written when the client had gone.
            if is_write(event.kind) && exchange.closed.is_some() {
                return;
            }
            exchange.is_received(part, now);
        }
        let stream = &mut self.streams[index];
        stream.seen = match part {
            Part::Head => return,
            Part::Bytes => stream.seen.saturating_add(event.len() as u32),
            Part::End => NONE,
        };
        self.deliver(index, seq, event.t_us);
    }

    fn head(&mut self, run: &Recording, index: usize, (seq, t_us): (u32, u64), bytes: &[u8]) {
        let head = Head(bytes);
        let Some(exchange) = self.exchanges.get_mut(index / 2) else { return };
        if index.is_multiple_of(2) {
            if exchange.request_head != NONE {
                return;
            }
            (exchange.request_head, exchange.asked, exchange.asked_us) = (seq, seq, t_us);
            exchange.is_post = head.verb() == b"POST";
            exchange.is_get = head.verb() == b"GET";
            // The older transport asks for its stream before it posts, and elsewhere.
            let streams = exchange.is_get && head.lists("accept", "text/event-stream");
            if self.endpoint == NONE && (exchange.is_post || streams) {
                self.endpoint = seq;
            }
            let first = run.get(self.endpoint).map(|event| run.bytes(event));
            exchange.at_endpoint = first.is_some_and(|first| Head(first).path() == head.path());
            self.streams[index].body = Body::Json;
        } else if exchange.answer_head == NONE && !matches!(head.status(), 100..=199) {
            (exchange.answer_head, exchange.answered) = (seq, seq);
            (exchange.status, exchange.body) = (head.status(), head.body());
            self.streams[index].body = exchange.body;
        }
    }

    fn piece(&mut self, index: usize, side: Side, now: (u32, u64), bytes: &[u8]) {
        let stream = &mut self.streams[index];
        (stream.last, stream.last_us) = now;
        if let Some(exchange) = self.exchanges.get_mut(index / 2).filter(|_| side == Side::Server) {
            exchange.raw |= exchange.answer_head == NONE;
            exchange.answer_len = exchange.answer_len.saturating_add(bytes.len() as u32);
        }
        if stream.body == Body::Events {
            for byte in bytes {
                self.event_byte(index, side, now, *byte);
            }
            return;
        }
        let start = stream.fill as usize;
        let Some(room) = self.text.get_mut(start..start + bytes.len()) else { return };
        room.copy_from_slice(bytes);
        stream.fill += bytes.len() as u32;
    }

    fn end_body(&mut self, index: usize, side: Side, now: (u32, u64)) {
        let Some(exchange) = self.exchanges.get_mut(index / 2) else { return };
        match side {
            Side::Client => (exchange.asked, exchange.asked_us) = now,
            Side::Server => exchange.answered = now.0,
        }
        if self.streams[index].body == Body::Events {
            if self.streams[index].partial > 0 {
                self.end_line(index, side, now);
            }
            // The text drops an event without its empty line, and many readers take it all the same.
            self.dispatch(index, side, now, true);
            return;
        }
        let stream = &mut self.streams[index];
        let (start, end) = (stream.line, stream.fill);
        stream.line = end;
        if start < end {
            self.message(index, side, (start, end), NONE, now, false);
        }
    }

    /// The lines of an event stream end with LF, CR or both; their data moves to where the line began, which has room.
    fn event_byte(&mut self, index: usize, side: Side, now: (u32, u64), byte: u8) {
        let stream = &mut self.streams[index];
        stream.raw += 1;
        let after_cr = std::mem::replace(&mut stream.after_cr, byte == b'\r');
        match byte {
            b'\n' if after_cr => {}
            b'\n' | b'\r' => self.end_line(index, side, now),
            _ => {
                let at = stream.fill.saturating_add(stream.partial) as usize;
                if let Some(place) = self.text.get_mut(at) {
                    *place = byte;
                    stream.partial += 1;
                }
            }
        }
    }

    fn end_line(&mut self, index: usize, side: Side, now: (u32, u64)) {
        let stream = &mut self.streams[index];
        let start = stream.fill as usize;
        let partial = std::mem::take(&mut stream.partial) as usize;
        if partial == 0 {
            self.dispatch(index, side, now, false);
            return;
        }
        let Some(line) = self.text.get_mut(start..start + partial) else { return };
        let mark =
            if stream.raw as usize <= partial + 1 && line.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let named = line.get(mark..).unwrap_or_default();
        let colon = named.iter().position(|byte| *byte == b':').unwrap_or(named.len());
        let (name, rest) = named.split_at(colon);
        let value = rest.get(1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                let len = value.len();
                line.copy_within(partial - len.., 0);
                if let Some(end) = line.get_mut(len) {
                    *end = b'\n';
                }
                stream.fill += len as u32 + 1;
            }
            b"retry" => {
                if let Some(exchange) = self.exchanges.get_mut(index / 2) {
                    exchange.says_when = true;
                }
            }
            b"event" => stream.foreign = !value.is_empty() && value != b"message",
            _ => {}
        }
    }

    /// The end of an event. One of another type, or without data, is no message.
    fn dispatch(&mut self, index: usize, side: Side, now: (u32, u64), cut_off: bool) {
        let stream = &mut self.streams[index];
        let (start, end) = (stream.line, stream.fill);
        stream.line = end;
        let foreign = std::mem::take(&mut stream.foreign);
        if !foreign && end > start + 1 {
            let wire = if cut_off { NONE } else { stream.base + stream.raw };
            self.message(index, side, (start, end - 1), wire, now, cut_off);
        }
    }

    /// The event whose bytes the message ends with, if it comes before the event that ends the body, is when it was sent.
    fn message(
        &mut self,
        index: usize,
        side: Side,
        span: (u32, u32),
        wire: u32,
        now: (u32, u64),
        cut_off: bool,
    ) {
        let place = self.messages.len() as u32;
        self.line(index, side, span, wire, now);
        let Some(message) = self.messages.get_mut(place as usize) else { return };
        let Some(exchange) = self.exchanges.get_mut(index / 2) else { return };
        let first = if side == Side::Client { &mut exchange.message } else { &mut exchange.reply };
        if *first == NONE {
            *first = place;
        }
        message.faint |= cut_off;
    }
}

impl Exchange {
    fn is_received(&mut self, part: Part, (seq, t_us): (u32, u64)) {
        match part {
            Part::Head if self.head_received == NONE => {
                (self.head_received, self.head_received_us) = (seq, t_us);
            }
            Part::End if self.complete == NONE => {
                (self.complete, self.complete_us) = (seq, t_us);
                // Where its sender's end was lost.
                self.answered = self.answered.min(seq);
            }
            _ => {}
        }
    }

    /// The body of its answer is no message: it is of another media type, or the page of an error that says nothing of JSON-RPC
    /// (AMB-34).
    pub(super) fn holds_text(&self, body: Body, says_jsonrpc: bool) -> bool {
        body == Body::Text || !says_jsonrpc && (self.status != 200 || !self.at_endpoint)
    }
}
