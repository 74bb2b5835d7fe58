//! What others say of our own sides: the official conformance suite of our servers and our client, and three SDKs of every
//! persona that is a correct server. `.ci/run` installs them and runs this.
#![cfg(unix)]
#![expect(clippy::panic, clippy::unwrap_used, reason = "these helpers are part of the tests")]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

const EXE: &str = env!("CARGO_BIN_EXE_mcp-parley");

/// The personas that are correct servers, whatever way they write. What cannot be
/// played over one transport is met over the other.
const CORRECT: [&str; 16] = [
    "modern",
    "modern-ttl",
    "legacy",
    "legacy-oldest",
    "dual",
    "dual-lists-legacy",
    "escaped-members",
    "split-writes",
    "slow-writes",
    "stderr-chatter",
    "http-stateless",
    "http-streams",
    "sse-forms",
    "sse-line-ends",
    "sse-pieces",
    "header-forms",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")
}

/// A persona over HTTP; it ends with the value.
struct Served(Child, String);

impl Served {
    /// `None` if it cannot be played over HTTP.
    fn new(persona: &str) -> Option<Self> {
        let mut command = Command::new(EXE);
        command.args(["serve", "http", "--persona", persona]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let served = Self(child, line.trim_end().to_owned());
        (!served.1.is_empty()).then_some(served)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs the suite; everything that applies must pass.
#[track_caller]
fn conforms(words: &[&str]) {
    let output = Command::new(folder().join("conformance/run")).args(words).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{words:?}\n{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("pass  ") && said.ends_with("all applicable scored checks passed\n"), "{said}");
}

#[test]
#[ignore = "needs what peers/install installs"]
fn the_conformance_suite_passes_on_our_servers() {
    for (persona, options) in [
        ("modern", &["--revision", "2026-07-28"][..]),
        ("legacy", &["--revision", "2025-11-25"]),
        ("dual", &["--dual"]),
        ("http-streams", &["--dual"]),
    ] {
        let served = Served::new(persona).unwrap();
        conforms(&[options, &["server", &served.1]].concat());
    }
}

#[test]
#[ignore = "needs what peers/install installs"]
fn the_conformance_suite_passes_on_our_client() {
    conforms(&["client", EXE, "probe"]);
}

/// The driver's line. `{server}` is the command of a persona's process.
fn connected(client: &str, key: &str, persona: &str, url: &str) -> Value {
    let text = std::fs::read_to_string(folder().join(client).with_extension("toml")).unwrap();
    let file: toml::Table = text.parse().unwrap();
    let values =
        [("{mode}", "auto"), ("{probe_timeout_ms}", "20000"), ("{timeout_ms}", "60000"), ("{url}", url)];
    let server = [EXE, "serve", "stdio", "--persona", persona];
    let mut words: Vec<String> = Vec::new();
    for word in file[key].as_array().unwrap().iter().map(|word| word.as_str().unwrap()) {
        match word {
            "{server}" => words.extend(server.map(str::to_owned)),
            word => {
                words.push(values.iter().fold(word.to_owned(), |word, (from, to)| word.replace(from, to)))
            }
        }
    }
    let output = Command::new(&words[0]).args(&words[1..]).current_dir(folder()).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{client} {persona}: {output:?}"))
}

/// What a client did with a persona.
fn outcome(line: &Value) -> Value {
    json!({ "connected": line["connected"], "tools": line["tools"], "error": line["error"] })
}

#[test]
#[ignore = "needs what peers/install installs"]
fn every_sdk_accepts_every_correct_persona() {
    // Starting an interpreter is most of it: a thread for each SDK.
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let threads = ["typescript", "python", "rust"].map(|client| scope.spawn(move || refused_by(client)));
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What this client does not accept.
fn refused_by(client: &str) -> Vec<String> {
    let good = json!({ "connected": true, "tools": 1, "error": null });
    let mut wrong = Vec::new();
    for persona in CORRECT {
        let served = Served::new(persona);
        let over_stdio = (!is_of_http(persona)).then(|| connected(client, "command", persona, ""));
        let over_http = served.as_ref().map(|served| connected(client, "http_command", persona, &served.1));
        assert!(over_stdio.is_some() || over_http.is_some(), "{persona} is played over neither transport");
        for (transport, line) in [("stdio", over_stdio), ("HTTP", over_http)] {
            if let Some(line) = line.filter(|line| outcome(line) != good) {
                wrong.push(format!("{client}, {persona} over {transport}: {line}"));
            }
        }
    }
    wrong
}

fn is_of_http(persona: &str) -> bool {
    ["http-", "sse-", "header-"].iter().any(|start| persona.starts_with(start))
}
