//! What one process is about to do, in order: how lines become writes, and when.

use std::collections::VecDeque;
use std::ops::Range;

use mcp_parley_negotiation::Time;

use crate::engine::ServerOutput;
use crate::wire::{LineEnd, Wire};

/// No more bytes than this wait to be written; what comes on top is lost. Only slow writes let any wait.
pub(crate) const MOST: usize = 64 << 20;

/// The outputs of one process that were not polled yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pipe {
    steps: VecDeque<Step>,
    bytes: Vec<u8>,
    /// No write before this time.
    free_at: Time,
    marked: bool,
    closed: bool,
    ending: bool,
}

#[derive(Clone, Debug)]
enum Step {
    /// What is left of a write that may be cut into pieces.
    Write(Range<usize>),
    Stderr(Range<usize>),
    Close,
    End(ServerOutput),
}

impl Pipe {
    /// As new, in the memory of before.
    pub(crate) fn renew(&mut self) {
        self.drop_rest();
        let (steps, bytes) = (std::mem::take(&mut self.steps), std::mem::take(&mut self.bytes));
        *self = Self { steps, bytes, ..Self::default() };
    }

    /// A line on standard output, framed as the wire says. Nobody can read it once that is closed.
    pub(crate) fn line(&mut self, wire: &Wire, line: &[u8]) {
        if self.closed || self.is_full(line.len()) {
            return;
        }
        let mut start = self.bytes.len();
        if wire.together
            && let Some(Step::Write(before)) = self.steps.back()
        {
            start = before.start;
            self.steps.pop_back();
        }
        if wire.byte_order_mark && !std::mem::replace(&mut self.marked, true) {
            self.bytes.extend_from_slice("\u{feff}".as_bytes());
        }
        if wire.line_end == LineEnd::ContentLength {
            self.bytes.extend_from_slice(format!("Content-Length: {}\r\n\r\n", line.len()).as_bytes());
        }
        self.bytes.extend_from_slice(line);
        match wire.line_end {
            LineEnd::Lf => self.bytes.push(b'\n'),
            LineEnd::CrLf => self.bytes.extend_from_slice(b"\r\n"),
            LineEnd::None | LineEnd::ContentLength => {}
        }
        if start < self.bytes.len() {
            self.steps.push_back(Step::Write(start..self.bytes.len()));
        }
    }

    /// A line on standard error.
    pub(crate) fn stderr(&mut self, line: &[u8]) {
        if self.is_full(line.len()) {
            return;
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(line);
        self.bytes.push(b'\n');
        self.steps.push_back(Step::Stderr(start..self.bytes.len()));
    }

    pub(crate) fn close(&mut self) {
        if !std::mem::replace(&mut self.closed, true) {
            self.steps.push_back(Step::Close);
        }
    }

    /// The process ends after what is to be done before.
    pub(crate) fn end(&mut self, how: ServerOutput) {
        if !std::mem::replace(&mut self.ending, true) {
            self.steps.push_back(Step::End(how));
        }
    }

    /// Forgets what was not done.
    pub(crate) fn drop_rest(&mut self) {
        self.steps.clear();
        self.bytes.clear();
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.ending
    }

    /// How much was put in since nothing waited last.
    pub(crate) fn filled(&self) -> usize {
        self.bytes.len()
    }

    fn is_full(&self, more: usize) -> bool {
        self.bytes.len().saturating_add(more) > MOST
    }

    /// The next output that is due; bytes are appended to `buf`.
    pub(crate) fn poll(&mut self, now: Time, wire: &Wire, buf: &mut Vec<u8>) -> Option<ServerOutput> {
        let Some(step) = self.steps.front_mut() else {
            self.bytes.clear();
            return None;
        };
        let start = buf.len();
        if let Step::Write(line) = step {
            if now < self.free_at {
                return None;
            }
            let size = wire.chunk_bytes.map_or(usize::MAX, |size| size as usize);
            let end = line.start.saturating_add(size).min(line.end);
            buf.extend_from_slice(self.bytes.get(line.start..end).unwrap_or_default());
            line.start = end;
            if line.start >= line.end {
                self.steps.pop_front();
            }
            if let Some(gap_ms) = wire.gap_ms {
                self.free_at = now.plus_us(gap_ms.saturating_mul(1000));
            }
            return Some(ServerOutput::Write(start..buf.len()));
        }
        match self.steps.pop_front()? {
            Step::Stderr(line) => {
                buf.extend_from_slice(self.bytes.get(line).unwrap_or_default());
                Some(ServerOutput::Stderr(start..buf.len()))
            }
            Step::End(how) => Some(how),
            Step::Close | Step::Write(_) => Some(ServerOutput::CloseOutput),
        }
    }

    /// When the next write is due, if one waits.
    pub(crate) fn due(&self) -> Option<Time> {
        (!self.steps.is_empty()).then_some(self.free_at)
    }
}
