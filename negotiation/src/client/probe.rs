//! While the probe is open: what its answer means, and what follows (ERA-02 to ERA-06, NEG-03).

use super::status::is_success;
use super::{
    AfterModernError, BadHint, Belongs, BrokenEnvelope, CancelProbe, DownKind, EarlyRequest, Event, Evidence,
    Failure, InvalidParams, MethodNotFound, MissingResultType, Mode, Negotiator, OddUnsupported, Opening,
    OtherSuccess, Phase, ProbeExit, State, UncorrelatedError,
};
use crate::classify::{Discovered, Listed, Reply, ReplyKind, ResultType, Unsupported, classify_reply};
use crate::codes;
use crate::version::Era;

const METHOD_NOT_FOUND: i64 = codes::METHOD_NOT_FOUND.code;

impl Negotiator {
    /// Sends a probe for the modern version at this place of the preferences.
    pub(super) fn probe(&mut self, version: u16) {
        let id = self.take_id();
        self.enter(match self.phase {
            Phase::Initializing { .. } => State::ComingBack,
            _ if self.budget.attempts > 0 => State::ProbingAgain,
            _ => State::Probing,
        });
        self.budget.attempts = self.budget.attempts.saturating_add(1);
        self.phase = Phase::Probing { id, version };
        self.deadline = Some(self.now.plus_us(self.policy.probe_timeout_us));
        self.write_discover(id, version);
    }

    pub(super) fn on_probe_line(&mut self, line: &[u8], id: i64, version: u16) {
        let reply = classify_reply(line, &self.offered, &self.limits, &mut self.issues);
        match reply.kind {
            ReplyKind::Request(method) => {
                // HTTP-04: the client of a modern request sends no responses.
                let may_answer = self.http.is_none() && self.policy.early_request == EarlyRequest::AnswerPing;
                if may_answer && method.eq_str("ping") {
                    self.write_ping_answer(&reply.id);
                }
                return;
            }
            ReplyKind::Notification(_) => return,
            ReplyKind::NotAMessage => return self.on_noise(),
            _ => {}
        }
        match self.answers_probe(&reply, id) {
            Some(uncorrelated) => self.on_probe_answer(reply.kind, version, uncorrelated),
            None => self.event(Event::Ignored),
        }
    }

    /// Whether a response answers the open probe, and if so, whether without saying it (AMB-27).
    pub(super) fn answers_probe(&self, reply: &Reply<'_>, id: i64) -> Option<bool> {
        match self.belongs(reply.id, id) {
            Belongs::ToOpenRequest => Some(false),
            Belongs::Uncorrelated if self.counts_uncorrelated(reply.kind) => Some(true),
            _ => None,
        }
    }

    fn counts_uncorrelated(&self, kind: ReplyKind<'_>) -> bool {
        let error = matches!(
            kind,
            ReplyKind::UnsupportedVersion(_) | ReplyKind::ModernError(_) | ReplyKind::OtherError(_)
        );
        error && (self.http.is_some() || self.policy.uncorrelated_error == UncorrelatedError::CountAsAnswer)
    }

    pub(super) fn on_probe_answer(&mut self, kind: ReplyKind<'_>, version: u16, uncorrelated: bool) {
        match kind {
            ReplyKind::Discovered(discovered) => self.on_discovered(&discovered),
            ReplyKind::UnsupportedVersion(unsupported) => self.on_unsupported(unsupported, version),
            ReplyKind::ModernError(code) => self.on_modern_error(code, version),
            ReplyKind::OtherError(code) => self.on_other_error(code, version, uncorrelated),
            ReplyKind::OtherResult(result_type) => self.on_other_result(result_type, version),
            ReplyKind::Broken => match self.policy.broken_envelope {
                BrokenEnvelope::CountAsAnswer => self.fall_back(Evidence::BrokenAnswer),
                BrokenEnvelope::Drop => self.event(Event::Ignored),
                BrokenEnvelope::Fail => {
                    self.fail(Failure::Policy("a response that is neither result nor error"))
                }
            },
            ReplyKind::Request(_) | ReplyKind::Notification(_) | ReplyKind::NotAMessage => {}
        }
    }

    /// ERA-03: modern, whatever else is wrong with it.
    fn on_discovered(&mut self, discovered: &Discovered<'_>) {
        self.modern_proven = true;
        if self.deviations.initialize_after_discover && !self.offered.legacy.is_empty() {
            return self.initialize(0);
        }
        let usable = match discovered.result_type {
            ResultType::Complete => true,
            ResultType::Absent => self.policy.missing_result_type == MissingResultType::Accept,
            ResultType::Unknown(_) | ResultType::WrongType(_) | ResultType::InputRequired => {
                self.deviations.accept_unknown_result_type
            }
        };
        if !usable {
            return self.fail(Failure::UnusableDiscovery("its resultType is not \"complete\""));
        }
        if !discovered.hints_fine && self.policy.bad_hint == BadHint::Fail {
            return self.fail(Failure::UnusableDiscovery("its cache hints are malformed"));
        }
        match discovered.listed.modern.and_then(|at| self.offered.modern.get(usize::from(at))) {
            Some(version) => self.settle(Era::Modern, version.clone()),
            None => self.fail(Failure::NoCommonVersion),
        }
    }

