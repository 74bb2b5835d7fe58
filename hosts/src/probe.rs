//! One polite negotiation with a real server over stdio: the client's machine with real pipes and real time.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::client::{
    ClientPolicy, DownKind, Event, Failure, Input, Misuse, Negotiator, Output, Process,
};
use mcp_parley_negotiation::version::{Era, ProtocolVersion};
use mcp_parley_trace::{Channel, Kind, Node, Recording};
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::log::{Bounds, Log, Stop};
use crate::os::signal_of;
use crate::server::{Notice, Server};

const NOTICES: usize = 16;
/// A killed process is gone at once; this bounds the wait for one in the middle of a system call.
const KILL_GRACE: Duration = Duration::from_secs(2);
const STDERR_BYTES: usize = 64 << 10;

/// One probe.
#[derive(Clone, Debug)]
pub struct ProbeRun {
    /// The server's command.
    pub command: Vec<String>,
    /// Where it runs; the current folder if absent.
    pub directory: Option<PathBuf>,
    /// How the client behaves.
    pub policy: Arc<ClientPolicy>,
    /// An ordinary request after settling, as the proof that the two understand each other: a method without parameters.
    pub call: Option<String>,
    /// How long everything may take, closing included.
    pub timeout: Duration,
    /// What the server may produce at most.
    pub bounds: Bounds,
}

impl ProbeRun {
    /// The reference client, `tools/list` after settling, at most a minute.
    pub fn new(command: Vec<String>) -> Self {
        Self {
            command,
            directory: None,
            policy: Arc::new(ClientPolicy::default()),
            call: Some("tools/list".into()),
            timeout: Duration::from_secs(60),
            bounds: Bounds::default(),
        }
    }
}

/// What came of a probe.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeReport {
    /// What happened, as the client saw it.
    pub recording: Recording,
    /// How it ended.
    pub end: ProbeEnd,
    /// What the client settled on, if it did, also if the call after that went wrong.
    pub settled: Option<(Era, ProtocolVersion)>,
    /// Whether the call after settling was answered well; `None` if none was made.
    pub called: Option<bool>,
    /// Everything the client had to say, in order.
    pub events: Vec<Event>,
    /// Why the last process could not be started, if it could not.
    pub spawn_error: Option<String>,
    /// Over HTTP: what is known of why the last exchange that broke did so.
    pub trouble: Option<String>,
    /// The end of what the servers printed on standard error, at most 64 KiB.
    pub stderr: Vec<u8>,
    /// How long it took, in microseconds, closing included.
    pub took_us: u64,
}

/// How a probe ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeEnd {
    /// The client settled, made its call and closed.
    Settled,
    /// The client gave up.
    Failed(Failure),
    /// A bound was reached. Which.
    Flood(String),
    /// The time for everything was over.
    OutOfTime,
    /// The caller asked for the end.
    Cancelled,
}

/// Why a probe could not be done.
#[derive(Debug, Error)]
pub enum ProbeError {
    /// No command.
    #[error("the server's command is empty")]
    NoCommand,
    /// The client's machine refused an input: our own fault.
    #[error("internal error: the client's machine refused an input: {0}")]
    Misuse(#[from] Misuse),
}

/// Negotiates once with the server that the command starts, makes one call, and closes politely (STDIO-10: end of input,
/// 2 s, SIGTERM, 2 s, SIGKILL). Nothing of the server's process group is left, also when this future is dropped.
///
/// # Errors
/// When there is no command, or for our own fault. All that the server does wrong is in the report.
pub async fn probe(run: &ProbeRun, cancel: impl Future<Output = ()>) -> Result<ProbeReport, ProbeError> {
    if run.command.is_empty() {
        return Err(ProbeError::NoCommand);
    }
    let (sender, mut notices) = mpsc::channel(NOTICES);
    let mut host = Host::new(run, sender);
    let deadline = sleep(run.timeout);
    tokio::pin!(deadline, cancel);
    host.input(None, Input::Start)?;
    let end = loop {
        if let Some(Stop::Flood(why) | Stop::MockFailed(why)) = host.log.stop_reason() {
            break ProbeEnd::Flood(why);
        }
        if host.machine.is_done() && host.running.is_empty() {
            break host.told.end();
        }
        tokio::select! {
            Some((process, notice)) = notices.recv() => host.on_notice(process, notice).await?,
            () = wake(host.wake_at()) => host.input(None, Input::Timeout)?,
            () = &mut deadline => break ProbeEnd::OutOfTime,
            () = &mut cancel => break ProbeEnd::Cancelled,
        }
    };
    host.kill_all(&mut notices).await;
    Ok(host.report(end))
}

pub(crate) async fn wake(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// The machine between real processes.
struct Host<'a> {
    run: &'a ProbeRun,
    log: Log,
    started: Instant,
    machine: Negotiator,
    notices: mpsc::Sender<(u32, Notice)>,
    running: BTreeMap<u32, Server>,
    wake_at: Option<Time>,
    buffer: Vec<u8>,
    told: Told,
    spawn_error: Option<String>,
    stderr: Vec<u8>,
}

/// What the host itself has to tell the machine, once it has drained what the machine said.
enum Next {
    Up(Process),
    SpawnFailed(Process),
    Call,
    Shutdown,
}

impl<'a> Host<'a> {
    fn new(run: &'a ProbeRun, notices: mpsc::Sender<(u32, Notice)>) -> Self {
        Self {
            run,
            log: Log::new(run.bounds),
            started: Instant::now(),
            machine: Negotiator::new(Arc::clone(&run.policy)),
            notices,
            running: BTreeMap::new(),
            wake_at: None,
            buffer: Vec::new(),
            told: Told::default(),
            spawn_error: None,
            stderr: Vec::new(),
        }
    }

