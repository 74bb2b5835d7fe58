//! The client's negotiation machine: hand it inputs with the time, drain one ordered queue of outputs.
//!
//! ```text
//!            Start                  DiscoverResult, common version
//!   Idle ───────────▶ Probing ─────────────────────────────────────▶ Settled(Modern)
//!                      │   ▲  corrective retry (-32022, -32020, -32021)
//!  any other error,    │   │
//!  silence, exit (auto)▼   │ -32022 to initialize
//!                     Initializing ────────────────────────────────▶ Settled(Legacy)
//! ```
//!
//! Every wait has a deadline, every retry a budget; whatever the server does, the machine settles or fails.
//!
//! [`Negotiator::new`] speaks over stdio, to processes that it asks for ([`Output::Spawn`]). [`Negotiator::over_http`] speaks over
//! Streamable HTTP: it opens exchanges ([`Output::Http`]) which it numbers from 0, and is told of each the head, the body in any
//! chunks, and the end. There
//!
//! - the status counts as well as the body, and what neither settles is a field of the [`ClientPolicy`];
//! - the exchange says which request an answer belongs to, so an error needs no id (BASE-18);
//! - a request is given up by [`Output::Abort`], in a legacy session by a notification as well (CANC-06, LEG-25);
//! - the legacy era is settled when `notifications/initialized` was accepted: exchanges are independent, and nothing may overtake it;
//! - [`Input::Shutdown`] ends a session first, if there is one (LEG-22): go on until [`Negotiator::is_done`].

mod calls;
#[cfg_attr(
    not(feature = "deviations"),
    expect(unreachable_pub, reason = "reachable with the feature `deviations`")
)]
mod deviations;
mod handshake;
mod http;
mod io;
mod pipe;
mod policy;
mod probe;
mod state;
mod status;
mod wire;

use std::collections::VecDeque;
use std::sync::Arc;

#[cfg(feature = "deviations")]
pub use deviations::ClientDeviations;
pub use io::{DownKind, Event, Evidence, Failure, Input, Misuse, Output, Process, SpawnReason};
pub(crate) use policy::choices;
pub use policy::{
    AfterModernError, BadHint, BrokenConnection, BrokenEnvelope, CancelProbe, ClientPolicy, EarlyRequest,
    EndSession, HttpSilence, HttpStepDown, InitializeRefused, InvalidParams, LateDiscover, LegacyMeta,
    Listen, MethodNotFound, MissingResultType, Mode, NoAnswer, Noise, OddUnsupported, OtherSuccess,
    ProbeExit, Redirect, ServerError, TooManyRequests, Unauthorized, UncorrelatedError,
};
pub use state::{State, States};

use crate::envelope::Id;
use crate::http::Exchange;
use crate::issue::IssueSink;
use crate::limits::Limits;
use crate::lines::{Line, Lines};
use crate::time::Time;
use crate::version::{Era, Preferences, ProtocolVersion};

/// The client's side of one connection. Sans-IO and deterministic.
#[derive(Clone, Debug)]
pub struct Negotiator {
    policy: Arc<ClientPolicy>,
    /// What is offered in this mode: the policy's preferences, or the pinned version alone.
    offered: Preferences,
    deviations: deviations::ClientDeviations,
    limits: Limits,
    now: Time,
    phase: Phase,
    state: State,
    reached: States,
    /// The exchanges, over HTTP; `None` over stdio.
    http: Option<http::Http>,
    process: Process,
    /// How the process in use is opened once it is up.
    opening: Opening,
    lines: Lines,
    issues: IssueSink,
    next_id: i64,
    /// The next request has the id of the one before: by deviation only.
    repeats_id: bool,
    deadline: Option<Time>,
    budget: Budget,
    /// A probe that got no answer: its id stays taken (BASE-12), its late answer is recognised.
    unanswered_probe: Option<i64>,
    /// The best common version of a DiscoverResult that came too late (AMB-21).
    late: Option<u16>,
    /// A recognised modern error or a DiscoverResult was read: from here on no `initialize` is sent (ERA-03, ERA-04, ERA-20).
    modern_proven: bool,
    call: Option<Call>,
    queue: VecDeque<Output>,
    bytes: Vec<u8>,
    wake_due: bool,
}

