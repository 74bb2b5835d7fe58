//! One small run that the tests share: a client steps down after -32020, which it must not.

use mcp_parley_trace::{
    Channel, Declared, Era, Footer, Header, Kind, Mode, Node, Origin, Outcome, Recording, Ruling, SCHEMA,
    Subject, Transport,
};
use serde_json::json;

pub(crate) fn header() -> Header {
    Header {
        schema: SCHEMA.into(),
        tool: "mcp-parley 0.1.0".into(),
        revision: "2026-07-28".into(),
        subject: Subject::Client,
        transport: Transport::Stdio,
        origin: Origin::Simulated { seed: 7 },
        declared: Declared {
            mode: Mode::Auto,
            modern: Some(vec!["2026-07-28".into()]),
            legacy: Some(vec!["2025-11-25".into()]),
            longest_wait_us: Some(5_000_000),
            reports: true,
        },
        client: json!({"mutant": "any"}),
        server: json!({"id": "header-mismatch"}),
    }
}

const DISCOVER: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}
"#;
const REFUSAL: &[u8] = br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"Header mismatch"}}
"#;
const INITIALIZE: &[u8] =
    br#"{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}
"#;

pub(crate) fn recording() -> Recording {
    let mut r = Recording::new();
    let p = Channel::Process(0);
    r.push(0, Node::Client, p, Kind::Spawn, None, b"");
    r.push(10, Node::Server, p, Kind::Up, Some(0), b"");
    r.push(20, Node::Client, p, Kind::Write, None, &DISCOVER[..40]);
    r.push(21, Node::Client, p, Kind::Write, None, &DISCOVER[40..]);
    r.push(40, Node::Server, p, Kind::Read, Some(3), DISCOVER);
    r.push(41, Node::Server, p, Kind::Write, Some(4), REFUSAL);
    r.push(60, Node::Client, p, Kind::Read, Some(5), REFUSAL);
    r.push(
        60,
        Node::Client,
        Channel::None,
        Kind::Downgraded,
        Some(6),
        b"the probe was answered by error -32020",
    );
    r.push(61, Node::Client, p, Kind::Write, Some(6), INITIALIZE);
    r.push(70, Node::Server, p, Kind::Write, None, b"\x1b[31mBye\xff; <b>#1\xe2\x80\xae\n");
    r.push(1_000_071, Node::Server, p, Kind::Exit(-1), None, b"");
    r.push(2_000_000, Node::Client, Channel::None, Kind::Settled(Era::Legacy), None, b"2025-11-25");
    r.push(3_000_000, Node::Harness, Channel::None, Kind::End(true), None, b"");
    r
}

pub(crate) fn footer() -> Footer {
    let ruling = |id: &str, outcome, evidence: &[u32], reason: &str| Ruling {
        id: id.into(),
        outcome,
        evidence: evidence.to_vec(),
        reason: reason.into(),
        allowed: Vec::new(),
    };
    Footer {
        rulings: vec![
            ruling("NEG-01", Outcome::Pass, &[3], ""),
            ruling(
                "ERA-02",
                Outcome::Violation,
                &[6, 8],
                "initialize after a recognised modern error (-32020)",
            ),
            ruling("PROP-BOUND", Outcome::Defect, &[], "it never ends"),
        ],
        decisions: Vec::new(),
        hash: "00ff".into(),
    }
}
