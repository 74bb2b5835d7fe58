//! Openings: what an odd client sends, as data.

use std::path::Path;

use include_dir::include_dir;
use mcp_parley_data::{self as data, LoadError, Named, Shelf};
use mcp_parley_negotiation::json::write_string;
use mcp_parley_negotiation::meta::write_request_meta;
use mcp_parley_negotiation::version::LATEST_MODERN;
use serde::{Deserialize, Serialize};

use crate::http::HttpForm;

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
    /// Why it is not for HTTP, if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_over_http: Option<String>,
    /// Why it is not for stdio, if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_over_stdio: Option<String>,
    /// What is sent, in order.
    pub steps: Vec<Step>,
    /// The good request behind it, whose answer is waited for by its id. Nothing in a file: what a server can answer well is
    /// known to whoever runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then: Option<Good>,
}

/// A good request. In a legacy session that the steps have opened it is `tools/list`, whatever this says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Good {
    /// `server/discover` and `tools/list` with a correct `_meta`.
    Modern,
    /// The handshake and `tools/list`.
    Legacy,
}

/// One thing to send.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// A message, written as compact JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send: Option<Message>,
    /// A line as it stands; its newline is added. `$META` in it becomes a correct `_meta` member of the newest version, `$CLIENT`
    /// what an `initialize` says besides its version, `$LONG` a million times the letter x.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// Bytes in hexadecimal, blanks between them; over stdio a newline is added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hex: Option<Hex>,
    /// Over HTTP: how the request differs from a correct client's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpForm>,
    /// What to wait for before the next step.
    #[serde(default)]
    pub wait: Wait,
}

/// What to wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wait {
    /// Nothing.
    #[default]
    Nothing,
    /// Any response, for twenty seconds at most.
    Answer,
    /// Any response, for half a second: nothing may come.
    Quiet,
}

/// Bytes, in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hex(Vec<u8>);

impl TryFrom<String> for Hex {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let byte =
            |word: &str| u8::from_str_radix(word, 16).map_err(|_| format!("{word} is no byte, such as 0a"));
        text.split_ascii_whitespace().map(byte).collect::<Result<_, _>>().map(Self)
    }
}

impl From<Hex> for String {
    fn from(bytes: Hex) -> Self {
        bytes.0.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
    }
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

impl Step {
    /// Appends the bytes of this step with their newline.
    pub fn write(&self, out: &mut Vec<u8>) {
        self.write_body(out);
        out.push(b'\n');
    }

    /// Appends its bytes, as they stand in the body of an HTTP request.
    pub fn write_body(&self, out: &mut Vec<u8>) {
        if let Some(line) = &self.line {
            write_line(out, line);
        }
        if let Some(Hex(bytes)) = &self.hex {
            out.extend_from_slice(bytes);
        }
        if let Some(message) = &self.send {
            message.write(out);
        }
    }
}

fn write_line(out: &mut Vec<u8>, line: &str) {
    let mut meta = Vec::new();
    write_request_meta(&mut meta, Some(LATEST_MODERN), "mcp-parley", "1", "{}");
    let meta = String::from_utf8_lossy(&meta);
    let line = line.replace("$META", &meta).replace("$CLIENT", CLIENT);
    let mut parts = line.split("$LONG");
    out.extend_from_slice(parts.next().unwrap_or_default().as_bytes());
    for part in parts {
        out.extend(std::iter::repeat_n(b'x', LONG));
        out.extend_from_slice(part.as_bytes());
    }
}

const CLIENT: &str = r#""capabilities":{},"clientInfo":{"name":"mcp-parley","version":"1"}"#;
const LONG: usize = 1_000_000;

impl Message {
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"jsonrpc\":\"2.0\"");
        if let Some(id) = &self.id {
            out.extend_from_slice(b",\"id\":");
            out.extend_from_slice(id.to_string().as_bytes());
        }
        out.extend_from_slice(b",\"method\":");
        write_string(out, &self.method);
        if self.params.is_some() || self.meta.is_some() {
            out.extend_from_slice(b",\"params\":{");
            write_line(out, self.params.as_deref().unwrap_or_default());
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
    /// True if it can be played over stdio.
    pub fn is_for_stdio(&self) -> bool {
        self.not_over_stdio.is_none()
    }

    /// True if it can be played over HTTP.
    pub fn is_for_http(&self) -> bool {
        self.not_over_http.is_none()
    }

    /// The same with a good request behind it.
    #[must_use]
    pub fn then(&self, good: Good) -> Self {
        Self { then: Some(good), ..self.clone() }
    }

    /// The good request alone.
    pub fn only(good: Good) -> Self {
        Self {
            schema: data::SCHEMA,
            id: "none".into(),
            title: "nothing odd".into(),
            source: Vec::new(),
            not_over_http: None,
            not_over_stdio: None,
            steps: Vec::new(),
            then: Some(good),
        }
    }

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
        assert!(openings().len() >= 60);
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