/// What is left of what may be repeated.
#[derive(Clone, Copy, Debug)]
struct Budget {
    corrections: u8,
    restarts: u8,
    /// The machine may go back from `initialize` to the probe once.
    returns: u8,
    legacy_retries: u8,
    /// Over HTTP: how often a request may be sent again whose connection broke, and a session begun anew.
    reissues: u8,
    sessions: u8,
    attempts: u8,
    /// Modern versions that were refused, by place in the preferences: never asked for again (AMB-10).
    refused: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Spawning,
    Probing {
        id: i64,
        version: u16,
    },
    Initializing {
        id: i64,
        version: u16,
    },
    /// Over HTTP: `notifications/initialized` is not answered yet.
    Confirming {
        version: ProtocolVersion,
    },
    Settled {
        era: Era,
        version: ProtocolVersion,
    },
    /// Over HTTP: the session is being ended.
    Ending,
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opening {
    Probe,
    Initialize,
    /// A restart in the modern era: nothing to negotiate, the open call is sent again.
    Resume,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Call {
    id: i64,
    method: Box<str>,
    params: Box<[u8]>,
}

/// What the id of a response says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Belongs {
    ToOpenRequest,
    ToUnansweredProbe,
    /// No id, or a null one (AMB-27).
    Uncorrelated,
    Foreign,
}

impl Negotiator {
    /// A machine that has not been started.
    pub fn new(policy: Arc<ClientPolicy>) -> Self {
        let offered = policy.offered();
        let corrections = policy.corrective_retries.get();
        Self {
            policy,
            offered,
            deviations: deviations::ClientDeviations::default(),
            limits: Limits::DEFAULT,
            now: Time::ZERO,
            phase: Phase::Idle,
            state: State::Idle,
            reached: States::of(State::Idle),
            http: None,
            process: Process(0),
            opening: Opening::Probe,
            lines: Lines::new(),
            issues: IssueSink::new(),
            next_id: 1,
            repeats_id: false,
            deadline: None,
            budget: Budget {
                corrections,
                restarts: 1,
                returns: 1,
                legacy_retries: 1,
                reissues: 1,
                sessions: 1,
                attempts: 0,
                refused: 0,
            },
            unanswered_probe: None,
            late: None,
            modern_proven: false,
            call: None,
            queue: VecDeque::new(),
            bytes: Vec::new(),
            wake_due: false,
        }
    }

    /// A machine that has not been started, over Streamable HTTP.
    pub fn over_http(policy: Arc<ClientPolicy>) -> Self {
        Self { http: Some(http::Http::default()), ..Self::new(policy) }
    }

    /// The same machine with faults.
    #[cfg(feature = "deviations")]
    #[must_use]
    pub fn with_deviations(mut self, deviations: ClientDeviations) -> Self {
        self.deviations = deviations;
        self
    }

    /// Becomes a new machine over stdio with these faults, and keeps the memory of the old one.
    #[cfg(feature = "deviations")]
    pub fn renew(&mut self, policy: Arc<ClientPolicy>, deviations: ClientDeviations) {
        self.become_new(Self::new(policy).with_deviations(deviations));
    }

    /// Becomes a new machine over HTTP with these faults, and keeps the memory of the old one.
    #[cfg(feature = "deviations")]
    pub fn renew_over_http(&mut self, policy: Arc<ClientPolicy>, deviations: ClientDeviations) {
        self.become_new(Self::over_http(policy).with_deviations(deviations));
    }

