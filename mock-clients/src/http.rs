//! What an odd client makes of HTTP: the verb, and which headers it drops, sets and doubles.

use mcp_parley_negotiation::headers::{METHOD, NAME, PROTOCOL_VERSION, SESSION_ID, encode_value};
use mcp_parley_negotiation::http::HttpRequest;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// How the request of one step differs from what a correct client would send with the same body.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpForm {
    /// The verb.
    pub verb: Verb,
    /// Headers that are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drop: Vec<HeaderName>,
    /// Headers with another value, or besides the usual ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<(HeaderName, String)>,
    /// Headers that are sent once more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub add: Vec<(HeaderName, String)>,
}

/// The verb of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "each is what it says")]
pub enum Verb {
    #[default]
    Post,
    Get,
    Delete,
    Put,
    Patch,
    Options,
    Head,
}

impl Verb {
    /// As it stands on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::Post => "POST",
            Self::Get => "GET",
            Self::Delete => "DELETE",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Options => "OPTIONS",
            Self::Head => "HEAD",
        }
    }
}

/// The name of a header that openings can speak of, in the case in which it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HeaderName(&'static str);

const NAMES: &[&str] = &[
    ACCEPT,
    CONTENT_TYPE,
    PROTOCOL_VERSION,
    METHOD,
    NAME,
    SESSION_ID,
    "ACCEPT",
    "MCP-Protocol-Version",
    "MCP-PROTOCOL-VERSION",
    "MCP-METHOD",
    "last-event-id",
    "origin",
    "x-unknown",
];
const ACCEPT: &str = "accept";
const CONTENT_TYPE: &str = "content-type";

impl HeaderName {
    /// As it stands on the wire.
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl<'de> Deserialize<'de> for HeaderName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = NAMES.iter().find(|own| **own == name);
        let none = || D::Error::custom(format!("no header `{name}`; there are: {}", NAMES.join(", ")));
        known.map(|own| Self(own)).ok_or_else(none)
    }
}

/// What the legacy handshake has left to be sent with every request (LEG-05, LEG-20).
#[derive(Clone, Debug, Default)]
pub(crate) struct Session {
    pub(crate) version: Option<String>,
    pub(crate) id: Option<String>,
}

/// The request that carries this body: with the headers that a correct client would send, but for what the form says.
pub(crate) fn request(form: &HttpForm, body: &[u8], session: &Session) -> HttpRequest {
    let mut headers = usual(form.verb, body, session);
    let is = |one: &str, other: HeaderName| one.eq_ignore_ascii_case(other.0);
    headers.retain(|(name, _)| !form.drop.iter().any(|dropped| is(name, *dropped)));
    for (name, value) in &form.set {
        match headers.iter_mut().find(|(own, _)| is(own, *name)) {
            Some(slot) => *slot = (name.0, value.clone()),
            None => headers.push((name.0, value.clone())),
        }
    }
    headers.extend(form.add.iter().map(|(name, value)| (name.0, value.clone())));
    HttpRequest { verb: form.verb.word(), headers }
}

fn usual(verb: Verb, body: &[u8], session: &Session) -> Vec<(&'static str, String)> {
    let mut headers = Vec::new();
    if !body.is_empty() {
        headers.push((CONTENT_TYPE, "application/json".to_owned()));
    }
    let accepted =
        if verb == Verb::Get { "text/event-stream" } else { "application/json, text/event-stream" };
    headers.push((ACCEPT, accepted.to_owned()));
    let message: Value = serde_json::from_slice(body).unwrap_or_default();
    let named = message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str();
    match (named, message["method"].as_str()) {
        // The headers of a modern message mirror its body (HTTP-07, HTTP-13).
        (Some(version), Some(method)) => {
            headers.push((PROTOCOL_VERSION, encode_value(version).into_owned()));
            headers.push((METHOD, encode_value(method).into_owned()));
            let member = if method == "resources/read" { "uri" } else { "name" };
            let name = message["params"][member].as_str();
            let has_name = matches!(method, "tools/call" | "prompts/get" | "resources/read");
            headers.extend(name.filter(|_| has_name).map(|name| (NAME, encode_value(name).into_owned())));
        }
        (None, Some("initialize")) => {}
        _ => {
            headers.extend(session.version.iter().map(|version| (PROTOCOL_VERSION, version.clone())));
            headers.extend(session.id.iter().map(|id| (SESSION_ID, id.clone())));
        }
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(form: &str, body: &str, session: &Session) -> Vec<String> {
        let form: HttpForm = serde_json::from_str(form).unwrap();
        let request = request(&form, body.as_bytes(), session);
        let lines = request.headers.iter().map(|(name, value)| format!("{name}: {value}"));
        std::iter::once(request.verb.to_owned()).chain(lines).collect()
    }

    const MODERN: &str = r#"{"method":"tools/call","params":{"name":"é","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;

    #[test]
    fn headers_mirror_the_body_of_a_modern_request_and_nothing_else() {
        let modern = sent("{}", MODERN, &Session { version: Some("x".into()), id: Some("y".into()) });
        assert_eq!(
            modern[3..],
            ["mcp-protocol-version: 2026-07-28", "mcp-method: tools/call", "mcp-name: =?base64?w6k=?="]
        );
        assert_eq!(sent("{}", r#"{"method":"ping"}"#, &Session::default()).len(), 3);
        let session = Session { version: Some("2025-11-25".into()), id: Some("s".into()) };
        let ping = sent("{}", r#"{"method":"ping"}"#, &session);
        assert_eq!(ping[3..], ["mcp-protocol-version: 2025-11-25", "mcp-session-id: s"]);
        assert_eq!(sent("{}", r#"{"method":"initialize"}"#, &session).len(), 3);
    }

    #[test]
    fn a_form_drops_sets_and_doubles_headers_whatever_their_case() {
        let form = r#"{"drop":["accept"],"set":[["MCP-PROTOCOL-VERSION","a"],["origin","b"]],"add":[["mcp-method","c"]]}"#;
        let all = sent(form, MODERN, &Session::default());
        let expected =
            ["content-type: application/json", "MCP-PROTOCOL-VERSION: a", "mcp-method: tools/call"];
        assert_eq!(all[1..4], expected);
        assert_eq!(all[5..], ["origin: b", "mcp-method: c"]);
        assert_eq!(sent(r#"{"verb":"GET"}"#, "", &Session::default()), ["GET", "accept: text/event-stream"]);
        assert!(serde_json::from_str::<HttpForm>(r#"{"drop":["x-other"]}"#).is_err());
    }
}
