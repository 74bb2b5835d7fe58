//! The machine over stdio: server processes that come and go, and the lines on their pipes.

use std::ops::Range;

use super::{
    DownKind, Event, Failure, Misuse, Negotiator, Opening, Output, Phase, Process, SpawnReason, State,
};
use crate::lines::Line;
use crate::version::Era;

impl Negotiator {
    pub(super) fn on_up(&mut self, process: Process) {
        if process != self.process || self.phase != Phase::Spawning {
            return;
        }
        match self.opening {
            Opening::Probe => self.probe(0),
            Opening::Initialize => self.initialize(0),
            Opening::Resume => self.resume(),
        }
    }

    pub(super) fn on_bytes(&mut self, process: Process, bytes: &[u8]) {
        if process != self.process || self.phase == Phase::Done {
            return;
        }
        let mut lines = std::mem::take(&mut self.lines);
        lines.push(bytes);
        while let Some(line) = lines.next(&self.limits) {
            self.on_line(line);
            if process != self.process || self.phase == Phase::Done {
                return;
            }
        }
        self.lines = lines;
    }

    pub(super) fn on_down(&mut self, process: Process, kind: DownKind) {
        if process != self.process || matches!(self.phase, Phase::Done) {
            return;
        }
        // An answer without its newline, then the end: the answer still counts.
        let rest = std::mem::take(&mut self.lines);
        if !rest.rest().is_empty() {
            self.on_line(Line::Whole(rest.rest()));
            if process != self.process || self.phase == Phase::Done {
                return;
            }
        }
        if matches!(kind, DownKind::Eof | DownKind::WriteFailed) {
            self.queue.push_back(Output::Close(process));
        }
        match self.phase {
            Phase::Probing { .. } => self.on_probe_down(kind),
            Phase::Settled { era: Era::Modern, .. } => self.restart_or_fail(kind, Opening::Resume),
            Phase::Spawning | Phase::Initializing { .. } | Phase::Settled { era: Era::Legacy, .. } => {
                let opening = if self.modern_proven { Opening::Probe } else { Opening::Initialize };
                self.restart_or_fail(kind, opening);
            }
            Phase::Idle | Phase::Confirming { .. } | Phase::Ending | Phase::Done => {}
        }
    }

    /// STDIO-08: a server that died is started again, once.
    pub(super) fn restart_or_fail(&mut self, kind: DownKind, opening: Opening) {
        if kind == DownKind::SpawnFailed || self.budget.restarts == 0 {
            if self.call.take().is_some() {
                self.event(Event::Called(false));
            }
            return self.fail(Failure::ServerGone(kind));
        }
        self.budget.restarts -= 1;
        // A process that never came up is opened as it was meant to be.
        if self.phase != Phase::Spawning {
            self.opening = opening;
        }
        self.respawn();
    }

    pub(super) fn respawn(&mut self) {
        self.spawn(Process(self.process.0 + 1), SpawnReason::Restart);
    }

    pub(super) fn spawn(&mut self, process: Process, reason: SpawnReason) {
        self.process = process;
        self.lines.clear();
        self.unanswered_probe = None;
        self.enter(match reason {
            _ if self.opening == Opening::Resume => State::Resumed,
            SpawnReason::Start => State::Starting,
            SpawnReason::Restart => State::Restarting,
        });
        if self.opening != Opening::Resume {
            self.phase = Phase::Spawning;
        }
        self.deadline = Some(self.now.plus_us(self.policy.request_timeout_us));
        self.queue.push_back(Output::Spawn(process, reason));
        if self.opening == Opening::Resume {
            self.resume();
        }
    }

    pub(super) fn known(&self, process: Process) -> Result<(), Misuse> {
        match &self.http {
            Some(_) => Err(Misuse::WrongTransport),
            None if process <= self.process => Ok(()),
            None => Err(Misuse::Unknown),
        }
    }

    /// Puts a message that was appended to `bytes` from `start` on into the queue.
    pub(super) fn send(&mut self, range: Range<usize>) {
        self.queue.push_back(Output::Write(self.process, range));
    }
}
