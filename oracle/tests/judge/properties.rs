//! What holds for any run: the judge ends and does not panic, and how a pipe cuts the bytes changes no verdict.

use std::path::PathBuf;

use crate::support::{Script, View, expand};
use mcp_parley_oracle::{Judge, Verdicts};
use mcp_parley_trace::{
    Channel, Declared, Era, Event, Kind, Mode, Node, Outcome, Recording, Subject, Transport,
};
use proptest::prelude::*;

fn declared(mode: Mode, reports: bool) -> Declared {
    let versions = |list: &[&str]| Some(list.iter().map(|version| (*version).to_owned()).collect());
    Declared {
        mode,
        modern: versions(&["2026-07-28"]),
        legacy: versions(&["2025-11-25"]),
        longest_wait_us: Some(5_000_000),
        reports,
    }
}

fn line() -> impl Strategy<Value = Vec<u8>> {
    let id = prop::sample::select(vec!["1", "2", "\"1\"", "null", "1.5"]);
    let kind = prop::sample::select(vec![
        "$PROBE(@)",
        "$LIST(@)",
        "$BARE(@)",
        "$FOUND(@)",
        "$REFUSED(@)",
        "$ERROR(@,-32020)",
        "$ERROR(@,-32602)",
        "$ERROR(@,-32000)",
        "$TOOLS(@)",
        "$OLD_TOOLS(@)",
        "$INITIALIZE(@)",
        "$AGREED(@)",
        "$READY",
        "$CANCEL(@)",
        "$BARE(@,ping)",
        "noise",
        "",
        "[]",
        "{}",
        "{\"jsonrpc\":\"2.0\",\"id\":@,\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":@,\"result\":{\"resultType\":\"novel\",\"supportedVersions\":[\"2026-07-28\"]}}",
    ]);
    let message = (kind, id).prop_map(|(kind, id)| {
        let mut line = expand(&kind.replace('@', id)).into_bytes();
        line.push(b'\n');
        line
    });
    prop_oneof![6 => message, 1 => prop::collection::vec(any::<u8>(), 0..40)]
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::Spawn),
        Just(Kind::WriteEnd),
        Just(Kind::ReadEnd),
        Just(Kind::Reset),
        Just(Kind::Refused),
        Just(Kind::Up),
        Just(Kind::SpawnFailed),
        Just(Kind::Stderr),
        Just(Kind::Close),
        Just(Kind::Eof),
        Just(Kind::WriteFailed),
        any::<i32>().prop_map(Kind::Exit),
        prop_oneof![Just(9), Just(11), any::<i32>()].prop_map(Kind::Signal),
        Just(Kind::Settled(Era::Legacy)),
        Just(Kind::Settled(Era::Modern)),
        Just(Kind::Failed),
        Just(Kind::Downgraded),
        any::<bool>().prop_map(Kind::Called),
        Just(Kind::FaultsOff),
        Just(Kind::Stuck),
        any::<bool>().prop_map(Kind::End),
    ]
}

/// Heads of requests and of answers, of any kind and for any reader.
fn head() -> impl Strategy<Value = Vec<u8>> {
    let first = prop::sample::select(vec![
        "POST /mcp HTTP/1.1",
        "GET /mcp HTTP/1.1",
        "DELETE /mcp HTTP/1.1",
        "POST /other HTTP/1.1",
        "HTTP/1.1 200 OK",
        "HTTP/1.1 202 Accepted",
        "HTTP/1.1 400 Bad Request",
        "HTTP/1.1 404 Not Found",
        "HTTP/1.1 401 Unauthorized",
        "HTTP/1.1 100 Continue",
        "HTTP/1.1 20",
        "",
    ]);
    let field = prop::sample::select(vec![
        "Content-Type: application/json",
        "content-type: text/event-stream; charset=utf-8",
        "content-type: text/plain",
        "Accept: application/json, text/event-stream",
        "MCP-Protocol-Version: 2026-07-28",
        "MCP-Protocol-Version: 2025-11-25",
        "Mcp-Method: tools/list",
        "Mcp-Method: server/discover",
        "Mcp-Name: =?base64?YQ==?=",
        "mcp-session-id: a b",
        "Mcp-Session-Id: S1",
        "Origin: http://localhost:1",
        "no colon",
        ":",
    ]);
    let written = (first, prop::collection::vec(field, 0..6)).prop_map(|(first, fields)| {
        let lines: Vec<String> = fields.iter().map(|field| format!("{field}\r\n")).collect();
        format!("{first}\r\n{}\r\n", lines.concat()).into_bytes()
    });
    prop_oneof![8 => written, 1 => prop::collection::vec(any::<u8>(), 0..40)]
}

