//! What each side knew when it sent a message: who answers whom, the phase of the process, and the evidence in force.

use mcp_parley_trace::{Era, Event, Kind, Node};

use super::message::{Answer, Message, NONE, Phase, Shape, Side};
use super::{Buffers, What};
use crate::known::{self, Method};

/// How far `initialize` got on a process, seen from one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Handshake {
    #[default]
    None,
    Pending,
    Answered,
    Session,
}

/// One process: what its two sides know, and how it ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Process {
    client: Handshake,
    server: Handshake,
    /// Probes that the client still waits for.
    open_probes: u32,
    /// The server has answered as a modern one.
    claimed: bool,
    /// The client's end of the pipes was seen to close, or the client ended the process.
    pub(crate) closed: Option<(u32, u64)>,
    /// The server's end closed, or the process ended, and not by the client's doing.
    pub(crate) gone: Option<(u32, u64)>,
    /// The process ended, or could not be started.
    pub(crate) ended: Option<(u32, u64, Kind)>,
}

impl Process {
    const NEW: Self = Self {
        client: Handshake::None,
        server: Handshake::None,
        open_probes: 0,
        claimed: false,
        closed: None,
        gone: None,
        ended: None,
    };

    /// `client_seen`: the client's end is traced, so that an end of input at the server's is not taken for its doing.
    fn life(&mut self, seq: u32, event: &Event, client_seen: bool) {
        let now = (seq, event.t_us);
        let slot = match (event.kind, event.node) {
            (Kind::Close, Node::Client) => &mut self.closed,
            (Kind::Eof, Node::Server) if !client_seen => &mut self.closed,
            (Kind::Close, Node::Server) | (Kind::Eof, Node::Client) => &mut self.gone,
            (Kind::WriteFailed, Node::Client) => &mut self.gone,
            (Kind::WriteFailed, Node::Server) => &mut self.closed,
            (Kind::Exit(_) | Kind::Signal(_), _) | (Kind::SpawnFailed, Node::Client) => {
                self.ended.get_or_insert((seq, event.t_us, event.kind));
                if is_kill(event) { &mut self.closed } else { &mut self.gone }
            }
            _ => return,
        };
        slot.get_or_insert(now);
    }
}

/// SIGTERM or SIGKILL that ends a server from outside. One that ends itself so, or is ended by the world, names its cause.
pub(crate) fn is_kill(event: &Event) -> bool {
    matches!(event.kind, Kind::Signal(9 | 15)) && event.cause.is_none() && event.node == Node::Server
}

/// What holds for the whole run while it is told.
#[derive(Default)]
struct Run {
    evidence: Option<u32>,
    /// Something modern was received, proof or not, and the client has not stepped down since.
    leaning: bool,
    /// The process on which that was.
    process: u32,
}

impl Buffers {
    /// Finds the request that a response answers: the same id, on the same process, from the other side, still open.
    /// Where an id is used twice (BASE-12), the content decides, then the newer request.
    /// Over HTTP a server answers in the exchange of the request; a stream that the client asked for by GET may bring any answer.
    pub(super) fn correlate(&mut self, place: u32) {
        let Some((response, before)) = self.messages.split_last_mut() else { return };
        if !response.is_response() {
            return;
        }
        let exchange = self.exchanges.get(response.exchange as usize);
        let anywhere = response.from == Side::Client || exchange.is_none_or(|exchange| exchange.is_get);
        let Some(id) = response.id.filter(|_| exchange.is_none() || !response.nameless) else {
            self.correlate_nameless(place);
            return;
        };
        let mut best: Option<(bool, usize)> = None;
        for (at, request) in before.iter().enumerate().rev() {
            let other = request.process == response.process
                && request.from != response.from
                && (anywhere || request.exchange == response.exchange);
            if !other || request.shape != Shape::Request {
                continue;
            }
            let same = request.id.is_some_and(|own| self.tree.same_scalar(&self.text, own, id));
            if same && request.pair != NONE {
                response.repeats = true;
            } else if same {
                let fits = match request.method {
                    Method::Discover => response.list.is_some(),
                    Method::Initialize => response.handshake_version.is_some(),
                    _ => response.list.is_none() && response.handshake_version.is_none(),
                };
                if best.is_none_or(|(fitted, _)| fits && !fitted) {
                    best = Some((fits, at));
                }
            }
        }
        if let Some((_, at)) = best {
            response.repeats = false;
            response.pair = at as u32;
            response.answer = response.answer_to(&before[at], &self.tree, &self.text);
            before[at].pair = place;
        }
    }

