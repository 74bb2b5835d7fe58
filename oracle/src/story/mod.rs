//! A run as its judge sees it: lines instead of bytes, who answers whom, and what each side knew when it spoke.

mod body;
mod context;
mod exchange;
mod facts;
mod frame;
mod message;

use std::borrow::Cow;

use mcp_parley_trace::{Channel, Declared, Era, Event, Kind, Mode, Node, Recording, Subject, Transport};

pub(crate) use context::{Process, is_kill};
pub(crate) use exchange::{Body, Exchange, Head};
pub(crate) use facts::Facts;
pub(crate) use frame::Ends;
pub(crate) use message::{Answer, Message, NONE, Phase, Shape, Side, is_good_id};

use crate::json::{At, Tree, Type};
use crate::known::{self, Method};

/// Something that happened, in the order in which it did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) seq: u32,
    pub(crate) t_us: u64,
    pub(crate) what: What,
}

/// See [`Moment`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    /// A message was sent; its place in the story.
    Sent(u32),
    /// A message was received to its end.
    Received(u32),
    /// Anything that moves no bytes.
    Life(Event),
}

/// The memory of a story, kept from run to run.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    text: Vec<u8>,
    tree: Tree,
    messages: Vec<Message>,
    next_in_stream: Vec<u32>,
    moments: Vec<Moment>,
    numbers: Vec<u32>,
    streams: Vec<frame::Stream>,
    processes: Vec<Process>,
    exchanges: Vec<Exchange>,
    /// Of each exchange: its request is modern by its body.
    modern: Vec<bool>,
    /// The event that has the head of the first POST, or of a GET for a stream before it.
    endpoint: u32,
    http: bool,
    ends: Ends,
    overflow: bool,
}

impl Buffers {
    /// Tells the run anew.
    pub(crate) fn fill(&mut self, run: &Recording, transport: Transport) {
        self.http = transport == Transport::Http;
        self.tree.clear();
        self.messages.clear();
        self.next_in_stream.clear();
        self.moments.clear();
        self.overflow = false;
        self.lay_out(run);
        for (seq, event) in run.events().iter().enumerate() {
            self.take(run, seq as u32, event);
        }
        self.contextualise();
        self.leftovers();
    }
}

/// A run, and what was said of it beforehand.
pub(crate) struct Story<'a> {
    pub(crate) declared: &'a Declared,
    pub(crate) subject: Subject,
    run: &'a Recording,
    told: &'a Buffers,
    /// The server has answered as a modern one somewhere in the run.
    pub(crate) server_is_modern: bool,
    /// The server has answered `initialize` well somewhere in the run.
    pub(crate) server_is_legacy: bool,
    pub(crate) facts: Facts,
    /// `None`: no end was recorded. `Some(true)`: watched to its end.
    end: Option<bool>,
    pub(crate) stuck: Option<(u32, u64)>,
}

impl<'a> Story<'a> {
    pub(crate) fn new(
        run: &'a Recording,
        declared: &'a Declared,
        subject: Subject,
        told: &'a Buffers,
    ) -> Self {
        let mut this = Self {
            declared,
            subject,
            run,
            told,
            server_is_modern: false,
            server_is_legacy: false,
            facts: Facts::ANY,
            end: None,
            stuck: None,
        };
        if !told.exchanges.is_empty() {
            this.facts = this.facts.or(Facts::HTTP);
        }
        if told.processes.iter().any(|process| process.gone.is_some()) {
            this.facts = this.facts.or(Facts::GONE);
        }
        for message in &told.messages {
            this.facts = this.facts.or(Facts::of(message));
            this.server_is_legacy |= message.answer == Answer::Handshake;
            this.server_is_modern |= matches!(
                message.answer,
                Answer::Discovered
                    | Answer::Untyped
                    | Answer::Unsupported
                    | Answer::OddUnsupported
                    | Answer::ModernError
                    | Answer::Typed
            );
            // A result to the probe that has a mark of the era claims it, whatever is wrong with it.
            this.server_is_modern |= matches!(message.answer, Answer::OddSuccess | Answer::Broken)
                && this.request_of(message).is_some_and(|request| request.method == Method::Discover)
                && message.result.is_some()
                && (message.list.is_some() || message.result_type.is_some());
            this.server_is_modern |= this.strays_from_the_probe(message);
        }
        for moment in &told.moments {
            match moment.what {
                What::Life(Event { kind: Kind::End(whole), .. }) => this.end = Some(whole),
                What::Life(Event { kind: Kind::Stuck, .. }) => {
                    this.stuck.get_or_insert((moment.seq, moment.t_us));
                }
                _ => {}
            }
        }
        this
    }