/// The body of an answer: a message, or an event stream of some, with every end of line.
fn body() -> impl Strategy<Value = Vec<u8>> {
    let break_line = prop::sample::select(vec!["\n", "\r\n", "\r"]);
    let field =
        prop::sample::select(vec!["data: ", "data:", ": ", "event: ping", "event: message", "data", "id: 1"]);
    let events = prop::collection::vec((field, line(), break_line), 0..5).prop_map(|fields| {
        let mut out = Vec::new();
        for (name, line, end) in fields {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(line.strip_suffix(b"\n").unwrap_or(&line));
            out.extend_from_slice(end.repeat(2).as_bytes());
        }
        out
    });
    prop_oneof![line(), events, Just(Vec::new())]
}

/// A run of exchanges, each of which is seen whole at both ends, broken off, or left open.
fn exchanges() -> impl Strategy<Value = Recording> {
    let one = (head(), line(), head(), body(), 0..6_u8, prop::option::of(kind()), 0..3_000_000_u64);
    prop::collection::vec(one, 0..8).prop_map(|all| {
        let mut run = Recording::new();
        let mut t_us = 0;
        for (number, (request, asked, answer, body, end, other, wait)) in (0..).zip(all) {
            let channel = Channel::Exchange(number);
            let mut both = |from, to, kinds: (Kind, Kind), bytes: &[u8]| {
                run.push(t_us, from, channel, kinds.0, None, bytes);
                run.push(t_us, to, channel, kinds.1, None, bytes);
            };
            let (client, server) = (Node::Client, Node::Server);
            both(client, server, (Kind::WriteHead, Kind::ReadHead), &request);
            both(client, server, (Kind::Write, Kind::Read), &asked);
            both(client, server, (Kind::WriteEnd, Kind::ReadEnd), b"");
            if end > 0 {
                both(server, client, (Kind::WriteHead, Kind::ReadHead), &answer);
                both(server, client, (Kind::Write, Kind::Read), &body);
            }
            match end {
                1 => both(server, client, (Kind::Reset, Kind::Eof), b""),
                2 => both(client, server, (Kind::Close, Kind::Eof), b""),
                3.. => both(server, client, (Kind::WriteEnd, Kind::ReadEnd), b""),
                _ => {}
            }
            if let Some(kind) = other {
                run.push(t_us, Node::Client, Channel::None, kind, None, b"2026-07-28");
            }
            t_us += wait;
        }
        run.push(t_us, Node::Harness, Channel::None, Kind::End(true), None, b"");
        run
    })
}

fn event() -> impl Strategy<Value = (u64, Node, Channel, Kind, Vec<u8>)> {
    let node = prop_oneof![Just(Node::Client), Just(Node::Server), Just(Node::Proxy), Just(Node::Harness)];
    let channel = prop_oneof![
        1 => Just(Channel::None),
        2 => prop_oneof![Just(0), Just(1), any::<u32>()].prop_map(Channel::Process),
        3 => prop_oneof![Just(0), Just(1), any::<u32>()].prop_map(Channel::Exchange),
    ];
    let head = (prop_oneof![Just(Kind::WriteHead), Just(Kind::ReadHead)], head());
    let carried = (prop_oneof![Just(Kind::Write), Just(Kind::Read)], line());
    let other = (kind(), prop_oneof![Just(Vec::new()), Just(b"2026-07-28".to_vec())]);
    let what = prop_oneof![4 => carried.boxed(), 2 => head.boxed(), 2 => other.boxed()];
    (any::<u64>(), node, channel, what)
        .prop_map(|(t_us, node, channel, (kind, bytes))| (t_us, node, channel, kind, bytes))
}

