//! `docs/limits.md`: each file that it names gives the issue and the meaning that stand beside it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use mcp_parley_negotiation::classify::{ReplyKind, classify_reply};
use mcp_parley_negotiation::issue::IssueSink;
use mcp_parley_negotiation::limits::Limits;
use mcp_parley_negotiation::version::Preferences;

use crate::page::Page;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/fuzz/classify/named")
}

/// File, issue and meaning of each row that names a file.
fn rows() -> Vec<[String; 3]> {
    let page = Page::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/limits.md"));
    let cells =
        |line: &str| line.split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect::<Vec<_>>();
    let rows = page.prose().map(cells).filter(|cells| cells.len() == 6 && cells[2].ends_with(".json"));
    rows.map(|cells| [cells[2].clone(), cells[3].clone(), cells[4].clone()]).collect()
}

fn seen(bytes: &[u8]) -> (Vec<String>, &'static str) {
    let mut issues = IssueSink::new();
    let reply = classify_reply(bytes, &Preferences::all(), &Limits::DEFAULT, &mut issues);
    let meaning = match reply.kind {
        ReplyKind::Discovered(_) => "discovered",
        ReplyKind::UnsupportedVersion(_) => "unsupported version",
        ReplyKind::ModernError(_) => "modern error",
        ReplyKind::OtherError(_) => "other error",
        ReplyKind::OtherResult(_) => "other result",
        ReplyKind::Broken => "broken response",
        ReplyKind::Request(_) | ReplyKind::Notification(_) => "no response",
        ReplyKind::NotAMessage => "no message",
    };
    (issues.issues().iter().map(|issue| format!("{:?}", issue.id)).collect(), meaning)
}

#[test]
fn every_file_gives_the_issue_and_the_meaning_beside_it() {
    let rows = rows();
    assert!(rows.len() > 25, "{rows:?}");
    let mut wrong = Vec::new();
    for [file, issue, meaning] in rows {
        let bytes = std::fs::read(folder().join(&file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let (issues, means) = seen(&bytes);
        let expected: Vec<String> =
            issue.split(", ").filter(|issue| *issue != "–").map(str::to_owned).collect();
        if (&issues, means) != (&expected, &*meaning) {
            wrong.push((file, issues, means));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_issue_that_the_reader_can_give_has_a_row() {
    let named: BTreeSet<String> = rows().into_iter().map(|[_, issue, _]| issue).collect();
    // The reader's own, before it knows what the message means; `TooLong` has a row without a file.
    let readers =
        ["NotJson", "TooDeep", "NotUtf8", "ByteOrderMark", "NotANumber", "LoneSurrogate", "CarriageReturn"];
    for issue in readers {
        assert!(named.contains(issue), "{issue}");
    }
}

#[test]
fn the_other_bounds_are_those_of_the_crates() {
    use mcp_parley_trace::{MAX_CHUNK_BYTES, MAX_DATA_BYTES, MAX_EVENTS, MAX_HEADER_BYTES, MAX_LINE_BYTES};
    let page = Page::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/limits.md"));
    let bounds = mcp_parley_hosts::Bounds::default();
    let mib = |bytes: usize| format!("{} MiB", bytes >> 20);
    let (header, line) = (mib(MAX_HEADER_BYTES), mib(MAX_LINE_BYTES));
    let (chunk, data) = (mib(MAX_CHUNK_BYTES), mib(MAX_DATA_BYTES));
    for bound in [
        IssueSink::KEPT.to_string(),
        mcp_parley_sim::MAX_EVENTS.to_string(),
        format!("{} messages", Limits::DEFAULT.batch),
        format!("{} KiB", Limits::SESSION_ID_BYTES >> 10),
        Limits::ASIDES.to_string(),
        format!("{} s", Limits::LINGER_US / 1_000_000),
        format!("{header}, {line}, {chunk}, {data}, {MAX_EVENTS}"),
        format!("{}, {}, {}", mib(bounds.data_bytes), bounds.events, bounds.processes),
    ] {
        let row = page.prose().any(|line| line.ends_with(&format!("| {bound} |")));
        assert!(row, "{bound}");
    }
}

#[test]
fn a_message_may_be_as_long_as_the_page_says_and_no_longer() {
    let good = std::fs::read(folder().join("discover-good.json")).unwrap();
    let padded = |length: usize| [good.clone(), vec![b' '; length - good.len()]].concat();
    assert_eq!(seen(&padded(4 << 20)), (vec![], "discovered"));
    assert_eq!(seen(&padded((4 << 20) + 1)), (vec!["TooLong".to_owned()], "no message"));
}
