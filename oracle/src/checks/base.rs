//! BASE: the envelope, ids, and the type of a result.

use mcp_parley_trace::{Era, Kind};

use super::{is_modern_answer, is_modern_call, may_have_crossed};
use crate::json::Type;
use crate::known::Method;
use crate::story::{Answer, Message, NONE, Phase, Shape, Side, Story, What, is_good_id};
use crate::verdict::Verdict;

/// The subject's message belongs to the modern era, or to the time in which the era is being found out by a subject
/// that claims the modern one. A legacy session has rows of its own, and who never claims the modern era breaks no rule
/// of it.
pub(super) fn is_of_modern_era(story: &Story<'_>, message: &Message) -> bool {
    match message.from {
        Side::Client => {
            !message.is_call(Method::Initialize)
                && !message.phase.is_legacy()
                && !story.is_legacy_only()
                && claims_modern(story, message)
        }
        Side::Server => message.phase != Phase::Session && story.server_is_modern,
    }
}

/// A client claims the modern era by its mode, or by a modern request of this run.
fn claims_modern(story: &Story<'_>, message: &Message) -> bool {
    story.is_modern_only()
        || story.declared.mode == mcp_parley_trace::Mode::Auto
        || message.phase != Phase::Opening
        || story.requests().any(|request| is_modern_call(story, request))
}

/// BASE-01: what is JSON is also JSON-RPC 2.0, by which a call has one response. Lines that are no JSON are STDIO-02's and STDIO-03's.
pub(super) fn is_json_rpc(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for message in story.own().filter(|message| is_of_modern_era(story, message)) {
        let wrong = match message.shape {
            Shape::NotMessage | Shape::Neither => "it is neither request, notification nor response",
            Shape::Both => "it has more than one of method, result and error",
            // Most messages are: the closer look is for the others.
            _ if message.clean && !message.repeats => {
                kept = message.sent;
                continue;
            }
            Shape::Request | Shape::Notification | Shape::Result | Shape::Error => {
                let version = message.root.and_then(|root| story.get(root, "jsonrpc"));
                if message.repeats {
                    "the request has been answered before"
                } else if !story.is_string(version, "2.0") {
                    "`jsonrpc` is not \"2.0\""
                } else if message
                    .params
                    .is_some_and(|at| !matches!(story.kind(at), Type::Object | Type::Array))
                {
                    "`params` is neither object nor array"
                } else {
                    kept = message.sent;
                    continue;
                }
            }
            _ => continue,
        };
        return Verdict::broken_by(message, &[], wrong);
    }
    Verdict::kept(kept, "no JSON of the modern era")
}

/// BASE-02
pub(super) fn request_id(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for message in story.from(Side::Client).filter(|message| is_of_modern_era(story, message)) {
        match (message.shape, message.id) {
            (Shape::Notification, _) if message.method.is_request() => {
                return Verdict::broken_by(message, &[], "the request has no id");
            }
            (Shape::Request, Some(id)) if story.kind(id) != Type::Null => {
                let (tree, text) = story.tree();
                if !message.clean && !is_good_id(tree, text, id) {
                    return Verdict::broken_by(
                        message,
                        &[],
                        "the id of the request is neither string nor integer",
                    );
                }
                kept = message.sent;
            }
            _ => {}
        }
    }
    Verdict::kept(kept, "no modern request")
}

/// BASE-03
pub(super) fn no_null_id(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for request in story.requests().filter(|request| is_of_modern_era(story, request)) {
        if story.is(request.id, Type::Null) {
            return Verdict::broken_by(request, &[], "the id of the request is null");
        }
        kept = request.sent;
    }
    Verdict::kept(kept, "no modern request")
}

/// What a server may have failed to read an id from: it excuses an error without the right id (AMB-27), and a client
/// that uses an id twice makes answers ambiguous.
fn is_readable(story: &Story<'_>, message: &Message) -> bool {
    match message.shape {
        Shape::Request => {
            let (tree, text) = story.tree();
            message.clean && message.id.is_some_and(|id| is_good_id(tree, text, id))
        }
        Shape::Notification => message.clean && !message.method.is_request(),
        _ => false,
    }
}

/// A modern response whose id is that of no request, though every message that the server had received on that process
/// was readable and one of them waits for its answer. A second answer to the same request is BASE-01's.
fn is_astray(story: &Story<'_>, response: &Message) -> Option<u32> {
    if response.pair != NONE || response.repeats || !is_of_modern_era(story, response) {
        return None;
    }
    // AMB-27: what is refused below JSON-RPC may never have been read.
    let refused = story.exchange(response).is_some_and(|exchange| exchange.status != 200);
    if refused && response.shape == Shape::Error {
        return None;
    }
    let received = || {
        story.from(Side::Client).filter(|message| {
            message.process == response.process
                && message.exchange == response.exchange
                && message.received < response.sent
                && message.shape != Shape::Partial
        })
    };
    if !received().all(|message| is_readable(story, message)) {
        return None;
    }
    let open = |message: &&Message| {
        message.is_request() && story.answer_of(message).is_none_or(|answer| answer.sent > response.sent)
    };
    received().find(open).map(|request| request.received)
}

