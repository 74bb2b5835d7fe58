//! What the headers of a request over HTTP say, next to its body; and the checks of what a modern client sends.

use mcp_parley_trace::{Era, Subject};

use super::base::is_of_modern_era;
use super::is_modern_call;
use crate::known::{Method, era_of};
use crate::story::{Exchange, Head, Message, NONE, Phase, Shape, Side, Story};
use crate::verdict::Verdict;

pub(super) const VERSION: &str = "mcp-protocol-version";
pub(super) const METHOD: &str = "mcp-method";
pub(super) const NAME: &str = "mcp-name";
pub(super) const SESSION: &str = "mcp-session-id";
pub(super) const JSON: &str = "application/json";
pub(super) const EVENTS: &str = "text/event-stream";

/// The posted message and its head.
pub(super) fn head_of<'a>(story: &Story<'a>, message: &Message) -> Option<(&'a Exchange, Head<'a>)> {
    story.exchange(message).map(|exchange| (exchange, story.request_head(exchange)))
}

/// How a header stands to what the body says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Agreement {
    Same,
    /// There is no such header, and the body calls for one.
    Missing,
    Differs,
    /// It differs in case only.
    DiffersInCase,
    /// The body calls for none, or the header is odd (AMB-38).
    Open,
}

fn compare(head: Head<'_>, name: &'static str, body: Option<&[u8]>) -> Agreement {
    match (head.only(name), body) {
        (_, None) => Agreement::Open,
        (None, Some(_)) if !head.has(name) => Agreement::Missing,
        (None, Some(_)) => Agreement::Open,
        (Some(value), Some(body)) if value == body => Agreement::Same,
        // The same value once more, joined by a comma.
        (Some(value), Some(_)) if value.contains(&b',') => Agreement::Open,
        (Some(value), Some(body)) if value.eq_ignore_ascii_case(body) => Agreement::DiffersInCase,
        (Some(_), Some(_)) => Agreement::Differs,
    }
}

pub(super) fn version_header(story: &Story<'_>, head: Head<'_>, message: &Message) -> Agreement {
    let version = story.string(message.version);
    compare(head, VERSION, version.as_deref().map(str::as_bytes))
}

pub(super) fn method_header(story: &Story<'_>, head: Head<'_>, message: &Message) -> Agreement {
    let method = message.root.and_then(|root| story.string(story.get(root, "method")));
    compare(head, METHOD, method.as_deref().map(str::as_bytes))
}

/// A name that is sent in the sentinel form counts by what it stands for.
pub(super) fn name_header(story: &Story<'_>, head: Head<'_>, message: &Message) -> Agreement {
    let Some(name) = name_of(story, message) else { return Agreement::Open };
    match head.only(NAME).map(read_sentinel) {
        Some(Sentinel::Text(value)) if value == name.as_bytes() => Agreement::Same,
        Some(Sentinel::Text(_)) => Agreement::Differs,
        // A name that looks like the form itself, sent as it is (HTTP-14).
        Some(Sentinel::Broken) if head.only(NAME) == Some(name.as_bytes()) => Agreement::Open,
        Some(Sentinel::Broken) => Agreement::Differs,
        _ => compare(head, NAME, Some(name.as_bytes())),
    }
}

/// What the `Mcp-Name` header of a request repeats, if its method has it.
pub(super) fn name_of<'a>(story: &Story<'a>, message: &Message) -> Option<std::borrow::Cow<'a, str>> {
    let member = match message.method {
        Method::ToolsCall | Method::PromptsGet => "name",
        Method::ResourcesRead => "uri",
        _ => return None,
    };
    story.string(message.params.and_then(|params| story.get(params, member)))
}

/// A header value between the markers `=?base64?` and `?=`, or not.
pub(super) enum Sentinel {
    Plain,
    Text(Vec<u8>),
    Broken,
}

pub(super) fn read_sentinel(value: &[u8]) -> Sentinel {
    let inside = value.strip_prefix(b"=?base64?").and_then(|rest| rest.strip_suffix(b"?="));
    match inside {
        None => Sentinel::Plain,
        Some(inside) => base64(inside).map_or(Sentinel::Broken, Sentinel::Text),
    }
}

/// Text that no header carries as it is: it is not all visible ASCII and inner blanks, or looks like the sentinel form.
pub(super) fn needs_sentinel(text: &str) -> bool {
    let plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~')) && text.trim() == text;
    !plain || text.starts_with("=?base64?") && text.ends_with("?=")
}

fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let digits = text.strip_suffix(b"==").or_else(|| text.strip_suffix(b"=")).unwrap_or(text);
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let mut out = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for byte in digits {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
        bits &= (1 << count) - 1;
    }
    Some(out)
}

