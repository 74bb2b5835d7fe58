//! Openings: what an odd client sends, as data.

use std::path::Path;

use include_dir::include_dir;
use mcp_parley_data::{self as data, LoadError, Named, Shelf};
use mcp_parley_negotiation::json::write_string;
use mcp_parley_negotiation::meta::write_request_meta;
use mcp_parley_negotiation::version::LATEST_MODERN;
use serde::{Deserialize, Serialize};

static SHELF: Shelf<Opening> = Shelf::new(include_dir!("$CARGO_MANIFEST_DIR/openings"));

/// A list of messages with what to wait for after each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opening {
    /// The schema number.
    pub schema: u32,
    /// Its name.
    pub id: String,
    /// What it does, in one line.
    pub title: String,
    /// The reports and requirements that it is for.
    pub source: Vec<String>,
    /// What is sent, in order.
    pub steps: Vec<Step>,
}

/// One thing to send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// A message, written as compact JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send: Option<Message>,
    /// A line as it stands; its newline is added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// What to wait for before the next step.
    #[serde(default)]
    pub wait: Wait,
    /// How it is sent over HTTP, if not as a plain POST. Over stdio it says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<OverHttp>,
}

/// A request over HTTP, but for its body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OverHttp {
    /// The verb.
    #[serde(default)]
    pub verb: Verb,
    /// Headers behind those that every request of its verb has. `{session}` is the session id that the server gave last; where it gave
    /// none, the header is left out.
    #[serde(default)]
    pub headers: Vec<(HeaderName, String)>,
}

/// The verbs of the transport.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verb {
    /// Asks for the stream of a session.
    Get,
    /// Sends a message.
    #[default]
    Post,
    /// Ends a session.
    Delete,
}

/// The headers that the transport knows of, besides those that every request has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each is the header of its name")]
pub enum HeaderName {
    LastEventId,
    McpMethod,
    McpName,
    McpProtocolVersion,
    McpSessionId,
    Origin,
}

/// What to wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wait {
    /// Nothing.
    #[default]
    Nothing,
    /// Any response, for five seconds at most.
    Answer,
    /// Until nothing has come for thirty seconds: all that was going to come has come.
    Quiet,
}

/// A request, or a notification where there is no id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// The id, of any JSON type that TOML can say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<serde_json::Value>,
    /// The method.
    pub method: String,
    /// Its parameters: the members of a JSON object as they stand, without the braces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<String>,
    /// Adds a correct `_meta` for this version; `modern` stands for the newest one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<String>,
}

impl Verb {
    /// As it stands on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}

impl HeaderName {
    /// As it stands on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LastEventId => "last-event-id",
            Self::McpMethod => "mcp-method",
            Self::McpName => "mcp-name",
            Self::McpProtocolVersion => "mcp-protocol-version",
            Self::McpSessionId => "mcp-session-id",
            Self::Origin => "origin",
        }
    }
}

impl OverHttp {
    /// Names and values in order, for a server that gave this session id last.
    pub fn all_headers(&self, session: Option<&str>) -> Vec<(&'static str, String)> {
        let usual: &[(&str, &str)] = match self.verb {
            Verb::Get => &[("accept", "text/event-stream")],
            Verb::Post => {
                &[("content-type", "application/json"), ("accept", "application/json, text/event-stream")]
            }
            Verb::Delete => &[],
        };
        let own = self.headers.iter().filter_map(|(name, value)| match value.as_str() {
            "{session}" => Some((name.as_str(), session?.to_owned())),
            value => Some((name.as_str(), value.to_owned())),
        });
        usual.iter().map(|(name, value)| (*name, (*value).to_owned())).chain(own).collect()
    }
}

impl Step {
    /// Appends the bytes of this step with their newline.
    pub fn write(&self, out: &mut Vec<u8>) {
        if let Some(line) = &self.line {
            out.extend_from_slice(line.as_bytes());
            out.push(b'\n');
        }
        if let Some(message) = &self.send {
            message.write(out);
            out.push(b'\n');
        }
    }
}

impl Message {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"jsonrpc\":\"2.0\"");
        if let Some(id) = &self.id {
            out.extend_from_slice(b",\"id\":");
            out.extend_from_slice(id.to_string().as_bytes());
        }
        out.extend_from_slice(b",\"method\":");
        write_string(out, &self.method);
        if self.params.is_some() || self.meta.is_some() {
            out.extend_from_slice(b",\"params\":{");
            out.extend_from_slice(self.params.as_deref().unwrap_or_default().as_bytes());
            if let Some(version) = &self.meta {
                if self.params.as_ref().is_some_and(|params| !params.is_empty()) {
                    out.push(b',');
                }
                let version = if version == "modern" { LATEST_MODERN } else { version };
                write_request_meta(out, Some(version), "mcp-parley", "1", "{}");
            }
            out.push(b'}');
        }
        out.push(b'}');
    }
}

/// All embedded openings, in the order of their names.
pub fn openings() -> &'static [Opening] {
    SHELF.all()
}

/// The embedded opening of this name.
pub fn opening(id: &str) -> Option<&'static Opening> {
    SHELF.get(id)
}

impl Named for Opening {
    fn id(&self) -> &str {
        &self.id
    }
}

impl Opening {
    /// Reads one from a file.
    ///
    /// # Errors
    /// [`LoadError`] says which file, where and why.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        data::load(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_embedded_file_is_read() {
        assert_eq!(SHELF.problems(), [""; 0]);
        assert!(openings().iter().all(|opening| !opening.source.is_empty()));
        assert!(openings().len() >= 6);
    }

    fn lines(id: &str) -> Vec<String> {
        let mut out = Vec::new();
        opening(id).unwrap().steps.iter().for_each(|step| step.write(&mut out));
        String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn steps_become_the_lines_they_say() {
        let bare = lines("bare-discover");
        assert_eq!(bare[0], r#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#);
        assert!(bare[1].contains(r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#), "{}", bare[1]);
        assert_eq!(lines("junk-first")[0], "this is no JSON");
        let ids = lines("odd-ids");
        assert!(ids[0].contains(r#""id":"1""#) && ids[2].contains(r#""id":-7"#), "{ids:?}");
    }

    #[test]
    fn parameters_stand_as_they_are_written_with_meta_behind_them() {
        assert!(
            lines("plain-legacy")[0]
                .contains(r#""params":{"protocolVersion":"2025-11-25","capabilities":{}"#)
        );
        let message =
            Message { id: None, method: "m".into(), params: Some("\"a\":1".into()), meta: Some("v".into()) };
        let mut out = Vec::new();
        message.write(&mut out);
        assert!(String::from_utf8(out).unwrap().contains(r#""params":{"a":1,"_meta":{"#));
    }
}
