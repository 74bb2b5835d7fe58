//! Bytes, ids, noise, and the end of the input.

use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::gate::{GateInput, GateMisuse};
use serde_json::json;

use crate::support::{ask, bare, drain, legacy_only, modern, modern_only};

#[test]
fn the_id_comes_back_as_it_was() {
    let mut server = ask(modern_only());
    for id in [json!(0), json!(-5), json!(i64::MAX), json!(""), json!("1"), json!("a\"\\\u{1f600}\n")] {
        let mut request = modern("tools/list");
        request["id"] = id.clone();
        assert_eq!(server.one(&request)["id"], id);
        request["method"] = json!("no/such");
        assert_eq!(server.one(&request)["id"], id);
    }
}

#[test]
fn notifications_responses_and_blank_lines_are_not_answered() {
    for policy in [modern_only(), legacy_only()] {
        let mut server = ask(policy);
        for silent in [
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","method":"tools/list"}"#,
            r#"{"method":"tools/list","params":3}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":null}"#,
            "",
            " \r",
        ] {
            assert_eq!(server.all(silent), Vec::<serde_json::Value>::new(), "{silent}");
            assert_eq!(server.events, []);
        }
        assert_eq!(server.all("{").len(), 1);
    }
}

#[test]
fn broken_messages_have_their_codes() {
    let mut server = ask(modern_only());
    for (message, code) in [("{", -32700), ("nul", -32700), ("[{}]", -32600), ("3", -32600), ("{}", -32600)] {
        assert_eq!(server.all(message)[0]["error"]["code"], code, "{message}");
    }
    let deep = "[".repeat(100_000);
    assert_eq!(server.all(&deep)[0]["error"]["code"], -32700);
    for method in [json!("ping"), json!(1)] {
        let long_id = json!({"jsonrpc": "2.0", "id": "x".repeat(2000), "method": method});
        let answer = server.one(&long_id);
        assert_eq!((answer["error"]["code"].as_i64(), answer.get("id")), (Some(-32600), None));
    }
}

#[test]
fn a_line_past_the_limit_is_refused_once_and_skipped() {
    let mut server = ask(modern_only());
    let mut answers = 0;
    for _ in 0..100 {
        server.gate.handle_input(Time::ZERO, GateInput::Bytes(&[b'x'; 100_000])).unwrap();
        answers += drain(&mut server.gate, &mut server.events).len();
    }
    assert_eq!(answers, 1);
    let rest = format!("\n{}\r\n", modern("tools/list"));
    server.gate.handle_input(Time::ZERO, GateInput::Bytes(rest.as_bytes())).unwrap();
    let lines = drain(&mut server.gate, &mut server.events);
    assert_eq!(lines.len(), 1);
    assert!(lines[0].contains("resultType"));
}

#[test]
fn the_gate_exits_at_the_end_of_its_input_and_drops_half_a_line() {
    let mut server = ask(legacy_only());
    let text = format!("{}\n{}", bare("ping"), bare("ping"));
    server.gate.handle_input(Time(5), GateInput::Bytes(text.as_bytes())).unwrap();
    server.gate.handle_input(Time(5), GateInput::Eof).unwrap();
    let lines = drain(&mut server.gate, &mut server.events);
    assert_eq!(lines, [r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "exit"]);
    assert_eq!(server.gate.handle_input(Time(6), GateInput::Eof), Err(GateMisuse::Ended));
    assert_eq!(drain(&mut server.gate, &mut server.events), Vec::<String>::new());
}

#[test]
fn time_does_not_run_back() {
    let mut server = ask(legacy_only());
    let ping = bare("ping").to_string();
    server.gate.handle_input(Time(5), GateInput::Message(ping.as_bytes())).unwrap();
    let back = server.gate.handle_input(Time(4), GateInput::Message(ping.as_bytes()));
    assert_eq!(back, Err(GateMisuse::TimeRanBack));
    assert_eq!(drain(&mut server.gate, &mut server.events).len(), 1);
    server.gate.handle_input(Time(5), GateInput::Message(ping.as_bytes())).unwrap();
}
