//! A server process that is told lines and says what it did.

use std::sync::Arc;

use mcp_parley_mock_servers::{Persona, Played, Server, ServerInput, ServerOutput};
use mcp_parley_negotiation::Time;
use serde_json::{Value, json};

pub(crate) const DISCOVER: &str = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#;
pub(crate) const MODERN_LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#;
pub(crate) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
pub(crate) const LIST: &str = r#"{"jsonrpc":"2.0","id":4,"method":"tools/list"}"#;
pub(crate) const PING: &str = r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#;

/// What the unmodified servers say, with the id of the requests above.
pub(crate) const DISCOVERED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"mcp-parley-mock","version":"1"}}}}"#;
pub(crate) const MODERN_LISTED: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","tools":[{"name":"echo","description":"Says it again","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"mcp-parley-mock","version":"1"}}}}"#;
pub(crate) const INITIALIZED_2025_11: &str = r#"{"jsonrpc":"2.0","id":3,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"mcp-parley-mock","version":"1"}}}"#;
pub(crate) const LISTED: &str = r#"{"jsonrpc":"2.0","id":4,"result":{"tools":[{"name":"echo","description":"Says it again","inputSchema":{"type":"object"}}]}}"#;
pub(crate) const PONG: &str = r#"{"jsonrpc":"2.0","id":5,"result":{}}"#;

/// One thing that a process did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Did {
    /// One write.
    Wrote(Vec<u8>),
    /// One write on standard error.
    Complained(Vec<u8>),
    Closed,
    Exit(i32),
    Signal(i32),
}

pub(crate) struct Process {
    pub(crate) server: Server,
    pub(crate) now: Time,
    /// When it wants to be woken.
    pub(crate) wake: Option<Time>,
}

impl Process {
    pub(crate) fn of(persona: Persona, number: u32) -> (Self, Vec<Did>) {
        let server = Server::start(Arc::new(Played::new(persona).unwrap()), number);
        let mut process = Self { server, now: Time::ZERO, wake: None };
        let did = process.tell(ServerInput::Start);
        (process, did)
    }

    /// The first process of a persona that says nothing at its start.
    pub(crate) fn quiet(persona: Persona) -> Self {
        let (process, did) = Self::of(persona, 0);
        assert_eq!(did, []);
        process
    }

    pub(crate) fn tell(&mut self, input: ServerInput<'_>) -> Vec<Did> {
        self.server.handle_input(self.now, input);
        let (mut buf, mut did, mut last) = (Vec::new(), Vec::new(), false);
        while let Some(output) = self.server.poll_output(&mut buf) {
            assert!(!last, "WakeAt is the last one");
            match output {
                ServerOutput::Write(range) => did.push(Did::Wrote(buf[range].to_vec())),
                ServerOutput::Stderr(range) => did.push(Did::Complained(buf[range].to_vec())),
                ServerOutput::CloseOutput => did.push(Did::Closed),
                ServerOutput::Exit(code) => did.push(Did::Exit(code)),
                ServerOutput::Signal(signal) => did.push(Did::Signal(signal)),
                ServerOutput::WakeAt(wake) => (self.wake, last) = (wake, true),
            }
        }
        did
    }

    pub(crate) fn line(&mut self, line: &str) -> Vec<Did> {
        self.tell(ServerInput::Bytes(format!("{line}\n").as_bytes()))
    }

    /// The lines that one line causes, and nothing else.
    pub(crate) fn says(&mut self, line: &str) -> Vec<String> {
        lines(&self.line(line))
    }

    /// The only line that one line causes, as text.
    pub(crate) fn answer(&mut self, line: &str) -> String {
        let mut said = self.says(line);
        assert_eq!(said.len(), 1, "{said:?}");
        said.remove(0)
    }
}

/// What was written, cut at newlines; the process did nothing but write whole lines.
pub(crate) fn lines(did: &[Did]) -> Vec<String> {
    let write = |did: &Did| match did {
        Did::Wrote(bytes) => String::from_utf8(bytes.clone()).unwrap(),
        other => panic!("{other:?}"),
    };
    did.iter().map(|did| write(did).strip_suffix('\n').unwrap().to_owned()).collect()
}

/// A persona of a profile with these other members.
pub(crate) fn persona(profile: &str, others: Value) -> Persona {
    let mut tree = json!({"schema": 1, "id": "t", "title": "t", "source": [], "profile": profile});
    tree.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
    serde_json::from_value(tree).unwrap()
}

/// The first process of a correct server of this profile but for one quirk.
pub(crate) fn quirk(profile: &str, when: Value, act: Value) -> Process {
    Process::quiet(persona(profile, json!({"quirks": [{"when": when, "act": act}]})))
}

/// One act on every answer of a dual-era server.
pub(crate) fn acting(act: Value) -> Process {
    quirk("dual", json!({}), act)
}
