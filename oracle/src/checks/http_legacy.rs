//! LEG over HTTP: the version header, sessions, and the stream that a client asks for by GET.

use mcp_parley_trace::Era;

use super::http::{EVENTS, JSON, SESSION, VERSION, head_of, leaves_out};
use crate::known::{Method, era_of};
use crate::story::{Answer, Body, Exchange, Head, Message, NONE, Phase, Story};
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
    let version = head.only(VERSION).and_then(|value| std::str::from_utf8(value).ok());
    let legacy = version.is_some_and(|version| era_of(version) == Some(Era::Legacy));
    let session = handshake_before(story, request.sent).and_then(|handshake| handshake.session);
    legacy && head.only(SESSION) == session && super::http::has_plain_headers(story, request)
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
