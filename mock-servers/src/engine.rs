//! Plays one persona as one server process: bytes in, bytes out, and never a choice of its own.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::envelope::{Id, Message, read_message};
use mcp_parley_negotiation::gate::{Gate, GateDeviations, GateInput, GateOutput, Prepared};
use mcp_parley_negotiation::issue::IssueSink;
use mcp_parley_negotiation::json::{self, Raw};
use mcp_parley_negotiation::limits::Limits;
use mcp_parley_negotiation::lines::{Line, Lines};

use crate::act::Answer;
use crate::doc;
use crate::persona::{Act, ExitAct, LineEnd, Moment, Profile, Quirk, Selector};
use crate::played::Played;

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
const UNKNOWN_REQUEST_EXIT: i32 = 1;

/// Stands for a line that was too long to keep: it is answered as any that is no JSON.
const UNREADABLE: &[u8] = b"{";

/// The most answers that wait in one process; more are lost. A client may ask for ever.
const HELD_MOST: usize = 256;

/// One server process.
#[derive(Clone, Debug)]
pub struct Server {
    played: Arc<Played>,
    process: u32,
    profile: Profile,
    prepared: Arc<Prepared>,
    gate: Gate,
    lines: Lines,
    issues: IssueSink,
    /// How often each quirk's selector fitted.
    fitted: Vec<u32>,
    /// Which watched methods were received, by bit.
    seen: u64,
    held: Vec<Held>,
    queue: VecDeque<ServerOutput>,
    bytes: Vec<u8>,
    scratch: Vec<u8>,
    marked: bool,
    ended: bool,
    wake_due: bool,
}

/// A line that the client wrote, read once for all who look at it.
struct Received<'a> {
    line: &'a [u8],
    message: Message<'a>,
    issues: &'a IssueSink,
}

