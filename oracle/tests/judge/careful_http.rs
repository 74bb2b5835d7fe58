//! Where a hasty judge would raise a false alarm over HTTP: whole runs, and all that is broken in them.

use crate::careful::{breaks, contests, judged};
use crate::support::View;
use mcp_parley_trace::Outcome;

const SHAKE: &str = "C> $INITIALIZE(2)
S> 200 | Mcp-Session-Id: S1 | $AGREED(2)
-- legacy 2025-11-25 S1
C> $READY
S> 202
C> GET
S> 405
C> $BARE(3)
S> sse
S> raw : alive⏎⏎
S> data $OLD_TOOLS(3)
S> end
-- settled legacy 2025-11-25
-- called well
C> DELETE
S> 405
";

fn http(lines: &str) -> String {
    format!("transport: http\n{lines}")
}

#[test]
fn a_correct_fallback_keeps_every_rule() {
    for refusal in [
        "S> 400",
        "S> 400 | content-type: text/plain | Bad Request: no session",
        "S> 400 | {\"error\":\"unknown\"}",
        "S> 400 | $ERROR(1,-32000)",
        "S> 400 | $ERROR(null,-32600)",
        "S> 404 | content-type: text/html | <p>no</p>",
        "S> 405",
        "S> 406 | $ERROR(\"server-error\",-32600)",
        "S> 200 | $ERROR(1,-32601)",
        "S> 200 | $OLD_TOOLS(1)",
        "S> 500",
        "S> 302 | Location: /elsewhere",
        "-- reset",
        "-- t 20000000\n-- close",
    ] {
        breaks(&http(&format!("C> $PROBE(1)\n{refusal}\n{SHAKE}")), &[]);
        breaks(&http(&format!("subject: server\nC> $PROBE(1)\n{refusal}\n{SHAKE}")), &[]);
    }
}

#[test]
fn a_modern_error_is_evidence_by_its_status_and_its_form() {
    let run = |answer: &str| http(&format!("C> $PROBE(1)\nS> {answer}\nC> $INITIALIZE(2)\n"));
    for answer in ["400 | $REFUSED(1)", "400 | $ERROR(1,-32020)", "400 | $ERROR(1,-32021)"] {
        breaks(&run(answer), &["ERA-07c", "ERA-02", "ERA-20", "ERA-07"]);
    }
    // The exchange names the request of an error without an id.
    let nameless = "400 | {\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32020,\"message\":\"no\"}}";
    breaks(&run(nameless), &["ERA-07c", "ERA-02", "ERA-20", "ERA-07"]);
    breaks(&run("404 | $REFUSED(1)"), &["ERA-02", "ERA-20"]);
    breaks(&run("200 | $REFUSED(1)"), &["ERA-02", "ERA-20"]);
    breaks(&run("200 | $FOUND(1)"), &["ERA-20"]);
    // A client need not have read these: the schema knows no null id, the id is another's, the media type or the status says
    // something else.
    for open in [
        "400 | $ERROR(null,-32020)",
        "400 | $ERROR(7,-32020)",
        "400 | content-type: text/plain | $REFUSED(1)",
        "401 | $REFUSED(1)",
        "403 | $ERROR(1,-32020)",
        "503 | $REFUSED(1)",
        "400 | $FOUND(1)",
    ] {
        breaks(&run(open), &[]);
    }
}

#[test]
fn giving_up_is_judged_only_where_the_refusal_is_the_one_reason() {
    let run = |answer: &str| http(&format!("C> $PROBE(1)\nS> {answer}\n-- failed\n"));
    breaks(&run("400 | $ERROR(1,-32000)"), &["ERA-08"]);
    breaks(&run("400 | content-type: text/plain | no"), &["ERA-08"]);
    breaks(&run("410"), &["ERA-10"]);
    for open in [
        "400 | $ERROR(1,-32602)",
        "400 | $ERROR(1,-32601)",
        "400 | content-type: text/plain | $ERROR(1,-32000)",
        "400 | {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":5}",
        "401",
        "403",
        "429",
        "500",
        "204",
        "head 400",
    ] {
        breaks(&run(open), &[]);
    }
    breaks(&run("400").replace("C>", "mode: modern\nC>"), &[]);
    breaks(&run("400").replace("C>", "legacy:\nC>"), &[]);
    breaks(&run("400").replace("-- failed", "C> $PROBE(2)\n-- reset\n-- failed"), &[]);
}

