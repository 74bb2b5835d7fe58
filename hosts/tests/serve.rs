//! One hosted server: what it is told, what it does, and what its own trace holds, also when it is killed.
#![expect(clippy::unwrap_used, reason = "these helpers are part of the tests")]

mod peer;

use std::future::pending;
use std::io::{BufRead as _, BufReader, Write as _};
use std::pin::Pin;
use std::process::{Command, Stdio};
use std::task::{Context, Poll};

use mcp_parley_hosts::{FileRecord, Link, LinkError, Play, PlayInput, PlayOutput, Record, ServeEnd, serve};
use mcp_parley_negotiation::Time;
use mcp_parley_trace::{
    Declared, Header, Kind, Mode, Origin, ReadOptions, SCHEMA, Subject, Transport, read_file,
};
use peer::peer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

/// Does a list of things when it is told something, one list after the other.
#[derive(Default)]
struct Script {
    told: Vec<String>,
    acts: Vec<Vec<(PlayOutput, &'static [u8])>>,
    due: Vec<(PlayOutput, &'static [u8])>,
}

impl Script {
    fn new(acts: Vec<Vec<(PlayOutput, &'static [u8])>>) -> Self {
        Self { acts, ..Self::default() }
    }
}

impl Play for &mut Script {
    fn handle_input(&mut self, _: Time, input: PlayInput<'_>) -> Result<(), String> {
        self.told.push(match input {
            PlayInput::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            other => format!("{other:?}"),
        });
        if !self.acts.is_empty() {
            self.due = self.acts.remove(0);
        }
        Ok(())
    }

    fn poll_output(&mut self, buf: &mut Vec<u8>) -> Option<PlayOutput> {
        if self.due.is_empty() {
            return None;
        }
        let (output, bytes) = self.due.remove(0);
        let start = buf.len();
        buf.extend_from_slice(bytes);
        Some(match output {
            PlayOutput::Write(_) => PlayOutput::Write(start..buf.len()),
            PlayOutput::Stderr(_) => PlayOutput::Stderr(start..buf.len()),
            other => other,
        })
    }
}

const WRITE: PlayOutput = PlayOutput::Write(0..0);

#[tokio::test]
async fn everything_is_done_in_order_and_the_last_bytes_come_before_the_exit() {
    let mut script = Script::new(vec![
        vec![(PlayOutput::WakeAt(Some(Time(2000))), b"")],
        vec![(WRITE, b"woken\n"), (PlayOutput::WakeAt(None), b"")],
        vec![(WRITE, b"one"), (WRITE, b"two\n"), (PlayOutput::Close, b"")],
        vec![(WRITE, b"nobody reads this"), (PlayOutput::Exit(7), b"")],
    ]);
    let (client, server) = duplex(4);
    let (input, output) = tokio::io::split(server);
    let (mut from, mut to) = tokio::io::split(client);
    let client = async {
        let mut seen = [0; 6];
        from.read_exact(&mut seen).await.unwrap();
        to.write_all(b"hi").await.unwrap();
        let mut rest = Vec::new();
        from.read_to_end(&mut rest).await.unwrap();
        to.shutdown().await.unwrap();
        (seen, rest)
    };
    let (end, (seen, rest)) =
        tokio::join!(serve(&mut script, Record::Nothing, input, output, pending()), client);
    assert_eq!(end, ServeEnd::Exited(7));
    assert_eq!((&seen[..], &rest[..]), (&b"woken\n"[..], &b"onetwo\n"[..]));
    assert_eq!(script.told, ["Start", "Timeout", "hi", "Eof"]);
}

#[tokio::test]
async fn client_that_does_not_read_does_not_keep_the_server_from_ending() {
    let mut script = Script::new(vec![vec![(WRITE, &[b'x'; 100])]]);
    let (_client, server) = duplex(4);
    let (input, output) = tokio::io::split(server);
    let stop = async {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        15
    };
    let end = serve(&mut script, Record::Nothing, input, output, stop).await;
    assert_eq!((end.exit_code(), end), (143, ServeEnd::Stopped(15)));
}

#[tokio::test]
async fn client_that_does_not_read_is_not_answered_without_bound() {
    static BIG: [u8; 4 << 20] = [b'x'; 4 << 20];
    let mut script = Script::new(vec![vec![(WRITE, &BIG[..]); 100]]);
    let (_client, server) = duplex(4);
    let (input, output) = tokio::io::split(server);
    let stop = async {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        15
    };
    let end = serve(&mut script, Record::Nothing, input, output, stop).await;
    assert_eq!((end, script.due.len()), (ServeEnd::Stopped(15), 96), "the player is asked for no more");
}

#[tokio::test]
async fn what_no_record_takes_whole_is_recorded_and_written_in_pieces() {
    static BIG: [u8; 1 << 20] = [b'x'; 1 << 20];
    let folder = tempfile::tempdir().unwrap();
    let record = FileRecord::create(folder.path(), &header()).unwrap();
    let acts = vec![(WRITE, &BIG[..]), (PlayOutput::Stderr(0..0), b"(a test) "), (PlayOutput::Exit(0), b"")];
    let mut script = Script::new(vec![acts]);
    let (client, server) = duplex(1 << 16);
    let (input, output) = tokio::io::split(server);
    let (mut from, _to) = tokio::io::split(client);
    let mut read = Vec::new();
    let record = Record::File(Box::new(record));
    let (end, _) =
        tokio::join!(serve(&mut script, record, input, output, pending()), from.read_to_end(&mut read));
    assert_eq!((end, read.len()), (ServeEnd::Exited(0), BIG.len()));
    let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let recording = read_file(&file, ReadOptions::default()).unwrap().recording;
    let sizes = |kind| -> Vec<usize> {
        recording.events().iter().filter(|event| event.kind == kind).map(|event| event.len()).collect()
    };
    assert_eq!((sizes(Kind::Write), sizes(Kind::Stderr)), (vec![256 << 10; 4], vec![9]));
}

#[tokio::test]
async fn client_that_is_gone_ends_nothing_by_itself() {
    let mut script =
        Script::new(vec![vec![(WRITE, b"hello\n")], vec![(WRITE, b"x"), (PlayOutput::Signal(9), b"")]]);
    let (client, server) = duplex(64);
    drop(client);
    let (input, output) = tokio::io::split(server);
    let end = serve(&mut script, Record::Nothing, input, output, pending()).await;
    assert_eq!(end, ServeEnd::Signalled(9));
    assert_eq!(script.told, ["Start", "Eof"]);
}

fn header() -> Header {
    let declared =
        Declared { mode: Mode::Unknown, modern: None, legacy: None, longest_wait_us: None, reports: false };
    Header {
        schema: SCHEMA.into(),
        tool: "test".into(),
        revision: "2026-07-28".into(),
        subject: Subject::Client,
        transport: Transport::Stdio,
        origin: Origin::Written,
        declared,
        client: serde_json::Value::Null,
        server: serde_json::Value::Null,
    }
}

/// What is recorded of a client that closes the input after `close_ms` and sends SIGTERM after `signal_ms`.
async fn recorded(close_ms: u64, signal_ms: u64) -> (ServeEnd, Vec<String>, Vec<Kind>) {
    let after = |ms| tokio::time::sleep(std::time::Duration::from_millis(ms));
    let folder = tempfile::tempdir().unwrap();
    let record = FileRecord::create(folder.path(), &header()).unwrap();
    let mut script = Script::new(vec![vec![], vec![(PlayOutput::Exit(0), b"")]]);
    let (client, server) = duplex(64);
    let (input, output) = tokio::io::split(server);
    let stop = async {
        after(signal_ms).await;
        15
    };
    let close = async {
        after(close_ms).await;
        drop(client);
    };
    let record = Record::File(Box::new(record));
    let (end, ()) = tokio::join!(serve(&mut script, record, input, output, stop), close);
    let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let trace = read_file(&file, ReadOptions::default()).unwrap();
    (end, script.told.clone(), trace.recording.events().iter().map(|event| event.kind).collect())
}

#[tokio::test]
async fn closing_and_a_signal_at_once_are_recorded_in_the_same_order_whichever_comes_first() {
    let both = [Kind::Up, Kind::Eof, Kind::Signal(15), Kind::End(true)];
    for (close_ms, signal_ms) in [(0, 30), (30, 0)] {
        let (end, told, kinds) = recorded(close_ms, signal_ms).await;
        assert_eq!((end, told.len(), &kinds[..]), (ServeEnd::Stopped(15), 1, &both[..]));
    }
    let (end, _, kinds) = recorded(0, 5000).await;
    assert_eq!((end, kinds[2]), (ServeEnd::Exited(0), Kind::Exit(0)));
}

/// Takes everything, and tells when it has.
struct Telling(Option<tokio::sync::oneshot::Sender<()>>);

impl tokio::io::AsyncWrite for Telling {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        if let Some(tell) = self.get_mut().0.take() {
            tell.send(()).unwrap();
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn signal_for_the_last_byte_does_not_overtake_the_end_that_was_due() {
    for (last, expected) in [
        (Some(PlayOutput::Exit(1)), ServeEnd::Exited(1)),
        (Some(PlayOutput::Signal(9)), ServeEnd::Signalled(9)),
        (None, ServeEnd::Stopped(15)),
    ] {
        let acts = std::iter::once((WRITE, &b"the answer\n"[..])).chain(last.map(|last| (last, &b""[..])));
        let mut script = Script::new(vec![acts.collect()]);
        let (tell, told) = tokio::sync::oneshot::channel();
        let (input, _client) = duplex(64);
        let stop = async {
            told.await.unwrap();
            15
        };
        let end = serve(&mut script, Record::Nothing, input, Telling(Some(tell)), stop).await;
        assert_eq!(end, expected);
    }
}

#[tokio::test]
async fn recorder_that_is_not_there_is_named() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = Link::connect(closed, "token").await.unwrap_err();
    assert!(error.to_string().starts_with(&format!("no recorder listens on {closed}: ")), "{error}");
    let elsewhere = "192.0.2.1:9".parse().unwrap();
    assert!(matches!(Link::connect(elsewhere, "token").await, Err(LinkError::NotLoopback(_))));
}

#[test]
fn own_trace_is_whole_after_a_good_end_and_readable_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    for kill in [false, true] {
        let mut child = Command::new(peer())
            .args(["file", &folder.path().to_string_lossy(), "answers"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"}\n").unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        if kill {
            child.kill().unwrap();
        }
        drop(stdin);
        assert_eq!(child.wait().unwrap().code(), if kill { None } else { Some(0) });
    }
    let read = |n: u32, allow_truncated| {
        read_file(&folder.path().join(format!("stdio-{n}.jsonl")), ReadOptions { allow_truncated })
    };
    let kinds = |file: &mcp_parley_trace::TraceFile| {
        file.recording.events().iter().map(|e| e.kind).collect::<Vec<_>>()
    };
    let whole = read(0, false).unwrap();
    assert_eq!(
        kinds(&whole),
        [Kind::Up, Kind::Read, Kind::Write, Kind::Write, Kind::Eof, Kind::Exit(0), Kind::End(true)]
    );
    assert!(whole.footer.is_some());
    assert!(read(1, false).unwrap_err().to_string().contains("truncated"));
    assert_eq!(kinds(&read(1, true).unwrap()), [Kind::Up, Kind::Read, Kind::Write, Kind::Write]);
}
