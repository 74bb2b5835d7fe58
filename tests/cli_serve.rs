//! `serve` and `probe` together: a persona as a real process, and what a polite client makes of it.

#![expect(clippy::unwrap_used, reason = "these helpers are part of the tests")]

use std::process::{Command, Output};
use std::sync::Mutex;

use serde_json::Value;

const EXE: &str = env!("CARGO_BIN_EXE_mcp-parley");

fn parley(args: &[&str]) -> Output {
    Command::new(EXE).args(args).output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

/// The one line that says what is wrong.
#[track_caller]
fn refused(args: &[&str], exit: i32, word: &str) {
    let output = parley(args);
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(code(&output), exit, "{args:?}: {said}");
    assert!(said.lines().count() == 1 && said.contains(word), "{args:?}: {said}");
}

/// The whole probe of a persona: exit code and what was printed.
fn probed(exe: &str, persona: &str) -> (i32, Value) {
    let output = Command::new(EXE)
        .args(["probe", "--format", "json", "--probe-timeout-ms", "4000"])
        .args(["--", exe, "serve", "stdio", "--persona", persona])
        .output()
        .unwrap();
    (code(&output), serde_json::from_slice(&output.stdout).unwrap())
}

/// Personas whose era no probe can tell, whatever their profile.
const UNTOLD: &[&str] = &[
    "alternating-lists",
    "content-length",
    "disjoint",
    "error-header-mismatch",
    "error-missing-capability",
    "exits-at-first-bytes",
    "exits-at-start",
    "foreign-id-only",
    "fractional-code",
    "late-modern-only",
    "legacy-only-list",
    "legacy-refuses",
    "no-common-version",
    "no-counter-offer",
    "odd-list",
    "refuses-always",
    "refuses-initialize",
    "refuses-once",
    "restarts-as-legacy",
    "silent",
    "unended-lines",
    "unknown-result-type",
];

#[test]
fn every_persona_is_told_by_its_era_or_by_the_reason_and_leaves_no_process() {
    let list = parley(&["list", "personas", "--format", "json"]);
    let mut personas: Vec<Value> = serde_json::from_slice(&list.stdout).unwrap();
    personas.retain(|persona| persona["stdio"] == true);
    assert!(personas.len() > 40);
    let folder = tempfile::tempdir().unwrap();
    let exe = folder.path().join("parley").display().to_string();
    std::os::unix::fs::symlink(EXE, &exe).unwrap();
    let waiting = Mutex::new(personas.iter());
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                loop {
                    let Some(persona) = waiting.lock().unwrap().next() else { break };
                    told(&exe, persona);
                }
            });
        }
    });
    assert_eq!(running(&exe), Vec::<String>::new());
}

fn told(exe: &str, persona: &Value) {
    let id = persona["id"].as_str().unwrap();
    let (exit, said) = probed(exe, id);
    let era = said["era"].as_str();
    assert_eq!(era.is_none(), UNTOLD.contains(&id), "{id}: {said}");
    assert_eq!(era.is_none(), said["why"].as_str().is_some_and(|why| why.len() > 10), "{id}: {said}");
    assert!(exit == 1 || exit == if era.is_some() { 0 } else { 3 }, "{id}: {exit}, {said}");
    if let Some(profile @ ("modern" | "legacy")) = persona["profile"].as_str() {
        assert!(era.is_none_or(|era| era == profile), "{id}: {said}");
    }
}

/// The processes whose program is this one.
fn running(exe: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|process| std::fs::read(process.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).into_owned())
        .filter(|line| line.split('\0').next() == Some(exe))
        .collect()
}

#[test]
fn a_good_server_is_described() {
    let (exit, said) = probed(EXE, "dual");
    assert_eq!((exit, &said["era"], &said["version"]), (0, &"modern".into(), &"2026-07-28".into()));
    assert_eq!((&said["issues"], &said["violations"]), (&serde_json::json!([]), &serde_json::json!([])));
    let asked: Vec<_> = said["answers"].as_array().unwrap().iter().map(|answer| &answer["to"]).collect();
    assert_eq!(asked, ["server/discover", "tools/list"]);
}

#[test]
fn what_is_wrong_with_an_answer_is_pointed_at() {
    let (exit, said) = probed(EXE, "bare-discover-result");
    assert_eq!((exit, said["issues"].as_array().map(Vec::len)), (1, Some(1)), "{said}");
    assert!(said["issues"][0]["at"].is_string(), "{said}");
    let ids: Vec<_> = said["violations"].as_array().unwrap().iter().map(|row| &row["id"]).collect();
    assert!(ids.contains(&&Value::from("DISC-02")), "{said}");
}

#[test]
fn a_server_that_answers_under_another_id_or_twice_is_told_so() {
    for (persona, id) in
        [("other-id-type", "BASE-04"), ("foreign-id", "BASE-04"), ("answers-twice", "BASE-01")]
    {
        let (exit, said) = probed(EXE, persona);
        let ids: Vec<_> = said["violations"].as_array().unwrap().iter().map(|row| &row["id"]).collect();
        assert_eq!((exit, ids), (1, vec![&Value::from(id)]), "{persona}: {said}");
    }
}

#[test]
fn one_attempt_is_counted_as_one() {
    let (_, said) = probed(EXE, "refuses-once");
    let why = said["why"].as_str().unwrap();
    assert!(why.ends_with("after 1 attempt"), "{why}");
}

#[test]
fn a_command_that_is_missing_or_ends_at_once_is_said() {
    refused(&["probe", "--", "/no/such/program"], 2, "/no/such/program: cannot be started");
    let output = parley(&["probe", "--", "sh", "-c", "echo boom >&2; exit 3"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("exits with code 3") && said.contains("boom"), "{said}");
}

#[test]
fn a_bad_persona_or_choice_is_said_in_one_line() {
    let serve = |more: &[&str], word| {
        let mut args = vec!["serve", "stdio", "--persona"];
        args.extend(more);
        refused(&args, 2, word);
    };
    serve(&["nobody"], "no persona named nobody");
    serve(&["modern", "--choose", "0"], "modern has no open value");
    serve(&["error-codes", "--choose", "400"], "choices, counted from 0");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.toml");
    std::fs::write(&file, "schema = 1\nid = \"bad\"\nfrob = 1\n").unwrap();
    serve(&[&file.display().to_string()], "bad.toml");
}

#[test]
fn the_trace_of_one_process_can_be_shown() {
    let folder = tempfile::tempdir().unwrap();
    let traces = folder.path().display().to_string();
    let probe = ["probe", "--", EXE, "serve", "stdio", "--persona", "legacy-oldest", "--trace", &traces];
    assert_eq!(code(&parley(&probe)), 0);
    let file = std::fs::read_dir(&traces).unwrap().next().unwrap().unwrap().path();
    let shown = parley(&["show", &file.display().to_string()]);
    let text = String::from_utf8(shown.stdout).unwrap();
    assert!(text.contains("initialize") && text.contains("exits with code 0"), "{text}");
}