#[test]
fn exchanges_are_independent() {
    // Two at once, and the later one is answered first.
    let modern = "C> $PROBE(1)\nS> $FOUND(1)\nC> $LIST(2)\nC> $CALL(3,prompts/list)\nS> {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"resultType\":\"complete\",\"prompts\":[]}}\nS1> $TOOLS(2)\n";
    breaks(&http(modern), &[]);
    breaks(&http(&format!("subject: server\n{modern}")), &[]);
    // The same id again once the exchange is over, whatever came of it; and while it is open.
    breaks(&http("C> $PROBE(1)\nS> 404\nC> $INITIALIZE(1)\nS> 404\n"), &[]);
    breaks(&http("C> $PROBE(1)\nS> $FOUND(1)\nC> $LIST(2)\nC> $LIST(2)\n"), &["BASE-12"]);
    // An answer in another exchange than its request's is none.
    let crossed = "subject: server\nC> $PROBE(1)\nS> $FOUND(1)\nC> $LIST(2)\nC> $LIST(3)\nS> $TOOLS(2)\nS1> $TOOLS(3)\n";
    breaks(&http(crossed), &["BASE-04"]);
}

#[test]
fn a_new_session_begins_anew() {
    let text = format!(
        "mode: legacy\n{SHAKE}C> $BARE(4)\nS> 404\n-- legacy\nC> $INITIALIZE(2)\nS> 200 | Mcp-Session-Id: S2 | $AGREED(2)\n-- legacy 2025-11-25 S2\nC> $READY\nS> 202\nC> $BARE(3)\nS> $OLD_TOOLS(3)\n"
    );
    breaks(&http(&text), &[]);
    breaks(&http(&text.replace("mode: legacy", "subject: server")), &[]);
}

#[test]
fn the_older_transport_is_another_one() {
    let text = "mode: legacy
C> GET /sse
S> sse
S> raw event: endpoint⏎data: /messages⏎⏎
C> POST /messages | -Accept | $INITIALIZE(1,2024-11-05)
S> 202
S0> data $AGREED(1,2024-11-05)
C> POST /messages | -Accept | $READY
S> 202
C> POST /messages | -Accept | $BARE(2)
S> 202
S0> data $OLD_TOOLS(2)
-- called well
";
    let text = http(&text.replace("mode: legacy", "mode: legacy\nlegacy: 2024-11-05"));
    breaks(&text, &[]);
    let verdicts = judged(&text, View::Both);
    assert_eq!(verdicts.get("LEG-08").map(|verdict| verdict.outcome), Some(Outcome::NotApplicable));
    assert_eq!(verdicts.get("LEG-09").map(|verdict| verdict.outcome), Some(Outcome::Pass));
}

#[test]
fn what_stands_elsewhere_is_not_judged() {
    let text = "C> GET /.well-known/oauth | Accept: application/json\nS> 404\nC> $PROBE(1)\nS> $FOUND(1)\nC> POST /register | -Accept | {\"client_name\":\"a\"}\nS> 201 | {\"client_id\":\"a\"}\nC> $LIST(2)\nS> $TOOLS(2)\n";
    breaks(&http(text), &[]);
    breaks(&http(&format!("subject: server\n{text}")), &[]);
}

#[test]
fn the_stream_is_read_as_the_text_of_event_streams_has_it() {
    let run =
        |events: &str| http(&format!("C> $PROBE(1)\nS> sse\nS> raw {events}\nS> end\nC> $INITIALIZE(2)\n"));
    let found = "$FOUND(1)";
    for read in [
        format!("data:{found}⏎⏎"),
        format!("\u{feff}data: {found}⏎⏎"),
        format!(": alive⏎⏎id: 1⏎data:⏎⏎event: message⏎data: {found}⏎⏎"),
        format!("data: {found}␍␍"),
        format!("data: {found}␍⏎␍⏎"),
        "data: {\"jsonrpc\":\"2.0\",\"id\":1,⏎data: \"result\":$DISCOVER_OK(2026-07-28)}⏎⏎".to_owned(),
    ] {
        breaks(&run(&read), &["ERA-20"]);
    }
    for other in [
        format!("event: endpoint⏎data: {found}⏎⏎"),
        format!("data: {found}⏎"),
        format!("data: noise⏎⏎data: {found}⏎⏎"),
        format!("datum: {found}⏎⏎"),
    ] {
        breaks(&run(&other), &[]);
    }
}

