//! AMB: what the specification leaves open. Where the situation occurs, the outcome that was seen is reported.

use mcp_parley_trace::{Era, Kind};

use super::base::client_reports;
use super::{is_legacy_list, met_a_mark};
use crate::known::{INVALID_PARAMS, Method};
use crate::story::{Answer, Message, NONE, Phase, Shape, Side, Story};
use crate::verdict::Verdict;

/// What a client does next, as far as it tells one reading from another.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Probe,
    Initialize,
    /// It goes on in the modern era, or says that it has settled on it.
    Modern,
    Fail,
}

/// The first step after an event.
pub(super) fn next_step(story: &Story<'_>, seq: u32) -> Option<(Step, u32, u64)> {
    let request = story.requests().find(|request| request.sent > seq).map(|request| {
        let step = match request.method {
            Method::Discover => Step::Probe,
            Method::Initialize => Step::Initialize,
            _ => Step::Modern,
        };
        (step, request.sent, request.sent_us)
    });
    let report = client_reports(story).find_map(|(at, t_us, event)| match event.kind {
        Kind::Failed if at > seq => Some((Step::Fail, at, t_us)),
        Kind::Settled(Era::Modern) if at > seq => Some((Step::Modern, at, t_us)),
        _ => None,
    });
    request.into_iter().chain(report).min_by_key(|(_, at, _)| *at)
}

/// The first answer to a probe of the wanted kind that the client received, and what it did next.
fn after_answer(
    story: &Story<'_>,
    wanted: impl Fn(&Message) -> bool,
    observed: impl Fn(Step) -> Option<&'static str>,
) -> Verdict {
    let met = story.answers().find(|(answer, request)| {
        request.method == Method::Discover && answer.received != NONE && wanted(answer)
    });
    let Some((answer, _)) = met else { return Verdict::not_applicable("the situation did not occur") };
    let seen =
        next_step(story, answer.received).and_then(|(step, seq, _)| observed(step).map(|seen| (seen, seq)));
    match seen {
        Some((seen, seq)) => Verdict::contested(seen, &[answer.received, seq]),
        None => Verdict::incomplete("it does not show what the client made of it"),
    }
}

/// AMB-01
pub(super) fn legacy_list(story: &Story<'_>) -> Verdict {
    after_answer(
        story,
        |answer| is_legacy_list(story, answer),
        |step| match step {
            Step::Initialize => Some("handshake"),
            Step::Fail => Some("report"),
            Step::Modern | Step::Probe => None,
        },
    )
}

/// AMB-02
pub(super) fn odd_success(story: &Story<'_>) -> Verdict {
    let wanted = |answer: &Message| answer.answer == Answer::OddSuccess;
    after_answer(story, wanted, |step| match step {
        Step::Initialize => Some("fall-back"),
        Step::Fail => Some("fail"),
        Step::Modern => Some("stay-modern"),
        Step::Probe => None,
    })
}

/// AMB-03
pub(super) fn odd_unsupported(story: &Story<'_>) -> Verdict {
    let wanted = |answer: &Message| answer.answer == Answer::OddUnsupported;
    after_answer(story, wanted, |step| match step {
        Step::Initialize => Some("by-shape"),
        Step::Fail | Step::Modern | Step::Probe => Some("by-code"),
    })
}

/// AMB-05
pub(super) fn probe_exit(story: &Story<'_>) -> Verdict {
    let met = story.requests().find_map(|probe| {
        let process = story.process(probe)?;
        let (gone, _) = process.gone?;
        let open = probe.method == Method::Discover
            && probe.sent < gone
            && story.answered_before(probe, gone).is_none()
            && process.closed.is_none_or(|(closed, _)| closed > gone)
            && !story.requests().any(|later| {
                later.process == probe.process && later.method == Method::Initialize && later.sent < gone
            });
        open.then_some(gone)
    });
    let Some(gone) = met else { return Verdict::not_applicable("the situation did not occur") };
    match next_step(story, gone) {
        Some((Step::Initialize, seq, _)) => Verdict::contested("restart-legacy", &[gone, seq]),
        Some((Step::Probe, seq, _)) => Verdict::contested("restart-probe", &[gone, seq]),
        Some((Step::Fail, seq, _)) => Verdict::contested("fail", &[gone, seq]),
        _ => Verdict::incomplete("it does not show what the client made of it"),
    }
}

/// AMB-11
pub(super) fn after_modern_error(story: &Story<'_>) -> Verdict {
    let is_invalid =
        |answer: &Message| answer.answer == Answer::OtherError && answer.code == Some(INVALID_PARAMS);
    let first = after_answer(
        story,
        |answer| answer.answer == Answer::ModernError,
        |step| match step {
            Step::Probe | Step::Modern => Some("retry"),
            Step::Fail => Some("fail"),
            Step::Initialize => None,
        },
    );
    if first.outcome == mcp_parley_trace::Outcome::Contested {
        return first;
    }
    after_answer(story, is_invalid, |step| match step {
        Step::Initialize => Some("legacy"),
        Step::Probe | Step::Modern | Step::Fail => Some("modern"),
    })
}

