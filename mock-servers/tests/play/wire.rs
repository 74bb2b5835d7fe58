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
    did.into_iter()
        .map(|did| match did {
            Did::Wrote(bytes) => String::from_utf8(bytes).unwrap(),
            other => panic!("{other:?}"),
        })
        .collect()
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
