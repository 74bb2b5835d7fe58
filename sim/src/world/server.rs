//! The server's end: its processes, their inputs, and what their outputs do to the world.

use std::sync::Arc;

use mcp_parley_mock_servers::{Server, ServerInput, ServerOutput};
use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::client::{DownKind, Process};
use mcp_parley_trace::{Kind, Node};

use super::link::{TRAVEL_US, Way};
use super::queue::What;
use super::{Run, channel};
use crate::case::ServerSide;
use crate::chooser::Chooser;

/// One server process.
#[derive(Debug)]
pub(super) struct ServerProcess {
    engine: Box<Server>,
    alive: bool,
    /// The pipe is broken; nothing written passes any more.
    pub(super) cut: bool,
    /// No chunk may overtake the one before: when the last one arrives at the server, and at the client.
    pub(super) last_in: Time,
    pub(super) last_out: Time,
    wake: Option<Time>,
}

impl ServerProcess {
    /// A new process in the memory of an old one, where there is one.
    pub(super) fn new(side: &ServerSide, number: u32, old: Option<Self>) -> Self {
        let played = Arc::clone(&side.played);
        let engine = match old {
            Some(Self { mut engine, .. }) => {
                engine.renew(played, number, side.deviations.clone());
                engine
            }
            None => Box::new(Server::start(played, number).with_deviations(side.deviations.clone())),
        };
        Self { engine, alive: false, cut: false, last_in: Time::ZERO, last_out: Time::ZERO, wake: None }
    }
}

impl<C: Chooser> Run<'_, C> {
    pub(super) fn on_boot(&mut self, process: Process) {
        let Some(server) = self.server(process) else { return };
        server.alive = true;
        self.record(Node::Server, channel(process), Kind::Up, None, &[]);
        // A persona may end, or speak, before it has read anything.
        let now = self.now;
        if let Some(server) = self.server(process) {
            server.engine.handle_input(now, ServerInput::Start);
        }
        self.drain_server(process, None);
    }

    pub(super) fn on_server_bytes(&mut self, process: Process, start: u32, end: u32, cause: u32) {
        if !self.server(process).is_some_and(|server| server.alive) {
            return;
        }
        let wire = std::mem::take(&mut self.world.wire);
        let bytes = wire.get(start as usize..end as usize).unwrap_or_default();
        let seq = self.record(Node::Server, channel(process), Kind::Read, Some(cause), bytes);
        let now = self.now;
        if let Some(server) = self.server(process) {
            server.engine.handle_input(now, ServerInput::Bytes(bytes));
        }
        self.world.wire = wire;
        self.drain_server(process, Some(seq));
    }

    pub(super) fn on_server_eof(&mut self, process: Process, cause: Option<u32>) {
        if !self.server(process).is_some_and(|server| server.alive) {
            return;
        }
        let seq = self.record(Node::Server, channel(process), Kind::Eof, cause, &[]);
        let now = self.now;
        if let Some(server) = self.server(process) {
            server.engine.handle_input(now, ServerInput::Eof);
        }
        self.drain_server(process, Some(seq));
    }

    pub(super) fn on_server_wake(&mut self, process: Process) {
        let now = self.now;
        let Some(server) = self.server(process) else { return };
        if !server.alive || server.wake.is_none_or(|wake| wake > now) {
            return;
        }
        server.wake = None;
        server.engine.handle_input(now, ServerInput::Timeout);
        self.drain_server(process, None);
    }

    /// The process is ended from outside.
    pub(super) fn kill(&mut self, process: Process, cause: u32) {
        let Some(server) = self.server(process).filter(|server| server.alive) else { return };
        server.alive = false;
        // With a cause: nobody on the client's side did it.
        let seq = self.record(Node::Server, channel(process), Kind::Signal(9), Some(cause), &[]);
        self.tell_down(process, DownKind::Signalled, seq);
    }

    fn drain_server(&mut self, process: Process, cause: Option<u32>) {
        loop {
            self.world.buf.clear();
            let mut buf = std::mem::take(&mut self.world.buf);
            let alive = self.server(process).filter(|server| server.alive);
            let output = alive.and_then(|server| server.engine.poll_output(&mut buf));
            self.world.buf = buf;
            match output {
                None => return,
                Some(ServerOutput::Write(range)) => self.server_writes(process, range, cause),
                Some(ServerOutput::Stderr(range)) => {
                    let buf = std::mem::take(&mut self.world.buf);
                    let bytes = buf.get(range).unwrap_or_default();
                    self.record(Node::Server, channel(process), Kind::Stderr, cause, bytes);
                    self.world.buf = buf;
                }
                Some(ServerOutput::WakeAt(wake)) => self.server_sleeps(process, wake),
                Some(ServerOutput::CloseOutput) => {
                    let seq = self.record(Node::Server, channel(process), Kind::Close, cause, &[]);
                    self.tell_down(process, DownKind::Eof, seq);
                }
                Some(ServerOutput::Exit(code)) => {
                    self.server_ends(process, Kind::Exit(code), DownKind::Exited, cause)
                }
                Some(ServerOutput::Signal(signal)) => {
                    self.server_ends(process, Kind::Signal(signal), DownKind::Signalled, cause);
                }
            }
        }
    }

    fn server_writes(&mut self, process: Process, range: std::ops::Range<usize>, cause: Option<u32>) {
        let buf = std::mem::take(&mut self.world.buf);
        let bytes = buf.get(range.clone()).unwrap_or_default();
        let seq = self.record(Node::Server, channel(process), Kind::Write, cause, bytes);
        self.world.buf = buf;
        if self.server(process).is_some_and(|server| !server.cut) {
            self.travel(Way::ToClient, process, range, seq);
        }
    }

    fn server_sleeps(&mut self, process: Process, wake: Option<Time>) {
        let Some(server) = self.server(process) else { return };
        let before = std::mem::replace(&mut server.wake, wake);
        if let Some(wake) = wake.filter(|wake| before != Some(*wake)) {
            self.world.queue.at(wake, What::ServerWake(process));
        }
    }

    fn server_ends(&mut self, process: Process, kind: Kind, down: DownKind, cause: Option<u32>) {
        if let Some(server) = self.server(process) {
            server.alive = false;
        }
        let seq = self.record(Node::Server, channel(process), kind, cause, &[]);
        self.tell_down(process, down, seq);
    }

    /// The client learns of it after the last byte that was on its way.
    fn tell_down(&mut self, process: Process, kind: DownKind, cause: u32) {
        let earliest = self.now.plus_us(TRAVEL_US);
        let Some(server) = self.server(process) else { return };
        server.last_out = server.last_out.max(earliest);
        let time = server.last_out;
        if !std::mem::replace(&mut server.cut, true) {
            self.world.queue.at(time, What::ClientDown(process, kind, Some(cause)));
        }
    }

    fn server(&mut self, process: Process) -> Option<&mut ServerProcess> {
        self.world.servers.get_mut(process.0 as usize)
    }
}
