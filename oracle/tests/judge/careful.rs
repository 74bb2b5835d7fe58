//! Where a hasty judge would raise a false alarm, or name the wrong rule: whole runs, and all that is broken in them.

use crate::support::{Script, View, expand};
use mcp_parley_oracle::{Judge, Severity, Verdicts};
use mcp_parley_trace::{Channel, Kind, Node, Outcome, Recording};

pub(crate) fn judged(text: &str, view: View) -> Verdicts {
    let script = Script::parse(text);
    let take = script.record(view);
    assert_eq!(take.marked, None, "nothing is marked here");
    let mut judge = Judge::new();
    judge.judge(&take.recording, &script.declared, script.subject, script.transport).clone()
}

fn broken(verdicts: &Verdicts) -> Vec<&'static str> {
    verdicts.iter().filter(|(_, verdict)| verdict.is_broken()).map(|(id, _)| id).collect()
}

/// From both ends, and from the counterpart's only.
#[track_caller]
pub(crate) fn breaks(text: &str, expected: &[&str]) {
    for view in [View::Both, View::CounterpartOnly] {
        assert_eq!(broken(&judged(text, view)), expected, "{view:?}");
    }
}

#[track_caller]
pub(crate) fn contests(text: &str, id: &str, observed: &str) {
    for view in [View::Both, View::CounterpartOnly] {
        let verdicts = judged(text, view);
        let verdict = verdicts.get(id).expect("a check");
        assert_eq!((verdict.outcome, verdict.observed), (Outcome::Contested, observed), "{view:?}");
        assert_eq!(broken(&verdicts), [] as [&str; 0], "{view:?}");
    }
}

#[test]
fn a_disposable_probe_process_is_part_of_the_same_run() {
    let modern = "
C> $PROBE(0)
S> $FOUND(0)
-- close
-- exit 0
-- start
C> $LIST(1)
S> $TOOLS(1)
-- settled modern 2026-07-28
-- called well
-- close
-- exit 0
";
    breaks(modern, &[]);
    let legacy = "
C> $PROBE(0)
S> $ERROR(0,-32601)
-- close
-- exit 0
-- start
C> $INITIALIZE(0)
S> $AGREED(0)
C> $READY
C> $BARE(1)
S> $OLD_TOOLS(1)
-- settled legacy 2025-11-25
";
    breaks(legacy, &[]);
    breaks(&modern.replace("$LIST(1)", "$BARE(1)"), &["NEG-01", "META-01", "META-20"]);
}

#[test]
fn a_fallback_after_a_modern_error_is_named_by_era_04_and_what_follows_is_listed() {
    for error in ["$ERROR(1,-32020)", "$ERROR(1,-32021)", "$REFUSED(1)", "$REFUSED(1,2026-07-28,2025-11-25)"]
    {
        let text = format!(
            "C> $PROBE(1)\nS> {error}\nC> $INITIALIZE(2)\nS> $AGREED(2)\nC> $READY\n-- settled legacy 2025-11-25\n"
        );
        breaks(&text, &["ERA-04", "ERA-02", "ERA-20"]);
        let finding = judged(&text, View::Both).finding().expect("a finding");
        assert_eq!(finding.id, "ERA-04");
        assert_eq!(finding.follows, ["ERA-02", "ERA-20"]);
        assert_eq!(finding.severity, Severity::Error);
        assert_eq!(finding.message_kind, "initialize request");
    }
}

#[test]
fn only_a_common_legacy_version_in_a_discover_result_leaves_the_handshake_open() {
    let run = |answer: &str| format!("C> $PROBE(1)\nS> {answer}\nC> $INITIALIZE(2)\n");
    contests(&run("$FOUND(1,2025-11-25)"), "AMB-01", "handshake");
    contests("C> $PROBE(1)\nS> $FOUND(1,2025-11-25)\n-- failed\n", "AMB-01", "report");
    contests(
        &format!("modern: unknown\nlegacy: unknown\n{}", run("$FOUND(1,2025-11-25)")),
        "AMB-01",
        "handshake",
    );
    breaks(&run("$FOUND(1,2099-01-01)"), &["ERA-03", "ERA-20"]);
    breaks(&run("$FOUND(1,2024-11-05)"), &["ERA-03", "ERA-20"]);
    breaks(&run("$FOUND(1,2025-11-25,2026-07-28)"), &["ERA-03", "ERA-20"]);
    breaks(&run("$REFUSED(1,2026-07-28,2025-11-25)"), &["ERA-04", "ERA-02", "ERA-20"]);
}

