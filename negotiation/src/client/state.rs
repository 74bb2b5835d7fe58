//! The states of the machine by name, so that a campaign can say which of them it reached.

use super::{Failure, Negotiator};

macro_rules! states {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// What the machine is doing, or how it ended.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum State { $($(#[$doc])* $variant),* }

        impl State {
            /// All states, in the order in which a connection can come to them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name, as reports show it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }
        }
    };
}

states! {
    /// Not started.
    Idle = "idle",
    /// The first process was asked for.
    Starting = "starting",
    /// The first probe is open.
    Probing = "probing",
    /// A later probe is open: corrected after a refusal, or sent to a new process.
    ProbingAgain = "probing-again",
    /// `initialize` is open, and no probe came before it.
    Initializing = "initializing",
    /// `initialize` is open, after a probe that did not settle.
    FallingBack = "falling-back",
    /// Back to the probe after `initialize`: the server is modern after all, or the cached era was wrong.
    ComingBack = "coming-back",
    /// Another process was asked for before anything was settled.
    Restarting = "restarting",
    /// `initialize` was answered, and `notifications/initialized` is not yet: over HTTP only.
    Confirming = "confirming",
    /// The legacy era is spoken.
    SettledLegacy = "settled-legacy",
    /// The modern era is spoken.
    SettledModern = "settled-modern",
    /// The modern era is spoken with another process, without a negotiation.
    Resumed = "resumed",
    /// The user is done, and the session is ended: over HTTP only.
    Ending = "ending",
    /// The user was done.
    Closed = "closed",
    /// [`Failure::NoCommonVersion`].
    NoCommonVersion = "failed-no-common-version",
    /// [`Failure::StillRefused`].
    StillRefused = "failed-still-refused",
    /// [`Failure::ModernError`].
    ModernError = "failed-modern-error",
    /// [`Failure::LegacyServer`].
    LegacyServer = "failed-legacy-server",
    /// [`Failure::ModernServer`].
    ModernServer = "failed-modern-server",
    /// [`Failure::UnusableDiscovery`].
    UnusableDiscovery = "failed-unusable-discovery",
    /// [`Failure::Silence`].
    Silence = "failed-silence",
    /// [`Failure::ServerGone`].
    ServerGone = "failed-server-gone",
    /// [`Failure::InitializeRefused`].
    InitializeRefused = "failed-initialize-refused",
    /// [`Failure::CounterOffer`].
    CounterOffer = "failed-counter-offer",
    /// [`Failure::UnusableInitialize`].
    UnusableInitialize = "failed-unusable-initialize",
    /// [`Failure::Noise`].
    Noise = "failed-noise",
    /// [`Failure::Policy`].
    Policy = "failed-policy",
    /// [`Failure::NothingOffered`]: no server is asked.
    NothingOffered = "failed-nothing-offered",
    /// [`Failure::HttpStatus`]: over HTTP only.
    HttpStatus = "failed-http-status",
    /// [`Failure::ConnectionLost`]: over HTTP only.
    ConnectionLost = "failed-connection-lost",
    /// [`Failure::NeedsHttpSse`]: over HTTP only.
    NeedsHttpSse = "failed-needs-http-sse",
}

impl State {
    /// The states that a connection over stdio can come to, of a client that has a version to offer.
    pub fn over_stdio() -> impl Iterator<Item = Self> {
        let other = |state: &Self| {
            use State::{Confirming, ConnectionLost, Ending, HttpStatus, NeedsHttpSse, NothingOffered};
            matches!(state, NothingOffered | NeedsHttpSse | Confirming | Ending | HttpStatus | ConnectionLost)
        };
        Self::ALL.iter().copied().filter(move |state| !other(state))
    }

