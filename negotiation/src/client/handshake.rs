//! While `initialize` is open: the legacy handshake, and the way back when it proves a modern server.

use super::http::Session;
use super::{
    Belongs, BrokenEnvelope, Event, Failure, InitializeRefused, LateDiscover, Mode, Negotiator, Phase, State,
    UncorrelatedError,
};
use crate::classify::{ReplyKind, classify_reply, read_initialize_result};
use crate::codes;
use crate::envelope::{ErrorObject, Message, Outcome, Response, read_message};
use crate::json::Raw;
use crate::version::{Era, ProtocolVersion};

impl Negotiator {
    /// Sends `initialize` for the legacy version at this place of the preferences (LEG-01).
    pub(super) fn initialize(&mut self, version: u16) {
        let reused = self.unanswered_probe.filter(|_| self.deviations.reuse_probe_id);
        let id = reused.unwrap_or_else(|| self.take_id());
        let state = if self.budget.attempts > 0 { State::FallingBack } else { State::Initializing };
        self.enter(state);
        self.leave_session();
        self.phase = Phase::Initializing { id, version };
        self.deadline = Some(self.now.plus_us(self.policy.request_timeout_us));
        self.write_initialize(id, version);
    }

    pub(super) fn on_initialize_line(&mut self, line: &[u8], id: i64, version: u16) {
        match read_message(line, &self.limits, &mut self.issues) {
            Message::Request(request) => {
                if request.method.eq_str("ping") {
                    self.write_ping_answer(&request.id);
                }
            }
            Message::Notification { .. } => {}
            Message::Batch | Message::NotAMessage | Message::NotJson => self.on_noise(),
            Message::Response(response) => match self.belongs(response.id, id) {
                Belongs::ToOpenRequest => self.on_initialize_answer(line, response, version),
                Belongs::ToUnansweredProbe => self.on_late_answer(line),
                Belongs::Uncorrelated if self.counts_for_initialize(&response) => {
                    self.on_initialize_answer(line, response, version);
                }
                _ => self.event(Event::Ignored),
            },
        }
    }

    /// AMB-27: while an unanswered probe is open too, nobody knows which of the two was refused.
    fn counts_for_initialize(&self, response: &Response<'_>) -> bool {
        if self.http.is_some() {
            return self.exchange_names_request(response);
        }
        matches!(response.outcome, Outcome::Error(_))
            && self.unanswered_probe.is_none()
            && self.policy.uncorrelated_error == UncorrelatedError::CountAsAnswer
    }

    fn on_initialize_answer(&mut self, line: &[u8], response: Response<'_>, version: u16) {
        match response.outcome {
            Outcome::Result(result) => self.on_initialize_result(line, result),
            Outcome::Error(error) => self.on_initialize_error(line, error, version),
            Outcome::Broken => match self.policy.broken_envelope {
                BrokenEnvelope::Drop => self.event(Event::Ignored),
                BrokenEnvelope::CountAsAnswer | BrokenEnvelope::Fail => {
                    self.fail(Failure::UnusableInitialize("it is neither result nor error"));
                }
            },
        }
    }

    fn on_initialize_result(&mut self, line: &[u8], result: Raw<'_>) {
        let read = read_initialize_result(line, result, &mut self.issues);
        let Some(name) = read.version else {
            return self.fail(Failure::UnusableInitialize("protocolVersion is no string"));
        };
        // LEG-04: a version that is not spoken here ends the session.
        let Some(version) = self.offered.legacy.iter().find(|version| name.eq_str(version.as_str())).cloned()
        else {
            return self.accept_modern_or_fail(&name.decode());
        };
        self.agree(version);
        self.turn_modern_late();
    }

    /// LEG-09. Over HTTP the session is open when `notifications/initialized` was accepted.
    fn agree(&mut self, version: ProtocolVersion) {
        match self.session() {
            None => {
                self.write_initialized();
                self.settle(Era::Legacy, version);
            }
            Some(Session::Unusable) => {
                self.fail(Failure::UnusableInitialize("its session id cannot be sent back"));
            }
            Some(Session::None | Session::Id(_)) => {
                self.enter(State::Confirming);
                self.phase = Phase::Confirming { version };
                self.deadline = Some(self.now.plus_us(self.policy.request_timeout_us));
                self.write_initialized();
            }
        }
    }

