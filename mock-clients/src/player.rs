//! Plays an opening: the same inputs and outputs as the reference client, so that a world can hold either.

use std::collections::VecDeque;
use std::sync::Arc;

use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::client::{Input, Misuse, Output, Process, SpawnReason};
use mcp_parley_negotiation::envelope::{Id, Message, Outcome, Response, read_message};
use mcp_parley_negotiation::headers::{MediaType, SESSION_ID, is_visible_ascii, media_type};
use mcp_parley_negotiation::http::{Exchange, HttpHead, header_values};
use mcp_parley_negotiation::issue::IssueSink;
use mcp_parley_negotiation::json::RawStr;
use mcp_parley_negotiation::limits::Limits;
use mcp_parley_negotiation::lines::{Line, Lines};
use mcp_parley_negotiation::sse::{EventStream, StreamEvent};
use mcp_parley_negotiation::version::ProtocolVersion;

use crate::good::{self, Before};
use crate::http::{Session, Verb, request};
use crate::opening::{Opening, Step, Wait};

/// How long one step waits for its answer, in microseconds.
const PATIENCE_US: u64 = 20_000_000;
/// How long one waits that may well get none.
const QUIET_US: u64 = 500_000;
/// How long a good request waits. Whoever watches the run has called it a standstill before.
const GOOD_PATIENCE_US: u64 = 600_000_000;

/// Plays one opening against one server.
#[derive(Clone, Debug)]
pub struct Player {
    opening: Arc<Opening>,
    /// What is still to be sent, and how many of the last ones are the good requests.
    steps: VecDeque<Step>,
    good_added: bool,
    next_good: i64,
    lines: Lines,
    over_http: bool,
    exchanges: u32,
    /// The exchange whose answer is read.
    open: Option<(Exchange, Body)>,
    session: Session,
    before: Before,
    /// The last step was `initialize`.
    shaking: bool,
    waiting: Option<Waiting>,
    state: State,
    queue: VecDeque<Queued>,
    wake_due: bool,
}

/// What the last step waits for.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    until: Time,
    wait: Wait,
    /// Nothing but the response with this id will do.
    id: Option<i64>,
}

/// The body of an answer, as far as it is there.
#[derive(Clone, Debug)]
enum Body {
    Whole(Vec<u8>),
    Events(Box<EventStream>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Playing,
    Done,
}

#[derive(Clone, Debug)]
enum Queued {
    Spawn,
    Step(Box<Step>),
    Abort(Exchange),
    Close,
}

const PROCESS: Process = Process(0);

impl Player {
    /// A player over stdio that has not been started.
    pub fn new(opening: Arc<Opening>) -> Self {
        Self {
            steps: opening.steps.iter().cloned().collect(),
            opening,
            good_added: false,
            next_good: good::FIRST_ID,
            lines: Lines::new(),
            over_http: false,
            exchanges: 0,
            open: None,
            session: Session::default(),
            before: Before::default(),
            shaking: false,
            waiting: None,
            state: State::Idle,
            queue: VecDeque::new(),
            wake_due: false,
        }
    }

    /// A player over HTTP that has not been started. One exchange at a time is open.
    pub fn over_http(opening: Arc<Opening>) -> Self {
        Self { over_http: true, ..Self::new(opening) }
    }

    /// True once every step was sent and the process closed.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// True while the answer to a good request is waited for.
    pub fn is_at_good(&self) -> bool {
        self.waiting.is_some_and(|waiting| waiting.id.is_some())
    }

    /// Tells the player what happened. `Call` is not for it: an opening says all that is sent.
    ///
    /// # Errors
    /// [`Misuse`] for calls, and for inputs of the other transport.
    pub fn handle_input(&mut self, now: Time, input: Input<'_>) -> Result<(), Misuse> {
        match input {
            Input::HttpHead(..) | Input::HttpBody(..) | Input::HttpEnd(..) if !self.over_http => {
                return Err(Misuse::WrongTransport);
            }
            Input::Up(_) | Input::Bytes(..) | Input::Down(..) if self.over_http => {
                return Err(Misuse::WrongTransport);
            }
            Input::Call(..) => return Err(Misuse::NotSettled),
            Input::Start if self.over_http => self.begin(now),
            Input::Start => self.queue.push_back(Queued::Spawn),
            Input::Up(_) => self.begin(now),
            Input::Bytes(_, bytes) => self.on_bytes(now, bytes),
            Input::HttpHead(exchange, head) if self.is_open(exchange) => self.on_head(now, exchange, head),
            Input::HttpBody(exchange, bytes) if self.is_open(exchange) => self.on_body(now, bytes),
            Input::HttpEnd(exchange, _) if self.is_open(exchange) => self.on_end(now),
            Input::HttpHead(..) | Input::HttpBody(..) | Input::HttpEnd(..) => {}
            Input::Timeout if self.waiting.is_some_and(|waiting| waiting.until <= now) => self.advance(now),
            Input::Timeout => {}
            Input::Shutdown | Input::Down(..) => self.finish(),
        }
        self.wake_due = true;
        Ok(())
    }

