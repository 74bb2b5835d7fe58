//! Header values: the Base64 sentinel form, and media types. Shared by the client's machine and the server's gate.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The version of the protocol (HTTP-07, LEG-05).
pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// The method of a modern request (HTTP-13).
pub const METHOD: &str = "mcp-method";
/// The name or URI that a modern request is about (HTTP-13).
pub const NAME: &str = "mcp-name";
/// The session of the legacy era (LEG-19).
pub const SESSION_ID: &str = "mcp-session-id";

const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";

/// A value as it travels in `Mcp-Name` or `Mcp-Param-*`: plain where that is safe, else in the sentinel form (HTTP-14).
pub fn encode_value(value: &str) -> Cow<'_, str> {
    let safe = value.bytes().all(is_field_byte) && trim(value.as_bytes()).len() == value.len();
    let looks_encoded = value.starts_with(PREFIX) && value.ends_with(SUFFIX);
    if safe && !looks_encoded {
        return Cow::Borrowed(value);
    }
    Cow::Owned(format!("{PREFIX}{}{SUFFIX}", STANDARD.encode(value)))
}

/// What a value stands for (HTTP-15). `None` is a malformed one: a character that no header value may have, or a sentinel
/// form whose inside is no Base64 of UTF-8 (HTTP-19). White space around it belongs to HTTP, not to the value.
pub fn decode_value(value: &[u8]) -> Option<Cow<'_, str>> {
    let value = trim(value);
    let text = std::str::from_utf8(value).ok().filter(|text| text.bytes().all(is_field_byte))?;
    match text.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX)) {
        None => Some(Cow::Borrowed(text)),
        Some(inside) => String::from_utf8(STANDARD.decode(inside).ok()?).ok().map(Cow::Owned),
    }
}

/// True if it is not empty and has visible ASCII characters only, as a session id must (LEG-19).
pub fn is_visible_ascii(value: &[u8]) -> bool {
    !value.is_empty() && value.iter().all(u8::is_ascii_graphic)
}

/// The two media types that the transport knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MediaType {
    /// `application/json`.
    Json,
    /// `text/event-stream`.
    EventStream,
    /// Any other, or none.
    Other,
}

/// The media type that a `content-type`, or one member of an `accept`, names: in any case, with any parameters.
pub fn media_type(value: &[u8]) -> MediaType {
    let essence = trim(value.split(|byte| *byte == b';').next().unwrap_or_default());
    if essence.eq_ignore_ascii_case(b"application/json") {
        MediaType::Json
    } else if essence.eq_ignore_ascii_case(b"text/event-stream") {
        MediaType::EventStream
    } else {
        MediaType::Other
    }
}

/// Without the blanks and tabs around it, which HTTP lets anybody add.
pub(crate) fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// RFC 9110, as far as it is ASCII: visible characters, blank and tab.
fn is_field_byte(byte: u8) -> bool {
    byte.is_ascii_graphic() || matches!(byte, b' ' | b'\t')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The examples of the page, and what stands next to each.
    #[test]
    fn only_what_is_unsafe_travels_in_the_sentinel_form() {
        for (value, header) in [
            ("us-west1", "us-west1"),
            ("", ""),
            ("file:///a b", "file:///a b"),
            ("a\tb", "a\tb"),
            ("=?BASE64?eA==?=", "=?BASE64?eA==?="),
            ("=?base64?eA==", "=?base64?eA=="),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
            ("=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="),
            ("\u{7f}", "=?base64?fw==?="),
        ] {
            assert_eq!(encode_value(value), header);
            assert_eq!(decode_value(header.as_bytes()).as_deref(), Some(value));
        }
    }

    #[test]
    fn a_malformed_value_stands_for_nothing() {
        for value in [
            &b"=?base64?e?="[..],
            b"=?base64?eA?=",
            b"=?base64?eB==?=",
            b"=?base64?e-_=?=",
            b"=?base64?/w==?=",
            b"na\xefve",
            "naïve".as_bytes(),
            b"a\x00b",
            b"a\r\nb: c",
        ] {
            assert_eq!(decode_value(value), None, "{}", value.escape_ascii());
        }
        assert_eq!(decode_value(b" \tx \t").as_deref(), Some("x"));
        assert_eq!(decode_value(b"=?base64??=").as_deref(), Some(""));
        assert_eq!(decode_value(b"=?base64?=").as_deref(), Some("=?base64?="));
    }

    #[test]
    fn a_media_type_is_known_by_its_essence() {
        for (value, expected) in [
            ("application/json", MediaType::Json),
            ("Application/JSON ;charset=utf-8", MediaType::Json),
            (" application/json", MediaType::Json),
            ("text/event-stream;x=1;y", MediaType::EventStream),
            ("application/json-rpc", MediaType::Other),
            ("application/json, text/event-stream", MediaType::Other),
            ("text/html", MediaType::Other),
            ("", MediaType::Other),
        ] {
            assert_eq!(media_type(value.as_bytes()), expected, "{value}");
        }
    }

    #[test]
    fn a_session_id_is_visible() {
        assert!(is_visible_ascii(b"!session-1~"));
        for odd in [&b""[..], b"a b", b"a\tb", b"\x7f", b"\xc3\xa4", b"a\n"] {
            assert!(!is_visible_ascii(odd), "{}", odd.escape_ascii());
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_a_legal_header_value_and_decodes_to_itself(value in ".*|=\\?base64\\?.*\\?=") {
            let encoded = encode_value(&value);
            prop_assert!(encoded.bytes().all(is_field_byte));
            let decoded = decode_value(encoded.as_bytes());
            prop_assert_eq!(decoded.as_deref(), Some(value.as_str()));
        }
    }
}
