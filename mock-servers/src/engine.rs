//! Plays one persona as one server process: bytes in, bytes out, and never a choice of its own.

use std::ops::Range;
use std::sync::Arc;

use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::envelope::{Message, read_message};
use mcp_parley_negotiation::gate::{Gate, GateDeviations, GateInput, GateOutput, GatePolicy, Prepared};
use mcp_parley_negotiation::issue::IssueSink;
use mcp_parley_negotiation::limits::Limits;
use mcp_parley_negotiation::lines::{Line, Lines};

use crate::act::{Answer, Asked, text_for};
use crate::doc::Doc;
use crate::persona::{Act, ExitAct, Moment, Profile};
use crate::pipe::{self, Pipe};
use crate::played::Played;
use crate::select::Heard;

/// What a server process is told.
#[derive(Clone, Copy, Debug)]
pub enum ServerInput<'a> {
    /// It runs.
    Start,
    /// Bytes from its standard input, in any chunks.
    Bytes(&'a [u8]),
    /// Its standard input has ended.
    Eof,
    /// The time asked for has come. Too early a time is ignored.
    Timeout,
}

/// What it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerOutput {
    /// It writes these bytes in one piece: a range of the caller's buffer.
    Write(Range<usize>),
    /// It writes these bytes on its standard error.
    Stderr(Range<usize>),
    /// It closes its standard output.
    CloseOutput,
    /// It ends with this code.
    Exit(i32),
    /// It ends by this signal.
    Signal(i32),
    /// Wake it at this time, or not at all. Always the last one; it replaces the one before.
    WakeAt(Option<Time>),
}

/// The code with which an exiting server ends at a request that it does not know.
pub(crate) const UNKNOWN_REQUEST_EXIT: i32 = 1;

/// Stands for a line that was too long to keep: it is answered as any that is no JSON.
const UNREADABLE: &[u8] = b"{";

/// The most answers that wait in one process, beside a limit to their bytes; more are lost. A client may ask for ever.
const HELD_MOST: usize = 256;

/// What is written together is at the most this long, and one message more.
const TOGETHER_MOST: usize = 1 << 20;

/// One server process.
#[derive(Clone, Debug)]
pub struct Server {
    played: Arc<Played>,
    process: u32,
    profile: Profile,
    prepared: Arc<Prepared>,
    gate: Gate,
    now: Time,
    lines: Lines,
    issues: IssueSink,
    heard: Heard,
    held: Vec<Held>,
    pipe: Pipe,
    scratch: Vec<u8>,
    /// Its standard input has ended.
    deaf: bool,
    ended: bool,
    wake_due: bool,
}

/// A line that waits.
#[derive(Clone, Debug)]
struct Held {
    line: Vec<u8>,
    at: Option<Time>,
    until: u64,
    moment: Moment,
}

impl Server {
    /// The process of this number, counted from 0.
    pub fn start(played: Arc<Played>, process: u32) -> Self {
        let (profile, prepared) = played.gate(process);
        let heard = Heard::nothing(&played, process.saturating_add(1));
        Self {
            played,
            process,
            profile,
            gate: Gate::new(Arc::clone(&prepared)),
            prepared,
            now: Time::ZERO,
            lines: Lines::new(),
            issues: IssueSink::new(),
            heard,
            held: Vec::new(),
            pipe: Pipe::default(),
            scratch: Vec::new(),
            deaf: false,
            ended: false,
            wake_due: false,
        }
    }

    /// The same process with faults of its gate.
    #[must_use]
    pub fn with_deviations(mut self, deviations: GateDeviations) -> Self {
        self.gate = self.gate.with_deviations(deviations);
        self
    }

    /// Becomes a new process with these faults of its gate, and keeps the memory of the old one.
    pub fn renew(&mut self, played: Arc<Played>, process: u32, deviations: GateDeviations) {
        let (profile, prepared) = played.gate(process);
        self.gate.renew(Arc::clone(&prepared), deviations);
        self.heard.renew(&played, process.saturating_add(1));
        self.lines.clear();
        self.held.clear();
        self.pipe.renew();
        (self.played, self.process, self.profile, self.prepared) = (played, process, profile, prepared);
        (self.now, self.deaf, self.ended, self.wake_due) = (Time::ZERO, false, false, false);
    }