/// BASE-04
pub(super) fn result_id(story: &Story<'_>) -> Verdict {
    id_of(story, Shape::Result, "the id of the result is that of no request")
}

/// BASE-05
pub(super) fn error_id(story: &Story<'_>) -> Verdict {
    id_of(
        story,
        Shape::Error,
        "the id of the error is that of no request, and the request's id could be read",
    )
}

fn id_of(story: &Story<'_>, shape: Shape, reason: &'static str) -> Verdict {
    let mut kept = NONE;
    for response in story.from(Side::Server).filter(|response| response.shape == shape) {
        if let Some(request) = is_astray(story, response) {
            return Verdict::broken_by(response, &[request, response.sent], reason);
        }
        if is_needlessly_nameless(story, response) {
            return Verdict::broken_by(response, &[], "the error has no id, and the request's could be read");
        }
        if response.pair != NONE && is_of_modern_era(story, response) {
            kept = response.sent;
        }
    }
    Verdict::kept(kept, "no such response of the modern era")
}

/// Over HTTP the exchange names the request of an error without id. A refusal may come before the body is read; a success may not.
fn is_needlessly_nameless(story: &Story<'_>, response: &Message) -> bool {
    let served = story.exchange(response).is_some_and(|exchange| exchange.status == 200);
    let readable = story.request_of(response).is_some_and(|request| is_readable(story, request));
    response.nameless && served && readable && is_of_modern_era(story, response)
}

/// BASE-06
pub(super) fn error_members(story: &Story<'_>) -> Verdict {
    errors(story, "the error has no `code` or no `message`", |story, error| {
        story.get(error, "code").is_some() && story.is(story.get(error, "message"), Type::String)
    })
}

/// BASE-07
pub(super) fn integer_code(story: &Story<'_>) -> Verdict {
    errors(story, "the code of the error is no integer", |story, error| {
        let (tree, text) = story.tree();
        story
            .get(error, "code")
            .is_none_or(|at| tree.number(text, at).is_some_and(|number| number.is_integer()))
    })
}

fn errors(
    story: &Story<'_>,
    reason: &'static str,
    keeps: impl Fn(&Story<'_>, crate::json::At) -> bool,
) -> Verdict {
    let mut kept = NONE;
    for response in story.from(Side::Server).filter(|response| is_of_modern_era(story, response)) {
        let Some(error) = response.error.filter(|_| response.shape == Shape::Error) else { continue };
        if !keeps(story, error) {
            return Verdict::broken_by(response, &[], reason);
        }
        kept = response.sent;
    }
    Verdict::kept(kept, "no error of the modern era")
}

/// Results of a modern server to requests that were modern themselves.
fn modern_results<'a>(story: &Story<'a>) -> impl Iterator<Item = &'a Message> {
    story
        .answers()
        .filter(|(answer, request)| {
            answer.shape == Shape::Result
                && is_modern_answer(story, answer, request)
                // AMB-41: a server may go on serving what the modern era no longer has, and what its result is then, nobody says.
                && !request.method.is_removed()
                && (request.method == Method::Discover || super::is_modern_version(story, request))
        })
        .map(|(answer, _)| answer)
}

/// BASE-08
pub(super) fn has_result_type(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for answer in modern_results(story).filter(|answer| story.is(answer.result, Type::Object)) {
        if !story.is(answer.result_type, Type::String) {
            return Verdict::broken_by(answer, &[], "the result has no string `resultType`");
        }
        kept = answer.sent;
    }
    Verdict::kept(kept, "no result of the modern era")
}

/// BASE-14
pub(super) fn result_is_object(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for answer in modern_results(story) {
        if !story.is(answer.result, Type::Object) {
            return Verdict::broken_by(answer, &[], "the `result` is no object");
        }
        kept = answer.sent;
    }
    Verdict::kept(kept, "no result of the modern era")
}

