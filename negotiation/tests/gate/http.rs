//! The gate over HTTP: verbs, headers, sessions and statuses.

use std::sync::Arc;

use mcp_parley_negotiation::gate::{
    AcceptHeader, BareRequest, ForeignOrigin, GatePolicy, GetStream, HeaderOrder, HttpAnswer, HttpGate,
    HttpPolicy, InitializeCode, InitializeHeader, MissingHeader, NotificationHeaders, Prepared,
    RepeatedHeader, Sessions,
};
use mcp_parley_negotiation::http::RequestHead;
use serde_json::{Value, json};

use super::support::{bare, dual, initialize, legacy_only, modern, modern_at, modern_only};

const CALL: [(&str, &str); 4] = [
    ("content-type", "application/json"),
    ("accept", "application/json, text/event-stream"),
    ("MCP-Protocol-Version", "2026-07-28"),
    ("Mcp-Method", "tools/list"),
];
const PLAIN: [(&str, &str); 2] = [CALL[0], CALL[1]];

struct Server(HttpGate);

/// Status, code of the error (0: a result, or no body), and the answer itself.
type Said = (u16, i64, Value, HttpAnswer);

fn server(policy: GatePolicy) -> Server {
    Server(HttpGate::new(Arc::new(Prepared::new(policy))))
}

fn with(mut policy: GatePolicy, http: HttpPolicy) -> Server {
    policy.http = http;
    server(policy)
}

impl Server {
    fn send(&mut self, verb: &str, headers: &[(&str, &str)], body: &str) -> Said {
        let headers: Vec<(&[u8], &[u8])> =
            headers.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
        let head = RequestHead { verb, target: "/mcp", headers: &headers };
        let mut buf = b"before".to_vec();
        let answer = self.0.answer(&head, body.as_bytes(), &mut buf);
        let body = answer.body.clone().map(|range| buf[range].to_vec());
        let value: Value = body.map_or(Value::Null, |body| serde_json::from_slice(&body).unwrap());
        (answer.status, value["error"]["code"].as_i64().unwrap_or(0), value, answer)
    }

    fn post(&mut self, headers: &[(&str, &str)], body: &Value) -> (u16, i64) {
        let (status, code, ..) = self.send("POST", headers, &body.to_string());
        (status, code)
    }

    /// The id of a new session.
    fn handshake(&mut self) -> String {
        let (status, _, _, answer) = self.send("POST", &PLAIN, &initialize("2025-11-25").to_string());
        assert_eq!(status, 200);
        answer.headers.into_iter().find(|(name, _)| *name == "mcp-session-id").unwrap().1
    }
}

fn but(name: &str, value: Option<&'static str>) -> Vec<(&'static str, &'static str)> {
    let same = |own: &str| own.eq_ignore_ascii_case(name);
    let mut headers = CALL.to_vec();
    match value {
        Some(value) => headers.iter_mut().filter(|(own, _)| same(own)).for_each(|header| header.1 = value),
        None => headers.retain(|(own, _)| !same(own)),
    }
    headers
}

#[test]
fn a_modern_request_with_its_headers_is_served_and_each_wrong_header_is_refused_with_400() {
    for policy in [modern_only(), dual()] {
        let mut server = server(policy);
        assert_eq!(server.post(&CALL, &modern("tools/list")), (200, 0));
        for wrong in [
            but("mcp-protocol-version", None),
            but("mcp-protocol-version", Some("2025-11-25")),
            but("mcp-protocol-version", Some("2026-07-28 x")),
            but("mcp-method", None),
            but("mcp-method", Some("Tools/List")),
            but("mcp-method", Some("ping")),
            [&CALL[..], &[("mcp-protocol-version", "2026-07-28")]].concat(),
        ] {
            assert_eq!(server.post(&wrong, &modern("tools/list")), (400, -32020), "{wrong:?}");
        }
        // HTTP-16: names without case, blanks around values are HTTP's.
        let fine =
            [CALL[0], CALL[1], ("mcp-PROTOCOL-version", " 2026-07-28\t"), ("MCP-METHOD", "tools/list")];
        assert_eq!(server.post(&fine, &modern("tools/list")), (200, 0));
    }
}

