//! LEG over HTTP: the version header, sessions, and the stream that a client asks for by GET.

use mcp_parley_trace::Subject;

use super::http::{EVENTS, JSON, SESSION, VERSION, head_of, leaves_out};
use crate::known::{METHOD_NOT_FOUND, Method};
use crate::story::{Answer, Body, Exchange, Message, NONE, Side, Story};
use crate::verdict::Verdict;

/// A handshake that went well: its request, its answer, and the session id that came with it.
struct Handshake<'a> {
    answer: &'a Message,
    session: Option<&'a [u8]>,
}

/// The newest handshake whose answer the client had before the event `seq`.
fn handshake_before<'a>(story: &Story<'a>, seq: u32) -> Option<Handshake<'a>> {
    let (answer, _) =
        story.answers().rfind(|(answer, _)| answer.answer == Answer::Handshake && answer.received < seq)?;
    let session = story.exchange(answer).and_then(|exchange| story.answer_head(exchange).only(SESSION));
    Some(Handshake { answer, session })
}

/// Over HTTP: the request says that it is one of a legacy session, so that the rules of no other era can be meant. On a pipe the
/// process says so.
pub(super) fn is_of_session(story: &Story<'_>, request: &Message) -> bool {
    let Some((_, head)) = head_of(story, request) else { return true };
    let session = handshake_before(story, request.sent).and_then(|handshake| handshake.session);
    super::http::names_legacy(head)
        && head.only(SESSION) == session
        && super::http::has_plain_headers(story, request)
}

/// The request is one of a legacy session, but for the session id that the server gave out.
pub(super) fn lacks_session_only(story: &Story<'_>, request: &Message) -> bool {
    let Some((_, head)) = head_of(story, request) else { return false };
    let Some(handshake) = handshake_before(story, request.sent) else { return false };
    let agreed = story.string(handshake.answer.handshake_version);
    handshake.session.is_some()
        && request.is_request()
        && !request.modern_keys
        && request.method != Method::Initialize
        && head.only(VERSION) == agreed.as_deref().map(str::as_bytes)
        && super::http::has_plain_headers(story, request)
}

/// Over HTTP: the request names the session that the server gave out; without one nobody knows to which connection of the client it
/// belongs. On a pipe the process says so.
pub(super) fn is_in_session(story: &Story<'_>, request: &Message) -> bool {
    let Some((_, head)) = head_of(story, request) else { return true };
    let session = handshake_before(story, request.sent).and_then(|handshake| handshake.session);
    session.is_some() && head.only(SESSION) == session
}

/// Over HTTP: nothing has happened since the handshake that could have ended the session, or proved the era wrong (ERA-12). On a
/// pipe the process lives.
pub(super) fn holds_session(story: &Story<'_>, request: &Message) -> bool {
    if !story.is_http() {
        return true;
    }
    let Some(handshake) = handshake_before(story, request.sent) else { return false };
    !story.exchanges().any(|exchange| {
        let since = exchange.asked > handshake.answer.received && exchange.asked < request.sent;
        let ends = story.request_head(exchange).verb() == b"DELETE";
        since && (ends || exchange.gone.is_some() || exchange.status >= 400 && !exchange.is_get)
    })
}

/// The exchanges of the session that a handshake opened, in order: what the client sent after it had the answer, up to the next
/// handshake, and that is not of the modern era. A response may answer what the server asked before.
fn in_session<'a>(story: &Story<'a>, answer: &'a Message) -> impl Iterator<Item = &'a Exchange> + use<'a> {
    let next = story
        .requests()
        .find(|request| request.method == Method::Initialize && request.sent > answer.received)
        .map_or(NONE, |request| request.sent);
    let messages = story.messages();
    story.exchanges().filter(move |exchange| {
        let posted = messages.get(exchange.message as usize);
        let other = posted.is_some_and(|posted| {
            matches!(posted.method, Method::Discover | Method::Initialize)
                || posted.modern_keys
                || posted.is_response()
        });
        !other && exchange.request_head > answer.received && exchange.asked < next
    })
}

/// The handshakes whose answer the client had, each with the version agreed on.
fn handshakes<'a>(story: &Story<'a>) -> impl Iterator<Item = (&'a Message, std::borrow::Cow<'a, str>)> {
    story
        .answers()
        .filter(|(answer, _)| answer.answer == Answer::Handshake && answer.received != NONE)
        .filter_map(|(answer, _)| story.string(answer.handshake_version).map(|version| (answer, version)))
}

