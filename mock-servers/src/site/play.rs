//! The engine: which exchange gets what, and when.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::envelope::{Message, read_message};
use mcp_parley_negotiation::gate::{GateDeviations, HttpAnswer, HttpGate};
use mcp_parley_negotiation::http::{Exchange, RequestHead};
use mcp_parley_negotiation::issue::IssueSink;
use mcp_parley_negotiation::limits::Limits;
use mcp_parley_negotiation::version::ProtocolVersion;

use super::answer::{Composer, Plan, Step};
use super::{SiteInput, SiteOutput};
use crate::act::Asked;
use crate::engine::{UNKNOWN_REQUEST_EXIT, knows};
use crate::persona::{Act, Moment, Profile};
use crate::played::Played;
use crate::select::Heard;

/// The most steps that wait in one process; what comes on top is lost. A client may ask for ever.
const WAITING_MOST: usize = 4096;
/// They hold no more bytes than this.
const WAITING_BYTES: usize = 64 << 20;

/// One persona as an HTTP server, with the processes that follow each other on its port. Sans-IO and deterministic.
#[derive(Clone, Debug)]
pub struct Site {
    played: Arc<Played>,
    deviations: GateDeviations,
    process: u32,
    profile: Profile,
    gate: HttpGate,
    heard: Heard,
    now: Time,
    open: BTreeSet<Exchange>,
    /// Answers that wait for a method.
    held: Vec<Held>,
    /// What is done at its time, in order; at the same time, in the order of decision.
    timed: Vec<(Time, Exchange, Step)>,
    /// No process has the port, and when the next one has it.
    down: bool,
    up_at: Option<Time>,
    queue: VecDeque<Due>,
    wake_due: bool,
}

#[derive(Clone, Debug)]
struct Held {
    exchange: Exchange,
    steps: Vec<Step>,
    until: u64,
    moment: Moment,
}

#[derive(Clone, Debug)]
enum Due {
    Step(Exchange, Step),
    Exit(i32),
    Up,
}

impl Site {
    /// The server, whose first process has not begun.
    pub fn start(played: Arc<Played>) -> Self {
        let (profile, prepared) = played.gate(0);
        Self {
            deviations: GateDeviations::default(),
            process: 0,
            profile,
            gate: HttpGate::new(prepared),
            heard: Heard::nothing(&played, 1),
            played,
            now: Time::ZERO,
            open: BTreeSet::new(),
            held: Vec::new(),
            timed: Vec::new(),
            down: false,
            up_at: None,
            queue: VecDeque::new(),
            wake_due: false,
        }
    }

    /// The same server with faults of its gate.
    #[must_use]
    pub fn with_deviations(mut self, deviations: GateDeviations) -> Self {
        self.deviations = deviations;
        self.gate = self.gate.with_deviations(self.deviations.clone());
        self
    }

    /// Tells the server what happened. Drain it before the next input.
    pub fn handle_input(&mut self, now: Time, input: SiteInput<'_>) {
        self.now = self.now.max(now);
        self.wake_due = true;
        match input {
            SiteInput::Start => {
                if let Some(code) = self.played.wire(self.process).exit_at_start {
                    self.exit(code);
                }
            }
            SiteInput::Request(exchange, head, body) if !self.down => {
                self.open.insert(exchange);
                self.on_request(exchange, &head, body);
            }
            SiteInput::Request(..) => {}
            SiteInput::Gone(exchange) => self.forget(exchange),
            SiteInput::Timeout => self.on_timeout(),
        }
    }

    /// The next output; bytes are appended to `buf`.
    pub fn poll_output(&mut self, buf: &mut Vec<u8>) -> Option<SiteOutput> {
        let Some(due) = self.queue.pop_front() else {
            let next = self.timed.first().map(|(at, ..)| *at).into_iter().chain(self.up_at).min();
            return std::mem::take(&mut self.wake_due).then_some(SiteOutput::WakeAt(next));
        };
        let mut put = |bytes: &[u8]| {
            let start = buf.len();
            buf.extend_from_slice(bytes);
            start..buf.len()
        };
        Some(match due {
            Due::Exit(code) => SiteOutput::Exit(code),
            Due::Up => SiteOutput::Up,
            Due::Step(exchange, step) => match step {
                Step::Head(head) => SiteOutput::Head(exchange, head),
                Step::Body(bytes) => SiteOutput::Body(exchange, put(&bytes)),
                Step::Raw(bytes) => SiteOutput::Raw(exchange, put(&bytes)),
                Step::End => SiteOutput::End(exchange),
                Step::Close => SiteOutput::Close(exchange),
                Step::Reset => SiteOutput::Reset(exchange),
            },
        })
    }

