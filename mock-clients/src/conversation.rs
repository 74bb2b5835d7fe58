//! A fixed conversation: what a client sends whatever it is answered, so that two hosts of a server can be compared.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::client::{Input, Misuse, Output, Process, SpawnReason};
use mcp_parley_negotiation::headers::SESSION_ID;
use mcp_parley_negotiation::http::{Exchange, HttpEnd, HttpHead, HttpRequest, header_values};
use serde::{Deserialize, Serialize};

use crate::http::{HeaderName, Verb};
use crate::opening::Message;

/// Steps in order. Unlike an [`Opening`](crate::Opening) it leaves every exchange open, and waits for nothing but silence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conversation {
    /// Its name.
    pub id: String,
    /// What it is, in one line.
    pub title: String,
    /// What is sent: over stdio each step is one write, over HTTP one request.
    pub steps: Vec<Said>,
}

/// One thing to send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Said {
    /// A message, written as compact JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send: Option<Message>,
    /// Text as it stands; over stdio its newline is added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// How it is sent over HTTP, if not as a plain POST.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<OverHttp>,
    /// Whether nothing more is sent until all has come that was going to come.
    #[serde(default)]
    pub until_quiet: bool,
}

/// A request over HTTP, but for its body.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OverHttp {
    /// The verb.
    pub verb: Verb,
    /// Headers behind those that every request of its verb has. `{session}` is the session id that the server gave last; where it gave
    /// none, the header is left out.
    pub headers: Vec<(HeaderName, String)>,
}

impl OverHttp {
    /// Names and values in order, for a server that gave this session id last.
    pub fn all_headers(&self, session: Option<&str>) -> Vec<(&'static str, String)> {
        let usual: &[(&str, &str)] = match self.verb {
            Verb::Get => &[("accept", "text/event-stream")],
            Verb::Post => {
                &[("content-type", "application/json"), ("accept", "application/json, text/event-stream")]
            }
            _ => &[],
        };
        let own = self.headers.iter().filter_map(|(name, value)| match value.as_str() {
            "{session}" => Some((name.as_str(), session?.to_owned())),
            value => Some((name.as_str(), value.to_owned())),
        });
        usual.iter().map(|(name, value)| (*name, (*value).to_owned())).chain(own).collect()
    }
}

impl Said {
    /// Appends its bytes with their newline.
    pub fn write(&self, out: &mut Vec<u8>) {
        if let Some(line) = &self.line {
            out.extend_from_slice(line.as_bytes());
        }
        if let Some(message) = &self.send {
            message.write(out);
        }
        out.push(b'\n');
    }
}

/// Nothing comes any more after so long a silence, in microseconds.
const QUIET_US: u64 = 30_000_000;

/// Has one conversation with one server process, or over HTTP with one exchange for each step.
#[derive(Clone, Debug)]
pub struct Talker {
    conversation: Arc<Conversation>,
    over_http: bool,
    next: usize,
    /// Until when it must stay quiet.
    deadline: Option<Time>,
    state: State,
    queue: VecDeque<Queued>,
    open: BTreeSet<Exchange>,
    session: Option<String>,
    wake_due: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Talking,
    Done,
}

#[derive(Clone, Copy, Debug)]
enum Queued {
    Spawn,
    Step(usize),
    Close,
    Abort(Exchange),
}

const PROCESS: Process = Process(0);

impl Talker {
    /// One over stdio that has not been started.
    pub fn new(conversation: Arc<Conversation>) -> Self {
        Self {
            conversation,
            over_http: false,
            next: 0,
            deadline: None,
            state: State::Idle,
            queue: VecDeque::new(),
            open: BTreeSet::new(),
            session: None,
            wake_due: false,
        }
    }

    /// The same over HTTP.
    pub fn over_http(conversation: Arc<Conversation>) -> Self {
        Self { over_http: true, ..Self::new(conversation) }
    }

