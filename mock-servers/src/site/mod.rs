//! Plays one persona as an HTTP server: whole requests in, heads, pieces of bodies and ends out, and never a choice of its own.

mod answer;
mod head;
mod play;
mod sse;

use std::ops::Range;

pub use head::{BodyFraming, reason};
pub use play::Site;

use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::http::{Exchange, RequestHead};

/// What an HTTP server is told.
#[derive(Clone, Copy, Debug)]
pub enum SiteInput<'a> {
    /// It accepts connections.
    Start,
    /// A request has come to its end: its head, and its body without the framing of the transfer.
    Request(Exchange, RequestHead<'a>, &'a [u8]),
    /// The client has closed this exchange's connection before its end.
    Gone(Exchange),
    /// The time asked for has come. Too early a time is ignored.
    Timeout,
}

/// The head of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseHead {
    /// The status code.
    pub status: u16,
    /// Names and values in order, written as they stand. Neither `content-length` nor `transfer-encoding`: the host adds what the
    /// body needs.
    pub headers: Vec<(String, String)>,
    /// The length of the body, if it comes whole and at once: then the host says so and frames it by that; otherwise in chunks.
    pub length: Option<usize>,
}

/// What it does, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SiteOutput {
    /// It sends the head of its answer.
    Head(Exchange, ResponseHead),
    /// It sends a piece of the body: a range of the caller's buffer.
    Body(Exchange, Range<usize>),
    /// The answer is complete.
    End(Exchange),
    /// Instead of a head, a body or an end: these bytes on the connection, as they are and whatever they are. A `Close` or a `Reset`
    /// follows at some time.
    Raw(Exchange, Range<usize>),
    /// It closes the connection before the answer is complete.
    Close(Exchange),
    /// It resets the connection.
    Reset(Exchange),
    /// The process ends with this code: every open connection is closed, new ones are refused.
    Exit(i32),
    /// The next process has the same port, and accepts connections.
    Up,
    /// Wake it at this time, or not at all. Always the last one; it replaces the one before.
    WakeAt(Option<Time>),
}