/// AMB-17, the client's half.
pub(super) fn legacy_meta(story: &Story<'_>) -> Verdict {
    let in_session =
        |request: &&Message| request.phase == Phase::Session && request.method != Method::Discover;
    match story.requests().find(in_session) {
        Some(request) if request.modern_keys => Verdict::contested("keep", &[request.sent]),
        Some(request) => Verdict::contested("leave-out", &[request.sent]),
        None => Verdict::not_applicable("no request in a legacy session"),
    }
}

/// AMB-21
pub(super) fn late_discover(story: &Story<'_>) -> Verdict {
    let fallback = story.requests().find_map(|initialize| {
        let probe = story.requests().rfind(|probe| {
            probe.method == Method::Discover
                && probe.process == initialize.process
                && probe.place < initialize.place
                && story.answered_before(probe, initialize.sent).is_none()
        });
        probe.filter(|_| initialize.method == Method::Initialize).map(|probe| (probe, initialize))
    });
    let Some((probe, initialize)) = fallback else {
        return Verdict::not_applicable("the client did not fall back while its probe was open");
    };
    let late = story.answer_of(probe).filter(|answer| {
        answer.received != NONE && matches!(answer.answer, Answer::Discovered | Answer::Untyped)
    });
    if let Some(answer) = late {
        let upgraded = client_reports(story)
            .find(|(seq, _, event)| *seq > answer.received && event.kind == Kind::Settled(Era::Modern));
        return match upgraded {
            Some((seq, ..)) => Verdict::contested("upgrade-before-use", &[answer.received, seq]),
            None => Verdict::contested("ignore", &[initialize.sent, answer.received]),
        };
    }
    let uncorrelated = story
        .from(Side::Server)
        .any(|stray| stray.is_response() && stray.pair == NONE && stray.received < initialize.sent);
    if uncorrelated || met_a_mark(story, initialize) {
        return Verdict::not_applicable("the client may have taken another response for the answer");
    }
    let cancels = story.from(Side::Client).find(|message| {
        message.process == probe.process
            && message.method == Method::Cancelled
            && message.sent > probe.sent
            && message.place < initialize.place
            && story.same(message.params.and_then(|params| story.get(params, "requestId")), probe.id)
    });
    match cancels {
        Some(cancel) => Verdict::contested("cancel", &[probe.sent, cancel.sent]),
        None => Verdict::contested("no-cancel", &[probe.sent, initialize.sent]),
    }
}

/// AMB-27, the client's half. A client that ignores the error waits on; one that counts it acts at once.
pub(super) fn uncorrelated_error(story: &Story<'_>) -> Verdict {
    const AT_ONCE_US: u64 = 100_000;
    if story.is_http() {
        return Verdict::not_applicable("over HTTP the exchange says which request the error answers");
    }
    let met = story.from(Side::Server).find(|error| {
        let unread = error.shape == Shape::Error
            && error.received != NONE
            && error.id.is_none_or(|id| story.kind(id) == crate::json::Type::Null);
        let mut open = story.requests().filter(|request| {
            request.process == error.process
                && request.sent < error.received
                && story.answered_before(request, error.received).is_none()
        });
        unread
            && open.next().is_some_and(|request| request.method == Method::Discover)
            && open.next().is_none()
    });
    let Some(error) = met else { return Verdict::not_applicable("the situation did not occur") };
    match next_step(story, error.received) {
        Some((_, seq, t_us)) => {
            let at_once = t_us <= error.received_us.saturating_add(AT_ONCE_US);
            let answered = story.answers().any(|(answer, _)| {
                answer.process == error.process && answer.received > error.received && answer.received < seq
            });
            let seen = if at_once && !answered { "count-as-answer" } else { "ignore" };
            Verdict::contested(seen, &[error.received, seq])
        }
        None => Verdict::incomplete("it does not show what the client made of it"),
    }
}

/// AMB-29
pub(super) fn missing_result_type(story: &Story<'_>) -> Verdict {
    let wanted = |answer: &Message| answer.answer == Answer::Untyped;
    after_answer(story, wanted, |step| match step {
        Step::Modern => Some("accept"),
        Step::Fail | Step::Initialize => Some("fail"),
        Step::Probe => None,
    })
}

/// AMB-32
pub(super) fn early_request(story: &Story<'_>) -> Verdict {
    let met = story.from(Side::Server).find(|request| {
        request.is_request()
            && request.received != NONE
            && story.requests().any(|probe| {
                probe.method == Method::Discover
                    && probe.process == request.process
                    && probe.sent < request.received
                    && story.is_waiting(probe, request.received)
            })
            && !story.requests().any(|other| {
                other.method == Method::Initialize
                    && other.process == request.process
                    && other.sent < request.received
            })
    });
    let Some(request) = met else { return Verdict::not_applicable("the situation did not occur") };
    match story.message(request.pair) {
        Some(answer) => Verdict::contested("answer-ping", &[request.received, answer.sent]),
        None if story.is_whole() => Verdict::contested("silent", &[request.received]),
        None => Verdict::incomplete("the run ended before it showed whether the client answers"),
    }
}
