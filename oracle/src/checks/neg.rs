//! NEG: how a version is named, refused and chosen.

use mcp_parley_trace::{Era, Kind};

use super::{goes_on_modern, is_modern_call, is_modern_version, is_sound_call, may_be_unread, was_received};
use crate::json::Type;
use crate::known::{INVALID_PARAMS, METHOD_NOT_FOUND, MISSING_CAPABILITY, Method};
use crate::story::{Answer, Message, NONE, Phase, Shape, Side, Story};
use crate::verdict::Verdict;

/// NEG-01
pub(super) fn states_version(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for request in story.requests().filter(|request| is_modern_call(story, request)) {
        if !story.is(request.version, Type::String) {
            return Verdict::broken_by(request, &[], "the request names no protocol version in its `_meta`");
        }
        kept = request.sent;
    }
    Verdict::kept(kept, "no modern request")
}

/// NEG-02
pub(super) fn refuses_unserved(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for (answer, request) in story.answers() {
        let Some(version) = story.string(request.version) else { continue };
        let judged = answer.phase != Phase::Session
            && is_sound_call(story, request)
            && is_modern_version(story, request)
            && is_unlisted(story, &version);
        if !judged {
            continue;
        }
        let evidence = [request.received.min(answer.sent), answer.sent];
        match (answer.shape, answer.code) {
            (Shape::Error, Some(crate::known::UNSUPPORTED_VERSION)) => kept = answer.sent,
            (Shape::Result, _) => {
                return Verdict::broken_by(answer, &evidence, "it serves a version that it lists nowhere");
            }
            (Shape::Error, Some(code)) if answer.clean && !may_come_first(story, request, code) => {
                let reason = "it refuses a version that it does not serve with another code than -32022";
                return Verdict::broken_by(answer, &evidence, reason);
            }
            _ => {}
        }
    }
    Verdict::kept(kept, "no sound request at a version that the server is known not to serve")
}

/// Another check that a server is free to make before that of the version (AMB-14).
fn may_come_first(story: &Story<'_>, request: &Message, code: i64) -> bool {
    let bare = request.params.is_none_or(|params| story.children(params).count() <= 1);
    match (request.method, code) {
        (Method::Discover, INVALID_PARAMS) => !bare,
        (Method::Discover, _) => false,
        (_, METHOD_NOT_FOUND | MISSING_CAPABILITY) => true,
        (_, INVALID_PARAMS) => !bare,
        _ => false,
    }
}

/// The server lists versions of the modern era in this run, and this one never. A legacy server may list its own when it
/// refuses `initialize` (AMB-31), and owes nothing to the modern era.
pub(super) fn is_unlisted(story: &Story<'_>, version: &str) -> bool {
    let (tree, _) = story.tree();
    let mut listed = false;
    for (answer, request) in story.answers().filter(|(answer, _)| answer.has_list(tree)) {
        let mut items = answer.list.into_iter().flat_map(|list| story.children(list));
        let is_modern = |at| story.string(Some(at)).and_then(|name| story.era(&name)) == Some(Era::Modern);
        listed |= request.method != Method::Initialize || items.any(is_modern);
        if story.lists(answer, version) {
            return false;
        }
    }
    listed
}

