//! HTTP exchanges: what the heads say, which body is what, and how each exchange ended.

use mcp_parley_trace::{Event, Kind, Node};

use super::message::{NONE, Side};

/// One HTTP exchange. Numbers of events are [`NONE`] for what never happened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    /// The event that has the head of the request, and that of the answer.
    pub(crate) request_head: u32,
    pub(crate) answer_head: u32,
    /// The event that sent the end of the request; its head, if no end was recorded.
    pub(crate) asked: u32,
    pub(crate) asked_us: u64,
    /// The event that sent the end of the answer; its head, if no end was recorded.
    pub(crate) answered: u32,
    /// The client had the head of the answer.
    pub(crate) head_received: u32,
    pub(crate) head_received_us: u64,
    /// The client had the whole answer.
    pub(crate) complete: u32,
    pub(crate) complete_us: u64,
    /// The status of the answer; 0 without one.
    pub(crate) status: u16,
    /// It is a POST; it is a GET.
    pub(crate) is_post: bool,
    pub(crate) is_get: bool,
    /// Its target is that of the run's first POST, or of a GET for a stream before it.
    pub(crate) at_endpoint: bool,
    /// The place of the first message of the request's body, and of the answer's.
    pub(crate) message: u32,
    pub(crate) reply: u32,
    /// How many bytes the body of the answer has.
    pub(crate) answer_len: u32,
    /// What the answer's body is.
    pub(crate) body: Body,
    /// Its answer has bytes and no head: what a client reads in them is not known.
    pub(crate) raw: bool,
    /// Its event stream says after which time to come back.
    pub(crate) says_when: bool,
    /// The client closed it before it was complete.
    pub(crate) closed: Option<(u32, u64)>,
    /// It broke, and not by the client's doing.
    pub(crate) gone: Option<(u32, u64)>,
}

/// How a stream of bytes is cut into messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Body {
    /// At newlines: a pipe.
    #[default]
    Lines,
    /// Not at all: one message.
    Json,
    /// At the empty lines of an event stream.
    Events,
    /// It holds no message: another media type.
    Text,
}

impl Exchange {
    pub(super) const NEW: Self = Self {
        request_head: NONE,
        answer_head: NONE,
        asked: NONE,
        asked_us: 0,
        answered: NONE,
        head_received: NONE,
        head_received_us: 0,
        complete: NONE,
        complete_us: 0,
        status: 0,
        is_post: false,
        is_get: false,
        at_endpoint: false,
        message: NONE,
        reply: NONE,
        answer_len: 0,
        body: Body::Text,
        raw: false,
        says_when: false,
        closed: None,
        gone: None,
    };

    /// `client_seen`: as for a process.
    pub(super) fn life(&mut self, seq: u32, event: &Event, client_seen: bool) {
        let slot = match (event.kind, event.node) {
            _ if self.complete != NONE => return,
            (Kind::Close, Node::Client) => &mut self.closed,
            (Kind::Eof | Kind::WriteFailed, Node::Server) if !client_seen => &mut self.closed,
            (Kind::Close | Kind::Reset, Node::Server)
            | (Kind::Eof | Kind::Refused | Kind::WriteFailed, Node::Client) => &mut self.gone,
            _ => return,
        };
        slot.get_or_insert((seq, event.t_us));
    }

    /// The client waits for more of it at this event, as far as the recorder can tell.
    pub(crate) fn is_open(&self, seq: u32) -> bool {
        let before = |end: Option<(u32, u64)>| end.is_some_and(|(at, _)| at < seq);
        !self.raw && self.asked < seq && self.complete > seq && !before(self.closed) && !before(self.gone)
    }

    /// It broke before it was complete, and the client had not closed it.
    pub(crate) fn broke(&self) -> Option<(u32, u64)> {
        self.gone.filter(|(gone, _)| self.closed.is_none_or(|(closed, _)| closed > *gone))
    }

    /// When it was over for the client, whichever way.
    pub(crate) fn over_us(&self) -> Option<u64> {
        let whole = Some(self.complete_us).filter(|_| self.complete != NONE);
        whole.or(self.gone.map(|(_, t_us)| t_us)).or(self.closed.map(|(_, t_us)| t_us))
    }

