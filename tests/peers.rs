//! `probe` on real servers: what each is known to be, down to its capabilities. `.ci/run` installs them and runs this.

#![expect(clippy::panic, clippy::unwrap_used, reason = "these helpers are part of the tests")]

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// What `probe` says of the server that a peer file starts.
fn probed(peer: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
    let file: toml::Table =
        std::fs::read_to_string(folder.join(peer).with_extension("toml")).unwrap().parse().unwrap();
    let words: Vec<&str> =
        file["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    let output = Command::new(env!("CARGO_BIN_EXE_mcp-parley"))
        .args(["probe", "--format", "json", "--probe-timeout-ms", "60000", "--timeout-ms", "90000", "--"])
        .args(words)
        .current_dir(folder)
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

#[track_caller]
fn is(peer: &str, era: &str, version: &str, capabilities: &[&str]) {
    let said = probed(peer);
    let seen = json!({
        "era": said["era"], "version": said["version"], "versions": said["versions"],
        "capabilities": said["capabilities"], "called": said["called"],
        "issues": said["issues"], "violations": said["violations"],
    });
    let known = json!({
        "era": era, "version": version, "versions": [version], "capabilities": capabilities, "called": true,
        "issues": [], "violations": [],
    });
    assert_eq!(seen, known, "{said}");
}

#[test]
#[ignore = "needs what peers/install installs"]
fn the_servers_of_both_sdks_are_modern() {
    is("typescript-server", "modern", "2026-07-28", &["tools"]);
    is("python-server", "modern", "2026-07-28", &["prompts", "resources", "tools"]);
}

#[test]
#[ignore = "needs what peers/install installs"]
fn the_everything_server_is_legacy() {
    let capabilities = ["tools", "prompts", "resources", "logging", "tasks", "completions"];
    is("everything-server", "legacy", "2025-11-25", &capabilities);
}
