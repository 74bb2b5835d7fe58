//! `trace.jsonl`: what is written is read back, the released schema stays readable, and what is malformed is refused in
//! one clear line.

#![expect(clippy::unwrap_used, reason = "these helpers are part of the tests")]

mod common;

use std::path::Path;

use common::{footer, header, recording};
use mcp_parley_trace::{
    Channel, Era, Footer, Header, Kind, MAX_CHUNK_BYTES, MAX_HEADER_BYTES, MAX_LINE_BYTES, Node, ReadOptions,
    Recording, TraceFile, WriteError, Writer, read, read_file, write,
};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

const STRICT: ReadOptions = ReadOptions { allow_truncated: false };
const LENIENT: ReadOptions = ReadOptions { allow_truncated: true };

fn written(header: &Header, recording: &Recording, footer: Option<&Footer>) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out, header, recording, footer).unwrap();
    out
}

fn refusal(bytes: &[u8]) -> String {
    read(bytes, STRICT).unwrap_err().to_string()
}

#[test]
fn golden_file_of_schema_1_is_read_and_written_byte_for_byte() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1.jsonl");
    let file = read_file(&golden, STRICT).unwrap();
    assert_eq!(file, TraceFile { header: header(), recording: recording(), footer: Some(footer()) });
    let out = String::from_utf8(written(&file.header, &file.recording, file.footer.as_ref())).unwrap();
    assert_eq!(out, std::fs::read_to_string(&golden).unwrap());
}

