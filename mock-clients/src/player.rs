//! Plays an opening: the same inputs and outputs as the reference client, so that a world can hold either.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::client::{Input, Misuse, Output, Process, SpawnReason};
use mcp_parley_negotiation::envelope::{Message, read_message};
use mcp_parley_negotiation::headers::SESSION_ID;
use mcp_parley_negotiation::http::{Exchange, HttpEnd, HttpHead, HttpRequest, header_values};
use mcp_parley_negotiation::issue::IssueSink;
use mcp_parley_negotiation::limits::Limits;
use mcp_parley_negotiation::lines::{Line, Lines};

use crate::opening::{Opening, Wait};

/// How long one step waits for its answer, in microseconds.
const PATIENCE_US: u64 = 5_000_000;
/// Nothing comes any more after so long a silence, in microseconds.
const QUIET_US: u64 = 30_000_000;

/// Plays one opening against one server process, or over HTTP with one exchange for each step.
#[derive(Clone, Debug)]
pub struct Player {
    opening: Arc<Opening>,
    over_http: bool,
    next: usize,
    lines: Lines,
    /// What the last step waits for, and how long.
    wait: Wait,
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
    Playing,
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

impl Player {
    /// A player that has not been started.
    pub fn new(opening: Arc<Opening>) -> Self {
        Self {
            opening,
            over_http: false,
            next: 0,
            lines: Lines::new(),
            wait: Wait::Nothing,
            deadline: None,
            state: State::Idle,
            queue: VecDeque::new(),
            open: BTreeSet::new(),
            session: None,
            wake_due: false,
        }
    }

    /// The same over HTTP.
    pub fn over_http(opening: Arc<Opening>) -> Self {
        Self { over_http: true, ..Self::new(opening) }
    }

    /// True once every step was sent and the process, or what is open over HTTP, closed.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Tells the player what happened. `Call` is not for it: an opening says all that is sent.
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
            (false, Input::Bytes(_, bytes)) => self.on_bytes(now, bytes),
            (true, Input::HttpHead(_, head)) => self.on_head(now, &head),
            (true, Input::HttpBody(..)) => self.on_something(now),
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
        let step = self.opening.steps.get(at);
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
        Output::Http(exchange_of(at), HttpRequest { verb: http.verb.as_str(), headers }, start..buf.len())
    }

    fn begin(&mut self, now: Time) {
        self.state = State::Playing;
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
        if self.deadline.is_some() && self.wait == Wait::Answer {
            return self.advance(now);
        }
        self.on_something(now);
    }

    fn on_something(&mut self, now: Time) {
        if self.deadline.is_some() && self.wait == Wait::Quiet {
            self.deadline = Some(now.plus_us(QUIET_US));
        }
    }

    fn on_bytes(&mut self, now: Time, bytes: &[u8]) {
        let limits = Limits::DEFAULT;
        self.lines.push(bytes);
        let mut answered = false;
        while let Some(line) = self.lines.next(&limits) {
            let Line::Whole(line) = line else { continue };
            answered |= matches!(read_message(line, &limits, &mut IssueSink::new()), Message::Response(_));
        }
        if answered && self.deadline.is_some() && self.wait == Wait::Answer {
            return self.advance(now);
        }
        self.on_something(now);
    }

    /// Sends steps up to the next one that waits.
    fn advance(&mut self, now: Time) {
        self.deadline = None;
        while self.state == State::Playing {
            let Some(step) = self.opening.steps.get(self.next) else { return self.finish() };
            self.queue.push_back(Queued::Step(self.next));
            self.open.insert(exchange_of(self.next));
            self.next += 1;
            self.wait = step.wait;
            let patience_us = match step.wait {
                Wait::Nothing => continue,
                Wait::Answer => PATIENCE_US,
                Wait::Quiet => QUIET_US,
            };
            self.deadline = Some(now.plus_us(patience_us));
            return;
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
    fn over_http_each_step_is_a_request_with_the_session_that_was_given() {
        let text = r#"
            schema = 1
            id = "t"
            title = "t"
            source = []
            [[steps]]
            line = "a"
            wait = "quiet"
            http = { headers = [["mcp-session-id", "{session}"], ["mcp-method", "m"]] }
            [[steps]]
            http = { verb = "DELETE", headers = [["mcp-session-id", "{session}"]] }
        "#;
        let file = std::env::temp_dir().join("mcp-parley-player-over-http.toml");
        std::fs::write(&file, text).unwrap();
        let mut player = Player::over_http(Arc::new(Opening::load(&file).unwrap()));
        player.handle_input(Time(0), Input::Start).unwrap();
        let (body, outputs) = drain(&mut player);
        let Output::Http(Exchange(0), request, _) = &outputs[0] else { panic!("{outputs:?}") };
        assert_eq!((request.verb, body.as_str()), ("POST", "a"), "without a newline");
        assert_eq!(request.headers.last(), Some(&("mcp-method", "m".into())));
        assert_eq!(request.headers.len(), 3, "there is no session yet");
        let headers: &[(&[u8], &[u8])] = &[(b"Mcp-Session-Id", b"s-1")];
        let head = HttpHead { status: 200, headers };
        player.handle_input(Time(QUIET_US - 1), Input::HttpHead(Exchange(0), head)).unwrap();
        player.handle_input(Time(QUIET_US), Input::Timeout).unwrap();
        assert_eq!(drain(&mut player).1, [Output::WakeAt(Some(Time(2 * QUIET_US - 1)))], "it was not quiet");
        player.handle_input(Time(2 * QUIET_US), Input::Timeout).unwrap();
        let outputs = drain(&mut player).1;
        let session = vec![("mcp-session-id", "s-1".to_owned())];
        assert_eq!(
            outputs[0],
            Output::Http(Exchange(1), HttpRequest { verb: "DELETE", headers: session }, 0..0)
        );
        assert_eq!(outputs[1..3], [Output::Abort(Exchange(0)), Output::Abort(Exchange(1))]);
        assert!(player.is_done());
        let wrong = player.handle_input(Time(0), Input::Bytes(PROCESS, b""));
        assert_eq!(wrong, Err(Misuse::WrongTransport));
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