/// The version header is there once and equals the body; on a pipe there is none to differ.
pub(super) fn agrees(story: &Story<'_>, message: &Message) -> bool {
    head_of(story, message).is_none_or(|(_, head)| version_header(story, head, message) == Agreement::Same)
}

/// What every POST has, whatever its era, so that no refusal of it can be about HTTP alone: the right media types, no origin
/// that could be a wrong one, no `Mcp-Param-*`.
pub(super) fn has_plain_headers(story: &Story<'_>, message: &Message) -> bool {
    let Some((exchange, head)) = head_of(story, message) else { return true };
    exchange.is_post
        && exchange.at_endpoint
        && lists_both(head)
        && !head.has("origin")
        && !head.fields().any(|(name, _)| name.to_ascii_lowercase().starts_with(b"mcp-param-"))
}

/// The media types are those of a correct POST.
pub(super) fn lists_both(head: Head<'_>) -> bool {
    let content = head.only("content-type").is_some() && head.lists("content-type", JSON);
    content && head.lists("accept", JSON) && head.lists("accept", EVENTS)
}

/// Over HTTP: the headers are as a modern server wants them, down to the last one. On a pipe there are none.
pub(super) fn has_sound_headers(story: &Story<'_>, message: &Message) -> bool {
    let Some((_, head)) = head_of(story, message) else { return true };
    has_plain_headers(story, message)
        && !head.has(SESSION)
        && version_header(story, head, message) == Agreement::Same
        && method_header(story, head, message) == Agreement::Same
        && match name_of(story, message) {
            Some(_) => name_header(story, head, message) == Agreement::Same,
            None => !head.has(NAME),
        }
}