#[test]
fn an_odd_unsupported_error_proves_nothing() {
    for data in [
        "",
        ",\"data\":{}",
        ",\"data\":{\"supported\":[],\"requested\":\"2026-07-28\"}",
        ",\"data\":{\"supported\":[\"2026-07-28\"]}",
    ] {
        let text = format!(
            "C> $PROBE(1)\nS> {{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{{\"code\":-32022,\"message\":\"no\"{data}}}}}\nC> $INITIALIZE(2)\n"
        );
        contests(&text, "AMB-03", "by-shape");
    }
}

#[test]
fn what_is_no_discover_result_beyond_doubt_does_not_forbid_the_fallback() {
    for result in [
        "{}",
        r#"{"resultType":"novel","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"public"}"#,
        r#"{"resultType":"complete","supportedVersions":[],"capabilities":{},"ttlMs":0,"cacheScope":"public"}"#,
        r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"ttlMs":0,"cacheScope":"public"}"#,
        r#"{"supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"public"}"#,
        r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"shared"}"#,
        r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":null},"ttlMs":0,"cacheScope":"public"}"#,
        r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":1}},"ttlMs":0,"cacheScope":"public"}"#,
        r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":1}}}"#,
        r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":1e400,"cacheScope":"public"}"#,
        r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":9007199254740992,"cacheScope":"public"}"#,
    ] {
        breaks(
            &format!(
                "C> $PROBE(1)\nS> {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{result}}}\nC> $INITIALIZE(2)\n"
            ),
            &[],
        );
    }
    let without_ttl = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"cacheScope":"public"}"#;
    let text = format!(
        "C> $PROBE(1)\nS> {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{without_ttl}}}\nC> $INITIALIZE(2)\n"
    );
    breaks(&text, &["ERA-03", "ERA-20"]);
    for held in ["-1", "9007199254740991", "36e5"] {
        let with_ttl = without_ttl.replace("{}", &format!("{{}},\"ttlMs\":{held}"));
        breaks(&text.replace(without_ttl, &with_ttl), &["ERA-03", "ERA-20"]);
    }
    let switched =
        without_ttl.replace("{}", r#"{"tools":{"listChanged":true},"extensions":{"org.example/x":{}}}"#);
    breaks(&text.replace(without_ttl, &switched), &["ERA-03", "ERA-20"]);
}

#[test]
fn a_broken_envelope_proves_nothing() {
    for answer in [
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32021}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":"-32021","message":"no"}}"#,
        r#"{"jsonrpc":"1.0","id":1,"error":{"code":-32021,"message":"no"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":-32021,"message":"no"}}"#,
        r#"{"jsonrpc":"2.0","id":"1","error":{"code":-32021,"message":"no"}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32021,"message":"no"}}"#,
    ] {
        breaks(&format!("C> $PROBE(1)\nS> {answer}\nC> $INITIALIZE(2)\n"), &[]);
        breaks(&format!("C> $PROBE(1)\nS> {answer}\n-- failed\n"), &[]);
    }
}

#[test]
fn an_answer_that_the_client_need_not_have_read_proves_nothing() {
    let run = |before: &str, answer: &str, end: &str| format!("C> $PROBE(1)\n{before}S> {answer}\n{end}");
    let falls_back = "-- t 5000000\nC> $INITIALIZE(2)\n";
    for (answer, ids) in [
        ("$FOUND(1)", &["ERA-03", "ERA-20"][..]),
        ("$REFUSED(1)", &["ERA-04", "ERA-02", "ERA-20"]),
        ("$ERROR(1,-32020)", &["ERA-04", "ERA-02", "ERA-20"]),
    ] {
        breaks(&run("", answer, falls_back), ids);
        breaks(&run("", &answer.replace("(1", "(1.0"), falls_back), &[]);
        breaks(&run("", &answer.replace("(1", "(10e-1"), falls_back), &[]);
        for noise in ["log: starting", "log: \u{fffd}", "", "[]", "7", "{\"level\":\"info\"}"] {
            breaks(&run(&format!("S> {noise}\n"), answer, falls_back), &[]);
            breaks(&run("", &format!("{noise}\u{240a}{answer}"), falls_back), &[]);
            breaks(&run("", &format!("{answer}\nS> {noise}"), falls_back), ids);
            breaks(&run("", &format!("{answer}\u{240a}{noise}"), falls_back), ids);
        }
    }
    let refused = "modern: 2027-01-01, 2026-07-28\nC> $PROBE(1,2027-01-01)\nS> $REFUSED(1,2027-01-01,2026-07-28)\n-- failed\n";
    breaks(refused, &["NEG-03"]);
    breaks(&refused.replace("$REFUSED(1,", "$REFUSED(1.0,"), &[]);
}