    /// The next output; bytes are appended to `buf`.
    pub fn poll_output(&mut self, buf: &mut Vec<u8>) -> Option<Output> {
        let start = buf.len();
        match self.queue.pop_front() {
            Some(Queued::Spawn) => Some(Output::Spawn(PROCESS, SpawnReason::Start)),
            Some(Queued::Close) => Some(Output::Close(PROCESS)),
            Some(Queued::Abort(exchange)) => Some(Output::Abort(exchange)),
            Some(Queued::Step(step)) if self.over_http => {
                step.write_body(buf);
                let body = buf.get(start..).unwrap_or_default();
                let request = request(&step.http.unwrap_or_default(), body, &self.session);
                let exchange = Exchange(self.exchanges);
                self.exchanges += 1;
                Some(Output::Http(exchange, request, start..buf.len()))
            }
            Some(Queued::Step(step)) => {
                step.write(buf);
                Some(Output::Write(PROCESS, start..buf.len()))
            }
            None => {
                let wake = self.waiting.map(|waiting| waiting.until);
                std::mem::take(&mut self.wake_due).then_some(Output::WakeAt(wake))
            }
        }
    }

    fn begin(&mut self, now: Time) {
        if self.state == State::Idle {
            self.state = State::Playing;
            self.advance(now);
        }
    }

    fn is_open(&self, exchange: Exchange) -> bool {
        self.open.as_ref().is_some_and(|(open, _)| *open == exchange)
    }

    fn on_bytes(&mut self, now: Time, bytes: &[u8]) {
        let mut lines = std::mem::take(&mut self.lines);
        lines.push(bytes);
        let mut answered = false;
        while let Some(line) = lines.next(&Limits::DEFAULT) {
            let Line::Whole(line) = line else { continue };
            answered |= self.reads(line);
        }
        self.lines = lines;
        if answered {
            self.advance(now);
        }
    }

    fn on_head(&mut self, now: Time, exchange: Exchange, head: HttpHead<'_>) {
        if (100..200).contains(&head.status) {
            return;
        }
        // LEG-19: nothing but the answer to the handshake gives one.
        let id =
            header_values(head.headers, SESSION_ID).next().filter(|id| self.shaking && is_visible_ascii(id));
        if let Some(id) = id.and_then(|id| std::str::from_utf8(id).ok()) {
            self.session.id = Some(id.to_owned());
        }
        let media = header_values(head.headers, "content-type").next().map(media_type);
        if media != Some(MediaType::EventStream) {
            return;
        }
        self.open = Some((exchange, Body::Events(Box::default())));
        if let Some(waiting) = &mut self.waiting
            && waiting.wait == Wait::Quiet
        {
            waiting.until = now.plus_us(QUIET_US);
        }
    }

    fn on_body(&mut self, now: Time, bytes: &[u8]) {
        let Some((exchange, mut body)) = self.open.take() else { return };
        let mut answered = false;
        match &mut body {
            Body::Whole(held) if held.len() + bytes.len() <= Limits::DEFAULT.message_bytes => {
                held.extend_from_slice(bytes);
            }
            Body::Whole(_) => {}
            Body::Events(stream) => {
                stream.push(bytes);
                while let Some(event) = stream.next(&Limits::DEFAULT) {
                    let StreamEvent::Message(data) = event else { continue };
                    answered |= self.reads(data);
                }
            }
        }
        self.open = Some((exchange, body));
        if answered && let Some(waiting) = &mut self.waiting {
            // The response ends the stream (HTTP-22): whoever left at once would not see that.
            *waiting = Waiting { until: now.plus_us(Limits::LINGER_US), wait: Wait::Answer, id: None };
        }
    }

    fn on_end(&mut self, now: Time) {
        if let Some((_, Body::Whole(body))) = self.open.take() {
            self.reads(&body);
        }
        self.advance(now);
    }

    /// Reads one message of the server; true if it is what is waited for.
    fn reads(&mut self, bytes: &[u8]) -> bool {
        let message = read_message(bytes, &Limits::DEFAULT, &mut IssueSink::new());
        let Message::Response(Response { id, outcome }) = message else { return false };
        let result = if let Outcome::Result(result) = outcome { Some(result) } else { None };
        if let Some(version) = result.and_then(|result| result.get("protocolVersion")?.as_str()) {
            self.before.shaken = true;
            let version = ProtocolVersion::new(&version.decode());
            self.session.version = version.has_legacy_header().then(|| version.as_str().to_owned());
        }
        self.waiting.is_some_and(|waiting| waiting.id.is_none_or(|wanted| id == Id::Integer(wanted)))
    }

