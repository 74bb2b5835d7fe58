//! From events to lines: the streams of each process, whichever end was recorded, cut at newlines.
//!
//! A simulated trace has both ends of a pipe, a real one only the mock's. The sender's writes are the stream where they
//! were recorded; otherwise the receiver's reads are. A message is received by the read that brings its newline; where
//! the receiver's end was not recorded, it counts as received when it was sent.

use mcp_parley_trace::{Channel, Event, Kind, Node, Recording};

use super::exchange::{Body, Exchange, Part, is_write, part};
use super::message::{Message, NONE, Side};
use super::{Buffers, Moment, What};
use crate::json::equal;

/// No negotiation has more messages; what is past this is left unjudged. Some checks compare each with each.
const MESSAGES: usize = 1 << 12;

/// One direction of one process's pipes, or of one exchange. Positions are in the story's text.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stream {
    has_writes: bool,
    pub(super) body: Body,
    /// How many bytes its writes have, and its reads.
    written: u32,
    read: u32,
    /// Where it begins.
    pub(super) base: u32,
    /// Where the next byte goes.
    pub(super) fill: u32,
    /// Where the line under way began, or the data of the event under way.
    pub(super) line: u32,
    /// Of an event stream: how many bytes it has had, and how many of them are the line under way, which stands at `fill`.
    pub(super) raw: u32,
    pub(super) partial: u32,
    pub(super) after_cr: bool,
    /// The event under way is of a type that is no message.
    pub(super) foreign: bool,
    /// How far the receiver has read.
    pub(super) seen: u32,
    /// The first message that the receiver has not got yet.
    waiting: u32,
    /// The newest message.
    tail: u32,
    pub(super) last: u32,
    pub(super) last_us: u64,
}

/// Which ends of the pipes the recorder saw.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ends {
    pub(crate) client: bool,
    pub(crate) server: bool,
}

impl Ends {
    /// The recorder saw what this side received, when it received it.
    pub(crate) fn has(self, side: Side) -> bool {
        match side {
            Side::Client => self.client,
            Side::Server => self.server,
        }
    }
}

/// The direction in which an event moves bytes, if it does.
fn direction(event: &Event) -> Option<(u32, Side)> {
    let Channel::Process(number) = event.channel else { return None };
    match (event.kind, event.node) {
        (Kind::Write, Node::Client) | (Kind::Read, Node::Server) => Some((number, Side::Client)),
        (Kind::Write, Node::Server) | (Kind::Read, Node::Client) => Some((number, Side::Server)),
        _ => None,
    }
}

impl Buffers {
    /// Finds the processes, or the exchanges, and how long each stream is, so that every stream is one piece of the text.
    pub(super) fn lay_out(&mut self, run: &Recording) {
        self.numbers.clear();
        for event in run.events() {
            if let Some(number) = self.number(event)
                && self.numbers.last() != Some(&number)
            {
                self.numbers.push(number);
            }
        }
        self.numbers.sort_unstable();
        self.numbers.dedup();
        self.streams.clear();
        self.streams
            .resize(self.numbers.len() * 2, Stream { waiting: NONE, tail: NONE, ..Stream::default() });
        self.ends = Ends::default();
        self.endpoint = NONE;
        self.exchanges.clear();
        self.exchanges.resize(if self.http { self.numbers.len() } else { 0 }, Exchange::NEW);
        for event in run.events() {
            if let Some((number, side, part)) = self.direction(event) {
                self.ends.client |= event.node == Node::Client;
                self.ends.server |= event.node == Node::Server;
                let index = self.stream(number, side);
                let stream = &mut self.streams[index];
                stream.has_writes |= is_write(event.kind);
                if part == Part::Bytes {
                    let size = if is_write(event.kind) { &mut stream.written } else { &mut stream.read };
                    *size = size.saturating_add(event.len() as u32);
                }
            }
        }
        let mut next = 0;
        for stream in &mut self.streams {
            (stream.base, stream.fill, stream.line, stream.seen) = (next, next, next, next);
            if self.http {
                stream.body = Body::Text;
            }
            next = next.saturating_add(if stream.has_writes { stream.written } else { stream.read });
        }
        self.text.clear();
        self.text.resize(next as usize, 0);
    }

    fn stream(&self, number: u32, side: Side) -> usize {
        self.numbers.binary_search(&number).unwrap_or_default() * 2 + usize::from(side == Side::Server)
    }

    /// The place of a process: over HTTP there is one server, whatever it runs in.
    pub(super) fn slot(&self, number: u32) -> u32 {
        if self.http { 0 } else { self.numbers.binary_search(&number).unwrap_or_default() as u32 }
    }

    /// The number of the process, or of the exchange, that has streams.
    fn number(&self, event: &Event) -> Option<u32> {
        match event.channel {
            Channel::Process(number) if !self.http => Some(number),
            Channel::Exchange(number) if self.http => Some(number),
            _ => None,
        }
    }

