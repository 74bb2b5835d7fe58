//! The one recording of a run, shared by the connections of its mock processes. It stamps, orders, and holds the bounds.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use mcp_parley_trace::{Channel, Kind, Node, Recording};
use tokio::sync::Notify;

/// What a run may produce at most. What goes beyond ends the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of all chunks together.
    pub data_bytes: usize,
    /// Events.
    pub events: usize,
    /// Processes of the server.
    pub processes: u32,
}

impl Default for Bounds {
    /// 16 MiB, 100 000 events, 64 processes.
    fn default() -> Self {
        Self { data_bytes: 16 << 20, events: 100_000, processes: 64 }
    }
}

/// Why a run had to be stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// A bound was reached.
    Flood(String),
    /// A mock failed by itself.
    MockFailed(String),
}

/// The recording and what the supervisor watches.
#[derive(Debug)]
pub(crate) struct Log {
    inner: Mutex<Inner>,
    started: Instant,
    bounds: Bounds,
    stopped: Notify,
    met: Notify,
}

#[derive(Debug)]
struct Inner {
    recording: Recording,
    processes: u32,
    /// The client has started a server, or sent it a request.
    is_met: bool,
    strangers: u32,
    stop: Option<Stop>,
    /// When the subject or its counterpart last did something.
    last_act: Instant,
}

pub(crate) fn now() -> Instant {
    Instant::now()
}

impl Log {
    pub(crate) fn new(bounds: Bounds) -> Self {
        let started = now();
        let inner = Inner {
            recording: Recording::new(),
            processes: 0,
            is_met: false,
            strangers: 0,
            stop: None,
            last_act: started,
        };
        Self { inner: Mutex::new(inner), started, bounds, stopped: Notify::new(), met: Notify::new() }
    }

    /// Adds an event with the time of now. `None`, and the run is stopped, when a bound is reached.
    pub(crate) fn push(
        &self,
        node: Node,
        channel: Channel,
        kind: Kind,
        cause: Option<u32>,
        bytes: &[u8],
    ) -> Option<u32> {
        let mut inner = self.lock();
        if inner.stop.is_some() {
            return None;
        }
        let recording = &inner.recording;
        let flood = if recording.len_bytes() + bytes.len() > self.bounds.data_bytes {
            Some(format!("more than {} bytes were exchanged", self.bounds.data_bytes))
        } else if recording.events().len() >= self.bounds.events {
            Some(format!("more than {} events", self.bounds.events))
        } else {
            None
        };
        if let Some(why) = flood {
            self.stop_locked(&mut inner, Stop::Flood(why));
            return None;
        }
        let now = now();
        inner.last_act = now;
        Some(self.append(&mut inner, now, node, channel, kind, cause, bytes))
    }

    /// Adds what the supervisor itself has to say at the end: bounds do not hold it back.
    pub(crate) fn conclude(&self, node: Node, kind: Kind, bytes: &[u8]) {
        let mut inner = self.lock();
        self.append(&mut inner, now(), node, Channel::None, kind, None, bytes);
    }

    /// The same of a channel.
    pub(crate) fn conclude_on(&self, node: Node, channel: Channel, kind: Kind) {
        let mut inner = self.lock();
        self.append(&mut inner, now(), node, channel, kind, None, b"");
    }

    #[expect(clippy::too_many_arguments, reason = "an event has that many parts")]
    fn append(
        &self,
        inner: &mut Inner,
        at: Instant,
        node: Node,
        channel: Channel,
        kind: Kind,
        cause: Option<u32>,
        bytes: &[u8],
    ) -> u32 {
        let t_us = u64::try_from(at.duration_since(self.started).as_micros()).unwrap_or(u64::MAX);
        let cause = cause.filter(|cause| inner.recording.get(*cause).is_some());
        inner.recording.push(t_us, node, channel, kind, cause, bytes)
    }

    /// Gives a new process its number and records that it runs.
    pub(crate) fn admit(&self) -> Option<u32> {
        let process = {
            let mut inner = self.lock();
            if inner.processes >= self.bounds.processes {
                let why = format!("more than {} processes were started", self.bounds.processes);
                self.stop_locked(&mut inner, Stop::Flood(why));
                return None;
            }
            inner.processes += 1;
            inner.processes - 1
        };
        self.push(Node::Server, Channel::Process(process), Kind::Up, None, b"").map(|_| process)
    }

    pub(crate) fn stranger(&self) {
        self.lock().strangers += 1;
    }

    pub(crate) fn strangers(&self) -> u32 {
        self.lock().strangers
    }

    /// The client has met its server.
    pub(crate) fn meet(&self) {
        self.lock().is_met = true;
        self.met.notify_one();
    }

    pub(crate) fn is_met(&self) -> bool {
        self.lock().is_met
    }

    /// Resolves when the client has met its server.
    pub(crate) async fn met(&self) {
        while !self.is_met() {
            self.met.notified().await;
        }
    }

    pub(crate) fn stop(&self, stop: Stop) {
        let mut inner = self.lock();
        self.stop_locked(&mut inner, stop);
    }

    fn stop_locked(&self, inner: &mut Inner, stop: Stop) {
        inner.stop.get_or_insert(stop);
        self.stopped.notify_one();
    }

    /// Resolves when the run must stop.
    pub(crate) async fn stopped(&self) -> Stop {
        loop {
            if let Some(stop) = self.stop_reason() {
                return stop;
            }
            self.stopped.notified().await;
        }
    }

    pub(crate) fn stop_reason(&self) -> Option<Stop> {
        self.lock().stop.clone()
    }

    pub(crate) fn last_act(&self) -> Instant {
        self.lock().last_act
    }

    pub(crate) fn elapsed_us(&self) -> u64 {
        u64::try_from(now().duration_since(self.started).as_micros()).unwrap_or(u64::MAX)
    }

    pub(crate) fn take(&self) -> Recording {
        std::mem::take(&mut self.lock().recording)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing in here can leave it half changed.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
