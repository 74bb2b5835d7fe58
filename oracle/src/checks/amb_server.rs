//! AMB over HTTP, the server's halves.

use super::http::{
    Agreement, METHOD, NAME, Sentinel, VERSION, has_plain_headers, head_of, lists_both, method_header,
    name_header, name_of, names_modern, needs_sentinel, read_sentinel, version_header,
};
use super::is_sound_body;
use crate::known::{
    HEADER_MISMATCH, INVALID_PARAMS, METHOD_NOT_FOUND, MISSING_CAPABILITY, Method, UNSUPPORTED_VERSION,
};
use crate::story::{Answer, Body, Exchange, Message, NONE, Phase, Shape, Story};
use crate::verdict::Verdict;

const DID_NOT_OCCUR: &str = "the situation did not occur";

/// The whole answers to POSTs with a clean message, at a server that is known for a modern one.
fn answered<'a>(story: &Story<'a>) -> impl Iterator<Item = (&'a Exchange, &'a Message)> + use<'a> {
    let messages = story.messages();
    let known = story.server_is_modern;
    story
        .exchanges()
        .filter(move |exchange| known && exchange.is_post && exchange.complete != NONE)
        .filter_map(|exchange| messages.get(exchange.message as usize).map(|posted| (exchange, posted)))
        .filter(|(_, posted)| posted.clean)
}

fn found(exchange: &Exchange, observed: &'static str) -> Verdict {
    Verdict::contested(observed, &[exchange.asked, exchange.answered])
}

fn first(story: &Story<'_>, observed: impl Fn(&Exchange, &Message) -> Option<&'static str>) -> Verdict {
    answered(story)
        .find_map(|(exchange, posted)| observed(exchange, posted).map(|seen| found(exchange, seen)))
        .unwrap_or_else(|| Verdict::not_applicable(DID_NOT_OCCUR))
}

fn code(story: &Story<'_>, exchange: &Exchange) -> Option<i64> {
    story.message(exchange.reply).and_then(|reply| reply.code)
}

fn is_served(story: &Story<'_>, exchange: &Exchange) -> bool {
    story
        .message(exchange.message)
        .and_then(|request| story.answer_of(request))
        .is_some_and(|answer| answer.shape == Shape::Result)
}

/// AMB-14: more than one check can fail the request, and the code says which one did.
pub(super) fn check_order(story: &Story<'_>) -> Verdict {
    first(story, |exchange, posted| {
        let modern = posted.is_request() && (posted.modern_keys || posted.method == Method::Discover);
        if !modern || posted.phase == Phase::Session {
            return None;
        }
        let (_, head) = head_of(story, posted)?;
        let bad = |one| matches!(one, Agreement::Missing | Agreement::Differs | Agreement::DiffersInCase);
        let lacks = posted.version.is_none() || posted.capabilities.is_none();
        let headers = bad(version_header(story, head, posted)) || bad(method_header(story, head, posted));
        let meta = lacks || headers;
        let version =
            story.string(posted.version).is_some_and(|version| super::neg::is_unlisted(story, &version));
        let method = posted.method == Method::Other;
        let failing = usize::from(meta) + usize::from(version) + usize::from(method);
        match code(story, exchange)? {
            _ if failing < 2 => None,
            UNSUPPORTED_VERSION if version => Some("version-first"),
            INVALID_PARAMS if lacks => Some("meta-first"),
            HEADER_MISMATCH if headers => Some("meta-first"),
            METHOD_NOT_FOUND if method => Some("method-first"),
            _ => None,
        }
    })
}

/// AMB-19
pub(super) fn missing_header(story: &Story<'_>) -> Verdict {
    let modern = first(story, |exchange, posted| {
        let (_, head) = head_of(story, posted)?;
        let bare =
            !head.has(VERSION) && posted.modern_keys && posted.is_request() && is_sound_body(story, posted);
        match code(story, exchange) {
            _ if !bare || posted.method == Method::Initialize || !has_plain_headers(story, posted) => None,
            Some(HEADER_MISMATCH) => Some("refuse"),
            _ if is_served(story, exchange) && !super::http_server::serves_modern_only(story) => {
                Some("assume-legacy")
            }
            _ => None,
        }
    });
    if modern.outcome == mcp_parley_trace::Outcome::Contested {
        return modern;
    }
    first(story, |exchange, posted| {
        let (_, head) = head_of(story, posted)?;
        let bare = !head.has(VERSION) && posted.is_call(Method::Initialize) && !posted.modern_keys;
        let dual = story.server_is_legacy || super::era::lists_legacy(story);
        match code(story, exchange) {
            _ if !bare || !dual => None,
            Some(HEADER_MISMATCH) => Some("refuse-initialize"),
            _ => is_served(story, exchange).then_some("answer"),
        }
    })
}

/// AMB-20
pub(super) fn notification_headers(story: &Story<'_>) -> Verdict {
    first(story, |exchange, posted| {
        let (_, head) = head_of(story, posted)?;
        let bare = !head.has(VERSION) || !head.has(METHOD);
        let modern = posted.modern_keys || names_modern(story, head);
        (posted.shape == Shape::Notification && bare && modern).then_some(())?;
        taken_or_refused(exchange, "accept")
    })
}

