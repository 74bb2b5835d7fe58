//! The client's end: its inputs, and what its outputs do to the world.

use std::fmt::{Display, Write};
use std::sync::Arc;

use mcp_parley_mock_clients::{Player, Talker};
use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::client::{Event, Input, Misuse, Negotiator, Output, Process, States};
use mcp_parley_negotiation::version::Era;
use mcp_parley_trace::{Channel, Era as TraceEra, Kind, Node, Transport};

use super::link::{TRAVEL_US, Way};
use super::queue::What;
use super::server::ServerProcess;
use super::{Run, channel};
use crate::case::ClientSide;
use crate::chooser::{Chooser, Site};

/// Either kind of client, behind the same two methods.
#[derive(Debug)]
pub(super) enum Client {
    Machine(Box<Negotiator>),
    Player(Player),
    Talker(Talker),
}

impl Client {
    /// A new client in the memory of an old one, where there is one.
    pub(super) fn new(side: &ClientSide, transport: Transport, old: Option<Self>) -> Self {
        match (side, old) {
            (ClientSide::Machine { policy, deviations }, old) => {
                let mut machine = match old {
                    Some(Self::Machine(machine)) => machine,
                    _ => Box::new(Negotiator::new(Arc::clone(policy))),
                };
                match transport {
                    Transport::Stdio => machine.renew(Arc::clone(policy), deviations.clone()),
                    Transport::Http => machine.renew_over_http(Arc::clone(policy), deviations.clone()),
                }
                Self::Machine(machine)
            }
            (ClientSide::Opening(opening), _) => Self::Player(match transport {
                Transport::Stdio => Player::new(Arc::clone(opening)),
                Transport::Http => Player::over_http(Arc::clone(opening)),
            }),
            (ClientSide::Conversation(conversation), _) => Self::Talker(match transport {
                Transport::Stdio => Talker::new(Arc::clone(conversation)),
                Transport::Http => Talker::over_http(Arc::clone(conversation)),
            }),
        }
    }

    pub(super) fn is_done(&self) -> bool {
        match self {
            Self::Machine(machine) => machine.is_done(),
            Self::Player(player) => player.is_done(),
            Self::Talker(talker) => talker.is_done(),
        }
    }

    pub(super) fn is_settled(&self) -> bool {
        match self {
            Self::Machine(machine) => machine.is_settled(),
            Self::Player(_) | Self::Talker(_) => false,
        }
    }

    /// An opening is a list of steps and has no states.
    pub(super) fn reached(&self) -> States {
        match self {
            Self::Machine(machine) => machine.reached(),
            Self::Player(_) | Self::Talker(_) => States::default(),
        }
    }

    pub(super) fn handle_input(&mut self, now: Time, input: Input<'_>) -> Result<(), Misuse> {
        match self {
            Self::Machine(machine) => machine.handle_input(now, input),
            Self::Player(player) => player.handle_input(now, input),
            Self::Talker(talker) => talker.handle_input(now, input),
        }
    }

    fn poll_output(&mut self, buf: &mut Vec<u8>) -> Option<Output> {
        match self {
            Self::Machine(machine) => machine.poll_output(buf),
            Self::Player(player) => player.poll_output(buf),
            Self::Talker(talker) => talker.poll_output(buf),
        }
    }
}