    fn on_timeout(&mut self) {
        while self.timed.first().is_some_and(|(at, ..)| *at <= self.now) {
            let (_, exchange, step) = self.timed.remove(0);
            self.take(exchange, step);
        }
        if self.up_at.is_some_and(|at| at <= self.now) {
            self.up();
        }
    }

    fn on_request(&mut self, exchange: Exchange, head: &RequestHead<'_>, body: &[u8]) {
        if let Some(code) = self.played.wire(self.process).exit_at_first_bytes {
            return self.exit(code);
        }
        let mut issues = IssueSink::new();
        let read = (head.verb == "POST").then(|| read_message(body, &Limits::DEFAULT, &mut issues));
        let (method, id) = match &read {
            Some(Message::Request(request)) => (request.method.decode(), Some(request.id)),
            Some(Message::Notification { method, .. }) => (method.decode(), None),
            _ => ("".into(), None),
        };
        let bit = self.played.bit(&method);
        self.release(bit, Moment::Before);
        let asked = Asked { id, number: self.heard.count() };
        self.answer(exchange, head, body, &method, &asked);
        self.heard.see(bit);
        self.release(bit, Moment::After);
    }

    fn answer(
        &mut self,
        exchange: Exchange,
        head: &RequestHead<'_>,
        body: &[u8],
        method: &str,
        asked: &Asked<'_>,
    ) {
        let played = Arc::clone(&self.played);
        let acts = self.heard.fitting(&played, Some(head), body, method);
        let unknown = || asked.id.is_some() && !knows(played.gate(self.process).1.policy(), method);
        if self.profile == Profile::Exiting && acts.is_empty() && unknown() {
            return self.exit(UNKNOWN_REQUEST_EXIT);
        }
        let leaves = |moment| acts.iter().filter_map(|act| act.exit).find(move |exit| exit.moment == moment);
        if let Some(exit) = leaves(Moment::Before) {
            return self.exit(exit.code);
        }
        let plan = self.plan(&played, &acts, head, body, asked);
        self.perform(exchange, plan, &acts);
        if let Some(exit) = leaves(Moment::After) {
            self.exit(exit.code);
        }
    }

    fn plan(
        &mut self,
        played: &Played,
        acts: &[&Act],
        head: &RequestHead<'_>,
        body: &[u8],
        asked: &Asked<'_>,
    ) -> Plan {
        let said = (self.profile != Profile::Silent).then(|| self.gate_answer(head, body));
        // A silent server that a quirk makes speak says what the quirk has.
        let speaks = |act: &&&Act| {
            act.line.is_some() || act.error.is_some() || act.result.is_some() || act.http.is_some()
        };
        let said = said.or_else(|| acts.iter().find(speaks).map(|_| (HttpAnswer::empty(200), Vec::new())));
        let (_, prepared) = played.gate(self.process);
        let policy = prepared.policy();
        let modern: &[ProtocolVersion] = &policy.modern;
        let composer = Composer {
            http: &played.persona().http,
            wire: played.wire(self.process),
            acts,
            asked,
            form: policy.http.answer_form,
            legacy: modern.is_empty(),
        };
        composer.plan(said)
    }

    /// The correct answer, and its body.
    fn gate_answer(&mut self, head: &RequestHead<'_>, body: &[u8]) -> (HttpAnswer, Vec<u8>) {
        let mut text = Vec::new();
        let answer = self.gate.answer(head, body, &mut text);
        (answer, text)
    }

