//! Where a hasty judge would raise a false alarm about a server.

use crate::careful::breaks;

#[test]
fn an_answer_under_another_id_and_a_second_one_are_the_servers_fault() {
    let served = |lines: &str| format!("subject: server\n{lines}");
    let after = "C> $INITIALIZE(2)\nS> $AGREED(2)\nC> $READY\nC> $BARE(3)\nS> $OLD_TOOLS(3)\n";
    breaks(&served(&format!("C> $PROBE(1)\nS> $FOUND(\"1\")\n{after}")), &["BASE-04"]);
    breaks(&served(&format!("C> $PROBE(1)\nS> $FOUND(\"nobody\")\n{after}")), &["BASE-04"]);
    breaks(&served("C> $PROBE(1)\nS> $FOUND(1)\nS> $FOUND(1)\n"), &["BASE-01"]);
    // The client uses an id again, whose answer it has.
    breaks(&served("C> $PROBE(1)\nS> $FOUND(1)\nC> $LIST(1)\nS> $TOOLS(1)\n"), &[]);
    // Without a mark of the era nobody knows that the server is a modern one.
    breaks(&served(&format!("C> $PROBE(1)\nS> $ERROR(\"1\")\n{after}")), &[]);
    // Before any probe there is nothing that it could answer.
    breaks(&served(&format!("S> $FOUND(9)\nC> $PROBE(1)\nS> $ERROR(1)\n{after}")), &[]);
}

#[test]
fn a_correct_server_of_both_eras_keeps_every_rule() {
    let text = "
subject: server
C> $BARE(0)
S> $ERROR(0,-32600)
C> $PROBE(1)
S> $FOUND(1,2026-07-28,2025-11-25)
C> $LIST(2,1999-01-01)
S> $REFUSED(2,1999-01-01,2026-07-28,2025-11-25)
C> $LIST(3,2025-11-25)
S> $REFUSED(3,2025-11-25,2026-07-28,2025-11-25)
C> $CALL(4,nothing/known)
S> $ERROR(4,-32601)
C> nonsense
S> $ERROR(null,-32700)
C> $INITIALIZE(5,1999-01-01)
S> $AGREED(5,2025-11-25)
C> $READY
C> $BARE(6)
S> $OLD_TOOLS(6)
C> $INITIALIZE(7)
S> $ERROR(7,-32600)
C> $LIST(8)
S> $ERROR(8,-32600)
-- close
-- exit 0
";
    breaks(text, &[]);
}

#[test]
fn a_correct_modern_server_keeps_every_rule() {
    let text = r#"
subject: server
C> {"jsonrpc":"2.0","id":0,"method":"server/discover"}
S> $ERROR(0,-32602)
C> $INITIALIZE(1)
S> {"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}}
C> $READY
C> $PROBE("a")
S> $FOUND("a")
C> $PROBE("b",2025-11-25)
S> $REFUSED("b",2025-11-25)
C> {"jsonrpc":"2.0","id":1.5,"method":"server/discover"}
S> {"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}
C> [$PROBE(7)]
S> $ERROR(null,-32600)
C> $CANCEL("a")
C> $CALL(8,ping)
S> $ERROR(8,-32601)
-- close
-- exit 0
"#;
    breaks(text, &[]);
}

#[test]
fn a_legacy_server_owes_nothing_to_the_modern_era() {
    let text = "
subject: server
C> $PROBE(1)
S> {\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":\"x\"}}
C> $LIST(2)
S> $OLD_TOOLS(2)
S> $BARE(9,ping)
C> $INITIALIZE(3)
S> $AGREED(3)
C> $READY
C> $BARE(4)
S> $ERROR(4,-32042)
";
    breaks(text, &[]);
}

#[test]
fn a_list_of_legacy_versions_alone_makes_no_modern_server() {
    let run = |listed: &str| {
        let data = format!("{{\"supported\":[{listed}],\"requested\":\"2025-11-25\"}}");
        let refusal = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{{\"code\":-32602,\"message\":\"no\",\"data\":{data}}}}}"
        );
        format!(
            "subject: server\nC> $PROBE(1,2027-01-01)\nS> $ERROR(1,-32601)\nC> $INITIALIZE(2)\nS> {refusal}\n"
        )
    };
    breaks(&run("\"2024-11-05\""), &[]);
    breaks(&run("\"2024-11-05\",\"2026-07-28\""), &["NEG-02"]);
}

#[test]
fn what_the_old_method_answers_is_open_and_what_the_new_ones_answer_is_not() {
    let answered = |method: &str| {
        format!(
            "subject: server\nC> $PROBE(1)\nS> $FOUND(1)\nC> $CALL(2,{method})\nS> {{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{{}}}}\n"
        )
    };
    breaks(&answered("ping"), &[]);
    breaks(&answered("resources/list"), &["BASE-08"]);
}

#[test]
fn an_offer_is_owed_to_a_sound_initialize_only() {
    let refused = |capabilities: &str| {
        format!(
            "subject: server\nC> {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{{\"protocolVersion\":\"1999-01-01\",\
             \"capabilities\":{capabilities},\"clientInfo\":{{\"name\":\"a\",\"version\":\"1\"}}}}}}\nS> $ERROR(1,-32603)\n\
             C> $INITIALIZE(2)\nS> $AGREED(2)\n"
        )
    };
    breaks(&refused(r#"{"roots":{},"unknown":true}"#), &["LEG-03"]);
    breaks(&refused(r#"{"roots":true}"#), &[]);
}

#[test]
fn a_server_may_leave_but_not_in_the_face_of_a_question() {
    let leaves = |before: &str| format!("subject: server\nC> $PROBE(1)\nS> $FOUND(1)\n{before}-- exit 0\n");
    breaks(&leaves(""), &[]);
    breaks(&leaves("C> $LIST(2)\nS> $TOOLS(2)\n"), &[]);
    breaks(&leaves("C> $LIST(2)\n"), &["PROP-ALIVE"]);
    breaks(&leaves("C> $LIST(2)\n-- close\n"), &[]);
}
