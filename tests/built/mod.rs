//! Other builds of this workspace, for tests that need one. Cargo gives its lock back before it runs tests, so that it can
//! be started from one.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Builds one program into the target folder of this build, and says where it is.
pub(crate) fn built(args: &[&str], environment: &[(&str, &Path)]) -> PathBuf {
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
