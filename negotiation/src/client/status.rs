//! What an HTTP answer means whose status or body is no plain answer (ERA-07 to ERA-10, AMB-08, AMB-28, AMB-33).
//!
//! The body comes first: a recognised modern error, or a DiscoverResult, proves a modern server whatever the status. After that the
//! status decides.

use super::http::{Head, Http, Session};
use super::{
    Belongs, BrokenConnection, Event, Evidence, Failure, HttpSilence, HttpStepDown, Negotiator, NoAnswer,
    Phase, Redirect, ServerError, State, TooManyRequests, Unauthorized,
};
use crate::classify::{ReplyKind, classify_reply};
use crate::codes;
use crate::envelope::{Message, Outcome, read_message};
use crate::http::HttpEnd;
use crate::version::Era;

const DISCOVER: &str = "server/discover";
const INITIALIZE: &str = "initialize";
const INITIALIZED: &str = "notifications/initialized";

pub(super) fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}

/// A 4xx that finds fault with the request itself, as a legacy server does with a modern one (ERA-10).
fn blames_the_request(status: u16) -> bool {
    (400..500).contains(&status) && !matches!(status, 401 | 403 | 429)
}

/// ERA-19, LEG-31.
fn may_be_http_sse(status: u16) -> bool {
    matches!(status, 400 | 404 | 405)
}

impl Negotiator {
    /// A message in an answer that is no success, or of another media type.
    pub(super) fn on_refusal(&mut self, status: u16, body: &[u8]) {
        match self.phase {
            Phase::Probing { id, version } => self.on_probe_refusal(status, body, id, version),
            Phase::Initializing { id, version } => self.on_initialize_refusal(status, body, id, version),
            Phase::Settled { era, .. } => self.on_call_refusal(status, body, era),
            _ => {}
        }
    }

    fn on_probe_refusal(&mut self, status: u16, body: &[u8], id: i64, version: u16) {
        if self.deviations.fall_back_on_400_unread && status == 400 && !self.offered.legacy.is_empty() {
            return self.initialize(0);
        }
        let reply = classify_reply(body, &self.offered, &self.limits, &mut self.issues);
        let counts = match reply.kind {
            ReplyKind::Discovered(_) | ReplyKind::UnsupportedVersion(_) | ReplyKind::ModernError(_) => true,
            ReplyKind::OtherError(_) => blames_the_request(status),
            _ => return,
        };
        match self.answers_probe(&reply, id) {
            Some(uncorrelated) if counts => self.on_probe_answer(reply.kind, version, uncorrelated),
            Some(_) => {}
            None => self.event(Event::Ignored),
        }
    }

    /// An error of a modern server that has no version of the machine's is an answer to `initialize` too (ERA-17).
    fn on_initialize_refusal(&mut self, status: u16, body: &[u8], id: i64, version: u16) {
        let Message::Response(response) = read_message(body, &self.limits, &mut self.issues) else { return };
        let Outcome::Error(error) = response.outcome else { return };
        match self.belongs(response.id, id) {
            Belongs::ToOpenRequest | Belongs::Uncorrelated => {
                let modern = codes::is_recognised_modern(error.code);
                if modern || is_success(status) || blames_the_request(status) {
                    self.on_initialize_error(body, error, version);
                }
            }
            Belongs::ToUnansweredProbe | Belongs::Foreign => self.event(Event::Ignored),
        }
    }

    fn on_call_refusal(&mut self, status: u16, body: &[u8], era: Era) {
        if self.session_is_gone(status) {
            return; // whatever the body says
        }
        let Message::Response(response) = read_message(body, &self.limits, &mut self.issues) else { return };
        if matches!(response.outcome, Outcome::Error(_)) {
            self.on_settled_line(body, era);
        }
    }

    /// The awaited answer is there in full, and nothing in it counted.
    pub(super) fn on_unanswered(&mut self, head: Head) {
        match self.phase {
            Phase::Probing { .. } => self.on_probe_status(head.status),
            Phase::Initializing { .. } => self.on_initialize_status(head.status),
            Phase::Settled { .. } if self.session_is_gone(head.status) => self.renew_session(),
            // HTTP-30.
            Phase::Settled { era: Era::Modern, .. } if head.is_answer() && head.is_event_stream() => {
                self.on_broken(HttpEnd::Complete);
            }
            Phase::Settled { .. } => self.give_call_up(),
            _ => {}
        }
    }

    /// AMB-08.
    fn on_probe_status(&mut self, status: u16) {
        let evidence = Evidence::Http { status, code: None };
        let (policy, failure) = (&self.policy, Failure::HttpStatus { status, what: DISCOVER });
        let falls_back = match status {
            200..=299 if policy.http_no_answer == NoAnswer::FallBack => {
                return self.fall_back(Evidence::NoAnswer { status });
            }
            200..=299 => return self.fail(Failure::Policy("an HTTP success without an answer")),
            300..=399 => policy.http_redirect == Redirect::FallBack,
            401 | 403 => policy.http_unauthorized == Unauthorized::FallBack,
            429 => policy.http_too_many_requests == TooManyRequests::FallBack,
            400..=499 => true,
            _ => policy.http_server_error == ServerError::FallBack,
        };
        if !falls_back {
            return self.fail(failure);
        }
        // ERA-08: behind a 400 the next step is `initialize`, whatever comes then.
        if policy.http_step_down == HttpStepDown::GetFirst
            && status != 400
            && self.may_fall_back()
            && self.needs_http_sse(status)
        {
            return self.fail(Failure::NeedsHttpSse);
        }
        self.fall_back(evidence);
    }

