//! Puts a real client on trial: starts its driver, plays the server through mock processes, records, and cleans up.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use mcp_parley_trace::{Kind, Node, Recording};
use thiserror::Error;
use tokio::time::{sleep, timeout};

use crate::command::{Driver, Server};
use crate::driver::{DriverLine, UNSUPPORTED_STATUS};
use crate::log::{Bounds, Log, Stop, now};
use crate::os::signal_of;
use crate::recorder::Recorder;
use crate::serve::ServeEnd;
use crate::site::{PlaySite, SiteBounds, SiteRecord, SiteSocket, serve_site};

/// Nothing counts as stuck sooner, however short the subject's own waits are.
const MIN_STUCK: Duration = Duration::from_secs(45);
/// What a driver may take beyond the time-out that it was given: it has to start and to clean up.
const DRIVER_GRACE: Duration = Duration::from_secs(15);
/// Between SIGTERM and SIGKILL.
const TERM_GRACE: Duration = Duration::from_secs(2);
/// Mocks that outlive the driver have this long to see the end of their input.
const MOCK_GRACE: Duration = Duration::from_secs(3);
/// A client that has not started its server by then is not starting any more, but waiting.
const START_GRACE: Duration = Duration::from_secs(30);

/// One run of a client driver.
#[derive(Clone, Debug)]
pub struct DriverRun {
    /// The driver's command. `{mode}`, `{probe_timeout_ms}` and `{timeout_ms}` are replaced wherever they stand. Over stdio an
    /// argument that is `{server}` becomes the mock's command, one argument a word. Over HTTP `{url}` becomes the endpoint; a command
    /// that names it nowhere is given it as a last argument, as the official conformance suite does. Over either, `{mcp-json}`
    /// becomes the path of a file as most clients have it: `{"mcpServers":{"parley":…}}`.
    pub command: Vec<String>,
    /// Where it runs; the current folder if absent.
    pub directory: Option<PathBuf>,
    /// Variables that are set for it, besides those that this process has; see [`conformance_environment`].
    pub environment: BTreeMap<String, String>,
    /// Over stdio, how the mock is started: this program and its arguments. `--recorder ADDRESS --token TOKEN` is added.
    pub server: Vec<String>,
    /// `auto`, `legacy`, `modern` or `pin:VERSION`.
    pub mode: String,
    /// How long the SDK waits for an answer to its probe.
    pub probe_timeout: Duration,
    /// How long the driver may run by its own clock.
    pub timeout: Duration,
    /// After so long a silence the client counts as stuck: see [`stuck_after`].
    pub stuck_after: Duration,
    /// Whether the command is a driver that keeps the contract and prints its line, or any program: then its output and its
    /// exit status say nothing.
    pub prints_line: bool,
    /// What the run may produce at most.
    pub bounds: Bounds,
}

/// How long a client may do nothing before it counts as stuck: 45 s, or three times the longest wait that it declares.
pub fn stuck_after(longest_wait: Option<Duration>) -> Duration {
    MIN_STUCK.max(longest_wait.unwrap_or_default().saturating_mul(3))
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Driven {
    /// What happened, as the mocks saw it, and what the driver said at the end.
    pub recording: Recording,
    /// How it ended.
    pub end: RunEnd,
    /// The driver's line, if it printed a good one.
    pub line: Option<DriverLine>,
    /// The end of what the driver printed on standard error, at most 64 KiB.
    pub stderr: Vec<u8>,
    /// Connections to the recorder that did not show the token.
    pub strangers: u32,
    /// How long it took, in microseconds, cleaning up included.
    pub took_us: u64,
}

/// How a run ended. Only [`RunEnd::Done`] and [`RunEnd::Stuck`] are evidence for or against the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// The driver did its work.
    Done,
    /// The client wrote, closed and exited nothing for so long that it counts as stuck.
    Stuck,
    /// The driver's own watchdog ended the run before that.
    DriverTimedOut,
    /// The SDK has no such mode (exit status 89).
    Unsupported,
    /// The client never started the server, or never sent it a request.
    NeverConnected,
    /// The driver failed. Why.
    DriverFailed(String),
    /// A bound was reached. Which.
    Flood(String),
    /// The mock failed: our own fault. Why.
    MockFailed(String),
    /// The caller asked for the end.
    Cancelled,
}

impl RunEnd {
    /// True if the run was watched to its end and may be judged.
    pub fn is_complete(&self) -> bool {
        matches!(self, Self::Done | Self::Stuck)
    }
}

/// Why a run could not begin.
#[derive(Debug, Error)]
pub enum DriveError {
    /// No command.
    #[error("the client's command is empty")]
    NoCommand,
    /// The command does not say where the server's command goes.
    #[error(
        "the client's command has no argument {{server}}: put it where the command of the server belongs (or {{mcp-json}}, for the path of a file that names it)"
    )]
    NoServer,
    /// Over HTTP there is no such command.
    #[error("over HTTP there is no command for {{server}}: say {{url}} in the client's command")]
    ServerOverHttp,
    /// The file cannot be written.
    #[error("cannot write the file for {{mcp-json}}: {0}")]
    McpJson(io::Error),
    /// The recorder, or the server, cannot listen.
    #[error("cannot listen on loopback: {0}")]
    Listen(io::Error),
    /// The driver cannot be started.
    #[error("cannot start {program}: {error}; check the client's command")]
    Spawn {
        /// The program.
        program: String,
        /// Why.
        error: io::Error,
    },
}

