//! From events to lines: the streams of each process, whichever end was recorded, cut at newlines.
//!
//! A simulated trace has both ends of a pipe, a real one only the mock's. The sender's writes are the stream where they
//! were recorded; otherwise the receiver's reads are. A message is received by the read that brings its newline; where
//! the receiver's end was not recorded, it counts as received when it was sent.

use mcp_parley_trace::{Channel, Event, Kind, Node, Recording};

use super::message::{Message, NONE, Side};
use super::{Buffers, Moment, What};
use crate::json::equal;

/// No negotiation has more messages; what is past this is left unjudged. Some checks compare each with each.
const MESSAGES: usize = 1 << 12;

/// One direction of one process's pipes. Positions are in the story's text.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stream {
    has_writes: bool,
    /// How many bytes its writes have, and its reads.
    written: u32,
    read: u32,
    /// Where the next byte goes.
    fill: u32,
    /// Where the line under way began.
    line: u32,
    /// How far the receiver has read.
    seen: u32,
    /// The first message that the receiver has not got yet.
    waiting: u32,
    /// The newest message.
    tail: u32,
    last: u32,
    last_us: u64,
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
    /// Finds the processes and how long each stream is, so that every stream is one piece of the text.
    pub(super) fn lay_out(&mut self, run: &Recording) {
        self.numbers.clear();
        for event in run.events() {
            if let Channel::Process(number) = event.channel
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
        for event in run.events() {
            if let Some((number, side)) = direction(event) {
                self.ends.client |= event.node == Node::Client;
                self.ends.server |= event.node == Node::Server;
                let index = self.stream(number, side);
                let stream = &mut self.streams[index];
                let is_write = event.kind == Kind::Write;
                stream.has_writes |= is_write;
                let size = if is_write { &mut stream.written } else { &mut stream.read };
                *size = size.saturating_add(event.len() as u32);
            }
        }
        let mut next = 0;
        for stream in &mut self.streams {
            (stream.fill, stream.line, stream.seen) = (next, next, next);
            next = next.saturating_add(if stream.has_writes { stream.written } else { stream.read });
        }
        self.text.clear();
        self.text.resize(next as usize, 0);
    }

    fn stream(&self, number: u32, side: Side) -> usize {
        self.slot(number) as usize * 2 + usize::from(side == Side::Server)
    }

    pub(super) fn slot(&self, number: u32) -> u32 {
        self.numbers.binary_search(&number).unwrap_or_default() as u32
    }

    /// Takes the next event into the story.
    pub(super) fn take(&mut self, run: &Recording, seq: u32, event: &Event) {
        let Some((number, side)) = direction(event) else {
            self.moments.push(Moment { seq, t_us: event.t_us, what: What::Life(*event) });
            return;
        };
        let index = self.stream(number, side);
        if self.streams[index].is_source(event.kind) {
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
            self.line(index, side, (line, end), (seq, t_us));
            line = end + 1;
            done += at + 1;
        }
        self.streams[index].line = line;
    }

    fn line(&mut self, index: usize, side: Side, (start, end): (u32, u32), (seq, t_us): (u32, u64)) {
        if self.messages.len() >= MESSAGES {
            self.overflow = true;
            return;
        }
        let place = self.messages.len() as u32;
        let mut message = Message::new(side, index as u32 / 2, start, end, seq, t_us);
        message.place = place;
        message.read(&mut self.tree, &self.text);
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

    /// Marks as received what the receiver has read to the end.
    fn deliver(&mut self, index: usize, seq: u32, t_us: u64) {
        let seen = self.streams[index].seen;
        let mut waiting = self.streams[index].waiting;
        while let Some(message) = self.messages.get_mut(waiting as usize) {
            if message.end >= seen {
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
                let process = index as u32 / 2;
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
    fn is_source(&self, kind: Kind) -> bool {
        (kind == Kind::Write) == self.has_writes
    }

    pub(crate) fn end(&self) -> u32 {
        self.fill
    }
}