fn taken_or_refused(exchange: &Exchange, taken: &'static str) -> Option<&'static str> {
    match exchange.status {
        200..=299 => Some(taken),
        400..=599 => Some("refuse"),
        _ => None,
    }
}

/// AMB-25
pub(super) fn notification_version(story: &Story<'_>) -> Verdict {
    first(story, |exchange, posted| {
        let (_, head) = head_of(story, posted)?;
        let named = head.only(VERSION).and_then(|value| std::str::from_utf8(value).ok());
        let named = story.string(posted.version).or(named.map(std::borrow::Cow::Borrowed))?;
        let legacy = story.era(&named) == Some(mcp_parley_trace::Era::Legacy);
        let unserved = !legacy && super::neg::is_unlisted(story, &named);
        (posted.shape == Shape::Notification && unserved).then_some(())?;
        taken_or_refused(exchange, "ignore")
    })
}

/// AMB-34
pub(super) fn refusal_body(story: &Story<'_>) -> Verdict {
    first(story, |exchange, posted| {
        let below = matches!(exchange.status, 403 | 405 | 406 | 413 | 415 | 500..=599);
        let modern = posted.modern_keys || posted.method == Method::Discover;
        if !below || !modern || !posted.is_request() {
            return None;
        }
        match story.message(exchange.reply).map(|reply| reply.shape) {
            Some(Shape::Error) => Some("json-rpc"),
            Some(_) => Some("plain"),
            None => (exchange.answer_len == 0).then_some("empty"),
        }
    })
}

/// AMB-35
pub(super) fn error_status(story: &Story<'_>) -> Verdict {
    first(story, |exchange, posted| {
        let reply = story.replies(exchange).find(|reply| reply.shape == Shape::Error)?;
        let modern = posted.modern_keys || posted.method == Method::Discover;
        let whole = posted.version.is_some() && posted.capabilities.is_some();
        let streams = exchange.body == Body::Events;
        let open = match reply.code? {
            -32700 | -32600 | -32603 => true,
            INVALID_PARAMS => whole || streams,
            MISSING_CAPABILITY => streams,
            _ => false,
        };
        match exchange.status {
            _ if !open || !modern => None,
            200..=299 => Some("success"),
            400..=499 => Some("client-error"),
            500..=599 => Some("server-error"),
            _ => None,
        }
    })
}

/// AMB-36
pub(super) fn initialize_header(story: &Story<'_>) -> Verdict {
    let met = story.exchanges().find_map(|exchange| {
        let posted = story.message(exchange.message).filter(|posted| posted.is_call(Method::Initialize))?;
        let value = story.request_head(exchange).only(VERSION)?;
        let asked = story.string(posted.handshake_version)?;
        let odd =
            value != asked.as_bytes() && posted.clean && !posted.modern_keys && exchange.complete != NONE;
        let answer = story.answer_of(posted).map(|answer| answer.answer);
        match (exchange.status, answer) {
            _ if !odd => None,
            (400, _) => Some(found(exchange, "refuse")),
            (_, Some(Answer::Handshake)) => Some(found(exchange, "ignore")),
            _ => None,
        }
    });
    met.unwrap_or_else(|| Verdict::not_applicable(DID_NOT_OCCUR))
}

/// AMB-38: an odd header that agrees with the body, and nothing else that a server could mind.
pub(super) fn odd_headers(story: &Story<'_>) -> Verdict {
    first(story, |exchange, posted| {
        let (_, head) = head_of(story, posted)?;
        if !posted.is_request() || !is_sound_body(story, posted) || !has_plain_headers(story, posted) {
            return None;
        }
        let twice = |name| {
            head.values(name).nth(1).is_some() || head.only(name).is_some_and(|one| one.contains(&b','))
        };
        let doubled = twice(VERSION) || twice(METHOD);
        let extra = name_of(story, posted).is_none() && head.has(NAME);
        let encoded = name_of(story, posted).is_some_and(|name| !needs_sentinel(&name))
            && name_header(story, head, posted) == Agreement::Same
            && matches!(head.only(NAME).map(read_sentinel), Some(Sentinel::Text(_)));
        let wrong = [version_header(story, head, posted), method_header(story, head, posted)]
            .iter()
            .any(|one| matches!(one, Agreement::Missing | Agreement::Differs | Agreement::DiffersInCase));
        match code(story, exchange) {
            _ if wrong || !(doubled || extra || encoded) => None,
            Some(HEADER_MISMATCH) => Some("refuse"),
            _ => is_served(story, exchange).then_some("accept"),
        }
    })
}

/// AMB-40. One origin far away and one near by tell three policies apart.
pub(super) fn default_origin(story: &Story<'_>) -> Verdict {
    let mut far_refused = None;
    let mut near_served = false;
    for (exchange, posted) in answered(story) {
        let head = story.request_head(exchange);
        let Some(origin) = head.only("origin").filter(|_| lists_both(head) && is_sound_body(story, posted))
        else {
            continue;
        };
        let near = is_local(origin);
        match exchange.status {
            403 if near => return found(exchange, "refuse-any"),
            403 => far_refused = far_refused.or(Some(exchange)),
            200 if near => near_served = true,
            200 => return found(exchange, "accept-any"),
            _ => {}
        }
    }
    match far_refused {
        Some(exchange) if near_served => found(exchange, "accept-local"),
        Some(_) => Verdict::incomplete("it does not show what the server makes of a local origin"),
        None => Verdict::not_applicable(DID_NOT_OCCUR),
    }
}

/// An origin on this machine, whatever its scheme and port.
fn is_local(origin: &[u8]) -> bool {
    let text = std::str::from_utf8(origin).unwrap_or_default();
    let host = text.split_once("://").map_or(text, |(_, rest)| rest);
    let host = host
        .rsplit_once(':')
        .filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()))
        .map_or(host, |(host, _)| host);
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}