    /// Tells the process what happened. After its end it hears nothing. Drain it before the next input: messages are taken
    /// up one by one as outputs are polled, so that a chunk of many makes it hold no more than what one of them causes.
    pub fn handle_input(&mut self, now: Time, input: ServerInput<'_>) {
        if self.ended {
            return;
        }
        self.now = self.now.max(now);
        self.wake_due = true;
        if self.pipe.is_ending() {
            return;
        }
        match input {
            ServerInput::Start => self.on_start(),
            ServerInput::Bytes(bytes) => self.on_bytes(bytes),
            ServerInput::Eof => self.deaf = true,
            ServerInput::Timeout => self.release(|held, now| held.at.is_some_and(|at| at <= now)),
        }
    }

    /// The next output; bytes are appended to `buf`.
    pub fn poll_output(&mut self, buf: &mut Vec<u8>) -> Option<ServerOutput> {
        loop {
            if self.played.wire(self.process).together
                && self.pipe.filled() < TOGETHER_MOST
                && self.take_up_message()
            {
                continue;
            }
            if let Some(output) = self.pipe.poll(self.now, self.played.wire(self.process), buf) {
                self.ended |= matches!(output, ServerOutput::Exit(_) | ServerOutput::Signal(_));
                return Some(output);
            }
            if self.ended {
                return None;
            }
            if self.take_up_message() {
                continue;
            }
            if !self.deaf || self.pipe.is_ending() {
                let held = self.held.iter().filter_map(|held| held.at);
                let next = held.chain(self.pipe.due()).min();
                return std::mem::take(&mut self.wake_due).then_some(ServerOutput::WakeAt(next));
            }
            self.pipe.drop_rest();
            self.pipe.end(ServerOutput::Exit(0));
        }
    }

    fn on_start(&mut self) {
        let wire = self.played.wire(self.process);
        wire.stderr.iter().for_each(|line| self.pipe.stderr(&line.bytes()));
        wire.banner.iter().for_each(|line| self.pipe.line(wire, &line.bytes()));
        if let Some(code) = wire.exit_at_start {
            self.pipe.end(ServerOutput::Exit(code));
        }
    }

    fn on_bytes(&mut self, bytes: &[u8]) {
        match self.played.wire(self.process).exit_at_first_bytes {
            Some(code) => self.pipe.end(ServerOutput::Exit(code)),
            None => self.lines.push(bytes),
        }
    }

    /// False if no whole message is left, or none is heard any more.
    fn take_up_message(&mut self) -> bool {
        if self.lines.is_drained() || self.pipe.is_ending() {
            return false;
        }
        let mut lines = std::mem::take(&mut self.lines);
        let line = lines.next(&Limits::DEFAULT);
        let any = line.is_some();
        match line {
            Some(Line::Whole(line)) => self.on_line(line),
            Some(Line::TooLong) => self.on_line(UNREADABLE),
            None => {}
        }
        self.lines = lines;
        any
    }

    fn on_line(&mut self, line: &[u8]) {
        let mut issues = std::mem::take(&mut self.issues);
        issues.clear();
        // Read once, for the gate and for the quirks.
        let message = read_message(line, &Limits::DEFAULT, &mut issues);
        self.on_read(line, &message, &issues);
        self.issues = issues;
    }

    fn on_read(&mut self, line: &[u8], message: &Message<'_>, issues: &IssueSink) {
        let input = GateInput::Read { bytes: line, message, issues };
        let plain = self.played.persona().quirks.is_empty();
        if plain && !matches!(self.profile, Profile::Silent | Profile::Exiting) {
            if let Some(answer) = self.gate_answer(input) {
                // A batch has an answer to each of its members.
                answer.split(|byte| *byte == b'\n').for_each(|line| self.write_line(line));
                self.scratch = answer;
            }
            return;
        }
        let batch = if *message == Message::Batch { self.gate.batch(line) } else { None };
        match batch {
            Some(batch) => {
                for member in batch.elements() {
                    let member = member.text().as_bytes();
                    let message = read_message(member, &Limits::DEFAULT, &mut IssueSink::new());
                    self.on_message(GateInput::Member(member), member, &message);
                    if self.pipe.is_ending() {
                        return;
                    }
                }
            }
            None => self.on_message(input, line, message),
        }
    }

    fn on_message(&mut self, input: GateInput<'_>, text: &[u8], message: &Message<'_>) {
        let (method, id) = match message {
            Message::Request(request) => (request.method.decode(), Some(request.id)),
            Message::Notification { method, .. } => (method.decode(), None),
            _ => ("".into(), None),
        };
        let bit = self.played.bit(&method);
        let waits_for = |moment| move |held: &Held, _| held.until & bit != 0 && held.moment == moment;
        self.release(waits_for(Moment::Before));
        let asked = Asked { id, number: self.heard.count() };
        self.answer(input, text, &method, &asked);
        self.heard.see(bit);
        if !self.pipe.is_ending() {
            self.release(waits_for(Moment::After));
        }
    }

