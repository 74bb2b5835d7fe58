//! What a quirk does: every act, and what it must leave alone.

use mcp_parley_mock_servers::ServerInput;
use mcp_parley_negotiation::Time;
use serde_json::{Value, json};

use crate::support::*;

#[test]
fn result_error_and_both() {
    let refused = json!({"error": {"code": -32601}});
    assert_eq!(
        acting(refused).answer(PING),
        r#"{"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"refused"}}"#
    );
    let odd = json!({"error": {"code": "-32601", "message": 7, "data": {"b": [1.5], "a": "x"}}});
    assert_eq!(
        acting(odd).answer(PING),
        r#"{"jsonrpc":"2.0","id":5,"error":{"code":"-32601","message":7,"data":{"a":"x","b":[1.5]}}}"#
    );
    assert_eq!(acting(json!({"result": []})).answer(PING), r#"{"jsonrpc":"2.0","id":5,"result":[]}"#);
    let both = json!({"result": {}, "error": {"code": 1, "message": "no"}});
    assert_eq!(
        acting(both).answer(PING),
        r#"{"jsonrpc":"2.0","id":5,"result":{},"error":{"code":1,"message":"no"}}"#
    );
}

#[test]
fn a_notification_is_answered_by_a_line_only() {
    let refused = json!({"error": {"code": 1}, "result": {}, "twice": true});
    assert_eq!(acting(refused).line(INITIALIZED), []);
    assert_eq!(acting(json!({"line": "heard"})).says(INITIALIZED), ["heard"]);
}

#[test]
fn lines_of_text_of_bytes_and_of_many_times_the_same() {
    assert_eq!(acting(json!({"line": "{\n}"})).says(PING), ["{\n}"]);
    let bytes = json!({"line": {"hex": "ff 80"}});
    assert_eq!(acting(bytes).line(PING), [Did::Wrote(vec![0xff, 0x80, b'\n'])]);
    let many = json!({"line": {"repeat": {"text": "ab", "times": 3}}, "before": [{"hex": ""}]});
    assert_eq!(acting(many).says(PING), ["", "ababab"]);
}

#[test]
fn a_text_may_carry_the_id_of_its_request_and_its_number() {
    let own = json!({"line": "answer $id", "before": ["before $id, $id"], "behind": ["behind $id"]});
    let text = PING.replace('5', "\"a\\u0062\"");
    assert_eq!(acting(own.clone()).says(PING), ["before 5, 5", "answer 5", "behind 5"]);
    assert_eq!(acting(own.clone()).says(&text)[1], "answer \"a\\u0062\"", "as it was written");
    let counting =
        json!({"set": [{"at": "/result/next", "raw": "[$id, \"c$number\"]"}], "stderr": ["$number $id"]});
    let mut server = acting(counting);
    for number in 1..3 {
        assert_eq!(
            server.line(PING),
            [
                Did::Complained(format!("{number} 5\n").into_bytes()),
                Did::Wrote(
                    format!("{}\n", PONG.replace("{}", &format!("{{\"next\":[5, \"c{number}\"]}}")))
                        .into_bytes()
                ),
            ]
        );
    }
    assert_eq!(acting(own).says(INITIALIZED), ["before null, null", "answer null", "behind null"]);
}

#[test]
fn standard_error_comes_first_of_all() {
    let complained = || Did::Complained(b"Traceback\n".to_vec());
    let ends = json!({"stderr": ["Traceback"], "exit": {"code": 1}});
    assert_eq!(acting(ends).line(PING), [complained(), Did::Exit(1)]);
    let goes_on = json!({"stderr": ["Traceback"], "before": ["x"], "close": true});
    let did = acting(goes_on).line(PING);
    assert_eq!(did[..2], [complained(), Did::Wrote(b"x\n".to_vec())]);
}

/// The answer to `ping`, or to `server/discover` if the place is in there, after one edit.
fn edited(line: &str, act: Value) -> String {
    acting(act).answer(line)
}

#[test]
fn omit() {
    assert_eq!(edited(PING, json!({"omit": ["/result"]})), r#"{"jsonrpc":"2.0","id":5}"#);
    let without = DISCOVERED.replace(r#""ttlMs":0,"#, "").replace(r#"{"tools":{}}"#, "{}");
    assert_eq!(edited(DISCOVER, json!({"omit": ["/result/ttlMs", "/result/capabilities/tools"]})), without);
    assert_eq!(edited(DISCOVER, json!({"omit": ["/result/supportedVersions/0"]})), {
        DISCOVERED.replace(r#"["2026-07-28"]"#, "[]")
    });
    let name = "/result/_meta/io.modelcontextprotocol~1serverInfo";
    assert!(edited(DISCOVER, json!({"omit": [name]})).ends_with(r#""_meta":{}}}"#));
    assert_eq!(edited(DISCOVER, json!({"omit": ["/result/ttl", "/nothing/here"]})), DISCOVERED);
}

#[test]
fn set() {
    let to = |at: &str, to: Value| json!({"set": [{"at": at, "to": to}]});
    assert_eq!(
        edited(DISCOVER, to("/result/supportedVersions/0", json!("2099-01-01"))),
        DISCOVERED.replace(r#"["2026-07-28"]"#, r#"["2099-01-01"]"#)
    );
    assert_eq!(edited(PING, to("/result/a/b", json!(1))), PONG.replace("{}", r#"{"a":{"b":1}}"#));
    assert_eq!(edited(PING, to("", json!("whole"))), "\"whole\"");
    let bytes = json!({"set": [{"at": "/result", "raw": {"hex": "22 ff 22"}}]});
    assert_eq!(
        acting(bytes).line(PING),
        [Did::Wrote(b"{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":\"\xff\"}\n".to_vec())]
    );
    let raw = json!({"set": [{"at": "/result", "raw": "1e999"}, {"at": "/x", "raw": "nonsense"}]});
    assert_eq!(edited(PING, raw), r#"{"jsonrpc":"2.0","id":5,"result":1e999,"x":nonsense}"#);
}

#[test]
fn rename_and_double() {
    let renamed = json!({"rename": [{"at": "/result/supportedVersions", "to": "versions"}]});
    assert_eq!(edited(DISCOVER, renamed), DISCOVERED.replace("supportedVersions", "versions"));
    assert_eq!(edited(PING, json!({"rename": [{"at": "/nothing", "to": "x"}]})), PONG);
    let quoted = json!({"rename": [{"at": "/result", "to": "re\"s"}]});
    assert_eq!(edited(PING, quoted), PONG.replace("\"result\"", r#""re\"s""#));
    let escaped = json!({"rename": [{"at": "/result", "raw": "\\u0072esult"}]});
    assert_eq!(edited(PING, escaped), PONG.replace("\"result\"", "\"\\u0072esult\""));
    assert_eq!(edited(PING, json!({"double": ["/id"]})), PONG.replace("\"id\":5", "\"id\":5,\"id\":5"));
}

#[test]
fn retype() {
    let to = |text: &str| DISCOVERED.replace(r#""ttlMs":0"#, &format!(r#""ttlMs":{text}"#));
    for (kind, text) in
        [("array", "[0]"), ("boolean", "true"), ("null", "null"), ("object", "{}"), ("string", "\"0\"")]
    {
        let act = json!({"retype": [{"at": "/result/ttlMs", "as": kind}]});
        assert_eq!(edited(DISCOVER, act), to(text), "{kind}");
    }
    let number = |at: &str| json!({"retype": [{"at": at, "as": "number"}]});
    assert_eq!(edited(&PING.replace('5', "\"5\""), number("/id")), PONG);
    assert_eq!(edited(PING, number("/jsonrpc")), PONG.replace("\"2.0\"", "0"), "it spells no integer");
    assert_eq!(edited(PING, number("/nothing")), PONG);
}

#[test]
fn acts_follow_each_other_even_on_what_is_no_json() {
    let quirks = json!([
        {"act": {"set": [{"at": "/x", "raw": "nonsense"}]}},
        {"act": {"omit": ["/result"], "id": "null"}},
    ]);
    let mut server = Process::quiet(persona("dual", json!({"quirks": quirks})));
    assert_eq!(server.answer(PING), r#"{"jsonrpc":"2.0","id":null,"x":nonsense}"#);
}

#[test]
fn id_forms() {
    let with = |id: Value| edited(PING, json!({"id": id}));
    assert_eq!(with(json!("null")), PONG.replace('5', "null"));
    assert_eq!(with(json!("missing")), PONG.replace("\"id\":5,", ""));
    assert_eq!(with(json!("foreign")), PONG.replace('5', "\"nobody-asked\""));
    assert_eq!(with(json!("other-type")), PONG.replace('5', "\"5\""));
    assert_eq!(with(json!({"constant": ""})), PONG.replace('5', "\"\""));
    assert_eq!(with(json!({"constant": 4})), PONG.replace('5', "4"));
    assert_eq!(with(json!("fraction")), PONG.replace('5', "5.0"));
    assert_eq!(with(json!("exponent")), PONG.replace('5', "5e0"));
    let text = PING.replace('5', "\"5\"");
    assert_eq!(edited(&text, json!({"id": "other-type"})), PONG);
    for form in ["fraction", "exponent"] {
        assert_eq!(
            edited(&text, json!({"id": form})),
            PONG.replace('5', "\"5\""),
            "text has no other notation"
        );
    }
}

#[test]
fn lines_around_the_answer_twice_and_silence() {
    let around = json!({"before": ["a", "b"], "behind": ["c"], "twice": true});
    assert_eq!(acting(around).says(PING), ["a", "b", PONG, PONG, "c"]);
    let silent = json!({"silence": true, "before": ["a"], "twice": true});
    assert_eq!(acting(silent).says(PING), ["a"]);
    let only = quirk("dual", json!({"method": ["ping"]}), json!({"silence": true})).says(DISCOVER);
    assert_eq!(only, [DISCOVERED]);
}

#[test]
fn padding_changes_no_meaning() {
    let padded = edited(PING, json!({"pad_bytes": 1000}));
    assert_eq!(padded.len(), PONG.len() + 1000);
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(read(&padded), read(PONG));
    assert_eq!(acting(json!({"pad_bytes": 3})).line(INITIALIZED), []);
}

#[test]
fn delay_is_a_time_to_wake_at() {
    let mut server = quirk("dual", json!({"method": ["ping"]}), json!({"delay_ms": 1500}));
    assert_eq!((server.line(DISCOVER).len(), server.wake), (1, None));
    assert_eq!(server.line(PING), []);
    let due = Time::ZERO.plus_us(1_500_000);
    assert_eq!(server.wake, Some(due));
    server.now = Time::ZERO.plus_us(1_499_999);
    assert_eq!((server.tell(ServerInput::Timeout), server.wake), (vec![], Some(due)));
    server.now = due;
    assert_eq!(lines(&server.tell(ServerInput::Timeout)), [PONG]);
    assert_eq!((server.wake, server.tell(ServerInput::Timeout)), (None, vec![]));
}

#[test]
fn until_waits_for_a_method() {
    for (order, said) in
        [("before", [DISCOVERED, INITIALIZED_2025_11]), ("after", [INITIALIZED_2025_11, DISCOVERED])]
    {
        let act = json!({"until": "initialize", "until_order": order});
        let mut server = quirk("dual", json!({"method": ["server/discover"]}), act);
        assert_eq!((server.line(DISCOVER), server.wake), (vec![], None));
        assert_eq!(server.says(PING), [PONG]);
        assert_eq!(server.says(INITIALIZE), said, "{order}");
        assert!(server.says(INITIALIZED).is_empty());
    }
}

#[test]
fn what_stands_behind_an_answer_waits_with_it_and_what_stands_before_does_not() {
    let act = json!({"delay_ms": 1, "before": ["a"], "behind": ["c"], "twice": true});
    let mut server = acting(act);
    assert_eq!(server.says(PING), ["a"]);
    server.now = Time::ZERO.plus_us(1000);
    assert_eq!(lines(&server.tell(ServerInput::Timeout)), [PONG, PONG, "c"]);
    let silent = json!({"delay_ms": 1, "silence": true, "behind": ["c"]});
    let mut server = acting(silent);
    assert_eq!((server.line(PING), server.wake), (vec![], Some(Time::ZERO.plus_us(1000))));
}

#[test]
fn what_waits_dies_with_its_process() {
    let mut server = acting(json!({"delay_ms": 5}));
    server.line(PING);
    assert_eq!(server.tell(ServerInput::Eof), [Did::Exit(0)]);
    server.now = Time::ZERO.plus_us(5000);
    assert_eq!(server.tell(ServerInput::Timeout), []);
}

#[test]
fn exits_and_closing() {
    let wrote = || Did::Wrote(format!("{PONG}\n").into_bytes());
    assert_eq!(acting(json!({"exit": {"code": 3}})).line(PING), [Did::Exit(3)]);
    let after = json!({"exit": {"code": 3, "moment": "after"}});
    assert_eq!(acting(after).line(PING), [wrote(), Did::Exit(3)]);
    let killed = json!({"exit": {"signal": 9, "moment": "after"}});
    assert_eq!(acting(killed).line(PING), [wrote(), Did::Signal(9)]);
    assert_eq!(acting(json!({"close": true})).line(PING), [wrote(), Did::Closed]);
    let mut closed = quirk("dual", json!({"method": ["ping"]}), json!({"close": true, "stderr": ["x"]}));
    closed.line(PING);
    assert_eq!(closed.line(DISCOVER), [], "nothing is written after the output was closed");
    assert_eq!(closed.line(PING), [Did::Complained(b"x\n".to_vec())], "and it is closed once");
    let one = quirk("dual", json!({"method": ["ping"]}), json!({"exit": {}})).says(DISCOVER);
    assert_eq!(one, [DISCOVERED]);
}
