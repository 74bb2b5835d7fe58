//! How bytes are written (K19), and ends that need no message (K01).

use mcp_parley_mock_servers::ServerInput;
use serde_json::{Value, json};

use crate::support::*;

fn wired(wire: Value) -> (Process, Vec<Did>) {
    Process::of(persona("dual", json!({"wire": wire})), 0)
}

/// All that is written at the start and to two pings in one input, one item a write.
fn writes(wire: Value) -> Vec<String> {
    let (mut process, mut did) = wired(wire);
    did.extend(process.tell(ServerInput::Bytes(format!("{PING}\n{PING}\n").as_bytes())));
    did.into_iter().map(written).collect()
}

fn written(did: Did) -> String {
    match did {
        Did::Wrote(bytes) => String::from_utf8(bytes).unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn line_ends() {
    let line = |end: &str| format!("{PONG}{end}");
    assert_eq!(writes(json!({})), [line("\n"), line("\n")]);
    assert_eq!(writes(json!({"line_end": "cr-lf"})), [line("\r\n"), line("\r\n")]);
    assert_eq!(writes(json!({"line_end": "none"})), [PONG, PONG]);
    let framed = format!("Content-Length: {}\r\n\r\n{PONG}", PONG.len());
    assert_eq!(writes(json!({"line_end": "content-length"})), [framed.clone(), framed]);
}

#[test]
fn byte_order_mark_and_banner() {
    let mark = json!({"byte_order_mark": true});
    assert_eq!(writes(mark), [format!("\u{feff}{PONG}\n"), format!("{PONG}\n")]);
    let (_, did) = wired(json!({"byte_order_mark": true, "banner": ["hello", ""]}));
    assert_eq!(did, ["\u{feff}hello\n", "\n"].map(|text| Did::Wrote(text.into())));
}

#[test]
fn pieces() {
    let pieces = writes(json!({"chunk_bytes": 7}));
    assert_eq!(pieces.concat(), format!("{PONG}\n{PONG}\n"));
    assert!(pieces.iter().all(|piece| (1..=7).contains(&piece.len())), "{pieces:?}");
    // A piece never reaches into the next line …
    assert!(pieces.iter().all(|piece| !piece.trim_end().contains('\n')), "{pieces:?}");
    // … unless they are written together.
    assert_eq!(writes(json!({"together": true})), [format!("{PONG}\n{PONG}\n")]);
    let size = PONG.len() + 5;
    let pieces = writes(json!({"together": true, "chunk_bytes": size}));
    assert_eq!(pieces.concat(), format!("{PONG}\n{PONG}\n"));
    assert_eq!(pieces.iter().map(String::len).collect::<Vec<_>>(), [size, 2 * (PONG.len() + 1) - size]);
}

/// All that is written while time passes, each with its time in milliseconds.
fn writes_in_time(process: &mut Process, input: ServerInput<'_>) -> Vec<(u64, String)> {
    let mut did = process.tell(input);
    let mut all = Vec::new();
    loop {
        all.extend(did.drain(..).map(|did| (process.now.0 / 1000, written(did))));
        let Some(wake) = process.wake.take() else { return all };
        assert!(process.now < wake);
        process.now = wake;
        did = process.tell(ServerInput::Timeout);
    }
}

#[test]
fn a_gap_lies_between_one_write_and_the_next() {
    let (mut process, did) = wired(json!({"gap_ms": 100, "chunk_bytes": 20}));
    assert_eq!((did, process.wake), (vec![], None));
    let all = writes_in_time(&mut process, ServerInput::Bytes(format!("{PING}\n").as_bytes()));
    assert_eq!(all.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [0, 100]);
    assert_eq!(all.iter().map(|(_, piece)| piece.as_str()).collect::<String>(), format!("{PONG}\n"));
    // Long after the last write, the next one need not wait, and messages are heard in between.
    process.now = process.now.plus_us(1_000_000);
    let both = format!("{PING}\n{PING}\n");
    let all = writes_in_time(&mut process, ServerInput::Bytes(both.as_bytes()));
    assert_eq!(all.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [1100, 1200, 1300, 1400]);
}

#[test]
fn what_a_gap_holds_back_is_written_before_an_exit_and_not_after_the_end_of_the_input() {
    let act = json!({"behind": ["b"], "exit": {"code": 2, "moment": "after"}});
    let gap = json!({"wire": {"gap_ms": 1}, "quirks": [{"act": act}]});
    let mut process = Process::quiet(persona("dual", gap));
    assert_eq!(process.line(PING), [Did::Wrote(format!("{PONG}\n").into_bytes())]);
    process.now = process.wake.unwrap();
    assert_eq!(process.tell(ServerInput::Timeout), [Did::Wrote(b"b\n".to_vec()), Did::Exit(2)]);

    let mut process = Process::quiet(persona("dual", json!({"wire": {"gap_ms": 1}})));
    assert_eq!(process.tell(ServerInput::Bytes(format!("{PING}\n{PING}\n").as_bytes())).len(), 1);
    assert_eq!(process.tell(ServerInput::Eof), [Did::Exit(0)]);
}

#[test]
fn standard_error_at_the_start() {
    let (_, did) = wired(json!({"stderr": ["starting"], "banner": ["hello"]}));
    assert_eq!(did, [Did::Complained(b"starting\n".to_vec()), Did::Wrote(b"hello\n".to_vec())]);
}

#[test]
fn a_wire_may_be_that_of_the_first_processes_only() {
    let once = persona("dual", json!({"wire": {"exit_at_start": 4, "processes": 2}}));
    let end = |number| Process::of(once.clone(), number).1;
    assert_eq!((end(0), end(1), end(2)), (vec![Did::Exit(4)], vec![Did::Exit(4)], vec![]));
}

#[test]
fn ends_that_need_no_message() {
    let (mut process, did) = wired(json!({"banner": ["hello"], "exit_at_start": 4}));
    assert_eq!(did, [Did::Wrote(b"hello\n".to_vec()), Did::Exit(4)]);
    assert_eq!(process.line(PING), []);
    let (mut process, did) = wired(json!({"exit_at_first_bytes": 5}));
    assert_eq!(did, []);
    assert_eq!(process.tell(ServerInput::Bytes(b"{")), [Did::Exit(5)]);
    let (mut process, _) = wired(json!({"exit_at_first_bytes": 5}));
    assert_eq!(process.tell(ServerInput::Eof), [Did::Exit(0)]);
}
