//! What a server answers over HTTP: statuses, media types, and what it makes of headers.

use super::http::{
    Agreement, METHOD, NAME, SESSION, VERSION, has_plain_headers, has_sound_headers, head_of, method_header,
    name_header, name_of, names_legacy, names_modern, needs_sentinel, version_header,
};
use super::is_modern_version;
use crate::known::{
    HEADER_MISMATCH, INVALID_PARAMS, METHOD_NOT_FOUND, MISSING_CAPABILITY, Method, UNSUPPORTED_VERSION,
};
use crate::story::{Answer, Body, Exchange, Message, NONE, Phase, Shape, Side, Story};
use crate::verdict::Verdict;

/// An answer to a modern request of a server that is known for a modern one, with its exchange.
fn modern_answers<'s, 'a>(
    story: &'s Story<'a>,
) -> impl Iterator<Item = (&'a Exchange, &'a Message, &'a Message)> + use<'s, 'a> {
    let known = story.server_is_modern;
    story
        .answers()
        .filter(move |(answer, request)| {
            let modern = request.method == Method::Discover || request.modern_keys;
            known && modern && answer.phase != Phase::Session && request.method != Method::Initialize
        })
        .filter_map(|(answer, request)| story.exchange(answer).map(|exchange| (exchange, answer, request)))
        .filter(|(exchange, ..)| exchange.is_post && exchange.at_endpoint)
        // A legacy header over a body without a version makes a legacy request (HTTP-08).
        .filter(|(exchange, _, request)| {
            request.version.is_some() || !names_legacy(story.request_head(exchange))
        })
}

/// Judges each such answer: `Some(Some(reason))` breaks the rule, `Some(None)` keeps it.
fn each(
    story: &Story<'_>,
    otherwise: &'static str,
    wrong: impl Fn(&Exchange, &Message, &Message) -> Option<Option<&'static str>>,
) -> Verdict {
    let mut kept = NONE;
    for (exchange, answer, request) in modern_answers(story) {
        match wrong(exchange, answer, request) {
            Some(Some(reason)) => {
                let evidence = [request.received.min(answer.sent), answer.sent];
                return Verdict::broken_by(answer, &evidence, reason);
            }
            Some(None) => kept = answer.sent,
            None => {}
        }
    }
    Verdict::kept(kept, otherwise)
}

/// An error of this code travels with this status.
fn travels(
    story: &Story<'_>,
    (code, status): (i64, u16),
    reason: &'static str,
    wanted: impl Fn(&Exchange, &Message) -> bool,
) -> Verdict {
    each(story, "no such error of the modern era", |exchange, answer, request| {
        let judged = answer.shape == Shape::Error && answer.code == Some(code) && wanted(exchange, request);
        judged.then(|| (exchange.status != status).then_some(reason))
    })
}

/// NEG-07
pub(super) fn unsupported_is_400(story: &Story<'_>) -> Verdict {
    travels(story, (UNSUPPORTED_VERSION, 400), "-32022 travels with another status than 400", |_, _| true)
}

/// HTTP-09: NEG-07 once more; the code is NEG-02's.
pub(super) fn refuses_version_with_400(story: &Story<'_>) -> Verdict {
    let reason = "it refuses a version with another status than 400";
    travels(story, (UNSUPPORTED_VERSION, 400), reason, |_, request| request.version.is_some())
}

/// META-03. What was found after an event stream had begun is AMB-35.
pub(super) fn incomplete_is_400(story: &Story<'_>) -> Verdict {
    let reason = "it refuses a request that lacks a required key of `_meta` with another status than 400";
    travels(story, (INVALID_PARAMS, 400), reason, |exchange, request| {
        let missing = request.version.is_none() || request.capabilities.is_none();
        missing && request.clean && exchange.body != Body::Events
    })
}

/// META-07
pub(super) fn missing_capability_is_400(story: &Story<'_>) -> Verdict {
    let reason = "-32021 travels with another status than 400";
    travels(story, (MISSING_CAPABILITY, 400), reason, |exchange, _| exchange.body != Body::Events)
}

/// HTTP-10
pub(super) fn unknown_method_is_404(story: &Story<'_>) -> Verdict {
    let reason = "-32601 travels with another status than 404";
    travels(story, (METHOD_NOT_FOUND, 404), reason, |_, request| is_modern_version(story, request))
}

