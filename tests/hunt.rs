//! The main job, as a user runs it: the reference client is clean, every mutant is killed as named and replayed alike.

#![expect(clippy::panic, clippy::unwrap_used, reason = "helpers of tests may be blunt")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn parley(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mcp-parley")).args(args).output().unwrap()
}

fn json(args: &[&str]) -> (i32, Value) {
    let output = parley(args);
    let text = String::from_utf8(output.stdout).unwrap();
    let value = serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!("{args:?}: {error}: {text}{}", String::from_utf8_lossy(&output.stderr));
    });
    (output.status.code().unwrap(), value)
}

fn hunt(folder: &Path, more: &[&str]) -> (i32, Value) {
    let out = folder.display().to_string();
    let mut args = vec!["hunt", "--format", "json", "--out", &out];
    args.extend(more);
    json(&args)
}

#[test]
fn the_reference_client_is_clean_and_the_hash_does_not_depend_on_the_workers() {
    let folder = tempfile::tempdir().unwrap();
    let (exit, one) = hunt(folder.path(), &["--seeds", "0..6000", "--workers", "1"]);
    assert_eq!(exit, 0, "{one}");
    let (_, two) = hunt(folder.path(), &["--seeds", "0..6000", "--workers", "2"]);
    assert_eq!((&one["hash"], &one["runs"]), (&two["hash"], &two["runs"]));
    let (_, other) = hunt(folder.path(), &["--seeds", "1..6001", "--workers", "2"]);
    assert_ne!(one["hash"], other["hash"]);
    let never: Vec<_> = states(&one).filter(|(_, runs)| *runs == 0).collect();
    assert!(never.is_empty(), "no run came to {never:?}");
    assert_eq!(one["client_states"], two["client_states"]);
}

#[test]
fn the_last_seeds_that_there_are_come_to_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let last = format!("{}..{}", u64::MAX - 300, u64::MAX);
    let (exit, last) = hunt(folder.path(), &["--seeds", &last, "--workers", "2"]);
    assert_eq!((exit, &last["runs"]), (0, &300.into()));
}

#[test]
fn a_campaign_that_is_stopped_leaves_what_it_has_found() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let args = ["hunt", "--client", "mutant:reuses-probe-id", "--max-findings", "0", "--out", &out];
    let mut hunt = Command::new(env!("CARGO_BIN_EXE_mcp-parley"))
        .args(args)
        .args(["--seeds", "4000000000"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let first = BufReader::new(hunt.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap)
        .find(|line| line.starts_with("Reproduce with"));
    assert_eq!(hunt.try_wait().unwrap(), None, "it goes on hunting");
    hunt.kill().unwrap();
    hunt.wait().unwrap();
    let file = first.unwrap().rsplit(' ').next().unwrap().to_owned();
    assert_eq!(parley(&["replay", &file]).status.code(), Some(1));
}

fn states(hunt: &Value) -> impl Iterator<Item = (&str, u64)> {
    hunt["client_states"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, runs)| (name.as_str(), runs.as_u64().unwrap()))
}

#[test]
fn states_that_a_server_cannot_lead_to_are_not_counted() {
    let folder = tempfile::tempdir().unwrap();
    let (_, modern) =
        hunt(folder.path(), &["--transport", "stdio", "--server", "persona:modern", "--seeds", "2000"]);
    for (state, runs) in states(&modern) {
        match state {
            "idle" | "starting" => assert_eq!(runs, 2000, "{state}"),
            "settled-modern" | "closed" | "failed-server-gone" => {
                assert!(0 < runs && runs < 2000, "{state}: {runs}")
            }
            "settled-legacy" | "failed-counter-offer" | "failed-policy" => assert_eq!(runs, 0, "{state}"),
            _ => {}
        }
    }
}

#[test]
fn every_mutant_is_killed_as_named_and_its_finding_is_replayed_alike() {
    let (_, mutants) = json(&["list", "mutants", "--format", "json"]);
    let mutants = mutants.as_array().unwrap();
    assert!(mutants.len() >= 15);
    for mutant in mutants {
        let (id, side) = (mutant["id"].as_str().unwrap(), mutant["side"].as_str().unwrap());
        let folder = tempfile::tempdir().unwrap();
        let (side, named) = (format!("--{side}"), format!("mutant:{id}"));
        let mut args = vec![side.as_str(), &named];
        if let Some(over) = mutant["over"].as_str() {
            args.extend(["--transport", over]);
        }
        let (exit, found) = hunt(folder.path(), &args);
        let findings = found["findings"].as_array().unwrap();
        assert_eq!((exit, findings.len()), (1, 1), "{id}: {found}");
        assert_eq!(findings[0]["id"], mutant["killed_by"], "{id}");
        let file = PathBuf::from(findings[0]["file"].as_str().unwrap());
        let (exit, again) = json(&["replay", "--format", "json", &file.display().to_string()]);
        assert_eq!((exit, &again["hash"]), (1, &findings[0]["hash"]), "{id}");
        assert_eq!(again["finding"]["id"], mutant["killed_by"], "{id}");
    }
}