    fn wake_at(&self) -> Option<Instant> {
        // One more microsecond, since the machine ignores what comes too early.
        self.wake_at.and_then(|at| self.started.checked_add(Duration::from_micros(at.0.saturating_add(1))))
    }

    /// Gives the machine an input and does what it says. What it does is caused by the event `cause`.
    fn input(&mut self, cause: Option<u32>, input: Input<'_>) -> Result<(), Misuse> {
        self.machine.handle_input(self.now(), input)?;
        let mut next = VecDeque::new();
        self.drain(cause, &mut next);
        while let Some(input) = next.pop_front() {
            let input = match &input {
                Next::Up(process) => Input::Up(*process),
                Next::SpawnFailed(process) => Input::Down(*process, DownKind::SpawnFailed),
                Next::Call => Input::Call(self.run.call.as_deref().unwrap_or_default(), b""),
                Next::Shutdown => Input::Shutdown,
            };
            self.machine.handle_input(self.now(), input)?;
            self.drain(cause, &mut next);
        }
        Ok(())
    }

    fn now(&self) -> Time {
        Time(u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX))
    }

    fn drain(&mut self, cause: Option<u32>, next: &mut VecDeque<Next>) {
        self.buffer.clear();
        let mut buffer = std::mem::take(&mut self.buffer);
        while let Some(output) = self.machine.poll_output(&mut buffer) {
            match output {
                Output::Write(process, range) => {
                    let bytes = buffer.get(range).unwrap_or_default().to_vec();
                    self.push(process, Kind::Write, cause, &bytes);
                    if let Some(server) = self.running.get(&process.0) {
                        server.write(bytes);
                    }
                }
                Output::Spawn(process, _) => next.push_back(self.spawn(process, cause)),
                Output::Close(process) => self.close(process, cause),
                Output::Event(event) => next.extend(self.on_event(event, cause)),
                Output::WakeAt(at) => self.wake_at = at,
                // The machine was started on stdio.
                Output::Http(..) | Output::Abort(_) => {}
            }
        }
        self.buffer = buffer;
        if self.machine.is_done() {
            // Also those that the machine has left behind.
            let left: Vec<u32> = self.running.keys().copied().collect();
            left.into_iter().for_each(|number| self.close(Process(number), cause));
        }
    }

    fn close(&mut self, process: Process, cause: Option<u32>) {
        if self.running.get_mut(&process.0).is_some_and(Server::close) {
            self.push(process, Kind::Close, cause, b"");
        }
    }

    fn push(&self, process: Process, kind: Kind, cause: Option<u32>, bytes: &[u8]) -> Option<u32> {
        self.log.push(Node::Client, Channel::Process(process.0), kind, cause, bytes)
    }

    fn spawn(&mut self, process: Process, cause: Option<u32>) -> Next {
        let seq = self.push(process, Kind::Spawn, cause, b"");
        match Server::start(&self.run.command, self.run.directory.as_deref(), process.0, &self.notices) {
            Ok(server) => {
                self.running.insert(process.0, server);
                self.log.push(Node::Server, Channel::Process(process.0), Kind::Up, seq, b"");
                Next::Up(process)
            }
            Err(error) => {
                let why = error.to_string();
                self.push(process, Kind::SpawnFailed, seq, why.as_bytes());
                self.spawn_error = Some(why);
                Next::SpawnFailed(process)
            }
        }
    }

    fn on_event(&mut self, event: Event, cause: Option<u32>) -> Option<Next> {
        Some(match self.told.hear(&self.log, event, cause)? {
            Wish::Call if self.run.call.is_some() => Next::Call,
            Wish::Call | Wish::Shutdown => Next::Shutdown,
        })
    }

