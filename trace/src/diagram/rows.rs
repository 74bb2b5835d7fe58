//! What a diagram shows, whatever it is drawn with: one row a message or life-cycle event, with the marks on it.

use std::collections::{BTreeMap, BTreeSet};

use super::heads::{Heads, Key};
use crate::lines::{MAX_LINES, lines, sender};
use crate::summary::summary;
use crate::{
    Channel, Era, Event, Footer, Header, Kind, Line, Mode, Node, Origin, Outcome, Recording, Subject,
    Transport,
};

/// No diagram has more rows; what is past this is cut, and the diagram says so.
const MAX_ROWS: usize = 1 << 14;
/// No row shows more of its text than this many bytes hold.
const ROW_BYTES: usize = 1 << 10;

/// What is shown of a run.
pub(super) struct Rows {
    pub(super) rows: Vec<Row>,
    /// The indices of the bad rulings that no row shows.
    pub(super) loose: Vec<usize>,
    /// The run goes on where the rows end.
    pub(super) cut: bool,
}

/// What a diagram says that is cut.
pub(super) fn cut_words() -> String {
    format!("(cut here: a diagram shows {MAX_LINES} messages and {MAX_ROWS} rows at most)")
}

/// One row.
pub(super) struct Row {
    pub(super) t_us: u64,
    pub(super) place: Place,
    /// Not escaped yet.
    pub(super) text: Vec<u8>,
    /// The rulings that rest on it, each with whether this is the last event that it rests on.
    pub(super) marks: Vec<(usize, bool)>,
}

/// Between whom, or at whom, it happens.
pub(super) enum Place {
    /// A message from one side to the other.
    Message(Node, Channel),
    /// Something one side does to the other that is no message.
    Act(Node, Channel),
    /// Something at one side.
    At(Node, Channel),
}

/// All rows in order.
pub(super) fn rows(recording: &Recording, footer: Option<&Footer>) -> Rows {
    let mut by_end: BTreeMap<u32, Vec<Line>> = BTreeMap::new();
    let mut shown: BTreeSet<u32> = BTreeSet::new();
    let lines = lines(recording);
    let heads = Heads::new(recording, &lines);
    let mut cut = lines.len() >= MAX_LINES;
    // From one side's message in an exchange to the row that shows it.
    let mut row_of_key: BTreeMap<Key, usize> = BTreeMap::new();
    for line in lines {
        shown.extend(&line.chunks);
        by_end.entry(line.chunks.last().copied().unwrap_or(0)).or_default().push(line);
    }
    let (evidence, mut loose) = evidence(recording, footer);
    let mut rows = Vec::new();
    // From an event to the row that shows it.
    let mut row_of = BTreeMap::new();
    for (seq, event) in (0..).zip(recording.events()) {
        if rows.len() >= MAX_ROWS {
            cut = true;
            break;
        }
        for line in by_end.remove(&seq).unwrap_or_default() {
            row_of.extend(line.chunks.iter().map(|chunk| (*chunk, rows.len())));
            row_of_key.insert((line.channel, line.from), rows.len());
            rows.push(message_row(recording, event, &line, &heads));
        }
        if let Some(text) = heads.row(seq) {
            row_of_key.entry(key_of(event)).or_insert(rows.len());
            rows.push(row(event, Place::Message(key_of(event).1, event.channel), text));
            continue;
        }
        let evident = evidence.contains_key(&seq) && !shown.contains(&seq) && !heads.covers(event);
        if let Some(row) = event_row(recording, event, evident) {
            row_of.insert(seq, rows.len());
            rows.push(row);
        }
    }
    for (seq, marks) in evidence {
        let of_exchange = || recording.get(seq).and_then(|event| row_of_key.get(&key_of(event)));
        match row_of.get(&seq).or_else(of_exchange).and_then(|at| rows.get_mut(*at)) {
            Some(row) => row.marks.extend(marks),
            None => loose.extend(marks.iter().filter(|(_, is_last)| *is_last).map(|(ruling, _)| *ruling)),
        }
    }
    Rows { rows, loose, cut }
}

/// Whose message on which channel an event is part of.
fn key_of(event: &Event) -> Key {
    (event.channel, sender(event).unwrap_or(event.node))
}

type Marks = BTreeMap<u32, Vec<(usize, bool)>>;

fn evidence(recording: &Recording, footer: Option<&Footer>) -> (Marks, Vec<usize>) {
    let mut marks = Marks::new();
    let mut loose = Vec::new();
    for (i, ruling) in footer.iter().flat_map(|footer| &footer.rulings).enumerate() {
        if !matches!(ruling.outcome, Outcome::Violation | Outcome::Defect) {
            continue;
        }
        let seqs: Vec<u32> =
            ruling.evidence.iter().copied().filter(|seq| recording.get(*seq).is_some()).collect();
        for seq in &seqs {
            marks.entry(*seq).or_default().push((i, seqs.last() == Some(seq)));
        }
        if seqs.is_empty() {
            loose.push(i);
        }
    }
    (marks, loose)
}