/// BASE-09. A client that takes such a DiscoverResult goes on in the modern era with no other reason to; one that takes
/// such a result of a call says that the call went well.
pub(super) fn refuses_unknown_type(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for (answer, request) in story.answers() {
        if answer.answer != Answer::UnknownType || answer.received == NONE {
            continue;
        }
        let reason = "it takes a result whose `resultType` it does not know";
        if request.method != Method::Discover {
            match story.report(answer.received, |kind| matches!(kind, Kind::Called(_))) {
                Some((seq, _, event)) if event.kind == Kind::Called(true) => {
                    return Verdict::broken(seq, &[answer.received, seq], reason);
                }
                Some(_) => kept = answer.received,
                None => {}
            }
            continue;
        }
        let proof = |seq: u32| {
            story.answers().any(|(other, _)| {
                other.received < seq
                    && super::is_modern_sign(other.answer)
                    && other.answer != Answer::UnknownType
            })
        };
        let settled = story
            .report(answer.received, |kind| matches!(kind, Kind::Settled(Era::Modern)))
            .map(|(seq, ..)| seq);
        let next = super::neg::first_going_on(story, answer.received);
        let first = settled.into_iter().chain(next.map(|next| next.sent)).min();
        match first {
            Some(seq) if !proof(seq) && !may_have_crossed(story, answer) => {
                let evidence = [answer.received, seq];
                return match next.filter(|next| next.sent == seq) {
                    Some(next) => Verdict::broken_by(next, &evidence, reason),
                    None => Verdict::broken(seq, &evidence, reason),
                };
            }
            _ => kept = answer.received,
        }
    }
    Verdict::kept(kept, "no result of an unknown type whose use would show")
}

/// BASE-11: a response that answers nothing, right after a notification and with no request open.
pub(super) fn no_answer_to_notification(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for notification in story.from(Side::Client) {
        let judged = notification.shape == Shape::Notification
            && is_readable(story, notification)
            && notification.received != NONE
            && story.server_is_modern;
        if !judged {
            continue;
        }
        let on_process = |message: &&Message| {
            message.process == notification.process && message.exchange == notification.exchange
        };
        let open_or_odd = |message: &Message| {
            message.received < notification.received
                && (!is_readable(story, message)
                    || message.is_request()
                        && story.answer_of(message).is_none_or(|answer| answer.sent > notification.received))
        };
        let next = story.messages().iter().filter(on_process).find(|message| match message.from {
            Side::Client => message.received > notification.received,
            Side::Server => message.sent > notification.received,
        });
        let excused = story.from(Side::Client).filter(on_process).any(open_or_odd);
        match next {
            Some(answer)
                if answer.from == Side::Server
                    && answer.is_response()
                    && answer.pair == NONE
                    && !answer.repeats
                    // HTTP-26: the refusal of a notification.
                    && !(story.is_http() && answer.nameless)
                    && answer.phase != Phase::Session
                    && !excused =>
            {
                let evidence = [notification.received, answer.sent];
                return Verdict::broken_by(answer, &evidence, "it answers a notification");
            }
            _ => kept = notification.received,
        }
    }
    Verdict::kept(kept, "no notification reached a modern server")
}

/// BASE-12: whatever the era of the second request. An uncorrelated error in between may have been taken for the answer
/// (AMB-27), so it ends the watch.
pub(super) fn no_id_in_flight_twice(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for request in story.requests().filter(|request| request.id.is_some()) {
        let earlier = story.requests().find(|earlier| {
            earlier.place < request.place
                && earlier.process == request.process
                && story.same(earlier.id, request.id)
                && story.is_waiting(earlier, request.sent)
                && !earlier.phase.is_legacy()
                && earlier.method != Method::Initialize
                && !uncorrelated_between(story, earlier.sent, request)
        });
        if let Some(earlier) = earlier {
            let reason = "the id is that of a request that still has no response";
            return Verdict::broken_by(request, &[earlier.sent, request.sent], reason);
        }
        kept = request.sent;
    }
    Verdict::kept(kept, "no request with an id")
}

fn uncorrelated_between(story: &Story<'_>, from: u32, until: &Message) -> bool {
    story.from(Side::Server).any(|message| {
        message.process == until.process
            && message.is_response()
            && message.pair == NONE
            && message.received > from
            && message.received < until.sent
    })
}

/// BASE-17
pub(super) fn notification_without_id(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for message in story.own().filter(|message| is_of_modern_era(story, message)) {
        let is_named_so = || {
            let name = message.root.and_then(|root| story.get(root, "method"));
            story.string(name).is_some_and(|name| name.starts_with("notifications/"))
        };
        match message.shape {
            Shape::Request if !message.method.is_request() && is_named_so() => {
                return Verdict::broken_by(message, &[], "the notification has an id");
            }
            Shape::Notification => kept = message.sent,
            _ => {}
        }
    }
    Verdict::kept(kept, "no modern notification")
}

/// The reports of the client, in order, with the event's number.
pub(super) fn client_reports<'a>(
    story: &Story<'a>,
) -> impl Iterator<Item = (u32, u64, mcp_parley_trace::Event)> + use<'a> {
    story.moments().iter().filter_map(|moment| match moment.what {
        What::Life(event) if event.node == mcp_parley_trace::Node::Client => {
            Some((moment.seq, moment.t_us, event))
        }
        _ => None,
    })
}
