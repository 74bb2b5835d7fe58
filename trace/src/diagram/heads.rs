//! The heads of HTTP exchanges, as a diagram shows them: before the message that follows, or in a row of their own.

use std::collections::{BTreeMap, BTreeSet};

use crate::lines::{is_event_stream, sender};
use crate::{Channel, Event, Kind, Line, Node, Recording};

/// One side of one exchange.
pub(super) type Key = (Channel, Node);

/// The heads of a run, in few words.
pub(super) struct Heads {
    /// By the sender of the message; where it was written, or else where it was read.
    words: BTreeMap<Key, Vec<u8>>,
    /// The heads that stand in a row of their own: no body follows, or many messages do.
    rows: BTreeMap<u32, Vec<u8>>,
}

impl Heads {
    pub(super) fn new(recording: &Recording, lines: &[Line]) -> Self {
        let bodies: BTreeSet<Key> = lines.iter().map(|line| (line.channel, line.from)).collect();
        let written: BTreeSet<Key> = heads(recording)
            .filter(|(.., event)| event.kind == Kind::WriteHead)
            .map(|(_, key, _)| key)
            .collect();
        let mut this = Self { words: BTreeMap::new(), rows: BTreeMap::new() };
        for (seq, key, event) in heads(recording) {
            let bytes = recording.bytes(event);
            if event.kind == Kind::ReadHead && written.contains(&key) {
                continue;
            }
            if is_event_stream(bytes) || !bodies.contains(&key) || this.words.contains_key(&key) {
                let kind: &[u8] = if is_event_stream(bytes) { b" text/event-stream" } else { b"" };
                this.rows.insert(seq, [&words(bytes)[..], kind].concat());
            } else {
                this.words.insert(key, words(bytes));
            }
        }
        this
    }

    /// The row of this event, if it is a head that has one.
    pub(super) fn row(&self, seq: u32) -> Option<Vec<u8>> {
        self.rows.get(&seq).cloned()
    }

    /// What stands before the message of a line.
    pub(super) fn before(&self, line: &Line) -> Option<&[u8]> {
        self.words.get(&(line.channel, line.from)).map(Vec::as_slice)
    }

    /// A row shows the message that this event is the head or the end of.
    pub(super) fn covers(&self, event: &Event) -> bool {
        let part = matches!(event.kind, Kind::WriteHead | Kind::ReadHead | Kind::WriteEnd | Kind::ReadEnd);
        let key = sender(event).map(|from| (event.channel, from));
        part && key.is_some_and(|key| self.words.contains_key(&key))
    }
}

fn heads(recording: &Recording) -> impl Iterator<Item = (u32, Key, &Event)> {
    (0..).zip(recording.events()).filter_map(|(seq, event)| {
        let is_head = matches!(event.kind, Kind::WriteHead | Kind::ReadHead);
        let from = sender(event).filter(|_| is_head)?;
        Some((seq, (event.channel, from), event))
    })
}

/// The verb of a request, the status of an answer; of anything else the first line.
fn words(head: &[u8]) -> Vec<u8> {
    let end = head.iter().position(|byte| matches!(byte, b'\r' | b'\n')).unwrap_or(head.len());
    let first = head.get(..end).unwrap_or_default();
    let parts: Vec<&[u8]> = first.splitn(3, |byte| *byte == b' ').collect();
    match parts.as_slice() {
        [version, status, ..] if version.starts_with(b"HTTP/") => status.to_vec(),
        [verb, _, version] if version.starts_with(b"HTTP/") => verb.to_vec(),
        _ => first.to_vec(),
    }
}