#[test]
fn mcp_name_says_what_the_body_says_in_either_form() {
    let mut policy = modern_only();
    policy.methods[0].name = "tools/call".into();
    let mut server = server(policy);
    let mut body = modern("tools/call");
    body["params"]["name"] = json!("é");
    let mut ask = |name: Option<&str>| {
        let mut headers = but("mcp-method", Some("tools/call"));
        headers.extend(name.map(|name| ("Mcp-Name", name.to_owned().leak() as &'static str)));
        server.post(&headers, &body)
    };
    assert_eq!(ask(Some("=?base64?w6k=?=")), (200, 0));
    for wrong in [None, Some("e"), Some("=?base64?w6k?="), Some("=?BASE64?w6k=?=")] {
        assert_eq!(ask(wrong), (400, -32020), "{wrong:?}");
    }
}

#[test]
fn each_error_of_the_modern_era_has_its_status() {
    let mut server = server(modern_only());
    let at = |version: &'static str| but("mcp-protocol-version", Some(version));
    assert_eq!(server.post(&at("2099-01-01"), &modern_at("tools/list", "2099-01-01")), (400, -32022));
    assert_eq!(server.post(&but("mcp-method", Some("no/such")), &modern("no/such")), (404, -32601));
    assert_eq!(server.post(&CALL, &bare("tools/list")), (400, -32602));
    let (status, code, ..) = server.send("POST", &CALL, "{");
    assert_eq!((status, code), (400, -32700));
    let (status, code, ..) = server.send("POST", &CALL, "[]");
    assert_eq!((status, code), (400, -32600));
    let (status, ..) = server.send("POST", &CALL, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    assert_eq!(status, 400);
}

/// ERA-17, ERA-13, HTTP-10.
#[test]
fn a_modern_only_server_refuses_initialize_by_its_headers_and_names_its_versions() {
    let mut server = server(modern_only());
    let (status, code, value, _) = server.send("POST", &PLAIN, &initialize("2025-11-25").to_string());
    assert_eq!((status, code), (400, -32020));
    assert_eq!(value["error"]["data"]["supported"], json!(["2026-07-28"]));
    let headers = but("mcp-method", Some("initialize"));
    assert_eq!(server.post(&headers, &initialize("2025-11-25")), (404, -32601));
    let policy = GatePolicy { initialize_code: InitializeCode::InvalidParams, ..modern_only() };
    assert_eq!(self::server(policy).post(&headers, &initialize("2025-11-25")), (400, -32602));
}

/// ERA-18.
#[test]
fn a_modern_only_server_has_no_other_verbs_and_no_sessions() {
    let mut server = server(modern_only());
    for verb in ["GET", "DELETE", "PUT", "OPTIONS"] {
        let (status, _, _, answer) = server.send(verb, &CALL, "");
        assert_eq!((status, answer.headers), (405, vec![("allow", "POST".to_owned())]), "{verb}");
    }
    let headers = [&CALL[..], &[("mcp-session-id", "session-0-1")]].concat();
    let (status, _, _, answer) = server.send("POST", &headers, &modern("tools/list").to_string());
    assert_eq!((status, answer.headers.len()), (200, 0));
}

#[test]
fn a_legacy_session_is_opened_named_and_deleted() {
    for policy in [legacy_only(), dual()] {
        let mut server = server(policy);
        let id = server.handshake();
        assert_ne!(id, server.handshake());
        let named: Vec<(&str, &str)> = [&PLAIN[..], &[("Mcp-Session-Id", &id)]].concat();
        assert_eq!(
            server.post(&named, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"})),
            (202, 0)
        );
        assert_eq!(server.post(&named, &bare("tools/list")), (200, 0));
        // LEG-05, and within a session also an error comes with 200.
        let version = |version| [&named[..], &[("mcp-protocol-version", version)]].concat();
        assert_eq!(server.post(&version("2025-03-26"), &bare("tools/list")), (200, 0));
        assert_eq!(server.post(&version("1999-01-01"), &bare("tools/list")), (400, -32600));
        assert_eq!(server.post(&named, &bare("no/such")), (200, -32601));
        assert_eq!(
            server.post(&[PLAIN[0], PLAIN[1], ("mcp-session-id", "gone")], &bare("tools/list")),
            (404, -32600)
        );
        assert_eq!(server.send("DELETE", &named, "").0, 204);
        assert_eq!(server.post(&named, &bare("tools/list")), (404, -32600));
        assert_eq!(server.send("DELETE", &named, "").0, 404);
        assert_eq!(server.send("DELETE", &PLAIN, "").0, 400);
        assert_eq!(server.send("GET", &named, "").0, 405);
    }
}

/// LEG-20 at a legacy server, AMB-13 at a dual-era one.
#[test]
fn before_a_session_every_request_is_refused_with_400() {
    let discover = but("mcp-method", Some("server/discover"));
    assert_eq!(server(legacy_only()).post(&discover, &modern("server/discover")), (400, -32600));
    assert_eq!(server(legacy_only()).post(&PLAIN, &bare("tools/list")), (400, -32600));
    assert_eq!(server(dual()).post(&PLAIN, &bare("tools/list")), (400, -32602));
    let early = GatePolicy { bare_request: BareRequest::EarlyLegacy, ..dual() };
    assert_eq!(server(early).post(&PLAIN, &bare("tools/list")), (400, -32600));
    // A legacy version header makes it a legacy request, whatever the policy.
    let legacy = [PLAIN[0], PLAIN[1], ("mcp-protocol-version", "2025-11-25")];
    assert_eq!(server(dual()).post(&legacy, &bare("tools/list")), (400, -32600));
}

#[test]
fn a_server_without_sessions_serves_each_legacy_request_by_itself() {
    let mut server = with(dual(), HttpPolicy { sessions: Sessions::Stateless, ..HttpPolicy::default() });
    let (status, _, _, answer) = server.send("POST", &PLAIN, &initialize("2025-11-25").to_string());
    assert_eq!((status, answer.headers.len()), (200, 0));
    let legacy = [PLAIN[0], PLAIN[1], ("mcp-protocol-version", "2025-11-25")];
    assert_eq!(server.post(&legacy, &bare("tools/list")), (200, 0));
    assert_eq!(server.post(&CALL, &modern("tools/list")), (200, 0));
    assert_eq!(server.send("DELETE", &PLAIN, "").0, 405);
}

#[test]
fn every_choice_of_the_policy_is_seen_on_the_wire() {
    let http = HttpPolicy::default();
    let tools = modern("tools/list");
    let both = but("mcp-protocol-version", Some("2025-11-25"));
    assert_eq!(with(modern_only(), http).post(&both, &bare("tools/list")), (400, -32602));
    let unserved = modern_at("tools/list", "2099-01-01");
    assert_eq!(with(modern_only(), http).post(&CALL, &unserved), (400, -32020));
    let body_first = HttpPolicy { header_order: HeaderOrder::BodyFirst, ..http };
    assert_eq!(with(modern_only(), body_first).post(&CALL, &unserved), (400, -32022));
    assert_eq!(with(modern_only(), body_first).post(&both, &tools), (400, -32020));

    let one = but("accept", Some("application/json"));
    assert_eq!(with(modern_only(), http).post(&one, &tools), (200, 0));
    let require = HttpPolicy { accept_header: AcceptHeader::Require, ..http };
    assert_eq!(with(modern_only(), require).post(&one, &tools), (406, 0));
    assert_eq!(with(modern_only(), require).post(&CALL, &tools), (200, 0));

    let none = but("mcp-protocol-version", None);
    let read_body = HttpPolicy { missing_header: MissingHeader::ReadBody, ..http };
    assert_eq!(with(dual(), read_body).post(&none, &tools), (200, 0));
    assert_eq!(with(modern_only(), read_body).post(&none, &tools), (400, -32020));

    let twice = [&CALL[..], &[("mcp-protocol-version", "2025-11-25")]].concat();
    let first = HttpPolicy { repeated_header: RepeatedHeader::First, ..http };
    assert_eq!(with(modern_only(), first).post(&twice, &tools), (200, 0));

    let foreign = [&CALL[..], &[("Origin", "https://evil.example")]].concat();
    let own = [&CALL[..], &[("Origin", "http://localhost:6274")]].concat();
    assert_eq!(with(modern_only(), http).post(&foreign, &tools), (403, 0));
    assert_eq!(with(modern_only(), http).post(&own, &tools), (200, 0));
    let serve = HttpPolicy { foreign_origin: ForeignOrigin::Serve, ..http };
    assert_eq!(with(modern_only(), serve).post(&foreign, &tools), (200, 0));

    let odd = [PLAIN[0], PLAIN[1], ("mcp-protocol-version", "1999-01-01")];
    let check = HttpPolicy { initialize_header: InitializeHeader::Check, ..http };
    assert_eq!(with(dual(), http).post(&odd, &initialize("2025-11-25")), (200, 0));
    assert_eq!(with(dual(), check).post(&odd, &initialize("2025-11-25")), (400, -32600));

    let note = json!({"jsonrpc": "2.0", "method": "notifications/cancelled"});
    let checked = HttpPolicy { notification_headers: NotificationHeaders::Check, ..http };
    assert_eq!(with(modern_only(), http).post(&PLAIN, &note), (202, 0));
    assert_eq!(with(modern_only(), checked).post(&PLAIN, &note), (400, 0));
    assert_eq!(with(modern_only(), checked).post(&CALL, &note), (202, 0));

    let open = HttpPolicy { get_stream: GetStream::Open, ..http };
    let mut server = with(legacy_only(), open);
    let id = server.handshake();
    let named = [CALL[1], ("mcp-session-id", &*id)];
    let (status, _, _, answer) = server.send("GET", &named, "");
    assert_eq!((status, answer.stream), (200, true));
    assert_eq!(server.send("GET", &named[..1], "").0, 400);
    assert_eq!(server.send("GET", &[("mcp-session-id", &*id)], "").0, 406);
}

#[test]
fn another_content_type_is_refused_and_parameters_are_not() {
    let mut server = server(modern_only());
    let tools = modern("tools/list");
    assert_eq!(server.post(&but("content-type", Some("text/plain")), &tools), (415, 0));
    assert_eq!(server.post(&but("content-type", None), &tools), (415, 0));
    assert_eq!(server.post(&but("content-type", Some("Application/JSON; charset=utf-8")), &tools), (200, 0));
}

/// LEG-13.
#[test]
fn a_batch_of_its_revision_is_answered_as_one() {
    let mut server = server(legacy_only());
    let (_, _, _, answer) = server.send("POST", &PLAIN, &initialize("2025-03-26").to_string());
    let headers = [PLAIN[0], PLAIN[1], ("mcp-session-id", &*answer.headers[0].1)];
    let (status, _, value, _) =
        server.send("POST", &headers, &json!([bare("tools/list"), bare("ping")]).to_string());
    assert_eq!((status, value.as_array().map(Vec::len)), (200, Some(2)));
    let note = json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]);
    assert_eq!(server.send("POST", &headers, &note.to_string()).0, 202);
}

#[test]
fn sessions_are_bounded_and_the_oldest_one_goes() {
    let mut server = server(legacy_only());
    let first = server.handshake();
    (0..64).for_each(|_| drop(server.handshake()));
    let named = |id: &str| [PLAIN[0], PLAIN[1], ("mcp-session-id", id.to_owned().leak() as &'static str)];
    assert_eq!(server.post(&named(&first), &bare("tools/list")), (404, -32600));
    assert_eq!(server.post(&named("session-0-2"), &bare("tools/list")), (200, 0));
}
