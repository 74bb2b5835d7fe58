//! What the gate writes: one place for every result and error.

use std::fmt::Write as _;

use super::{Gate, GateOutput, ServedMethod, UnreadableId};
use crate::codes::ErrorCode;
use crate::envelope::Id;
use crate::json::{write_id, write_string};
use crate::meta::SERVER_INFO;
use crate::version::ProtocolVersion;

/// What the gate says of itself. Fixed, so that a release changes no hash.
const SERVER: &str = r#"{"name":"mcp-parley-mock","version":"1"}"#;

pub(super) fn version_array<'a>(versions: impl Iterator<Item = &'a ProtocolVersion>) -> String {
    let mut out = vec![b'['];
    for version in versions {
        if out.len() > 1 {
            out.push(b',');
        }
        write_string(&mut out, version.as_str());
    }
    out.push(b']');
    String::from_utf8(out).unwrap_or_default()
}

pub(super) fn capabilities(methods: &[ServedMethod]) -> String {
    let mut names: Vec<&str> = methods.iter().map(|method| method.capability.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let members: Vec<String> = names.iter().map(|name| format!("\"{name}\":{{}}")).collect();
    format!("{{{}}}", members.join(","))
}

impl Gate {
    pub(super) fn refuse(&mut self, id: &Id<'_>, code: ErrorCode) {
        self.write_error(id, code.code, code.message, None);
    }

    /// An error; `data` is JSON text.
    pub(super) fn write_error(&mut self, id: &Id<'_>, code: i64, message: &str, data: Option<&str>) {
        let start = self.begin(id);
        self.bytes.extend_from_slice(b"\"error\":{\"code\":");
        write_id(&mut self.bytes, &Id::Integer(code));
        self.bytes.extend_from_slice(b",\"message\":");
        write_string(&mut self.bytes, message);
        if let Some(data) = data {
            self.bytes.extend_from_slice(b",\"data\":");
            self.bytes.extend_from_slice(data.as_bytes());
        }
        self.end(start, b"}}\n");
    }

    /// NEG-06: `requested` is the text between the quotes of the version asked for.
    pub(super) fn version_data(&self, listed: &str, requested: &str, omit_requested: bool) -> String {
        let mut data = format!("{{\"supported\":{listed}");
        if !omit_requested {
            let _ = write!(data, ",\"requested\":\"{requested}\"");
        }
        data.push('}');
        data
    }

    pub(super) fn write_discover_result(&mut self, id: &Id<'_>) {
        let start = self.begin_modern(id);
        let prepared = std::sync::Arc::clone(&self.prepared);
        for part in
            ["\"supportedVersions\":", &prepared.listed, ",\"capabilities\":", &prepared.capabilities, ","]
        {
            self.bytes.extend_from_slice(part.as_bytes());
        }
        self.hints();
        self.end_modern(start);
    }

    pub(super) fn write_modern_result(&mut self, id: &Id<'_>, method: usize) {
        let start = self.begin_modern(id);
        let prepared = std::sync::Arc::clone(&self.prepared);
        if let Some(method) = prepared.policy.methods.get(method) {
            self.bytes.extend_from_slice(method.result.as_bytes());
            if !method.result.is_empty() {
                self.bytes.push(b',');
            }
            if method.cacheable {
                self.hints();
            }
        }
        self.end_modern(start);
    }

    pub(super) fn write_modern_empty(&mut self, id: &Id<'_>) {
        let start = self.begin_modern(id);
        self.end_modern(start);
    }

    pub(super) fn write_legacy_result(&mut self, id: &Id<'_>, members: &str) {
        let start = self.begin(id);
        self.bytes.extend_from_slice(b"\"result\":{");
        self.bytes.extend_from_slice(members.as_bytes());
        self.end(start, b"}}\n");
    }

    pub(super) fn write_initialize_result(&mut self, id: &Id<'_>, version: &str) {
        let start = self.begin(id);
        self.bytes.extend_from_slice(b"\"result\":{\"protocolVersion\":");
        write_string(&mut self.bytes, version);
        self.bytes.extend_from_slice(b",\"capabilities\":");
        let prepared = std::sync::Arc::clone(&self.prepared);
        self.bytes.extend_from_slice(prepared.capabilities.as_bytes());
        self.bytes.extend_from_slice(b",\"serverInfo\":");
        self.bytes.extend_from_slice(SERVER.as_bytes());
        self.end(start, b"}}\n");
    }

    /// Up to the first member of a modern result (BASE-08).
    fn begin_modern(&mut self, id: &Id<'_>) -> usize {
        let start = self.begin(id);
        self.bytes.extend_from_slice(b"\"result\":{");
        if !self.deviations.omit_result_type {
            self.bytes.extend_from_slice(b"\"resultType\":\"complete\",");
        }
        start
    }

    /// CACHE-01 to CACHE-03.
    fn hints(&mut self) {
        let (ttl_ms, public) = (self.policy().ttl_ms, self.policy().cache_public);
        self.bytes.extend_from_slice(b"\"ttlMs\":");
        write_id(&mut self.bytes, &Id::Integer(i64::try_from(ttl_ms).unwrap_or(i64::MAX)));
        let scope = if public { "public" } else { "private" };
        self.bytes.extend_from_slice(format!(",\"cacheScope\":\"{scope}\",").as_bytes());
    }

    /// DISC-03: the server names itself in every modern result.
    fn end_modern(&mut self, start: usize) {
        self.bytes.extend_from_slice(b"\"_meta\":{\"");
        self.bytes.extend_from_slice(SERVER_INFO.as_bytes());
        self.bytes.extend_from_slice(b"\":");
        self.bytes.extend_from_slice(SERVER.as_bytes());
        self.end(start, b"}}}\n");
    }

    /// Up to the first member behind the id. An id that could not be read is left out or null (AMB-27).
    fn begin(&mut self, id: &Id<'_>) -> usize {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(b"{\"jsonrpc\":\"2.0\",");
        if *id != Id::Absent || self.policy().unreadable_id == UnreadableId::Null {
            self.bytes.extend_from_slice(b"\"id\":");
            self.write_answer_id(id);
            self.bytes.push(b',');
        }
        start
    }

    fn write_answer_id(&mut self, id: &Id<'_>) {
        match id {
            Id::Integer(number) if self.deviations.other_id_type => {
                self.bytes.extend_from_slice(format!("\"{number}\"").as_bytes());
            }
            Id::String(text) if self.deviations.other_id_type => {
                let number = text.raw().parse().unwrap_or(0);
                write_id(&mut self.bytes, &Id::Integer(number));
            }
            id => write_id(&mut self.bytes, id),
        }
    }

    fn end(&mut self, start: usize, tail: &[u8]) {
        self.bytes.extend_from_slice(tail);
        self.queue.push_back(GateOutput::Write(start..self.bytes.len()));
    }
}
