//! Puts messages together again from the chunks in which they were written or read, for the eyes of people.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Channel, Event, Kind, Node, Recording};

/// No more lines of a run are found. The judge reads fewer, no person reads as many, and a flood of empty lines would
/// take a hundred times its size in memory.
pub const MAX_LINES: usize = 1 << 13;

/// One line of a channel, which should be one message. Of an HTTP exchange: a whole body, or the data of one line of an event
/// stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Who sent it.
    pub from: Node,
    /// Where.
    pub channel: Channel,
    /// The numbers of the events whose bytes it is made of, in order; at least one.
    pub chunks: Vec<u32>,
    /// False if the recording ends before the line does.
    pub ended: bool,
    /// Where it begins in the first chunk.
    start: usize,
    /// Where it ends in the last chunk, without the newline.
    end: usize,
    /// How many of its first bytes are no part of it: the name of the field in an event stream.
    skip: usize,
}

impl Line {
    /// Its bytes without the newline, from the recording that it was found in.
    pub fn bytes(&self, recording: &Recording) -> Vec<u8> {
        let mut bytes = Vec::new();
        let last = self.chunks.len().saturating_sub(1);
        for (i, seq) in self.chunks.iter().enumerate() {
            let chunk = recording.get(*seq).map_or(&[][..], |event| recording.bytes(event));
            let from = if i == 0 { self.start } else { 0 };
            let to = if i == last { self.end } else { chunk.len() };
            bytes.extend_from_slice(chunk.get(from..to).unwrap_or_default());
        }
        if self.skip > 0 {
            bytes.drain(..self.skip.min(bytes.len()));
            bytes.pop_if(|byte| *byte == b'\r');
        }
        bytes
    }
}

/// The first [`MAX_LINES`] lines of a recording, in the order in which they were completed; those that never were come last.
pub fn lines(recording: &Recording) -> Vec<Line> {
    let mut assembler = Assembler::new();
    let mut lines = Vec::new();
    for (seq, event) in (0..).zip(recording.events()) {
        lines.append(&mut assembler.push(seq, event, recording.bytes(event)));
    }
    lines.append(&mut assembler.rest());
    lines
}

/// Finds the first [`MAX_LINES`] lines of a run while it happens. Each line is found once: where its sender wrote it, or, if the recording
/// shows only the other end of the channel, where it was read.
#[derive(Debug, Default)]
pub struct Assembler {
    open: BTreeMap<(Channel, Node), Open>,
    written: BTreeSet<(Channel, Node)>,
    /// The answers that are event streams.
    streams: BTreeSet<(Channel, Node)>,
    found: usize,
}

/// A line under way, and its first bytes.
#[derive(Debug)]
struct Open {
    line: Line,
    first: Vec<u8>,
}

/// How a channel's bytes are cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cut {
    Lines,
    Events,
    Nowhere,
}

const DATA: &[u8] = b"data:";

impl Assembler {
    /// Nothing seen yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next event, with its number and its bytes; returns the lines that it completes.
    pub fn push(&mut self, seq: u32, event: &Event, bytes: &[u8]) -> Vec<Line> {
        let Some(from) = sender(event) else { return Vec::new() };
        let key = (event.channel, from);
        if matches!(event.kind, Kind::Write | Kind::WriteHead | Kind::WriteEnd) {
            self.written.insert(key);
        } else if self.written.contains(&key) {
            return Vec::new();
        }
        match (event.kind, event.channel) {
            (Kind::WriteHead | Kind::ReadHead, _) => {
                if is_event_stream(bytes) {
                    self.streams.insert(key);
                }
                Vec::new()
            }
            (Kind::WriteEnd | Kind::ReadEnd, _) => self.finish(key).into_iter().collect(),
            (_, Channel::Exchange(_)) if self.streams.contains(&key) => {
                self.take(seq, key, bytes, Cut::Events)
            }
            (_, Channel::Exchange(_)) => self.take(seq, key, bytes, Cut::Nowhere),
            _ => self.take(seq, key, bytes, Cut::Lines),
        }
    }

    fn take(&mut self, seq: u32, key: (Channel, Node), bytes: &[u8], cut: Cut) -> Vec<Line> {
        let mut done = Vec::new();
        let mut at = 0;
        while at < bytes.len() && self.found < MAX_LINES {
            let rest = &bytes[at..];
            let newline = rest.iter().position(|byte| *byte == b'\n' && cut != Cut::Nowhere);
            let end = newline.map_or(bytes.len(), |n| at + n);
            let (channel, from) = key;
            let line = Line { from, channel, chunks: Vec::new(), ended: false, start: at, end, skip: 0 };
            let open = self.open.entry(key).or_insert_with(|| Open { line, first: Vec::new() });
            open.line.chunks.push(seq);
            open.line.end = end;
            let wanted = (DATA.len() + 1).saturating_sub(open.first.len());
            open.first.extend(bytes[at..end].iter().take(wanted));
            at = end + 1;
            if newline.is_some() {
                done.extend(self.finish(key));
            }
        }
        done
    }