/// An answer that waits.
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
        let fitted = vec![0; played.persona().quirks.len()];
        Self {
            played,
            process,
            profile,
            gate: Gate::new(Arc::clone(&prepared)),
            prepared,
            lines: Lines::new(),
            issues: IssueSink::new(),
            fitted,
            seen: 0,
            held: Vec::new(),
            queue: VecDeque::new(),
            bytes: Vec::new(),
            scratch: Vec::new(),
            marked: false,
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
        self.fitted.clear();
        self.fitted.resize(played.persona().quirks.len(), 0);
        self.lines.clear();
        self.held.clear();
        self.queue.clear();
        self.bytes.clear();
        (self.played, self.process, self.profile, self.prepared) = (played, process, profile, prepared);
        (self.seen, self.marked, self.ended, self.wake_due) = (0, false, false, false);
    }

    /// Tells the process what happened. After its end it hears nothing.
    pub fn handle_input(&mut self, now: Time, input: ServerInput<'_>) {
        if self.ended {
            return;
        }
        match input {
            ServerInput::Start => self.on_start(),
            ServerInput::Bytes(bytes) => self.on_bytes(now, bytes),
            ServerInput::Eof => self.end(ServerOutput::Exit(0)),
            ServerInput::Timeout => self.release_due(now),
        }
        self.wake_due = true;
    }

    /// The next output; bytes are appended to `buf`.
    pub fn poll_output(&mut self, buf: &mut Vec<u8>) -> Option<ServerOutput> {
        match self.queue.pop_front() {
            Some(ServerOutput::Write(range)) => {
                let start = buf.len();
                buf.extend_from_slice(self.bytes.get(range).unwrap_or_default());
                Some(ServerOutput::Write(start..buf.len()))
            }
            Some(output) => Some(output),
            None => {
                self.bytes.clear();
                let next = self.held.iter().filter_map(|held| held.at).min();
                (std::mem::take(&mut self.wake_due) && !self.ended).then_some(ServerOutput::WakeAt(next))
            }
        }
    }

    fn on_start(&mut self) {
        let played = Arc::clone(&self.played);
        let wire = &played.persona().wire;
        for line in &wire.banner {
            self.write_line(line.as_bytes());
        }
        if let Some(code) = wire.exit_at_start {
            self.end(ServerOutput::Exit(code));
        }
    }

    fn on_bytes(&mut self, now: Time, bytes: &[u8]) {
        if let Some(code) = self.played.persona().wire.exit_at_first_bytes {
            return self.end(ServerOutput::Exit(code));
        }
        let mut lines = std::mem::take(&mut self.lines);
        lines.push(bytes);
        while let Some(line) = lines.next(&Limits::DEFAULT) {
            match line {
                Line::Whole(line) => self.on_message(now, line),
                Line::TooLong => self.on_message(now, UNREADABLE),
            }
            if self.ended {
                return;
            }
        }
        self.lines = lines;
    }

    fn on_message(&mut self, now: Time, line: &[u8]) {
        let mut issues = std::mem::take(&mut self.issues);
        issues.clear();
        let message = read_message(line, &Limits::DEFAULT, &mut issues);
        self.on_read(now, &Received { line, message, issues: &issues });
        self.issues = issues;
    }

    fn on_read(&mut self, now: Time, received: &Received<'_>) {
        let plain = self.played.persona().quirks.is_empty();
        if plain && !matches!(self.profile, Profile::Silent | Profile::Exiting) {
            if let Some(answer) = self.gate_answer(now, received) {
                // A batch has an answer to each of its members.
                answer.split(|byte| *byte == b'\n').for_each(|line| self.write_line(line));
                self.scratch = answer;
            }
            return;
        }
        let (method, id) = match &received.message {
            Message::Request(request) => (request.method.decode(), Some(request.id)),
            Message::Notification { method, .. } => (method.decode(), None),
            _ => ("".into(), None),
        };
        let bit = self.played.bit(&method);
        self.release_until(bit, Moment::Before);
        self.answer(now, received, &method, id.as_ref());
        self.seen |= bit;
        self.release_until(bit, Moment::After);
    }

    fn answer(&mut self, now: Time, received: &Received<'_>, method: &str, id: Option<&Id<'_>>) {
        let played = Arc::clone(&self.played);
        let fitting = self.fitting(&played.persona().quirks, received.line, method);
        let own = match self.profile {
            Profile::Silent => Answer::None,
            Profile::Exiting if fitting.is_empty() && id.is_some() && !self.knows(method) => {
                return self.end(ServerOutput::Exit(UNKNOWN_REQUEST_EXIT));
            }
            _ => self.gate_answer(now, received).map_or(Answer::None, Answer::Line),
        };
        let answer = fitting.iter().fold(own, |answer, act| answer.acted_on(act, id)).into_line();
        let leaves =
            |moment| fitting.iter().filter_map(|act| act.exit).find(move |exit| exit.moment == moment);
        if let Some(exit) = leaves(Moment::Before) {
            return self.end(exit_output(exit));
        }
        self.deliver(now, &fitting, answer);
        if fitting.iter().any(|act| act.close) {
            self.queue.push_back(ServerOutput::CloseOutput);
        }
        if let Some(exit) = leaves(Moment::After) {
            self.end(exit_output(exit));
        }
    }

    /// Writes the answer with the lines around it, now or later.
    fn deliver(&mut self, now: Time, fitting: &[&Act], answer: Option<Vec<u8>>) {
        fitting.iter().flat_map(|act| &act.before).for_each(|line| self.write_line(line.as_bytes()));
        if let Some(line) = answer {
            let delay_ms = fitting.iter().filter_map(|act| act.delay_ms).max();
            let waits =
                fitting.iter().find_map(|act| act.until.as_deref().map(|until| (until, act.until_order)));
            let twice = fitting.iter().any(|act| act.twice);
            for _ in 0..=usize::from(twice) {
                match (delay_ms, waits) {
                    (None, None) => self.write_line(&line),
                    _ if self.held.len() >= HELD_MOST => {}
                    (delay_ms, waits) => self.held.push(Held {
                        line: line.clone(),
                        at: delay_ms.map(|ms| now.plus_us(ms.saturating_mul(1000))),
                        until: waits.map_or(0, |(until, _)| self.played.bit(until)),
                        moment: waits.map_or(Moment::Before, |(_, moment)| moment),
                    }),
                }
            }
        }
        fitting.iter().flat_map(|act| &act.behind).for_each(|line| self.write_line(line.as_bytes()));
    }

    /// The acts whose selectors fit this message, in the order of the file.
    fn fitting<'p>(&mut self, quirks: &'p [Quirk], line: &[u8], method: &str) -> Vec<&'p Act> {
        let mut message = None;
        let mut acts = Vec::new();
        for (at, quirk) in quirks.iter().enumerate() {
            if !self.fits(&quirk.when, line, method, &mut message) {
                continue;
            }
            let Some(count) = self.fitted.get_mut(at) else { continue };
            *count += 1;
            if quirk.when.nth.is_none_or(|nth| nth == *count) {
                acts.push(&quirk.act);
            }
        }
        acts
    }

    fn fits<'a>(
        &self,
        when: &Selector,
        line: &'a [u8],
        method: &str,
        read: &mut Option<Option<Raw<'a>>>,
    ) -> bool {
        let seen = |name: &str| self.seen & self.played.bit(name) != 0;
        if !when.method.is_empty() && !when.method.iter().any(|name| name == method)
            || when.process.is_some_and(|process| process != self.number())
            || when.from_process.is_some_and(|process| process > self.number())
            || when.after.as_deref().is_some_and(|name| !seen(name))
            || when.before.as_deref().is_some_and(seen)
        {
            return false;
        }
        if when.has.is_none() && when.lacks.is_none() && when.value.is_none() {
            return true;
        }
        let Some(message) =
            *read.get_or_insert_with(|| json::check(line, &Limits::DEFAULT, &mut IssueSink::new()))
        else {
            return false;
        };
        when.has.as_ref().is_none_or(|at| doc::find(message, at).is_some())
            && when.lacks.as_ref().is_none_or(|at| doc::find(message, at).is_none())
            && when.value.as_ref().is_none_or(|value| {
                doc::find(message, &value.at).is_some_and(|found| doc::equals(found, &value.equals))
            })
    }

    /// Of this process, counted from 1.
    fn number(&self) -> u32 {
        self.process.saturating_add(1)
    }

    /// True of what a legacy server has by itself and of what the policy gives it.
    fn knows(&self, method: &str) -> bool {
        matches!(method, "initialize" | "ping")
            || self.prepared.policy().methods.iter().any(|served| served.name == method)
    }

    /// The correct answer, without its newline.
    fn gate_answer(&mut self, now: Time, received: &Received<'_>) -> Option<Vec<u8>> {
        let mut buf = std::mem::take(&mut self.scratch);
        buf.clear();
        let Received { line, message, issues } = received;
        let input = GateInput::Read { bytes: line, message, issues };
        let heard = self.gate.handle_input(now, input).is_ok();
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

    fn release_until(&mut self, bit: u64, moment: Moment) {
        if bit == 0 || self.ended {
            return;
        }
        let (due, kept) = std::mem::take(&mut self.held)
            .into_iter()
            .partition(|held| held.until & bit != 0 && held.moment == moment);
        self.held = kept;
        let due: Vec<Held> = due;
        due.iter().for_each(|held| self.write_line(&held.line));
    }

    fn release_due(&mut self, now: Time) {
        let (due, kept): (Vec<Held>, Vec<Held>) =
            std::mem::take(&mut self.held).into_iter().partition(|held| held.at.is_some_and(|at| at <= now));
        self.held = kept;
        due.iter().for_each(|held| self.write_line(&held.line));
    }

    fn write_line(&mut self, line: &[u8]) {
        let played = Arc::clone(&self.played);
        let wire = &played.persona().wire;
        let mut start = self.bytes.len();
        if wire.together
            && let Some(ServerOutput::Write(before)) = self.queue.back()
        {
            start = before.start;
            self.queue.pop_back();
        }
        if wire.byte_order_mark && !std::mem::replace(&mut self.marked, true) {
            self.bytes.extend_from_slice("\u{feff}".as_bytes());
        }
        if wire.line_end == LineEnd::ContentLength {
            self.bytes.extend_from_slice(format!("Content-Length: {}\r\n\r\n", line.len()).as_bytes());
        }
        self.bytes.extend_from_slice(line);
        match wire.line_end {
            LineEnd::Lf => self.bytes.push(b'\n'),
            LineEnd::CrLf => self.bytes.extend_from_slice(b"\r\n"),
            LineEnd::None | LineEnd::ContentLength => {}
        }
        let end = self.bytes.len();
        let size = wire.chunk_bytes.map_or(usize::MAX, |size| (size as usize).max(1));
        let mut at = start;
        while at < end {
            let next = at.saturating_add(size).min(end);
            self.queue.push_back(ServerOutput::Write(at..next));
            at = next;
        }
    }

    fn end(&mut self, output: ServerOutput) {
        self.queue.push_back(output);
        self.ended = true;
    }
}

fn exit_output(exit: ExitAct) -> ServerOutput {
    exit.signal.map_or(ServerOutput::Exit(exit.code), ServerOutput::Signal)
}