fn has_header(version: &str) -> bool {
    matches!(version, "2025-06-18" | "2025-11-25")
}

/// LEG-05. The server's half: what cannot be a version is refused with 400.
pub(super) fn version_header(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for (answer, version) in handshakes(story).filter(|(_, version)| has_header(version)) {
        for exchange in in_session(story, answer) {
            let head = story.request_head(exchange);
            if story.subject == Subject::Server {
                let value = head.only(VERSION).unwrap_or(version.as_bytes());
                let invalid = !value.is_empty() && !value.iter().any(u8::is_ascii_digit);
                if invalid && matches!(exchange.status, 200..=299) {
                    let reason = "it takes a request whose version header cannot be a version";
                    return Verdict::broken(exchange.answered, &[exchange.asked, exchange.answered], reason);
                }
                kept = if invalid && exchange.status == 400 { exchange.answered } else { kept };
                continue;
            }
            if !head.has(VERSION) {
                let reason = "after the handshake it sends a request without `MCP-Protocol-Version`";
                return broken_by(story, exchange, answer, reason);
            }
            kept = exchange.asked;
        }
    }
    Verdict::kept(kept, "no request after a handshake that asks for the header")
}

/// At the exchange's request, which may have no message.
fn broken_by(story: &Story<'_>, exchange: &Exchange, answer: &Message, reason: &'static str) -> Verdict {
    let evidence = [answer.received, exchange.asked];
    match story.message(exchange.message) {
        Some(message) => Verdict::broken_by(message, &evidence, reason),
        None => Verdict::broken(exchange.asked, &evidence, reason),
    }
}

/// LEG-15
pub(super) fn agreed_version(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for (answer, version) in handshakes(story).filter(|(_, version)| has_header(version)) {
        for exchange in in_session(story, answer) {
            match story.request_head(exchange).only(VERSION) {
                Some(value) if value == version.as_bytes() => kept = exchange.asked,
                Some(_) => {
                    let reason = "the version header is not the version agreed on";
                    return broken_by(story, exchange, answer, reason);
                }
                None => {}
            }
        }
    }
    Verdict::kept(kept, "no version header after a handshake")
}

/// The session id that came with an answer, and the event with which the client learnt that the session had ended: it ended it
/// itself, or a request that named it met 404.
fn session_of<'a>(story: &Story<'a>, answer: &'a Message) -> Option<(&'a [u8], u32)> {
    let id = story.exchange(answer).and_then(|exchange| story.answer_head(exchange).only(SESSION))?;
    // What is no session id (LEG-19) need not come back: many clients cannot even send it.
    let id = Some(id).filter(|id| !id.is_empty() && id.iter().all(u8::is_ascii_graphic))?;
    let ended = in_session(story, answer)
        .filter(|exchange| story.request_head(exchange).only(SESSION) == Some(id))
        .filter_map(|exchange| match exchange.status {
            404 if exchange.is_post && !is_unknown_method(story, exchange) => Some(exchange.head_received),
            200..=299 if story.request_head(exchange).verb() == b"DELETE" => Some(exchange.head_received),
            _ => None,
        })
        .min();
    Some((id, ended.unwrap_or(NONE)))
}

/// Some servers use 404 for a method that they do not have, in any era.
fn is_unknown_method(story: &Story<'_>, exchange: &Exchange) -> bool {
    story.message(exchange.reply).is_some_and(|reply| reply.code == Some(METHOD_NOT_FOUND))
}

/// LEG-20
pub(super) fn carries_session(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for (answer, _) in handshakes(story) {
        let Some((id, ended)) = session_of(story, answer) else { continue };
        for exchange in in_session(story, answer).filter(|exchange| exchange.request_head < ended) {
            let head = story.request_head(exchange);
            let given = |other: &Exchange| {
                other.head_received < exchange.asked
                    && head
                        .only(SESSION)
                        .is_some_and(|own| story.answer_head(other).only(SESSION) == Some(own))
            };
            // A server that gives out another one later is its own affair.
            if head.only(SESSION) != Some(id) && !story.exchanges().any(given) {
                let reason = "it sends a request without the session id that it was given";
                return broken_by(story, exchange, answer, reason);
            }
            kept = exchange.asked;
        }
    }
    Verdict::kept(kept, "no request after a handshake that gave a session id")
}

/// LEG-21
pub(super) fn ended_session(story: &Story<'_>) -> Verdict {
    match story.subject {
        Subject::Server => refuses_ended(story),
        _ => begins_anew(story),
    }
}

