//! Modern requests at servers that serve them.

use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::gate::{GateEvent, GateInput, GatePolicy, ServedMethod};
use mcp_parley_negotiation::version::Era;
use serde_json::json;

use crate::support::{
    ask, bare, drain, dual, initialize, legacy_only, modern, modern_at, modern_but, modern_only, versions,
};

#[test]
fn discover_says_versions_capabilities_and_hints() {
    for policy in [modern_only(), dual()] {
        let mut server = ask(policy);
        let result = json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
            "ttlMs": 0, "cacheScope": "private",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "mcp-parley-mock", "version": "1"}},
        });
        assert_eq!(
            server.one(&modern("server/discover")),
            json!({"jsonrpc": "2.0", "id": 1, "result": result})
        );
        assert_eq!(server.events, [GateEvent::Served { era: Era::Modern, method: None }]);
    }
}

#[test]
fn a_legacy_only_server_does_not_know_discover_and_ignores_meta() {
    let mut server = ask(legacy_only());
    assert_eq!(server.code(&modern("server/discover")), -32601);
    assert_eq!(server.code(&initialize("2025-11-25")), 0);
    assert_eq!(server.code(&modern("server/discover")), -32601);
    let answer = server.one(&modern_at("tools/list", "2099-01-01"));
    assert_eq!(
        answer["result"],
        json!({"tools": [{"name": "echo", "description": "Says it again", "inputSchema": {"type": "object"}}]})
    );
}

#[test]
fn modern_results_have_type_hints_and_name() {
    let mut server = ask(modern_only());
    let result = json!({
        "resultType": "complete", "tools": [{"name": "echo", "description": "Says it again", "inputSchema": {"type": "object"}}],
        "ttlMs": 0, "cacheScope": "private",
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "mcp-parley-mock", "version": "1"}},
    });
    assert_eq!(server.one(&modern("tools/list"))["result"], result);
    assert_eq!(server.events, [GateEvent::Served { era: Era::Modern, method: Some(0) }]);
}

#[test]
fn hints_are_on_cacheable_results_only() {
    let method = |name: &str, result: &str| ServedMethod {
        name: name.into(),
        capability: "a \"quoted\" one".into(),
        result: result.into(),
        cacheable: false,
    };
    let methods = vec![method("x/empty", ""), method("x/lines", "\"a\":1,\n\"b\":2\r\n")];
    let mut server = ask(GatePolicy { methods, ..modern_only() });
    let empty = server.one(&modern("x/empty"));
    assert_eq!(empty["result"].as_object().unwrap().keys().collect::<Vec<_>>(), ["_meta", "resultType"]);
    let lines = server.one(&modern("x/lines"));
    assert_eq!((&lines["result"]["a"], &lines["result"]["b"]), (&json!(1), &json!(2)));
    assert_eq!(lines["result"].get("ttlMs"), None);
    let discovered = server.one(&modern("server/discover"));
    assert_eq!(discovered["result"]["capabilities"], json!({"a \"quoted\" one": {}}));
    assert_eq!(discovered["result"]["ttlMs"], 0);
}

#[test]
fn a_capability_of_several_methods_is_announced_once() {
    let method = GatePolicy::default().methods.remove(0);
    let other = ServedMethod { name: "tools/call".into(), ..method.clone() };
    let mut server = ask(GatePolicy { methods: vec![method, other], ..modern_only() });
    let request = modern("server/discover").to_string();
    server.gate.handle_input(Time::ZERO, GateInput::Message(request.as_bytes())).unwrap();
    let lines = drain(&mut server.gate, &mut server.events);
    assert!(lines[0].contains(r#""capabilities":{"tools":{}}"#), "{}", lines[0]);
}

#[test]
fn ttl_and_scope_are_the_policys() {
    let mut server = ask(GatePolicy { ttl_ms: u64::MAX, cache_public: true, ..modern_only() });
    let result = server.one(&modern("server/discover"))["result"].clone();
    assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(u64::MAX), &json!("public")));
}

#[test]
fn an_unserved_version_is_refused_with_both_lists() {
    for version in ["2099-01-01", "2025-11-25", "", "a\"\\\n\u{e9}"] {
        let mut server = ask(GatePolicy { modern: versions(&["2026-07-28", "x"]), ..dual() });
        let error = server.one(&modern_at("tools/list", version))["error"].clone();
        assert_eq!(error["code"], -32022);
        assert_eq!(error["data"], json!({"supported": ["2026-07-28", "x"], "requested": version}));
        assert_eq!(server.events, [GateEvent::Refused(-32022)]);
        assert_eq!(server.code(&modern_at("tools/list", "x")), 0);
    }
}

#[test]
fn no_request_pins_the_version_of_the_next() {
    let mut server = ask(modern_only());
    assert_eq!(server.code(&modern("tools/list")), 0);
    assert_eq!(server.code(&modern_at("tools/list", "2099-01-01")), -32022);
    assert_eq!(server.code(&bare("tools/list")), -32602);
    assert_eq!(server.code(&modern_but("tools/list", "clientCapabilities", json!(null))), -32602);
    assert_eq!(server.code(&modern("tools/list")), 0);
}

#[test]
fn required_fields_are_required_and_typed() {
    let null = json!(null);
    for (key, value) in [
        ("protocolVersion", &null),
        ("protocolVersion", &json!(20_260_728)),
        ("protocolVersion", &json!(["2026-07-28"])),
        ("clientCapabilities", &null),
        ("clientCapabilities", &json!([])),
        ("clientCapabilities", &json!("tools")),
        ("logLevel", &json!("loud")),
    ] {
        for policy in [modern_only(), dual()] {
            let request = modern_but("tools/list", key, value.clone());
            assert_eq!(ask(policy).code(&request), -32602, "{key} {value}");
        }
    }
    let fine = modern_but("tools/list", "logLevel", json!("info"));
    assert_eq!(ask(modern_only()).code(&fine), 0);
    let more = modern_but("tools/list", "somethingElse", json!(1));
    assert_eq!(ask(modern_only()).code(&more), 0);
    let mut odd = bare("tools/list");
    for params in [json!({}), json!({"_meta": 1}), json!({"_meta": {}}), json!([]), json!(null)] {
        odd["params"] = params;
        assert_eq!(ask(modern_only()).code(&odd), -32602);
    }
}

#[test]
fn an_unknown_method_is_refused() {
    let mut server = ask(modern_only());
    for method in ["tools/call", "tools/list ", "Tools/list", "", "logging/setLevel"] {
        assert_eq!(server.code(&modern(method)), -32601, "{method:?}");
    }
    let escaped = modern("tools/list").to_string().replace("tools/list", "to\\u006fls/list");
    assert!(server.all(&escaped)[0].get("result").is_some());
}

#[test]
fn discover_stays_the_protocols_own() {
    let mut method = GatePolicy::default().methods.remove(0);
    method.name = "server/discover".into();
    let mut server = ask(GatePolicy { methods: vec![method], ..modern_only() });
    assert!(server.one(&modern("server/discover"))["result"].get("supportedVersions").is_some());
    assert_eq!(server.events, [GateEvent::Served { era: Era::Modern, method: None }]);
}
