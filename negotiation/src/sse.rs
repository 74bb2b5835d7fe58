//! Event streams (`text/event-stream`): bytes in any chunks, the messages of their events out (HTTP-06, HTTP-29, LEG-24).
//!
//! No id and no time of reconnection is kept: nothing here takes a stream up again.

use memchr::memchr2;

use crate::limits::Limits;

/// Takes an event stream apart. Any split of the same bytes gives the same events.
#[derive(Clone, Debug, Default)]
pub struct EventStream {
    /// Bytes that belong to no whole line yet, from `start` on.
    buffer: Vec<u8>,
    start: usize,
    scanned: usize,
    /// The data of the event that is being read, a newline after each line.
    data: Vec<u8>,
    event: EventState,
    line: LineState,
    /// The last line ended with a carriage return: a newline that follows belongs to it.
    after_cr: bool,
    /// The first line was read: a byte-order mark is none any more.
    begun: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct EventState {
    /// `data` was given to the caller.
    given: bool,
    /// Its type is not `message`.
    other: bool,
    too_long: bool,
}

/// What is known of a line of which no byte is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LineState {
    #[default]
    Kept,
    SkippedData,
    Skipped,
}

/// What the stream holds next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEvent<'a> {
    /// The data of an event of type `message`, which is the type of an event that names none.
    Message(&'a [u8]),
    /// Its data was longer than [`Limits::message_bytes`]: nothing of it is kept.
    TooLong,
}

/// The longest that may stand before the data on its line.
const BEFORE_DATA: usize = "\u{feff}data: ".len();

impl EventStream {
    /// An empty stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds bytes. Call [`EventStream::next`] until it returns `None` before adding more: this keeps memory within twice the
    /// limit plus one chunk.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.start);
        self.scanned -= self.start;
        self.start = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole event that has data. An event that the stream breaks off is none.
    pub fn next(&mut self, limits: &Limits) -> Option<StreamEvent<'_>> {
        if std::mem::take(&mut self.event.given) {
            self.end_event();
        }
        while let Some((from, to)) = self.next_line(limits) {
            if self.read_line(from, to, limits) {
                continue;
            }
            let whole = self.data.len().saturating_sub(1);
            if self.event.other || (whole == 0 && !self.event.too_long) {
                self.end_event();
                continue;
            }
            self.event.given = true;
            return Some(match self.event.too_long {
                true => StreamEvent::TooLong,
                false => StreamEvent::Message(self.data.get(..whole).unwrap_or_default()),
            });
        }
        None
    }

    /// How many bytes it keeps, for whoever sets a bound on it.
    pub fn kept(&self) -> usize {
        self.buffer.len() - self.start + self.data.len()
    }

    fn end_event(&mut self) {
        self.data.clear();
        self.event = EventState::default();
    }

    /// Where the next line stands in the buffer. A carriage return, a newline, or both end it.
    fn next_line(&mut self, limits: &Limits) -> Option<(usize, usize)> {
        if self.after_cr && self.start < self.buffer.len() {
            self.after_cr = false;
            if self.buffer.get(self.start) == Some(&b'\n') {
                self.start += 1;
                self.scanned = self.start;
            }
        }
        let fresh = self.buffer.get(self.scanned..).unwrap_or_default();
        let Some(at) = memchr2(b'\r', b'\n', fresh).map(|at| self.scanned + at) else {
            self.scanned = self.buffer.len();
            self.keep_within(limits);
            return None;
        };
        let from = self.start;
        self.after_cr = self.buffer.get(at) == Some(&b'\r');
        self.start = at + 1;
        self.scanned = self.start;
        Some((from, at))
    }

    /// Of a line that is too long nothing is kept but what it was.
    fn keep_within(&mut self, limits: &Limits) {
        if self.line == LineState::Kept {
            self.line = self.judge_length(self.start, self.buffer.len(), limits);
        }
        if self.line != LineState::Kept {
            self.buffer.clear();
            (self.start, self.scanned) = (0, 0);
        }
    }

    fn judge_length(&self, from: usize, to: usize, limits: &Limits) -> LineState {
        if to - from <= limits.message_bytes + BEFORE_DATA {
            LineState::Kept
        } else if self.line_at(from, to).starts_with(b"data:") {
            LineState::SkippedData
        } else {
            LineState::Skipped
        }
    }

    /// Without the mark that may stand before the first line.
    fn line_at(&self, from: usize, to: usize) -> &[u8] {
        let line = self.buffer.get(from..to).unwrap_or_default();
        let mark = Some("\u{feff}".as_bytes()).filter(|_| !self.begun);
        mark.and_then(|mark| line.strip_prefix(mark)).unwrap_or(line)
    }

    /// Reads a line. False for the blank one, which ends the event.
    fn read_line(&mut self, from: usize, to: usize, limits: &Limits) -> bool {
        let state = match std::mem::take(&mut self.line) {
            LineState::Kept => self.judge_length(from, to, limits),
            skipped => skipped,
        };
        let more = match state {
            LineState::Kept => self.read_field(from, to, limits),
            LineState::Skipped => true,
            LineState::SkippedData => {
                self.refuse_data();
                true
            }
        };
        self.begun = true;
        more
    }

    fn read_field(&mut self, from: usize, to: usize, limits: &Limits) -> bool {
        let line = self.line_at(from, to);
        if line.is_empty() {
            return false;
        }
        let colon = memchr::memchr(b':', line).unwrap_or(line.len());
        let (name, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" if self.data.len() + value.len() > limits.message_bytes => self.refuse_data(),
            b"data" if !self.event.too_long => {
                let end = to - value.len()..to;
                self.data.extend_from_slice(self.buffer.get(end).unwrap_or_default());
                self.data.push(b'\n');
            }
            b"event" => self.event.other = !matches!(value, b"" | b"message"),
            _ => {}
        }
        true
    }

    fn refuse_data(&mut self) {
        self.event.too_long = true;
        self.data.clear();
    }
}