    /// The line under way is complete; of an event stream only data count.
    fn finish(&mut self, key: (Channel, Node)) -> Option<Line> {
        let Open { line, first } = self.open.remove(&key)?;
        let mut skip = 0;
        if self.streams.contains(&key) {
            let value = first.strip_prefix(DATA)?;
            skip = DATA.len() + usize::from(value.starts_with(b" "));
        }
        self.found += 1;
        Some(Line { ended: true, skip, ..line })
    }

    /// What is left without a newline.
    pub fn rest(&mut self) -> Vec<Line> {
        let mut rest: Vec<Line> =
            std::mem::take(&mut self.open).into_values().map(|open| open.line).collect();
        rest.sort_by(|a, b| a.chunks.cmp(&b.chunks));
        rest
    }
}

/// The head of an answer names the media type of event streams.
pub(crate) fn is_event_stream(head: &[u8]) -> bool {
    head.split(|byte| *byte == b'\n').any(|line| {
        let line = line.to_ascii_lowercase();
        let value = line.strip_prefix(b"content-type:").unwrap_or_default();
        value.trim_ascii_start().starts_with(b"text/event-stream")
    })
}

/// Who sent the bytes of this event; `None` if it has none, or cannot be told.
pub(crate) fn sender(event: &Event) -> Option<Node> {
    match (event.kind, event.node) {
        (Kind::Write | Kind::WriteHead | Kind::WriteEnd, node) => Some(node),
        (Kind::Read | Kind::ReadHead | Kind::ReadEnd, Node::Client) => Some(Node::Server),
        (Kind::Read | Kind::ReadHead | Kind::ReadEnd, Node::Server) => Some(Node::Client),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(recording: &Recording) -> Vec<(Node, String, Vec<u32>, bool)> {
        let all = lines(recording);
        all.into_iter()
            .map(|l| (l.from, String::from_utf8(l.bytes(recording)).unwrap(), l.chunks, l.ended))
            .collect()
    }

    #[test]
    fn a_line_over_several_chunks_and_several_lines_in_one_chunk() {
        let mut r = Recording::new();
        let p = Channel::Process(0);
        r.push(0, Node::Client, p, Kind::Write, None, b"one");
        r.push(1, Node::Client, p, Kind::Write, None, b" line\ntwo\nthr");
        r.push(2, Node::Server, p, Kind::Write, None, b"mine\n");
        r.push(3, Node::Client, p, Kind::Write, None, b"ee");
        assert_eq!(
            texts(&r),
            [
                (Node::Client, "one line".into(), vec![0, 1], true),
                (Node::Client, "two".into(), vec![1], true),
                (Node::Server, "mine".into(), vec![2], true),
                (Node::Client, "three".into(), vec![1, 3], false),
            ]
        );
    }

    #[test]
    fn a_flood_of_empty_lines_is_cut() {
        let mut r = Recording::new();
        let p = Channel::Process(0);
        r.push(0, Node::Client, p, Kind::Write, None, b"first\nwhich is not ended");
        r.push(1, Node::Server, p, Kind::Write, None, &vec![b'\n'; 2 * MAX_LINES]);
        r.push(2, Node::Server, p, Kind::Write, None, b"more\n");
        let lines = texts(&r);
        let (last, all) = lines.split_last().unwrap();
        assert_eq!((all.len(), all[0].1.as_str()), (MAX_LINES, "first"));
        assert_eq!(last.1, "which is not ended");
    }

    #[test]
    fn a_body_is_one_line_and_an_event_stream_has_one_for_each_line_of_data() {
        let mut r = Recording::new();
        let e = Channel::Exchange(0);
        r.push(0, Node::Client, e, Kind::WriteHead, None, b"POST / HTTP/1.1\r\n\r\n");
        r.push(0, Node::Client, e, Kind::Write, None, b"{\n");
        r.push(0, Node::Client, e, Kind::Write, None, b"}");
        r.push(0, Node::Client, e, Kind::WriteEnd, None, b"");
        r.push(
            1,
            Node::Client,
            e,
            Kind::ReadHead,
            None,
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n",
        );
        r.push(2, Node::Client, e, Kind::Read, None, b": alive\n\nevent: message\nda");
        r.push(3, Node::Client, e, Kind::Read, None, b"ta:");
        r.push(4, Node::Client, e, Kind::Read, None, b" one\r\n\r\ndata:two\ndata: three");
        r.push(5, Node::Client, e, Kind::ReadEnd, None, b"");
        assert_eq!(
            texts(&r),
            [
                (Node::Client, "{\n}".into(), vec![1, 2], true),
                (Node::Server, "one".into(), vec![5, 6, 7], true),
                (Node::Server, "two".into(), vec![7], true),
                (Node::Server, "three".into(), vec![7], true),
            ]
        );
    }

    #[test]
    fn a_line_seen_at_both_ends_counts_once_and_one_seen_at_the_far_end_only_counts() {
        let mut r = Recording::new();
        r.push(0, Node::Client, Channel::Process(0), Kind::Write, None, b"a\n");
        r.push(1, Node::Server, Channel::Process(0), Kind::Read, Some(0), b"a\n");
        r.push(2, Node::Server, Channel::Process(1), Kind::Read, None, b"b\n");
        assert_eq!(
            texts(&r),
            [(Node::Client, "a".into(), vec![0], true), (Node::Client, "b".into(), vec![2], true)]
        );
    }
}
