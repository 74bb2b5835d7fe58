//! What the gate reads in the headers of a request.

use crate::envelope::Request;
use crate::gate::RepeatedHeader;
use crate::headers::{
    METHOD, MediaType, NAME, PROTOCOL_VERSION, decode_value, is_visible_ascii, media_type, trim,
};
use crate::http::{RequestHead, header_values};
use crate::meta::RequestMeta;

/// Whether a request names a session, and one that there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    Absent,
    Unknown,
    Known(u32),
}

/// The version header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VersionHeader<'a> {
    Absent,
    /// It stands twice, or has characters that no version has.
    Malformed,
    Is(&'a str),
}

pub(super) fn version_header<'a>(head: &RequestHead<'a>, repeated: RepeatedHeader) -> VersionHeader<'a> {
    let mut values = header_values(head.headers, PROTOCOL_VERSION).map(trim);
    let Some(first) = values.next() else { return VersionHeader::Absent };
    if repeated == RepeatedHeader::Refuse && values.next().is_some() {
        return VersionHeader::Malformed;
    }
    let text = std::str::from_utf8(first).ok().filter(|_| is_visible_ascii(first));
    text.map_or(VersionHeader::Malformed, VersionHeader::Is)
}

/// HTTP-13, HTTP-17, HTTP-19: the routing headers say what the body says.
pub(super) fn routing_is_fine(head: &RequestHead<'_>, request: &Request<'_>) -> bool {
    let only = |name| {
        let mut values = header_values(head.headers, name);
        (values.next(), values.next().is_some())
    };
    let (Some(method), false) = only(METHOD) else { return false };
    if std::str::from_utf8(trim(method)).ok().is_none_or(|method| !request.method.eq_str(method)) {
        return false;
    }
    let Some(source) = name_source(request) else { return true };
    let wanted = request.params.and_then(|params| params.get(source)?.as_str());
    match (only(NAME), wanted) {
        // A body without the value is refused for that; there is nothing to compare.
        ((None, _), None) => true,
        // HTTP-15.
        ((Some(name), false), Some(wanted)) => decode_value(name).is_some_and(|name| wanted.eq_str(&name)),
        _ => false,
    }
}

/// The parameter that `Mcp-Name` repeats.
fn name_source(request: &Request<'_>) -> Option<&'static str> {
    [("tools/call", "name"), ("prompts/get", "name"), ("resources/read", "uri")]
        .into_iter()
        .find_map(|(method, source)| request.method.eq_str(method).then_some(source))
}

/// HTTP-08: the version header says what `_meta` says; where that is missing there is nothing to compare (META-02).
pub(super) fn version_agrees(header: &str, meta: &RequestMeta<'_>) -> bool {
    meta.version.is_none_or(|version| version.eq_str(header))
}

/// The `Accept` header lists this media type.
pub(super) fn takes(head: &RequestHead<'_>, wanted: MediaType) -> bool {
    header_values(head.headers, "accept")
        .flat_map(|value| value.split(|byte| *byte == b','))
        .any(|one| media_type(one) == wanted)
}

/// HTTP-02.
pub(super) fn takes_both(head: &RequestHead<'_>) -> bool {
    takes(head, MediaType::Json) && takes(head, MediaType::EventStream)
}

/// An `Origin` that is none of this machine.
pub(super) fn origin_is_foreign(head: &RequestHead<'_>) -> bool {
    header_values(head.headers, "origin").any(|origin| !is_loopback(origin))
}

fn is_loopback(origin: &[u8]) -> bool {
    let Some(rest) = origin.strip_prefix(b"http://").or_else(|| origin.strip_prefix(b"https://")) else {
        return false;
    };
    ["localhost", "127.0.0.1", "[::1]"].into_iter().any(|host| {
        rest.strip_prefix(host.as_bytes()).is_some_and(|port| port.is_empty() || port.starts_with(b":"))
    })
}
