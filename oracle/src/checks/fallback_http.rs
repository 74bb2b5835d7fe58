//! ERA-08 and ERA-10: over HTTP a client that detects the era falls back when a 4xx says nothing of the modern era.
//!
//! As over stdio, this shows only where the client gave up and nothing but that answer can be the reason. What is contested is
//! no such reason: -32601 (AMB-28), -32602 (AMB-11), a broken envelope (AMB-04), statuses with a meaning of their own (AMB-08).

use mcp_parley_trace::{Kind, Mode};

use super::is_modern_sign;
use crate::known::{INVALID_PARAMS, METHOD_NOT_FOUND, Method};
use crate::story::{Answer, Exchange, Message, NONE, Shape, Side, Story};
use crate::verdict::Verdict;

/// What the body of a refusal is to a client that looks for a modern error.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    Empty,
    /// Text, or JSON that says nothing of JSON-RPC.
    Foreign,
    /// A JSON-RPC error with a code that is not MCP's.
    Code(i64),
    /// Anything else, which proves nothing.
    Odd,
}

/// The refusal of a POST that the client has read to its end.
pub(super) fn refusal(story: &Story<'_>, exchange: &Exchange) -> Refusal {
    let Some(reply) = story.message(exchange.reply) else {
        return if exchange.answer_len == 0 { Refusal::Empty } else { Refusal::Odd };
    };
    match (reply.shape, reply.answer, reply.code) {
        // An error under another media type: nobody says whether it is recognised.
        (Shape::Text, ..) if looks_like_an_error(story.line(reply)) => Refusal::Odd,
        (Shape::Text | Shape::Blank, ..) => Refusal::Foreign,
        (Shape::Error, Answer::OtherError, Some(code)) => Refusal::Code(code),
        _ => Refusal::Odd,
    }
}

fn looks_like_an_error(text: &[u8]) -> bool {
    text.windows(7).any(|window| window == b"jsonrpc")
}

/// ERA-08
pub(super) fn after_bad_request(story: &Story<'_>) -> Verdict {
    judge(story, |status| status == 400)
}

/// ERA-10
pub(super) fn after_client_error(story: &Story<'_>) -> Verdict {
    judge(story, |status| matches!(status, 402 | 404..=406 | 409..=428 | 430..=499))
}

fn judge(story: &Story<'_>, wanted: impl Fn(u16) -> bool) -> Verdict {
    if story.declared.mode != Mode::Auto || story.accepts().is_some_and(<[String]>::is_empty) {
        return Verdict::not_applicable("only a client that has a legacy version to fall back to does so");
    }
    let Some(probe) = story.requests().rfind(|request| request.method == Method::Discover) else {
        return Verdict::not_applicable("no probe");
    };
    let Some(exchange) = story.exchange(probe).filter(|exchange| exchange.complete != NONE) else {
        return Verdict::not_applicable("the probe got no whole answer");
    };
    if !wanted(exchange.status) {
        return Verdict::not_applicable("the probe ended with another status");
    }
    if story.answers().any(|(answer, _)| answer.received != NONE && is_modern_sign(answer.answer)) {
        return Verdict::not_applicable("something else than a legacy failure was received");
    }
    match refusal(story, exchange) {
        Refusal::Odd => return Verdict::not_applicable("the body is neither legacy nor modern beyond doubt"),
        Refusal::Code(METHOD_NOT_FOUND | INVALID_PARAMS) => {
            return Verdict::not_applicable("whether the error is a modern one is open (AMB-11, AMB-28)");
        }
        Refusal::Empty | Refusal::Foreign | Refusal::Code(_) => {}
    }
    let steps_down = story.exchanges().find(|next| {
        let asks = story.message(next.message).is_some_and(|message| message.is_call(Method::Initialize));
        next.request_head > exchange.complete && (asks || next.is_get)
    });
    if let Some(next) = steps_down {
        return Verdict::pass(&[exchange.answered, next.asked]);
    }
    gave_up(story, probe, exchange)
}

/// The client took no step down: judges whether the refusal is the only reason that it can have.
fn gave_up(story: &Story<'_>, probe: &Message, exchange: &Exchange) -> Verdict {
    let Some((seq, ..)) = story.report(exchange.complete, |kind| kind == Kind::Failed) else {
        return Verdict::incomplete("the client does not say that it has given up");
    };
    let disturbed = story.from(Side::Server).any(|message| {
        message.received < seq && message.exchange != probe.exchange && message.shape != Shape::Notification
    });
    let other = story
        .exchanges()
        .any(|other| other.asked < seq && (other.gone.is_some() || other.asked > exchange.complete));
    if disturbed || other {
        return Verdict::incomplete("something else that came may be why the client gave up");
    }
    let reason = "it gives up after a 4xx that says nothing of the modern era, without `initialize`";
    Verdict::broken(seq, &[probe.sent, exchange.answered, seq], reason)
}