    fn on_initialize_status(&mut self, status: u16) {
        if blames_the_request(status) && self.cached_era_was_wrong() {
            return;
        }
        self.fail(match status {
            200..=299 => Failure::UnusableInitialize("there is no JSON-RPC response in it"),
            _ if self.needs_http_sse(status) => Failure::NeedsHttpSse,
            _ => Failure::HttpStatus { status, what: INITIALIZE },
        });
    }

    /// AMB-33. Of use only to a client that offers the revision which has that transport (ERA-19).
    fn needs_http_sse(&self, status: u16) -> bool {
        may_be_http_sse(status)
            && self.policy.http_step_down != HttpStepDown::Never
            && self.offered.legacy_index("2024-11-05").is_some()
    }

    /// `notifications/initialized` was answered. Only then may the next request follow: exchanges are independent, and a
    /// request that overtakes it is refused by servers that keep to LEG-10. An error status says that it was not accepted
    /// (LEG-24), so there is no session to go on with.
    pub(super) fn on_confirmation(&mut self, status: u16) {
        let Phase::Confirming { version } = self.phase.clone() else { return };
        if !is_success(status) {
            return self.fail(Failure::HttpStatus { status, what: INITIALIZED });
        }
        self.settle(Era::Legacy, version);
        self.listen();
    }
}

/// Time and connection.
impl Negotiator {
    /// AMB-09. A head without the rest of the answer says as much as the status in it.
    pub(super) fn on_http_probe_timeout(&mut self) {
        match self.give_up() {
            Some(head) if !is_success(head.status) => self.on_unanswered(head),
            _ if self.policy.http_silence == HttpSilence::FallBack => self.fall_back(Evidence::Silence),
            _ => self.fail(Failure::Silence(DISCOVER)),
        }
    }

    /// No connection, or half an answer. It says nothing of the era, and the request is lost (HTTP-30).
    pub(super) fn on_broken(&mut self, end: HttpEnd) {
        let again = self.budget.reissues > 0;
        self.repeats_id = again && self.deviations.reuse_lost_id;
        let lost = |what| Failure::ConnectionLost { end, what };
        match self.phase {
            Phase::Probing { version, .. } => match self.policy.http_broken_connection {
                BrokenConnection::AskAgain if again => {
                    self.budget.reissues -= 1;
                    self.probe(version);
                }
                BrokenConnection::FallBack => self.fall_back(Evidence::Connection(end)),
                BrokenConnection::AskAgain | BrokenConnection::Fail => self.fail(lost(DISCOVER)),
            },
            Phase::Initializing { version, .. } if again => {
                self.budget.reissues -= 1;
                self.initialize(version);
            }
            Phase::Initializing { .. } => self.fail(lost(INITIALIZE)),
            Phase::Confirming { .. } => self.fail(lost(INITIALIZED)),
            Phase::Settled { era: Era::Modern, .. } if again => {
                self.budget.reissues -= 1;
                self.send_open_call();
            }
            Phase::Settled { .. } => self.give_call_up(),
            Phase::Idle | Phase::Spawning | Phase::Ending | Phase::Done => {}
        }
    }

    /// The answer is longer than is read. What it says is not known, so it is evidence of nothing; its status may be.
    pub(super) fn on_too_long(&mut self, head: Head) {
        const WHY: &str = "it is longer than this client reads";
        match self.phase {
            Phase::Probing { .. } if head.is_answer() => self.fail(Failure::UnusableDiscovery(WHY)),
            Phase::Initializing { .. } if head.is_answer() => self.fail(Failure::UnusableInitialize(WHY)),
            _ => self.on_unanswered(head),
        }
    }

    fn give_call_up(&mut self) {
        self.deadline = None;
        if self.call.take().is_some() {
            self.event(Event::Called(false));
        }
    }
}

/// The session of the legacy era.
impl Negotiator {
    pub(super) fn session(&self) -> Option<&Session> {
        self.http.as_ref().map(|http| &http.session)
    }

    fn has_session(&self) -> bool {
        matches!(self.session(), Some(Session::Id(_)))
    }

    /// LEG-21: what the server forgot is begun anew, once.
    fn session_is_gone(&self, status: u16) -> bool {
        let legacy = matches!(self.phase, Phase::Settled { era: Era::Legacy, .. });
        status == 404 && legacy && self.has_session() && self.budget.sessions > 0
    }

    /// The open call goes on in the new session.
    fn renew_session(&mut self) {
        let Phase::Settled { version, .. } = &self.phase else { return };
        let version = self.offered.legacy_index(version.as_str()).and_then(|at| u16::try_from(at).ok());
        self.budget.sessions -= 1;
        self.abort_all();
        self.initialize(version.unwrap_or(0));
    }

    /// Whoever is done with a session says so before it goes.
    pub(super) fn shut_down(&mut self) {
        let legacy = matches!(self.phase, Phase::Confirming { .. } | Phase::Settled { era: Era::Legacy, .. });
        if legacy && self.has_session() && self.policy.end_session == super::EndSession::Delete {
            return self.end_session();
        }
        self.finish(State::Closed);
    }

    /// LEG-21: `initialize` is sent without a session.
    pub(super) fn leave_session(&mut self) {
        if let Some(Http { session, .. }) = &mut self.http
            && !self.deviations.keep_lost_session
        {
            *session = Session::None;
        }
    }
}