#[test]
fn a_healed_finding_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let (_, found) = hunt(folder.path(), &["--client", "mutant:falls-back-after-32022"]);
    let file = PathBuf::from(found["findings"][0]["file"].as_str().unwrap());
    let text = std::fs::read_to_string(&file).unwrap();
    let healed =
        text.replace("\"fall_back_after_unsupported\":true", "\"fall_back_after_unsupported\":false");
    assert_ne!(text, healed, "the deviation stands in the file");
    std::fs::write(&file, healed).unwrap();
    let (exit, again) = json(&["replay", "--format", "json", &file.display().to_string()]);
    assert_eq!((exit, &again["finding"], &again["same_run"]), (0, &Value::Null, &Value::Bool(false)));
}

#[test]
fn bad_input_is_one_clear_line_and_exit_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let persona = write(
        "p.toml",
        "schema = 1\nid = \"p\"\ntitle = \"t\"\nsource = []\nprofile = \"modern\"\nquirk = 1\n",
    );
    let schema = write("s.toml", "schema = 9\nid = \"s\"\n");
    let trace = write("t.jsonl", "{\"schema\":\"mcp-parley/trace/9\"}\n");
    let deep = write("d.jsonl", &format!("{{\"schema\":{}", "[".repeat(100_000)));
    for (args, expected) in [
        (vec!["hunt", "--server", &persona], "p.toml: line 6: unknown field `quirk`"),
        (vec!["hunt", "--server", &schema], "s.toml: line 1: this file has schema 9"),
        (vec!["hunt", "--server", "persona:nobody"], "there is no persona named nobody"),
        (vec!["hunt", "--client", "mutant:nobody"], "there is no client mutant named nobody"),
        (vec!["hunt", "--seeds", "9..1"], "--seeds 9..1: say FROM..TO"),
        (vec!["replay", &trace], "mcp-parley/trace/9"),
        (vec!["show", &deep], "line 1"),
        (vec!["show", "/nonexistent/file"], "/nonexistent/file: cannot be read"),
        (vec!["explain", "ERA-99"], "ERA-99 is no requirement"),
        (vec!["explain", "era-04"], "did you mean ERA-04?"),
        (vec!["hunt", "--server", "late-discovery"], "no such file; `mcp-parley list personas`"),
        (vec!["hunt", "--client", "reuses-probe-id"], "did you mean mutant:reuses-probe-id?"),
    ] {
        let output = parley(&args);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(expected), "{args:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{args:?}: {said}");
    }
}

#[test]
fn output_that_nobody_takes_is_no_bug() {
    let list = |out: Stdio| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-parley"));
        let output =
            command.args(["list", "requirements"]).stdout(out).stderr(Stdio::piped()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    assert_eq!(list(writer.into()), (Some(3), String::new()));
    if let Ok(full) = std::fs::File::options().write(true).open("/dev/full") {
        let (exit, said) = list(full.into());
        assert!(exit == Some(3) && said.lines().count() == 1, "{exit:?}: {said}");
        assert!(said.starts_with("mcp-parley: standard output cannot be written: "), "{said}");
    }
}

#[test]
fn the_readme_names_every_command_persona_and_mutant() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let help = String::from_utf8(parley(&["--help"]).stdout).unwrap();
    let commands =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    for command in commands.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help") {
        assert!(readme.contains(&format!("| `{command}` |")), "the README's table lacks {command}");
    }
    let (_, personas) = json(&["list", "personas", "--format", "json"]);
    let personas = personas.as_array().unwrap();
    for persona in personas {
        let row =
            format!("| `{}` | {} |", persona["id"].as_str().unwrap(), persona["profile"].as_str().unwrap());
        assert!(readme.contains(&row), "the README's table lacks {row}");
    }
    assert_eq!(readme.matches(" | modern | ").count() + readme.matches(" | dual | ").count(), {
        let of = |profile: &str| personas.iter().filter(|persona| persona["profile"] == profile).count();
        of("modern") + of("dual")
    });
}

#[test]
fn the_bug_in_the_readme_is_what_the_command_finds() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let shown = readme.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let found = parley(&["hunt", "--client", "mutant:reuses-probe-id", "--out", &out]);
    let found = String::from_utf8(found.stdout).unwrap();
    for line in shown.lines().filter(|line| !line.starts_with("Reproduce with")) {
        assert!(found.contains(line), "{line}\nis not in\n{found}");
    }
}