#[test]
fn a_client_that_falls_back_on_one_code_only_is_told_from_one_that_never_does() {
    let gives_up = |answer: &str| format!("C> $PROBE(1)\n{answer}-- failed\n");
    breaks(&gives_up("S> $ERROR(1,-32600)\n"), &["ERA-06"]);
    breaks(&gives_up("S> $ERROR(1,-32004)\n"), &["ERA-06"]);
    breaks(&gives_up("S> $ERROR(1,7)\n"), &["ERA-06"]);
    breaks(&gives_up("S> $ERROR(1,-32601)\n"), &["ERA-05"]);
    breaks(&gives_up("-- t 5000000\n"), &["ERA-05"]);
    contests(&gives_up("S> $ERROR(1,-32602)\n"), "AMB-11", "modern");
}

#[test]
fn giving_up_has_other_reasons_than_the_answer() {
    for disturbed in [
        "C> $PROBE(1)\n-- failed\n",
        "C> $PROBE(1)\n-- exit 1\n-- t 5000000\n-- failed\n",
        "C> $PROBE(1)\nS> noise\n-- t 5000000\n-- failed\n",
        "C> $PROBE(1)\nS> $ERROR(1,-32000)\n-- exit 0\n-- failed\n",
        "C> $PROBE(1)\nS> $ERROR(null,-32000)\n-- t 5000000\n-- failed\n",
        "legacy:\nC> $PROBE(1)\nS> $ERROR(1,-32000)\n-- failed\n",
        "mode: modern\nC> $PROBE(1)\nS> $ERROR(1,-32000)\n-- failed\n",
        "mode: unknown\nC> $PROBE(1)\nS> $ERROR(1,-32000)\n-- failed\n",
        "reports: no\nC> $PROBE(1)\n-- t 5000000\n-- close\n",
        "reports: no\nC> $PROBE(1)\nS> $ERROR(1,-32000)\n-- close\n-- cut\n",
    ] {
        breaks(disturbed, &[]);
    }
    breaks("reports: no\nC> $PROBE(1)\nS> $ERROR(1,-32000)\n-- close\n-- exit 0\n", &["ERA-06"]);
    breaks("reports: no\nC> $PROBE(1)\n-- t 10000000\n-- close\n-- exit 0\n", &["ERA-05"]);
}

/// The probe's answer is on its way when `initialize` is sent.
fn crossing(answer: &str, counterpart_only: bool) -> Recording {
    let mut run = Recording::new();
    let pipe = Channel::Process(0);
    let probe = format!("{}\n", expand("$PROBE(1)"));
    let initialize = format!("{}\n", expand("$INITIALIZE(2)"));
    let answer = format!("{}\n", expand(answer));
    let steps = [
        (0, Node::Client, Kind::Write, &probe),
        (0, Node::Server, Kind::Read, &probe),
        (10_000_000, Node::Server, Kind::Write, &answer),
        (10_000_001, Node::Client, Kind::Write, &initialize),
        (10_000_002, Node::Client, Kind::Read, &answer),
        (10_000_003, Node::Server, Kind::Read, &initialize),
    ];
    for (t_us, node, kind, line) in steps {
        if !(counterpart_only && node == Node::Client) {
            run.push(t_us, node, pipe, kind, None, line.as_bytes());
        }
    }
    run.push(10_000_004, Node::Harness, Channel::None, Kind::End(true), None, b"");
    run
}

#[test]
fn what_was_not_received_yet_forbids_nothing() {
    let script = Script::parse("");
    let mut judge = Judge::new();
    for answer in ["$FOUND(1)", "$REFUSED(1)", "$ERROR(1,-32020)"] {
        for counterpart_only in [false, true] {
            let run = crossing(answer, counterpart_only);
            let verdicts = judge.judge(&run, &script.declared, script.subject, script.transport);
            assert_eq!(broken(verdicts), [] as [&str; 0], "{answer} {counterpart_only}");
        }
    }
}

#[test]
fn a_late_result_may_be_ignored_or_remembered() {
    let start = "C> $PROBE(1)\n-- t 5000000\nC> $INITIALIZE(2)\nS> $FOUND(1)\n";
    contests(&format!("{start}S> $AGREED(2)\nC> $READY\n-- settled legacy 2025-11-25\n"), "AMB-21", "ignore");
    let upgrade =
        format!("{start}S> $ERROR(2,-32601)\n-- settled modern 2026-07-28\nC> $LIST(3)\nS> $TOOLS(3)\n");
    contests(&upgrade, "AMB-21", "upgrade-before-use");
}