impl<C: Chooser> Run<'_, C> {
    /// Hands an input to the client and carries out all that follows.
    pub(super) fn tell_client(&mut self, input: Input<'_>) {
        if self.client.handle_input(self.now, input).is_err() {
            return;
        }
        self.drain_client(None);
        self.call_once_settled();
    }

    pub(super) fn on_client_bytes(&mut self, process: Process, start: u32, end: u32, cause: u32) {
        if self.client.is_done() {
            return;
        }
        let wire = std::mem::take(&mut self.world.wire);
        let bytes = wire.get(start as usize..end as usize).unwrap_or_default();
        let seq = self.record(Node::Client, channel(process), Kind::Read, Some(cause), bytes);
        let told = self.client.handle_input(self.now, Input::Bytes(process, bytes));
        self.world.wire = wire;
        if told.is_ok() {
            self.drain_client(Some(seq));
            self.call_once_settled();
        }
    }

    /// What a user does once connected: one ordinary request. A machine that settles again sends it again by itself.
    pub(super) fn call_once_settled(&mut self) {
        if !self.called && self.client.is_settled() {
            self.called = true;
            if self.client.handle_input(self.now, Input::Call("tools/list", b"")).is_ok() {
                self.drain_client(None);
            }
        }
    }

    pub(super) fn drain_client(&mut self, cause: Option<u32>) {
        loop {
            self.world.buf.clear();
            let mut buf = std::mem::take(&mut self.world.buf);
            let output = self.client.poll_output(&mut buf);
            self.world.buf = buf;
            match output {
                None => return,
                Some(Output::Write(process, range)) => self.client_writes(process, range, cause),
                Some(Output::Spawn(process, _)) => self.client_spawns(process),
                Some(Output::Close(process)) => self.client_closes(process),
                Some(Output::Event(event)) => self.client_says(&event),
                Some(Output::WakeAt(wake)) => self.client_sleeps(wake),
                Some(Output::Http(exchange, request, body)) => {
                    self.client_requests(exchange, &request, body, cause);
                }
                Some(Output::Abort(exchange)) => self.client_aborts(exchange, cause),
            }
        }
    }

    fn client_writes(&mut self, process: Process, range: std::ops::Range<usize>, cause: Option<u32>) {
        let buf = std::mem::take(&mut self.world.buf);
        let bytes = buf.get(range.clone()).unwrap_or_default();
        let seq = self.record(Node::Client, channel(process), Kind::Write, cause, bytes);
        self.world.buf = buf;
        if self.world.servers.get(process.0 as usize).is_some_and(|server| !server.cut) {
            self.travel(Way::ToServer, process, range, seq);
            if self.faults && self.chooser.choose(Site::Death, 32) == 31 {
                self.world.queue.at(self.now.plus_us(TRAVEL_US), What::Kill(process, seq));
            }
        }
    }

    fn client_spawns(&mut self, process: Process) {
        self.record(Node::Client, channel(process), Kind::Spawn, None, &[]);
        let old = self.world.spare.pop();
        self.world.servers.push(ServerProcess::new(&self.case.server, process.0, old));
        let start = if self.faults { self.chooser.choose(Site::Start, 16) } else { 0 };
        let slow_us = self.probe_timeout_us();
        let spawned_at = self.now.plus_us(TRAVEL_US);
        if start == 15 {
            return self.world.queue.at(spawned_at, What::SpawnFailed(process));
        }
        // A process that is slow to start is written to all the same: what it has not read yet waits in the pipe.
        let boot_us = if start >= 13 { slow_us.saturating_add(TRAVEL_US) } else { 0 };
        let up_at = spawned_at.plus_us(boot_us);
        if let Some(server) = self.world.servers.get_mut(process.0 as usize) {
            server.last_in = up_at;
        }
        self.world.queue.at(up_at, What::Boot(process));
        self.world.queue.at(spawned_at, What::Up(process));
    }

    pub(super) fn probe_timeout_us(&self) -> u64 {
        match &self.case.client {
            ClientSide::Machine { policy, .. } => policy.probe_timeout_us,
            ClientSide::Opening(_) | ClientSide::Conversation(_) => 0,
        }
    }

    fn client_closes(&mut self, process: Process) {
        let seq = self.record(Node::Client, channel(process), Kind::Close, None, &[]);
        let Some(server) = self.world.servers.get_mut(process.0 as usize) else { return };
        let time = server.last_in.max(self.now.plus_us(TRAVEL_US));
        server.last_in = time;
        self.world.queue.at(time, What::ServerEof(process, Some(seq)));
    }

    fn client_says(&mut self, event: &Event) {
        let mut text = std::mem::take(&mut self.world.text);
        text.clear();
        let kind = match event {
            Event::Settled(era, version) => {
                text.push_str(version.as_str());
                Kind::Settled(match era {
                    Era::Legacy => TraceEra::Legacy,
                    Era::Modern => TraceEra::Modern,
                })
            }
            Event::Failed(failure) => {
                append(&mut text, failure);
                Kind::Failed
            }
            Event::Downgraded(evidence) => {
                append(&mut text, evidence);
                Kind::Downgraded
            }
            Event::Called(good) => Kind::Called(*good),
            Event::EraLearned(_) | Event::Ignored => return,
        };
        self.record(Node::Client, Channel::None, kind, None, text.as_bytes());
        self.world.text = text;
        if let Event::Called(_) = event {
            // Some users leave at once; the others stay until nothing more happens.
            if self.chooser.choose(Site::Linger, 2) == 0 {
                self.world.queue.at(self.now.plus_us(TRAVEL_US), What::Shutdown);
            }
        }
    }

    fn client_sleeps(&mut self, wake: Option<Time>) {
        let before = std::mem::replace(&mut self.wake, wake);
        if let Some(wake) = wake.filter(|wake| before != Some(*wake)) {
            self.world.queue.at(wake, What::ClientWake);
        }
    }
}

fn append(text: &mut String, shown: &impl Display) {
    // Writing to a string cannot fail.
    let _ = write!(text, "{shown}");
}