    fn perform(&mut self, exchange: Exchange, plan: Plan, acts: &[&Act]) {
        let now = self.now;
        self.run(exchange, plan.at_once, now);
        let delay_ms = acts.iter().filter_map(|act| act.delay_ms).max();
        let waits = acts.iter().find_map(|act| act.until.as_deref().map(|until| (until, act.until_order)));
        match (waits, delay_ms) {
            (Some((until, moment)), _) => {
                let until = self.played.bit(until);
                if self.has_room(&plan.then) {
                    self.held.push(Held { exchange, steps: plan.then, until, moment });
                }
            }
            (None, Some(ms)) => {
                let at = now.plus_us(ms.saturating_mul(1000));
                plan.then.into_iter().for_each(|step| self.at(at, exchange, step));
            }
            (None, None) => self.run(exchange, plan.then, now),
        }
    }

    /// Does the steps one after the other, with the pauses that the wire wants between pieces.
    fn run(&mut self, exchange: Exchange, steps: Vec<Step>, now: Time) {
        let gap_us = self.played.wire(self.process).gap_ms.unwrap_or(0).saturating_mul(1000);
        let mut at = now;
        let mut wrote = false;
        for step in steps {
            if gap_us > 0 && matches!(step, Step::Body(_)) && std::mem::replace(&mut wrote, true) {
                at = at.plus_us(gap_us);
            }
            if at > now { self.at(at, exchange, step) } else { self.take(exchange, step) }
        }
    }

    fn at(&mut self, at: Time, exchange: Exchange, step: Step) {
        if self.has_room(std::slice::from_ref(&step)) {
            let place = self.timed.partition_point(|(other, ..)| *other <= at);
            self.timed.insert(place, (at, exchange, step));
        }
    }

    fn has_room(&self, more: &[Step]) -> bool {
        let held = self.held.iter().flat_map(|held| &held.steps);
        let waiting = || self.timed.iter().map(|(.., step)| step).chain(held.clone());
        let size = |step: &Step| match step {
            Step::Body(bytes) | Step::Raw(bytes) => bytes.len(),
            _ => 0,
        };
        let bytes: usize = waiting().chain(more).map(size).sum();
        waiting().count().saturating_add(more.len()) <= WAITING_MOST && bytes <= WAITING_BYTES
    }

    /// Queues a step, unless its exchange is over.
    fn take(&mut self, exchange: Exchange, step: Step) {
        if !self.open.contains(&exchange) {
            return;
        }
        if matches!(step, Step::End | Step::Close | Step::Reset) {
            self.open.remove(&exchange);
        }
        self.queue.push_back(Due::Step(exchange, step));
    }

    fn release(&mut self, bit: u64, moment: Moment) {
        let fits = |held: &Held| held.until & bit != 0 && held.moment == moment;
        let (due, kept): (Vec<Held>, Vec<Held>) = std::mem::take(&mut self.held).into_iter().partition(fits);
        self.held = kept;
        let now = self.now;
        due.into_iter().for_each(|held| self.run(held.exchange, held.steps, now));
    }

    fn forget(&mut self, exchange: Exchange) {
        self.open.remove(&exchange);
        self.held.retain(|held| held.exchange != exchange);
        self.timed.retain(|(_, other, _)| *other != exchange);
    }

    /// Every connection is closed, new ones are refused, and the next process may have the port.
    fn exit(&mut self, code: i32) {
        self.open.clear();
        self.held.clear();
        self.timed.clear();
        self.queue.push_back(Due::Exit(code));
        let restart_ms = self.played.persona().http.restart_ms;
        self.down = true;
        self.up_at = restart_ms.map(|ms| self.now.plus_us(ms.saturating_mul(1000)));
        if restart_ms == Some(0) {
            self.up();
        }
    }

    /// The process is ended from outside, with all that it had open, and the next one has the port.
    pub fn next_process(&mut self) {
        self.open.clear();
        self.held.clear();
        self.timed.clear();
        self.queue.clear();
        self.begin_next();
    }

    fn up(&mut self) {
        self.begin_next();
        self.queue.push_back(Due::Up);
    }

    fn begin_next(&mut self) {
        (self.down, self.up_at) = (false, None);
        self.process = self.process.saturating_add(1);
        let (profile, prepared) = self.played.gate(self.process);
        self.profile = profile;
        let gate = HttpGate::new(prepared).as_process(self.process);
        self.gate = gate.with_deviations(self.deviations.clone());
        self.heard = Heard::nothing(&self.played, self.process.saturating_add(1));
    }
}
