//! Real hosts over stdio: in this process on pipes of tokio, and as a process.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use mcp_parley_hosts::{Play, Record, ServeEnd, serve};
use mcp_parley_mock_clients::Conversation;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::process::Command;
use tokio::time::timeout;

use crate::engine::Marks;
use crate::scripts::line;
use crate::transcript::{End, Exit, Seen, Transcript};

/// What has not come by then does not come: the transcript will show it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A player on pipes of this process.
pub(crate) async fn hosted(
    player: impl Play,
    record: Record,
    opening: &Conversation,
    marks: &Marks,
) -> Transcript {
    let (to_server, input) = tokio::io::duplex(1 << 16);
    let (output, from_server) = tokio::io::duplex(1 << 16);
    let served = serve(player, record, input, output, std::future::pending());
    let (end, seen) = tokio::join!(served, converse(opening, marks, to_server, from_server));
    let exit = match end {
        ServeEnd::Exited(code) => Some(Exit::Code(code)),
        ServeEnd::Signalled(signal) => Some(Exit::Signal(signal)),
        other => panic!("{other:?}"),
    };
    Transcript { seen: vec![seen, Seen::NOTHING], exit }
}

/// The real command.
pub(crate) async fn process(args: &[String], opening: &Conversation, marks: &Marks) -> Transcript {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-parley"));
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut stderr = child.stderr.take().unwrap();
    let mut err = Vec::new();
    let (seen, read) = tokio::join!(converse(opening, marks, stdin, stdout), stderr.read_to_end(&mut err));
    read.unwrap();
    let status = child.wait().await.unwrap();
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    let exit = status.code().map(Exit::Code).or(signal.map(Exit::Signal));
    Transcript { seen: vec![seen, Seen { bytes: err, ..Seen::NOTHING }], exit }
}

/// Plays the client: says each step when what the one before brought the engine to say has come.
async fn converse(
    opening: &Conversation,
    marks: &Marks,
    mut to_server: impl AsyncWrite + Unpin,
    mut from_server: impl AsyncRead + Unpin,
) -> Seen {
    let mut bytes = Vec::new();
    let mut end = None;
    for (at, (step, mark)) in opening.steps.iter().zip(marks).enumerate() {
        // A server that has ended takes nothing, which its output shows.
        let _ = to_server.write_all(&line(step)).await;
        let _ = to_server.flush().await;
        let (length, ended) = mark[0];
        while end.is_none() && (bytes.len() < length || ended != End::Open) {
            match timeout(PATIENCE, from_server.read_buf(&mut bytes)).await {
                Ok(Ok(1..)) => {}
                Ok(_) => end = Some(End::Step(at)),
                Err(_) => break,
            }
        }
        if end.is_some() {
            break;
        }
    }
    let _ = to_server.shutdown().await;
    drop(to_server);
    if end.is_none() {
        let _ = timeout(PATIENCE, from_server.read_to_end(&mut bytes)).await;
    }
    Seen { bytes, end: end.unwrap_or(End::Step(opening.steps.len())), ..Seen::NOTHING }
}

/// A permit for each that may run at a time.
pub(crate) fn permits(count: usize) -> Arc<tokio::sync::Semaphore> {
    Arc::new(tokio::sync::Semaphore::new(count))
}
