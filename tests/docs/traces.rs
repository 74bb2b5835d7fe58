//! `docs/traces.md`: its example is a trace with the verdicts that the judge gives, and its tables name every member and kind.

use std::collections::BTreeSet;
use std::path::Path;

use mcp_parley_oracle::Judge;
use mcp_parley_trace::{Channel, Era, Kind, Node, ReadOptions, Recording, TraceFile, read, write};
use serde_json::Value;

use crate::page::Page;

fn page() -> Page {
    Page::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/traces.md"))
}

fn example() -> (String, TraceFile) {
    let page = page();
    let block = page.blocks.iter().find(|block| block.tag == "json").unwrap();
    let text = block.lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let file = read(text.as_bytes(), ReadOptions::default()).unwrap();
    (text, file)
}

#[test]
fn the_example_is_what_the_writer_writes() {
    let (text, file) = example();
    let mut again = Vec::new();
    write(&mut again, &file.header, &file.recording, file.footer.as_ref()).unwrap();
    assert_eq!(String::from_utf8(again).unwrap(), text);
    let bytes: Vec<&[u8]> = file.recording.events().iter().map(|event| file.recording.bytes(event)).collect();
    assert_eq!(bytes[5], b"\xff\xfe\n");
}

#[test]
fn the_examples_verdicts_are_the_judges() {
    let (_, file) = example();
    let mut judge = Judge::new();
    let header = &file.header;
    let verdicts = judge.judge(&file.recording, &header.declared, header.subject, header.transport);
    let (all, shown) = (verdicts.rulings(), file.footer.unwrap().rulings);
    assert!(!shown.is_empty() && shown.iter().all(|ruling| all.contains(ruling)), "{all:#?}");
}

#[test]
fn replay_shows_todays_verdicts_and_not_the_files() {
    let (text, _) = example();
    let (start, _) = text.split_once("{\"rulings\"").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.jsonl");
    std::fs::write(&file, format!("{start}{{\"rulings\":[],\"decisions\":[],\"hash\":\"\"}}\n")).unwrap();
    let args = ["replay".as_ref(), file.as_os_str()];
    let said = std::process::Command::new(env!("CARGO_BIN_EXE_mcp-parley")).args(args).output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.contains("✗ ERA-22 violation: `initialize` asks for a modern version"), "{said}");
}

/// The first cell of every row of the page's tables, without back-ticks.
fn named() -> BTreeSet<String> {
    let page = page();
    let rows = page.prose().filter(|line| line.starts_with("| `"));
    let names = rows.filter_map(|line| line.split('|').nth(1).map(str::to_owned)).collect::<Vec<_>>();
    names
        .iter()
        .flat_map(|cell| cell.split(','))
        .map(|name| name.trim().trim_matches('`').to_owned())
        .collect()
}

#[test]
fn every_member_that_is_written_has_a_row() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let args = ["hunt", "--client", "mutant:falls-back-after-32022", "--out", &out];
    let hunt = std::process::Command::new(env!("CARGO_BIN_EXE_mcp-parley")).args(args).output().unwrap();
    assert_eq!(hunt.status.code(), Some(1));
    let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(file).unwrap() + &example().0;
    let mut written = BTreeSet::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        written.extend(line.as_object().unwrap().keys().cloned());
        written.extend(line["declared"].as_object().into_iter().flatten().map(|(name, _)| name.clone()));
        let rulings = line["rulings"].as_array().into_iter().flatten();
        written.extend(rulings.flat_map(|ruling| ruling.as_object().unwrap().keys().cloned()));
    }
    let columns = ["code", "signal", "era", "ok", "complete"].map(str::to_owned);
    let known: BTreeSet<String> = named().into_iter().chain(columns).collect();
    assert!(written.len() > 25, "{written:?}");
    assert!(written.is_subset(&known), "{:?}", written.difference(&known));
}

/// All kinds; the match makes sure that a new one is added here.
fn kinds() -> Vec<Kind> {
    use Kind::*;
    let all = vec![
        Spawn,
        Up,
        SpawnFailed,
        Write,
        Stderr,
        Read,
        Close,
        Eof,
        WriteFailed,
        WriteHead,
        ReadHead,
        WriteEnd,
        ReadEnd,
        Reset,
        Refused,
        Exit(3),
        Signal(9),
        Settled(Era::Modern),
        Failed,
        Downgraded,
        Called(true),
        FaultsOff,
        Stuck,
        End(true),
    ];
    for kind in &all {
        match kind {
            Spawn | Up | SpawnFailed | Write | Stderr | Read | Close | Eof | WriteFailed | Exit(_)
            | Signal(_) | Settled(_) | Failed | Downgraded | Called(_) | FaultsOff | Stuck | End(_)
            | WriteHead | ReadHead | WriteEnd | ReadEnd | Reset | Refused => {}
        }
    }
    all
}

#[test]
fn every_kind_has_a_row_with_its_member() {
    let page = page();
    let rows: Vec<Vec<String>> = page
        .prose()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect())
        .filter(|cells: &Vec<String>| cells.len() == 6)
        .collect();
    let mut recording = Recording::new();
    for kind in kinds() {
        recording.push(0, Node::Client, Channel::None, kind, None, b"");
    }
    let mut text = Vec::new();
    write(&mut text, &example().1.header, &recording, None).unwrap();
    let text = String::from_utf8(text).unwrap();
    for line in text.lines().skip(1) {
        let event: Value = serde_json::from_str(line).unwrap();
        let kind = event["kind"].as_str().unwrap();
        let row = rows.iter().find(|cells| cells[1] == kind).unwrap_or_else(|| panic!("no row for {kind}"));
        let members = event.as_object().unwrap().keys();
        let more: Vec<&str> = members
            .map(String::as_str)
            .filter(|name| !["seq", "t_us", "node", "kind", "cause_seq"].contains(name))
            .collect();
        assert_eq!(row[3], more.join(" "), "{kind}");
    }
    assert_eq!(rows.iter().filter(|cells| cells[1] != "kind").count(), kinds().len());
}
