//! Plays an opening: the same inputs and outputs as the reference client, so that a world can hold either.

use std::sync::Arc;

use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::client::{Input, Misuse, Output, Process, SpawnReason};
use mcp_parley_negotiation::envelope::{Message, read_message};
use mcp_parley_negotiation::issue::IssueSink;
use mcp_parley_negotiation::limits::Limits;
use mcp_parley_negotiation::lines::{Line, Lines};

use crate::opening::{Opening, Wait};

/// How long one step waits for its answer, in microseconds.
const PATIENCE_US: u64 = 5_000_000;

/// Plays one opening against one server process.
#[derive(Clone, Debug)]
pub struct Player {
    opening: Arc<Opening>,
    next: usize,
    lines: Lines,
    deadline: Option<Time>,
    state: State,
    queue: std::collections::VecDeque<Queued>,
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
}

const PROCESS: Process = Process(0);

impl Player {
    /// A player that has not been started.
    pub fn new(opening: Arc<Opening>) -> Self {
        Self {
            opening,
            next: 0,
            lines: Lines::new(),
            deadline: None,
            state: State::Idle,
            queue: std::collections::VecDeque::new(),
            wake_due: false,
        }
    }

    /// True once every step was sent and the process closed.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Tells the player what happened. `Call` is not for it: an opening says all that is sent.
    ///
    /// # Errors
    /// [`Misuse`] for HTTP inputs and calls.
    pub fn handle_input(&mut self, now: Time, input: Input<'_>) -> Result<(), Misuse> {
        match input {
            Input::Start => self.queue.push_back(Queued::Spawn),
            Input::Up(_) if self.state == State::Idle => {
                self.state = State::Playing;
                self.advance(now);
            }
            Input::Bytes(_, bytes) => self.on_bytes(now, bytes),
            Input::Timeout if self.deadline.is_some_and(|deadline| deadline <= now) => self.advance(now),
            Input::Shutdown | Input::Down(..) => self.finish(),
            Input::Up(_) | Input::Timeout => {}
            Input::Call(..) => return Err(Misuse::NotSettled),
            Input::HttpHead(..) | Input::HttpBody(..) | Input::HttpEnd(..) => {
                return Err(Misuse::WrongTransport);
            }
        }
        self.wake_due = true;
        Ok(())
    }

    /// The next output; bytes are appended to `buf`.
    pub fn poll_output(&mut self, buf: &mut Vec<u8>) -> Option<Output> {
        match self.queue.pop_front() {
            Some(Queued::Spawn) => Some(Output::Spawn(PROCESS, SpawnReason::Start)),
            Some(Queued::Close) => Some(Output::Close(PROCESS)),
            Some(Queued::Step(at)) => {
                let start = buf.len();
                if let Some(step) = self.opening.steps.get(at) {
                    step.write(buf);
                }
                Some(Output::Write(PROCESS, start..buf.len()))
            }
            None => std::mem::take(&mut self.wake_due).then_some(Output::WakeAt(self.deadline)),
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
        if answered && self.deadline.is_some() {
            self.advance(now);
        }
    }

    /// Sends steps up to the next one that waits.
    fn advance(&mut self, now: Time) {
        self.deadline = None;
        while self.state == State::Playing {
            let Some(step) = self.opening.steps.get(self.next) else { return self.finish() };
            self.queue.push_back(Queued::Step(self.next));
            self.next += 1;
            if step.wait == Wait::Answer {
                self.deadline = Some(now.plus_us(PATIENCE_US));
                return;
            }
        }
    }

    fn finish(&mut self) {
        if self.state != State::Done {
            self.queue.push_back(Queued::Close);
        }
        self.state = State::Done;
        self.deadline = None;
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