#[test]
fn a_late_refusal_may_be_ignored() {
    let late = |between: &str| {
        format!(
            "modern: 2027-01-01, 2026-07-28\nC> $PROBE(1,2027-01-01)\n-- t 5000000\n{between}S> $REFUSED(1,2027-01-01,2026-07-28)\n-- t 15000000\n-- failed\n"
        )
    };
    breaks(&late("C> $INITIALIZE(2)\n"), &[]);
    breaks(&late("C> $CANCEL(1)\n"), &[]);
    breaks(&late("C> $CANCEL(7)\n"), &["NEG-03", "CANC-09"]);
    breaks(&late(""), &["NEG-03"]);
}

#[test]
fn an_answer_behind_a_byte_order_mark_may_be_read() {
    let run = |mark: &str| {
        format!("mode: legacy\nC> $INITIALIZE(1)\nS> {mark}$AGREED(1)\nC> $READY\nC> $BARE(2)\n")
    };
    breaks(&run("\u{feff}"), &[]);
    breaks(&run("?"), &["LEG-10"]);
    let fallback =
        |mark: &str| format!("C> $PROBE(1)\nS> {mark}$ERROR(1,-32601)\nC> $INITIALIZE(2)\nS> $AGREED(2)\n");
    contests(&fallback("?"), "AMB-21", "no-cancel");
    let marked = judged(&fallback("\u{feff}"), View::Both);
    assert_eq!(marked.get("AMB-21").expect("a check").outcome, Outcome::NotApplicable);
}

#[test]
fn the_way_back_from_a_refused_handshake_is_legal() {
    let text = "
C> $PROBE(1)
-- t 5000000
C> $INITIALIZE(2)
S> $REFUSED(2,2025-11-25,2026-07-28)
C> $PROBE(3)
S> $FOUND(3)
-- settled modern 2026-07-28
C> $LIST(4)
S> $TOOLS(4)
-- called well
";
    breaks(text, &[]);
}

#[test]
fn an_era_that_is_known_from_before_needs_no_probe() {
    breaks("C> $INITIALIZE(1)\nS> $AGREED(1)\nC> $READY\n-- settled legacy 2025-11-25\n", &[]);
    breaks("C> $LIST(1)\nS> $TOOLS(1)\n-- called well\n", &[]);
}

#[test]
fn a_ping_is_answered_in_a_session_and_contested_with_the_probe_open() {
    let pong = "C> {\"jsonrpc\":\"2.0\",\"id\":\"s1\",\"result\":{}}\n";
    let corrected =
        format!("C> $PROBE(1)\nS> $REFUSED(1)\nC> $PROBE(2)\nS> $BARE(\"s1\",ping)\n{pong}S> $FOUND(2)\n");
    contests(&corrected, "AMB-32", "answer-ping");
    contests("C> $PROBE(1)\nS> $BARE(\"s1\",ping)\nS> $FOUND(1)\n", "AMB-32", "silent");
    breaks(&format!("C> $INITIALIZE(1)\nS> $AGREED(1)\nC> $READY\nS> $BARE(\"s1\",ping)\n{pong}"), &[]);
}

#[test]
fn a_response_that_nobody_can_place_frees_the_id() {
    breaks("C> $PROBE(1)\nS> $ERROR(null,-32601)\nC> $INITIALIZE(1)\n", &[]);
    breaks("C> $PROBE(1)\nS> $ERROR(1,-32601)\nC> $INITIALIZE(1)\n", &[]);
    breaks("C> $PROBE(1)\n-- exit 1\n-- start\nC> $INITIALIZE(1)\n", &[]);
}

#[test]
fn a_foreign_id_settles_nothing() {
    breaks("C> $PROBE(1)\nS> $FOUND(\"1\")\n-- settled modern 2026-07-28\n", &["PROP-ID"]);
    breaks("C> $INITIALIZE(1)\nS> $AGREED(9)\nC> $READY\n-- settled legacy 2025-11-25\n", &["PROP-ID"]);
    let call = "C> $PROBE(1)\nS> $FOUND(1)\n-- settled modern 2026-07-28\nC> $LIST(2)\nS> $TOOLS(3)\n";
    breaks(&format!("{call}-- called well\n"), &["PROP-ID"]);
    breaks(&format!("{call}-- called badly\n"), &[]);
    breaks(&format!("{call}S> $TOOLS(2)\n-- called well\n"), &[]);
}

