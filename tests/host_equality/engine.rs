//! The engines by themselves, at a time that nobody waits for: the reference for every host.

use std::sync::Arc;

use mcp_parley_mock_clients::Conversation;
use mcp_parley_mock_servers::{
    BodyFraming, Played, Server, ServerInput, ServerOutput, Site, SiteInput, SiteOutput,
};
use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::http::{Exchange, RequestHead};

use crate::scripts::{line, request, waits};
use crate::transcript::{End, Exit, Seen, Transcript, answer};

/// What had come after each step: of a real host, so much is waited for. Over stdio the length of the standard output and its end; over HTTP
/// the same of each answer.
pub(crate) type Marks = Vec<Vec<(usize, End)>>;

/// What the engine says, what of it has come after each step, and in which pieces at what time: a channel and a length each.
#[derive(Debug)]
pub(crate) struct Reference {
    pub(crate) transcript: Transcript,
    pub(crate) marks: Marks,
    pub(crate) pieces: Vec<(Time, usize, usize)>,
}

pub(crate) fn over_stdio(played: Arc<Played>, process: u32, opening: &Conversation) -> Reference {
    let mut pipes = Pipes {
        server: Server::start(played, process),
        now: Time::ZERO,
        wake: None,
        out: Vec::new(),
        err: Vec::new(),
        pieces: Vec::new(),
        is_closed: false,
        exit: None,
    };
    pipes.tell(ServerInput::Start);
    let (mut marks, mut end) = (Vec::new(), End::Step(opening.steps.len()));
    for (at, step) in opening.steps.iter().enumerate() {
        pipes.tell(ServerInput::Bytes(&line(step)));
        if !waits(step) {
            marks.push(vec![(0, End::Open)]);
            continue;
        }
        pipes.settle();
        if pipes.is_closed {
            end = End::Step(at);
            marks.push(vec![(pipes.out.len(), end)]);
            break;
        }
        marks.push(vec![(pipes.out.len(), End::Open)]);
    }
    pipes.tell(ServerInput::Eof);
    pipes.settle();
    let out = Seen { bytes: pipes.out, end, ..Seen::NOTHING };
    let err = Seen { bytes: pipes.err, ..Seen::NOTHING };
    let transcript = Transcript { seen: vec![out, err], exit: pipes.exit };
    Reference { transcript, marks, pieces: pipes.pieces }
}

struct Pipes {
    server: Server,
    now: Time,
    wake: Option<Time>,
    out: Vec<u8>,
    err: Vec<u8>,
    pieces: Vec<(Time, usize, usize)>,
    is_closed: bool,
    exit: Option<Exit>,
}

impl Pipes {
    fn tell(&mut self, input: ServerInput<'_>) {
        self.server.handle_input(self.now, input);
        let mut buf = Vec::new();
        while let Some(output) = self.server.poll_output(&mut buf) {
            match output {
                ServerOutput::Write(range) => {
                    self.pieces.push((self.now, 0, range.len()));
                    self.out.extend_from_slice(&buf[range]);
                }
                ServerOutput::Stderr(range) => self.err.extend_from_slice(&buf[range]),
                ServerOutput::CloseOutput => self.is_closed = true,
                ServerOutput::Exit(code) => (self.is_closed, self.exit) = (true, Some(Exit::Code(code))),
                ServerOutput::Signal(signal) => {
                    (self.is_closed, self.exit) = (true, Some(Exit::Signal(signal)))
                }
                ServerOutput::WakeAt(at) => self.wake = at,
            }
        }
    }

    fn settle(&mut self) {
        while let Some(at) = self.wake.take().filter(|_| self.exit.is_none()) {
            self.now = self.now.max(at);
            self.tell(ServerInput::Timeout);
        }
    }
}