    /// Only a client that asked `initialize` for a modern version takes one (ERA-22).
    fn accept_modern_or_fail(&mut self, name: &str) {
        if self.deviations.initialize_modern_version && self.offered.modern_index(name).is_some() {
            return self.agree(ProtocolVersion::new(name));
        }
        self.fail(Failure::CounterOffer);
    }

    pub(super) fn on_initialize_error(&mut self, line: &[u8], error: ErrorObject<'_>, version: u16) {
        if self.policy.mode == Mode::Auto && self.budget.returns > 0 && !self.offered.modern.is_empty() {
            if self.policy.late_discover == LateDiscover::UpgradeBeforeUse
                && let Some(late) = self.late.and_then(|at| self.offered.modern.get(usize::from(at)))
            {
                return self.settle(Era::Modern, late.clone());
            }
            if let Some(next) = self.modern_after_all(line) {
                self.budget.returns -= 1;
                return self.probe(next);
            }
            if self.cached_era_was_wrong() {
                return;
            }
        }
        if self.policy.initialize_refused == InitializeRefused::RetryListed
            && self.budget.legacy_retries > 0
            && !self.modern_proven
            && let Some(next) = self.legacy_listed(error.data, version)
        {
            self.budget.legacy_retries -= 1;
            return self.initialize(next);
        }
        self.fail(Failure::InitializeRefused(error.code));
    }

    /// ERA-12: what an earlier connection had learned is wrong, and the probe is sent after all.
    pub(super) fn cached_era_was_wrong(&mut self) -> bool {
        let probes = self.policy.mode == Mode::Auto && !self.offered.modern.is_empty();
        let cached = self.policy.cached_era == Some(Era::Legacy) && self.budget.attempts == 0;
        if !(probes && cached && self.budget.returns > 0) {
            return false;
        }
        self.budget.returns -= 1;
        self.probe(0);
        true
    }

    /// A -32022 to `initialize` that lists one of our modern versions proves a modern server after all.
    fn modern_after_all(&mut self, line: &[u8]) -> Option<u16> {
        match classify_reply(line, &self.offered, &self.limits, &mut self.issues).kind {
            ReplyKind::UnsupportedVersion(unsupported) => {
                self.modern_proven = true;
                self.untried(unsupported.listed)
            }
            _ => None,
        }
    }

    /// LEG-28: the versions that the refusal lists, as in the page's example.
    fn legacy_listed(&self, data: Option<Raw<'_>>, refused: u16) -> Option<u16> {
        let listed = data?.get("supported")?;
        let best = listed
            .elements()
            .filter_map(|item| item.as_str())
            .filter_map(|name| self.offered.legacy.iter().position(|version| name.eq_str(version.as_str())))
            .filter(|at| *at != usize::from(refused))
            .min()?;
        u16::try_from(best).ok()
    }

    /// AMB-21: the probe is answered after all; legacy goes on, and a good answer is remembered.
    pub(super) fn on_late_answer(&mut self, line: &[u8]) {
        self.unanswered_probe = None;
        match classify_reply(line, &self.offered, &self.limits, &mut self.issues).kind {
            ReplyKind::Discovered(discovered) => {
                self.late = discovered.listed.modern;
                self.modern_proven = true;
            }
            ReplyKind::ModernError(_) | ReplyKind::UnsupportedVersion(_) => self.modern_proven = true,
            _ => {}
        }
        self.event(Event::Ignored);
        self.turn_modern_late();
    }

    fn turn_modern_late(&mut self) {
        let legacy = matches!(self.phase, Phase::Settled { era: Era::Legacy, .. });
        if self.deviations.modern_after_late_discover
            && legacy
            && let Some(version) = self.late.take().and_then(|at| self.offered.modern.get(usize::from(at)))
        {
            self.settle(Era::Modern, version.clone());
        }
    }

    /// The error code of the machine's own answers to requests that it does not serve.
    pub(super) const UNSERVED: i64 = codes::METHOD_NOT_FOUND.code;
}