/// HTTP-18
pub(super) fn mismatch_is_400(story: &Story<'_>) -> Verdict {
    travels(story, (HEADER_MISMATCH, 400), "-32020 travels with another status than 400", |_, _| true)
}

/// How the three standard headers of a request stand to its body.
fn agreements(story: &Story<'_>, request: &Message) -> Option<[Agreement; 3]> {
    let (_, head) = head_of(story, request)?;
    Some([
        version_header(story, head, request),
        method_header(story, head, request),
        name_header(story, head, request),
    ])
}

/// A request with such headers is not to be served. Why another error comes than -32020 may have its own reason (AMB-14).
fn serves(
    story: &Story<'_>,
    reason: &'static str,
    wanted: impl Fn([Agreement; 3], &Message) -> bool,
) -> Verdict {
    each(story, "no request with such headers was answered", |_, answer, request| {
        let judged = request.clean && agreements(story, request).is_some_and(|all| wanted(all, request));
        let served = answer.shape == Shape::Result;
        judged.then(|| served.then_some(reason))
    })
}

/// HTTP-08, the server's half.
pub(super) fn refuses_other_version(story: &Story<'_>) -> Verdict {
    let differs = |one| matches!(one, Agreement::Differs | Agreement::DiffersInCase);
    serves(story, "it serves a request whose version header differs from its body", |[version, ..], _| {
        differs(version)
    })
}

/// HTTP-17
pub(super) fn refuses_disagreement(story: &Story<'_>) -> Verdict {
    serves(story, "it serves a request whose headers differ from its body", |all, _| {
        all.contains(&Agreement::Differs)
    })
}

/// HTTP-16b, the server's half.
pub(super) fn minds_case(story: &Story<'_>) -> Verdict {
    serves(story, "it takes a header value that differs from the body in case", |[_, method, name], _| {
        [method, name].contains(&Agreement::DiffersInCase)
    })
}

/// HTTP-19. A missing version header has HTTP-12.
pub(super) fn refuses_missing_header(story: &Story<'_>) -> Verdict {
    serves(story, "it serves a request without a required standard header", |[_, method, name], _| {
        [method, name].contains(&Agreement::Missing)
    })
}

/// HTTP-12, where the server's own lists say that it serves no legacy client. Else: AMB-19.
pub(super) fn refuses_without_version(story: &Story<'_>) -> Verdict {
    if !serves_modern_only(story) {
        return Verdict::not_applicable("the server may serve older clients");
    }
    serves(story, "it serves a request without a version header", |[version, ..], _| {
        version == Agreement::Missing
    })
}

/// It lists its versions in this run, no legacy one among them, and a sound `initialize` was refused: to list legacy versions is a
/// choice (AMB-01), so that a list without them alone proves nothing.
pub(super) fn serves_modern_only(story: &Story<'_>) -> bool {
    let listed = story.answers().any(|(answer, _)| {
        matches!(answer.answer, Answer::Discovered | Answer::Unsupported) && answer.list.is_some()
    });
    let lists_legacy = super::era::lists_legacy(story);
    story.server_is_modern
        && listed
        && !story.server_is_legacy
        && !lists_legacy
        && super::era::refuses_legacy(story)
}

/// A request in which nothing is wrong is refused because of its headers, though they are of this kind.
fn refuses_sound(story: &Story<'_>, reason: &'static str, wanted: impl Fn(&Message) -> bool) -> Verdict {
    each(story, "no sound request with such headers was answered", |_, answer, request| {
        let judged = request.clean && has_sound_headers(story, request) && wanted(request);
        judged.then(|| (answer.code == Some(HEADER_MISMATCH)).then_some(reason))
    })
}

/// HTTP-15
pub(super) fn decodes_name(story: &Story<'_>) -> Verdict {
    refuses_sound(story, "it refuses a name in Base64 that is that of the body", |request| {
        name_of(story, request).is_some_and(|name| needs_sentinel(&name))
    })
}

/// HTTP-16, the server's half.
pub(super) fn ignores_case_of_names(story: &Story<'_>) -> Verdict {
    refuses_sound(story, "it minds the case of a header's name", |request| {
        let odd = |name: &[u8]| {
            let usual: [&[u8]; 3] = [b"MCP-Protocol-Version", b"Mcp-Method", b"Mcp-Name"];
            let ours = [VERSION, METHOD, NAME].iter().any(|own| name.eq_ignore_ascii_case(own.as_bytes()));
            ours && !usual.contains(&name) && !name.iter().all(|byte| !byte.is_ascii_uppercase())
        };
        head_of(story, request).is_some_and(|(_, head)| head.fields().any(|(name, _)| odd(name)))
    })
}

