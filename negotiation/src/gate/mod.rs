//! The server's side: decides, message by message, in which era and version a request is served, or how it is refused.
//!
//! A modern request is judged by itself alone (META-08); only `initialize` leaves something behind: the legacy session of its
//! process (ERA-14). Like the client's machine, the gate is handed inputs and drained of outputs.

mod batch;
#[cfg_attr(not(feature = "deviations"), expect(unreachable_pub, reason = "reachable with the feature"))]
mod deviations;
mod http;
mod legacy;
mod modern;
mod policy;
mod prepared;
mod write;

use std::sync::Arc;

use thiserror::Error;

#[cfg(feature = "deviations")]
pub use deviations::GateDeviations;
pub use http::{HttpAnswer, HttpGate};
pub use policy::{
    AcceptHeader, AnswerForm, BareRequest, BrokenRequest, CheckOrder, EraChange, ForeignOrigin, GatePolicy,
    GetStream, HeaderOrder, HttpPolicy, InitializeCode, InitializeHeader, InitializeWithMeta, LegacyByMeta,
    MissingHeader, NestedTypes, NotificationHeaders, RemovedMethod, RepeatedHeader, ServedMethod, Sessions,
    UnknownInitialize, UnreadableId,
};
pub use prepared::Prepared;
pub use write::{GateEvent, GateOutput};

use crate::codes::{self, ErrorCode};
use crate::envelope::{Id, Message, Request, read_message};
use crate::issue::{IssueId, IssueSink};
use crate::json;
use crate::limits::Limits;
use crate::lines::{Line, Lines};
use crate::meta::{RequestMeta, read_request_meta};
use crate::time::Time;
use write::{Outbox, VersionData};

