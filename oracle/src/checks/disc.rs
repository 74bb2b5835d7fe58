//! DISC and MRTR: the request, its result, and what a client does with it.

use super::is_modern_answer;
use super::neg::first_going_on;
use crate::json::Type;
use crate::known::Method;
use crate::story::{Answer, Message, NONE, Shape, Story};
use crate::verdict::Verdict;

/// DISC-01
pub(super) fn no_parameters(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for request in story.requests().filter(|request| request.method == Method::Discover) {
        let Some(params) = request.params else { continue };
        if story.children(params).any(|member| !story.is_key(member, "_meta")) {
            return Verdict::broken_by(request, &[], "`server/discover` has parameters besides `_meta`");
        }
        kept = request.sent;
    }
    Verdict::kept(kept, "no `server/discover`")
}

/// DISC-05
pub(super) fn uses_listed(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    let found = story.answers().filter(|(answer, _)| {
        answer.received != NONE && matches!(answer.answer, Answer::Discovered | Answer::Untyped)
    });
    for (answer, _) in found {
        let Some(next) = first_going_on(story, answer.received) else { continue };
        let Some(version) = story.string(next.version) else { continue };
        if !story.lists(answer, &version) && !is_listed_since(story, answer, next, &version) {
            let reason = "after discovery it uses a version that is not in `supportedVersions`";
            return Verdict::broken_by(next, &[answer.received, next.sent], reason);
        }
        kept = next.sent;
    }
    Verdict::kept(kept, "no request after a DiscoverResult")
}

/// A later answer lists it, before the request was sent.
fn is_listed_since(story: &Story<'_>, found: &Message, next: &Message, version: &str) -> bool {
    story.answers().any(|(answer, _)| {
        answer.received > found.received && answer.received < next.sent && story.lists(answer, version)
    })
}

/// The results to `server/discover` of a modern server.
pub(super) fn discoveries<'a>(story: &Story<'a>) -> impl Iterator<Item = (&'a Message, &'a Message)> {
    story.answers().filter(|(answer, request)| {
        request.method == Method::Discover
            && answer.shape == Shape::Result
            && is_modern_answer(story, answer, request)
    })
}

/// DISC-02. Its `resultType` and caching hints have rows of their own, which name the finding.
pub(super) fn result_members(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for (answer, _) in discoveries(story) {
        let member = |name| answer.result.and_then(|result| story.get(result, name));
        let asks = story.is_string(answer.result_type, "input_required");
        let list = answer.list.filter(|list| story.kind(*list) == Type::Array);
        let wrong = match list {
            _ if asks => continue,
            None => "the DiscoverResult has no array `supportedVersions`",
            Some(list) if story.children(list).any(|at| story.kind(at) != Type::String) => {
                "`supportedVersions` lists what is no string"
            }
            _ if !story.is(member("capabilities"), Type::Object) => {
                "the DiscoverResult has no object `capabilities`"
            }
            _ if !story.is(answer.result_type, Type::String) => {
                "the DiscoverResult has no string `resultType`"
            }
            _ if !story.is(member("ttlMs"), Type::Number) => "the DiscoverResult has no number `ttlMs`",
            _ if !story.is(member("cacheScope"), Type::String) => {
                "the DiscoverResult has no string `cacheScope`"
            }
            _ if member("instructions").is_some_and(|at| story.kind(at) != Type::String) => {
                "the `instructions` of the DiscoverResult are no string"
            }
            _ => {
                kept = answer.sent;
                continue;
            }
        };
        return Verdict::broken_by(answer, &[], wrong);
    }
    Verdict::kept(kept, "no DiscoverResult")
}

/// MRTR-01
pub(super) fn never_asks_for_input(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for (answer, _) in discoveries(story) {
        if story.is_string(answer.result_type, "input_required") {
            return Verdict::broken_by(answer, &[], "`server/discover` is answered by `input_required`");
        }
        kept = answer.sent;
    }
    Verdict::kept(kept, "no DiscoverResult")
}
