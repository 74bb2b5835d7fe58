//! The server's side: decides, message by message, in which era and version a request is served, or how it is refused.
//!
//! A modern request is judged by itself alone (META-08); only `initialize` leaves something behind: the legacy session of its
//! process (ERA-14). Like the client's machine, the gate is handed inputs and drained of outputs.

mod deviations;
mod legacy;
mod modern;
mod policy;
mod write;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

#[cfg(feature = "deviations")]
pub use deviations::GateDeviations;
pub use policy::{
    BareRequest, BrokenRequest, CheckOrder, EraChange, GatePolicy, InitializeCode, InitializeWithMeta,
    LegacyByMeta, NestedTypes, RemovedMethod, ServedMethod, UnknownInitialize, UnreadableId,
};

use crate::codes::{self, ErrorCode};
use crate::envelope::{Id, Message, Request, read_message};
use crate::issue::{IssueId, IssueSink};
use crate::limits::Limits;
use crate::lines::{Line, Lines};
use crate::meta::{RequestMeta, read_request_meta};
use crate::time::Time;

/// What a gate is told.
#[derive(Clone, Copy, Debug)]
pub enum GateInput<'a> {
    /// Bytes from standard input, in any chunks.
    Bytes(&'a [u8]),
    /// One whole message: a line without its newline, or an HTTP body.
    Message(&'a [u8]),
    /// Standard input has ended.
    Eof,
}

/// What a gate says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateOutput {
    /// One message with its newline: a range of the caller's buffer.
    Write(Range<usize>),
    /// Exit now (STDIO-07).
    Exit,
}

/// A policy with what follows from it, made once and shared by every gate.
#[derive(Clone, Debug)]
pub struct Prepared {
    policy: GatePolicy,
    /// The versions that the server says it supports, as a JSON array.
    listed: String,
    capabilities: String,
}

impl Prepared {
    /// Prepares a policy.
    pub fn new(policy: GatePolicy) -> Self {
        let with_legacy = policy.list_legacy || policy.legacy_by_meta == LegacyByMeta::Serve;
        let legacy = policy.legacy.iter().filter(|_| with_legacy);
        let listed = write::version_array(policy.modern.iter().chain(legacy));
        let capabilities = write::capabilities(&policy.methods);
        Self { policy, listed, capabilities }
    }

    /// The policy.
    pub fn policy(&self) -> &GatePolicy {
        &self.policy
    }
}

/// One server process, or one legacy session over HTTP.
#[derive(Clone, Debug)]
pub struct Gate {
    prepared: Arc<Prepared>,
    deviations: deviations::GateDeviations,
    limits: Limits,
    lines: Lines,
    issues: IssueSink,
    /// The version that `initialize` agreed on.
    session: Option<Box<str>>,
    /// A modern request was served on this process (AMB-18).
    was_modern: bool,
    queue: VecDeque<GateOutput>,
    bytes: Vec<u8>,
}

impl Gate {
    /// A gate that has seen nothing yet.
    pub fn new(prepared: Arc<Prepared>) -> Self {
        Self {
            prepared,
            deviations: deviations::GateDeviations::default(),
            limits: Limits::DEFAULT,
            lines: Lines::new(),
            issues: IssueSink::new(),
            session: None,
            was_modern: false,
            queue: VecDeque::new(),
            bytes: Vec::new(),
        }
    }

    /// The same gate with faults.
    #[cfg(feature = "deviations")]
    #[must_use]
    pub fn with_deviations(mut self, deviations: GateDeviations) -> Self {
        self.deviations = deviations;
        self
    }

    /// Tells the gate what happened. It decides by content alone; the time is there for symmetry with the client.
    pub fn handle_input(&mut self, _now: Time, input: GateInput<'_>) {
        match input {
            GateInput::Message(message) => self.on_message(message),
            GateInput::Eof => self.queue.push_back(GateOutput::Exit),
            GateInput::Bytes(bytes) => {
                let mut lines = std::mem::take(&mut self.lines);
                lines.push(bytes);
                while let Some(line) = lines.next(&self.limits) {
                    match line {
                        Line::Whole(line) => self.on_message(line),
                        Line::TooLong => self.refuse_broken(codes::INVALID_REQUEST),
                    }
                }
                self.lines = lines;
            }
        }
    }

    /// The next output. Bytes are appended to `buf`, ranges are of `buf`.
    pub fn poll_output(&mut self, buf: &mut Vec<u8>) -> Option<GateOutput> {
        let output = self.queue.pop_front();
        match output {
            Some(GateOutput::Write(range)) => {
                let start = buf.len();
                buf.extend_from_slice(self.bytes.get(range).unwrap_or_default());
                Some(GateOutput::Write(start..buf.len()))
            }
            Some(GateOutput::Exit) => Some(GateOutput::Exit),
            None => {
                self.bytes.clear();
                None
            }
        }
    }

    fn policy(&self) -> &GatePolicy {
        &self.prepared.policy
    }

    fn on_message(&mut self, message: &[u8]) {
        self.issues.clear();
        match read_message(message, &self.limits, &mut self.issues) {
            Message::Request(request) => self.on_request(message, &request),
            Message::Notification { .. } | Message::Response(_) => {}
            Message::NotJson => self.refuse_broken(codes::PARSE_ERROR),
            Message::Batch | Message::NotAMessage => self.refuse_broken(codes::INVALID_REQUEST),
        }
    }

    /// AMB-04. A blank line is no message and no request either: nobody answers it.
    fn refuse_broken(&mut self, code: ErrorCode) {
        if self.policy().broken_request == BrokenRequest::Answer {
            self.write_error(&Id::Absent, code.code, code.message, None);
        }
    }

    fn on_request(&mut self, message: &[u8], request: &Request<'_>) {
        let invalid = [IssueId::JsonrpcMissing, IssueId::JsonrpcWrong].iter().any(|id| self.issues.has(*id));
        if invalid || matches!(request.id, Id::Null | Id::Other(_)) {
            return self.refuse_broken(codes::INVALID_REQUEST);
        }
        if self.issues.has(IssueId::ParamsWrongType) {
            return self.refuse(&request.id, codes::INVALID_PARAMS);
        }
        let meta = read_request_meta(message, request.params, &mut self.issues);
        match self.route(request, &meta) {
            Route::Modern => self.on_modern(request, &meta),
            Route::Legacy => self.on_legacy(request),
            Route::Initialize => self.on_initialize(request),
            Route::RefuseInitialize => self.refuse_initialize(request),
            Route::Refuse(code) => self.refuse(&request.id, code),
        }
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
        if let Some(agreed) = &self.session {
            // AMB-17: the keys may stay in the requests of a session; a version of the modern era changes the era (AMB-18).
            let same = meta.version.is_none_or(|version| version.eq_str(agreed));
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

enum Route {
    Modern,
    Legacy,
    Initialize,
    RefuseInitialize,
    Refuse(ErrorCode),
}