    /// A result with both marks of the era under an id that nobody used: it can only be meant for a probe that waits.
    fn strays_from_the_probe(&self, message: &Message) -> bool {
        message.from == Side::Server
            && message.shape == Shape::Result
            && message.pair == NONE
            && !message.repeats
            && message.list.is_some()
            && message.result_type.is_some()
            && self.requests().any(|probe| {
                probe.method == Method::Discover
                    && probe.process == message.process
                    && probe.received < message.sent
                    && self.answered_before(probe, message.sent).is_none()
            })
    }

    pub(crate) fn messages(&self) -> &'a [Message] {
        &self.told.messages
    }

    pub(crate) fn moments(&self) -> &'a [Moment] {
        &self.told.moments
    }

    pub(crate) fn message(&self, place: u32) -> Option<&'a Message> {
        self.told.messages.get(place as usize)
    }

    pub(crate) fn process(&self, message: &Message) -> Option<&'a Process> {
        self.told.processes.get(message.process as usize)
    }

    pub(crate) fn is_http(&self) -> bool {
        self.told.http
    }

    /// The exchanges of a run over HTTP, in the order in which they were opened, those elsewhere than at the endpoint left
    /// out: what a client looks up there is not this protocol.
    pub(crate) fn exchanges(&self) -> impl DoubleEndedIterator<Item = &'a Exchange> + use<'a> {
        self.told.exchanges.iter().filter(|exchange| exchange.at_endpoint)
    }

    /// The exchange of a message.
    pub(crate) fn exchange(&self, message: &Message) -> Option<&'a Exchange> {
        self.told.exchanges.get(message.exchange as usize)
    }

    /// The messages that came in answer to a POST that had one.
    pub(crate) fn replies(&self, exchange: &Exchange) -> impl Iterator<Item = &'a Message> + use<'a> {
        let place = self.message(exchange.message).map_or(NONE, |posted| posted.exchange);
        self.from(Side::Server).filter(move |message| message.exchange == place)
    }

    pub(crate) fn request_head(&self, exchange: &Exchange) -> Head<'a> {
        Head(self.run.get(exchange.request_head).map_or(&[], |event| self.run.bytes(event)))
    }

    pub(crate) fn answer_head(&self, exchange: &Exchange) -> Head<'a> {
        Head(self.run.get(exchange.answer_head).map_or(&[], |event| self.run.bytes(event)))
    }

    /// The client waits for the answer to this request, beyond doubt. Over HTTP the end of the exchange ends that, and where the
    /// client's end was not recorded, it may have had the answer when the server had only begun to write it.
    pub(crate) fn is_waiting(&self, request: &Message, seq: u32) -> bool {
        let waits = |exchange: &Exchange| {
            let begun = exchange.answer_head < seq && exchange.body != Body::Events;
            exchange.is_open(seq) && (self.sees(Side::Client) || !begun)
        };
        self.answered_before(request, seq).is_none() && self.exchange(request).is_none_or(waits)
    }

    pub(crate) fn processes(&self) -> &'a [Process] {
        &self.told.processes
    }

    /// The place among the processes of the one that an event names.
    pub(crate) fn process_of(&self, event: &Event) -> Option<u32> {
        match event.channel {
            Channel::Process(number) => Some(self.told.slot(number)),
            _ => None,
        }
    }

    pub(crate) fn from(&self, side: Side) -> impl DoubleEndedIterator<Item = &'a Message> + use<'a> {
        self.told.messages.iter().filter(move |message| message.from == side)
    }

    /// The messages of the side on trial.
    pub(crate) fn own(&self) -> impl DoubleEndedIterator<Item = &'a Message> + use<'a> {
        self.from(if self.subject == Subject::Server { Side::Server } else { Side::Client })
    }

    /// The requests of the client, in order.
    pub(crate) fn requests(&self) -> impl DoubleEndedIterator<Item = &'a Message> + use<'a> {
        self.from(Side::Client).filter(|message| message.is_request())
    }

    /// The responses of the server, each with the request that it answers.
    pub(crate) fn answers(&self) -> impl DoubleEndedIterator<Item = (&'a Message, &'a Message)> + use<'a> {
        let messages = self.messages();
        self.from(Side::Server)
            .filter(|message| message.is_response())
            .filter_map(|message| messages.get(message.pair as usize).map(|request| (message, request)))
    }

    pub(crate) fn request_of(&self, response: &Message) -> Option<&'a Message> {
        self.message(response.pair).filter(|_| response.is_response())
    }

    /// The first response to a request.
    pub(crate) fn answer_of(&self, request: &Message) -> Option<&'a Message> {
        self.message(request.pair).filter(|_| request.is_request())
    }

    /// The response to a request, if it was received before the event `seq`.
    pub(crate) fn answered_before(&self, request: &Message, seq: u32) -> Option<&'a Message> {
        self.answer_of(request).filter(|answer| answer.received < seq)
    }

    /// Watched to its end, and every message read.
    pub(crate) fn is_whole(&self) -> bool {
        self.end == Some(true) && !self.told.overflow
    }

    pub(crate) fn was_cut(&self) -> bool {
        self.end == Some(false)
    }

    /// The last event that is judged: the one of the last message taken, where there were too many.
    pub(crate) fn judged_until(&self) -> u32 {
        let last = self.told.messages.last().filter(|_| self.told.overflow);
        last.map_or(NONE, |message| message.sent)
    }

    /// The end of this side was recorded. Where the subject's was not, what it received may have crossed what it sent.
    pub(crate) fn sees(&self, side: Side) -> bool {
        self.told.ends.has(side)
    }

    /// The last event and its time.
    pub(crate) fn last(&self) -> (u32, u64) {
        let events = self.run.events();
        let seq = events.len().saturating_sub(1) as u32;
        (seq, events.last().map_or(0, |event| event.t_us))
    }

    /// The bytes of an event.
    pub(crate) fn bytes(&self, event: &Event) -> &'a [u8] {
        self.run.bytes(event)
    }

    /// The client's own report of this kind, if there is one, from a given event on.
    pub(crate) fn report(&self, from: u32, wanted: impl Fn(Kind) -> bool) -> Option<(u32, u64, Event)> {
        self.moments().iter().find_map(|moment| match moment.what {
            What::Life(event) if moment.seq >= from && event.node == Node::Client && wanted(event.kind) => {
                Some((moment.seq, moment.t_us, event))
            }
            _ => None,
        })
    }

    // What values say.

    pub(crate) fn get(&self, at: At, name: &str) -> Option<At> {
        self.told.tree.get(&self.told.text, at, name)
    }

    pub(crate) fn kind(&self, at: At) -> Type {
        self.told.tree.kind(at)
    }

    pub(crate) fn is(&self, at: Option<At>, kind: Type) -> bool {
        at.is_some_and(|at| self.kind(at) == kind)
    }

    pub(crate) fn children(&self, at: At) -> impl Iterator<Item = At> + '_ {
        self.told.tree.children(at)
    }

    pub(crate) fn is_key(&self, at: At, name: &str) -> bool {
        self.told.tree.is_key(&self.told.text, at, name)
    }

    pub(crate) fn string(&self, at: Option<At>) -> Option<Cow<'a, str>> {
        at.and_then(|at| self.told.tree.string(&self.told.text, at))
    }

    pub(crate) fn is_string(&self, at: Option<At>, value: &str) -> bool {
        at.is_some_and(|at| self.told.tree.is_string(&self.told.text, at, value))
    }

    pub(crate) fn tree(&self) -> (&'a Tree, &'a [u8]) {
        (&self.told.tree, &self.told.text)
    }

    pub(crate) fn same(&self, a: Option<At>, b: Option<At>) -> bool {
        matches!((a, b), (Some(a), Some(b)) if self.told.tree.same_scalar(&self.told.text, a, b))
    }

    pub(crate) fn line(&self, message: &Message) -> &'a [u8] {
        self.told.text.get(message.start as usize..message.end as usize).unwrap_or_default()
    }

    /// A value as it stood on the wire.
    pub(crate) fn raw(&self, at: At) -> &'a [u8] {
        self.told.tree.raw(&self.told.text, at)
    }

    /// From the beginning of a message to the end of its stream.
    pub(crate) fn rest_of_stream(&self, message: &Message) -> (u32, u32) {
        let index = message.process as usize * 2 + usize::from(message.from == Side::Server);
        (message.start, self.told.streams.get(index).map_or(message.end, frame::Stream::end))
    }

    /// The list of a response has this version.
    pub(crate) fn lists(&self, response: &Message, version: &str) -> bool {
        response.list.is_some_and(|list| {
            self.kind(list) == Type::Array && self.children(list).any(|at| self.is_string(Some(at), version))
        })
    }

    /// The era of a version: by the table, and else by what the client says of it.
    pub(crate) fn era(&self, version: &str) -> Option<Era> {
        let named = |list: &Option<Vec<String>>| {
            list.as_ref().is_some_and(|list| list.iter().any(|own| own == version))
        };
        known::era_of(version).or_else(|| match () {
            () if named(&self.declared.modern) => Some(Era::Modern),
            () if named(&self.declared.legacy) => Some(Era::Legacy),
            () => None,
        })
    }

    /// The modern versions that the client can use in this run; `None` if unknown.
    pub(crate) fn offers(&self) -> Option<&'a [String]> {
        let declared: &'a Declared = self.declared;
        match &declared.mode {
            Mode::Legacy => Some(&[]),
            Mode::Pin(version) if self.era(version) == Some(Era::Modern) => {
                Some(std::slice::from_ref(version))
            }
            Mode::Pin(version) if self.era(version) == Some(Era::Legacy) => Some(&[]),
            _ => declared.modern.as_deref(),
        }
    }

    /// The legacy versions that the client accepts in this run; `None` if unknown.
    pub(crate) fn accepts(&self) -> Option<&'a [String]> {
        let declared: &'a Declared = self.declared;
        match &declared.mode {
            Mode::Modern => Some(&[]),
            Mode::Pin(version) if self.era(version) == Some(Era::Legacy) => {
                Some(std::slice::from_ref(version))
            }
            Mode::Pin(version) if self.era(version) == Some(Era::Modern) => Some(&[]),
            _ => declared.legacy.as_deref(),
        }
    }

    /// The client never speaks legacy, whatever it meets.
    pub(crate) fn is_modern_only(&self) -> bool {
        match &self.declared.mode {
            Mode::Modern => true,
            Mode::Pin(version) => self.era(version) == Some(Era::Modern),
            _ => false,
        }
    }

    /// The client never speaks modern, whatever it meets.
    pub(crate) fn is_legacy_only(&self) -> bool {
        match &self.declared.mode {
            Mode::Legacy => true,
            Mode::Pin(version) => self.era(version) == Some(Era::Legacy),
            _ => false,
        }
    }
}
