//! What a real server does to `probe`.

use super::DEEP;
use super::harness::Bench;

const DISCOVERED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}}"#;
const FLOOD: &str = "the server writes too much: more than 16777216 bytes were exchanged; what is no message belongs on standard error";

/// Probes a server in the shell: how it ended, and the lines that were said of it.
#[track_caller]
fn probed(script: &str, code: i32, lines: &[&str]) {
    let quick = ["--probe-timeout-ms", "1000", "--timeout-ms", "20000"];
    let args = [&["probe"][..], &quick, &["--", "sh", "-c", script]].concat();
    let ended = Bench::new().run(&args);
    assert_eq!((ended.code, ended.err.as_str()), (Some(code), ""), "{}", ended.out);
    for line in lines {
        assert!(ended.out.lines().any(|said| said.starts_with(line)), "no {line:?} in\n{}", ended.out);
    }
}

#[test]
fn a_missing_command() {
    let said = "cannot be started: No such file or directory (os error 2); check the command behind --";
    Bench::new()
        .refused(&["probe", "--", "/no/such/server", "a b"], &format!("/no/such/server 'a b': {said}"));
    Bench::new().refused(&["probe", "--", ""], &format!("'': {said}"));
}

#[test]
#[cfg_attr(debug_assertions, ignore = "slow without optimisation")]
fn a_flood() {
    let era = format!("era           unknown: {FLOOD}");
    probed("yes ''", 3, &[&era]);
    probed("yes noise", 1, &[&era, "violation     PROP-STDOUT (error)"]);
    probed("yes noise >&2", 3, &["era           unknown: no answer to initialize in time", "stderr        "]);
}

/// What it said before is told, and that it was not all.
#[test]
#[cfg_attr(debug_assertions, ignore = "slow without optimisation")]
fn a_flood_after_a_good_answer() {
    let said = [&format!("cut off       {FLOOD}"), "era           modern", "version       2026-07-28"];
    probed(&format!("read x; echo '{DISCOVERED}'; yes ''"), 1, &said);
    let notice = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
    probed(&format!("read x; echo '{DISCOVERED}'; yes '{notice}'"), 3, &said);
}

#[test]
fn a_line_of_100_mb() {
    let script = r#"printf '{"a":"'; head -c 104857600 /dev/zero | tr '\0' a; printf '"}\n'; sleep 60"#;
    let issue = r#"issue         TooLong at "/a" (byte 4194304 of line 1)"#;
    probed(script, 3, &[&format!("era           unknown: {FLOOD}"), issue]);
}

#[test]
fn invalid_utf_8() {
    let script = r"read x; printf '{\042caf\351\042:1}\n'; read x; exit 1";
    let issue = r#"issue         NotUtf8 at "" (byte 5 of line 1)"#;
    probed(
        script,
        1,
        &["era           unknown: no answer to initialize in time", issue, "violation     PROP-STDOUT"],
    );
}

#[test]
fn one_hundred_thousand_levels_of_nesting() {
    let brackets = |bracket: char| format!("head -c {DEEP} /dev/zero | tr '\\0' '{bracket}'");
    let (open, shut) = (brackets('['), brackets(']'));
    let script = format!(
        r#"read x; printf '{{"jsonrpc":"2.0","id":1,"result":'; {open}; {shut}; printf '}}\n'; read x"#
    );
    // It leaves when `initialize` has come.
    let left = "violation     PROP-ALIVE (error): it exits while its client waits for an answer";
    probed(&script, 1, &["era           unknown: ", r#"issue         TooDeep at "/result/0/0/"#, left]);
}

/// A list of versions as long as a message may be, and twice, so that no two are compared too often.
#[test]
fn a_million_versions() {
    let script = r#"read x
        list() { printf '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"'
        awk "BEGIN { for (i = 0; i < 400000; i++) printf \",\\\"$1%d\\\"\", i }"
        printf '],"capabilities":{},"ttlMs":0,"cacheScope":"private"}}\n'; }
        list a; list b; read x; echo '{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","tools":[]}}'; read x"#;
    probed(script, 0, &["era           modern", "it lists      2026-07-28, a0, a1, a2"]);
}