#[test]
fn both_eras_of_one_server_are_told_apart_by_the_request() {
    let text = "subject: server
C> $INITIALIZE(1)
S> 200 | Mcp-Session-Id: S1 | $AGREED(1)
-- legacy 2025-11-25 S1
C> $READY
S> 202
C> $PROBE(2)
S> $FOUND(2,2026-07-28,2025-11-25)
C> $LIST(3,2099-01-01)
S> 400 | $REFUSED(3,2099-01-01,2026-07-28,2025-11-25)
C> $BARE(4)
S> $OLD_TOOLS(4)
C> POST | -Mcp-Session-Id | $BARE(5)
S> 400 | $ERROR(5,-32602)
C> DELETE
S> 200
C> $BARE(6)
S> 404
";
    breaks(&http(text), &[]);
    breaks(&http(&text.replace("$OLD_TOOLS(4)", "$ERROR(4,-32602)")), &["ERA-14"]);
    breaks(&http(&text.replace("S> 404", "S> 200 | $OLD_TOOLS(6)")), &["LEG-21"]);
}

#[test]
fn a_loop_of_streams_is_a_defect_unless_the_server_sets_its_pace() {
    let once = "C> GET\nS> 500\n";
    let head = "mode: legacy\nC> $INITIALIZE(1)\nS> $AGREED(1)\n-- legacy 2025-11-25\nC> $READY\nS> 202\n";
    breaks(&http(&format!("{head}{}", once.repeat(30))), &["PROP-RETRY"]);
    breaks(&http(&format!("{head}{}", once.repeat(15))), &[]);
    let paced = "C> GET\nS> sse\nS> raw retry: 1⏎⏎\nS> end\n";
    breaks(&http(&format!("{head}{}", paced.repeat(30))), &[]);
}

#[test]
fn what_is_open_is_contested_as_it_was_seen() {
    let run = |answer: &str, next: &str| http(&format!("C> $PROBE(1)\n{answer}\n{next}\n"));
    for (answer, id) in
        [("S> 403", "AMB-08"), ("S> 204", "AMB-08"), ("S> 200 | content-type: text/html | hi", "AMB-08")]
    {
        contests(&run(answer, "C> $INITIALIZE(2)"), id, "fall-back");
        contests(&run(answer, "-- failed"), id, "fail");
    }
    contests(&run("-- t 20000000\n-- close", "C> $INITIALIZE(2)"), "AMB-09", "fall-back");
    contests(&run("S> 404 | $ERROR(1,-32601)", "C> $INITIALIZE(2)"), "AMB-28", "fall-back");
    contests(&run("S> 404", "C> $INITIALIZE(2)"), "AMB-33", "initialize-first");
}

#[test]
fn a_session_that_the_server_changes_or_has_just_ended_is_not_the_clients_fault() {
    let changed = "mode: legacy
C> $INITIALIZE(1)
S> 200 | Mcp-Session-Id: S1 | $AGREED(1)
-- legacy 2025-11-25 S1
C> $READY
S> 202 | Mcp-Session-Id: S2
-- legacy 2025-11-25 S2
C> $BARE(2)
S> $OLD_TOOLS(2)
";
    breaks(&http(changed), &[]);
    // Two on their way at once, and the first meets the end of the session.
    let crossed = "mode: legacy
C> $INITIALIZE(1)
S> 200 | Mcp-Session-Id: S1 | $AGREED(1)
-- legacy 2025-11-25 S1
C> $READY
S> 202
C> $BARE(2)
S> 404
C> $BARE(3)
S> 404
";
    let verdicts = judged(&http(crossed), View::CounterpartOnly);
    assert_eq!(verdicts.get("LEG-21").map(|verdict| verdict.is_broken()), Some(false));
    let verdicts =
        judged(&http(&crossed.replace("S> 404\nC>", "S> 404\n-- t 900000\nC>")), View::CounterpartOnly);
    assert_eq!(verdicts.get("LEG-21").map(|verdict| verdict.is_broken()), Some(true));
}

/// Found by the TypeScript and the Rust SDK: neither can send these back.
#[test]
fn what_is_no_session_id_need_not_come_back() {
    let run = |id: &str| {
        format!(
            "mode: legacy\nC> $INITIALIZE(1)\nS> 200 | Mcp-Session-Id: {id} | $AGREED(1)\n-- legacy 2025-11-25\nC> $READY\nS> 202\n"
        )
    };
    breaks(&http(&run("")), &[]);
    breaks(&http(&run("é")), &[]);
    breaks(&http(&run("two words")), &[]);
    breaks(&http(&run("S1")), &["LEG-20"]);
}

