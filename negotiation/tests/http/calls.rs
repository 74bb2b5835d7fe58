//! Calls after settling, and how each is given up.

use mcp_parley_negotiation::client::{ClientPolicy, Event};
use mcp_parley_negotiation::http::{Exchange, HttpEnd};
use mcp_parley_negotiation::version::{Era, ProtocolVersion};
use serde_json::{Value, json};

use crate::support::{JSON, SSE, Wire, discovered, error, legacy, modern, result, unsupported};

fn policy() -> ClientPolicy {
    ClientPolicy::default()
}

#[test]
fn a_call_takes_json_and_event_streams() {
    for mut wire in [modern(policy()), legacy(policy(), "2025-11-25", None)] {
        for media in [JSON, SSE, "Application/Json"] {
            wire.call("tools/list", "");
            let body = if media == SSE { format!("data: {}\n\n", result()) } else { result().to_string() };
            wire.answer(200, &[("content-type", media)], &body);
            assert_eq!((wire.events.last(), wire.wake), (Some(&Event::Called(true)), None), "{media}");
        }
        for (status, body) in
            [(200, error(-32601)), (404, error(-32601)), (400, error(-32602)), (500, result())]
        {
            wire.call("tools/list", "");
            wire.answer_json(status, &body);
            assert_eq!((wire.events.last(), wire.wake), (Some(&Event::Called(false)), None), "{status}");
        }
        for (status, media) in [(202, ""), (204, ""), (200, "text/html"), (401, ""), (502, "")] {
            let asked = wire.requests.len();
            wire.call("tools/list", "");
            wire.answer(status, &[("content-type", media)], "");
            assert_eq!((wire.events.last(), wire.wake), (Some(&Event::Called(false)), None), "{status}");
            assert_eq!(wire.requests.len(), asked + 1);
        }
    }
}

#[test]
fn an_error_needs_no_id_and_a_result_does() {
    let mut wire = modern(policy());
    for (body, id, good) in
        [(error(-32603), Value::Null, false), (result(), Value::Null, false), (result(), json!(99), false)]
    {
        let mut body = body;
        body["id"] = id;
        wire.call("tools/list", "");
        wire.answer_json(200, &body);
        assert_eq!(wire.events.last(), Some(&Event::Called(good)));
    }
    // The same result, with its id.
    wire.call("tools/list", "");
    wire.answer_json(200, &result());
    assert_eq!(wire.events.last(), Some(&Event::Called(true)));
}

#[test]
fn a_refused_version_is_corrected_in_any_request() {
    for (status, id) in [(400, json!("$id")), (200, json!("$id")), (400, Value::Null)] {
        let mut policy = policy();
        policy.preferences.modern = ["2026-07-28", "2026-01-01"].map(ProtocolVersion::new).into();
        let mut wire = modern(policy);
        wire.call("tools/call", r#""name":"add""#);
        let mut refusal = unsupported(&["2026-01-01"]);
        refusal["id"] = id;
        wire.answer_json(status, &refusal);
        assert_eq!(wire.settled(), Some((Era::Modern, "2026-01-01")), "{status}");
        let again = wire.last();
        assert_eq!(again.header("mcp-protocol-version"), Some("2026-01-01"));
        assert_eq!(again.header("mcp-name"), Some("add"));
        let meta = &again.message()["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-01-01");
        wire.answer_json(200, &result());
        assert_eq!(wire.events.last(), Some(&Event::Called(true)));
    }
}

#[test]
fn a_modern_call_whose_stream_broke_is_sent_again_once_under_a_new_id() {
    for (end, head) in [
        (HttpEnd::Reset, true),
        (HttpEnd::Truncated, true),
        (HttpEnd::Complete, true),
        (HttpEnd::Refused, false),
        (HttpEnd::Reset, false),
    ] {
        let mut wire = modern(policy());
        let broken = |wire: &mut Wire| {
            let exchange = wire.last().exchange;
            if head {
                wire.head(exchange, 200, &[("content-type", SSE)]);
                wire.body(exchange, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n");
            }
            wire.end(exchange, end);
        };
        for good in [true, false, true] {
            wire.call("tools/list", "");
            let (id, asked) = (wire.last().message()["id"].as_i64(), wire.requests.len());
            broken(&mut wire);
            assert_eq!(wire.last().message()["id"].as_i64(), id.map(|id| id + 1), "{end:?}");
            if good {
                wire.answer_json(200, &result());
            } else {
                broken(&mut wire);
            }
            assert_eq!((wire.events.last(), wire.requests.len()), (Some(&Event::Called(good)), asked + 1));
            assert_eq!((wire.wake, &*wire.aborted), (None, &[][..]));
        }
    }
}

#[test]
fn a_legacy_call_whose_stream_broke_is_not_repeated() {
    let mut wire = legacy(policy(), "2025-11-25", None);
    wire.call("tools/call", r#""name":"pay""#);
    wire.head(Exchange(3), 200, &[("content-type", SSE)]);
    wire.end(Exchange(3), HttpEnd::Reset);
    assert_eq!((wire.events.last(), wire.requests.len()), (Some(&Event::Called(false)), 4));
}

#[test]
fn a_modern_call_is_given_up_by_closing_its_stream_alone() {
    let mut wire = modern(policy());
    wire.call("tools/list", "");
    wire.head(Exchange(1), 200, &[("content-type", SSE)]);
    wire.wait();
    assert_eq!((wire.events.last(), &*wire.aborted), (Some(&Event::Called(false)), &[Exchange(1)][..]));
    assert_eq!((wire.requests.len(), wire.wake), (2, None));
    // Its late answer is none of the next call's.
    wire.call("tools/list", "");
    wire.body(Exchange(1), &format!("data: {}\n\n", result()).replace("\"$id\"", "3"));
    assert_eq!(wire.events.last(), Some(&Event::Called(false)));
}

#[test]
fn a_legacy_call_is_given_up_by_a_notification_and_initialize_never_is() {
    let mut wire = legacy(policy(), "2025-11-25", Some("s-1"));
    wire.call("tools/list", "");
    wire.wait();
    let cancel = wire.last();
    assert_eq!(cancel.message()["method"], "notifications/cancelled");
    assert_eq!(cancel.message()["params"]["requestId"], 3);
    assert_eq!(cancel.header("mcp-session-id"), Some("s-1"));
    assert_eq!((wire.events.last(), &*wire.aborted), (Some(&Event::Called(false)), &[Exchange(3)][..]));
    // The notification's own exchange has its time too.
    wire.wait();
    assert_eq!((wire.wake, &*wire.aborted), (None, &[Exchange(3), Exchange(4)][..]));

    let mut wire = Wire::start(policy());
    wire.answer(404, &[], "");
    wire.wait();
    assert_eq!((wire.methods().len(), wire.machine.is_done()), (2, true));
    assert_eq!(wire.aborted, [Exchange(1)]);
}

#[test]
fn a_call_while_another_is_open_is_a_mistake_and_settling_makes_room() {
    use mcp_parley_negotiation::client::{Input, Misuse};
    let mut wire = Wire::start(policy());
    let call = Input::Call("tools/list", b"");
    assert_eq!(wire.try_input(call), Err(Misuse::NotSettled));
    wire.answer_json(200, &discovered());
    wire.input(call);
    assert_eq!(wire.try_input(call), Err(Misuse::NotSettled));
    wire.answer_json(200, &result());
    wire.input(call);
    assert_eq!(wire.methods(), ["server/discover", "tools/list", "tools/list"]);
}