/// Runs the driver once against mocks that play `persona` (its concrete text, handed to each mock as it is). `start` is
/// dropped as soon as the client has started its server: a permit, say, of which there are few, since to start is work
/// and what follows is mostly waiting.
///
/// Whatever happens, also when this future is dropped, nothing of the run is left: the driver's process group is killed, and
/// mocks end with their connection to this process, wherever the SDK has put them. If this very process is killed, the
/// mocks end at once; the driver sees its standard input close, loses its servers, and ends by its own watchdog.
///
/// # Errors
/// When the run cannot begin. What goes wrong later is a [`RunEnd`].
pub async fn drive(
    run: &DriverRun,
    persona: String,
    start: impl Sized,
    cancel: impl Future<Output = ()>,
) -> Result<Driven, DriveError> {
    let log = Arc::new(Log::new(run.bounds));
    let recorder = Recorder::listen(persona, Arc::clone(&log)).await.map_err(DriveError::Listen)?;
    let (address, token) = (recorder.address().to_string(), recorder.token().to_owned());
    let link = ["--recorder".to_owned(), address, "--token".to_owned(), token];
    let server = Server::Stdio(run.server.iter().cloned().chain(link).collect());
    let mut driver = Driver::start(run, &server)?;
    let ended = attend(run, &log, &mut driver, start, cancel, std::future::pending()).await;
    // Mocks first: those in the driver's group shall see the end of their input and not our signal.
    recorder.close(MOCK_GRACE).await;
    Ok(finish(run, &log, driver, ended).await)
}

/// Runs the driver once against a site that `player` plays, which is hosted here: on a loopback port of its own, under a path that
/// nobody can guess. Requests to other paths are recorded as events of nobody who is judged. As with [`drive`], nothing is left of
/// the run.
///
/// # Errors
/// When the run cannot begin. What goes wrong later is a [`RunEnd`].
pub async fn drive_http(
    run: &DriverRun,
    player: impl PlaySite,
    start: impl Sized,
    cancel: impl Future<Output = ()>,
) -> Result<Driven, DriveError> {
    let log = Arc::new(Log::new(run.bounds));
    let mut socket = SiteSocket::bind(0, None, SiteBounds::default()).map_err(DriveError::Listen)?;
    let (server, mut open) = (Server::Http(socket.url()), socket.connections());
    let mut host = pin!(host(player, &mut socket, &log));
    let mut driver = Driver::start(run, &server)?;
    let ended = attend(run, &log, &mut driver, start, cancel, host.as_mut()).await;
    tokio::select! {
        never = host => match never {},
        // The client's connections close with it, which is the last that it does.
        _ = timeout(MOCK_GRACE, open.wait_for(|open| *open == 0)) => {}
    }
    Ok(finish(run, &log, driver, ended).await)
}

/// Serves the site. When it has ended the run goes on: the client finds nobody there.
async fn host(player: impl PlaySite, socket: &mut SiteSocket, log: &Arc<Log>) -> Infallible {
    let record = SiteRecord::log(Arc::clone(log));
    if let ServeEnd::Failed(why) = serve_site(player, socket, record, std::future::pending()).await {
        log.stop(Stop::MockFailed(why));
    }
    std::future::pending().await
}

/// What the official conformance suite sets for the clients that it starts, for those that were written for it: the scenario by which
/// they know what to do, and the version by which they know the era. In mode `auto` no version is set.
pub fn conformance_environment(scenario: &str, mode: &str) -> BTreeMap<String, String> {
    let version = match mode {
        "legacy" => Some("2025-11-25"),
        "modern" => Some("2026-07-28"),
        mode => mode.strip_prefix("pin:"),
    };
    let version = version.map(|version| ("MCP_CONFORMANCE_PROTOCOL_VERSION".to_owned(), version.to_owned()));
    let scenario = ("MCP_CONFORMANCE_SCENARIO".to_owned(), scenario.to_owned());
    [scenario].into_iter().chain(version).collect()
}

async fn attend(
    run: &DriverRun,
    log: &Log,
    driver: &mut Driver,
    start: impl Sized,
    cancel: impl Future<Output = ()>,
    host: impl Future<Output = Infallible>,
) -> Ended {
    tokio::select! {
        biased;
        never = let_others_start(log, start) => match never {},
        never = host => match never {},
        ended = watch(run, log, driver, cancel) => ended,
    }
}

async fn finish(run: &DriverRun, log: &Log, mut driver: Driver, ended: Ended) -> Driven {
    driver.group.kill();
    let _ = timeout(TERM_GRACE, driver.child.wait()).await;
    driver.group.finish();
    let _ = timeout(TERM_GRACE, async {
        driver.stdout.ended().await;
        driver.stderr.ended().await;
    })
    .await;
    conclude(run, log, &driver, ended)
}