    /// A client goes by the body of an answer with this status, beyond doubt: that of a success, and that of a refusal
    /// in which a modern server explains itself. The others have meanings of their own (AMB-08).
    pub(crate) fn is_read(&self, is_error: bool) -> bool {
        match self.status {
            200 => true,
            401 | 403 | 407 | 408 | 429 => false,
            400..=499 => is_error,
            _ => false,
        }
    }
}

/// The head of a request or an answer, as it is on the wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head<'a>(pub(crate) &'a [u8]);

impl<'a> Head<'a> {
    fn lines(self) -> impl Iterator<Item = &'a [u8]> {
        self.0.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
    }

    /// The n-th word of the first line.
    fn word(self, n: usize) -> &'a [u8] {
        let first = self.lines().next().unwrap_or_default();
        first.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).nth(n).unwrap_or_default()
    }

    pub(crate) fn verb(self) -> &'a [u8] {
        self.word(0)
    }

    /// What the request is for, without a query.
    pub(crate) fn path(self) -> &'a [u8] {
        self.word(1).split(|byte| *byte == b'?').next().unwrap_or_default()
    }

    pub(crate) fn status(self) -> u16 {
        let word = self.word(1);
        let digits = word.len() == 3 && word.iter().all(u8::is_ascii_digit);
        let value = |so_far: u16, byte: &u8| so_far * 10 + u16::from(byte - b'0');
        if digits { word.iter().fold(0, value) } else { 0 }
    }

    /// Names and values in order, the blanks around a value left out.
    pub(crate) fn fields(self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        self.lines().skip(1).filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let (name, value) = line.split_at_checked(colon)?;
            Some((name, value.get(1..).unwrap_or_default().trim_ascii()))
        })
    }

    /// The values of every field of this name, whatever its case.
    pub(crate) fn values(self, name: &'static str) -> impl Iterator<Item = &'a [u8]> {
        let named = move |own: &[u8]| own.eq_ignore_ascii_case(name.as_bytes());
        self.fields().filter(move |(own, _)| named(own)).map(|(_, value)| value)
    }

    /// The value of the only field of this name; `None` without one, or with several (AMB-38).
    pub(crate) fn only(self, name: &'static str) -> Option<&'a [u8]> {
        let mut values = self.values(name);
        values.next().filter(|_| values.next().is_none())
    }

    pub(crate) fn has(self, name: &'static str) -> bool {
        self.values(name).next().is_some()
    }

    /// The media types that a field of this name lists, without their parameters.
    pub(crate) fn media_types(self, name: &'static str) -> impl Iterator<Item = &'a [u8]> {
        self.values(name)
            .flat_map(|value| value.split(|byte| *byte == b','))
            .map(|one| one.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii())
    }

    pub(crate) fn lists(self, name: &'static str, media_type: &str) -> bool {
        self.media_types(name).any(|own| own.eq_ignore_ascii_case(media_type.as_bytes()))
    }

    /// What the body of an answer with this head is.
    pub(super) fn body(self) -> Body {
        match () {
            () if self.lists("content-type", "application/json") => Body::Json,
            () if self.lists("content-type", "text/event-stream") => Body::Events,
            () => Body::Text,
        }
    }
}

/// Which part of whose message an event of an exchange is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Head,
    Bytes,
    End,
}

/// What an event moves, and who had sent it.
pub(super) fn part(event: &Event) -> Option<(Side, Part)> {
    let part = match event.kind {
        Kind::WriteHead | Kind::ReadHead => Part::Head,
        Kind::Write | Kind::Read => Part::Bytes,
        Kind::WriteEnd | Kind::ReadEnd => Part::End,
        _ => return None,
    };
    match (event.node, is_write(event.kind)) {
        (Node::Client, true) | (Node::Server, false) => Some((Side::Client, part)),
        (Node::Server, true) | (Node::Client, false) => Some((Side::Server, part)),
        _ => None,
    }
}

pub(super) fn is_write(kind: Kind) -> bool {
    matches!(kind, Kind::Write | Kind::WriteHead | Kind::WriteEnd)
}
