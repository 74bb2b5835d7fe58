//! Every field of the policy: its values differ in the contested case, and agree in the case beside it.

use mcp_parley_negotiation::gate::{
    BareRequest, BrokenRequest, CheckOrder, EraChange, GatePolicy, InitializeCode, InitializeWithMeta,
    LegacyByMeta, NestedTypes, RemovedMethod, UnknownInitialize, UnreadableId,
};
use serde_json::{Value, json};

use crate::support::{
    Asked, ask, bare, dual, initialize, legacy_only, meta, modern, modern_at, modern_but, modern_only,
};

/// The codes of the answers to each message, by one server.
fn codes(mut server: Asked, messages: &[Value]) -> Vec<i64> {
    messages.iter().map(|message| server.code(message)).collect()
}

#[test]
fn list_legacy() {
    for (list_legacy, versions) in
        [(false, json!(["2026-07-28"])), (true, json!(["2026-07-28", "2025-11-25", "2025-03-26"]))]
    {
        let mut server = ask(GatePolicy { list_legacy, ..dual() });
        assert_eq!(server.one(&modern("server/discover"))["result"]["supportedVersions"], versions);
        let refused = server.one(&modern_at("tools/list", "2099-01-01"));
        assert_eq!(refused["error"]["data"]["supported"], versions);
        assert_eq!(
            server.code(&modern_at("tools/list", "2025-11-25")),
            -32022,
            "listed is not served by `_meta`"
        );
    }
}

