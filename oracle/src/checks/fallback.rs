//! ERA-05 and ERA-06: a client that detects the era falls back on anything that is no modern evidence.
//!
//! Both show only where the client gave up and nothing but the server's answer, or its silence, can be the reason. What
//! is contested (-32602, odd successes, broken or uncorrelated answers, noise, an exit) is no such reason.

use mcp_parley_trace::{Kind, Mode};

use super::is_modern_sign;
use crate::known::{INVALID_PARAMS, METHOD_NOT_FOUND, Method};
use crate::story::{Answer, Message, NONE, Process, Shape, Side, Story};
use crate::verdict::Verdict;

/// A failure sooner than this after the probe may be a shutdown that its user asked for.
const SOON_US: u64 = 1_000_000;

/// How a probe ended that leads to a fallback.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trigger {
    Silence,
    Code(i64),
}

/// ERA-05: silence, and -32601.
pub(super) fn after_silence(story: &Story<'_>) -> Verdict {
    judge(story, |trigger| matches!(trigger, Trigger::Silence | Trigger::Code(METHOD_NOT_FOUND)))
}

/// ERA-06: every other code, so that a fallback tied to one code is told from none at all.
pub(super) fn after_any_error(story: &Story<'_>) -> Verdict {
    judge(story, |trigger| match trigger {
        Trigger::Silence => false,
        // AMB-11: a client may take this one for a modern error.
        Trigger::Code(code) => !matches!(code, METHOD_NOT_FOUND | INVALID_PARAMS),
    })
}

fn judge(story: &Story<'_>, wanted: impl Fn(Trigger) -> bool) -> Verdict {
    if story.declared.mode != Mode::Auto || story.accepts().is_some_and(<[String]>::is_empty) {
        return Verdict::not_applicable("only a client that has a legacy version to fall back to does so");
    }
    let Some(probe) = story.requests().rfind(|request| request.method == Method::Discover) else {
        return Verdict::not_applicable("no probe");
    };
    if story.answers().any(|(answer, _)| answer.received != NONE && is_modern_sign(answer.answer)) {
        return Verdict::not_applicable("something else than a legacy failure was received");
    }
    let trigger = match story.answer_of(probe).filter(|answer| answer.received != NONE) {
        Some(Message { answer: Answer::OtherError, code: Some(code), .. }) => Trigger::Code(*code),
        Some(_) => return Verdict::not_applicable("the answer to the probe is no plain error"),
        None => Trigger::Silence,
    };
    if !wanted(trigger) {
        return Verdict::not_applicable("the probe ended in another way");
    }
    let initialize = story.requests().find(|request| request.method == Method::Initialize);
    if let Some(initialize) = initialize {
        return Verdict::pass(&[probe.sent, initialize.sent]);
    }
    gave_up(story, probe, trigger)
}

/// The client sent no `initialize`: judges whether the server's failure is the only reason that it can have.
fn gave_up(story: &Story<'_>, probe: &Message, trigger: Trigger) -> Verdict {
    let process = story.process(probe);
    let closed = process.and_then(|process| process.closed);
    let failed = story.report(probe.sent, |kind| kind == Kind::Failed).map(|(seq, t_us, _)| (seq, t_us));
    let end = if story.declared.reports { failed } else { closed.filter(|_| story.is_whole()) };
    let Some((seq, t_us)) = end else {
        return Verdict::incomplete("the client had not given up when the run ended");
    };
    let until = closed.map_or(seq, |(closed, _)| closed.min(seq));
    let died = |process: &Process| {
        let before = process.closed.map_or(seq, |(closed, _)| closed.min(seq));
        process.gone.is_some_and(|(gone, _)| gone < before)
    };
    if story.processes().iter().any(died) {
        return Verdict::incomplete("the server was gone, which leaves the next step open (AMB-05)");
    }
    let answer = story.answer_of(probe).filter(|answer| answer.received < until);
    let disturbed = story.from(Side::Server).any(|message| {
        message.received < until
            && message.shape != Shape::Notification
            && Some(message.place) != answer.map(|answer| answer.place)
    });
    if disturbed {
        return Verdict::incomplete("something else that came may be why the client gave up");
    }
    match (trigger, answer) {
        (Trigger::Silence, _) => {
            let waited = t_us.saturating_sub(probe.sent_us);
            let needed = match story.declared.longest_wait_us {
                Some(wait) if story.declared.reports => wait.min(SOON_US),
                Some(wait) => wait,
                None if story.declared.reports => SOON_US,
                None => u64::MAX,
            };
            if waited < needed {
                return Verdict::incomplete("the client may have been stopped before its wait was over");
            }
            let reason = "it gives up after silence, without `initialize`";
            Verdict::broken(seq, &[probe.sent, seq], reason)
        }
        (Trigger::Code(_), Some(answer)) => {
            let reason = "it gives up after an error that is not modern, without `initialize`";
            Verdict::broken(seq, &[probe.sent, answer.received, seq], reason)
        }
        (Trigger::Code(_), None) => Verdict::incomplete("the error came when the client had given up"),
    }
}
