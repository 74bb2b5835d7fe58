//! Trace files.

use super::harness::{Bench, repeat};
use super::{DEEP, LONG};

const HEAD: &str = r#"{"schema":"mcp-parley/trace/1","tool":"t","revision":"2026-07-28","subject":"client","transport":"stdio","origin":"written","declared":{"mode":"auto","modern":null,"legacy":null,"longest_wait_us":null,"reports":false},"client":null,"server":null}"#;
const FOOT: &str = r#"{"rulings":[]}"#;

/// Every command that reads a trace says the same of a bad one.
#[track_caller]
fn refused(bench: &Bench, line: &str) {
    for command in [&["show"][..], &["show", "--as", "mermaid"], &["replay"]] {
        bench.refused(&[command, &["t.jsonl"]].concat(), &format!("t.jsonl: {line}"));
    }
}

#[test]
fn another_schema() {
    let bench = Bench::new();
    bench.file("t.jsonl", |out| writeln!(out, r#"{{"schema":"mcp-parley/trace/9"}}"#).unwrap());
    refused(
        &bench,
        "line 1: this file has schema \"mcp-parley/trace/9\", this version reads \"mcp-parley/trace/1\": \
         use the version of the tool that wrote it",
    );
}

#[test]
fn no_trace_at_all() {
    let bench = Bench::new();
    bench.file("t.jsonl", |_| {});
    refused(&bench, "line 1: the file is empty: a trace begins with a header line");
    bench.file("t.jsonl", |out| writeln!(out, "hello").unwrap());
    refused(
        &bench,
        "line 1: this is no trace: its first line must be a JSON object with the member \"schema\": \"mcp-parley/trace/1\"",
    );
}

/// A log as a killed process leaves it: cut between two lines, or within one.
#[test]
fn a_truncated_log() {
    let bench = Bench::new();
    let found = bench.run(&["hunt", "--client", "mutant:reuses-probe-id", "--out", "."]);
    assert_eq!(found.code, Some(1));
    let whole = std::fs::read_to_string(bench.path().join("BASE-12-seed-1.jsonl")).unwrap();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let kept = lines[..lines.len() - 1].concat();
    let last = lines.len() - 1;
    for cut in [&kept[..], &kept[..kept.len() - 3]] {
        bench.file("t.jsonl", |out| write!(out, "{cut}").unwrap());
        refused(
            &bench,
            &format!(
                "line {last}: the log is truncated: its last line is no footer; `show --allow-truncated` shows it up to here"
            ),
        );
        let shown = bench.run(&["show", "--allow-truncated", "t.jsonl"]);
        assert_eq!((shown.code, shown.err.as_str()), (Some(0), ""));
        assert!(shown.out.contains("server/discover id=1"), "{}", shown.out);
    }
}

#[test]
fn invalid_utf_8() {
    let bench = Bench::new();
    bench.file("t.jsonl", |out| out.write_all(b"{\"schema\":\"caf\xe9\"}\n").unwrap());
    refused(
        &bench,
        "line 1: not UTF-8 at byte 14 of the line: bytes that are no text are written as {\"b64\": …}",
    );
}

#[test]
fn a_line_of_100_mb() {
    let bench = Bench::new();
    for (before, line) in [(String::new(), 1), (format!("{HEAD}\n"), 2)] {
        bench.file("t.jsonl", |out| {
            write!(out, "{before}{{\"note\":\"").unwrap();
            repeat(out, b"x", LONG);
            write!(out, "\"}}\n{FOOT}\n").unwrap();
        });
        refused(&bench, &format!("line {line}: longer than 33554432 bytes: no trace has such a line"));
    }
}

#[test]
fn one_hundred_thousand_levels_of_nesting() {
    let bench = Bench::new();
    let nested = format!("{}{}", "[".repeat(DEEP), "]".repeat(DEEP));
    let header = HEAD.replace("\"server\":null", &format!("\"server\":{nested}"));
    bench.file("t.jsonl", |out| writeln!(out, "{header}\n{FOOT}").unwrap());
    refused(&bench, "line 1: bad header: nested deeper than 127 levels, at byte 368 of the line");
    let unknown = "neither an event (`seq`), a note (`note`) nor the footer (`rulings`)";
    bench.file("t.jsonl", |out| writeln!(out, "{HEAD}\n{{\"x\":{nested}}}\n{FOOT}").unwrap());
    refused(&bench, &format!("line 2: {unknown}"));
    // A message may be nested as deep as it likes: the trace only quotes it.
    let event =
        r#"{"seq":0,"t_us":0,"node":"client","process":0,"kind":"write","cause_seq":null,"data":{"t":"#;
    bench.file("t.jsonl", |out| writeln!(out, "{HEAD}\n{event}\"{nested}\\n\"}}}}\n{FOOT}").unwrap());
    let shown = bench.run(&["show", "t.jsonl"]);
    assert_eq!((shown.code, shown.err.as_str()), (Some(0), ""));
    assert!(shown.out.contains("not JSON: [[["), "{}", shown.out);
    assert_eq!(bench.run(&["replay", "t.jsonl"]).code, Some(0));
}

/// A short line may stand for much memory: as many empty messages, and as many values, as a trace can hold.
#[test]
#[cfg_attr(debug_assertions, ignore = "slow without optimisation")]
fn the_largest_trace() {
    let bench = Bench::new();
    let event = |out: &mut dyn std::io::Write, seq: u32, piece: &[u8], bytes: usize| {
        write!(out, r#"{{"seq":{seq},"t_us":0,"node":"client","process":0,"kind":"write","cause_seq":null,"data":{{"t":""#).unwrap();
        repeat(out, piece, bytes);
        writeln!(out, "\"}}}}").unwrap();
    };
    let pieces: [(&[u8], usize); 3] = [(br"\n", 6 << 20), (b"[0],", 20 << 20), (br#"{\"a\":1}\n"#, 20 << 20)];
    for (piece, bytes) in pieces {
        bench.file("t.jsonl", |out| {
            writeln!(out, "{HEAD}").unwrap();
            for seq in 0..3 {
                event(out, seq, piece, bytes / piece.len() * piece.len());
            }
            writeln!(out, "{FOOT}").unwrap();
        });
        let shown = bench.run(&["show", "t.jsonl"]);
        assert_eq!((shown.code, shown.err.as_str()), (Some(0), ""));
        let again = bench.run(&["replay", "t.jsonl"]);
        assert!(matches!(again.code, Some(0 | 1)), "{:?}: {}", again.code, again.err);
    }
    bench.file("t.jsonl", |out| {
        write!(out, "{}", HEAD.replace("null}", "[")).unwrap();
        repeat(out, b"0,", 8 << 20);
        writeln!(out, "0]}}\n{FOOT}").unwrap();
    });
    refused(&bench, "line 1: the header is longer than 4194304 bytes: no trace has such a header");
}
