//! What goes into the client's machine and what comes out.

use std::ops::Range;

use thiserror::Error;

use crate::http::{Exchange, HttpEnd, HttpHead, HttpRequest};
use crate::version::{Era, ProtocolVersion};

/// Names one server process; the machine numbers them from 0 in the order in which it asks for them. Late bytes of a dead
/// process must not reach its successor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Process(pub u32);

/// How a process or its pipes ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DownKind {
    /// Its standard output ended.
    Eof,
    /// It ended by itself.
    Exited,
    /// A signal ended it.
    Signalled,
    /// Writing to it failed.
    WriteFailed,
    /// It could not be started.
    SpawnFailed,
}

/// What the caller tells the machine.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// Begin.
    Start,
    /// The time asked for by [`Output::WakeAt`] has come. Too early a time is ignored.
    Timeout,
    /// The user is done: close everything.
    Shutdown,
    /// A process that was asked for runs.
    Up(Process),
    /// Bytes from its standard output, in any chunks.
    Bytes(Process, &'a [u8]),
    /// It is gone, or its output is.
    Down(Process, DownKind),
    /// The head of an HTTP response.
    HttpHead(Exchange, HttpHead<'a>),
    /// A chunk of its body.
    HttpBody(Exchange, &'a [u8]),
    /// Its end.
    HttpEnd(Exchange, HttpEnd),
    /// After settling: one ordinary request, by the same code that writes the `_meta` of the probe. The method, and its
    /// parameters as the members of a JSON object without the braces (may be empty).
    Call(&'a str, &'a [u8]),
}

/// Why a process is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpawnReason {
    /// The first one.
    Start,
    /// The one before it ended (STDIO-08, AMB-05).
    Restart,
}

/// What the machine tells the caller, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Write these bytes (a range of the caller's buffer) to a process's standard input.
    Write(Process, Range<usize>),
    /// Make this request; its body is a range of the caller's buffer.
    Http(Exchange, HttpRequest, Range<usize>),
    /// Give this exchange up.
    Abort(Exchange),
    /// Start a process.
    Spawn(Process, SpawnReason),
    /// Close its standard input, wait, then use force (STDIO-10).
    Close(Process),
    /// Something that the user may want to know.
    Event(Event),
    /// Wake me at this time, or not at all. Always the last one before `None`; it replaces the one before.
    WakeAt(Option<crate::Time>),
}

/// What made the client step down to the legacy era.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Evidence {
    /// An error that is no modern one, with its code (ERA-05).
    Error(i64),
    /// An error that names no request (AMB-27).
    UncorrelatedError(i64),
    /// No answer within the time-out (ERA-05).
    Silence,
    /// The process ended (AMB-05).
    Exit(DownKind),
    /// A success that is no DiscoverResult (AMB-02).
    OtherResult,
    /// A response that is neither result nor error (AMB-04).
    BrokenAnswer,
    /// A -32022 without a usable list (AMB-03).
    OddUnsupported,
    /// An earlier connection learned it (ERA-11).
    Cached,
    /// An HTTP status that is no success, with the code of the JSON-RPC error in its body, if there was one (ERA-07, ERA-08).
    Http {
        /// The status.
        status: u16,
        /// The code.
        code: Option<i64>,
    },
    /// An HTTP success without an answer (AMB-08).
    NoAnswer {
        /// The status.
        status: u16,
    },
    /// No HTTP answer, or half of one.
    Connection(HttpEnd),
}

impl std::fmt::Display for Evidence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Error(code) => write!(f, "the probe was answered by error {code}"),
            Self::UncorrelatedError(code) => {
                write!(f, "error {code} that names no request, while the probe was open")
            }
            Self::Silence => f.write_str("the probe was not answered in time"),
            Self::Exit(kind) => write!(f, "the server went away during the probe ({kind:?})"),
            Self::OtherResult => f.write_str("the probe was answered by a result that is no DiscoverResult"),
            Self::BrokenAnswer => f.write_str("the probe was answered by a broken response"),
            Self::OddUnsupported => f.write_str("-32022 without a usable list of versions"),
            Self::Cached => f.write_str("an earlier connection to this server was legacy"),
            Self::Http { status, code: None } => {
                write!(f, "the probe was answered by HTTP {status} without a JSON-RPC error")
            }
            Self::Http { status, code: Some(code) } => {
                write!(f, "the probe was answered by HTTP {status} with error {code}")
            }
            Self::NoAnswer { status } => {
                write!(f, "the probe was answered by HTTP {status} without a JSON-RPC response")
            }
            Self::Connection(end) => write!(f, "the probe got no whole answer: {}", connection(*end)),
        }
    }
}