/// What a gate is told.
#[derive(Clone, Copy, Debug)]
pub enum GateInput<'a> {
    /// Bytes from standard input, in any chunks.
    Bytes(&'a [u8]),
    /// One whole message: a line without its newline, or an HTTP body.
    Message(&'a [u8]),
    /// The same, where the caller has read it already.
    Read {
        /// The message.
        bytes: &'a [u8],
        /// What [`read_message`] says of it.
        message: &'a Message<'a>,
        /// The issues that it found.
        issues: &'a IssueSink,
    },
    /// One member of a [`Gate::batch`], for a caller that answers each by itself.
    Member(&'a [u8]),
    /// Standard input has ended. A last line without its newline is no message (STDIO-01), and dropped.
    Eof,
}

/// The caller broke the contract; the gate is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum GateMisuse {
    /// Time ran back.
    #[error("time ran back")]
    TimeRanBack,
    /// An input after [`GateInput::Eof`].
    #[error("standard input had ended")]
    Ended,
}

/// One server process, or one legacy session over HTTP (see [`HttpGate`]). Sans-IO and deterministic.
#[derive(Clone, Debug)]
pub struct Gate {
    prepared: Arc<Prepared>,
    deviations: deviations::GateDeviations,
    limits: Limits,
    now: Time,
    lines: Lines,
    issues: IssueSink,
    /// What `initialize` agreed on: a place in [`GatePolicy::legacy`].
    session: Option<usize>,
    /// A modern request was served on this process (AMB-18).
    was_modern: bool,
    ended: bool,
    out: Outbox,
}

impl Gate {
    /// A gate that has seen nothing yet.
    pub fn new(prepared: Arc<Prepared>) -> Self {
        Self {
            out: Outbox::new(prepared.policy.unreadable_id),
            prepared,
            deviations: deviations::GateDeviations::default(),
            limits: Limits::DEFAULT,
            now: Time::ZERO,
            lines: Lines::new(),
            issues: IssueSink::new(),
            session: None,
            was_modern: false,
            ended: false,
        }
    }

    /// The same gate with faults.
    #[cfg(feature = "deviations")]
    #[must_use]
    pub fn with_deviations(mut self, deviations: GateDeviations) -> Self {
        self.out.other_id_type = deviations.other_id_type;
        self.deviations = deviations;
        self
    }

    /// Becomes a new gate with these faults, and keeps the memory of the old one.
    #[cfg(feature = "deviations")]
    pub fn renew(&mut self, prepared: Arc<Prepared>, deviations: GateDeviations) {
        self.out.renew(prepared.policy.unreadable_id);
        self.out.other_id_type = deviations.other_id_type;
        self.lines.clear();
        self.issues.clear();
        (self.prepared, self.deviations) = (prepared, deviations);
        (self.now, self.session, self.was_modern, self.ended) = (Time::ZERO, None, false, false);
    }

    /// Tells the gate what happened. It decides by content alone; the time must only not run back, as in the client.
    ///
    /// # Errors
    ///
    /// [`GateMisuse`], if time runs back or standard input had ended.
    pub fn handle_input(&mut self, now: Time, input: GateInput<'_>) -> Result<(), GateMisuse> {
        if now < self.now {
            return Err(GateMisuse::TimeRanBack);
        }
        if self.ended {
            return Err(GateMisuse::Ended);
        }
        self.now = now;
        match input {
            GateInput::Bytes(bytes) => self.on_bytes(bytes),
            GateInput::Message(message) => self.on_message(message),
            GateInput::Read { bytes, message, issues } => {
                self.issues.copy_from(issues);
                self.on_any(bytes, message);
            }
            GateInput::Member(member) => self.on_member(member),
            GateInput::Eof => {
                self.ended = true;
                self.out.exit();
            }
        }
        Ok(())
    }

    /// The next output, `None` when there is no more. Bytes are appended to `buf`, ranges are of `buf`. Drain it after
    /// every input: what was polled is freed at `None`.
    pub fn poll_output(&mut self, buf: &mut Vec<u8>) -> Option<GateOutput> {
        self.out.poll(buf)
    }

    /// The place in [`GatePolicy::legacy`] of the version that `initialize` agreed on, if it did.
    pub fn session(&self) -> Option<usize> {
        self.session
    }

    fn on_bytes(&mut self, bytes: &[u8]) {
        let mut lines = std::mem::take(&mut self.lines);
        lines.push(bytes);
        while let Some(line) = lines.next(&self.limits) {
            match line {
                Line::Whole(line) => self.on_message(line),
                Line::TooLong => self.refuse_broken(&Id::Absent, codes::PARSE_ERROR),
            }
        }
        self.lines = lines;
    }

    fn policy(&self) -> &GatePolicy {
        &self.prepared.policy
    }

    fn on_message(&mut self, message: &[u8]) {
        let read = self.read(message);
        self.on_any(message, &read);
    }

    /// Notifications and responses are never answered (BASE-11), nor is a blank line, which is no message (AMB-07).
    fn on_any(&mut self, message: &[u8], read: &Message<'_>) {
        match read {
            Message::Batch => self.on_batch(message),
            Message::NotJson if message.trim_ascii().is_empty() => {}
            read => self.on_read(message, read),
        }
    }

    fn read<'a>(&mut self, message: &'a [u8]) -> Message<'a> {
        self.issues.clear();
        read_message(message, &self.limits, &mut self.issues)
    }

    fn on_read(&mut self, message: &[u8], read: &Message<'_>) {
        match read {
            Message::Request(request) => self.on_request(message, request),
            Message::Notification { .. } | Message::Response(_) => {}
            Message::NotJson => self.refuse_broken(&Id::Absent, codes::PARSE_ERROR),
            Message::Batch | Message::NotAMessage => {
                let id = self.id_of(message);
                self.refuse_broken(&id, codes::INVALID_REQUEST);
            }
        }
    }

    /// The id of what is no message but may have one, such as a request whose method is a number (BASE-05).
    fn id_of<'a>(&mut self, message: &'a [u8]) -> Id<'a> {
        let value = json::check(message, &self.limits, &mut self.issues);
        let id = value.and_then(|value| value.get("id"));
        let Some(id) = id.filter(|id| id.text().len() <= self.limits.id_bytes) else { return Id::Absent };
        let text = id.as_str().map(Id::String);
        text.or(id.as_integer().map(Id::Integer)).unwrap_or(Id::Absent)
    }

    fn refuse(&mut self, id: &Id<'_>, code: ErrorCode) {
        self.out.error(id, code.code, code.message, None);
    }

    /// AMB-04.
    fn refuse_broken(&mut self, id: &Id<'_>, code: ErrorCode) {
        if self.policy().broken_request == BrokenRequest::Answer {
            self.refuse(id, code);
        }
    }

    fn on_request(&mut self, message: &[u8], request: &Request<'_>) {
        let id = readable(request.id);
        let broken = [IssueId::JsonrpcMissing, IssueId::JsonrpcWrong, IssueId::MethodAndOutcome];
        if id == Id::Absent || self.has_any(&broken) {
            return self.refuse_broken(&id, codes::INVALID_REQUEST);
        }
        let wrong_params = self.has_any(&[IssueId::ParamsWrongType]);
        self.issues.clear();
        let meta = read_request_meta(message, request.params, &mut self.issues);
        match self.route(request, &meta) {
            // First: whatever error `initialize` gets here names the versions (ERA-13).
            Route::RefuseInitialize => self.refuse_initialize(request),
            _ if wrong_params => self.refuse(&request.id, codes::INVALID_PARAMS),
            Route::Modern => self.on_modern(request, &meta),
            Route::Legacy => self.on_legacy(request),
            Route::Initialize => self.on_initialize(request),
            Route::Refuse(code) => self.refuse(&request.id, code),
        }
    }

    /// True if one of these was found, or so much that not all was kept.
    fn has_any(&self, wanted: &[IssueId]) -> bool {
        let kept = self.issues.issues();
        usize::try_from(self.issues.count()).unwrap_or(usize::MAX) > kept.len()
            || kept.iter().any(|issue| wanted.contains(&issue.id))
    }

    /// ERA-14: the server chooses by how the client opens.
    fn route(&self, request: &Request<'_>, meta: &RequestMeta<'_>) -> Route {
        let policy = self.policy();
        let (modern, legacy) = (!policy.modern.is_empty(), !policy.legacy.is_empty());
        let keyed = meta.version_present || meta.capabilities_present;
        if request.method.eq_str("initialize") {
            let as_modern = keyed && modern && policy.initialize_with_meta == InitializeWithMeta::Modern;
            return match (legacy, as_modern) {
                (true, false) => Route::Initialize,
                (true, true) => Route::Modern,
                (false, _) => Route::RefuseInitialize,
            };
        }
        if !modern {
            return Route::Legacy;
        }
        if let Some(agreed) = self.session {
            // AMB-17: the keys may stay in the requests of a session; a version of the modern era changes the era (AMB-18).
            let agreed = policy.legacy.get(agreed);
            let same =
                meta.version.is_none_or(|version| agreed.is_some_and(|ours| version.eq_str(ours.as_str())));
            return match (keyed && !same, policy.era_change) {
                (false, _) => Route::Legacy,
                (true, EraChange::Allow) => Route::Modern,
                (true, EraChange::Refuse) => Route::Refuse(codes::INVALID_REQUEST),
            };
        }
        if keyed || !legacy {
            return Route::Modern;
        }
        match policy.bare_request {
            // LEG-11: ping is legal before the handshake.
            _ if request.method.eq_str("ping") => Route::Legacy,
            BareRequest::InvalidParams => Route::Refuse(codes::INVALID_PARAMS),
            BareRequest::EarlyLegacy => Route::Refuse(codes::INVALID_REQUEST),
        }
    }

    fn method(&self, request: &Request<'_>) -> Option<usize> {
        self.policy().methods.iter().position(|method| request.method.eq_str(&method.name))
    }
}

/// An id that an answer can carry, or none (BASE-02, BASE-03, BASE-05).
fn readable(id: Id<'_>) -> Id<'_> {
    match id {
        Id::String(_) | Id::Integer(_) => id,
        Id::Null | Id::Other(_) | Id::Absent => Id::Absent,
    }
}

enum Route {
    Modern,
    Legacy,
    Initialize,
    RefuseInitialize,
    Refuse(ErrorCode),
}
