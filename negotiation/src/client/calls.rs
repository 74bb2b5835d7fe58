//! After settling: ordinary requests, written by the same code as the probe, and what their answers mean.

use super::{Belongs, Call, Event, MissingResultType, Negotiator, Phase};
use crate::classify::{ReplyKind, ResultType, classify_reply, read_result_type};
use crate::envelope::{Message, Outcome, Request, Response, read_message};
use crate::version::Era;

impl Negotiator {
    pub(super) fn on_call(&mut self, method: &str, params: &[u8]) {
        self.budget.reissues = 1;
        self.call = Some(Call { id: 0, method: method.into(), params: params.into() });
        self.send_open_call();
    }

    /// Sends the open call, if there is one: for the first time, at another version, or to a new process.
    pub(super) fn send_open_call(&mut self) {
        let Phase::Settled { era, version } = self.phase.clone() else { return };
        let Some(mut call) = self.call.take() else { return };
        call.id = self.take_id();
        self.deadline = Some(self.now.plus_us(self.policy.request_timeout_us));
        self.write_call(&call, era, &version);
        self.call = Some(call);
    }

    pub(super) fn resume(&mut self) {
        self.deadline = None;
        self.send_open_call();
    }

    pub(super) fn on_call_timeout(&mut self) {
        if let Some(call) = self.call.take() {
            // CANC-06: over HTTP a modern request is cancelled by closing its stream. A legacy one is not (LEG-25).
            let always = self.http.is_none() || self.deviations.cancel_by_notification;
            if always || matches!(self.phase, Phase::Settled { era: Era::Legacy, .. }) {
                self.write_cancelled(call.id);
            }
            self.give_up();
            self.event(Event::Called(false));
        }
    }

    pub(super) fn on_settled_line(&mut self, line: &[u8], era: Era) {
        match read_message(line, &self.limits, &mut self.issues) {
            Message::Request(request) => self.on_server_request(&request, era),
            Message::Notification { .. } => {}
            Message::Batch | Message::NotAMessage | Message::NotJson => self.on_noise(),
            Message::Response(response) => {
                let Some(open) = self.call.as_ref().map(|call| call.id) else {
                    return self.on_stray_response(line, response);
                };
                match self.belongs(response.id, open) {
                    Belongs::ToOpenRequest => self.on_call_answer(line, response, era),
                    Belongs::Uncorrelated if self.exchange_names_request(&response) => {
                        self.on_call_answer(line, response, era);
                    }
                    _ => self.on_stray_response(line, response),
                }
            }
        }
    }

    /// BASE-18, AMB-27: an error over HTTP needs no id, its exchange says what it answers.
    pub(super) fn exchange_names_request(&self, response: &Response<'_>) -> bool {
        self.http.is_some() && matches!(response.outcome, Outcome::Error(_))
    }

    /// What comes on the stream that a legacy session may have for it (LEG-23). No response belongs there.
    pub(super) fn on_unasked(&mut self, line: &[u8]) {
        self.issues.clear();
        match read_message(line, &self.limits, &mut self.issues) {
            Message::Request(request) => self.on_server_request(&request, Era::Legacy),
            Message::Response(_) => self.event(Event::Ignored),
            Message::Notification { .. } | Message::Batch | Message::NotAMessage | Message::NotJson => {}
        }
    }

    fn on_stray_response(&mut self, line: &[u8], response: Response<'_>) {
        match self.belongs(response.id, 0) {
            Belongs::ToUnansweredProbe => self.on_late_answer(line),
            _ => self.event(Event::Ignored),
        }
    }

    /// LEG-12: in a legacy session the server may ask. In the modern era it may not, and gets no answer (STDIO-04).
    fn on_server_request(&mut self, request: &Request<'_>, era: Era) {
        match era {
            Era::Modern => self.event(Event::Ignored),
            Era::Legacy if request.method.eq_str("ping") => self.write_ping_answer(&request.id),
            Era::Legacy => self.write_refusal(&request.id, Self::UNSERVED),
        }
    }

    fn on_call_answer(&mut self, line: &[u8], response: Response<'_>, era: Era) {
        self.deadline = None;
        let good = match response.outcome {
            Outcome::Result(result) => era == Era::Legacy || self.is_complete(read_result_type(result)),
            Outcome::Error(_) if era == Era::Modern && self.correct_version(line) => return,
            Outcome::Error(_) | Outcome::Broken => false,
        };
        self.call = None;
        self.event(Event::Called(good));
    }

    fn is_complete(&self, result_type: ResultType<'_>) -> bool {
        match result_type {
            ResultType::Complete => true,
            ResultType::Absent => self.policy.missing_result_type == MissingResultType::Accept,
            ResultType::InputRequired => false,
            ResultType::Unknown(_) | ResultType::WrongType(_) => self.deviations.accept_unknown_result_type,
        }
    }

    /// NEG-03: a -32022 to any request is answered by asking again at a listed version. True if it was.
    fn correct_version(&mut self, line: &[u8]) -> bool {
        let ReplyKind::UnsupportedVersion(unsupported) =
            classify_reply(line, &self.offered, &self.limits, &mut self.issues).kind
        else {
            return false;
        };
        if let Phase::Settled { version, .. } = &self.phase
            && let Some(at) = self.offered.modern_index(version.as_str())
        {
            self.refuse(u16::try_from(at).unwrap_or(u16::MAX));
        }
        if self.budget.corrections == 0 {
            return false;
        }
        let next = self.untried(unsupported.listed).and_then(|at| self.offered.modern.get(usize::from(at)));
        let Some(next) = next.cloned() else { return false };
        self.budget.corrections -= 1;
        self.settle(Era::Modern, next);
        true
    }
}
