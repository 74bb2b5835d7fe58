//! One server process as its client sees it: bytes in, bytes out, and how it ended.

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::os::{Group, GroupId};
use crate::tail::{Kept, Part};

/// STDIO-10: between closing the input and SIGTERM, and between that and SIGKILL.
const CLOSE_GRACE: Duration = Duration::from_secs(2);
/// After its output ended or a write failed, the process has this long to end, or it counts as one that closed a pipe and
/// stays. How it ended says more than that.
const EXIT_GRACE: Duration = Duration::from_millis(100);
/// After the process ended, its output is read for this long, since a child of it may hold the pipe open.
const DRAIN_GRACE: Duration = Duration::from_millis(250);
const CHUNK_BYTES: usize = 64 << 10;
const STDERR_BYTES: usize = 64 << 10;

/// What a server process did.
#[derive(Debug)]
pub(crate) enum Notice {
    Read(Vec<u8>),
    /// Its output ended, and it is still there.
    Eof,
    WriteFailed,
    /// A write failed, and it is still there.
    Deaf,
    /// It ended. `eof`: its output ended with it, which no notice has said yet. Nothing follows.
    Ended {
        status: io::Result<ExitStatus>,
        eof: bool,
    },
}

/// A running server. Dropping it kills it and its process group.
#[derive(Debug)]
pub(crate) struct Server {
    group: Group,
    input: Option<mpsc::UnboundedSender<Vec<u8>>>,
    close: Option<oneshot::Sender<Duration>>,
    stderr: Kept,
    tasks: [JoinHandle<()>; 2],
}

impl Server {
    /// Starts it; what it does is sent to `notices` under its number.
    pub(crate) fn start(
        argv: &[String],
        directory: Option<&Path>,
        number: u32,
        notices: &mpsc::Sender<(u32, Notice)>,
    ) -> io::Result<Self> {
        let (program, arguments) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(directory) = directory {
            command.current_dir(directory);
        }
        Group::prepare(&mut command);
        let mut child = command.spawn()?;
        let group = Group::of(&child);
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let (input, chunks) = mpsc::unbounded_channel();
        let (close, closed) = oneshot::channel();
        let stderr = Kept::read(stderr, Part::Last(STDERR_BYTES));
        let tasks = [
            tokio::spawn(feed(stdin, chunks, number, notices.clone())),
            tokio::spawn(follow(child, stdout, group.id(), closed, number, notices.clone())),
        ];
        Ok(Self { group, input: Some(input), close: Some(close), stderr, tasks })
    }

    /// Hands bytes to its standard input, unless that is closed; returns at once.
    pub(crate) fn write(&self, bytes: Vec<u8>) -> bool {
        // A writer that has failed has said so in a notice of its own.
        self.input.as_ref().is_some_and(|input| input.send(bytes).is_ok())
    }

    /// Closes its standard input, waits, then uses force (STDIO-10). True if it was open.
    pub(crate) fn close(&mut self) -> bool {
        self.close_within(CLOSE_GRACE)
    }

    /// The same with another time between the end of the input and SIGTERM.
    pub(crate) fn close_within(&mut self, grace: Duration) -> bool {
        self.input = None;
        self.close.take().is_some_and(|close| close.send(grace).is_ok())
    }

    pub(crate) fn group(&self) -> Option<GroupId> {
        self.group.id()
    }

    pub(crate) fn terminate(&self) {
        self.group.terminate();
    }

    pub(crate) fn kill(&self) {
        self.group.kill();
    }

    /// After it has ended: kills what it left in its group, and returns the end of what it printed on standard error.
    pub(crate) async fn finish(&mut self) -> Vec<u8> {
        self.group.finish();
        let _ = timeout(EXIT_GRACE, self.stderr.ended()).await;
        self.stderr.bytes()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// The machine must not wait for a server that does not read.
async fn feed(
    mut stdin: ChildStdin,
    mut chunks: mpsc::UnboundedReceiver<Vec<u8>>,
    number: u32,
    notices: mpsc::Sender<(u32, Notice)>,
) {
    while let Some(chunk) = chunks.recv().await {
        if stdin.write_all(&chunk).await.is_err() {
            // Nobody listens any more only when the probe is over.
            let _ = notices.send((number, Notice::WriteFailed)).await;
            sleep(EXIT_GRACE).await;
            let _ = notices.send((number, Notice::Deaf)).await;
            return;
        }
    }
}

async fn follow(
    mut child: Child,
    stdout: ChildStdout,
    group: Option<GroupId>,
    mut close: oneshot::Receiver<Duration>,
    number: u32,
    notices: mpsc::Sender<(u32, Notice)>,
) {
    let (eof, mut at_eof) = oneshot::channel();
    let reader = tokio::spawn(read(stdout, number, notices.clone(), eof));
    let mut is_closing = false;
    let mut is_read = false;
    let mut eof_is_told = false;
    // What is due at `due`: the notice of the end of the output, then force.
    let mut due = None;
    let mut force_at = None;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status,
            _ = &mut at_eof, if !is_read => {
                is_read = true;
                due = Some(Instant::now() + EXIT_GRACE);
            }
            asked = &mut close, if !is_closing => {
                is_closing = true;
                // Dropped without a word: the probe is over, and the group is killed by its owner.
                force_at = asked.ok().map(|grace| (Instant::now() + grace, false));
            }
            () = until(due) => {
                due = None;
                eof_is_told = true;
                let _ = notices.send((number, Notice::Eof)).await;
            }
            () = until(force_at.map(|(at, _)| at)) => {
                let (_, was_asked) = force_at.take().unwrap_or((Instant::now(), true));
                if was_asked {
                    group.iter().for_each(|group| group.kill());
                } else {
                    group.iter().for_each(|group| group.terminate());
                    force_at = Some((Instant::now() + CLOSE_GRACE, true));
                }
            }
        }
    };
    if !is_read {
        tokio::select! {
            _ = &mut at_eof => is_read = true,
            () = sleep(DRAIN_GRACE) => {}
        }
    }
    reader.abort();
    let _ = notices.send((number, Notice::Ended { status, eof: is_read && !eof_is_told })).await;
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

async fn read(
    mut stdout: ChildStdout,
    number: u32,
    notices: mpsc::Sender<(u32, Notice)>,
    eof: oneshot::Sender<()>,
) {
    let mut buffer = vec![0; CHUNK_BYTES];
    while let Ok(n @ 1..) = stdout.read(&mut buffer).await {
        let chunk = buffer.get(..n).unwrap_or_default().to_vec();
        if notices.send((number, Notice::Read(chunk))).await.is_err() {
            return;
        }
    }
    let _ = eof.send(());
}
