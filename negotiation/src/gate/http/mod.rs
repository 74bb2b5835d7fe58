//! The server's side over HTTP: one request, one answer. Verbs, headers and sessions are judged here; what a body says is judged by
//! a [`Gate`]: one for all requests that stand by themselves, and one for each legacy session.

mod headers;
mod requests;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use self::headers::{Named, origin_is_foreign, takes, takes_both};
use super::deviations::GateDeviations;
use super::{
    AcceptHeader, ForeignOrigin, Gate, GateEvent, GateInput, GateOutput, GetStream, HttpPolicy, Prepared,
    Sessions,
};
use crate::codes;
use crate::envelope::{Message, read_message};
use crate::headers::{MediaType, SESSION_ID, media_type};
use crate::http::{RequestHead, header_values};
use crate::issue::IssueSink;
use crate::limits::Limits;
use crate::time::Time;

/// What every session id begins with; the number of its process and its own follow.
const SESSION: &str = "session-";

/// As many sessions are kept; the oldest one is forgotten for a new one, and its client must begin anew (LEG-21).
const SESSIONS_MOST: usize = 64;

/// What a server says to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpAnswer {
    /// The status.
    pub status: u16,
    /// Headers beside those of the body.
    pub headers: Vec<(&'static str, String)>,
    /// The body, which is JSON: a range of the caller's buffer. None: it is empty.
    pub body: Option<Range<usize>>,
    /// What the body's message is.
    pub event: Option<GateEvent>,
    /// Instead of a body: an event stream that stays open (LEG-23).
    pub stream: bool,
}

impl HttpAnswer {
    /// An answer with this status and nothing else.
    pub fn empty(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: None, event: None, stream: false }
    }

    /// ERA-18, LEG-23.
    fn not_allowed(allowed: &str) -> Self {
        Self { headers: vec![("allow", allowed.to_owned())], ..Self::empty(405) }
    }
}

/// One HTTP server: its endpoint, and the legacy sessions that it has. Sans-IO and deterministic.
#[derive(Clone, Debug)]
pub struct HttpGate {
    prepared: Arc<Prepared>,
    deviations: GateDeviations,
    /// Judges what stands by itself.
    single: Gate,
    sessions: BTreeMap<u32, Gate>,
    /// How many sessions there were.
    opened: u32,
    /// Part of every session id: a session of one process is unknown to the next (LEG-19).
    process: u32,
    issues: IssueSink,
}

impl HttpGate {
    /// A server that has seen nothing yet.
    pub fn new(prepared: Arc<Prepared>) -> Self {
        Self {
            deviations: GateDeviations::default(),
            single: Gate::new(Arc::clone(&prepared)),
            prepared,
            sessions: BTreeMap::new(),
            opened: 0,
            process: 0,
            issues: IssueSink::new(),
        }
    }

    /// The same server with faults.
    #[cfg(feature = "deviations")]
    #[must_use]
    pub fn with_deviations(mut self, deviations: GateDeviations) -> Self {
        self.single = self.single.with_deviations(deviations.clone());
        self.deviations = deviations;
        self
    }

    /// The same server as the process of this number, counted from 0.
    #[must_use]
    pub fn as_process(self, process: u32) -> Self {
        Self { process, ..self }
    }

    /// The id of the session of this number.
    fn session_id(&self, number: u32) -> String {
        format!("{SESSION}{}-{number}", self.process)
    }

    /// The answer to a request. The body's bytes are appended to `buf`.
    pub fn answer(&mut self, head: &RequestHead<'_>, body: &[u8], buf: &mut Vec<u8>) -> HttpAnswer {
        // HTTP-21, LEG-33.
        if self.policy().foreign_origin == ForeignOrigin::Refuse && origin_is_foreign(head) {
            return HttpAnswer::empty(403);
        }
        match head.verb {
            "POST" => self.post(head, body, buf),
            "GET" => self.get(head),
            "DELETE" => self.delete(head),
            _ => HttpAnswer::not_allowed(self.verbs()),
        }
    }

    fn policy(&self) -> HttpPolicy {
        self.prepared.policy.http
    }

    fn is_legacy(&self) -> bool {
        !self.prepared.policy.legacy.is_empty()
    }

    fn is_modern(&self) -> bool {
        !self.prepared.policy.modern.is_empty()
    }

    fn has_sessions(&self) -> bool {
        self.is_legacy() && self.policy().sessions == Sessions::Stateful
    }

