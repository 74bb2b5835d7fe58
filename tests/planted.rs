//! One parser bug at a time is planted in `negotiation`: the oracle, which has a parser of its own, must catch each.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "these helpers are part of the tests")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What is planted, and the finding that shows it.
const PLANTED: [(&str, &str); 4] =
    [("duplicate-key", "PROP-ID"), ("escape", "ERA-03"), ("number", "PROP-ID"), ("id-type", "PROP-ID")];
const SEEDS: &str = "6000";

#[test]
#[ignore = "five builds; cargo test --test planted -- --ignored"]
fn a_planted_parser_bug_is_caught_by_the_oracle_and_nothing_is_without_one() {
    let folder = tempfile::tempdir().unwrap();
    let campaign = ["--package", "mcp-parley-sim", "--example", "campaign"];
    // The next build overwrites it.
    let kept = |exe: &Path, name: &str| {
        let copy = folder.path().join(name);
        fs::copy(exe, &copy).unwrap();
        copy
    };
    let mut planted = Vec::new();
    for (bug, finding) in PLANTED {
        let exe = built(&campaign, &[("RUSTC_WORKSPACE_WRAPPER", &wrapper(bug))]);
        planted.push((bug, finding, kept(&exe, bug)));
    }
    let clean = ran(&kept(&built(&campaign, &[]), "clean"));
    assert!(clean.starts_with(&format!("{SEEDS} runs, ")) && clean.ends_with(" 0 findings\n"), "{clean}");
    for (bug, finding, exe) in planted {
        let found = ran(&exe);
        assert!(found.lines().any(|line| line.starts_with(&format!("{finding} in seed "))), "{bug}: {found}");
    }
}

fn ran(exe: &Path) -> String {
    let output = Command::new(exe).arg(SEEDS).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A compiler for the workspace's own crates that plants this bug. Cargo keeps what it builds apart by the wrapper's path,
/// and shares the dependencies.
fn wrapper(bug: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("planted");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(bug);
    let script = format!(
        "#!/bin/sh\nrustc=$1\nshift\nexec \"$rustc\" \"$@\" --cfg 'planted=\"{bug}\"' -C debuginfo=0\n"
    );
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Builds one program into the target folder of this build, and says where it is.
fn built(args: &[&str], environment: &[(&str, &Path)]) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let built = Command::new(env!("CARGO"))
        .args(["build", "--locked", "--message-format", "json-render-diagnostics"])
        .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")])
        .arg("--target-dir")
        .arg(target)
        .args(args)
        .envs(environment.iter().copied())
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(built.status.success(), "cargo build {args:?} failed");
    let messages = String::from_utf8(built.stdout).unwrap();
    let executable = messages.lines().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).unwrap();
        message["executable"].as_str().map(PathBuf::from)
    });
    executable.unwrap()
}
