//! Each fault shows in its own case, and nowhere beside it.

use mcp_parley_negotiation::gate::{GateDeviations, GatePolicy};
use serde_json::json;

use crate::support::{Asked, ask, bare, dual, initialize, modern, modern_at, modern_only};

fn faulty(policy: GatePolicy, deviations: GateDeviations) -> Asked {
    let Asked { gate, events } = ask(policy);
    Asked { gate: gate.with_deviations(deviations), events }
}

#[test]
fn unsupported_code() {
    let mut server =
        faulty(modern_only(), GateDeviations { unsupported_code: Some(-32004), ..GateDeviations::default() });
    let error = server.one(&modern_at("tools/list", "x"))["error"].clone();
    assert_eq!(error["code"], -32004);
    assert_eq!(error["data"], json!({"supported": ["2026-07-28"], "requested": "x"}));
    assert_eq!(server.code(&bare("tools/list")), -32602);
    assert_eq!(server.code(&modern("tools/list")), 0);
}

#[test]
fn omit_requested() {
    let mut server =
        faulty(modern_only(), GateDeviations { omit_requested: true, ..GateDeviations::default() });
    let error = server.one(&modern_at("tools/list", "x"))["error"].clone();
    assert_eq!((&error["code"], &error["data"]), (&json!(-32022), &json!({"supported": ["2026-07-28"]})));
    let initialize = server.one(&initialize("2025-11-25"));
    assert_eq!(initialize["error"]["data"]["requested"], "2025-11-25", "NEG-06 is about -32022");
}

#[test]
fn omit_result_type() {
    let mut server = faulty(dual(), GateDeviations { omit_result_type: true, ..GateDeviations::default() });
    for method in ["server/discover", "tools/list"] {
        let result = server.one(&modern(method))["result"].clone();
        assert_eq!((result.get("resultType"), result.get("ttlMs")), (None, Some(&json!(0))));
    }
}

#[test]
fn serve_unlisted() {
    let serve_unlisted = Some("2099-01-01".to_owned());
    let mut server = faulty(dual(), GateDeviations { serve_unlisted, ..GateDeviations::default() });
    assert_eq!(server.code(&modern_at("tools/list", "2099-01-01")), 0);
    assert_eq!(server.code(&modern_at("tools/list", "2099-01-02")), -32022);
    let discovered = server.one(&modern("server/discover"));
    assert_eq!(discovered["result"]["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(server.one(&initialize("2099-01-01"))["result"]["protocolVersion"], "2025-11-25");
}

#[test]
fn other_id_type() {
    let mut server =
        faulty(modern_only(), GateDeviations { other_id_type: true, ..GateDeviations::default() });
    for (id, other) in [(json!(7), json!("7")), (json!("8"), json!(8)), (json!("x"), json!(0))] {
        for method in ["tools/list", "no/such"] {
            let mut request = modern(method);
            request["id"] = id.clone();
            assert_eq!(server.one(&request)["id"], other);
        }
    }
    assert_eq!(server.all("{")[0].get("id"), None);
}