    #[cfg(feature = "deviations")]
    fn become_new(&mut self, new: Self) {
        let (mut lines, mut queue, mut bytes) = Default::default();
        std::mem::swap(&mut self.lines, &mut lines);
        std::mem::swap(&mut self.queue, &mut queue);
        std::mem::swap(&mut self.bytes, &mut bytes);
        lines.clear();
        queue.clear();
        bytes.clear();
        *self = Self { lines, queue, bytes, ..new };
    }

    /// Tells the machine what happened at `now`.
    ///
    /// # Errors
    /// [`Misuse`] if the caller breaks the contract; the machine is then unchanged.
    pub fn handle_input(&mut self, now: Time, input: Input<'_>) -> Result<(), Misuse> {
        if now < self.now {
            return Err(Misuse::TimeRanBack);
        }
        if matches!(input, Input::Start) != (self.phase == Phase::Idle) {
            return Err(Misuse::NotStarted);
        }
        match input {
            Input::Start => {
                self.now = now;
                self.start();
            }
            Input::Timeout => {
                self.now = now;
                self.on_timeout();
            }
            Input::Shutdown => {
                self.now = now;
                self.shut_down();
            }
            Input::Up(process) => {
                self.known(process)?;
                self.now = now;
                self.on_up(process);
            }
            Input::Bytes(process, bytes) => {
                self.known(process)?;
                self.now = now;
                self.on_bytes(process, bytes);
            }
            Input::Down(process, kind) => {
                self.known(process)?;
                self.now = now;
                self.on_down(process, kind);
            }
            Input::Call(method, params) => {
                if !matches!(self.phase, Phase::Settled { .. }) || self.call.is_some() {
                    return Err(Misuse::NotSettled);
                }
                self.now = now;
                self.on_call(method, params);
            }
            Input::HttpHead(exchange, head) => {
                self.known_exchange(exchange)?;
                self.now = now;
                self.on_http_head(exchange, head);
            }
            Input::HttpBody(exchange, bytes) => {
                self.known_exchange(exchange)?;
                self.now = now;
                self.on_http_body(exchange, bytes);
            }
            Input::HttpEnd(exchange, end) => {
                self.known_exchange(exchange)?;
                self.now = now;
                self.on_http_end(exchange, end);
            }
        }
        self.wake_due = true;
        Ok(())
    }