    /// An error without an id, or with a null one, in the answer to a POST: the exchange names the request (HTTP-26).
    fn correlate_nameless(&mut self, place: u32) {
        let Some((response, before)) = self.messages.split_last_mut() else { return };
        let exchange = self.exchanges.get(response.exchange as usize);
        let Some(exchange) = exchange.filter(|_| response.nameless && response.from == Side::Server) else {
            return;
        };
        let asked = before.get_mut(exchange.message as usize);
        let Some(request) = asked.filter(|asked| asked.is_request() && asked.pair == NONE) else { return };
        response.clean = true;
        // The schema knows no null id (BASE-18), so a strict reader has read nothing.
        response.faint |= response.id.is_some();
        response.pair = exchange.message;
        response.answer = response.answer_to(request, &self.tree, &self.text);
        request.pair = place;
    }

    /// Notes in which exchange a message is, and what follows from the media type and the status.
    pub(super) fn place_in_exchange(&self, message: &mut Message, index: usize) {
        let place = index / 2;
        message.exchange = place as u32;
        let (Some(exchange), Some(stream)) = (self.exchanges.get(place), self.streams.get(index)) else {
            return;
        };
        let says = message.root.is_some_and(|root| self.tree.get(&self.text, root, "jsonrpc").is_some());
        let is_text = match message.from {
            // The older transport posts its messages elsewhere, and so does a client that wants a token.
            Side::Client => !exchange.at_endpoint && !says,
            Side::Server => {
                message.faint = !exchange.is_read(message.shape == Shape::Error);
                exchange.holds_text(stream.body, says)
            }
        };
        if is_text {
            let Message { place, exchange, wire, start, end, sent, sent_us, .. } = *message;
            let blank = Message::new(message.from, message.process, start, end, sent, sent_us);
            *message = Message { place, exchange, wire, shape: Shape::Text, faint: true, ..blank };
        }
    }

    /// Goes through the run in its order and notes at each message what its sender knew.
    pub(super) fn contextualise(&mut self) {
        let client_seen = self.ends.has(Side::Client);
        self.processes.clear();
        let processes = if self.http { 1 } else { self.numbers.len() };
        self.processes.resize(processes, Process::NEW);
        let mut run = Run::default();
        self.find_modern();
        for at in 0..self.moments.len() {
            let moment = self.moments[at];
            match moment.what {
                What::Life(event) => {
                    if let mcp_parley_trace::Channel::Process(number) = event.channel {
                        let slot = self.slot(number) as usize;
                        if let Some(process) = self.processes.get_mut(slot) {
                            process.life(moment.seq, &event, client_seen);
                        }
                    }
                }
                What::Sent(place) => self.sent(place, &mut run),
                What::Received(place) => self.received(place, &mut run),
            }
        }
    }

    /// Over HTTP the era of an answer is that of its request and not that of the process: one server has many sessions.
    fn find_modern(&mut self) {
        self.modern.clear();
        for exchange in &self.exchanges {
            let asked = self.messages.get(exchange.message as usize);
            self.modern
                .push(asked.is_some_and(|asked| asked.method == Method::Discover || asked.modern_keys));
        }
    }

