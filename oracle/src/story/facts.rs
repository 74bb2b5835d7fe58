//! What occurs in a run at all. Most checks are about something that most runs do not have, and need not be made there.

use super::message::{Answer, Message, NONE, Shape, Side};
use crate::known::Method;

/// A set of occurrences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Facts(u32);

impl Facts {
    /// Every run has it: for checks that may apply to any.
    pub(crate) const ANY: Self = Self(1 << 31);
    /// The client has asked for a handshake. Whatever a handshake leads to is there only with it.
    pub(crate) const INITIALIZE: Self = Self(1 << 30);
    /// The client has cancelled a request.
    pub(crate) const CANCELLED: Self = Self(1 << 29);
    /// The server has sent a response that answers no request.
    pub(crate) const STRAY: Self = Self(1 << 28);
    /// The server has sent an error, to whatever.
    pub(crate) const ERROR: Self = Self(1 << 27);
    /// The server has sent a request.
    pub(crate) const SERVER_REQUEST: Self = Self(1 << 26);
    /// A process was gone without its client's doing.
    pub(crate) const GONE: Self = Self(1 << 25);
    /// The run is one over HTTP.
    pub(crate) const HTTP: Self = Self(1 << 24);

    pub(crate) const DISCOVERED: Self = Self::answer(Answer::Discovered);
    pub(crate) const UNTYPED: Self = Self::answer(Answer::Untyped);
    pub(crate) const UNKNOWN_TYPE: Self = Self::answer(Answer::UnknownType);
    pub(crate) const ODD_SUCCESS: Self = Self::answer(Answer::OddSuccess);
    pub(crate) const UNSUPPORTED: Self = Self::answer(Answer::Unsupported);
    pub(crate) const ODD_UNSUPPORTED: Self = Self::answer(Answer::OddUnsupported);
    pub(crate) const MODERN_ERROR: Self = Self::answer(Answer::ModernError);
    pub(crate) const OTHER_ERROR: Self = Self::answer(Answer::OtherError);
    pub(crate) const HANDSHAKE: Self = Self::answer(Answer::Handshake);

    /// An answer that means this.
    const fn answer(answer: Answer) -> Self {
        Self(1 << answer as u32)
    }

    /// This or that.
    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// One of the others is among these.
    pub(crate) fn has_any(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    /// What this message brings.
    pub(super) fn of(message: &Message) -> Self {
        let facts = Self::answer(message.answer);
        let more = |is: bool, fact: Self| if is { fact.0 } else { 0 };
        Self(match message.from {
            Side::Client => {
                facts.0
                    | more(message.method == Method::Initialize, Self::INITIALIZE)
                    | more(message.method == Method::Cancelled, Self::CANCELLED)
            }
            Side::Server => {
                facts.0
                    | more(message.is_response() && message.pair == NONE, Self::STRAY)
                    | more(message.shape == Shape::Error, Self::ERROR)
                    | more(message.is_request(), Self::SERVER_REQUEST)
            }
        })
    }
}