fn message_row(recording: &Recording, event: &Event, line: &Line, heads: &Heads) -> Row {
    let mut text = summary(&line.bytes(recording));
    if let Some(head) = heads.before(line) {
        text.splice(0..0, [head, b" "].concat());
    }
    if !line.ended {
        // In front, where no cut can hide it.
        let what: &[u8] = match line.channel {
            Channel::Exchange(_) => b"(body not ended) ",
            _ => b"(line not ended) ",
        };
        text.splice(0..0, what.iter().copied());
    }
    row(event, Place::Message(line.from, line.channel), text)
}

/// Reads and writes have rows only as messages, unless a ruling rests on one that no message shows.
fn event_row(recording: &Recording, event: &Event, evident: bool) -> Option<Row> {
    let Event { node, channel, .. } = *event;
    let with = |words: &str| {
        let mut text = words.as_bytes().to_vec();
        if !event.is_empty() {
            text.extend_from_slice(b": ");
            text.extend_from_slice(recording.bytes(event));
        }
        text
    };
    let at = Place::At(node, channel);
    let act = Place::Act(node, channel);
    let (place, text) = match event.kind {
        Kind::Write | Kind::Read if !evident => return None,
        Kind::Write => (at, [b"writes: ", &chunk(recording.bytes(event))[..]].concat()),
        Kind::Read => (at, [b"reads: ", &chunk(recording.bytes(event))[..]].concat()),
        Kind::Spawn => (act, with("starts it")),
        Kind::Up => (at, with("runs")),
        Kind::SpawnFailed => (act, with("cannot start it")),
        Kind::Stderr => (at, with("complains")),
        Kind::WriteHead | Kind::ReadHead | Kind::WriteEnd | Kind::ReadEnd if !evident => return None,
        Kind::WriteHead => (at, with("sends a head")),
        Kind::ReadHead => (at, with("reads a head")),
        Kind::WriteEnd => (at, with("ends its message")),
        Kind::ReadEnd => (at, with("reads the end of the message")),
        Kind::Close if matches!(channel, Channel::Exchange(_)) => (act, with("closes the connection")),
        Kind::Reset => (act, with("resets the connection")),
        Kind::Refused => (at, with("nobody accepts the connection")),
        Kind::Close if node == Node::Server => (act, with("closes its output")),
        Kind::Close => (act, with("closes its input")),
        Kind::Eof => (at, with("sees that the other side has closed")),
        Kind::WriteFailed => (act, with("cannot write")),
        Kind::Exit(code) => (at, with(&format!("exits with code {code}"))),
        Kind::Signal(signal) => (at, with(&format!("is ended by signal {signal}"))),
        Kind::Settled(Era::Legacy) => (at, with("settled, legacy")),
        Kind::Settled(Era::Modern) => (at, with("settled, modern")),
        Kind::Failed => (at, with("gives up")),
        Kind::Downgraded => (at, with("steps down to legacy")),
        Kind::Called(true) => (at, with("the call after settling was answered")),
        Kind::Called(false) => (at, with("the call after settling was not answered well")),
        Kind::FaultsOff => (at, with("faults are off from here on")),
        Kind::Stuck => (at, with("stuck")),
        Kind::End(true) => (at, with("end of the run")),
        Kind::End(false) => (at, with("the run was cut off here")),
    };
    Some(row(event, place, text))
}

fn row(event: &Event, place: Place, mut text: Vec<u8>) -> Row {
    text.truncate(ROW_BYTES);
    text.shrink_to_fit();
    Row { t_us: event.t_us, place, text, marks: Vec::new() }
}

fn chunk(bytes: &[u8]) -> Vec<u8> {
    match bytes.strip_suffix(b"\n") {
        Some(line) if !line.contains(&b'\n') => summary(line),
        _ => format!("{} bytes", bytes.len()).into_bytes(),
    }
}

/// What the run is about. Not escaped yet.
pub(super) fn title(header: &Header) -> String {
    let subject = match header.subject {
        Subject::Client => "client",
        Subject::Server => "server",
        Subject::Proxy => "proxy",
    };
    let transport = match header.transport {
        Transport::Stdio => "stdio",
        Transport::Http => "http",
    };
    let mode = match &header.declared.mode {
        Mode::Legacy => ", mode legacy".into(),
        Mode::Auto => ", mode auto".into(),
        Mode::Modern => ", mode modern".into(),
        Mode::Pin(version) => format!(", mode pin {version}"),
        Mode::Unknown => String::new(),
    };
    let origin = match &header.origin {
        Origin::Simulated { seed } => format!("simulated, seed {seed}"),
        Origin::Real { peer: Some(peer), .. } => format!("real, {peer}"),
        Origin::Real { command, .. } if command.is_empty() => "real".into(),
        Origin::Real { command, .. } => format!("real, {}", command.join(" ")),
        Origin::Written => "written by hand".into(),
    };
    format!("{subject} on trial over {transport}{mode}, {origin}")
}

/// How a bad outcome is called.
pub(super) fn outcome_word(outcome: Outcome) -> &'static str {
    if outcome == Outcome::Defect { "defect" } else { "violation" }
}