/// NEG-03. After that error the next thing is another request at a listed version, or an error for the user. A client
/// that has tried again before has its own bound (AMB-10); one that sends `initialize` is judged by ERA-04.
pub(super) fn retries_or_reports(story: &Story<'_>) -> Verdict {
    let refusals = || story.answers().filter(|(answer, _)| answer.answer == Answer::Unsupported);
    let mut kept = NONE;
    for (count, (answer, request)) in refusals().enumerate() {
        let unheard = answer.received == NONE
            || given_up(story, request, answer.received)
            || may_be_unread(story, answer);
        if unheard || request.method == Method::Initialize {
            continue;
        }
        let Some(offers) = story.offers() else {
            return Verdict::incomplete("the versions that the client offers are not known");
        };
        let was_refused = |version: &String| {
            refusals().take(count + 1).any(|(_, asked)| story.is_string(asked.version, version))
        };
        let common = offers.iter().any(|own| story.lists(answer, own) && !was_refused(own));
        let next = story.requests().find(|next| next.sent > answer.received);
        let failed = story.report(answer.received, |kind| kind == Kind::Failed);
        match (next, failed) {
            (Some(next), _) if is_modern_call(story, next) => {
                let again = story.same(next.version, request.version);
                let listed = story.string(next.version).is_none_or(|version| story.lists(answer, &version));
                if common && !listed && !again && was_received(story, answer, next.sent) {
                    let reason = "after -32022 it asks at a version that is not in the list";
                    return Verdict::broken_by(next, &[answer.received, next.sent], reason);
                }
                kept = next.sent;
            }
            (None, Some((seq, ..))) if common && count == 0 => {
                let reason = "it gives up although -32022 lists a version that it offers";
                return Verdict::broken(seq, &[answer.received, seq], reason);
            }
            (None, Some((seq, ..))) => kept = seq,
            _ => {}
        }
    }
    Verdict::kept(kept, "no well-formed -32022 that the client reacted to in the modern era")
}

/// Before the answer came, the client had turned to `initialize` or cancelled the request: it may ignore a late answer
/// (AMB-21, CANC-04).
fn given_up(story: &Story<'_>, request: &Message, received: u32) -> bool {
    story.from(Side::Client).any(|message| {
        message.process == request.process
            && message.sent > request.sent
            && message.sent < received
            && (message.is_call(Method::Initialize)
                || message.method == Method::Cancelled
                    && story
                        .same(message.params.and_then(|params| story.get(params, "requestId")), request.id))
    })
}

/// NEG-04
pub(super) fn implements_discover(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for (answer, request) in story.answers() {
        let judged = request.method == Method::Discover
            && is_sound_call(story, request)
            && answer.phase != Phase::Session;
        if judged && answer.code == Some(METHOD_NOT_FOUND) && story.server_is_modern {
            let evidence = [request.received.min(answer.sent), answer.sent];
            return Verdict::broken_by(answer, &evidence, "a modern server does not know `server/discover`");
        }
        if judged && story.server_is_modern {
            kept = answer.sent;
        }
    }
    Verdict::kept(kept, "no sound `server/discover` was answered by a modern server")
}

/// NEG-06
pub(super) fn unsupported_data(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for (answer, request) in story.answers() {
        if answer.code != Some(crate::known::UNSUPPORTED_VERSION) || answer.phase == Phase::Session {
            continue;
        }
        let data = answer.error.and_then(|error| story.get(error, "data"));
        let member = |name| data.and_then(|data| story.get(data, name));
        let list = member("supported").filter(|list| story.kind(*list) == Type::Array);
        // Over HTTP it may go by a header that differs.
        let sure = request.method != Method::Initialize && super::http::agrees(story, request);
        let asked = request.version.filter(|_| sure);
        let requested = member("requested");
        let wrong = match (list, requested) {
            (None, _) => "the data of -32022 has no array `supported`",
            (Some(list), _) if story.children(list).any(|at| story.kind(at) != Type::String) => {
                "the data of -32022 lists what is no string"
            }
            (_, None) => "the data of -32022 has no `requested`",
            (_, Some(at)) if story.kind(at) != Type::String => "`requested` of -32022 is no string",
            (_, requested) if story.is(asked, Type::String) && !story.same(asked, requested) => {
                "`requested` of -32022 is not the version that the request named"
            }
            _ => {
                kept = answer.sent;
                continue;
            }
        };
        return Verdict::broken_by(answer, &[request.received.min(answer.sent), answer.sent], wrong);
    }
    Verdict::kept(kept, "no -32022 outside a legacy session")
}

/// The era of the version that a request names in `_meta`.
pub(super) fn era_named(story: &Story<'_>, request: &Message) -> Option<Era> {
    story.string(request.version).and_then(|version| story.era(&version))
}

/// The first request with which the client goes on in the modern era after an event.
pub(super) fn first_going_on<'a>(story: &Story<'a>, seq: u32) -> Option<&'a Message> {
    story.requests().find(|request| request.sent > seq && goes_on_modern(story, request))
}
