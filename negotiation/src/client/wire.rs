//! What the machine writes. One place writes the `_meta` of the probe and of every other modern request.

use super::{Call, LegacyMeta, Negotiator};
use crate::envelope::Id;
use crate::json::{write_id, write_string};
use crate::meta::write_request_meta;
use crate::version::{Era, ProtocolVersion};

/// The name and version that the machine gives of itself. Fixed, so that a release changes no hash.
pub(crate) const CLIENT_NAME: &str = "mcp-parley";
pub(crate) const CLIENT_VERSION: &str = "1";

/// Which headers a message has over HTTP, and whether its answer is awaited there: only that of an [`About::Aside`] is not.
#[derive(Clone, Copy, Debug)]
pub(super) enum About<'a> {
    /// A modern request.
    Modern { version: &'a str, method: &'a str },
    /// `initialize`.
    Initialize,
    /// `notifications/initialized`.
    Initialized,
    /// A request of a legacy session.
    Legacy,
    /// Any other notification, or an answer.
    Aside,
}

impl Negotiator {
    pub(super) fn write_discover(&mut self, id: i64, version: u16) {
        const METHOD: &str = "server/discover";
        let start = self.begin(id, METHOD);
        let version = self.offered.modern.get(usize::from(version)).cloned();
        if let Some(version) = &version {
            write_request_meta(&mut self.bytes, Some(version.as_str()), CLIENT_NAME, CLIENT_VERSION, "{}");
        }
        let version = version.as_ref().map_or("", ProtocolVersion::as_str);
        self.end(start, b"}}", About::Modern { version, method: METHOD });
    }

    pub(super) fn write_initialize(&mut self, id: i64, version: u16) {
        let start = self.begin(id, "initialize");
        let modern = self.offered.modern.first().filter(|_| self.deviations.initialize_modern_version);
        let version = modern.or_else(|| self.offered.legacy.get(usize::from(version)));
        self.bytes.extend_from_slice(b"\"protocolVersion\":");
        write_string(&mut self.bytes, version.map_or("", ProtocolVersion::as_str));
        self.bytes.extend_from_slice(b",\"capabilities\":{},\"clientInfo\":{\"name\":");
        write_string(&mut self.bytes, CLIENT_NAME);
        self.bytes.extend_from_slice(b",\"version\":");
        write_string(&mut self.bytes, CLIENT_VERSION);
        self.end(start, b"}}}", About::Initialize);
    }

    /// LEG-09.
    pub(super) fn write_initialized(&mut self) {
        let start = self.bytes.len();
        let message = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        self.end(start, message, About::Initialized);
    }

    pub(super) fn write_call(&mut self, call: &Call, era: Era, version: &ProtocolVersion) {
        let start = self.begin(call.id, &call.method);
        self.bytes.extend_from_slice(&call.params);
        let with_meta = era == Era::Modern || self.policy.legacy_meta == LegacyMeta::Keep;
        if with_meta {
            if !call.params.is_empty() {
                self.bytes.push(b',');
            }
            let version = Some(version.as_str()).filter(|_| !self.deviations.omit_version_after_probe);
            write_request_meta(&mut self.bytes, version, CLIENT_NAME, CLIENT_VERSION, "{}");
        }
        self.end(
            start,
            b"}}",
            match era {
                Era::Modern => About::Modern { version: version.as_str(), method: &call.method },
                Era::Legacy => About::Legacy,
            },
        );
    }

    pub(super) fn write_cancelled(&mut self, id: i64) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(
            br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"#,
        );
        write_id(&mut self.bytes, &Id::Integer(id));
        self.end(start, br#","reason":"no answer in time"}}"#, About::Aside);
    }

    pub(super) fn write_ping_answer(&mut self, id: &Id<'_>) {
        let start = self.begin_answer(id);
        self.end(start, b",\"result\":{}}", About::Aside);
    }

    pub(super) fn write_refusal(&mut self, id: &Id<'_>, code: i64) {
        let start = self.begin_answer(id);
        self.bytes.extend_from_slice(b",\"error\":{\"code\":");
        write_id(&mut self.bytes, &Id::Integer(code));
        self.end(start, b",\"message\":\"Method not found\"}}", About::Aside);
    }

    /// Up to the opening brace of `params`.
    fn begin(&mut self, id: i64, method: &str) -> usize {
        let start = self.begin_answer(&Id::Integer(id));
        self.bytes.extend_from_slice(b",\"method\":");
        write_string(&mut self.bytes, method);
        self.bytes.extend_from_slice(b",\"params\":{");
        start
    }

    fn begin_answer(&mut self, id: &Id<'_>) -> usize {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        write_id(&mut self.bytes, id);
        start
    }

    fn end(&mut self, start: usize, tail: &[u8], about: About<'_>) {
        self.bytes.extend_from_slice(tail);
        if self.http.is_some() {
            return self.post(start..self.bytes.len(), about);
        }
        self.bytes.push(b'\n');
        self.send(start..self.bytes.len());
    }
}