/// No longer is anything on its way between a client and a mock on one machine.
const CROSSED_US: u64 = 100_000;

fn begins_anew(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for (answer, _) in handshakes(story) {
        let Some((id, ended)) = session_of(story, answer).filter(|(_, ended)| *ended != NONE) else {
            continue;
        };
        // Where the client's end was not recorded, what came at once may have crossed the 404.
        let crossed = if story.sees(Side::Client) { 0 } else { CROSSED_US };
        let end = story.exchanges().find(|exchange| exchange.head_received == ended);
        let from_us = end.map_or(0, |end| end.head_received_us).saturating_add(crossed);
        let later = |exchange: &&Exchange| exchange.request_head > ended && exchange.asked_us >= from_us;
        for exchange in story.exchanges().filter(later) {
            let head = story.request_head(exchange);
            let given_again = handshakes(story).any(|(other, _)| {
                other.received > ended
                    && other.received < exchange.request_head
                    && session_of(story, other).is_some_and(|(other, _)| other == id)
            });
            if head.only(SESSION) == Some(id) && head.verb() != b"DELETE" && !given_again {
                let reason = "it goes on with a session that has ended";
                return match story.message(exchange.message) {
                    Some(message) => Verdict::broken_by(message, &[ended, message.sent], reason),
                    None => Verdict::broken(exchange.asked, &[ended, exchange.asked], reason),
                };
            }
            kept = exchange.asked;
        }
    }
    Verdict::kept(kept, "no request after a session had ended")
}

/// The server has ended a session at the client's wish.
fn refuses_ended(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for (answer, _) in handshakes(story) {
        let Some((id, _)) = session_of(story, answer) else { continue };
        let with_id = |exchange: &&Exchange| story.request_head(exchange).only(SESSION) == Some(id);
        let ended = in_session(story, answer).filter(with_id).find(|exchange| {
            story.request_head(exchange).verb() == b"DELETE" && matches!(exchange.status, 200..=299)
        });
        let Some(ended) = ended else { continue };
        for exchange in story.exchanges().filter(with_id).filter(|next| next.request_head > ended.complete) {
            let posted = story.message(exchange.message);
            let asks = posted.is_some_and(|posted| {
                posted.is_request()
                    && !posted.modern_keys
                    && posted.method != Method::Initialize
                    && super::http::has_plain_headers(story, posted)
            });
            match exchange.status {
                404 => kept = exchange.answered,
                200..=299 | 400 if asks => {
                    let seqs = [ended.asked, exchange.answered];
                    let reason = "it answers a request of an ended session with another status than 404";
                    return Verdict::broken(exchange.answered, &seqs, reason);
                }
                _ => {}
            }
        }
    }
    Verdict::kept(kept, "no request of a session that the server had ended")
}

/// LEG-23
pub(super) fn stream_by_get(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for exchange in story.exchanges().filter(|exchange| exchange.is_get) {
        let head = story.request_head(exchange);
        if story.subject == Subject::Server {
            let other = matches!(exchange.status, 200..=299) && exchange.body != Body::Events;
            if other && head.lists("accept", EVENTS) {
                let reason = "it answers GET with something else than an event stream or 405";
                return Verdict::broken(exchange.answered, &[exchange.asked, exchange.answered], reason);
            }
            kept = if exchange.status == 0 { kept } else { exchange.answered };
        } else if leaves_out(head, EVENTS) {
            let reason = "its GET does not accept event streams";
            return Verdict::broken(exchange.asked, &[exchange.asked], reason);
        } else {
            kept = exchange.asked;
        }
    }
    Verdict::kept(kept, "no GET")
}

/// LEG-24
pub(super) fn posts(story: &Story<'_>) -> Verdict {
    if story.subject == Subject::Server {
        return super::http_server::acknowledges_in_session(story);
    }
    let mut kept = NONE;
    for message in story.from(Side::Client) {
        let legacy = message.phase.is_legacy() || message.is_call(Method::Initialize);
        let Some((exchange, head)) = head_of(story, message).filter(|_| legacy) else { continue };
        if message.root.is_none() || message.modern_keys || !exchange.at_endpoint {
            continue;
        }
        if !exchange.is_post {
            return Verdict::broken_by(message, &[], "it sends a message with another verb than POST");
        }
        if leaves_out(head, JSON) || leaves_out(head, EVENTS) {
            let reason = "its `Accept` header does not list both JSON and event streams";
            return Verdict::broken_by(message, &[], reason);
        }
        kept = message.sent;
    }
    Verdict::kept(kept, "no POST of the legacy era")
}