/// Found by the TypeScript SDK: it answers a ping that came before the InitializeResult.
#[test]
fn a_response_to_what_was_asked_before_the_session_is_not_of_it() {
    let run = |posted: &str| {
        format!(
            "mode: legacy\nC> $INITIALIZE(1)\nS> sse\nS> data {{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}}\nS> data $AGREED(1)\nS> end\nC> {posted}\nS> 202\n"
        )
    };
    breaks(&http(&run("POST | -Mcp-Protocol-Version | {\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}")), &[]);
    breaks(&http(&run("POST | -Mcp-Protocol-Version | $READY")), &["LEG-05"]);
}

/// A server that counts its sessions from one again has given out the same id twice.
#[test]
fn a_session_id_that_is_given_again_names_the_new_session() {
    let again = "mode: legacy
C> $INITIALIZE(1)
S> 200 | Mcp-Session-Id: S1 | $AGREED(1)
-- legacy 2025-11-25 S1
C> $READY
S> 202
C> $BARE(2)
S> 404
C> POST | -Mcp-Session-Id | $INITIALIZE(3)
S> 200 | Mcp-Session-Id: S1 | $AGREED(3)
-- legacy 2025-11-25 S1
C> $READY
S> 202
";
    breaks(&http(again), &[]);
}

#[test]
fn another_connection_of_the_client_is_another_one() {
    let run = |probe: &str| {
        format!(
            "C> $PROBE(0)\nS> 404\nC> $INITIALIZE(1)\nS> 200 | Mcp-Session-Id: S1 | $AGREED(1)\n-- legacy 2025-11-25 S1\nC> $READY\nS> 202\n{probe}\nS> 404\n"
        )
    };
    breaks(&http(&run("C> $PROBE(2)")), &["ERA-11"]);
    breaks(&http(&run("C> DELETE\nS> 200\nC> $PROBE(2)")), &[]);
    breaks(&http(&run("C> POST | Mcp-Session-Id: S1 | $PROBE(2)")), &["PROP-ONE-ERA", "ERA-11"]);
}

#[test]
fn a_refusal_below_json_rpc_says_nothing_of_the_envelope() {
    let open = "subject: server\nC> $PROBE(1)\nS> $FOUND(1)\nC> POST | Accept: text/html | $LIST(2)\n";
    for refusal in [
        "S> 406 | $ERROR(\"server-error\",-32600)",
        "S> 403 | {\"error\":\"forbidden\"}",
        "S> 413 | content-type: text/plain | too large",
        "S> 400 | {\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"no\"}}",
    ] {
        breaks(&http(&format!("{open}{refusal}\n")), &[]);
    }
    breaks(&http(&format!("{open}S> {{\"error\":\"forbidden\"}}\n")), &["BASE-01", "BASE-05", "BASE-06"]);
    breaks(
        &http(&format!(
            "{open}S> {{\"jsonrpc\":\"2.0\",\"error\":{{\"code\":-32603,\"message\":\"no\"}}}}\n"
        )),
        &["BASE-05"],
    );
}

#[test]
fn what_is_written_when_the_client_has_gone_never_reaches_it() {
    let late = http("C> $PROBE(1)\n-- t 20000000\n-- close\nS> $FOUND(1)\nC> $INITIALIZE(2)\n");
    let verdicts = judged(&late, View::CounterpartOnly);
    assert_eq!(verdicts.get("ERA-20").map(|verdict| verdict.outcome), Some(Outcome::NotApplicable));
    let verdict = verdicts.get("AMB-09").expect("a check");
    assert_eq!((verdict.outcome, verdict.observed), (Outcome::Contested, "fall-back"));
    let early = http("C> $PROBE(1)\n-- t 20000000\nS> $FOUND(1)\n-- close\nC> $INITIALIZE(2)\n");
    let broken = judged(&early, View::CounterpartOnly).get("ERA-20").map(|verdict| verdict.is_broken());
    assert_eq!(broken, Some(false), "it comes after the longest wait, and may have crossed what follows");
    let early = early.replace("20000000", "2000");
    let broken = judged(&early, View::CounterpartOnly).get("ERA-20").map(|verdict| verdict.is_broken());
    assert_eq!(broken, Some(true));
}

#[test]
fn an_answer_without_a_head_proves_nothing() {
    let run = |answer: &str| {
        http(&format!("C> $INITIALIZE(1)\nS> raw {answer}⏎\nC> $BARE(2)\n-- server closes 0\n"))
    };
    breaks(&run("$AGREED(1)"), &[]);
    breaks(&run("HTTP/1.0 200⏎⏎$AGREED(1)"), &[]);
}