/// A run in which each line is written by one side and read by the other.
fn exchange() -> impl Strategy<Value = Recording> {
    let step = prop_oneof![
        6 => (any::<bool>(), 0..2_u32, line()).prop_map(|(client, process, line)| (Some((client, process, line)), None)),
        1 => kind().prop_map(|kind| (None, Some(kind))),
    ];
    prop::collection::vec((step, 0..3_000_000_u64), 0..14).prop_map(|steps| {
        let mut run = Recording::new();
        let mut t_us = 0;
        for ((carried, other), wait) in steps {
            t_us += wait;
            if let Some((client, process, line)) = carried {
                let (from, to) =
                    if client { (Node::Client, Node::Server) } else { (Node::Server, Node::Client) };
                run.push(t_us, from, Channel::Process(process), Kind::Write, None, &line);
                run.push(t_us, to, Channel::Process(process), Kind::Read, None, &line);
            }
            if let Some(kind) = other {
                run.push(t_us, Node::Client, Channel::None, kind, None, b"2026-07-28");
            }
        }
        run.push(t_us, Node::Harness, Channel::None, Kind::End(true), None, b"");
        run
    })
}

fn outcomes(verdicts: &Verdicts) -> Vec<(&'static str, Outcome, &'static str)> {
    verdicts.iter().map(|(id, verdict)| (id, verdict.outcome, verdict.observed)).collect()
}

/// The same bytes in pieces of the given sizes, in turn.
fn cut(run: &Recording, sizes: &[usize]) -> Recording {
    let mut out = Recording::new();
    let mut sizes = sizes.iter().copied().cycle();
    for event in run.events() {
        let Event { t_us, node, channel, kind, cause, .. } = *event;
        let mut bytes = run.bytes(event);
        if !matches!(kind, Kind::Write | Kind::Read) || bytes.is_empty() {
            out.push(t_us, node, channel, kind, cause, bytes);
            continue;
        }
        while !bytes.is_empty() {
            let (piece, rest) = bytes.split_at(sizes.next().unwrap_or(1).min(bytes.len()));
            out.push(t_us, node, channel, kind, cause, piece);
            bytes = rest;
        }
    }
    out
}

fn subjects() -> impl Strategy<Value = Subject> {
    prop_oneof![Just(Subject::Client), Just(Subject::Server)]
}

fn modes() -> impl Strategy<Value = Mode> {
    prop_oneof![
        Just(Mode::Legacy),
        Just(Mode::Auto),
        Just(Mode::Modern),
        Just(Mode::Unknown),
        Just(Mode::Pin("2026-07-28".to_owned())),
        Just(Mode::Pin("2025-11-25".to_owned())),
        Just(Mode::Pin("who knows".to_owned())),
    ]
}

