//! One odd client meets one real server: over pipes, or over HTTP on a port of its own. The client's side is recorded.

use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use mcp_parley_mock_clients::Opening;
use mcp_parley_negotiation::client::Misuse;
use mcp_parley_trace::Recording;
use thiserror::Error;

use self::host::Host;
use self::start::StartError;
use crate::exchange::EndpointError;
use crate::guard::Guard;
use crate::log::Bounds;

mod host;
mod posting;
mod start;

/// One meeting.
#[derive(Clone, Debug)]
pub struct Meeting {
    /// What the client does.
    pub opening: Arc<Opening>,
    /// The server.
    pub server: Reach,
    /// Where it runs; the current folder if absent.
    pub directory: Option<PathBuf>,
    /// A server that does nothing for so long while a good request waits counts as stuck: see [`crate::stuck_after`].
    pub stuck_after: Duration,
    /// How long everything may take.
    pub timeout: Duration,
    /// What the server may produce at most.
    pub bounds: Bounds,
    /// What ends the server if this process is killed.
    pub guard: Option<Guard>,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The command that starts it.
    Stdio(Vec<String>),
    /// The URL at which it is, and the command that starts it; `{port}` in either becomes a free port.
    Http {
        /// Without one the server is there already, and is left alone.
        command: Option<Vec<String>>,
        /// Where it then is.
        url: String,
    },
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Met {
    /// What happened, as the client saw it.
    pub recording: Recording,
    /// How it ended.
    pub end: MeetEnd,
    /// The end of what the server printed on standard error, at most 64 KiB.
    pub stderr: Vec<u8>,
    /// How long it took, in microseconds, closing included.
    pub took_us: u64,
}

/// How a meeting ended. Only [`MeetEnd::Done`] and [`MeetEnd::Stuck`] are evidence for or against the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeetEnd {
    /// The client has done all that it wanted, or the server is gone.
    Done,
    /// The server left a good request without an answer, and did nothing else.
    Stuck,
    /// The server could not be started, or never listened. Why.
    NotStarted(String),
    /// A bound was reached. Which.
    Flood(String),
    /// The time for everything was over.
    OutOfTime,
    /// The caller asked for the end.
    Cancelled,
}

/// Why a meeting could not be held.
#[derive(Debug, Error)]
pub enum MeetError {
    /// The URL.
    #[error("{0}: {1}")]
    Url(String, EndpointError),
    /// The player refused an input: our own fault.
    #[error("internal error: the odd client refused an input: {0}")]
    Misuse(#[from] Misuse),
}

/// Plays the opening against the server and ends it politely: over stdio as STDIO-10 says, over HTTP by SIGTERM. Nothing of the
/// server's process group is left, also when this future is dropped. `start` is dropped when the server runs.
///
/// # Errors
/// For a bad URL, or for our own fault. All that the server does wrong is in the recording.
pub async fn meet(
    run: &Meeting,
    start_permit: impl Sized,
    cancel: impl Future<Output = ()>,
) -> Result<Met, MeetError> {
    let mut host = Host::new(run);
    let mut cancel = pin!(cancel);
    let started = tokio::select! {
        started = host.start() => started,
        () = &mut cancel => Err(StartError::Failed("stopped".into())),
    };
    drop(start_permit);
    let end = match started {
        Ok(()) => host.play(cancel).await?,
        Err(StartError::Url(url, error)) => return Err(MeetError::Url(url, error)),
        Err(StartError::Failed(why)) => MeetEnd::NotStarted(why),
    };
    host.end(&end).await;
    Ok(host.report(end))
}
