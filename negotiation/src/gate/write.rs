//! What the gate says: outputs in order, and the one place where an answer is written.

use std::collections::VecDeque;
use std::ops::Range;

use super::UnreadableId;
use crate::envelope::Id;
use crate::json::write_id;
use crate::version::Era;

/// What a gate says, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateOutput {
    /// One message with its newline: a range of the caller's buffer.
    Write(Range<usize>),
    /// What the message just written was.
    Event(GateEvent),
    /// Exit now: standard input has ended (STDIO-07). Nothing comes after it.
    Exit,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GateEvent {
    /// It was served.
    Served {
        /// In this era.
        era: Era,
        /// The place of its method in [`GatePolicy::methods`](super::GatePolicy::methods); `None` for `server/discover` and
        /// `ping`, which are the protocol's own.
        method: Option<usize>,
    },
    /// It was refused with this code.
    Refused(i64),
    /// `initialize` agreed on a version: its place in [`GatePolicy::legacy`](super::GatePolicy::legacy).
    HandshakeDone(usize),
}

/// The data of an error that is about versions.
#[derive(Clone, Copy, Debug)]
pub(super) struct VersionData<'a> {
    /// A JSON array.
    pub(super) supported: &'a str,
    /// The version asked for, as it was written between its quotes.
    pub(super) requested: Option<&'a str>,
}

/// Outputs that wait to be polled.
#[derive(Clone, Debug)]
pub(super) struct Outbox {
    queue: VecDeque<GateOutput>,
    bytes: Vec<u8>,
    unreadable_id: UnreadableId,
    /// BASE-04, broken on purpose.
    pub(super) other_id_type: bool,
}

impl Outbox {
    pub(super) fn new(unreadable_id: UnreadableId) -> Self {
        Self { queue: VecDeque::new(), bytes: Vec::new(), unreadable_id, other_id_type: false }
    }

    /// As new, in the memory of before.
    #[cfg(feature = "deviations")]
    pub(super) fn renew(&mut self, unreadable_id: UnreadableId) {
        self.queue.clear();
        self.bytes.clear();
        (self.unreadable_id, self.other_id_type) = (unreadable_id, false);
    }

    pub(super) fn poll(&mut self, buf: &mut Vec<u8>) -> Option<GateOutput> {
        match self.queue.pop_front() {
            Some(GateOutput::Write(range)) => {
                let start = buf.len();
                buf.extend_from_slice(self.bytes.get(range).unwrap_or_default());
                Some(GateOutput::Write(start..buf.len()))
            }
            Some(output) => Some(output),
            None => {
                self.bytes.clear();
                None
            }
        }
    }

    pub(super) fn exit(&mut self) {
        self.queue.push_back(GateOutput::Exit);
    }

    /// A result, by its members.
    pub(super) fn result(&mut self, id: &Id<'_>, members: &[&str], event: GateEvent) {
        let start = self.begin(id);
        self.bytes.extend_from_slice(b"\"result\":{");
        self.parts(members);
        self.end(start, event);
    }

    /// An error. The message must need no escapes.
    pub(super) fn error(&mut self, id: &Id<'_>, code: i64, message: &str, data: Option<VersionData<'_>>) {
        let start = self.begin(id);
        self.bytes.extend_from_slice(b"\"error\":{\"code\":");
        write_id(&mut self.bytes, &Id::Integer(code));
        self.parts(&[",\"message\":\"", message, "\""]);
        if let Some(data) = data {
            self.parts(&[",\"data\":{\"supported\":", data.supported]);
            if let Some(requested) = data.requested {
                self.parts(&[",\"requested\":\"", requested, "\""]);
            }
            self.parts(&["}"]);
        }
        self.end(start, GateEvent::Refused(code));
    }

    fn parts(&mut self, parts: &[&str]) {
        for part in parts {
            self.bytes.extend_from_slice(part.as_bytes());
        }
    }

    /// Up to the first member behind the id. An id that could not be read is left out or null (AMB-27).
    fn begin(&mut self, id: &Id<'_>) -> usize {
        let start = self.bytes.len();
        self.parts(&["{\"jsonrpc\":\"2.0\","]);
        if *id != Id::Absent || self.unreadable_id == UnreadableId::Null {
            self.parts(&["\"id\":"]);
            self.id(id);
            self.parts(&[","]);
        }
        start
    }

    fn id(&mut self, id: &Id<'_>) {
        match id {
            Id::Integer(number) if self.other_id_type => self.parts(&["\"", &number.to_string(), "\""]),
            Id::String(text) if self.other_id_type => {
                write_id(&mut self.bytes, &Id::Integer(text.raw().parse().unwrap_or(0)));
            }
            id => write_id(&mut self.bytes, id),
        }
    }

    fn end(&mut self, start: usize, event: GateEvent) {
        self.bytes.extend_from_slice(b"}}\n");
        self.queue.push_back(GateOutput::Write(start..self.bytes.len()));
        self.queue.push_back(GateOutput::Event(event));
    }
}
