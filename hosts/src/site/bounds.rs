//! What a hosted site takes from its clients at most.

use std::time::Duration;

/// What a hosted site takes from its clients at most. A connection has one request in flight, so the bound of connections is
/// also that of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteBounds {
    /// Bytes of a request's head; a longer one is refused with 431.
    pub head_bytes: usize,
    /// Bytes of a request's body; a longer one is refused with 413.
    pub body_bytes: usize,
    /// Bytes of all bodies that are being read; beyond them a request is refused with 503.
    pub held_bytes: usize,
    /// Bytes of answers that wait for clients that do not read. The player is asked for no more until they are fewer.
    pub pending_bytes: usize,
    /// Connections; more wait until others are closed.
    pub connections: usize,
    /// From the first byte of a head to its last; then 408.
    pub head_time: Duration,
    /// From the head to the last byte of a body; then 408.
    pub body_time: Duration,
    /// How long a connection may be open without a request.
    pub idle_time: Duration,
    /// How long a client may take none of the bytes that are written to it; then it counts as gone.
    pub write_time: Duration,
}

impl Default for SiteBounds {
    /// 32 KiB heads, 4 MiB bodies and 64 MiB of them together, 16 MiB of answers, 256 connections; 10 s for a head, 30 s for a body,
    /// 60 s without a request or a byte taken.
    fn default() -> Self {
        Self {
            head_bytes: 32 << 10,
            body_bytes: 4 << 20,
            held_bytes: 64 << 20,
            pending_bytes: 16 << 20,
            connections: 256,
            head_time: Duration::from_secs(10),
            body_time: Duration::from_secs(30),
            idle_time: Duration::from_secs(60),
            write_time: Duration::from_secs(60),
        }
    }
}
