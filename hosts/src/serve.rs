//! A mock server on real pipes: bytes and time go in, what comes out is done and recorded. No decision is made here.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::ops::Range;
use std::time::Duration;

use mcp_parley_negotiation::Time;
use mcp_parley_trace::Kind;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::{Instant, sleep_until, timeout};

use crate::frames::MAX_EVENT_BYTES;
use crate::os::{StandardOutput, asked_to_end, end_by_signal};
use crate::record::{Record, RecordError};

/// Exit code of a mock whose recorder is gone.
pub const LOST_RECORDER_EXIT: i32 = 71;
/// Exit code for our own failure.
const INTERNAL_EXIT: i32 = 70;
/// Exit code of a mock whose trace could not be written to its end.
const UNRECORDED_EXIT: i32 = 3;
const CHUNK_BYTES: usize = 64 << 10;
/// The player is asked for no more while more than this waits for a client that does not read.
const MAX_PENDING_BYTES: usize = 16 << 20;
const ACT_BYTES: usize = 128;
/// A client that closes the input and sends a signal at once does two things, and which of them arrives first is chance. So the
/// end of the input is acted on only after this long without a signal, longer than what counts as no wait at all.
const LINGER: Duration = Duration::from_millis(150);
/// A client that does not read the standard error holds the process up for this long.
const STDERR_PATIENCE: Duration = Duration::from_secs(1);
/// After a signal, the input has this long to end.
const DRAIN: Duration = Duration::from_millis(200);

/// A server without input or output of its own, driven like the machines of the negotiation crate: an input with the time,
/// then outputs until there are no more.
pub trait Play {
    /// Takes what happened. The error is a sentence, and means that the player itself has failed.
    ///
    /// # Errors
    /// When the player can no longer play its part.
    fn handle_input(&mut self, now: Time, input: PlayInput<'_>) -> Result<(), String>;

    /// The next thing to do. Bytes are appended to `buf`, ranges are of `buf`.
    fn poll_output(&mut self, buf: &mut Vec<u8>) -> Option<PlayOutput>;
}

/// What a player is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlayInput<'a> {
    /// The process runs.
    Start,
    /// Bytes came.
    Bytes(&'a [u8]),
    /// The client closed the standard input.
    Eof,
    /// The time asked for has come.
    Timeout,
}

/// What a player does, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlayOutput {
    /// It writes these bytes in one piece.
    Write(Range<usize>),
    /// It writes these bytes on its standard error.
    Stderr(Range<usize>),
    /// It closes its standard output.
    Close,
    /// It exits.
    Exit(i32),
    /// It is ended by this signal.
    Signal(i32),
    /// It wants to be woken at this time, or not at all; replaces the time before.
    WakeAt(Option<Time>),
}

/// How a hosted server ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "the process must end in this way: see ServeEnd::leave"]
pub enum ServeEnd {
    /// The player exits with this code.
    Exited(i32),
    /// The player is ended by this signal.
    Signalled(i32),
    /// Somebody asked this process to end, by this signal.
    Stopped(i32),
    /// The recorder is gone: the run is over.
    Lost,
    /// The own trace is full, or its file refuses. Why.
    Unrecorded(String),
    /// The player failed: our own fault. Why.
    Failed(String),
}

impl ServeEnd {
    /// The exit code: 70 for our own failure, 3 for a trace that ends too early, 71 when the recorder is gone, 128 and the
    /// signal's number for signals.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Exited(code) => *code,
            Self::Signalled(signal) | Self::Stopped(signal) => 128 + signal,
            Self::Lost => LOST_RECORDER_EXIT,
            Self::Unrecorded(_) => UNRECORDED_EXIT,
            Self::Failed(_) => INTERNAL_EXIT,
        }
    }

    /// Ends this process in this way, at once: a thread that waits for standard input must not hold it up.
    pub fn leave(&self) -> ! {
        if let Self::Signalled(signal) = self {
            end_by_signal(*signal);
        }
        std::process::exit(self.exit_code())
    }
}

/// [`serve`] on this process's standard streams, until SIGHUP, SIGINT or SIGTERM at the latest. Call [`ServeEnd::leave`] with
/// what it returns.
pub async fn serve_stdio(player: impl Play, record: Record) -> ServeEnd {
    match StandardOutput::take() {
        Ok(output) => serve(player, record, tokio::io::stdin(), output, asked_to_end()).await,
        Err(error) => ServeEnd::Failed(format!("cannot use the standard output: {error}")),
    }
}

