//! Commands on the pages. A block tagged `console` or `sh` is run, in one folder a page, with `mcp-parley` on the path.
//!
//! Three kinds are not run here and say so behind the tag: `http` (the test of their page runs them), `cargo` (they build; `cargo run`
//! is run as the command it starts) and `sdk` (they need an SDK, or a program of the reader's own). Of them, and of commands within the text, the names are checked.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::page::{self, Page};

pub(crate) const EXE: &str = env!("CARGO_BIN_EXE_mcp-parley");
/// A hunt on a page is cut to so many seeds: these tests run an unoptimised program.
const SEEDS: u64 = 1000;

#[test]
fn every_command_is_run_and_prints_what_the_page_shows() {
    std::thread::scope(|scope| {
        for page in page::all() {
            scope.spawn(move || run_page(&page));
        }
    });
}

fn run_page(page: &Page) {
    let folder = tempfile::tempdir().unwrap();
    for block in &page.blocks {
        match (block.tag.as_str(), block.why.as_str()) {
            ("console", "") => {
                for shown in block.shown() {
                    let at = page.at(shown.line);
                    let said = run(folder.path(), &shown.command, shown.exit, &at);
                    let mut rest = said.lines();
                    for line in shown.output.iter().filter(|line| line.trim() != "…") {
                        let found = rest.any(|said| is_like(said.trim_end(), line.trim_end()));
                        assert!(found, "{at}: no line {line:?} in its place in\n{said}");
                    }
                }
            }
            ("sh", "") => {
                run(folder.path(), &block.lines.join("\n"), 0, &page.at(block.line));
            }
            ("sh", "cargo") => {
                for command in
                    block.lines.iter().filter_map(|line| line.strip_prefix("cargo run --release -- "))
                {
                    run(folder.path(), &format!("mcp-parley {command}"), 0, &page.at(block.line));
                }
            }
            // Their own test runs these.
            ("console", "http") => {}
            ("console" | "sh", "sdk") => {}
            ("text" | "json" | "toml" | "yaml" | "rust" | "mermaid" | "markdown", "") => {}
            (tag, why) => panic!("{}: nobody knows what to do with `{tag} {why}`", page.at(block.line)),
        }
    }
}

pub(crate) fn run(folder: &Path, script: &str, exit: i32, at: &str) -> String {
    let path = format!("{}:{}", Path::new(EXE).parent().unwrap().display(), std::env::var("PATH").unwrap());
    let script = shorter(script);
    let output = Command::new("sh")
        .args(["-e", "-c", &format!("exec 2>&1\n{script}")])
        .current_dir(folder)
        .env("PATH", path)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(exit), "{at}: {script}\n{said}");
    said
}

/// The same script with no hunt of more than [`SEEDS`] seeds.
fn shorter(script: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in script.split(' ') {
        match words.last().map(String::as_str) {
            Some("hunt") if !script.contains("--seeds") => words.push(format!("--seeds {SEEDS}")),
            Some("--seeds") => {
                let (from, to) = word.split_once("..").unwrap_or(("0", word));
                if let (Ok(from), Ok(to)) = (from.parse::<u64>(), to.parse::<u64>()) {
                    words.push(format!("{from}..{}", to.min(from + SEEDS)));
                    continue;
                }
            }
            _ => {}
        }
        words.push(word.to_owned());
    }
    if words.last().is_some_and(|word| word == "hunt") {
        words.push(format!("--seeds {SEEDS}"));
    }
    words.join(" ")
}

/// `…` in a page's line stands for anything.
pub(crate) fn is_like(said: &str, shown: &str) -> bool {
    let mut parts = shown.split('…');
    let mut rest = match said.strip_prefix(parts.next().unwrap_or_default()) {
        Some(rest) => rest,
        None => return false,
    };
    let mut open = false;
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
        open = part.is_empty();
    }
    rest.is_empty() || open
}