/// Judges the status and the body of each whole answer to a POST: `Some(Some(reason))` breaks, `Some(None)` keeps.
fn each_exchange(
    story: &Story<'_>,
    otherwise: &'static str,
    wrong: impl Fn(&Exchange, &Message) -> Option<Option<&'static str>>,
) -> Verdict {
    let mut kept = NONE;
    for exchange in story.exchanges().filter(|exchange| exchange.is_post && exchange.complete != NONE) {
        let Some(posted) = story.message(exchange.message).filter(|posted| posted.clean) else { continue };
        match wrong(exchange, posted) {
            Some(Some(reason)) => {
                return Verdict::broken(exchange.answered, &[exchange.asked, exchange.answered], reason);
            }
            Some(None) => kept = exchange.answered,
            None => {}
        }
    }
    Verdict::kept(kept, otherwise)
}

fn acknowledged_badly(exchange: &Exchange) -> Option<&'static str> {
    match exchange.status {
        202 if exchange.answer_len > 0 => Some("its 202 has a body"),
        202 => None,
        200..=299 => Some("it takes a notification with another status than 202"),
        _ => None,
    }
}

/// HTTP-05
pub(super) fn acknowledges(story: &Story<'_>) -> Verdict {
    let known = story.server_is_modern;
    each_exchange(story, "no modern notification was answered", |exchange, posted| {
        let modern = posted.modern_keys || names_modern(story, story.request_head(exchange));
        (known && modern && posted.shape == Shape::Notification).then(|| acknowledged_badly(exchange))
    })
}