#[test]
fn broken_request() {
    let broken =
        ["{", "[]", "1", r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, r#"{"id":1,"method":"ping"}"#];
    for (broken_request, answers) in [(BrokenRequest::Answer, 1), (BrokenRequest::Drop, 0)] {
        for message in broken {
            let mut server = ask(GatePolicy { broken_request, ..modern_only() });
            assert_eq!(server.all(message).len(), answers, "{message}");
            assert_eq!(server.code(&modern("tools/list")), 0);
            assert_eq!(server.code(&bare("x")), -32602, "a well-formed request is answered in any case");
        }
    }
}

#[test]
fn bare_request() {
    for (bare_request, code) in [(BareRequest::InvalidParams, -32602), (BareRequest::EarlyLegacy, -32600)] {
        let server = ask(GatePolicy { bare_request, ..dual() });
        let asked = [bare("tools/list"), bare("ping"), initialize("2025-11-25"), bare("tools/list")];
        assert_eq!(codes(server, &asked), [code, 0, 0, 0]);
        let progress =
            json!({"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"_meta": {"progressToken": 1}}});
        assert_eq!(ask(GatePolicy { bare_request, ..dual() }).code(&progress), code);
        let half = modern_but("tools/list", "protocolVersion", json!(null));
        assert_eq!(ask(GatePolicy { bare_request, ..dual() }).code(&half), -32602, "one key makes it modern");
        assert_eq!(ask(GatePolicy { bare_request, ..modern_only() }).code(&bare("tools/list")), -32602);
    }
}

#[test]
fn check_order() {
    let mut all_wrong = modern_at("no/such", "2099-01-01");
    all_wrong["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("loud");
    for (check_order, first, two) in [
        (CheckOrder::MetaFirst, -32602, -32022),
        (CheckOrder::VersionFirst, -32022, -32022),
        (CheckOrder::MethodFirst, -32601, -32601),
    ] {
        let server = ask(GatePolicy { check_order, ..modern_only() });
        let asked = [
            all_wrong.clone(),
            modern_at("no/such", "2099-01-01"),
            modern_but("no/such", "logLevel", json!("loud")),
            modern("no/such"),
            modern_at("tools/list", "2099-01-01"),
            bare("tools/list"),
        ];
        let third = if check_order == CheckOrder::MethodFirst { -32601 } else { -32602 };
        assert_eq!(codes(server, &asked), [first, two, third, -32601, -32022, -32602]);
    }
}

#[test]
fn nested_types() {
    for (nested_types, code) in [(NestedTypes::Lenient, 0), (NestedTypes::Strict, -32602)] {
        let server = ask(GatePolicy { nested_types, ..modern_only() });
        let asked = [
            modern_but("tools/list", "clientInfo", json!("me")),
            modern_but("tools/list", "clientInfo", json!({"name": "me"})),
            modern_but("tools/list", "clientCapabilities", json!({"roots": 1})),
            modern_but("tools/list", "clientCapabilities", json!({"elicitation": {"form": 1}})),
            modern_but("tools/list", "clientCapabilities", json!({"unknown": 1})),
            modern_but("tools/list", "clientInfo", json!({"name": "me", "version": "1", "more": []})),
            modern("tools/list"),
            modern_but("tools/list", "clientCapabilities", json!(1)),
        ];
        assert_eq!(codes(server, &asked), [code, code, code, code, 0, 0, 0, -32602]);
    }
}

#[test]
fn legacy_by_meta() {
    for (legacy_by_meta, code) in [(LegacyByMeta::Refuse, -32022), (LegacyByMeta::Serve, 0)] {
        let mut server = ask(GatePolicy { legacy_by_meta, ..dual() });
        let listed = server.one(&modern("server/discover"))["result"]["supportedVersions"].clone();
        assert_eq!(
            listed.as_array().unwrap().contains(&json!("2025-11-25")),
            code == 0,
            "what is served is listed"
        );
        let asked = [modern_at("tools/list", "2025-11-25"), modern_at("tools/list", "2024-11-05")];
        assert_eq!(codes(server, &asked), [code, -32022]);
    }
}

#[test]
fn initialize_with_meta() {
    let mut both = initialize("2025-11-25");
    both["params"]["_meta"] = meta("2026-07-28");
    for (initialize_with_meta, code) in
        [(InitializeWithMeta::Handshake, 0), (InitializeWithMeta::Modern, -32601)]
    {
        let of = |policy| ask(GatePolicy { initialize_with_meta, ..policy });
        assert_eq!(of(dual()).code(&both), code);
        assert_eq!(of(dual()).code(&initialize("2025-11-25")), 0);
        assert_eq!(of(legacy_only()).code(&both), 0, "a legacy server does not know `_meta`");
        assert!(of(modern_only()).one(&both)["error"]["data"].get("supported").is_some(), "ERA-13");
    }
}

#[test]
fn era_change() {
    let handshake = || initialize("2025-11-25");
    for (era_change, code) in [(EraChange::Allow, 0), (EraChange::Refuse, -32600)] {
        let of = |policy| ask(GatePolicy { era_change, ..policy });
        let asked = [handshake(), bare("tools/list"), modern("tools/list"), handshake(), bare("ping")];
        assert_eq!(codes(of(dual()), &asked), [0, 0, code, code, 0]);
        assert_eq!(codes(of(dual()), &[modern("server/discover"), handshake()]), [0, code]);
        let mut turned = of(dual());
        turned.one(&modern("server/discover"));
        let named = &turned.one(&handshake())["error"]["data"]["supported"];
        assert_eq!(named.is_null(), era_change == EraChange::Allow, "ERA-13: {named}");
        assert_eq!(codes(of(dual()), &[modern_at("x", "2099-01-01"), handshake()]), [-32022, 0]);
        assert_eq!(codes(of(legacy_only()), &[handshake(), handshake()]), [0, code]);
        assert_eq!(codes(of(legacy_only()), &[handshake(), modern("tools/list")]), [0, 0]);
    }
}

#[test]
fn initialize_code() {
    for (initialize_code, code, modern_asked) in [
        (InitializeCode::MethodNotFound, -32601, -32601),
        (InitializeCode::InvalidParams, -32602, -32602),
        (InitializeCode::UnsupportedVersion, -32022, -32601),
    ] {
        let server = ask(GatePolicy { initialize_code, ..modern_only() });
        let asked = [initialize("2025-11-25"), initialize("2026-07-28"), modern("tools/list")];
        assert_eq!(codes(server, &asked), [code, modern_asked, 0]);
        assert_eq!(ask(GatePolicy { initialize_code, ..dual() }).code(&initialize("2025-11-25")), 0);
    }
}

#[test]
fn unreadable_id() {
    for (unreadable_id, id) in [(UnreadableId::Absent, None), (UnreadableId::Null, Some(&json!(null)))] {
        let mut server = ask(GatePolicy { unreadable_id, ..modern_only() });
        for broken in [
            "{",
            "[]",
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
        ] {
            assert_eq!(server.all(broken)[0].get("id"), id, "{broken}");
        }
        for readable in [json!({"id": 7, "method": "ping"}), json!({"jsonrpc": "2.0", "id": 7, "method": 1})]
        {
            assert_eq!(server.one(&readable)["id"], 7, "BASE-05");
        }
    }
}

#[test]
fn unknown_initialize() {
    for policy in [dual(), legacy_only()] {
        let unknown_initialize = UnknownInitialize::Refuse;
        let mut server = ask(GatePolicy { unknown_initialize, ..policy });
        let error = server.one(&initialize("2024-11-05"))["error"].clone();
        let data = json!({"supported": ["2025-11-25", "2025-03-26"], "requested": "2024-11-05"});
        assert_eq!((&error["code"], &error["data"]), (&json!(-32602), &data));
        assert_eq!(server.gate.session(), None);
        assert_eq!(server.one(&initialize("2025-03-26"))["result"]["protocolVersion"], "2025-03-26");
    }
    let mut server = ask(dual());
    assert_eq!(server.one(&initialize("2024-11-05"))["result"]["protocolVersion"], "2025-11-25");
}

#[test]
fn removed_method() {
    for (removed_method, code) in [(RemovedMethod::MethodNotFound, -32601), (RemovedMethod::Serve, 0)] {
        let server = ask(GatePolicy { removed_method, ..modern_only() });
        let asked = [modern("ping"), bare("ping"), modern("logging/setLevel")];
        assert_eq!(codes(server, &asked), [code, -32602, -32601]);
        assert_eq!(ask(GatePolicy { removed_method, ..dual() }).code(&bare("ping")), 0);
    }
    let mut server = ask(GatePolicy { removed_method: RemovedMethod::Serve, ..modern_only() });
    assert_eq!(server.one(&modern("ping"))["result"]["resultType"], "complete");
}