/// Plays one server process. Everything it does is recorded before it is done, and everything it reads before it is acted
/// on. `stop` resolves to the number of the signal that asks this process to end.
pub async fn serve(
    player: impl Play,
    record: Record,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
    stop: impl Future<Output = i32>,
) -> ServeEnd {
    let mut stage = Stage {
        player,
        record,
        output: Some(output),
        started: Instant::now(),
        wake_at: None,
        pending: VecDeque::new(),
        pending_bytes: 0,
        buffer: Vec::new(),
        cause: None,
        is_heard_out: true,
    };
    let end = match stage.run(input, stop).await {
        Ok(end) => end,
        Err(Trouble::Record(RecordError::Lost)) => ServeEnd::Lost,
        Err(Trouble::Record(error)) => ServeEnd::Unrecorded(error.to_string()),
        Err(Trouble::Player(why)) => {
            stage.record.broken(&why).await;
            ServeEnd::Failed(why)
        }
    };
    let complete = matches!(end, ServeEnd::Exited(_) | ServeEnd::Signalled(_) | ServeEnd::Stopped(_));
    match (stage.record.finish(complete), &end) {
        (Err(error), _) if complete => ServeEnd::Unrecorded(error.to_string()),
        _ => end,
    }
}

enum Trouble {
    Player(String),
    Record(RecordError),
}

impl From<RecordError> for Trouble {
    fn from(error: RecordError) -> Self {
        Self::Record(error)
    }
}

/// What is still to be done, in order.
enum Act {
    Write { bytes: Vec<u8>, written: usize, cause: Option<u32>, is_recorded: bool },
    Stderr(Vec<u8>, Option<u32>),
    Close(Option<u32>),
    Exit(i32, Option<u32>),
    Signal(i32, Option<u32>),
}

struct Stage<P, W> {
    player: P,
    record: Record,
    output: Option<W>,
    started: Instant,
    wake_at: Option<Time>,
    pending: VecDeque<Act>,
    pending_bytes: usize,
    buffer: Vec<u8>,
    /// The event that the player was told of last, and whether it has said all that it does about it.
    cause: Option<u32>,
    is_heard_out: bool,
}

impl<P: Play, W: AsyncWrite + Unpin> Stage<P, W> {
    async fn run(
        &mut self,
        mut input: impl AsyncRead + Unpin,
        stop: impl Future<Output = i32>,
    ) -> Result<ServeEnd, Trouble> {
        tokio::pin!(stop);
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut is_open = true;
        self.record.up().await?;
        self.input(PlayInput::Start, None)?;
        loop {
            self.hear_out();
            if let Some(end) = self.act().await? {
                return Ok(end);
            }
            if self.pending.is_empty() && !self.is_heard_out {
                continue;
            }
            let wake_at = self.wake_instant();
            tokio::select! {
                biased;
                () = self.record.lost() => return Err(RecordError::Lost.into()),
                signal = &mut stop, if !self.is_dying() => {
                    if is_open {
                        self.drain(&mut input, &mut chunk).await?;
                    }
                    self.record.event(Kind::Signal(signal), None, b"").await?;
                    return Ok(ServeEnd::Stopped(signal));
                }
                done = write_some(&mut self.output, self.pending.front()), if !self.pending.is_empty() => {
                    self.written(done).await?;
                }
                read = input.read(&mut chunk), if is_open && self.is_heard_out => {
                    let n = read.unwrap_or(0);
                    is_open = n > 0;
                    let bytes = chunk.get(..n).unwrap_or_default();
                    let kind = if is_open { Kind::Read } else { Kind::Eof };
                    self.record.post(kind, None, bytes).await?;
                    if !is_open && let Ok(signal) = timeout(LINGER, &mut stop).await {
                        self.record.event(Kind::Signal(signal), None, b"").await?;
                        return Ok(ServeEnd::Stopped(signal));
                    }
                    let cause = self.record.recorded().await?;
                    self.input(if is_open { PlayInput::Bytes(bytes) } else { PlayInput::Eof }, cause)?;
                }
                () = wake(wake_at), if self.is_heard_out => self.input(PlayInput::Timeout, None)?,
            }
        }
    }

    /// Records what is still to be read when a signal came, the end of the input above all: the signal may overtake it.
    async fn drain(&mut self, mut input: impl AsyncRead + Unpin, chunk: &mut [u8]) -> Result<(), Trouble> {
        let until = Instant::now() + DRAIN;
        while let Ok(read) = timeout(until.saturating_duration_since(Instant::now()), input.read(chunk)).await
        {
            let n = read.unwrap_or(0);
            let kind = if n > 0 { Kind::Read } else { Kind::Eof };
            self.record.post(kind, None, chunk.get(..n).unwrap_or_default()).await?;
            if n == 0 {
                break;
            }
        }
        Ok(())
    }