    /// The states that a connection over HTTP can come to, of a client that has a version to offer.
    pub fn over_http() -> impl Iterator<Item = Self> {
        let other = |state: &Self| {
            use State::{NothingOffered, Restarting, Resumed, ServerGone, Starting};
            matches!(state, NothingOffered | Restarting | Resumed | ServerGone | Starting)
        };
        Self::ALL.iter().copied().filter(move |state| !other(state))
    }
}

impl From<&Failure> for State {
    fn from(failure: &Failure) -> Self {
        match failure {
            Failure::NoCommonVersion => Self::NoCommonVersion,
            Failure::NothingOffered => Self::NothingOffered,
            Failure::StillRefused { .. } => Self::StillRefused,
            Failure::ModernError(_) => Self::ModernError,
            Failure::LegacyServer(_) => Self::LegacyServer,
            Failure::ModernServer(_) => Self::ModernServer,
            Failure::UnusableDiscovery(_) => Self::UnusableDiscovery,
            Failure::Silence(_) => Self::Silence,
            Failure::ServerGone(_) => Self::ServerGone,
            Failure::InitializeRefused(_) => Self::InitializeRefused,
            Failure::CounterOffer => Self::CounterOffer,
            Failure::UnusableInitialize(_) => Self::UnusableInitialize,
            Failure::Noise => Self::Noise,
            Failure::HttpStatus { .. } => Self::HttpStatus,
            Failure::ConnectionLost { .. } => Self::ConnectionLost,
            Failure::NeedsHttpSse => Self::NeedsHttpSse,
            Failure::Policy(_) => Self::Policy,
        }
    }
}

/// A set of states, as small as a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct States(u32);

impl States {
    pub(super) const fn of(state: State) -> Self {
        Self(1 << state as u32)
    }

    /// True if the state is in it.
    pub const fn contains(self, state: State) -> bool {
        self.0 & Self::of(state).0 != 0
    }

    /// Those that are in it, in the order of [`State::ALL`].
    pub fn iter(self) -> impl Iterator<Item = State> {
        State::ALL.iter().copied().filter(move |state| self.contains(*state))
    }
}

impl Negotiator {
    /// What the machine is doing.
    pub fn state(&self) -> State {
        self.state
    }

    /// Every state that it was in so far.
    pub fn reached(&self) -> States {
        self.reached
    }

    pub(super) fn enter(&mut self, state: State) {
        self.state = state;
        self.reached.0 |= States::of(state).0;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Time;
    use crate::client::{ClientPolicy, Input, Process};

    #[test]
    fn every_state_has_its_own_bit_and_name() {
        let bits = State::ALL.iter().fold(0_u32, |bits, state| bits | States::of(*state).0);
        let names: std::collections::BTreeSet<_> = State::ALL.iter().map(|state| state.name()).collect();
        assert_eq!((bits.count_ones() as usize, names.len()), (State::ALL.len(), State::ALL.len()));
    }

    #[test]
    fn a_fallback_is_told_from_a_plain_handshake_and_failures_by_their_reason() {
        let mut machine = Negotiator::new(Arc::new(ClientPolicy::default()));
        let mut tell = |input: Input<'_>| {
            machine.handle_input(Time::ZERO, input).unwrap();
            machine.state()
        };
        let process = Process(0);
        assert_eq!(tell(Input::Start), State::Starting);
        assert_eq!(tell(Input::Up(process)), State::Probing);
        let refusal = br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#;
        assert_eq!(tell(Input::Bytes(process, refusal)), State::Probing);
        assert_eq!(tell(Input::Bytes(process, b"\n")), State::FallingBack);
        let offer = b"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"protocolVersion\":\"1999-01-01\"}}\n";
        assert_eq!(tell(Input::Bytes(process, offer)), State::CounterOffer);
        assert_eq!(tell(Input::Shutdown), State::CounterOffer);
        let reached: Vec<_> = machine.reached().iter().collect();
        assert_eq!(
            reached,
            [State::Idle, State::Starting, State::Probing, State::FallingBack, State::CounterOffer]
        );
    }
}