    fn answer(&mut self, input: GateInput<'_>, text: &[u8], method: &str, asked: &Asked<'_>) {
        let played = Arc::clone(&self.played);
        let fitting = self.heard.fitting(&played, None, text, method);
        let own = match self.profile {
            Profile::Silent => Answer::None,
            Profile::Exiting
                if fitting.is_empty() && asked.id.is_some() && !knows(self.prepared.policy(), method) =>
            {
                return self.pipe.end(ServerOutput::Exit(UNKNOWN_REQUEST_EXIT));
            }
            _ => self.gate_answer(input).map_or(Answer::None, |line| Answer::Doc(Doc::Whole(line))),
        };
        let answer = fitting.iter().fold(own, |answer, act| answer.acted_on(act, asked)).into_line();
        fitting.iter().flat_map(|act| &act.stderr).for_each(|line| self.pipe.stderr(&text_for(line, asked)));
        let leaves =
            |moment| fitting.iter().filter_map(|act| act.exit).find(move |exit| exit.moment == moment);
        if let Some(exit) = leaves(Moment::Before) {
            return self.pipe.end(exit_output(exit));
        }
        self.deliver(&fitting, answer, asked);
        if fitting.iter().any(|act| act.close) {
            self.pipe.close();
        }
        if let Some(exit) = leaves(Moment::After) {
            self.pipe.end(exit_output(exit));
        }
    }

    /// Writes the answer with the lines around it, now or later.
    fn deliver(&mut self, fitting: &[&Act], answer: Option<Vec<u8>>, asked: &Asked<'_>) {
        fitting.iter().flat_map(|act| &act.before).for_each(|line| self.write_line(&text_for(line, asked)));
        let twice = answer.as_ref().filter(|_| fitting.iter().any(|act| act.twice)).cloned();
        let behind = fitting.iter().flat_map(|act| &act.behind).map(|line| text_for(line, asked));
        let delay_ms = fitting.iter().filter_map(|act| act.delay_ms).max();
        let waits = fitting.iter().find_map(|act| act.until.as_deref().map(|until| (until, act.until_order)));
        let at = delay_ms.map(|ms| self.now.plus_us(ms.saturating_mul(1000)));
        let (until, moment) =
            waits.map_or((0, Moment::Before), |(until, moment)| (self.played.bit(until), moment));
        for line in answer.into_iter().chain(twice).chain(behind) {
            if delay_ms.is_none() && waits.is_none() {
                self.write_line(&line);
                self.scratch = line;
            } else {
                self.hold(Held { line, at, until, moment });
            }
        }
    }

    fn hold(&mut self, held: Held) {
        let size: usize = self.held.iter().map(|held| held.line.len()).sum();
        if self.held.len() < HELD_MOST && size.saturating_add(held.line.len()) <= pipe::MOST {
            self.held.push(held);
        }
    }

    /// The correct answer, without its newline.
    fn gate_answer(&mut self, input: GateInput<'_>) -> Option<Vec<u8>> {
        let mut buf = std::mem::take(&mut self.scratch);
        buf.clear();
        let heard = self.gate.handle_input(self.now, input).is_ok();
        let mut answered = false;
        while let Some(output) = self.gate.poll_output(&mut buf) {
            answered |= matches!(output, GateOutput::Write(_));
        }
        if !answered || !heard {
            self.scratch = buf;
            return None;
        }
        buf.pop();
        Some(buf)
    }

    fn release(&mut self, is_due: impl Fn(&Held, Time) -> bool) {
        if self.held.is_empty() {
            return;
        }
        let now = self.now;
        let (due, kept): (Vec<Held>, Vec<Held>) =
            std::mem::take(&mut self.held).into_iter().partition(|held| is_due(held, now));
        self.held = kept;
        due.iter().for_each(|held| self.write_line(&held.line));
    }

    fn write_line(&mut self, line: &[u8]) {
        self.pipe.line(self.played.wire(self.process), line);
    }
}

/// True of what a legacy server has by itself and of what the policy gives it.
pub(crate) fn knows(policy: &GatePolicy, method: &str) -> bool {
    matches!(method, "initialize" | "ping") || policy.methods.iter().any(|served| served.name == method)
}

fn exit_output(exit: ExitAct) -> ServerOutput {
    exit.signal.map_or(ServerOutput::Exit(exit.code), ServerOutput::Signal)
}