proptest! {
    #[test]
    fn any_recording_is_judged(
        events in prop::collection::vec(event(), 0..30),
        subject in prop_oneof![subjects(), Just(Subject::Proxy)],
        mode in modes(),
        reports in any::<bool>(),
        http in any::<bool>(),
    ) {
        let mut run = Recording::new();
        for (t_us, node, channel, kind, bytes) in &events {
            run.push(*t_us, *node, *channel, *kind, None, bytes);
        }
        let transport = if http { Transport::Http } else { Transport::Stdio };
        let mut judge = Judge::new();
        let verdicts = judge.judge(&run, &declared(mode, reports), subject, transport);
        for (id, verdict) in verdicts.iter() {
            let last = events.len() as u32;
            prop_assert!(verdict.evidence.iter().all(|seq| *seq < last), "{} {:?}", id, verdict);
            prop_assert!(verdict.evidence.is_sorted(), "{} {:?}", id, verdict);
            prop_assert_eq!(verdict.outcome == Outcome::Contested, !verdict.observed.is_empty());
        }
        let any_broken = verdicts.iter().any(|(_, verdict)| verdict.is_broken());
        prop_assert_eq!(verdicts.finding_at(mcp_parley_oracle::Severity::Note).is_some(), any_broken);
        for ruling in verdicts.rulings() {
            prop_assert!(ruling.outcome != Outcome::Contested || ruling.allowed.contains(&ruling.reason), "{:?}", ruling);
        }
    }

    #[test]
    fn any_cutting_gives_the_same_verdicts(
        run in exchange(),
        sizes in prop::collection::vec(1..50_usize, 1..6),
        subject in subjects(),
        mode in modes(),
        reports in any::<bool>(),
    ) {
        let declared = declared(mode, reports);
        let mut judge = Judge::new();
        let whole = outcomes(judge.judge(&run, &declared, subject, Transport::Stdio));
        let pieces = outcomes(judge.judge(&cut(&run, &sizes), &declared, subject, Transport::Stdio));
        prop_assert_eq!(whole, pieces);
    }

    #[test]
    fn any_cutting_of_bodies_gives_the_same_verdicts(
        run in exchanges(),
        sizes in prop::collection::vec(1..50_usize, 1..6),
        subject in subjects(),
        mode in modes(),
        reports in any::<bool>(),
    ) {
        let declared = declared(mode, reports);
        let mut judge = Judge::new();
        let whole = outcomes(judge.judge(&run, &declared, subject, Transport::Http));
        let pieces = outcomes(judge.judge(&cut(&run, &sizes), &declared, subject, Transport::Http));
        prop_assert_eq!(whole, pieces);
    }

    #[test]
    fn nothing_is_kept_from_one_transport_to_the_other(
        first in exchange(),
        second in exchanges(),
        subject in subjects(),
    ) {
        let declared = declared(Mode::Auto, true);
        let mut used = Judge::new();
        used.judge(&second, &declared, subject, Transport::Http);
        let pipe = outcomes(used.judge(&first, &declared, subject, Transport::Stdio));
        let http = outcomes(used.judge(&second, &declared, subject, Transport::Http));
        prop_assert_eq!(pipe, outcomes(Judge::new().judge(&first, &declared, subject, Transport::Stdio)));
        prop_assert_eq!(http, outcomes(Judge::new().judge(&second, &declared, subject, Transport::Http)));
    }

    #[test]
    fn nothing_is_kept_from_run_to_run(first in exchange(), second in exchange(), subject in subjects()) {
        let declared = declared(Mode::Auto, true);
        let mut used = Judge::new();
        used.judge(&first, &declared, subject, Transport::Stdio);
        let again = outcomes(used.judge(&second, &declared, subject, Transport::Stdio));
        prop_assert_eq!(again, outcomes(Judge::new().judge(&second, &declared, subject, Transport::Stdio)));
    }
}

#[test]
fn lines_that_share_a_piece_are_told_apart() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/traces");
    let mut judge = Judge::new();
    for entry in std::fs::read_dir(folder).expect("the folder of traces") {
        let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("a file of text");
        if text.contains("=====") {
            continue;
        }
        let script = Script::parse(&text);
        let run = script.record(View::Both).recording;
        let whole = outcomes(judge.judge(&run, &script.declared, script.subject, script.transport));
        let bytes =
            outcomes(judge.judge(&cut(&run, &[1]), &script.declared, script.subject, script.transport));
        assert_eq!(whole, bytes, "{text}");
    }
}