    fn input(&mut self, input: PlayInput<'_>, cause: Option<u32>) -> Result<(), Trouble> {
        let now = Time(u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX));
        self.player.handle_input(now, input).map_err(Trouble::Player)?;
        (self.cause, self.is_heard_out) = (cause, false);
        Ok(())
    }

    /// Queues what the player does about what it was told, as long as not too much waits.
    fn hear_out(&mut self) {
        let cause = self.cause;
        while !self.is_heard_out && self.pending_bytes < MAX_PENDING_BYTES {
            self.buffer.clear();
            let act = match self.player.poll_output(&mut self.buffer) {
                Some(PlayOutput::Write(range)) => {
                    // No pipe takes more at once, and no record.
                    for bytes in self.buffer.get(range).unwrap_or_default().chunks(MAX_EVENT_BYTES) {
                        let bytes = bytes.to_vec();
                        self.pending_bytes += weight(&bytes);
                        self.pending.push_back(Act::Write { bytes, written: 0, cause, is_recorded: false });
                    }
                    continue;
                }
                Some(PlayOutput::Stderr(range)) => {
                    let pieces = self.buffer.get(range).unwrap_or_default().chunks(MAX_EVENT_BYTES);
                    self.pending.extend(pieces.map(|piece| Act::Stderr(piece.to_vec(), cause)));
                    continue;
                }
                Some(PlayOutput::Close) => Act::Close(cause),
                Some(PlayOutput::Exit(code)) => Act::Exit(code, cause),
                Some(PlayOutput::Signal(signal)) => Act::Signal(signal, cause),
                Some(PlayOutput::WakeAt(at)) => {
                    self.wake_at = at;
                    continue;
                }
                None => {
                    self.is_heard_out = true;
                    return;
                }
            };
            self.pending.push_back(act);
        }
    }

    /// Does what needs no waiting for the client; stops at the first write, which is recorded by then.
    async fn act(&mut self) -> Result<Option<ServeEnd>, Trouble> {
        while let Some(act) = self.pending.front_mut() {
            match act {
                Act::Write { bytes, cause, is_recorded, .. } if self.output.is_some() => {
                    if !*is_recorded {
                        *is_recorded = true;
                        let cause = *cause;
                        self.record.event(Kind::Write, cause, bytes).await?;
                    }
                    return Ok(None);
                }
                // Nobody can read it any more.
                Act::Write { bytes, .. } => self.pending_bytes -= weight(bytes),
                Act::Stderr(bytes, cause) => {
                    self.record.event(Kind::Stderr, *cause, bytes).await?;
                    // Whoever does not read it must not hold up what stands behind it. What is not flushed is lost if the process ends now.
                    let mut stderr = tokio::io::stderr();
                    let written = async { (stderr.write_all(bytes).await, stderr.flush().await) };
                    let _ = timeout(STDERR_PATIENCE, written).await;
                }
                Act::Close(cause) => {
                    self.record.event(Kind::Close, *cause, b"").await?;
                    if let Some(mut output) = self.output.take() {
                        output.shutdown().await.map_err(|error| close_failed(&error))?;
                    }
                }
                Act::Exit(code, cause) => {
                    self.record.event(Kind::Exit(*code), *cause, b"").await?;
                    return Ok(Some(ServeEnd::Exited(*code)));
                }
                Act::Signal(signal, cause) => {
                    self.record.event(Kind::Signal(*signal), *cause, b"").await?;
                    return Ok(Some(ServeEnd::Signalled(*signal)));
                }
            }
            self.pending.pop_front();
        }
        Ok(None)
    }

    async fn written(&mut self, done: io::Result<Option<usize>>) -> Result<(), Trouble> {
        let Some(Act::Write { bytes, written, .. }) = self.pending.front_mut() else { return Ok(()) };
        match done {
            Ok(Some(n)) => {
                *written += n;
                return Ok(());
            }
            Ok(None) => {}
            Err(_) => {
                self.output = None;
                self.record.event(Kind::WriteFailed, None, b"").await?;
            }
        }
        self.pending_bytes -= weight(bytes);
        self.pending.pop_front();
        Ok(())
    }

    /// Everything is written, and the player ends with it. A client that answers the last byte with a signal must not overtake an
    /// end that was due before.
    fn is_dying(&self) -> bool {
        let is_written =
            |act: &Act| matches!(act, Act::Write { bytes, written, .. } if *written == bytes.len());
        self.pending.front().is_some_and(is_written)
            && matches!(self.pending.get(1), Some(Act::Exit(..) | Act::Signal(..)))
    }

    fn wake_instant(&self) -> Option<Instant> {
        // One more microsecond, since a player may ignore what comes too early.
        self.wake_at.and_then(|at| self.started.checked_add(Duration::from_micros(at.0.saturating_add(1))))
    }
}

/// What a write takes in memory while it waits: most of it is not its bytes where a persona writes one at a time.
fn weight(bytes: &[u8]) -> usize {
    bytes.len() + ACT_BYTES
}

fn close_failed(error: &io::Error) -> Trouble {
    Trouble::Player(format!("cannot close the standard output: {error}"))
}

/// Writes a part of the write that is due, or, when all of it is written, flushes it (`None`). Nothing is lost when this
/// future is dropped.
async fn write_some<W: AsyncWrite + Unpin>(
    output: &mut Option<W>,
    act: Option<&Act>,
) -> io::Result<Option<usize>> {
    let (Some(output), Some(Act::Write { bytes, written, .. })) = (output, act) else {
        return std::future::pending().await;
    };
    match bytes.get(*written..) {
        Some(rest @ [_, ..]) => match output.write(rest).await? {
            0 => Err(io::ErrorKind::WriteZero.into()),
            n => Ok(Some(n)),
        },
        _ => output.flush().await.map(|()| None),
    }
}

async fn wake(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