    fn sent(&mut self, place: u32, run: &mut Run) {
        let Some(message) = self.messages.get_mut(place as usize) else { return };
        let Some(process) = self.processes.get_mut(message.process as usize) else { return };
        match message.from {
            Side::Client => {
                if message.is_call(Method::Discover) && message.process != run.process {
                    // A new question to a new process puts the old answer in question.
                    (run.evidence, run.leaning) = (None, false);
                }
                message.evidence = run.evidence.unwrap_or(NONE);
                message.phase = match process.client {
                    Handshake::Pending => Phase::Shaking,
                    Handshake::Answered => Phase::Shaken,
                    Handshake::Session => Phase::Session,
                    Handshake::None if run.leaning => Phase::Modern,
                    Handshake::None if process.open_probes > 0 => Phase::Probing,
                    Handshake::None => Phase::Opening,
                };
                process.client_sends(message);
                if message.is_call(Method::Initialize) {
                    run.leaning = false;
                }
            }
            Side::Server => {
                let modern = self.modern.get(message.exchange as usize).is_some_and(|modern| *modern);
                message.phase = match process.server {
                    Handshake::Answered | Handshake::Session if modern && process.claimed => Phase::Modern,
                    Handshake::Answered | Handshake::Session if modern => Phase::Opening,
                    Handshake::Pending if process.claimed => Phase::Modern,
                    Handshake::Pending => Phase::Shaking,
                    Handshake::Answered | Handshake::Session => Phase::Session,
                    Handshake::None if process.claimed => Phase::Modern,
                    Handshake::None => Phase::Opening,
                };
                process.server_sends(message);
            }
        }
    }

    /// What answers it may prove a modern server. The requests of a legacy session may carry its version (AMB-17): what answers
    /// them proves nothing.
    fn asks_modern(&self, request: &Message) -> bool {
        let version = request.version.and_then(|at| self.tree.string(&self.text, at));
        let is_legacy = version.is_some_and(|version| known::era_of(&version) == Some(Era::Legacy));
        request.method == Method::Discover || request.version.is_some() && !is_legacy
    }

    fn received(&mut self, place: u32, run: &mut Run) {
        let Some(message) = self.messages.get(place as usize) else { return };
        let Some(process) = self.processes.get_mut(message.process as usize) else { return };
        if message.from == Side::Client {
            if message.is_call(Method::Initialize) && process.server == Handshake::None {
                process.server = Handshake::Pending;
            }
            return;
        }
        let Some(request) = self.messages.get(message.pair as usize) else { return };
        if request.method == Method::Initialize {
            match message.answer {
                Answer::Handshake if process.client == Handshake::Pending => {
                    process.client = Handshake::Answered;
                }
                Answer::OtherError | Answer::ModernError | Answer::Unsupported | Answer::OddUnsupported
                    if process.client == Handshake::Pending =>
                {
                    process.client = Handshake::None;
                }
                _ => {}
            }
            return;
        }
        if request.method == Method::Discover {
            process.open_probes = process.open_probes.saturating_sub(1);
        }
        if !self.asks_modern(request) || message.faint {
            return;
        }
        match message.answer {
            Answer::Discovered | Answer::Unsupported | Answer::ModernError | Answer::Typed => {
                run.evidence = Some(place);
            }
            Answer::Untyped | Answer::UnknownType | Answer::OddUnsupported => {}
            _ => return,
        }
        (run.leaning, run.process) = (true, message.process);
    }
}

impl Process {
    fn client_sends(&mut self, message: &Message) {
        match (message.shape, message.method) {
            (Shape::Request, Method::Discover) => self.open_probes += 1,
            (Shape::Request, Method::Initialize) if self.client != Handshake::Session => {
                self.client = Handshake::Pending;
            }
            (Shape::Notification, Method::Initialized) | (Shape::Request, _)
                if self.client == Handshake::Answered =>
            {
                self.client = Handshake::Session;
            }
            _ => {}
        }
    }

    fn server_sends(&mut self, message: &Message) {
        match message.answer {
            Answer::Handshake => self.server = Handshake::Answered,
            Answer::Discovered
            | Answer::Untyped
            | Answer::Unsupported
            | Answer::OddUnsupported
            | Answer::ModernError
            | Answer::Typed => self.claimed = true,
            Answer::OtherError if self.server == Handshake::Pending => self.server = Handshake::None,
            _ => {}
        }
    }
}
