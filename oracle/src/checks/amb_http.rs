//! AMB over HTTP: what the specification leaves open there. The server's halves are in `amb_server.rs`.

use mcp_parley_trace::{Mode, Subject};

use super::amb::{Step, next_step};
use super::base::is_of_modern_era;
use super::fallback_http::{Refusal, refusal};
use super::http::{
    Agreement, METHOD, NAME, Sentinel, VERSION, head_of, name_header, name_of, needs_sentinel,
};
use super::{is_modern_call, is_modern_sign};
use crate::known::{METHOD_NOT_FOUND, Method};
use crate::story::{Answer, Exchange, Message, NONE, Shape, Side, Story};
use crate::verdict::Verdict;

const DID_NOT_OCCUR: &str = "the situation did not occur";
const NOT_SHOWN: &str = "it does not show what the client made of it";

/// The client detects the era and has a legacy version: only then does it choose whether to fall back.
fn may_fall_back(story: &Story<'_>) -> bool {
    story.declared.mode == Mode::Auto && !story.accepts().is_some_and(<[String]>::is_empty)
}

/// The first probe whose exchange is as wanted.
fn probe<'a>(
    story: &Story<'a>,
    wanted: impl Fn(&Message, &Exchange) -> bool,
) -> Option<(&'a Message, &'a Exchange)> {
    story
        .requests()
        .filter(|request| request.method == Method::Discover)
        .filter_map(|request| story.exchange(request).map(|exchange| (request, exchange)))
        .find(|(request, exchange)| wanted(request, exchange))
}

/// The first GET after an event.
fn get_after<'a>(story: &Story<'a>, seq: u32) -> Option<&'a Exchange> {
    story.exchanges().find(|exchange| exchange.is_get && exchange.request_head > seq)
}

/// What the client did after the end of that exchange, as one of two outcomes.
fn stays_or_falls(
    story: &Story<'_>,
    exchange: &Exchange,
    (stays, falls): (&'static str, &'static str),
) -> Verdict {
    let get = get_after(story, exchange.complete).map(|get| get.asked);
    match next_step(story, exchange.complete) {
        Some((_, seq, _)) if get.is_some_and(|get| get < seq) => {
            Verdict::contested(falls, &[exchange.answered, get.unwrap_or(seq)])
        }
        Some((Step::Initialize, seq, _)) => Verdict::contested(falls, &[exchange.answered, seq]),
        Some((Step::Fail, seq, _)) => Verdict::contested(stays, &[exchange.answered, seq]),
        Some((Step::Probe | Step::Modern, seq, _)) if falls == "fall-back" && stays == "stay-modern" => {
            Verdict::contested(stays, &[exchange.answered, seq])
        }
        _ => match get {
            Some(seq) => Verdict::contested(falls, &[exchange.answered, seq]),
            None => Verdict::incomplete(NOT_SHOWN),
        },
    }
}

/// AMB-08
pub(super) fn odd_status(story: &Story<'_>) -> Verdict {
    let odd = |request: &Message, exchange: &Exchange| {
        exchange.complete != NONE
            && match exchange.status {
                200..=299 => story.answer_of(request).is_none(),
                300..=399 | 401 | 403 | 407 | 408 | 429 | 500..=599 => true,
                _ => false,
            }
    };
    let met = probe(story, odd).filter(|_| may_fall_back(story));
    let Some((_, exchange)) = met else { return Verdict::not_applicable(DID_NOT_OCCUR) };
    stays_or_falls(story, exchange, ("fail", "fall-back"))
}

/// AMB-09: the client stops waiting while nothing has come and nothing is broken.
pub(super) fn silence(story: &Story<'_>) -> Verdict {
    let met = probe(story, |request, exchange| {
        let silent = exchange.gone.is_none() && exchange.complete == NONE && !exchange.raw;
        silent && story.answer_of(request).is_none_or(|answer| answer.received == NONE)
    });
    let Some((request, exchange)) = met.filter(|_| may_fall_back(story)) else {
        return Verdict::not_applicable(DID_NOT_OCCUR);
    };
    match next_step(story, request.sent) {
        Some((Step::Initialize, seq, _)) => Verdict::contested("fall-back", &[exchange.asked, seq]),
        Some((Step::Fail, seq, _)) => Verdict::contested("fail", &[exchange.asked, seq]),
        _ => Verdict::incomplete(NOT_SHOWN),
    }
}

