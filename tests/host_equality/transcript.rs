//! What a client has seen of a server, whatever host played it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How a channel ended, as the client saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    /// The answer came whole.
    Complete,
    /// The connection was closed before that.
    Closed,
    Reset,
    Refused,
    /// It was open when the client went.
    Open,
    /// A pipe's end, seen in this step; one behind the last where it came only when the client had closed its own.
    Step(usize),
}

/// How the process ended, if not because it was told to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    Code(i32),
    Signal(i32),
}

/// One channel: an answer over HTTP, or a pipe.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seen {
    pub(crate) head: Vec<u8>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) end: End,
}

impl Seen {
    pub(crate) const NOTHING: Self = Self { head: Vec::new(), bytes: Vec::new(), end: End::Open };
}

/// Over HTTP one channel an answer; over stdio the standard output and the standard error.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Transcript {
    pub(crate) seen: Vec<Seen>,
    pub(crate) exit: Option<Exit>,
}

/// The first thing in which two transcripts differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Channels,
    Head,
    Bytes,
    End,
    Exit,
}

/// Every part in which they differ, each with the first place where it does.
pub(crate) fn differences(reference: &Transcript, other: &Transcript) -> BTreeMap<Part, String> {
    let mut found = BTreeMap::new();
    let mut differs = |part, place: String| {
        found.entry(part).or_insert(place);
    };
    if reference.seen.len() != other.seen.len() {
        differs(Part::Channels, format!("{} and {}", reference.seen.len(), other.seen.len()));
    }
    for (at, (a, b)) in reference.seen.iter().zip(&other.seen).enumerate() {
        if a.head != b.head {
            differs(Part::Head, format!("channel {at}: {} and {}", shown(&a.head), shown(&b.head)));
        }
        if a.bytes != b.bytes {
            differs(Part::Bytes, format!("channel {at}: {}", first_difference(&a.bytes, &b.bytes)));
        }
        if a.end != b.end {
            differs(Part::End, format!("channel {at}: {:?} and {:?}", a.end, b.end));
        }
    }
    if reference.exit != other.exit {
        differs(Part::Exit, format!("{:?} and {:?}", reference.exit, other.exit));
    }
    found
}

fn first_difference(a: &[u8], b: &[u8]) -> String {
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let rest = |bytes: &[u8]| shown(&bytes[same..bytes.len().min(same + 120)]);
    let mut said = format!("{} and {} bytes, the same up to {same}", a.len(), b.len());
    let _ = write!(said, ": {} and {}", rest(a), rest(b));
    said
}

fn shown(bytes: &[u8]) -> String {
    format!("{:?}", String::from_utf8_lossy(bytes))
}

/// The bytes of a connection as an answer: its head, its body without the framing of the transfer, and whether it is complete. Bytes that
/// have no head are all body. What stands behind a complete answer is of its body, since nothing should.
pub(crate) fn answer(wire: &[u8]) -> (Seen, bool) {
    let status = wire.get(9..12).filter(|_| wire.starts_with(b"HTTP/1."));
    let is_http = status.is_some_and(|digits| digits.iter().all(u8::is_ascii_digit));
    let length = wire.windows(4).position(|four| four == b"\r\n\r\n").filter(|_| is_http).map(|at| at + 4);
    let (head, rest) = wire.split_at(length.unwrap_or(0));
    let seen = |bytes: Vec<u8>| Seen { head: head.to_vec(), bytes, end: End::Open };
    let text = String::from_utf8_lossy(head).to_ascii_lowercase();
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    if ["204 ", "304 "].iter().any(|status| text.starts_with(&format!("http/1.1 {status}"))) {
        return (seen(rest.to_vec()), true);
    }
    if value("transfer-encoding").is_some_and(|value| value.trim() == "chunked") {
        let (bytes, complete) = without_chunks(rest);
        return (seen(bytes), complete);
    }
    let whole = value("content-length").and_then(|value| value.trim().parse::<usize>().ok());
    (seen(rest.to_vec()), whole.is_some_and(|length| rest.len() >= length))
}

fn without_chunks(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    loop {
        let Some(line) = rest.windows(2).position(|two| two == b"\r\n") else { return (bytes, false) };
        let size =
            std::str::from_utf8(&rest[..line]).ok().and_then(|text| usize::from_str_radix(text, 16).ok());
        let Some(size) = size else { return (rest.to_vec(), false) };
        rest = &rest[line + 2..];
        if size == 0 {
            let complete = rest.starts_with(b"\r\n");
            bytes.extend_from_slice(rest.get(2..).unwrap_or_default());
            return (bytes, complete);
        }
        bytes.extend_from_slice(&rest[..size.min(rest.len())]);
        match rest.get(size..).and_then(|rest| rest.strip_prefix(b"\r\n")) {
            Some(next) => rest = next,
            None => return (bytes, false),
        }
    }
}