    fn verbs(&self) -> &'static str {
        match (self.has_sessions(), self.policy().get_stream) {
            (true, GetStream::Open) => "POST, GET, DELETE",
            (true, GetStream::Refuse) => "POST, DELETE",
            (false, _) => "POST",
        }
    }

    fn get(&self, head: &RequestHead<'_>) -> HttpAnswer {
        if !self.is_legacy() || self.policy().get_stream == GetStream::Refuse {
            return HttpAnswer::not_allowed(self.verbs());
        }
        if !takes(head, MediaType::EventStream) {
            return HttpAnswer::empty(406);
        }
        match self.session_named(head) {
            _ if !self.has_sessions() => HttpAnswer { stream: true, ..HttpAnswer::empty(200) },
            Named::Known(_) => HttpAnswer { stream: true, ..HttpAnswer::empty(200) },
            Named::Unknown => HttpAnswer::empty(404),
            Named::Absent => HttpAnswer::empty(400),
        }
    }

    /// LEG-22.
    fn delete(&mut self, head: &RequestHead<'_>) -> HttpAnswer {
        if !self.has_sessions() {
            return HttpAnswer::not_allowed(self.verbs());
        }
        match self.session_named(head) {
            Named::Known(number) => {
                self.sessions.remove(&number);
                HttpAnswer::empty(204)
            }
            Named::Unknown => HttpAnswer::empty(404),
            Named::Absent => HttpAnswer::empty(400),
        }
    }

    fn session_named(&self, head: &RequestHead<'_>) -> Named {
        let Some(value) = header_values(head.headers, SESSION_ID).next() else { return Named::Absent };
        let named = |number: &&u32| self.session_id(**number).as_bytes() == value;
        match self.sessions.keys().find(named).copied() {
            Some(number) => Named::Known(number),
            None => Named::Unknown,
        }
    }

    fn post(&mut self, head: &RequestHead<'_>, body: &[u8], buf: &mut Vec<u8>) -> HttpAnswer {
        // AMB-34: refusals below JSON-RPC have no body here.
        let content = header_values(head.headers, "content-type").next().unwrap_or_default();
        if media_type(content) != MediaType::Json {
            return HttpAnswer::empty(415);
        }
        if self.policy().accept_header == AcceptHeader::Require && !takes_both(head) {
            return HttpAnswer::empty(406);
        }
        self.issues.clear();
        match read_message(body, &Limits::DEFAULT, &mut self.issues) {
            Message::Request(request) => self.request(head, body, &request, buf),
            Message::Notification { params, .. } => self.notification(head, body, params),
            // HTTP-04: no modern client sends one; in a legacy session it may answer a request of the server (LEG-24).
            Message::Response(_) => HttpAnswer::empty(if self.is_legacy() { 202 } else { 400 }),
            Message::Batch => self.batch(head, body, buf),
            Message::NotAMessage | Message::NotJson => self.by_itself(body, buf),
        }
    }

    /// LEG-13: only in a session of 2025-03-26.
    fn batch(&mut self, head: &RequestHead<'_>, body: &[u8], buf: &mut Vec<u8>) -> HttpAnswer {
        if let Named::Known(number) = self.session_named(head)
            && let Some(gate) = self.sessions.get_mut(&number)
            && gate.batch(body).is_some()
        {
            let start = buf.len();
            buf.push(b'[');
            tell(gate, body);
            let (answers, event) = hear(gate, buf, b',');
            if answers.is_none() {
                buf.truncate(start);
                return HttpAnswer::empty(202);
            }
            buf.push(b']');
            return HttpAnswer { body: Some(start..buf.len()), event, ..HttpAnswer::empty(200) };
        }
        self.by_itself(body, buf)
    }

    /// Judged by the body alone.
    fn by_itself(&mut self, body: &[u8], buf: &mut Vec<u8>) -> HttpAnswer {
        tell(&mut self.single, body);
        self.said(buf)
    }

    /// What the gate for single requests has to say.
    fn said(&mut self, buf: &mut Vec<u8>) -> HttpAnswer {
        let said = hear(&mut self.single, buf, b'\n');
        let status = said.1.map_or(400, status_of);
        HttpAnswer { body: said.0, event: said.1, ..HttpAnswer::empty(status) }
    }
}

/// NEG-07, META-03, META-07, HTTP-09, HTTP-10, HTTP-18; for the others AMB-35.
fn status_of(event: GateEvent) -> u16 {
    match event {
        GateEvent::Served { .. } | GateEvent::HandshakeDone(_) => 200,
        GateEvent::Refused(code) if code == codes::METHOD_NOT_FOUND.code => 404,
        GateEvent::Refused(code) if code == codes::INTERNAL_ERROR.code => 500,
        GateEvent::Refused(_) => 400,
    }
}

fn tell(gate: &mut Gate, body: &[u8]) {
    // Content alone decides, and standard input, which could have ended, there is none.
    let told = gate.handle_input(Time::ZERO, GateInput::Message(body));
    debug_assert_eq!(told, Ok(()));
}

/// All that a gate has to say, each message without its newline, and the event of the last one.
fn hear(gate: &mut Gate, buf: &mut Vec<u8>, between: u8) -> (Option<Range<usize>>, Option<GateEvent>) {
    let start = buf.len();
    let mut last = None;
    while let Some(output) = gate.poll_output(buf) {
        match output {
            GateOutput::Write(_) => {
                buf.pop();
                buf.push(between);
            }
            GateOutput::Event(event) => last = Some(event),
            GateOutput::Exit => {}
        }
    }
    if buf.len() > start {
        buf.pop();
    }
    ((buf.len() > start).then_some(start..buf.len()), last)
}
