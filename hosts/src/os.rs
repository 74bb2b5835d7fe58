//! Everything that only Unix has: process groups, signals. Elsewhere the portable part of each job is done.

use std::fs::File;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::process::ExitStatus;
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;
use tokio::process::{Child, Command};

/// A child process with everything it started that stayed in its process group. Dropping it kills them: nothing of a
/// run may outlive it, however the run ends.
#[derive(Debug)]
pub(crate) struct Group(Option<GroupId>);

/// Names a group without owning it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupId(#[cfg(unix)] rustix::process::Pid);

impl Group {
    /// Makes the command start in a process group of its own, where there is such a thing.
    pub(crate) fn prepare(command: &mut Command) {
        #[cfg(unix)]
        command.process_group(0);
        command.kill_on_drop(true);
    }

    /// Asks the group to end.
    pub(crate) fn terminate(&self) {
        self.0.iter().for_each(|id| id.terminate());
    }

    /// Ends the group.
    pub(crate) fn kill(&self) {
        self.0.iter().for_each(|id| id.kill());
    }

    /// Kills what is left of the group, for the last time: once its leader was waited for, the number may pass to another.
    pub(crate) fn finish(&mut self) {
        self.kill();
        self.0 = None;
    }

    pub(crate) fn id(&self) -> Option<GroupId> {
        self.0
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(unix)]
impl Group {
    pub(crate) fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
        Self(id.map(GroupId))
    }
}

#[cfg(unix)]
impl GroupId {
    pub(crate) fn number(self) -> i32 {
        self.0.as_raw_nonzero().get()
    }

    /// A group of the system itself is none that we have made.
    pub(crate) fn of_number(number: i32) -> Option<Self> {
        rustix::process::Pid::from_raw(number).filter(|_| number > 1).map(Self)
    }

    pub(crate) fn terminate(self) {
        self.signal(rustix::process::Signal::TERM);
    }

    pub(crate) fn kill(self) {
        self.signal(rustix::process::Signal::KILL);
    }

    fn signal(self, signal: rustix::process::Signal) {
        // It fails when the group is gone already, which is what is wanted.
        let _ = rustix::process::kill_process_group(self.0, signal);
    }
}

#[cfg(not(unix))]
impl Group {
    pub(crate) fn of(_: &Child) -> Self {
        Self(None)
    }
}

#[cfg(not(unix))]
impl GroupId {
    pub(crate) fn number(self) -> i32 {
        0
    }

    pub(crate) fn of_number(_: i32) -> Option<Self> {
        None
    }

    pub(crate) fn terminate(self) {}

    pub(crate) fn kill(self) {}
}

/// The signal that ended the process, if one did.
#[cfg(unix)]
pub(crate) fn signal_of(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
pub(crate) fn signal_of(_: ExitStatus) -> Option<i32> {
    None
}

/// The number of the signal that no process can catch: what ended a process that could not say farewell.
pub(crate) const SIGKILL: i32 = 9;

/// Ends this process by a signal; returns only if that is impossible (or the signal is caught).
#[cfg(unix)]
pub(crate) fn end_by_signal(number: i32) {
    if let Some(signal) = rustix::process::Signal::from_named_raw(number) {
        let _ = rustix::process::kill_process(rustix::process::getpid(), signal);
    }
}

#[cfg(not(unix))]
pub(crate) fn end_by_signal(_: i32) {}

/// Resolves to the signal's number when this process is asked to end (SIGHUP, SIGINT or SIGTERM; Ctrl-C elsewhere). From
/// the first poll on, these signals no longer end the process by themselves. Where they cannot be caught it never resolves.
pub fn asked_to_end() -> impl Future<Output = i32> + Send {
    wait_for_signal()
}

#[cfg(unix)]
async fn wait_for_signal() -> i32 {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::terminate()];
    let [Ok(mut hangup), Ok(mut interrupt), Ok(mut terminate)] = kinds.map(signal) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = hangup.recv() => SignalKind::hangup(),
        _ = interrupt.recv() => SignalKind::interrupt(),
        _ = terminate.recv() => SignalKind::terminate(),
    }
    .as_raw_value()
}

#[cfg(not(unix))]
async fn wait_for_signal() -> i32 {
    match tokio::signal::ctrl_c().await {
        Ok(()) => 2,
        Err(_) => std::future::pending().await,
    }
}

/// Standard output without the buffer of the standard library, which would cut chunks at line ends. Shutting it down closes
/// it for the reader on the other side, while this process goes on.
#[derive(Debug)]
pub(crate) struct StandardOutput(Option<tokio::fs::File>);

impl StandardOutput {
    pub(crate) fn take() -> io::Result<Self> {
        Ok(Self(Some(tokio::fs::File::from_std(duplicate_stdout()?))))
    }

    fn file(&mut self) -> io::Result<Pin<&mut tokio::fs::File>> {
        self.0.as_mut().map(Pin::new).ok_or_else(|| io::ErrorKind::BrokenPipe.into())
    }
}

impl AsyncWrite for StandardOutput {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.get_mut().file()?.poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().file()?.poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        std::task::ready!(this.file()?.poll_flush(cx))?;
        this.0 = None;
        Poll::Ready(close_stdout())
    }
}

#[cfg(unix)]
fn duplicate_stdout() -> io::Result<File> {
    use std::os::fd::AsFd as _;
    Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
}

#[cfg(unix)]
fn close_stdout() -> io::Result<()> {
    // The descriptor itself must stay taken, or the next file that is opened would become the standard output.
    let null = File::options().write(true).open("/dev/null")?;
    Ok(rustix::stdio::dup2_stdout(null)?)
}

#[cfg(windows)]
fn duplicate_stdout() -> io::Result<File> {
    use std::os::windows::io::AsHandle as _;
    Ok(io::stdout().as_handle().try_clone_to_owned()?.into())
}

#[cfg(windows)]
fn close_stdout() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
