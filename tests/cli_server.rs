//! `server`: our own personas as real servers, before odd clients.

#![cfg(unix)]
#![expect(clippy::panic, clippy::unwrap_used, reason = "helpers of tests may be blunt")]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const EXE: &str = env!("CARGO_BIN_EXE_mcp-parley");
const OPENINGS: [&str; 9] = [
    "unknown-notification",
    "invalid-utf8",
    "batch",
    "initialize-version-null",
    "initialize-after-discover",
    "meta-empty",
    "cancels-nothing",
    "version-header-legacy",
    "session-ended",
];

fn server(folder: &Path, openings: &[&str], rest: &[&str]) -> Output {
    let mut command = Command::new(EXE);
    command.args(["server", "--jobs", "4", "--out"]).arg(folder);
    openings.iter().for_each(|opening| {
        command.args(["--opening", opening]);
    });
    command.args(rest).output().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

#[test]
fn a_correct_server_is_clean_over_both_transports_and_its_table_is_the_same_twice() {
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("results.md");
    let results = results.to_str().unwrap();
    std::fs::write(results, "# What real clients do\n\nkept\n").unwrap();
    for persona in ["modern", "dual", "legacy"] {
        let stdio = ["--results", results, "--", EXE, "serve", "stdio", "--persona", persona];
        let output = server(folder.path(), &OPENINGS, &stdio);
        assert_eq!(output.status.code(), Some(0), "{persona} {output:?}");
        let first = std::fs::read_to_string(results).unwrap();
        assert!(first.starts_with("# What real clients do\n\nkept\n\n# What real servers do\n"), "{first}");
        assert!(
            first.contains("unknown-notification") && !first.contains("version-header-legacy"),
            "{first}"
        );
        assert_eq!(server(folder.path(), &OPENINGS, &stdio).status.code(), Some(0));
        assert_eq!(std::fs::read_to_string(results).unwrap(), first);
        let url = "http://127.0.0.1:{port}/mcp";
        let http =
            ["--format", "json", url, "--", EXE, "serve", "http", "--persona", persona, "--port", "{port}"];
        let output = server(folder.path(), &OPENINGS, &http);
        assert_eq!(output.status.code(), Some(0), "{persona} {output:?}");
        let runs = json(&output)["servers"][0]["runs"].as_array().unwrap().clone();
        assert_eq!(runs.len(), OPENINGS.len());
        assert!(runs.iter().all(|run| run["verdict"] == "judged"), "{runs:?}");
    }
}

#[test]
fn a_server_that_exits_is_found_and_its_trace_shows_it_again() {
    let folder = tempfile::tempdir().unwrap();
    let openings = ["unknown-method"];
    let output = server(
        folder.path(),
        &openings,
        &["--format", "json", "--", EXE, "serve", "stdio", "--persona", "exiting"],
    );
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let finding = json(&output)["servers"][0]["findings"][0].clone();
    assert_eq!((&finding["id"], &finding["subject"]), (&"PROP-ALIVE".into(), &"server".into()), "{finding}");
    let replay = Command::new(EXE).arg("replay").arg(finding["file"].as_str().unwrap()).output().unwrap();
    assert_eq!(replay.status.code(), Some(1), "{replay:?}");
}

#[test]
fn what_is_not_there_is_said_and_nothing_is_judged() {
    let folder = tempfile::tempdir().unwrap();
    let output = server(folder.path(), &["ping-first"], &["--", "/nonexistent/server"]);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("cannot start /nonexistent/server"),
        "{output:?}"
    );
    let usage = |rest: &[&str], said: &str| {
        let output = server(folder.path(), &["ping-first"], rest);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(said), "{output:?}");
    };
    usage(&[], "say which server");
    usage(&["--transport", "http", "--", "x"], "say the URL as well");
    usage(&["ftp://x"], "not a URL");
    usage(&["--opening", "ping-frist", "--", "x"], "ping-first");
}