    /// True once every step was sent and the process, or what is open over HTTP, closed.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Tells it what happened.
    ///
    /// # Errors
    /// [`Misuse`] for inputs of the other transport and for calls.
    pub fn handle_input(&mut self, now: Time, input: Input<'_>) -> Result<(), Misuse> {
        match (self.over_http, input) {
            (_, Input::Call(..)) => return Err(Misuse::NotSettled),
            (true, Input::Start) => self.begin(now),
            (false, Input::Start) => self.queue.push_back(Queued::Spawn),
            (false, Input::Up(_)) if self.state == State::Idle => self.begin(now),
            (false, Input::Up(_)) => {}
            (false, Input::Bytes(..)) | (true, Input::HttpBody(..)) => self.on_something(now),
            (true, Input::HttpHead(_, head)) => self.on_head(now, &head),
            (true, Input::HttpEnd(exchange, end)) => self.on_end(now, exchange, end),
            (_, Input::Timeout) if self.deadline.is_some_and(|deadline| deadline <= now) => self.advance(now),
            (_, Input::Timeout) => {}
            (_, Input::Shutdown) | (false, Input::Down(..)) => self.finish(),
            _ => return Err(Misuse::WrongTransport),
        }
        self.wake_due = true;
        Ok(())
    }

    /// The next output; bytes are appended to `buf`.
    pub fn poll_output(&mut self, buf: &mut Vec<u8>) -> Option<Output> {
        let Some(queued) = self.queue.pop_front() else {
            return std::mem::take(&mut self.wake_due).then_some(Output::WakeAt(self.deadline));
        };
        Some(match queued {
            Queued::Spawn => Output::Spawn(PROCESS, SpawnReason::Start),
            Queued::Close => Output::Close(PROCESS),
            Queued::Abort(exchange) => Output::Abort(exchange),
            Queued::Step(at) => self.step(at, buf),
        })
    }

    fn step(&mut self, at: usize, buf: &mut Vec<u8>) -> Output {
        let start = buf.len();
        let step = self.conversation.steps.get(at);
        step.into_iter().for_each(|step| step.write(buf));
        if !self.over_http {
            return Output::Write(PROCESS, start..buf.len());
        }
        // The newline ends a line of a pipe.
        if buf.len() > start && buf.last() == Some(&b'\n') {
            buf.pop();
        }
        let http = step.and_then(|step| step.http.clone()).unwrap_or_default();
        let headers = http.all_headers(self.session.as_deref());
        Output::Http(exchange_of(at), HttpRequest { verb: http.verb.word(), headers }, start..buf.len())
    }

    fn begin(&mut self, now: Time) {
        self.state = State::Talking;
        self.advance(now);
    }

    fn on_head(&mut self, now: Time, head: &HttpHead<'_>) {
        let given = header_values(head.headers, SESSION_ID).next();
        if let Some(id) = given.and_then(|id| std::str::from_utf8(id).ok()) {
            self.session = Some(id.to_owned());
        }
        self.on_something(now);
    }

    fn on_end(&mut self, now: Time, exchange: Exchange, _: HttpEnd) {
        self.open.remove(&exchange);
        self.on_something(now);
    }

    fn on_something(&mut self, now: Time) {
        if self.deadline.is_some() {
            self.deadline = Some(now.plus_us(QUIET_US));
        }
    }

    /// Sends steps up to the next one that waits.
    fn advance(&mut self, now: Time) {
        self.deadline = None;
        while self.state == State::Talking {
            let Some(step) = self.conversation.steps.get(self.next) else { return self.finish() };
            self.queue.push_back(Queued::Step(self.next));
            self.open.insert(exchange_of(self.next));
            self.next += 1;
            if step.until_quiet {
                self.deadline = Some(now.plus_us(QUIET_US));
                return;
            }
        }
    }

    fn finish(&mut self) {
        if self.state != State::Done && self.over_http {
            self.queue.extend(self.open.iter().copied().map(Queued::Abort));
        } else if self.state != State::Done {
            self.queue.push_back(Queued::Close);
        }
        self.state = State::Done;
        self.deadline = None;
    }
}

/// Each step has an exchange of its own.
fn exchange_of(step: usize) -> Exchange {
    Exchange(u32::try_from(step).unwrap_or(u32::MAX))
}