#[test]
fn a_shown_line_is_like_a_said_one_only_if_it_is() {
    assert!(is_like("  28 runs, 988 a CPU second", "  28 runs, … a CPU second"));
    assert!(is_like("abc", "abc") && is_like("abc", "a…") && is_like("abc", "…c"));
    assert!(!is_like("  27 runs, 988 a CPU second", "  28 runs, … a CPU second"));
    assert!(!is_like("abcd", "abc") && !is_like("ab", "…c") && !is_like("xab", "ab"));
}

#[test]
fn a_hunt_is_cut_short_and_nothing_else_is_touched() {
    assert_eq!(shorter("mcp-parley hunt"), "mcp-parley hunt --seeds 1000");
    assert_eq!(shorter("mcp-parley hunt --out x"), "mcp-parley hunt --seeds 1000 --out x");
    assert_eq!(shorter("mcp-parley hunt --seeds 7..99999 | cat"), "mcp-parley hunt --seeds 7..1007 | cat");
    assert_eq!(shorter("mcp-parley hunt --seeds 5"), "mcp-parley hunt --seeds 0..5");
    assert_eq!(shorter("mcp-parley list personas"), "mcp-parley list personas");
}

/// The words of `--help` of a subcommand; `serve` has one for each transport.
fn help(subcommand: &str, next: Option<&str>) -> Option<String> {
    let transport = next.filter(|_| subcommand == "serve");
    let words: Vec<&str> = [subcommand].into_iter().chain(transport).chain(["--help"]).collect();
    let output = Command::new(EXE).args(words).output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

/// What is wrong with the names in a command, where nothing more can be checked.
fn misnamed(command: &str) -> Option<String> {
    let command = command.split(" -- ").next().unwrap_or_default().split(" | ").next().unwrap_or_default();
    let mut words = command.split_whitespace();
    let subcommand = words.next()?;
    let Some(help) = help(subcommand, words.clone().next()) else {
        return Some(format!("there is no command {subcommand}"));
    };
    let flags =
        words.filter(|word| word.starts_with("--")).map(|word| word.split('=').next().unwrap_or(word));
    flags.filter(|flag| *flag != "--help").find_map(|flag| {
        let known = help.split_whitespace().any(|word| word.trim_end_matches(',') == flag);
        (!known).then(|| format!("{subcommand} has no {flag}"))
    })
}

#[test]
fn commands_that_are_not_run_name_what_exists() {
    let benches = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap();
    for page in page::all() {
        let blocks = page.blocks.iter().filter(|block| !block.why.is_empty() || block.tag == "yaml");
        let lines = blocks.flat_map(|block| (block.line..).zip(block.lines.iter().map(|line| line.trim())));
        for (line, command) in lines.chain(page.spans()) {
            let at = page.at(line);
            let command = command.trim_start_matches("$ ").trim_start_matches("cargo run --release -- ");
            if let Some(name) = command.strip_prefix("cargo bench --bench ") {
                let name = name.split(' ').next().unwrap_or_default();
                assert!(benches.contains(&format!("name = \"{name}\"\nharness")), "{at}: no bench {name}");
            }
            let ours = command
                .strip_prefix("mcp-parley ")
                .or_else(|| command.starts_with("hunt --").then_some(command));
            if let Some(why) = ours.filter(|ours| !ours.starts_with('-')).and_then(misnamed) {
                panic!("{at}: {why}");
            }
        }
    }
}

#[test]
fn a_wrong_name_in_a_command_is_seen() {
    assert_eq!(misnamed("hunt --seeds 9 --out DIR -- x --frob"), None);
    assert_eq!(misnamed("hunt --frob"), Some("hunt has no --frob".into()));
    assert_eq!(misnamed("serve http --port 1"), None);
    assert_eq!(misnamed("serve stdio --port 1"), Some("serve has no --port".into()));
    assert_eq!(misnamed("shrink FILE"), Some("there is no command shrink".into()));
}