    /// The next output. Bytes are appended to `buf`, ranges are of `buf`.
    pub fn poll_output(&mut self, buf: &mut Vec<u8>) -> Option<Output> {
        match self.queue.pop_front() {
            Some(Output::Write(process, range)) => {
                let start = buf.len();
                buf.extend_from_slice(self.bytes.get(range).unwrap_or_default());
                Some(Output::Write(process, start..buf.len()))
            }
            Some(Output::Http(exchange, request, range)) => {
                let start = buf.len();
                buf.extend_from_slice(self.bytes.get(range).unwrap_or_default());
                Some(Output::Http(exchange, request, start..buf.len()))
            }
            Some(output) => Some(output),
            None => {
                self.bytes.clear();
                std::mem::take(&mut self.wake_due).then(|| Output::WakeAt(self.next_wake()))
            }
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.deadline.into_iter().chain(self.next_expiry()).min()
    }

    /// True once the machine has failed or was shut down: it will do nothing more.
    pub fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    /// True while an era is spoken: a call is possible.
    pub fn is_settled(&self) -> bool {
        matches!(self.phase, Phase::Settled { .. })
    }

    fn start(&mut self) {
        let (modern, legacy) = (!self.offered.modern.is_empty(), !self.offered.legacy.is_empty());
        if !modern && !legacy {
            self.phase = Phase::Done;
            self.enter(State::NothingOffered);
            return self.event(Event::Failed(Failure::NothingOffered));
        }
        let cached_legacy = modern && legacy && self.policy.cached_era == Some(Era::Legacy);
        self.opening = if modern && !cached_legacy { Opening::Probe } else { Opening::Initialize };
        if cached_legacy {
            self.event(Event::Downgraded(Evidence::Cached));
        }
        match self.opening {
            _ if self.http.is_none() => self.spawn(Process(0), SpawnReason::Start),
            Opening::Initialize => self.initialize(0),
            Opening::Probe | Opening::Resume => self.probe(0),
        }
    }

    fn on_line(&mut self, line: Line<'_>) {
        let Line::Whole(line) = line else { return self.on_noise() };
        self.issues.clear();
        match self.phase {
            Phase::Probing { id, version } => self.on_probe_line(line, id, version),
            Phase::Initializing { id, version } => self.on_initialize_line(line, id, version),
            Phase::Settled { era, .. } => self.on_settled_line(line, era),
            Phase::Idle | Phase::Spawning | Phase::Confirming { .. } | Phase::Ending | Phase::Done => {}
        }
    }

    /// AMB-07.
    fn on_noise(&mut self) {
        if self.policy.noise == Noise::Fail {
            self.fail(Failure::Noise);
        }
    }

    fn on_timeout(&mut self) {
        self.expire();
        if self.deadline.is_none_or(|deadline| self.now < deadline) {
            return;
        }
        self.deadline = None;
        match self.phase {
            Phase::Probing { .. } if self.http.is_some() => self.on_http_probe_timeout(),
            Phase::Probing { id, .. } => self.on_probe_timeout(id),
            Phase::Initializing { .. } => self.fail(Failure::Silence("initialize")),
            Phase::Spawning => self.fail(Failure::Silence("the start of the process")),
            Phase::Confirming { .. } => self.fail(Failure::Silence("notifications/initialized")),
            Phase::Settled { .. } => self.on_call_timeout(),
            Phase::Idle | Phase::Ending | Phase::Done => {}
        }
    }

    fn settle(&mut self, era: Era, version: ProtocolVersion) {
        self.deadline = None;
        self.event(Event::EraLearned(era));
        self.event(Event::Settled(era, version.clone()));
        self.enter(match era {
            Era::Legacy => State::SettledLegacy,
            Era::Modern => State::SettledModern,
        });
        self.phase = Phase::Settled { era, version };
        self.send_open_call();
    }

    fn fail(&mut self, failure: Failure) {
        let state = State::from(&failure);
        if self.http.is_some() && self.call.take().is_some() {
            self.event(Event::Called(false));
        }
        self.event(Event::Failed(failure));
        self.finish(state);
    }

    fn finish(&mut self, state: State) {
        if self.phase != Phase::Done {
            self.enter(state);
            if self.http.is_some() {
                self.abort_all();
            } else {
                self.queue.push_back(Output::Close(self.process));
            }
        }
        self.phase = Phase::Done;
        self.deadline = None;
        self.call = None;
    }

    fn event(&mut self, event: Event) {
        self.queue.push_back(Output::Event(event));
    }

    fn known_exchange(&self, exchange: Exchange) -> Result<(), Misuse> {
        match &self.http {
            None => Err(Misuse::WrongTransport),
            Some(http) if http.knows(exchange) => Ok(()),
            Some(_) => Err(Misuse::Unknown),
        }
    }

    fn take_id(&mut self) -> i64 {
        if std::mem::take(&mut self.repeats_id) {
            return self.next_id - 1;
        }
        let id = self.next_id;
        self.next_id += 1;
        id
    }

    fn belongs(&self, id: Id<'_>, open: i64) -> Belongs {
        if self.deviations.settle_on_foreign_id {
            return Belongs::ToOpenRequest;
        }
        match id {
            Id::Integer(n) if n == open => Belongs::ToOpenRequest,
            Id::Integer(n) if Some(n) == self.unanswered_probe => Belongs::ToUnansweredProbe,
            Id::Null | Id::Absent => Belongs::Uncorrelated,
            Id::Integer(_) | Id::String(_) | Id::Other(_) => Belongs::Foreign,
        }
    }
}