    /// Sends steps up to the next one that waits.
    fn advance(&mut self, now: Time) {
        self.waiting = None;
        if let Some((exchange, _)) = self.open.take() {
            self.queue.push_back(Queued::Abort(exchange));
        }
        while self.state == State::Playing {
            let Some(step) = self.steps.pop_front() else {
                if !self.add_good() {
                    return self.finish();
                }
                continue;
            };
            self.send(now, step);
            if self.waiting.is_some() {
                return;
            }
        }
    }

    fn send(&mut self, now: Time, step: Step) {
        let is_get = step.http.as_ref().is_some_and(|http| http.verb != Verb::Post);
        let mut body = Vec::new();
        step.write_body(&mut body);
        let sent = read_message(&body, &Limits::DEFAULT, &mut IssueSink::new());
        let is_initialized = |method: RawStr<'_>| method.eq_str("notifications/initialized");
        self.shaking = matches!(sent, Message::Request(request) if request.method.eq_str("initialize"));
        self.before.initialized |=
            matches!(sent, Message::Notification { method, .. } if is_initialized(method));
        let wait = match step.wait {
            // Over HTTP everything has an answer of some kind, and the next request must not overtake it.
            Wait::Nothing if self.over_http && is_get => Wait::Quiet,
            Wait::Nothing if self.over_http => Wait::Answer,
            wait => wait,
        };
        let has_id = step.send.as_ref().is_some_and(|message| message.id.is_some());
        let id = (self.good_added && has_id).then_some(self.next_good);
        let us = match wait {
            _ if id.is_some() => GOOD_PATIENCE_US,
            Wait::Quiet if !self.over_http => QUIET_US,
            _ => PATIENCE_US,
        };
        if id.is_some() {
            self.next_good += 1;
        }
        if wait != Wait::Nothing {
            self.waiting = Some(Waiting { until: now.plus_us(us), wait, id });
        }
        if self.over_http {
            let queued = self.queue.iter().filter(|queued| matches!(queued, Queued::Step(_))).count();
            let number = self.exchanges.saturating_add(u32::try_from(queued).unwrap_or(u32::MAX));
            self.open = Some((Exchange(number), Body::Whole(Vec::new())));
        }
        self.queue.push_back(Queued::Step(Box::new(step)));
    }

    fn add_good(&mut self) -> bool {
        let Some(good) = self.opening.then.filter(|_| !self.good_added) else { return false };
        self.good_added = true;
        self.steps.extend(good::steps(good, self.before, self.over_http));
        true
    }

    fn finish(&mut self) {
        if self.state != State::Done {
            if let Some((exchange, _)) = self.open.take() {
                self.queue.push_back(Queued::Abort(exchange));
            }
            if !self.over_http {
                self.queue.push_back(Queued::Close);
            }
        }
        self.state = State::Done;
        self.waiting = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(player: &mut Player) -> (String, Vec<Output>) {
        let (mut buf, mut outputs) = (Vec::new(), Vec::new());
        while let Some(output) = player.poll_output(&mut buf) {
            outputs.push(output);
        }
        (String::from_utf8(buf).unwrap(), outputs)
    }

    #[test]
    fn waits_for_each_answer_and_closes_at_the_end() {
        let mut player = Player::new(Arc::new(crate::opening("bare-discover").unwrap().clone()));
        player.handle_input(Time(0), Input::Start).unwrap();
        assert_eq!(drain(&mut player).1[0], Output::Spawn(PROCESS, SpawnReason::Start));
        player.handle_input(Time(0), Input::Up(PROCESS)).unwrap();
        assert_eq!(drain(&mut player).0.lines().count(), 1);
        player
            .handle_input(Time(1), Input::Bytes(PROCESS, b"{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n"))
            .unwrap();
        assert_eq!(drain(&mut player).0, "", "a notification is no answer");
        let answer = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"m\"}}\n";
        player.handle_input(Time(2), Input::Bytes(PROCESS, answer)).unwrap();
        assert_eq!(drain(&mut player).0.lines().count(), 1);
        player.handle_input(Time(2 + PATIENCE_US), Input::Timeout).unwrap();
        assert!(
            drain(&mut player).1.contains(&Output::Close(PROCESS)),
            "no answer does not hold it up for ever"
        );
        assert!(player.is_done());
    }
}