fn connection(end: HttpEnd) -> &'static str {
    match end {
        HttpEnd::Complete => "the answer had no head",
        HttpEnd::Reset => "the connection was reset",
        HttpEnd::Truncated => "the connection was closed too early",
        HttpEnd::Refused => "there was no connection",
    }
}

/// What a status asks of the user.
fn advice(status: u16) -> &'static str {
    match status {
        401 => ": the server wants authorization",
        403 => ": the server does not allow it; look at the authorization's scope, and at Origin",
        404 | 405 => ": is this the address of the MCP endpoint?",
        429 => ": the server is asked too often; try again later",
        300..=399 => ": the server has moved; use its new address",
        500..=599 => ": the server is broken or overloaded",
        _ => "",
    }
}

/// Why the client gave up.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Failure {
    /// The server is modern and serves none of our versions (NEG-03).
    #[error("no common version: the server is modern and lists none of the versions offered here")]
    NoCommonVersion,
    /// The policy has no version to offer in its mode.
    #[error("this client has no version to offer in its mode")]
    NothingOffered,
    /// The server refused every version it had listed, or corrections ran out (AMB-10).
    #[error("the server is modern and refuses with error {code} after {attempts} attempt{}", if *attempts == 1 { "" } else { "s" })]
    StillRefused {
        /// The last error.
        code: i64,
        /// How often we asked.
        attempts: u8,
    },
    /// A modern error that the client has no cure for (AMB-11).
    #[error("the server is modern and refuses with error {0}")]
    ModernError(i64),
    /// Modern only, and the server is legacy.
    #[error("the server is legacy ({0}), and this client was told to speak modern versions only")]
    LegacyServer(Evidence),
    /// The server has shown that it is modern, and then this: no reason to take it for legacy.
    #[error("the server is modern, but then: {0}")]
    ModernServer(Evidence),
    /// A DiscoverResult that cannot be used.
    #[error("the server's DiscoverResult cannot be used: {0}")]
    UnusableDiscovery(&'static str),
    /// No answer in time.
    #[error("no answer to {0} in time")]
    Silence(&'static str),
    /// The process went away too often.
    #[error("the server went away ({0:?})")]
    ServerGone(DownKind),
    /// `initialize` was refused (AMB-31).
    #[error("initialize was refused with error {0}")]
    InitializeRefused(i64),
    /// The counter-offer is none of ours (LEG-04).
    #[error("the server offers a legacy version that this client does not speak")]
    CounterOffer,
    /// The answer to `initialize` cannot be read.
    #[error("the answer to initialize cannot be used: {0}")]
    UnusableInitialize(&'static str),
    /// Something on the pipe that the policy does not bear (AMB-04, AMB-07).
    #[error("the server writes what is no MCP message")]
    Noise,
    /// An HTTP status that says nothing of the era, or that refuses a message of the legacy handshake.
    #[error("{what} was answered by HTTP {status}{}", advice(*status))]
    HttpStatus {
        /// The status.
        status: u16,
        /// What was answered: a method.
        what: &'static str,
    },
    /// No connection, or one that broke before the answer was whole (HTTP-30).
    #[error("{what} got no whole answer: {}", connection(*end))]
    ConnectionLost {
        /// How it ended.
        end: HttpEnd,
        /// What was asked: a method.
        what: &'static str,
    },
    /// The step to HTTP+SSE is needed and not taken here.
    #[error("the server may speak HTTP+SSE (2024-11-05) only")]
    NeedsHttpSse,
    /// The policy asks for failure where the specification is silent.
    #[error("the server's answer is open to interpretation, and the policy is to fail: {0}")]
    Policy(&'static str),
}

/// Something that the user may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The client steps down to the legacy era, and why. Always before the `initialize` that follows from it.
    Downgraded(Evidence),
    /// It speaks this version from now on.
    Settled(Era, ProtocolVersion),
    /// It gives up.
    Failed(Failure),
    /// A call was answered by a usable result (true), or by an error, or not at all.
    Called(bool),
    /// The era of this server, to be kept for its process or origin (ERA-11).
    EraLearned(Era),
    /// An answer that came too late or names no open request was ignored (CANC-04).
    Ignored,
}

/// The caller broke the contract; the machine is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Misuse {
    /// Time ran back.
    #[error("time ran back")]
    TimeRanBack,
    /// `Start` twice, or another input before it.
    #[error("the machine must be started once, first")]
    NotStarted,
    /// `Call` before `Settled`, or while another call is open.
    #[error("a call is possible only after settling, one at a time")]
    NotSettled,
    /// A process or exchange that the machine never asked for.
    #[error("no such process or exchange")]
    Unknown,
    /// Not on this transport.
    #[error("this input does not belong to the transport in use")]
    WrongTransport,
}