async fn let_others_start(log: &Log, start: impl Sized) -> Infallible {
    let _ = timeout(START_GRACE, log.met()).await;
    drop(start);
    std::future::pending().await
}

/// What ended the watching.
enum Ended {
    Exited(io::Result<ExitStatus>),
    Silent,
    OutOfTime,
    Stopped(Stop),
    Cancelled,
}

async fn watch(run: &DriverRun, log: &Log, driver: &mut Driver, cancel: impl Future<Output = ()>) -> Ended {
    let ended = tokio::select! {
        status = driver.child.wait() => return Ended::Exited(status),
        stop = log.stopped() => Ended::Stopped(stop),
        () = silence(log, run.stuck_after) => {
            if log.is_met() {
                log.conclude(Node::Harness, Kind::Stuck, b"the client to write, to close or to end");
            }
            Ended::Silent
        }
        () = sleep(run.timeout.saturating_add(DRIVER_GRACE)) => Ended::OutOfTime,
        () = cancel => Ended::Cancelled,
    };
    driver.group.terminate();
    if timeout(TERM_GRACE, driver.child.wait()).await.is_err() {
        driver.group.kill();
    }
    ended
}

/// Resolves when nobody has done anything for this long.
async fn silence(log: &Log, limit: Duration) {
    loop {
        let Some(due) = log.last_act().checked_add(limit) else { return std::future::pending().await };
        if due <= now() {
            return;
        }
        tokio::time::sleep_until(due.into()).await;
    }
}

fn conclude(run: &DriverRun, log: &Log, driver: &Driver, ended: Ended) -> Driven {
    let output = driver.stdout.bytes();
    let (end, line) = match ended {
        // What stopped the run says more than how the driver took it.
        _ if log.stop_reason().is_some() => (stopped(log.stop_reason()), None),
        Ended::Stopped(stop) => (stopped(Some(stop)), None),
        Ended::Exited(status) => exited(run, &status, &output),
        Ended::Silent if !log.is_met() => (RunEnd::NeverConnected, None),
        Ended::Silent => (RunEnd::Stuck, None),
        Ended::OutOfTime => {
            let limit = run.timeout.saturating_add(DRIVER_GRACE).as_secs();
            (
                RunEnd::DriverFailed(format!(
                    "it was still running after {limit} s, beyond its own time-out"
                )),
                None,
            )
        }
        Ended::Cancelled => (RunEnd::Cancelled, None),
    };
    if let Some(line) = &line {
        report(log, line);
    }
    let end =
        if end == RunEnd::Done && !log.is_met() && !run.prints_line { RunEnd::NeverConnected } else { end };
    log.conclude(Node::Harness, Kind::End(end.is_complete()), b"");
    Driven {
        end,
        line,
        stderr: driver.stderr.bytes(),
        strangers: log.strangers(),
        took_us: log.elapsed_us(),
        recording: log.take(),
    }
}

fn stopped(stop: Option<Stop>) -> RunEnd {
    match stop {
        Some(Stop::Flood(why)) => RunEnd::Flood(why),
        Some(Stop::MockFailed(why)) => RunEnd::MockFailed(why),
        None => RunEnd::Cancelled,
    }
}

fn exited(run: &DriverRun, status: &io::Result<ExitStatus>, output: &[u8]) -> (RunEnd, Option<DriverLine>) {
    let status = match status {
        Ok(_) if !run.prints_line => return (RunEnd::Done, None),
        Ok(status) => *status,
        Err(error) => {
            return (RunEnd::DriverFailed(format!("its exit status cannot be read: {error}")), None);
        }
    };
    match (status.code(), signal_of(status)) {
        (Some(0), _) => match DriverLine::parse(output) {
            Ok(line) if line.timed_out() => (RunEnd::DriverTimedOut, Some(line)),
            Ok(line) => (RunEnd::Done, Some(line)),
            Err(why) => (RunEnd::DriverFailed(why), None),
        },
        (Some(UNSUPPORTED_STATUS), _) => (RunEnd::Unsupported, None),
        (Some(code), _) => (RunEnd::DriverFailed(format!("it exited with code {code}")), None),
        (None, Some(signal)) => (RunEnd::DriverFailed(format!("it was ended by signal {signal}")), None),
        (None, None) => (RunEnd::DriverFailed(format!("it ended with {status}")), None),
    }
}

/// What the client says of itself, as events. It says so at its end, so they stand there.
fn report(log: &Log, line: &DriverLine) {
    let version = line.protocol_version.clone().unwrap_or_default();
    if line.connected {
        if let Some(era) = line.era {
            log.conclude(Node::Client, Kind::Settled(era), version.as_bytes());
        }
        log.conclude(Node::Client, Kind::Called(line.tools.is_some()), b"");
    } else if let Some(error) = line.error.as_ref().filter(|_| !line.timed_out()) {
        log.conclude(Node::Client, Kind::Failed, error.message.as_bytes());
    }
}
