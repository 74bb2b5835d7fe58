//! When a quirk acts: every selector, and the nearest message that it must leave alone.

use mcp_parley_mock_servers::{Persona, ServerInput};
use serde_json::{Value, json};

use crate::support::*;

const MARK: &str = "marked";

fn marking(when: Value) -> Process {
    quirk("dual", when, json!({"line": MARK}))
}

/// Which of these lines are marked, in order, by one process.
fn marked(when: Value, lines: &[&str]) -> Vec<bool> {
    let mut server = marking(when);
    lines.iter().map(|line| server.says(line) == [MARK]).collect()
}

#[test]
fn no_selector_is_every_message() {
    let lines = [DISCOVER, INITIALIZED, PING, "{", "[]", r#"{"jsonrpc":"2.0","id":1,"result":{}}"#];
    assert_eq!(marked(json!({}), &lines), [true; 6]);
}

#[test]
fn method() {
    let when = json!({"method": ["ping", "initialize"]});
    let other_case = PING.replace("ping", "Ping");
    assert_eq!(marked(when.clone(), &[PING, INITIALIZE, DISCOVER, &other_case]), [true, true, false, false]);
    let escaped = PING.replace("ping", "\\u0070ing");
    assert_eq!(marked(when, &[&escaped]), [true], "a method is what it stands for");
    assert_eq!(
        marked(json!({"method": ["notifications/initialized"]}), &[INITIALIZED, INITIALIZE]),
        [true, false]
    );
}

#[test]
fn has_and_lacks() {
    assert_eq!(
        marked(json!({"has": "/params/_meta"}), &[DISCOVER, INITIALIZE, PING, "{"]),
        [true, false, false, false]
    );
    // What cannot be read neither has nor lacks anything.
    assert_eq!(
        marked(json!({"lacks": "/params/_meta"}), &[DISCOVER, INITIALIZE, PING, "{"]),
        [false, true, true, false]
    );
    assert_eq!(
        marked(json!({"has": "/params/_meta/io.modelcontextprotocol~1clientInfo"}), &[DISCOVER, INITIALIZE]),
        [true, false]
    );
}

#[test]
fn value() {
    let asked = |version: &str| INITIALIZE.replace("2025-11-25", version);
    let when = json!({"value": {"at": "/params/protocolVersion", "equals": "2025-06-18"}});
    assert_eq!(marked(when, &[&asked("2025-06-18"), &asked("2025-03-26"), PING]), [true, false, false]);
    let when = json!({"value": {"at": "/id", "equals": 5}});
    let text = PING.replace('5', "\"5\"");
    let fraction = PING.replace('5', "5.5");
    assert_eq!(marked(when, &[PING, &text, &fraction, LIST]), [true, false, false, false]);
    let when = json!({"value": {"at": "/params/capabilities", "equals": {}}});
    let sampling = INITIALIZE.replace("\"capabilities\":{}", "\"capabilities\":{\"sampling\":{}}");
    assert_eq!(marked(when, &[INITIALIZE, &sampling]), [true, false]);
}

#[test]
fn nth_counts_what_fits() {
    let when = json!({"method": ["ping"], "nth": 2});
    assert_eq!(marked(when, &[PING, DISCOVER, PING, PING]), [false, false, true, false]);
}

#[test]
fn first_and_every() {
    let lines = [PING, DISCOVER, PING, PING, PING];
    let when = json!({"method": ["ping"], "first": 2});
    assert_eq!(marked(when, &lines), [true, false, true, false, false]);
    let when = json!({"method": ["ping"], "every": 2});
    assert_eq!(marked(when, &lines), [false, false, true, false, true]);
    let when = json!({"method": ["ping"], "first": 3, "every": 2});
    assert_eq!(marked(when, &lines), [false, false, true, false, false]);
}

#[test]
fn each_message_of_a_batch_is_selected_by_itself() {
    let mut server = quirk("dual", json!({"method": ["ping"], "nth": 2}), json!({"line": "$id"}));
    let initialize = INITIALIZE.replace("2025-11-25", "2025-03-26");
    let batch = format!("[{PING}, {INITIALIZED},{LIST},{}, 1]", PING.replace('5', "6"));
    // Before its revision is agreed on, a batch is one message.
    assert_eq!(server.says(&batch).len(), 1);
    server.line(&initialize);
    let said = server.says(&batch);
    assert_eq!(said[..3], [PONG, LISTED, "6"]);
    assert!(said[3].contains("-32600") && said.len() == 4, "{said:?}");
    let nested = format!("[{initialize}]");
    assert!(server.answer(&nested).contains("-32600"), "no batch has initialize");
    let mut server = acting(json!({"omit": ["/result"]}));
    server.line(&initialize);
    let bare = |id: u32| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id}}}");
    assert_eq!(server.says(&format!("[{PING},{LIST}]")), [bare(5), bare(4)]);
}

#[test]
fn after_and_before() {
    let lines = [PING, INITIALIZE, PING];
    assert_eq!(marked(json!({"after": "initialize"}), &lines), [false, false, true]);
    assert_eq!(marked(json!({"before": "initialize"}), &lines), [true, true, false]);
    let when = json!({"method": ["ping"], "after": "initialize", "before": "tools/list"});
    assert_eq!(marked(when, &[PING, INITIALIZE, PING, LIST, PING]), [false, false, true, false, false]);
}

fn marks_in(persona: &Persona) -> Vec<u32> {
    let marks = |number: &u32| Process::of(persona.clone(), *number).0.says(PING) == [MARK];
    (0..4).filter(marks).map(|number| number + 1).collect()
}

#[test]
fn process_and_from_process() {
    let of = |when: Value| persona("dual", json!({"quirks": [{"when": when, "act": {"line": MARK}}]}));
    assert_eq!(marks_in(&of(json!({"process": 1}))), [1]);
    assert_eq!(marks_in(&of(json!({"process": 3}))), [3]);
    assert_eq!(marks_in(&of(json!({"from_process": 3}))), [3, 4]);
    assert_eq!(marks_in(&of(json!({}))), [1, 2, 3, 4]);
}

#[test]
fn a_later_process_may_be_of_another_profile() {
    let changing = persona(
        "modern",
        json!({"process": [{"from": 2, "profile": "legacy"}, {"from": 4, "profile": "silent"}]}),
    );
    let says = |number| {
        let (mut process, _) = Process::of(changing.clone(), number);
        process.says(DISCOVER)
    };
    assert_eq!(says(0), [DISCOVERED]);
    for number in [1, 2] {
        assert!(says(number)[0].contains("-32601"), "{:?}", says(number));
    }
    assert!(says(3).is_empty() && says(u32::MAX).is_empty());
}

#[test]
fn all_that_is_said_must_hold_and_counting_starts_anew_in_each_process() {
    let when = json!({"method": ["ping"], "has": "/params/x", "nth": 1});
    let with = r#"{"jsonrpc":"2.0","id":5,"method":"ping","params":{"x":0}}"#;
    for _ in 0..2 {
        assert_eq!(marked(when.clone(), &[PING, with, with]), [false, true, false]);
    }
}

#[test]
fn a_message_in_two_pieces_is_selected_once() {
    let mut server = marking(json!({"method": ["ping"], "nth": 1}));
    let (first, second) = PING.split_at(10);
    assert_eq!(server.tell(ServerInput::Bytes(first.as_bytes())), []);
    assert_eq!(server.says(second), [MARK]);
}
