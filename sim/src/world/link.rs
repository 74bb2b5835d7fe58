//! Pipes: bytes keep their order; they are delayed, split and cut as the chooser says.

use std::ops::Range;

use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::client::{DownKind, Process};

use super::Run;
use super::queue::What;
use crate::case::ClientSide;
use crate::chooser::{Chooser, Site};

/// How long a chunk travels when nothing delays it, in microseconds.
pub(super) const TRAVEL_US: u64 = 500;
/// A write is split into this many chunks at the most.
const MAX_CHUNKS: usize = 64;

/// In which direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    ToServer,
    ToClient,
}

impl<C: Chooser> Run<'_, C> {
    /// Sends bytes of the scratch buffer on their way; `cause` is the event that wrote them.
    pub(super) fn travel(&mut self, way: Way, process: Process, bytes: Range<usize>, cause: u32) {
        let start = self.world.wire.len();
        let bytes = self.world.buf.get(bytes).unwrap_or_default();
        self.world.wire.extend_from_slice(bytes);
        let end = self.world.wire.len();
        if !self.faults {
            return self.deliver(way, process, start..end, cause, self.now.plus_us(TRAVEL_US));
        }
        let delay_us = self.delay_us();
        let chunks = match self.chooser.choose(Site::Split, 8) {
            0..=5 => 1,
            6 => 2,
            _ => MAX_CHUNKS,
        };
        let cut = self.chooser.choose(Site::Cut, 32) == 31;
        let end_of_whole = if cut { start + (end - start) / 2 } else { end };
        let mut time = self.now.plus_us(TRAVEL_US).plus_us(delay_us);
        let size = (end_of_whole - start).div_ceil(chunks).max(1);
        let mut at = start;
        while at < end_of_whole {
            let next = (at + size).min(end_of_whole);
            self.deliver(way, process, at..next, cause, time);
            time = time.plus_us(1);
            at = next;
        }
        if cut {
            self.cut(process, cause, time);
        }
    }

    /// A menu, never a range: the edges of the client's time-outs are where bugs are.
    pub(super) fn delay_us(&mut self) -> u64 {
        let ClientSide::Machine { policy, .. } = &self.case.client else { return 0 };
        let timeout_us = policy.probe_timeout_us.saturating_sub(2 * TRAVEL_US);
        match self.chooser.choose(Site::Delay, 12) {
            0..=6 => 0,
            7 => timeout_us.saturating_sub(1),
            8 => timeout_us,
            9 => timeout_us.saturating_add(1),
            10 => policy.request_timeout_us,
            _ => policy.request_timeout_us.saturating_mul(3),
        }
    }

    fn deliver(&mut self, way: Way, process: Process, bytes: Range<usize>, cause: u32, time: Time) {
        let Some(server) = self.world.servers.get_mut(process.0 as usize) else { return };
        let (start, end) = (to_u32(bytes.start), to_u32(bytes.end));
        match way {
            Way::ToServer => {
                server.last_in = server.last_in.max(time);
                let time = server.last_in;
                self.world.queue.at(time, What::ToServer { process, start, end, cause });
            }
            Way::ToClient => {
                server.last_out = server.last_out.max(time);
                let time = server.last_out;
                self.world.queue.at(time, What::ToClient { process, start, end, cause });
            }
        }
    }

    /// The pipe breaks in both directions.
    fn cut(&mut self, process: Process, cause: u32, time: Time) {
        let Some(server) = self.world.servers.get_mut(process.0 as usize) else { return };
        server.cut = true;
        let (last_in, last_out) = (server.last_in.max(time), server.last_out.max(time));
        self.world.queue.at(last_in, What::ServerEof(process, Some(cause)));
        self.world.queue.at(last_out, What::ClientDown(process, DownKind::Eof, Some(cause)));
    }
}

pub(super) fn to_u32(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
