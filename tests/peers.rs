//! Real peers: what `probe` says of each server, down to its capabilities, and that every client reaches every server over HTTP.
//! `.ci/run` installs them and runs this.

#![expect(clippy::panic, clippy::unwrap_used, reason = "these helpers are part of the tests")]

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")
}

fn file(peer: &str) -> toml::Table {
    std::fs::read_to_string(folder().join(peer).with_extension("toml")).unwrap().parse().unwrap()
}

/// A command of a peer file, with what its placeholders stand for.
fn words(file: &toml::Table, key: &str, values: &[(&str, &str)]) -> Vec<String> {
    let mut words: Vec<String> =
        file[key].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect();
    for (placeholder, value) in values {
        words.iter_mut().for_each(|word| *word = word.replace(placeholder, value));
    }
    words
}

/// What `probe` says of the server that a peer file starts.
fn probed(peer: &str) -> Value {
    let words = words(&file(peer), "command", &[]);
    let output = Command::new(env!("CARGO_BIN_EXE_mcp-parley"))
        .args(["probe", "--format", "json", "--probe-timeout-ms", "60000", "--timeout-ms", "90000", "--"])
        .args(words)
        .current_dir(folder())
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

#[track_caller]
fn is(peer: &str, era: &str, version: &str, versions: &[&str], capabilities: &[&str]) {
    let said = probed(peer);
    let seen = json!({
        "era": said["era"], "version": said["version"], "versions": said["versions"],
        "capabilities": said["capabilities"], "called": said["called"],
        "issues": said["issues"], "violations": said["violations"],
    });
    let known = json!({
        "era": era, "version": version, "versions": versions, "capabilities": capabilities, "called": true,
        "issues": [], "violations": [],
    });
    assert_eq!(seen, known, "{said}");
}

#[test]
#[ignore = "needs what peers/install installs"]
fn the_servers_of_the_sdks_are_modern() {
    let modern = ["2026-07-28"];
    is("typescript-server", "modern", "2026-07-28", &modern, &["tools"]);
    is("python-server", "modern", "2026-07-28", &modern, &["prompts", "resources", "tools"]);
    let all = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
    is("rust-server", "modern", "2026-07-28", &all, &["tools"]);
}

#[test]
#[ignore = "needs what peers/install installs"]
fn the_everything_server_is_legacy() {
    let capabilities = ["tools", "prompts", "resources", "logging", "tasks", "completions"];
    is("everything-server", "legacy", "2025-11-25", &["2025-11-25"], &capabilities);
}

/// A server over HTTP, which ends at SIGTERM.
struct Served {
    process: Child,
    url: String,
}

impl Served {
    fn start(peer: &str) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
        let file = file(peer);
        let words = words(&file, "http_command", &[("{port}", &port)]);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(folder()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(format!("127.0.0.1:{port}")).is_err() {
            assert!(Instant::now() < deadline, "{peer} does not listen");
            sleep(Duration::from_millis(50));
        }
        Self { process, url: file["url"].as_str().unwrap().replace("{port}", &port) }
    }

    fn stop(mut self) {
        assert!(Command::new("kill").arg(self.process.id().to_string()).status().unwrap().success());
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.process.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "{} does not end at SIGTERM", self.url);
            sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The driver's line.
fn connected(client: &str, mode: &str, url: &str) -> Value {
    let values =
        [("{mode}", mode), ("{probe_timeout_ms}", "20000"), ("{timeout_ms}", "60000"), ("{url}", url)];
    let words = words(&file(client), "http_command", &values);
    let output = Command::new(&words[0]).args(&words[1..]).current_dir(folder()).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

#[test]
#[ignore = "needs what peers/install installs"]
fn every_client_reaches_every_server_over_http() {
    for (server, newest) in [
        ("typescript-server", "2026-07-28"),
        ("typescript-sessions-server", "2026-07-28"),
        ("python-server", "2026-07-28"),
        ("rust-server", "2026-07-28"),
        ("everything-server", "2025-11-25"),
    ] {
        let served = Served::start(server);
        for client in ["typescript", "python", "rust"] {
            for (mode, version) in [("auto", newest), ("legacy", "2025-11-25")] {
                let line = connected(client, mode, &served.url);
                assert_eq!(line["protocol_version"], version, "{client} {mode} {server}: {line}");
                assert!(line["tools"].as_u64() > Some(0), "{client} {mode} {server}: {line}");
                assert_eq!(line["error"], Value::Null, "{client} {mode} {server}: {line}");
            }
        }
        served.stop();
    }
}