/// AMB-28
pub(super) fn method_not_found(story: &Story<'_>) -> Verdict {
    let met = probe(story, |request, exchange| {
        let answer = story.answer_of(request);
        exchange.complete != NONE
            && matches!(exchange.status, 400 | 404)
            && answer.is_some_and(|answer| {
                answer.answer == Answer::OtherError && answer.code == Some(METHOD_NOT_FOUND)
            })
    });
    let Some((_, exchange)) = met.filter(|_| may_fall_back(story)) else {
        return Verdict::not_applicable(DID_NOT_OCCUR);
    };
    stays_or_falls(story, exchange, ("stay-modern", "fall-back"))
}

/// AMB-33
pub(super) fn step_down(story: &Story<'_>) -> Verdict {
    let met = probe(story, |_, exchange| {
        exchange.complete != NONE
            && matches!(exchange.status, 404 | 405)
            && refusal(story, exchange) != Refusal::Odd
    });
    let modern = story.answers().any(|(answer, _)| is_modern_sign(answer.answer));
    let Some((_, exchange)) = met.filter(|_| may_fall_back(story) && !modern) else {
        return Verdict::not_applicable(DID_NOT_OCCUR);
    };
    let get = get_after(story, exchange.complete).map_or(NONE, |get| get.asked);
    match next_step(story, exchange.complete) {
        Some((Step::Initialize, seq, _)) if seq < get => {
            Verdict::contested("initialize-first", &[exchange.answered, seq])
        }
        _ if get != NONE => Verdict::contested("get-first", &[exchange.answered, get]),
        _ => Verdict::incomplete(NOT_SHOWN),
    }
}

/// AMB-20
pub(super) fn notification_headers(story: &Story<'_>) -> Verdict {
    if story.subject == Subject::Server {
        return super::amb_server::notification_headers(story);
    }
    let modern = |message: &&Message| {
        message.shape == Shape::Notification && is_of_modern_era(story, message) && !message.phase.is_legacy()
    };
    let met = story.from(Side::Client).find(modern);
    let Some((message, (_, head))) =
        met.and_then(|message| head_of(story, message).map(|head| (message, head)))
    else {
        return Verdict::not_applicable("no modern notification");
    };
    let sends = head.has(VERSION) && head.has(METHOD);
    Verdict::contested(if sends { "send" } else { "leave-out" }, &[message.sent])
}

/// AMB-36
pub(super) fn initialize_header(story: &Story<'_>) -> Verdict {
    if story.subject == Subject::Server {
        return super::amb_server::initialize_header(story);
    }
    let met = story.requests().find(|request| request.method == Method::Initialize);
    let Some((request, (_, head))) =
        met.and_then(|request| head_of(story, request).map(|head| (request, head)))
    else {
        return Verdict::not_applicable("no `initialize`");
    };
    Verdict::contested(if head.has(VERSION) { "send" } else { "leave-out" }, &[request.sent])
}

/// AMB-38
pub(super) fn odd_headers(story: &Story<'_>) -> Verdict {
    if story.subject == Subject::Server {
        return super::amb_server::odd_headers(story);
    }
    let mut seen = None;
    for request in story.requests().filter(|request| is_modern_call(story, request)) {
        let Some((_, head)) = head_of(story, request) else { continue };
        match name_of(story, request) {
            None if head.has(NAME) => return Verdict::contested("extra", &[request.sent]),
            Some(name) if !needs_sentinel(&name) && name_header(story, head, request) == Agreement::Same => {
                let encoded = head.only(NAME).map(super::http::read_sentinel);
                if matches!(encoded, Some(Sentinel::Text(_))) {
                    return Verdict::contested("base64", &[request.sent]);
                }
                seen = seen.or(Some(request.sent));
            }
            _ => {}
        }
    }
    match seen {
        Some(seq) => Verdict::contested("plain", &[seq]),
        None => Verdict::not_applicable("no request has a name that a header repeats"),
    }
}