/// The body of a success is neither one JSON object nor an event stream.
fn answered_badly(story: &Story<'_>, exchange: &Exchange) -> Option<&'static str> {
    let reply = story.message(exchange.reply).map(|reply| reply.shape);
    match (exchange.status, exchange.body, reply) {
        (200..=299, Body::Events, _) => None,
        (200..=299, Body::Json, Some(shape)) => {
            let whole = !matches!(shape, Shape::Batch | Shape::NotJson | Shape::Unfinished | Shape::Blank);
            (!whole).then_some("the body of its answer is not one JSON object")
        }
        (200..=299, ..) => Some("it answers a request with neither JSON nor an event stream"),
        _ => None,
    }
}

/// HTTP-06, the server's half.
pub(super) fn answers_with_message(story: &Story<'_>) -> Verdict {
    let known = story.server_is_modern;
    each_exchange(story, "no modern request was answered", |exchange, posted| {
        let modern = posted.is_request() && (posted.modern_keys || posted.method == Method::Discover);
        (known && modern).then(|| answered_badly(story, exchange))
    })
}

/// LEG-24, the server's half: in a session, by the words of the requests themselves.
pub(super) fn acknowledges_in_session(story: &Story<'_>) -> Verdict {
    each_exchange(story, "nothing was answered in a legacy session", |exchange, posted| {
        if posted.modern_keys || !super::http_legacy::is_of_session(story, posted) || !story.server_is_legacy
        {
            return None;
        }
        Some(match posted.shape {
            Shape::Request => answered_badly(story, exchange),
            Shape::Notification | Shape::Result | Shape::Error => acknowledged_badly(exchange),
            _ => None,
        })
    })
}

/// HTTP-22, and HTTP-22b: what follows the response.
pub(super) fn no_request_on_stream(story: &Story<'_>) -> Verdict {
    on_stream(story, "the server sends a request on an event stream", |message, _| message.is_request())
}

/// HTTP-22b
pub(super) fn response_is_last(story: &Story<'_>) -> Verdict {
    on_stream(story, "a message follows the response on an event stream", |message, answered| {
        answered && !message.repeats
    })
}

fn on_stream(story: &Story<'_>, reason: &'static str, wrong: impl Fn(&Message, bool) -> bool) -> Verdict {
    let mut kept = NONE;
    for message in story.from(Side::Server).filter(|_| story.server_is_modern) {
        let Some(exchange) = story.exchange(message).filter(|one| one.body == Body::Events && one.is_post)
        else {
            continue;
        };
        let asked = story.message(exchange.message);
        let Some(request) = asked.filter(|asked| asked.method == Method::Discover || asked.modern_keys)
        else {
            continue;
        };
        let answered = story.answer_of(request).is_some_and(|answer| answer.place < message.place);
        if wrong(message, answered) {
            return Verdict::broken_by(message, &[], reason);
        }
        kept = message.sent;
    }
    Verdict::kept(kept, "no event stream of the modern era")
}

/// ERA-17 over HTTP: where a required header is missing, that check fails for sure, and with it comes 400.
pub(super) fn refuses_initialize(story: &Story<'_>) -> Verdict {
    let modern = serves_modern_only(story);
    each_exchange(
        story,
        "no `initialize` without the headers met a server of the modern era only",
        |exchange, posted| {
            let head = story.request_head(exchange);
            let bare = !head.has(VERSION) && !head.has(METHOD) && has_plain_headers(story, posted);
            let judged = modern && bare && posted.is_call(Method::Initialize);
            let reason = "it refuses `initialize` with another status than 400";
            judged.then(|| (!matches!(exchange.status, 400 | 401 | 403 | 429)).then_some(reason))
        },
    )
}

/// ERA-18
pub(super) fn has_no_sessions(story: &Story<'_>) -> Verdict {
    if !serves_modern_only(story) {
        return Verdict::not_applicable("the server is not known for one of the modern era only");
    }
    let mut kept = NONE;
    for exchange in story.exchanges().filter(|exchange| exchange.answer_head != NONE) {
        let verb = story.request_head(exchange).verb();
        let old = matches!(verb, b"GET" | b"DELETE");
        let reason = match exchange.status {
            _ if story.answer_head(exchange).has(SESSION) => "it gives out a session id",
            200..=299 | 400 | 404 | 406 if old => "it answers GET or DELETE with another status than 405",
            _ => {
                kept = if old { exchange.answered } else { kept };
                continue;
            }
        };
        return Verdict::broken(exchange.answered, &[exchange.asked, exchange.answered], reason);
    }
    Verdict::kept(kept, "no GET or DELETE, and no session id")
}

/// LEG-19
pub(super) fn session_is_visible(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for (answer, _) in story.answers().filter(|(answer, _)| answer.answer == Answer::Handshake) {
        let Some(exchange) = story.exchange(answer) else { continue };
        for id in story.answer_head(exchange).values(SESSION) {
            if !id.iter().all(u8::is_ascii_graphic) {
                let reason = "the session id has other than visible ASCII characters";
                return Verdict::broken_by(answer, &[], reason);
            }
            kept = answer.sent;
        }
    }
    Verdict::kept(kept, "no session id")
}

/// LEG-20b: the only thing that the request lacks is the session id that the server has given out.
pub(super) fn asks_for_session(story: &Story<'_>) -> Verdict {
    each_exchange(story, "no request without the session id was refused", |exchange, posted| {
        let head = story.request_head(exchange);
        let judged = super::http_legacy::lacks_session_only(story, posted) && !head.has(SESSION);
        match exchange.status {
            400 if judged => Some(None),
            404 | 405 | 406 | 409..=428 | 500..=599 if judged => {
                Some(Some("it refuses a request without its session id with another status than 400"))
            }
            _ => None,
        }
    })
}

/// HTTP-21. Which origins are bad the deployment says (AMB-40), and it has said so where it refuses with another status what it
/// serves without an origin.
pub(super) fn refuses_origin_with_403(story: &Story<'_>) -> Verdict {
    let served = modern_answers(story)
        .find(|(_, answer, request)| answer.shape == Shape::Result && has_sound_headers(story, request));
    let Some((_, _, served)) = served else {
        return Verdict::not_applicable("nothing was served without an origin");
    };
    each_exchange(story, "no origin was refused", |exchange, posted| {
        let head = story.request_head(exchange);
        let judged = posted.method == served.method && head.has("origin") && posted.modern_keys;
        let agrees = agreements(story, posted)
            .is_some_and(|all| all.iter().all(|one| matches!(one, Agreement::Same | Agreement::Open)));
        let same = super::http::lists_both(head) && super::is_sound_body(story, posted);
        let known = served.version.is_some() && story.same(served.version, posted.version);
        match exchange.status {
            403 if judged => Some(None),
            400 | 404..=428 | 500..=599 if judged && agrees && same && known => {
                Some(Some("it refuses an origin with another status than 403"))
            }
            _ => None,
        }
    })
}