#[test]
fn a_mutant_without_reports_is_found_by_what_it_sends() {
    let novel = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"novel","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"public"}}"#;
    breaks(&format!("reports: no\nC> $PROBE(1)\nS> {novel}\nC> $LIST(2)\n"), &["BASE-09"]);
    breaks("reports: no\nC> $PROBE(1)\nS> $FOUND(2)\nC> $LIST(2)\n", &["PROP-ID"]);
    breaks(
        "C> $PROBE(1)\nS> $ERROR(1)\nC> $INITIALIZE(2)\nS> $AGREED(2)\nC> $READY\nC> $PROBE(3)\n",
        &["PROP-ONE-ERA", "ERA-11"],
    );
}

#[test]
fn a_modern_version_in_the_handshake_is_named_by_era_22_though_another_rule_has_the_stronger_word() {
    let verdicts = judged("C> $INITIALIZE(1,2026-07-28)\n", View::Both);
    let finding = verdicts.finding().expect("a finding");
    assert_eq!((finding.id, finding.severity), ("ERA-22", Severity::Error));
    assert_eq!(finding.follows, ["LEG-01"]);
}

#[test]
fn endless_probing_is_found_however_it_goes() {
    let silent: String = (1..=9).map(|id| format!("C> $PROBE({id})\n-- t {}\n", id * 5_000_000)).collect();
    let verdicts = judged(&silent, View::Both);
    assert_eq!(broken(&verdicts), ["PROP-RETRY"]);
    let restarts: String = (1..=9).map(|id| format!("C> $PROBE({id})\n-- exit 1\n-- start\n")).collect();
    assert_eq!(broken(&judged(&restarts, View::Both)), ["PROP-RETRY"]);
}

#[test]
fn a_flood_is_judged_up_to_a_limit_in_bounded_time() {
    let mut run = Recording::new();
    let pipe = Channel::Process(0);
    let line = format!("{}\n", expand("$PROBE(1)"));
    run.push(0, Node::Client, pipe, Kind::Write, None, line.as_bytes());
    run.push(0, Node::Server, pipe, Kind::Read, None, line.as_bytes());
    let flood = "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n".repeat(20_000);
    run.push(1, Node::Server, pipe, Kind::Write, None, flood.as_bytes());
    run.push(1, Node::Client, pipe, Kind::Read, None, flood.as_bytes());
    run.push(9_000_000, Node::Client, Channel::None, Kind::Failed, None, b"");
    run.push(9_000_001, Node::Harness, Channel::None, Kind::End(true), None, b"");
    let script = Script::parse("");
    let mut judge = Judge::new();
    let verdicts = judge.judge(&run, &script.declared, script.subject, script.transport);
    assert_eq!(broken(verdicts), [] as [&str; 0]);
    assert!(verdicts.applied() > 0);
}

#[test]
fn a_signal_right_after_the_end_of_the_input_is_no_wait() {
    let run = |wait: u32| format!("C> $PROBE(1)\nS> $FOUND(1)\n-- close\n-- t {wait}\n-- signal 15\n");
    breaks(&run(99_000), &["STDIO-10"]);
    breaks(&run(2_000_000), &[]);
}

#[test]
fn a_probe_process_that_the_client_kills_has_not_gone_by_itself() {
    let run = |end: &str| {
        format!("C> $PROBE(1)\n-- t 5000000\n{end}\n-- start\nC> $INITIALIZE(2)\nS> $AGREED(2)\n")
    };
    let killed = run("-- signal 9");
    breaks(&killed, &["STDIO-10"]);
    for view in [View::Both, View::CounterpartOnly] {
        assert_eq!(
            judged(&killed, view).get("AMB-05").map(|seen| seen.outcome),
            Some(Outcome::NotApplicable)
        );
    }
    contests(&run("-- dies 9"), "AMB-05", "restart-legacy");
}

#[test]
fn what_the_supervisor_kills_after_a_standstill_is_not_the_clients_doing() {
    let verdicts = judged("C> $PROBE(1)\nS> $FOUND(1)\n-- stuck\n-- signal 15\n", View::CounterpartOnly);
    assert!(!broken(&verdicts).contains(&"STDIO-10"));
}

#[test]
fn what_could_not_be_started_need_not_exit() {
    let run = |second: &str| {
        format!(
            "subject: server\nC> $INITIALIZE(1)\nS> $AGREED(1)\n-- exit 0\n{second}\n-- close\n-- t 9000000\n-- end\n"
        )
    };
    let broken_by = |second: &str| broken(&judged(&run(second), View::Both));
    assert_eq!(broken_by("-- start fails"), [] as [&str; 0]);
    assert_eq!(broken_by("-- start"), ["STDIO-07"]);
}
