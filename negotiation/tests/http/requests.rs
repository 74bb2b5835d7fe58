//! What the machine sends: verbs, headers, bodies, and to whom they belong.

use std::sync::Arc;

use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::client::{
    ClientPolicy, DownKind, Input, LegacyMeta, Misuse, Mode, Negotiator, Output, Process,
};
use mcp_parley_negotiation::http::{Exchange, HttpEnd, HttpHead};
use mcp_parley_negotiation::version::{Preferences, ProtocolVersion};

use crate::support::{JSON, Wire, discovered, initialized, legacy, modern, result};

const BOTH: &str = "application/json, text/event-stream";

#[test]
fn the_probe_goes_out_at_once_with_its_headers_and_no_newline() {
    let wire = Wire::start(ClientPolicy::default());
    let probe = wire.last();
    assert_eq!((probe.exchange, probe.verb), (Exchange(0), "POST"));
    let expected = [
        ("content-type", JSON),
        ("accept", BOTH),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "server/discover"),
    ];
    let headers: Vec<_> = probe.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(headers, expected);
    assert!(probe.body.starts_with("{\"jsonrpc\"") && probe.body.ends_with('}'), "{}", probe.body);
    let meta = &probe.message()["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert_eq!(wire.wake, Some(Time(5_000_000)));
}

#[test]
fn a_name_travels_in_a_form_that_a_header_may_have() {
    for (method, params, expected) in [
        ("tools/call", r#""name":"add","arguments":{"name":"x"}"#, Some("add")),
        ("tools/call", r#""name":"a","name":"b""#, Some("b")),
        ("tools/call", r#""name":"\u0061dd""#, Some("add")),
        ("tools/call", "\"name\":\"naïve\"", Some("=?base64?bmHDr3Zl?=")),
        ("prompts/get", r#""name":" padded ""#, Some("=?base64?IHBhZGRlZCA=?=")),
        ("prompts/get", r#""name":"=?base64?x?=""#, Some("=?base64?PT9iYXNlNjQ/eD89?=")),
        ("resources/read", r#""uri":"file:///a b","name":"x""#, Some("file:///a b")),
        ("resources/read", r#""uri":"a\nb: c""#, Some("=?base64?YQpiOiBj?=")),
        ("tools/call", r#""name":7"#, None),
        ("tools/list", r#""name":"x""#, None),
        ("resources/read", r#""name":"x""#, None),
    ] {
        let mut wire = modern(ClientPolicy::default());
        wire.call(method, params);
        let call = wire.last();
        assert_eq!(call.header("mcp-name"), expected, "{method} {params}");
        assert_eq!(call.header("mcp-method"), Some(method));
        assert_eq!(call.header("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(call.header("mcp-session-id"), None);
        assert_eq!(call.header("accept"), Some(BOTH));
    }
}

#[test]
fn the_version_header_is_that_of_the_body_whatever_it_is() {
    let versions = [ProtocolVersion::new("2030-ü")];
    let preferences = Preferences { modern: Arc::from(versions), legacy: Arc::default() };
    let wire = Wire::start(ClientPolicy { preferences, ..ClientPolicy::default() });
    assert_eq!(wire.last().header("mcp-protocol-version"), Some("=?base64?MjAzMC3DvA==?="));
}

#[test]
fn a_legacy_session_names_its_version_since_2025_06_18_only() {
    for (version, header) in [
        ("2025-11-25", Some("2025-11-25")),
        ("2025-06-18", Some("2025-06-18")),
        ("2025-03-26", None),
        ("2024-11-05", None),
    ] {
        let policy = ClientPolicy { legacy_meta: LegacyMeta::Keep, ..ClientPolicy::default() };
        let mut wire = legacy(policy, version, None);
        wire.call("tools/call", r#""name":"add""#);
        assert_eq!(
            wire.methods(),
            ["server/discover", "initialize", "notifications/initialized", "tools/call"]
        );
        for (request, header) in wire.requests[1..].iter().zip([None, header, header]) {
            assert_eq!(request.header("mcp-protocol-version"), header, "{version} {}", request.method());
            assert_eq!(request.header("content-type"), Some(JSON));
            assert_eq!(request.header("accept"), Some(BOTH));
            for name in ["mcp-session-id", "mcp-method", "mcp-name"] {
                assert_eq!(request.header(name), None, "{version} {name}");
            }
        }
    }
}

#[test]
fn the_first_request_of_a_mode_without_a_probe_is_initialize() {
    let mut wire = Wire::start(ClientPolicy { mode: Mode::Legacy, ..ClientPolicy::default() });
    assert_eq!((wire.last().method(), wire.last().exchange), ("initialize".to_owned(), Exchange(0)));
    wire.answer_json(200, &initialized("2025-11-25"));
    assert_eq!((wire.last().exchange, wire.settled()), (Exchange(1), None));
    assert!(!wire.machine.is_settled());
    wire.answer(202, &[], "");
    assert!(wire.machine.is_settled());
}

#[test]
fn inputs_of_the_other_transport_are_refused_and_change_nothing() {
    let mut wire = Wire::start(ClientPolicy::default());
    for input in
        [Input::Up(Process(0)), Input::Bytes(Process(0), b"x"), Input::Down(Process(0), DownKind::Eof)]
    {
        assert_eq!(wire.try_input(input), Err(Misuse::WrongTransport));
    }
    let head = Input::HttpHead(Exchange(0), HttpHead { status: 200, headers: &[] });
    let mut piped = Negotiator::new(Arc::new(ClientPolicy::default()));
    piped.handle_input(Time::ZERO, Input::Start).unwrap();
    for input in [head, Input::HttpBody(Exchange(0), b"x"), Input::HttpEnd(Exchange(0), HttpEnd::Complete)] {
        assert_eq!(piped.handle_input(Time::ZERO, input), Err(Misuse::WrongTransport));
    }
    assert!(matches!(piped.poll_output(&mut Vec::new()), Some(Output::Spawn(..))));
    wire.answer_json(200, &discovered());
    assert!(wire.machine.is_settled());
}

#[test]
fn an_exchange_that_is_over_says_nothing_more_and_one_never_opened_is_a_mistake() {
    let mut wire = modern(ClientPolicy::default());
    wire.call("tools/list", "");
    let before = wire.events.len();
    wire.head(Exchange(0), 200, &[("content-type", JSON)]);
    wire.body(Exchange(0), &result().to_string().replace("\"$id\"", "2"));
    wire.end(Exchange(0), HttpEnd::Reset);
    assert_eq!((wire.events.len(), wire.requests.len()), (before, 2));
    let unknown = Exchange(2);
    assert_eq!(wire.try_input(Input::HttpEnd(unknown, HttpEnd::Complete)), Err(Misuse::Unknown));
    assert_eq!(wire.try_input(Input::HttpBody(unknown, b"")), Err(Misuse::Unknown));
    wire.answer_json(200, &result());
    assert!(wire.events.len() > before);
}
