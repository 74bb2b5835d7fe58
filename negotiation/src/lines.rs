//! stdio framing: bytes in any chunks, whole lines out.

use crate::limits::Limits;

/// Splits a byte stream into lines. Any split of the same bytes gives the same lines.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    buffer: Vec<u8>,
    start: usize,
    scanned: usize,
    skipping: bool,
}

/// What the stream holds next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// A line without its newline. A carriage return before it is still there.
    Whole(&'a [u8]),
    /// A line was longer than [`Limits::message_bytes`]: it is skipped, reported once, and nothing of it is kept.
    TooLong,
}

impl Lines {
    /// An empty stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets all, keeps the memory.
    pub fn clear(&mut self) {
        self.buffer.clear();
        (self.start, self.scanned, self.skipping) = (0, 0, false);
    }

    /// Adds bytes. Call [`Lines::next`] until it returns `None` before adding more: this keeps memory within the limit
    /// plus one chunk.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start == self.buffer.len() {
            self.buffer.clear();
            (self.start, self.scanned) = (0, 0);
        } else if self.start > 0 {
            self.buffer.drain(..self.start);
            self.scanned -= self.start;
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole line, if there is one.
    pub fn next(&mut self, limits: &Limits) -> Option<Line<'_>> {
        loop {
            let fresh = self.buffer.get(self.scanned..).unwrap_or_default();
            let Some(at) = memchr::memchr(b'\n', fresh) else {
                self.scanned = self.buffer.len();
                return self.keep_within(limits);
            };
            let (from, to) = (self.start, self.scanned + at);
            self.start = to + 1;
            self.scanned = to + 1;
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            if to - from > limits.message_bytes {
                return Some(Line::TooLong);
            }
            return self.buffer.get(from..to).map(Line::Whole);
        }
    }

    /// True if [`Lines::next`] has nothing to return until more bytes are added.
    pub fn is_drained(&self) -> bool {
        self.scanned == self.buffer.len()
    }

    /// What came after the last newline, when the stream ends there.
    pub fn rest(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    fn keep_within(&mut self, limits: &Limits) -> Option<Line<'_>> {
        if self.skipping || self.buffer.len() - self.start > limits.message_bytes {
            self.buffer.clear();
            (self.start, self.scanned) = (0, 0);
            return (!std::mem::replace(&mut self.skipping, true)).then_some(Line::TooLong);
        }
        None
    }
}
