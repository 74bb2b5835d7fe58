//! What is going to happen, ordered by time and then by the order in which it was decided.

use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::client::{DownKind, Process};
use mcp_parley_negotiation::http::Exchange;

use super::http::Part;

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
    /// Over HTTP, a request is at the server's door.
    RequestArrives(Exchange, u32),
    /// A part of its answer is at the client's.
    Answer(Exchange, Part, u32),
    /// The client has closed an exchange, and the server learns of it.
    ClientLeft(Exchange, u32),
    SiteWake,
    SiteUp,
    SiteDies(u32),
}

/// The queue: what happens next is last. A run has a handful of things waiting, most of them to happen after all others, which
/// is less work in a sorted list than in a heap.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: Vec<(Time, What)>,
}

impl Queue {
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// At the same time, what was decided first happens first.
    pub(super) fn at(&mut self, time: Time, what: What) {
        let place = self.waiting.partition_point(|(other, _)| *other > time);
        self.waiting.insert(place, (time, what));
    }

    pub(super) fn pop(&mut self) -> Option<(Time, What)> {
        self.waiting.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_happen_by_time_and_then_in_the_order_of_decision() {
        let mut queue = Queue::default();
        for (number, time_us) in [5, 3, 5, 1, 3, 5, 0].into_iter().enumerate() {
            queue.at(Time(time_us), What::Boot(Process(number as u32)));
        }
        let order: Vec<u32> = std::iter::from_fn(|| queue.pop())
            .map(|(_, what)| match what {
                What::Boot(process) => process.0,
                _ => u32::MAX,
            })
            .collect();
        assert_eq!(order, [6, 3, 1, 4, 0, 2, 5]);
    }
}
