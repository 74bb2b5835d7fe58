//! `client`: any program that starts a server is put on trial, and what it did wrong can be shown again.

#![expect(clippy::unwrap_used, reason = "these helpers are part of the tests")]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn client(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-parley"));
    command.current_dir(folder).arg("client").args(args).output().unwrap()
}

/// A client in the shell: it probes, waits for nothing, and sends `initialize` a second later.
const HASTY: &str = r#"{
    printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"sh","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}}}'
    sleep 1
    printf '%s\n' '{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"sh","version":"0"}}}'
    sleep 1
} | "$@""#;

#[test]
fn a_fallback_after_a_modern_error_is_found_written_down_and_shown_again() {
    let folder = tempfile::tempdir().unwrap();
    let personas = ["--persona", "error-header-mismatch", "--persona", "legacy"];
    let command = ["--", "sh", "-c", HASTY, "sh", "{server}"];
    let more = ["--format", "json", "--results", "R.md"];
    let output = client(folder.path(), &[&personas[..], &more, &command].concat());
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let findings = said["clients"][0]["findings"].as_array().unwrap();
    assert_eq!((findings.len(), &findings[0]["id"]), (1, &"ERA-04".into()), "{said}");
    let legacy = &said["clients"][0]["runs"][1];
    assert_eq!(
        (&legacy["persona"], &legacy["verdict"], &legacy["finding"]),
        (&"legacy".into(), &"judged".into(), &Value::Null)
    );
    let replay =
        Command::new("sh").args(["-c", findings[0]["reproduce"].as_str().unwrap()]).output().unwrap();
    assert_eq!(replay.status.code(), Some(1));
    let results = std::fs::read_to_string(folder.path().join("R.md")).unwrap();
    let row = results.lines().find(|line| line.starts_with("| error-header-mismatch |")).unwrap();
    assert!(
        row.contains("server/discover 2026-07-28, initialize 2025-11-25") && row.contains("ERA-04"),
        "{row}"
    );
    assert!(!results.contains(&folder.path().display().to_string()));
}

#[test]
fn a_client_that_never_starts_the_server_proves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let output = client(folder.path(), &["--persona", "modern", "--", "true", "{server}"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("modern: the client never started the server"), "{said}");
    let complains =
        ["--persona", "modern", "--", "sh", "-c", "echo Error: no SDK >&2; echo at x.js >&2", "{server}"];
    let said = String::from_utf8(client(folder.path(), &complains).stdout).unwrap();
    assert!(said.contains("it said: Error: no SDK\n"), "{said}");
}

#[test]
fn a_command_that_cannot_be_used_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |args: &[&str], word: &str| {
        let output = client(folder.path(), args);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.lines().count() == 1 && said.contains(word), "{said}");
    };
    refused(&["--persona", "modern", "--", "/no/such/program", "{server}"], "cannot start /no/such/program");
    refused(&["--persona", "modern", "--", "true"], "no argument {server}");
    refused(&["--persona", "nobody", "--", "true", "{server}"], "no persona named nobody");
    let server =
        "schema = 1\nname = \"s\"\nrole = \"server\"\nsdk = \"s\"\nversion = \"1\"\ncommand = [\"true\"]\n";
    std::fs::write(folder.path().join("server.toml"), server).unwrap();
    refused(&["--peer", "server.toml"], "this peer is a server");
    refused(&[], "say which client");
    refused(&["--peer", "absent.toml"], "absent.toml");
}