    fn direction(&self, event: &Event) -> Option<(u32, Side, Part)> {
        if !self.http {
            return direction(event).map(|(number, side)| (number, side, Part::Bytes));
        }
        let (side, part) = part(event)?;
        self.number(event).map(|number| (number, side, part))
    }

    /// Takes the next event into the story.
    pub(super) fn take(&mut self, run: &Recording, seq: u32, event: &Event) {
        if self.http && matches!(event.channel, Channel::Exchange(_)) {
            self.take_exchange(run, seq, event);
            return;
        }
        let Some((number, side)) = direction(event).filter(|_| !self.http) else {
            self.moments.push(Moment { seq, t_us: event.t_us, what: What::Life(*event) });
            return;
        };
        let index = self.stream(number, side);
        if self.streams[index].is_source(event.kind == Kind::Write) {
            self.append(index, side, seq, event.t_us, run.bytes(event));
        }
        let receiver = if side == Side::Client { Side::Server } else { Side::Client };
        if event.kind == Kind::Read || !self.ends.has(receiver) {
            let stream = &mut self.streams[index];
            stream.seen = stream.seen.saturating_add(event.len() as u32);
            self.deliver(index, seq, event.t_us);
        }
    }

    fn append(&mut self, index: usize, side: Side, seq: u32, t_us: u64, bytes: &[u8]) {
        let stream = self.streams[index];
        let start = stream.fill as usize;
        let Some(room) = self.text.get_mut(start..start + bytes.len()) else { return };
        room.copy_from_slice(bytes);
        let stream = &mut self.streams[index];
        stream.fill += bytes.len() as u32;
        (stream.last, stream.last_us) = (seq, t_us);
        let mut line = stream.line;
        let mut done = 0;
        while let Some(at) = newline(bytes.get(done..).unwrap_or_default()) {
            let end = (start + done + at) as u32;
            self.line(index, side, (line, end), end + 1, (seq, t_us));
            line = end + 1;
            done += at + 1;
        }
        self.streams[index].line = line;
    }

    /// `wire`: how far the receiver must have read to have it.
    pub(super) fn line(
        &mut self,
        index: usize,
        side: Side,
        (start, end): (u32, u32),
        wire: u32,
        (seq, t_us): (u32, u64),
    ) {
        if self.messages.len() >= MESSAGES {
            self.overflow = true;
            return;
        }
        let place = self.messages.len() as u32;
        let mut message = Message::new(side, self.process_at(index), start, end, seq, t_us);
        (message.place, message.wire) = (place, wire);
        message.read(&mut self.tree, &self.text);
        if self.http {
            self.place_in_exchange(&mut message, index);
        }
        self.messages.push(message);
        self.correlate(place);
        self.moments.push(Moment { seq, t_us, what: What::Sent(place) });
        self.next_in_stream.push(NONE);
        let stream = &mut self.streams[index];
        let tail = std::mem::replace(&mut stream.tail, place);
        if stream.waiting == NONE {
            stream.waiting = place;
        }
        if let Some(link) = self.next_in_stream.get_mut(tail as usize) {
            *link = place;
        }
    }

    fn process_at(&self, index: usize) -> u32 {
        if self.http { 0 } else { index as u32 / 2 }
    }

    /// Marks as received what the receiver has read to the end.
    pub(super) fn deliver(&mut self, index: usize, seq: u32, t_us: u64) {
        let seen = self.streams[index].seen;
        let mut waiting = self.streams[index].waiting;
        while let Some(message) = self.messages.get_mut(waiting as usize) {
            if message.wire > seen {
                break;
            }
            (message.received, message.received_us) = (seq, t_us);
            self.moments.push(Moment { seq, t_us, what: What::Received(waiting) });
            waiting = self.next_in_stream.get(waiting as usize).copied().unwrap_or(NONE);
        }
        self.streams[index].waiting = waiting;
    }

    /// What no newline ended.
    pub(super) fn leftovers(&mut self) {
        for index in 0..self.streams.len() {
            let stream = self.streams[index];
            if stream.line < stream.fill && self.messages.len() < MESSAGES {
                let side = if index % 2 == 0 { Side::Client } else { Side::Server };
                let process = self.process_at(index);
                self.messages.push(Message::new(
                    side,
                    process,
                    stream.line,
                    stream.fill,
                    stream.last,
                    stream.last_us,
                ));
            }
        }
    }
}

/// Where the first newline is; looks at eight bytes at a time.
fn newline(bytes: &[u8]) -> Option<usize> {
    let (blocks, rest) = bytes.as_chunks();
    for (at, block) in blocks.iter().enumerate() {
        let found = equal(u64::from_le_bytes(*block), b'\n');
        if found != 0 {
            return Some(at * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    rest.iter().position(|byte| *byte == b'\n').map(|at| bytes.len() - rest.len() + at)
}

impl Stream {
    /// The stream is made of events of this kind.
    pub(super) fn is_source(&self, is_write: bool) -> bool {
        is_write == self.has_writes
    }

    pub(crate) fn end(&self) -> u32 {
        self.fill
    }
}