/// Judges each request of the modern era by its head: `Some(reason)` breaks the rule, and `None` keeps it.
fn heads(
    story: &Story<'_>,
    wanted: impl Fn(&Message) -> bool,
    wrong: impl Fn(Head<'_>, &Message) -> Option<&'static str>,
) -> Verdict {
    let mut kept = NONE;
    for message in story.from(Side::Client).filter(|message| wanted(message)) {
        let Some((exchange, head)) = head_of(story, message) else { continue };
        if !exchange.is_post || !exchange.at_endpoint {
            continue;
        }
        if let Some(reason) = wrong(head, message) {
            return Verdict::broken_by(message, &[], reason);
        }
        kept = message.sent;
    }
    Verdict::kept(kept, "no modern POST")
}

/// HTTP-01
pub(super) fn posts_each(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for message in story.from(Side::Client).filter(|message| is_of_modern_era(story, message)) {
        let Some((exchange, _)) = head_of(story, message).filter(|_| message.root.is_some()) else {
            continue;
        };
        if !exchange.is_post && exchange.request_head != NONE {
            return Verdict::broken_by(message, &[], "it sends a message with another verb than POST");
        }
        kept = message.sent;
    }
    Verdict::kept(kept, "no modern message")
}

/// What an `Accept` header leaves out. One with a wildcard takes both, and whether it lists them is a matter of words.
pub(super) fn leaves_out(head: Head<'_>, media_type: &str) -> bool {
    let wild = |own: &[u8]| own.ends_with(b"/*");
    !head.lists("accept", media_type) && !head.media_types("accept").any(wild)
}

/// HTTP-02
pub(super) fn accepts_both(story: &Story<'_>) -> Verdict {
    let wanted = |message: &Message| is_of_modern_era(story, message);
    heads(story, wanted, |head, _| {
        let reason = "its `Accept` header does not list both JSON and event streams";
        (leaves_out(head, JSON) || leaves_out(head, EVENTS)).then_some(reason)
    })
}

/// HTTP-07. A request at a legacy version is none of the modern era's.
pub(super) fn has_version_header(story: &Story<'_>) -> Verdict {
    heads(
        story,
        |message| is_modern_call(story, message),
        |head, _| (!head.has(VERSION)).then_some("the POST has no `MCP-Protocol-Version` header"),
    )
}

/// HTTP-08, the client's half.
pub(super) fn version_agrees(story: &Story<'_>) -> Verdict {
    if story.subject == Subject::Server {
        return super::http_server::refuses_other_version(story);
    }
    heads(
        story,
        |message| is_modern_call(story, message),
        |head, message| {
            let differs =
                matches!(version_header(story, head, message), Agreement::Differs | Agreement::DiffersInCase);
            differs.then_some("the `MCP-Protocol-Version` header differs from the version in the body")
        },
    )
}

/// HTTP-13
pub(super) fn repeats_method(story: &Story<'_>) -> Verdict {
    heads(
        story,
        |message| is_modern_call(story, message),
        |head, message| match (method_header(story, head, message), name_header(story, head, message)) {
            (Agreement::Missing, _) => Some("the request has no `Mcp-Method` header"),
            (Agreement::Differs, _) => Some("the `Mcp-Method` header is not the request's method"),
            (_, Agreement::Missing) => Some("the request has no `Mcp-Name` header"),
            (_, Agreement::Differs) if !is_unsafe(story, message) => {
                Some("the `Mcp-Name` header is not the request's name")
            }
            _ => None,
        },
    )
}

fn is_unsafe(story: &Story<'_>, message: &Message) -> bool {
    name_of(story, message).is_some_and(|name| needs_sentinel(&name))
}

/// HTTP-14
pub(super) fn encodes_name(story: &Story<'_>) -> Verdict {
    let wanted = |message: &Message| is_modern_call(story, message) && is_unsafe(story, message);
    heads(story, wanted, |head, message| {
        let encoded = head.only(NAME).map(read_sentinel).is_some_and(|value| match value {
            Sentinel::Text(text) => {
                name_of(story, message).is_some_and(|name| name.as_bytes() == text.as_slice())
            }
            Sentinel::Plain | Sentinel::Broken => false,
        });
        let reason = "a name that no header can carry as it is does not travel as Base64";
        (head.has(NAME) && !encoded).then_some(reason)
    })
}

/// HTTP-16b, the client's half.
pub(super) fn keeps_case(story: &Story<'_>) -> Verdict {
    if story.subject == Subject::Server {
        return super::http_server::minds_case(story);
    }
    heads(
        story,
        |message| is_modern_call(story, message),
        |head, message| {
            let values = [method_header(story, head, message), name_header(story, head, message)];
            let reason = "a header value differs from the body in case";
            values.contains(&Agreement::DiffersInCase).then_some(reason)
        },
    )
}

/// HTTP-03: what HTTP-07 and HTTP-13 say in more words.
pub(super) fn has_metadata_headers(story: &Story<'_>) -> Verdict {
    heads(
        story,
        |message| is_modern_call(story, message),
        |head, message| {
            let named = name_of(story, message).is_none() || head.has(NAME);
            let whole = head.has(VERSION) && head.has(METHOD) && named;
            (!whole).then_some("the POST lacks a metadata header")
        },
    )
}

/// HTTP-04
pub(super) fn one_message(story: &Story<'_>) -> Verdict {
    let wanted = |message: &Message| is_of_modern_era(story, message);
    heads(story, wanted, |_, message| match message.shape {
        Shape::Batch => Some("the body of the POST is an array"),
        _ if message.is_noise() => Some("the body of the POST is neither a request nor a notification"),
        _ => None,
    })
}

/// HTTP-04b. While the era is undecided: AMB-32.
pub(super) fn no_response(story: &Story<'_>) -> Verdict {
    let decided = |message: &Message| message.phase == Phase::Modern && message.evidence != NONE;
    heads(story, decided, |_, message| {
        message.is_response().then_some("the client sends a response in the modern era")
    })
}

/// HTTP-30: a response stream broke, after its head, and the same request comes again under the same id.
pub(super) fn asks_anew(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for request in story.requests().filter(|request| is_modern_call(story, request)) {
        let Some((broken, _)) = story.exchange(request).and_then(Exchange::broke) else { continue };
        let begun = story.exchange(request).is_some_and(|exchange| exchange.head_received < broken);
        if !begun || story.answered_before(request, broken).is_some() {
            continue;
        }
        let again = story.requests().find(|again| {
            again.sent > broken && again.method == request.method && story.same(again.id, request.id)
        });
        if let Some(again) = again {
            let evidence = [request.sent, broken, again.sent];
            let reason = "after its stream broke, the request comes again under the same id";
            return Verdict::broken_by(again, &evidence, reason);
        }
        kept = broken;
    }
    Verdict::kept(kept, "no response stream broke")
}

/// The version that the head names is a known one of the legacy era.
pub(super) fn names_legacy(head: Head<'_>) -> bool {
    let version = head.only(VERSION).and_then(|value| std::str::from_utf8(value).ok());
    version.is_some_and(|version| era_of(version) == Some(Era::Legacy))
}

/// The version that the head names is one of the modern era.
pub(super) fn names_modern(story: &Story<'_>, head: Head<'_>) -> bool {
    let version = head.only(VERSION).and_then(|value| std::str::from_utf8(value).ok());
    version.is_some_and(|version| story.era(version) == Some(Era::Modern))
}