    async fn on_notice(&mut self, process: u32, notice: Notice) -> Result<(), Misuse> {
        let process = Process(process);
        match notice {
            Notice::Read(bytes) => match self.push(process, Kind::Read, None, &bytes) {
                Some(seq) => self.input(Some(seq), Input::Bytes(process, &bytes)),
                // A bound was reached.
                None => Ok(()),
            },
            Notice::Eof => {
                let seq = self.push(process, Kind::Eof, None, b"");
                self.input(seq, Input::Down(process, DownKind::Eof))
            }
            Notice::WriteFailed => {
                self.push(process, Kind::WriteFailed, None, b"");
                Ok(())
            }
            Notice::Deaf if self.running.contains_key(&process.0) => {
                self.input(None, Input::Down(process, DownKind::WriteFailed))
            }
            Notice::Deaf => Ok(()),
            Notice::Ended { status, eof } => {
                if eof {
                    self.push(process, Kind::Eof, None, b"");
                }
                let signal = status.as_ref().ok().and_then(|status| signal_of(*status));
                let code = status.as_ref().ok().and_then(std::process::ExitStatus::code);
                let (kind, down) = match signal {
                    Some(signal) => (Kind::Signal(signal), DownKind::Signalled),
                    None => (Kind::Exit(code.unwrap_or(-1)), DownKind::Exited),
                };
                let seq = self.log.push(Node::Server, Channel::Process(process.0), kind, None, b"");
                self.forget(process.0).await;
                self.input(seq, Input::Down(process, down))
            }
        }
    }

    async fn forget(&mut self, process: u32) {
        if let Some(mut server) = self.running.remove(&process) {
            self.stderr.append(&mut server.finish().await);
            let surplus = self.stderr.len().saturating_sub(STDERR_BYTES);
            self.stderr.drain(..surplus);
        }
    }

    /// After a normal end nothing runs any more.
    async fn kill_all(&mut self, notices: &mut mpsc::Receiver<(u32, Notice)>) {
        self.running.values().for_each(Server::kill);
        let gone = async {
            while !self.running.is_empty() {
                let Some((process, notice)) = notices.recv().await else { return };
                if matches!(notice, Notice::Ended { .. }) {
                    self.forget(process).await;
                }
            }
        };
        let _ = timeout(KILL_GRACE, gone).await;
    }

    fn report(self, end: ProbeEnd) -> ProbeReport {
        let report = self.told.report(&self.log, end);
        ProbeReport { spawn_error: self.spawn_error, stderr: self.stderr, ..report }
    }
}

/// What the machine has told, whatever the transport.
#[derive(Debug, Default)]
pub(crate) struct Told {
    events: Vec<Event>,
    failure: Option<Failure>,
    settled: Option<(Era, ProtocolVersion)>,
    called: Option<bool>,
}

/// What follows from what it told.
pub(crate) enum Wish {
    /// The call after settling is due.
    Call,
    /// All is done.
    Shutdown,
}

impl Told {
    pub(crate) fn hear(&mut self, log: &Log, event: Event, cause: Option<u32>) -> Option<Wish> {
        let say = |kind, text: String| {
            log.push(Node::Client, Channel::None, kind, cause, text.as_bytes());
        };
        let mut wish = None;
        match &event {
            Event::Settled(era, version) => {
                say(Kind::Settled(trace_era(*era)), version.to_string());
                wish = self.settled.is_none().then_some(Wish::Call);
                self.settled = Some((*era, version.clone()));
            }
            Event::Failed(failure) => {
                say(Kind::Failed, failure.to_string());
                self.failure = Some(failure.clone());
            }
            Event::Downgraded(evidence) => say(Kind::Downgraded, evidence.to_string()),
            Event::Called(ok) => {
                say(Kind::Called(*ok), String::new());
                self.called = Some(*ok);
                wish = Some(Wish::Shutdown);
            }
            Event::EraLearned(_) | Event::Ignored => {}
        }
        self.events.push(event);
        wish
    }

    /// How a machine that is done has ended.
    pub(crate) fn end(&mut self) -> ProbeEnd {
        self.failure.take().map_or(ProbeEnd::Settled, ProbeEnd::Failed)
    }

    pub(crate) fn report(self, log: &Log, end: ProbeEnd) -> ProbeReport {
        let complete = matches!(end, ProbeEnd::Settled | ProbeEnd::Failed(_));
        log.conclude(Node::Harness, Kind::End(complete), b"");
        ProbeReport {
            recording: log.take(),
            end,
            settled: self.settled,
            called: self.called,
            events: self.events,
            spawn_error: None,
            trouble: None,
            stderr: Vec::new(),
            took_us: log.elapsed_us(),
        }
    }
}

fn trace_era(era: Era) -> mcp_parley_trace::Era {
    match era {
        Era::Legacy => mcp_parley_trace::Era::Legacy,
        Era::Modern => mcp_parley_trace::Era::Modern,
    }
}
