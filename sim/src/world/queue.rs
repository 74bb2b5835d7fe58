//! What is going to happen, ordered by time and then by the order in which it was decided.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::client::{DownKind, Process};

/// Something that is going to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// The client may write to it.
    Up(Process),
    /// The server begins to read.
    Boot(Process),
    SpawnFailed(Process),
    ToServer {
        process: Process,
        start: u32,
        end: u32,
        cause: u32,
    },
    ServerEof(Process, Option<u32>),
    ServerWake(Process),
    Kill(Process, u32),
    ToClient {
        process: Process,
        start: u32,
        end: u32,
        cause: u32,
    },
    ClientDown(Process, DownKind, Option<u32>),
    ClientWake,
    Shutdown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    time: Time,
    order: u32,
    what: What,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.time, other.order).cmp(&(self.time, self.order))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The queue.
#[derive(Debug, Default)]
pub(super) struct Queue {
    heap: BinaryHeap<Entry>,
    order: u32,
}

impl Queue {
    pub(super) fn clear(&mut self) {
        self.heap.clear();
        self.order = 0;
    }

    pub(super) fn at(&mut self, time: Time, what: What) {
        self.order += 1;
        self.heap.push(Entry { time, order: self.order, what });
    }

    pub(super) fn pop(&mut self) -> Option<(Time, What)> {
        self.heap.pop().map(|entry| (entry.time, entry.what))
    }
}
