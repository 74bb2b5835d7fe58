//! Properties of the version at which a client goes on: it was offered, and it is the one that the client likes best.

use std::borrow::Cow;

use mcp_parley_trace::{Era, Kind};

use super::base::client_reports;
use super::goes_on_modern;
use crate::known::Method;
use crate::story::{Answer, Message, NONE, Story};
use crate::verdict::Verdict;

/// A step with which the client goes on at a modern version: a report, or a request.
struct Step<'a> {
    seq: u32,
    version: Cow<'a, str>,
    message: Option<&'a Message>,
}

/// In order, reports before the requests that follow from them.
fn modern_steps<'a>(story: &Story<'a>) -> Vec<Step<'a>> {
    let settled = client_reports(story)
        .filter(|(.., event)| event.kind == Kind::Settled(Era::Modern) && !event.is_empty())
        .map(|(seq, _, event)| Step {
            seq,
            version: String::from_utf8_lossy(story.bytes(&event)),
            message: None,
        });
    let mut steps: Vec<Step<'a>> = settled.collect();
    for request in story.requests().filter(|request| goes_on_modern(story, request)) {
        if let Some(version) = story.string(request.version) {
            steps.push(Step { seq: request.sent, version, message: Some(request) });
        }
    }
    steps.sort_by_key(|step| step.seq);
    steps
}

fn broken(step: &Step<'_>, evidence: &[u32], reason: &'static str) -> Verdict {
    match step.message {
        Some(message) => Verdict::broken_by(message, evidence, reason),
        None => Verdict::broken(step.seq, evidence, reason),
    }
}

/// The responses with lists that the client had received.
fn lists_before<'a>(
    story: &Story<'a>,
    seq: u32,
) -> impl DoubleEndedIterator<Item = (&'a Message, &'a Message)> + use<'a> {
    story.answers().filter(move |(answer, _)| {
        answer.received < seq
            && matches!(answer.answer, Answer::Discovered | Answer::Untyped | Answer::Unsupported)
    })
}

/// The version was listed by the server, or a request at it served.
fn was_offered(story: &Story<'_>, step: &Step<'_>) -> bool {
    lists_before(story, step.seq).any(|(answer, _)| story.lists(answer, &step.version))
        || story.answers().any(|(answer, request)| {
            answer.answer == Answer::Typed
                && answer.received < step.seq
                && story.is_string(request.version, &step.version)
        })
}

/// It repeats the very request that was refused, which is AMB-10's, and bounded by PROP-RETRY.
fn repeats_refused(story: &Story<'_>, step: &Step<'_>) -> bool {
    story.answers().any(|(answer, request)| {
        answer.received < step.seq
            && answer.answer == Answer::Unsupported
            && story.is_string(request.version, &step.version)
            && step.message.is_some_and(|message| message.method == request.method)
    })
}

/// PROP-OFFERED
pub(super) fn offered(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for step in modern_steps(story) {
        let own = story.offers().is_none_or(|offers| offers.iter().any(|own| *own == *step.version));
        if !own {
            return broken(&step, &[step.seq], "it goes on at a version that it does not declare");
        }
        if let Some((list, _)) = lists_before(story, step.seq).last()
            && !was_offered(story, &step)
            && !repeats_refused(story, &step)
        {
            let evidence = [list.received, step.seq];
            return broken(&step, &evidence, "it goes on at a version that the server has not listed");
        }
        kept = step.seq;
    }
    match legacy_step(story) {
        Ok(seq) => Verdict::kept(if kept == NONE { seq } else { kept }, "the client went on at no version"),
        Err(verdict) => verdict,
    }
}

/// A legacy session is settled at the version of the InitializeResult.
fn legacy_step(story: &Story<'_>) -> Result<u32, Verdict> {
    let mut kept = NONE;
    for (seq, _, event) in client_reports(story) {
        if event.kind != Kind::Settled(Era::Legacy) || event.is_empty() {
            continue;
        }
        let version = String::from_utf8_lossy(story.bytes(&event));
        let agreed = || {
            story
                .answers()
                .filter(|(answer, request)| request.method == Method::Initialize && answer.received < seq)
                .filter(|(answer, _)| answer.answer == Answer::Handshake)
        };
        if let Some((answer, _)) = agreed().next_back()
            && !agreed().any(|(answer, _)| story.is_string(answer.handshake_version, &version))
        {
            let reason = "it settles on a version that the server has not answered with";
            return Err(Verdict::broken(seq, &[answer.received, seq], reason));
        }
        kept = seq;
    }
    Ok(kept)
}

/// PROP-PREFERENCE. A version that was refused before is out, whatever a list says of it.
pub(super) fn preference(story: &Story<'_>) -> Verdict {
    let Some(offers) = story.offers() else {
        return Verdict::not_applicable("the order of the client's versions is not known");
    };
    let mut kept = NONE;
    let mut judged: Option<u32> = None;
    for step in modern_steps(story) {
        let Some((list, _)) = lists_before(story, step.seq).last() else { continue };
        // One choice is judged for each list; later requests only repeat it.
        if judged == Some(list.place) {
            continue;
        }
        judged = Some(list.place);
        let was_refused = |version: &str| {
            story.answers().any(|(answer, request)| {
                answer.received < step.seq
                    && matches!(answer.answer, Answer::Unsupported | Answer::OddUnsupported)
                    && story.is_string(request.version, version)
            })
        };
        let best = offers.iter().find(|own| story.lists(list, own) && !was_refused(own));
        let is_common = offers.iter().any(|own| *own == *step.version) && story.lists(list, &step.version);
        match best {
            Some(best) if is_common && *best != *step.version && !was_refused(&step.version) => {
                let evidence = [list.received, step.seq];
                return broken(
                    &step,
                    &evidence,
                    "it goes on at a version that it likes less than another common one",
                );
            }
            Some(best) if *best == *step.version => kept = step.seq,
            _ => {}
        }
    }
    Verdict::kept(kept, "the client made no choice from a list")
}