    /// ERA-04, NEG-03: modern; another listed version is asked for, never `initialize`.
    fn on_unsupported(&mut self, unsupported: Unsupported, version: u16) {
        if self.deviations.retry_for_ever {
            return self.probe(version);
        }
        if !unsupported.well_formed && self.policy.odd_unsupported == OddUnsupported::ByShape {
            return self.fall_back(Evidence::OddUnsupported);
        }
        if self.deviations.fall_back_after_unsupported && unsupported.listed.modern.is_some() {
            return self.fall_back(Evidence::Error(codes::UNSUPPORTED_VERSION.code));
        }
        self.modern_proven = true;
        self.refuse(version);
        match self.untried(unsupported.listed) {
            Some(next) if self.budget.corrections > 0 => {
                self.budget.corrections -= 1;
                self.probe(next);
            }
            None if unsupported.listed.modern.is_none() && unsupported.well_formed => {
                self.fail(Failure::NoCommonVersion);
            }
            _ => self.fail(Failure::StillRefused {
                code: codes::UNSUPPORTED_VERSION.code,
                attempts: self.budget.attempts,
            }),
        }
    }

    pub(super) fn refuse(&mut self, version: u16) {
        self.budget.refused |= 1_u64.checked_shl(u32::from(version)).unwrap_or(0);
    }

    /// The best listed version that was not refused yet.
    pub(super) fn untried(&self, listed: Listed) -> Option<u16> {
        let open = listed.modern_set & !self.budget.refused;
        (open != 0).then(|| u16::try_from(open.trailing_zeros()).unwrap_or(u16::MAX))
    }

    /// AMB-11.
    fn on_modern_error(&mut self, code: i64, version: u16) {
        self.modern_proven = true;
        if self.policy.after_modern_error == AfterModernError::Retry && self.budget.corrections > 0 {
            self.budget.corrections = 0;
            return self.probe(version);
        }
        self.fail(Failure::ModernError(code));
    }

    fn on_other_error(&mut self, code: i64, version: u16, uncorrelated: bool) {
        if code == codes::INVALID_PARAMS.code && self.policy.invalid_params == InvalidParams::Modern {
            return self.on_modern_error(code, version);
        }
        let status = self.http.as_ref().map(|http| http.status).filter(|status| !is_success(*status));
        if let (METHOD_NOT_FOUND, Some(400 | 404)) = (code, status)
            && self.policy.http_method_not_found == MethodNotFound::StayModern
        {
            return self.on_modern_error(code, version);
        }
        if self.deviations.fall_back_on_method_not_found_only && code != codes::METHOD_NOT_FOUND.code {
            return self.fail(Failure::ModernError(code));
        }
        self.fall_back(match status {
            Some(status) => Evidence::Http { status, code: Some(code) },
            None if uncorrelated => Evidence::UncorrelatedError(code),
            None => Evidence::Error(code),
        });
    }

    /// AMB-02; an unknown `resultType` makes the result invalid (BASE-09), so it proves nothing.
    fn on_other_result(&mut self, result_type: ResultType<'_>, version: u16) {
        let valid = matches!(result_type, ResultType::Complete | ResultType::Absent);
        match self.policy.other_success {
            OtherSuccess::FallBack => self.fall_back(Evidence::OtherResult),
            OtherSuccess::StayModern if valid => match self.offered.modern.get(usize::from(version)) {
                Some(version) => self.settle(Era::Modern, version.clone()),
                None => self.fail(Failure::NoCommonVersion),
            },
            OtherSuccess::StayModern | OtherSuccess::Fail => {
                self.fail(Failure::Policy("a success that is no DiscoverResult"));
            }
        }
    }

    pub(super) fn on_probe_timeout(&mut self, id: i64) {
        self.unanswered_probe = Some(id);
        let falls_back = self.may_fall_back();
        // Without a fallback the client gives the request up, and on stdio it must say so (CANC-06).
        if !falls_back || self.policy.cancel_probe == CancelProbe::Cancel {
            self.write_cancelled(id);
        }
        self.fall_back(Evidence::Silence);
    }

    pub(super) fn on_probe_down(&mut self, kind: DownKind) {
        let again = self.budget.restarts > 0 && kind != DownKind::SpawnFailed;
        match self.policy.probe_exit {
            _ if kind == DownKind::SpawnFailed => self.fail(Failure::ServerGone(kind)),
            ProbeExit::Fail => self.fail(Failure::ServerGone(kind)),
            ProbeExit::RestartLegacy if self.may_fall_back() => self.restart_legacy(kind),
            // The budget of one restart is for the fallback; this policy asks for one more before it.
            ProbeExit::RestartProbe if self.may_fall_back() => {
                if self.opening == Opening::Probe && self.process.0 == 0 {
                    self.respawn();
                } else {
                    self.restart_legacy(kind);
                }
            }
            _ if again => {
                self.budget.restarts -= 1;
                self.opening = Opening::Probe;
                self.respawn();
            }
            _ => self.fall_back(Evidence::Exit(kind)),
        }
    }

    fn restart_legacy(&mut self, kind: DownKind) {
        self.event(Event::Downgraded(Evidence::Exit(kind)));
        self.restart_or_fail(kind, Opening::Initialize);
    }

    pub(super) fn may_fall_back(&self) -> bool {
        self.policy.mode == Mode::Auto && !self.offered.legacy.is_empty() && !self.modern_proven
    }

    /// ERA-05: anything else means legacy.
    pub(super) fn fall_back(&mut self, evidence: Evidence) {
        if self.modern_proven {
            return self.fail(Failure::ModernServer(evidence));
        }
        if !self.may_fall_back() {
            return self.fail(Failure::LegacyServer(evidence));
        }
        self.event(Event::Downgraded(evidence));
        self.initialize(0);
    }
}
