//! The two diagrams of one small run, and that no wire text gets through them unescaped.

mod common;

use common::{footer, header, recording};
use mcp_parley_trace::{Channel, Kind, Node, Outcome, Recording, Ruling, Transport, diagram};

#[test]
fn text_diagram() {
    let text = diagram::text(&header(), &recording(), Some(&footer()));
    assert_eq!(text, include_str!("expected/diagram.txt"));
}

#[test]
fn mermaid_diagram() {
    let text = diagram::mermaid(&header(), &recording(), Some(&footer()));
    assert_eq!(text, include_str!("expected/diagram.mmd"));
}

const DISCOVER: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
const REFUSAL: &[u8] = br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"Header mismatch"}}"#;
const INITIALIZE: &[u8] =
    br#"{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;

/// A run over HTTP: a refused probe, a fallback that it forbids, event streams, and exchanges that end in every way.
fn exchanges() -> Recording {
    let mut r = Recording::new();
    let (client, server) = (Node::Client, Node::Server);
    let json = b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n\r\n";
    let stream = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    let mut at =
        |t_us, node, n, kind, bytes: &[u8]| r.push(t_us, node, Channel::Exchange(n), kind, None, bytes);
    let discover = b"POST /a1b2/mcp HTTP/1.1\r\nmcp-method: server/discover\r\n\r\n";
    at(10, client, 0, Kind::WriteHead, discover);
    at(10, client, 0, Kind::Write, DISCOVER);
    at(10, client, 0, Kind::WriteEnd, b"");
    at(10, server, 0, Kind::ReadHead, discover);
    at(10, server, 0, Kind::Read, DISCOVER);
    at(10, server, 0, Kind::ReadEnd, b"");
    at(20, server, 0, Kind::WriteHead, json);
    at(20, server, 0, Kind::Write, &REFUSAL[..30]);
    at(21, server, 0, Kind::Write, &REFUSAL[30..]);
    at(21, server, 0, Kind::WriteEnd, b"");
    at(30, client, 0, Kind::ReadHead, json);
    at(30, client, 0, Kind::Read, REFUSAL);
    at(30, client, 0, Kind::ReadEnd, b"");
    at(40, client, 1, Kind::WriteHead, b"POST /a1b2/mcp HTTP/1.1\r\n\r\n");
    at(40, client, 1, Kind::Write, INITIALIZE);
    at(40, client, 1, Kind::WriteEnd, b"");
    at(50, server, 1, Kind::WriteHead, stream);
    at(
        51,
        server,
        1,
        Kind::Write,
        b": alive\n\ndata: {\"method\":\"notifications/message\"}\n\ndata: {\"id\":2,\"res",
    );
    at(52, server, 1, Kind::Write, b"ult\":{\"protocolVersion\":\"2025-11-25\"}}\n\n");
    at(53, server, 1, Kind::WriteEnd, b"");
    at(60, client, 2, Kind::WriteHead, b"GET /a1b2/mcp HTTP/1.1\r\n\r\n");
    at(60, client, 2, Kind::WriteEnd, b"");
    at(70, server, 2, Kind::WriteHead, b"HTTP/1.1 405 Method Not Allowed\r\n\r\n");
    at(70, server, 2, Kind::WriteEnd, b"");
    at(80, client, 3, Kind::WriteHead, b"POST /a1b2/mcp HTTP/1.1\r\n\r\n");
    at(80, client, 3, Kind::Write, b"{\"id\":3,\"method\":\"tools/list\"}");
    at(80, client, 3, Kind::WriteEnd, b"");
    at(90, server, 3, Kind::WriteHead, b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n");
    at(90, server, 3, Kind::Write, b"{\"id\":3,");
    at(91, server, 3, Kind::Reset, b"");
    at(92, client, 3, Kind::Eof, b"reset");
    at(95, client, 4, Kind::Refused, b"connection refused");
    at(96, server, 5, Kind::ReadHead, b"POST /a1b2/mcp HTTP/1.1\r\n\r\n");
    at(96, server, 5, Kind::Read, b"{\"method\":\"notifications/initialized\"}");
    at(96, server, 5, Kind::ReadEnd, b"");
    at(97, client, 5, Kind::Close, b"");
    r.push(3_000_000, Node::Harness, Channel::None, Kind::End(true), None, b"");
    r
}

#[test]
fn exchanges_are_drawn_with_verbs_and_statuses() {
    let mut header = header();
    header.transport = Transport::Http;
    let mut footer = footer();
    footer.rulings.remove(0);
    footer.rulings.truncate(1);
    // The end of the answer, as the client read it, and the end of the request that it should not have made.
    footer.rulings[0].evidence = vec![12, 15];
    let text = diagram::text(&header, &exchanges(), Some(&footer));
    assert_eq!(text, include_str!("expected/exchanges.txt"));
    let text = diagram::mermaid(&header, &exchanges(), Some(&footer));
    assert_eq!(text, include_str!("expected/exchanges.mmd"));
}

#[test]
fn one_end_only_and_truncated() {
    let mut r = Recording::new();
    r.push(0, Node::Server, Channel::Process(3), Kind::Up, None, b"");
    r.push(1, Node::Server, Channel::Process(3), Kind::Read, None, b"{\"method\":\"a\"}\n{\"met");
    let text = diagram::text(&header(), &r, None);
    assert_eq!(
        text.lines().skip(1).collect::<Vec<_>>(),
        [
            "    0.000000        S3  runs",
            "    0.000001  C ──▶ S3  a",
            "    0.000001  C ──▶ S3  (line not ended) not JSON: {\"met",
            "              (the log is truncated here)",
        ]
    );
}

#[test]
fn lines_stay_within_their_columns_and_reasons_are_wrapped_not_cut() {
    let mut r = Recording::new();
    r.push(
        0,
        Node::Client,
        Channel::Process(0),
        Kind::Write,
        None,
        &[b"{\"method\":\"", &[b'm'; 500][..], b"\"}\n"].concat(),
    );
    let mut footer = footer();
    let reason = "every word of this long reason must be there ".repeat(8);
    footer.rulings = vec![Ruling {
        id: "NEG-01".into(),
        outcome: Outcome::Violation,
        evidence: vec![0],
        reason: format!("{reason}{}", "x".repeat(300)),
        allowed: vec![],
    }];
    let text = diagram::text(&header(), &r, Some(&footer));
    for line in text.lines() {
        assert!(line.chars().count() <= 110, "{line}");
    }
    assert!(text.contains("mmm…\n"), "{text}");
    assert_eq!(text.matches("reason").count(), 8, "{text}");
}

#[test]
fn a_flood_is_cut_and_the_diagram_says_so() {
    let drawn = |events: usize, bytes: &[u8]| {
        let mut r = Recording::new();
        for _ in 0..events {
            r.push(0, Node::Client, Channel::Process(0), Kind::Up, None, b"");
        }
        r.push(0, Node::Client, Channel::Process(0), Kind::Write, None, bytes);
        (diagram::text(&header(), &r, None), diagram::mermaid(&header(), &r, None))
    };
    for (text, mermaid) in [drawn(0, &vec![b'\n'; 1 << 20]), drawn(1 << 17, b"\n")] {
        assert!(text.lines().count() < 17_000 && mermaid.lines().count() < 17_000);
        assert!(text.contains("(cut here: ") && mermaid.contains("(cut here: "), "{text}");
    }
    let (text, mermaid) = drawn(5000, &[b'\n'; 5000]);
    assert!(text.lines().count() > 10_000 && !text.contains("cut here") && !mermaid.contains("cut here"));
    // What no row shows any more is still said.
    let mut r = Recording::new();
    for _ in 0..1 << 15 {
        r.push(0, Node::Client, Channel::Process(0), Kind::Up, None, b"");
    }
    let mut footer = footer();
    footer.rulings[1].evidence = vec![0, (1 << 15) - 1];
    footer.rulings[1].outcome = Outcome::Violation;
    let text = diagram::text(&header(), &r, Some(&footer));
    assert!(text.ends_with(&format!("✗ {} violation: {}\n", footer.rulings[1].id, footer.rulings[1].reason)));
}

#[test]
fn wire_text_never_acts_on_what_shows_it() {
    let mut r = Recording::new();
    let hostile = "\x1b]0;x\x07\u{202e}\u{2066}#59;%%<script>&lt;\\u{1b}\r\u{85}";
    let p = Channel::Process(0);
    let request = format!("{{\"id\":{0:?},\"method\":{0}}}\n", serde_json::to_string(hostile).unwrap());
    r.push(0, Node::Client, p, Kind::Write, None, request.as_bytes());
    r.push(0, Node::Client, p, Kind::Write, None, format!("{hostile}\n").as_bytes());
    r.push(0, Node::Client, Channel::None, Kind::Failed, None, hostile.as_bytes());
    let mut footer = footer();
    footer.rulings[1].reason = hostile.into();
    footer.rulings[1].id = hostile.into();
    let mut header = header();
    header.origin = mcp_parley_trace::Origin::Real { command: vec![hostile.into()], peer: None };
    let text = diagram::text(&header, &r, Some(&footer));
    let mermaid = diagram::mermaid(&header, &r, Some(&footer));
    for c in text.chars().chain(mermaid.chars()) {
        assert!(
            c == '\n'
                || !(c.is_control()
                    || ('\u{2028}'..='\u{202e}').contains(&c)
                    || ('\u{2060}'..'\u{2070}').contains(&c)),
            "{c:?}"
        );
    }
    for c in [';', '#', '%', '<', '&'] {
        assert!(!mermaid.contains(c), "{c}: {mermaid}");
    }
}
