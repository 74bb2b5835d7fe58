//! Event streams: each framing by an example, and any cut of the same bytes gives the same events.

use mcp_parley_negotiation::limits::Limits;
use mcp_parley_negotiation::sse::{EventStream, StreamEvent};
use proptest::prelude::*;

/// The data of the events; `None` for one that was too long.
fn read(bytes: &[u8], cuts: &[usize], limits: &Limits) -> Vec<Option<Vec<u8>>> {
    let (mut stream, mut found, mut start) = (EventStream::new(), Vec::new(), 0);
    for cut in cuts.iter().copied().chain([bytes.len()]) {
        let end = cut.clamp(start, bytes.len());
        stream.push(&bytes[start..end]);
        while let Some(event) = stream.next(limits) {
            found.push(match event {
                StreamEvent::Message(data) => Some(data.to_vec()),
                StreamEvent::TooLong => None,
            });
        }
        start = end;
    }
    found
}

fn texts(stream: &str) -> Vec<String> {
    let events = read(stream.as_bytes(), &[], &Limits::DEFAULT);
    events.into_iter().flatten().map(|data| String::from_utf8_lossy(&data).into_owned()).collect()
}

#[test]
fn each_framing_gives_its_data() {
    for (stream, expected) in [
        ("data: a\n\n", &["a"][..]),
        ("data:a\n\ndata:  b\n\n", &["a", " b"]),
        ("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]),
        ("data: a\r\rdata: b\r\r", &["a", "b"]),
        ("data: a\r\n\ndata: b\n\r\n", &["a", "b"]),
        ("data: {\ndata: }\n\n", &["{\n}"]),
        ("data: a\ndata\ndata: b\n\n", &["a\n\nb"]),
        (": a comment\n:\ndata: a\n\n:\n\n", &["a"]),
        ("event: message\ndata: a\n\nevent\ndata: b\n\n", &["a", "b"]),
        ("event: endpoint\ndata: /a\n\ndata: b\n\n", &["b"]),
        ("event: x\nevent: message\ndata: a\n\n", &["a"]),
        ("id: 1\nretry: 5\nodd: x\ndata: a\nid: 2\n\n", &["a"]),
        ("id: 1\ndata:\n\ndata: a\n\n", &["a"]),
        ("id: 1\n\ndata: a\n\n", &["a"]),
        ("\u{feff}data: a\n\n", &["a"]),
        ("\u{feff}\u{feff}data: a\n\ndata: b\n\n", &["b"]),
        ("data: a\n\n\u{feff}data: b\n\n", &["a"]),
        ("Data: a\n\n data: b\n\ndatax: c\n\n", &[]),
        ("\n\n\ndata: a\n\n", &["a"]),
        ("data: a\n\ndata: b\n", &["a"]),
        ("data: a\n\ndata: b", &["a"]),
        ("data: a", &[]),
        ("", &[]),
    ] {
        assert_eq!(texts(stream), expected, "{stream:?}");
    }
}

#[test]
fn more_data_than_the_limit_is_not_kept_and_the_next_event_is_read() {
    let limits = Limits { message_bytes: 4, ..Limits::DEFAULT };
    let some = |data: &[u8]| Some(data.to_vec());
    for (stream, expected) in [
        (&b"data: abcd\n\n"[..], vec![some(b"abcd")]),
        (b"data: abcde\n\ndata: f\n\n", vec![None, some(b"f")]),
        (b"data: ab\ndata: c\n\n", vec![some(b"ab\nc")]),
        (b"data: ab\ndata: cd\ndata: e\n\ndata: f\n\n", vec![None, some(b"f")]),
        (b"data: aaaaaaaaaaaaaaaaaaaa\n\ndata: f\n\n", vec![None, some(b"f")]),
        (b"event: x\ndata: aaaaaaaaaaaaaaaaaaaa\n\ndata: f\n\n", vec![some(b"f")]),
        (b": a comment of any length\ndata: f\n\n", vec![some(b"f")]),
        (b"id: an id of any length\ndata: f\n\n", vec![some(b"f")]),
    ] {
        assert_eq!(read(stream, &[], &limits), expected, "{}", stream.escape_ascii());
        let every: Vec<_> = (0..stream.len()).collect();
        assert_eq!(read(stream, &every, &limits), expected, "{}", stream.escape_ascii());
    }
}

#[test]
fn a_line_without_end_takes_no_memory() {
    let limits = Limits { message_bytes: 1000, ..Limits::DEFAULT };
    for begin in ["data: ", "id: ", ""] {
        let mut stream = EventStream::new();
        stream.push(begin.as_bytes());
        for _ in 0..100 {
            stream.push(&[b'x'; 1000]);
            assert_eq!(stream.next(&limits), None);
            assert!(stream.kept() <= limits.message_bytes + 9, "{}", stream.kept());
        }
    }
    let mut stream = EventStream::new();
    for _ in 0..100 {
        stream.push(b"data: 0123456789\n");
        assert_eq!(stream.next(&limits), None);
        assert!(stream.kept() <= limits.message_bytes + 1);
    }
}

proptest! {
    #[test]
    fn any_cut_gives_the_same_events(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "data", ":", " ", "\n", "\r", "\r\n", "\n\n", "data: ", "event: x", "\u{feff}", "a", "bcdefghijklmnop",
            ]),
            0..40,
        ),
        mut cuts in prop::collection::vec(0..200_usize, 0..10),
    ) {
        let limits = Limits { message_bytes: 8, ..Limits::DEFAULT };
        let bytes = parts.concat().into_bytes();
        cuts.sort_unstable();
        let whole = read(&bytes, &[], &limits);
        prop_assert_eq!(&read(&bytes, &cuts, &limits), &whole);
        let every: Vec<_> = (0..bytes.len()).collect();
        prop_assert_eq!(&read(&bytes, &every, &limits), &whole);
    }
}
