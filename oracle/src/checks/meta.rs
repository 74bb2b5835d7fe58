//! META: what each request declares anew.

use mcp_parley_trace::Era;

use super::neg::era_named;
use super::{is_modern_answer, is_modern_call, is_modern_version};
use crate::json::Type;
use crate::known::{HEADER_MISMATCH, INVALID_PARAMS, Method, UNSUPPORTED_VERSION};
use crate::story::{Message, NONE, Shape, Story};
use crate::verdict::Verdict;

/// META-01
pub(super) fn required_fields(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for request in story.requests().filter(|request| is_modern_call(story, request)) {
        if !has_both(story, request) {
            let reason = "a required key is missing from `_meta`, or has the wrong type";
            return Verdict::broken_by(request, &[], reason);
        }
        kept = request.sent;
    }
    Verdict::kept(kept, "no modern request")
}

/// META-20: the same as the schema says it, `_meta` itself included.
pub(super) fn types(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for request in story.requests().filter(|request| is_modern_call(story, request)) {
        if !story.is(request.meta, Type::Object) || !has_both(story, request) {
            return Verdict::broken_by(request, &[], "`params._meta` is not as the schema has it");
        }
        kept = request.sent;
    }
    Verdict::kept(kept, "no modern request")
}

fn has_both(story: &Story<'_>, request: &Message) -> bool {
    story.is(request.version, Type::String) && story.is(request.capabilities, Type::Object)
}

/// META-02. A request with none of the keys may be an early legacy one to a server of both eras (AMB-13), unless it is
/// `server/discover`; a required key of the wrong type has no code of its own (AMB-15).
pub(super) fn refuses_incomplete(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for (answer, request) in story.answers() {
        let missing = request.version.is_none() || request.capabilities.is_none();
        let discover = request.method == Method::Discover;
        if !missing || !request.clean || !is_modern_answer(story, answer, request) {
            continue;
        }
        if !discover && era_named(story, request) != Some(Era::Modern) {
            continue;
        }
        let evidence = [request.received.min(answer.sent), answer.sent];
        match (answer.shape, answer.code) {
            (Shape::Error, Some(INVALID_PARAMS)) => kept = answer.sent,
            // AMB-14: over HTTP the header then has no counterpart in the body.
            (Shape::Error, Some(HEADER_MISMATCH)) if story.is_http() => {}
            (Shape::Result, _) => {
                let reason = "it serves a request that lacks a required key of `_meta`";
                return Verdict::broken_by(answer, &evidence, reason);
            }
            _ if !super::http::has_sound_headers(story, request) => {}
            // AMB-14: an unknown method, or a version that it does not serve, may be named first.
            (Shape::Error, Some(UNSUPPORTED_VERSION)) if request.version.is_some() => {}
            (Shape::Error, Some(_)) if discover && answer.clean && is_modern_version(story, request) => {
                let reason = "it refuses a request that lacks a required key with another code than -32602";
                return Verdict::broken_by(answer, &evidence, reason);
            }
            _ => {}
        }
    }
    Verdict::kept(kept, "no request that lacks a required key was answered by a modern server")
}