pub(crate) fn over_http(played: Arc<Played>, opening: &Conversation) -> Reference {
    let mut net = Net {
        site: Site::start(played),
        now: Time::ZERO,
        wake: None,
        answers: Vec::new(),
        pieces: Vec::new(),
        session: None,
        exit: None,
    };
    net.tell(SiteInput::Start);
    let mut marks = Vec::new();
    for step in &opening.steps {
        net.ask(step);
        if waits(step) {
            net.settle();
        }
        marks.push(net.answers.iter().map(|own| (own.seen().bytes.len(), own.end)).collect());
    }
    let seen = net.answers.iter().map(Wire::seen).collect();
    Reference { transcript: Transcript { seen, exit: net.exit.map(Exit::Code) }, marks, pieces: net.pieces }
}

/// One answer as it comes.
struct Wire {
    head: Vec<u8>,
    framing: Option<BodyFraming>,
    bytes: Vec<u8>,
    end: End,
}

impl Wire {
    fn seen(&self) -> Seen {
        // Bytes that are written as they are may be a head as well.
        let raw = self.framing.is_none().then(|| answer(&self.bytes).0);
        let own = Seen { head: self.head.clone(), bytes: self.bytes.clone(), end: self.end };
        raw.map_or(own, |raw| Seen { end: self.end, ..raw })
    }
}

struct Net {
    site: Site,
    now: Time,
    wake: Option<Time>,
    answers: Vec<Wire>,
    pieces: Vec<(Time, usize, usize)>,
    session: Option<String>,
    /// No process has the port.
    exit: Option<i32>,
}

impl Net {
    fn ask(&mut self, step: &mcp_parley_mock_clients::Said) {
        let (http, headers, body) = request(step, self.session.as_deref());
        let exchange = Exchange(self.answers.len() as u32);
        let end = if self.exit.is_some() { End::Refused } else { End::Open };
        self.answers.push(Wire { head: Vec::new(), framing: None, bytes: Vec::new(), end });
        if end == End::Refused {
            return;
        }
        let headers: Vec<(&[u8], &[u8])> =
            headers.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
        let head = RequestHead { verb: http.verb.word(), target: "/mcp", headers: &headers };
        self.tell(SiteInput::Request(exchange, head, &body));
    }

    fn tell(&mut self, input: SiteInput<'_>) {
        self.site.handle_input(self.now, input);
        let mut buf = Vec::new();
        while let Some(output) = self.site.poll_output(&mut buf) {
            match output {
                SiteOutput::Head(exchange, head) => {
                    let given =
                        |name: &str| head.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
                    if let Some((_, id)) = given("mcp-session-id") {
                        self.session = Some(id.clone());
                    }
                    let framing = head.framing();
                    let own = &mut self.answers[exchange.0 as usize];
                    (own.head, own.framing) = (head.to_bytes(framing), Some(framing));
                }
                SiteOutput::Body(exchange, range) | SiteOutput::Raw(exchange, range) => {
                    self.pieces.push((self.now, exchange.0 as usize, range.len()));
                    let own = &mut self.answers[exchange.0 as usize];
                    if own.framing != Some(BodyFraming::Without) {
                        own.bytes.extend_from_slice(&buf[range]);
                    }
                }
                SiteOutput::End(exchange) => self.answers[exchange.0 as usize].end = End::Complete,
                SiteOutput::Close(exchange) => self.answers[exchange.0 as usize].end = End::Closed,
                SiteOutput::Reset(exchange) => self.answers[exchange.0 as usize].end = End::Reset,
                SiteOutput::Exit(code) => {
                    self.exit = Some(code);
                    let open = self.answers.iter_mut().filter(|own| own.end == End::Open);
                    open.for_each(|own| own.end = End::Closed);
                }
                SiteOutput::Up => self.exit = None,
                SiteOutput::WakeAt(at) => self.wake = at,
            }
        }
    }

    fn settle(&mut self) {
        while let Some(at) = self.wake.take() {
            self.now = self.now.max(at);
            self.tell(SiteInput::Timeout);
        }
    }
}
