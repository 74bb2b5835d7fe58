//! Each fault does what it says, once it is switched on, and the same machine without it does not.

use std::sync::Arc;

use mcp_parley_negotiation::client::{ClientDeviations, ClientPolicy, Negotiator};
use mcp_parley_negotiation::http::HttpEnd;
use mcp_parley_negotiation::version::ProtocolVersion;

use crate::support::{JSON, Wire, discovered, error, initialized, unsupported};

/// The requests of a scenario, without and with the fault: method, id and headers.
fn both(fault: fn(&mut ClientDeviations), scenario: fn(&mut Wire)) -> [Vec<String>; 2] {
    let mut faulty = ClientDeviations::default();
    fault(&mut faulty);
    [ClientDeviations::default(), faulty].map(|deviations| {
        let mut policy = ClientPolicy::default();
        policy.preferences.modern = ["2031-01-01", "2026-07-28"].map(ProtocolVersion::new).into();
        let machine = Negotiator::over_http(Arc::new(policy)).with_deviations(deviations);
        let mut wire = Wire::of(machine);
        scenario(&mut wire);
        let line = |request: &crate::support::Request| {
            let headers: Vec<_> =
                request.headers.iter().skip(1).map(|(name, value)| format!("{name}={value}")).collect();
            format!("{} {} {}", request.method(), request.message()["id"], headers.join(" "))
        };
        wire.requests.iter().map(line).collect()
    })
}

fn call(wire: &mut Wire) {
    wire.answer_json(200, &discovered());
    wire.call("tools/call", "\"name\":\"ü\"");
}

fn renewed(wire: &mut Wire) {
    wire.answer(404, &[], "");
    wire.answer(
        200,
        &[("content-type", JSON), ("mcp-session-id", "s-1")],
        &initialized("2025-11-25").to_string(),
    );
    wire.answer(202, &[], "");
    wire.call("tools/list", "");
    wire.answer(404, &[], "");
}

/// What the last request has by fault, and the right one has not.
fn assert_last(fault: fn(&mut ClientDeviations), scenario: fn(&mut Wire), right: &str, wrong: &str) {
    let [sound, faulty] = both(fault, scenario).map(|lines| lines.last().cloned().unwrap_or_default());
    assert!(sound.contains(right) && !sound.contains(wrong), "{sound}");
    assert!(faulty.contains(wrong) && !faulty.contains(right), "{faulty}");
}

#[test]
fn headers() {
    assert_last(|f| f.accept_json_only = true, call, "text/event-stream", "accept=application/json mcp");
    assert_last(|f| f.stale_version_header = true, call, "version=2026-07-28", "version=2031-01-01");
    assert_last(|f| f.omit_version_header = true, call, "mcp-protocol-version", "stream mcp-method");
    assert_last(|f| f.omit_method_header = true, call, "mcp-method", "2026-07-28 mcp-name");
    assert_last(|f| f.capital_name_markers = true, call, "=?base64?w7w=?=", "=?BASE64?w7w=?=");
    let [sound, faulty] = both(|f| f.omit_name_header = true, call).map(|lines| lines.concat());
    assert!(sound.contains("mcp-name") && !faulty.contains("mcp-name"));
}

#[test]
fn sessions() {
    let [sound, faulty] = both(|f| f.keep_lost_session = true, renewed);
    assert!(!sound[4].contains("s-1") && faulty[4].contains("mcp-session-id=s-1"), "{faulty:?}");
    assert_eq!(sound[..4], faulty[..4]);
    let [sound, faulty] = both(|f| f.forget_session = true, renewed).map(|lines| lines.concat());
    assert!(sound.contains("s-1") && !faulty.contains("s-1"));
}

#[test]
fn steps() {
    let modern = |wire: &mut Wire| wire.answer_json(400, &unsupported(&["2026-07-28"]));
    assert_last(|f| f.fall_back_on_400_unread = true, modern, "server/discover 2", "initialize 2");
    // Only 400, only over HTTP errors: anything else is as it was.
    let [sound, faulty] =
        both(|f| f.fall_back_on_400_unread = true, |wire| wire.answer_json(404, &error(-32020)));
    assert_eq!(sound, faulty);
    let silence = |wire: &mut Wire| {
        call(wire);
        wire.wait();
    };
    assert_last(|f| f.cancel_by_notification = true, silence, "tools/call", "notifications/cancelled");
    let lost = |wire: &mut Wire| {
        call(wire);
        let exchange = wire.last().exchange;
        wire.end(exchange, HttpEnd::Reset);
    };
    assert_last(|f| f.reuse_lost_id = true, lost, "tools/call 3", "tools/call 2");
    assert_last(
        |f| f.reuse_lost_id = true,
        |wire| wire.end(wire.last().exchange, HttpEnd::Reset),
        "discover 2",
        "discover 1",
    );
}