#[test]
fn a_note_follows_the_chunk_that_completes_a_message() {
    let text = String::from_utf8(written(&header(), &recording(), None)).unwrap();
    let notes: Vec<&str> = text.lines().filter(|line| line.contains("\"note\"")).collect();
    assert_eq!(notes[0], r#"{"note":"message","from":"client","process":0,"chunks":[2,3]}"#);
    assert_eq!(notes.len(), 4, "each message once, although both ends are recorded");
    let at = text.lines().position(|line| line == notes[0]).unwrap();
    assert!(text.lines().nth(at - 1).unwrap().starts_with(r#"{"seq":3,"#));
}

#[test]
fn truncated_log_is_read_only_on_request() {
    let whole = written(&header(), &recording(), Some(&footer()));
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let without_footer = lines[..lines.len() - 1].concat();
    assert!(refusal(&without_footer).contains("the log is truncated"), "{}", refusal(&without_footer));
    let read_back = read(&without_footer[..], LENIENT).unwrap();
    assert_eq!((&read_back.recording, &read_back.footer), (&recording(), &None));

    // Cut in the middle of the last line: this event is lost, those before it are not.
    let cut = &without_footer[..without_footer.len() - 5];
    assert_eq!(read(cut, LENIENT).unwrap().recording.events().len(), recording().events().len() - 1);
    assert!(refusal(cut).contains("the log is truncated"));
    // A line that is broken and yet ended is no sign of a killed writer.
    let broken = [lines[0], b"{\"seq\":0,\n"].concat();
    assert!(read(&broken[..], LENIENT).is_err());
}

#[test]
fn what_is_malformed_is_refused_with_line_and_reason() {
    let head = String::from_utf8(written(&header(), &Recording::new(), None)).unwrap();
    let foot = r#"{"rulings":[]}"#;
    let good = r#"{"seq":0,"t_us":5,"node":"client","process":0,"kind":"spawn","cause_seq":null}"#;
    let check = |lines: &[&str], expected: &str| {
        let text = format!("{head}{}\n", lines.join("\n"));
        let said = refusal(text.as_bytes());
        assert!(said.starts_with(expected), "{said}\n  expected: {expected}");
        assert!(!said.contains('\n'));
    };
    assert!(read(format!("{head}{good}\n{foot}\n").as_bytes(), STRICT).is_ok());
    check(
        &[r#"{"seq":1,"t_us":5,"node":"client","kind":"spawn","cause_seq":null}"#],
        "line 2: event 1 where 0 was due",
    );
    check(&[good, good], "line 3: event 0 where 1 was due");
    check(
        &[good, r#"{"seq":1,"t_us":4,"node":"client","kind":"failed","cause_seq":null}"#],
        "line 3: time runs back from 5 to 4",
    );
    check(
        &[r#"{"seq":0,"t_us":5,"node":"client","kind":"dance","cause_seq":null}"#],
        "line 2: bad event: unknown kind \"dance\"",
    );
    check(
        &[r#"{"seq":0,"t_us":5,"node":"client","kind":"spawn","cause_seq":null,"mood":1}"#],
        "line 2: unknown field `mood`",
    );
    check(&[r#"{"seq":0,"t_us":5,"node":"client","kind":"spawn"}"#], "line 2: missing field `cause_seq`");
    check(
        &[r#"{"seq":0,"t_us":5,"node":"client","kind":"spawn","cause_seq":0}"#],
        "line 2: bad event: `cause_seq`",
    );
    check(
        &[r#"{"seq":0,"t_us":5,"node":"server","kind":"exit","cause_seq":null}"#],
        "line 2: bad event: kind \"exit\" needs the member `code`",
    );
    check(
        &[r#"{"seq":0,"t_us":5,"node":"server","kind":"up","code":1,"cause_seq":null}"#],
        "line 2: bad event: kind \"up\" has no member `code`",
    );
    check(
        &[r#"{"seq":0,"t_us":5,"node":"client","process":0,"exchange":0,"kind":"spawn","cause_seq":null}"#],
        "line 2: bad event: it has both",
    );
    check(
        &[r#"{"seq":0,"t_us":5,"node":"client","kind":"read","cause_seq":null,"data":{"b64":"?"}}"#],
        "line 2: bad event: `b64` is no base64",
    );
    check(
        &[r#"{"seq":0,"t_us":5,"node":"client","kind":"read","cause_seq":null,"data":{"hex":"00"}}"#],
        "line 2: unknown variant `hex`",
    );
    check(&["nonsense"], "line 2: expected ident, at byte 2 of the line");
    check(&["{}"], "line 2: neither an event");
    check(&[""], "line 2: EOF while parsing");
    check(&[foot, good], "line 3: the footer must be the last line");
    check(&[r#"{"rulings":[],"mood":1}"#], "line 2: unknown field `mood`");
    assert_eq!(refusal(b""), "line 1: the file is empty: a trace begins with a header line");
    assert!(refusal(b"{\"a\":1}\n").starts_with("line 1: this is no trace"));
    assert_eq!(
        refusal(b"{\"schema\":\"mcp-parley/trace/9\\u001b\",\"new\":1}\n"),
        "line 1: this file has schema \"mcp-parley/trace/9\\u{1b}\", this version reads \"mcp-parley/trace/1\": \
         use the version of the tool that wrote it"
    );
    let odd = head.replacen("\"revision\"", "\"edition\"", 1);
    assert!(refusal(odd.as_bytes()).starts_with("line 1: bad header: unknown field `edition`"));
    let not_utf8 = [head.as_bytes(), b"{\"seq\":\xff}\n"].concat();
    assert!(refusal(&not_utf8).starts_with("line 2: not UTF-8 at byte 7"));
    let nested = format!("{head}{{\"seq\":0,\"x\":{}\n", "[".repeat(100_000));
    assert!(refusal(nested.as_bytes()).starts_with("line 2: EOF while parsing a list, at byte "));
}

#[test]
fn lines_and_chunks_are_bounded() {
    let head = written(&header(), &Recording::new(), None);
    let long = [&head[..], &vec![b' '; MAX_LINE_BYTES + 1], b"\n"].concat();
    assert!(refusal(&long).starts_with("line 2: longer than 33554432 bytes"));

    let deep = String::from_utf8(head.clone()).unwrap();
    let deep = deep.replacen("\"any\"", &format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)), 1);
    assert!(
        refusal(deep.as_bytes()).starts_with("line 1: bad header: nested deeper than 127 levels, at byte ")
    );
    let blank = " ".repeat(MAX_HEADER_BYTES);
    let head = String::from_utf8(head).unwrap().replacen('{', &format!("{{{blank}"), 1);
    assert!(refusal(head.as_bytes()).starts_with("line 1: the header is longer than 4194304 bytes"));

    let mut r = Recording::new();
    r.push(0, Node::Client, Channel::Process(0), Kind::Write, None, &vec![1; MAX_CHUNK_BYTES]);
    let file = written(&header(), &r, Some(&footer()));
    assert_eq!(read(&file[..], STRICT).unwrap().recording, r);
    r.push(0, Node::Client, Channel::Process(0), Kind::Write, None, &vec![1; MAX_CHUNK_BYTES + 1]);
    let refused = write(Vec::new(), &header(), &r, None).unwrap_err();
    assert!(matches!(refused, WriteError::ChunkTooLong { seq: 1, .. }), "{refused}");
}

#[test]
fn a_missing_file_is_named() {
    let said = read_file(Path::new("no/such.jsonl"), STRICT).unwrap_err().to_string();
    assert!(said.starts_with("no/such.jsonl: cannot be read: "), "{said}");
}

fn kinds() -> impl Strategy<Value = Kind> {
    use Kind::{
        Called, Close, Downgraded, End, Eof, Exit, Failed, FaultsOff, Read, ReadEnd, ReadHead, Refused,
        Reset, Settled, Signal, Spawn, SpawnFailed, Stderr, Stuck, Up, Write, WriteEnd, WriteFailed,
        WriteHead,
    };
    prop_oneof![
        prop::sample::select(vec![
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
            Failed,
            Downgraded,
            FaultsOff,
            Stuck,
            Settled(Era::Legacy),
            Settled(Era::Modern),
            Called(true),
            Called(false),
            End(true),
            End(false)
        ]),
        any::<i32>().prop_map(Exit),
        any::<i32>().prop_map(Signal),
    ]
}

type Drawn = (u32, usize, usize, u32, Kind, Option<u32>, Vec<u8>);

fn events() -> impl Strategy<Value = Vec<Drawn>> {
    let bytes = prop_oneof![
        any::<Vec<u8>>(),
        ".*".prop_map(String::into_bytes),
        "[a\n]{0,9}".prop_map(String::into_bytes)
    ];
    let one = (any::<u32>(), 0..4_usize, 0..3_usize, any::<u32>(), kinds(), any::<Option<u32>>(), bytes);
    prop::collection::vec(one, 0..20)
}

fn build(drawn: &[Drawn]) -> Recording {
    let mut r = Recording::new();
    let mut t_us = 0;
    for (seq, (later, node, place, number, kind, cause, bytes)) in (0_u32..).zip(drawn) {
        t_us += u64::from(*later);
        let node = [Node::Client, Node::Server, Node::Proxy, Node::Harness][*node];
        let channel = [Channel::None, Channel::Process(*number), Channel::Exchange(*number)][*place];
        let cause = cause.filter(|_| seq > 0).map(|cause| cause % seq.max(1));
        r.push(t_us, node, channel, *kind, cause, bytes);
    }
    r
}

/// What writes a trace file.
type Write = fn(&Header, &Recording, Option<&Footer>) -> Vec<u8>;

fn reads_back(write: Write, drawn: &[Drawn], with_footer: bool) -> Result<(), TestCaseError> {
    let recording = build(drawn);
    let footer = with_footer.then(footer);
    let bytes = write(&header(), &recording, footer.as_ref());
    let back = read(&bytes[..], ReadOptions { allow_truncated: !with_footer }).unwrap();
    prop_assert_eq!(back, TraceFile { header: header(), recording, footer });
    Ok(())
}

fn written_live(recording: &Recording) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &header()).unwrap();
    for event in recording.events() {
        writer.event(event, recording.bytes(event)).unwrap();
    }
    writer.finish(None).unwrap()
}

fn same_as_live(write: Write, drawn: &[Drawn]) -> Result<(), TestCaseError> {
    let recording = build(drawn);
    prop_assert_eq!(written_live(&recording), write(&header(), &recording, None));
    Ok(())
}

/// A byte of a good file is another one, and what the reader takes of it is drawn.
fn survives(
    read: fn(&[u8]) -> Option<TraceFile>,
    at: prop::sample::Index,
    byte: u8,
) -> Result<(), TestCaseError> {
    let mut bytes = written(&header(), &recording(), Some(&footer()));
    let at = at.index(bytes.len());
    bytes[at] = byte;
    if let Some(file) = read(&bytes) {
        mcp_parley_trace::diagram::text(&file.header, &file.recording, None);
    }
    Ok(())
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(drawn in events(), with_footer: bool) {
        reads_back(written, &drawn, with_footer)?;
    }

    #[test]
    fn written_while_it_happens_is_the_same_as_written_afterwards(drawn in events()) {
        same_as_live(written, &drawn)?;
    }

    #[test]
    fn no_input_makes_the_reader_panic(at: prop::sample::Index, byte: u8) {
        survives(|bytes| read(bytes, LENIENT).ok(), at, byte)?;
    }
}

#[track_caller]
fn fails<S: Strategy>(inputs: S, property: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = ProptestConfig { max_shrink_iters: 0, ..ProptestConfig::default() };
    TestRunner::new(config).run(&inputs, property).unwrap_err();
}

/// Writes bytes that are no text as if they were.
fn lossy(header: &Header, recording: &Recording, footer: Option<&Footer>) -> Vec<u8> {
    let mut texts = Recording::new();
    for event in recording.events() {
        let bytes = recording.bytes(event);
        let text = String::from_utf8_lossy(bytes);
        texts.push(event.t_us, event.node, event.channel, event.kind, event.cause, text.as_bytes());
    }
    written(header, &texts, footer)
}

#[test]
fn a_writer_or_reader_that_errs_is_noticed_by_every_property() {
    fails((events(), any::<bool>()), |(drawn, with_footer)| reads_back(lossy, &drawn, with_footer));
    let later: Write = |header, recording, _| written(header, recording, Some(&footer()));
    fails(events(), |drawn| same_as_live(later, &drawn));
    let trusting = |bytes: &[u8]| Some(read(bytes, LENIENT).unwrap());
    fails((any::<prop::sample::Index>(), any::<u8>()), |(at, byte)| survives(trusting, at, byte));
}
