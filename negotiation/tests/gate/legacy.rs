//! The handshake and its session.

use mcp_parley_negotiation::gate::{GateEvent, GatePolicy, InitializeCode};
use mcp_parley_negotiation::version::Era;
use serde_json::json;

use crate::support::{
    ask, bare, dual, initialize, legacy_only, modern, modern_at, modern_but, modern_only, versions,
};

#[test]
fn a_served_version_is_echoed() {
    for (version, place) in [("2025-11-25", 0), ("2025-03-26", 1)] {
        for policy in [legacy_only(), dual()] {
            let mut server = ask(policy);
            let result = json!({
                "protocolVersion": version, "capabilities": {"tools": {}},
                "serverInfo": {"name": "mcp-parley-mock", "version": "1"},
            });
            assert_eq!(server.one(&initialize(version))["result"], result);
            assert_eq!(server.events, [GateEvent::HandshakeDone(place)]);
            assert_eq!(server.gate.session(), Some(place));
        }
    }
}

#[test]
fn any_other_version_is_countered_and_a_modern_one_never_agreed_on() {
    for version in ["2024-11-05", "2026-07-28", "2099-01-01", ""] {
        for policy in [legacy_only(), dual()] {
            let answer = ask(policy).one(&initialize(version));
            assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{version}");
        }
    }
}

#[test]
fn a_known_revision_in_the_list_of_the_other_era_is_left_out() {
    let swapped = || GatePolicy {
        modern: versions(&["2025-11-25", "2026-07-28"]),
        legacy: versions(&["2026-07-28", "2099-01-01", "2025-03-26"]),
        list_legacy: true,
        ..dual()
    };
    // ERA-22: the first that is left is offered instead. A version that nobody knows is of the era of its list.
    for (asked, agreed) in [("2026-07-28", "2099-01-01"), ("2099-01-01", "2099-01-01")] {
        let mut server = ask(swapped());
        assert_eq!(server.one(&initialize(asked))["result"]["protocolVersion"], agreed);
        assert_eq!(server.gate.session(), Some(0));
    }
    let mut server = ask(swapped());
    assert_eq!(server.code(&modern_at("tools/list", "2025-11-25")), -32022);
    let listed = &server.one(&modern("server/discover"))["result"]["supportedVersions"];
    assert_eq!(listed, &json!(["2026-07-28", "2099-01-01", "2025-03-26"]));
    let only_swapped = GatePolicy { legacy: versions(&["2026-07-28"]), ..modern_only() };
    assert_eq!(ask(only_swapped).code(&initialize("2026-07-28")), -32601, "it serves no handshake at all");
}

#[test]
fn initialize_without_a_version_is_refused() {
    let mut request = initialize("2025-11-25");
    for params in [json!({}), json!({"protocolVersion": 1}), json!(null), json!([])] {
        request["params"] = params;
        let mut server = ask(legacy_only());
        assert_eq!(server.code(&request), -32602);
        assert_eq!(server.gate.session(), None);
    }
}

#[test]
fn before_the_handshake_only_ping_is_served() {
    let mut server = ask(legacy_only());
    assert_eq!(server.one(&bare("ping"))["result"], json!({}));
    assert_eq!(server.code(&bare("tools/list")), -32600);
    assert_eq!(server.code(&bare("resources/list")), -32601);
    assert_eq!(server.code(&initialize("2025-11-25")), 0);
    assert!(server.all(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).is_empty());
    assert_eq!(server.code(&bare("tools/list")), 0);
    assert_eq!(server.one(&bare("ping"))["result"], json!({}));
    assert_eq!(server.code(&bare("resources/list")), -32601);
    let mut odd = bare("tools/list");
    odd["params"] = json!([]);
    assert_eq!(server.code(&odd), -32602);
}

#[test]
fn legacy_results_carry_nothing_modern() {
    let mut server = ask(dual());
    server.one(&initialize("2025-11-25"));
    let result = server.one(&bare("tools/list"))["result"].clone();
    assert_eq!(
        result,
        json!({"tools": [{"name": "echo", "description": "Says it again", "inputSchema": {"type": "object"}}]})
    );
    assert_eq!(server.events.last(), Some(&GateEvent::Served { era: Era::Legacy, method: Some(0) }));
}

#[test]
fn a_dual_server_chooses_by_how_the_client_opens() {
    let mut server = ask(dual());
    assert_eq!(server.era(&modern("tools/list")), Ok(Era::Modern));
    assert_eq!(server.era(&bare("tools/list")), Err(-32602), "a served modern request makes no session");
    assert_eq!(server.era(&initialize("2025-11-25")), Ok(Era::Legacy));
    assert_eq!(server.era(&bare("tools/list")), Ok(Era::Legacy));
    assert_eq!(server.era(&modern("tools/list")), Ok(Era::Modern), "ERA-15");
    assert_eq!(server.era(&bare("tools/list")), Ok(Era::Legacy), "the session goes on");
}

#[test]
fn keys_left_in_the_requests_of_a_session_do_not_leave_it() {
    let mut server = ask(dual());
    server.one(&initialize("2025-11-25"));
    for version in [json!("2025-11-25"), json!(null)] {
        let request = modern_but("tools/list", "protocolVersion", version);
        assert_eq!(server.era(&request), Ok(Era::Legacy));
    }
    let other = modern_but("tools/list", "protocolVersion", json!("2099-01-01"));
    assert_eq!(server.code(&other), -32022);
}

#[test]
fn a_modern_only_server_refuses_initialize_and_names_its_versions() {
    for version in ["2025-11-25", "2026-07-28"] {
        let error = ask(modern_only()).one(&initialize(version))["error"].clone();
        assert_eq!(error["code"], -32601);
        assert_eq!(error["data"], json!({"supported": ["2026-07-28"], "requested": version}));
    }
    for code in InitializeCode::ALL {
        let mut request = initialize("2025-11-25");
        for params in [json!({}), json!([1])] {
            request["params"] = params;
            let mut server = ask(GatePolicy { initialize_code: *code, ..modern_only() });
            let error = server.one(&request)["error"].clone();
            assert_ne!(error["code"], -32022, "it would have to say which version was asked for");
            assert_eq!(error["data"], json!({"supported": ["2026-07-28"]}));
        }
    }
}

#[test]
fn batches_are_of_one_revision_only() {
    let batch =
        json!([bare("ping"), {"jsonrpc": "2.0", "method": "notifications/x"}, initialize("2025-11-25"), []]);
    for (version, codes) in [("2025-03-26", vec![0, -32600, -32600]), ("2025-11-25", vec![-32600])] {
        let mut server = ask(dual());
        server.one(&initialize(version));
        let answers = server.all(&batch.to_string());
        let got: Vec<_> =
            answers.iter().map(|answer| answer["error"]["code"].as_i64().unwrap_or(0)).collect();
        assert_eq!(got, codes);
    }
    let mut server = ask(dual());
    server.one(&initialize("2025-03-26"));
    for (length, answers) in [(0, 1), (64, 64), (65, 1)] {
        let batch = json!(vec![bare("ping"); length]);
        assert_eq!(server.all(&batch.to_string()).len(), answers);
    }
}
