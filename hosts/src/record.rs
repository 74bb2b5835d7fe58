//! Where a hosted mock tells what it does: to the supervisor of its run, into a file of its own, or nowhere.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mcp_parley_trace::{
    Channel, Footer, Header, Kind, MAX_DATA_BYTES, MAX_EVENTS, Node, Recording, Transport, WriteError, Writer,
};
use thiserror::Error;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::frames::{MAX_EVENT_BYTES, MAX_PERSONA_BYTES, broken_frame, event_frame, read_bytes, write_bytes};
use crate::log::now;

const HELLO_TIMEOUT: Duration = Duration::from_secs(5);
/// Traces in one folder; more are refused, so that a client in a restart loop does not fill the disk.
const MAX_FILES: u32 = 10_000;

/// Why a mock could not report to its supervisor.
#[derive(Debug, Error)]
pub enum LinkError {
    /// Only the own machine is trusted with what goes over the pipe.
    #[error("the recorder's address {0} is not on loopback")]
    NotLoopback(SocketAddr),
    /// Nobody listens there.
    #[error("no recorder listens on {0}: its run is over, or the address is wrong ({1})")]
    Unreachable(SocketAddr, io::Error),
    /// It closed the connection, or did not speak.
    #[error("the recorder on {0} refused: wrong token, or its run is over")]
    Refused(SocketAddr),
}

/// Why a mock can no longer record.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The supervisor is gone: the run is over.
    #[error("the recorder is gone")]
    Lost,
    /// The file cannot be written.
    #[error("cannot write the trace: {0}")]
    File(#[from] WriteError),
    /// A trace holds no more than this.
    #[error("the trace is full: {MAX_DATA_BYTES} bytes or {MAX_EVENTS} events")]
    Full,
}

/// Where a hosted mock tells what it does.
#[derive(Debug)]
pub enum Record {
    /// Nowhere.
    Nothing,
    /// Into a file of its own.
    File(Box<FileRecord>),
    /// To the supervisor of its run.
    Supervisor(Link),
}

impl Record {
    /// Records that the mock runs, unless the supervisor has seen that already.
    pub(crate) async fn up(&mut self) -> Result<(), RecordError> {
        match self {
            Self::File(_) => self.event(Kind::Up, None, b"").await.map(|_| ()),
            Self::Nothing | Self::Supervisor(_) => Ok(()),
        }
    }

    /// Records an event of the mock before it acts on it; returns the event's number.
    pub(crate) async fn event(
        &mut self,
        kind: Kind,
        cause: Option<u32>,
        bytes: &[u8],
    ) -> Result<Option<u32>, RecordError> {
        self.post(kind, cause, bytes).await?;
        self.recorded().await
    }

    /// Tells of an event without waiting for its number. So two that a mock learns of together stand close together in the
    /// record, however long the way to the supervisor and back takes on a busy machine.
    pub(crate) async fn post(
        &mut self,
        kind: Kind,
        cause: Option<u32>,
        bytes: &[u8],
    ) -> Result<(), RecordError> {
        match self {
            Self::Nothing => Ok(()),
            Self::File(file) => file.event(Node::Server, Channel::Process(0), kind, cause, bytes).map(|_| ()),
            Self::Supervisor(link) => link.post(kind, cause, bytes).await,
        }
    }

    /// Waits until everything that was told is recorded; returns the number of the last event.
    pub(crate) async fn recorded(&mut self) -> Result<Option<u32>, RecordError> {
        match self {
            Self::Nothing => Ok(None),
            Self::File(file) => Ok(file.next_seq.checked_sub(1)),
            Self::Supervisor(link) => link.recorded().await,
        }
    }

    /// Resolves when nobody listens any more.
    pub(crate) async fn lost(&self) {
        match self {
            Self::Nothing | Self::File(_) => std::future::pending().await,
            Self::Supervisor(link) => link.lost().await,
        }
    }

    /// Says that the mock itself has failed.
    pub(crate) async fn broken(&mut self, why: &str) {
        if let Self::Supervisor(link) = self {
            // If the supervisor is gone there is nobody left to deceive.
            let _ = link.stream.write_all(&broken_frame(why)).await;
        }
    }

    /// Ends the record; `complete` if the mock came to its own end.
    pub(crate) fn finish(self, complete: bool) -> Result<(), RecordError> {
        match self {
            Self::File(file) => file.finish(complete),
            Self::Nothing | Self::Supervisor(_) => Ok(()),
        }
    }
}

/// A mock's connection to the supervisor of its run.
#[derive(Debug)]
pub struct Link {
    stream: TcpStream,
    process: u32,
    persona: String,
    /// Events told whose numbers were not read yet.
    told: u32,
}

impl Link {
    /// Connects, shows the token, and learns which start this process is and which persona it plays. To be done before the
    /// first byte of standard input is read.
    ///
    /// # Errors
    /// When the address is not on loopback, nobody listens, or the token is refused.
    pub async fn connect(address: SocketAddr, token: &str) -> Result<Self, LinkError> {
        if !address.ip().is_loopback() {
            return Err(LinkError::NotLoopback(address));
        }
        let connected = timeout(HELLO_TIMEOUT, TcpStream::connect(address)).await;
        let unreachable = |error| LinkError::Unreachable(address, error);
        let mut stream =
            connected.map_err(|_| unreachable(io::ErrorKind::TimedOut.into()))?.map_err(unreachable)?;
        let hello = async {
            stream.set_nodelay(true)?;
            write_bytes(&mut stream, token.as_bytes()).await?;
            let process = stream.read_u32_le().await?;
            let persona = read_bytes(&mut stream, MAX_PERSONA_BYTES).await?;
            let persona = String::from_utf8(persona).map_err(io::Error::other)?;
            io::Result::Ok((process, persona))
        };
        match timeout(HELLO_TIMEOUT, hello).await {
            Ok(Ok((process, persona))) => Ok(Self { stream, process, persona, told: 0 }),
            _ => Err(LinkError::Refused(address)),
        }
    }

    /// Which start this process is, from 0.
    pub fn process(&self) -> u32 {
        self.process
    }

    /// The concrete persona to be played, as the supervisor was given it.
    pub fn persona(&self) -> &str {
        &self.persona
    }

    async fn post(&mut self, kind: Kind, cause: Option<u32>, bytes: &[u8]) -> Result<(), RecordError> {
        let mut rest = bytes;
        // A chunk that is too long for a frame is recorded as several.
        loop {
            let (head, tail) = rest.split_at(rest.len().min(MAX_EVENT_BYTES));
            let frame = event_frame(kind, cause, head);
            self.stream.write_all(&frame).await.map_err(|_| RecordError::Lost)?;
            self.told += 1;
            rest = tail;
            if rest.is_empty() {
                return Ok(());
            }
        }
    }

    async fn recorded(&mut self) -> Result<Option<u32>, RecordError> {
        let mut seq = None;
        while self.told > 0 {
            seq = Some(self.stream.read_u32_le().await.map_err(|_| RecordError::Lost)?);
            self.told -= 1;
        }
        Ok(seq)
    }

    async fn lost(&self) {
        // Between events the supervisor says nothing; that it says something is as wrong as that it is gone.
        let _ = self.stream.peek(&mut [0]).await;
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Otherwise our own failure would look as if the client had killed the server.
            let _ = self.stream.try_write(&broken_frame("the mock panicked"));
        }
    }
}

/// A trace that one mock process writes by itself while it runs.
#[derive(Debug)]
pub struct FileRecord {
    writer: Writer<BufWriter<File>>,
    path: PathBuf,
    started: Instant,
    /// Holds one event at a time.
    scratch: Recording,
    next_seq: u32,
    data_bytes: usize,
}

impl FileRecord {
    /// Creates `stdio-N.jsonl` or `http-N.jsonl` in the folder (which is created as well), with the first N that is free: clients start
    /// several servers with the same arguments.
    ///
    /// # Errors
    /// When the folder or the file cannot be written, or holds 10 000 traces already.
    pub fn create(folder: &Path, header: &Header) -> Result<Self, WriteError> {
        fs::create_dir_all(folder)?;
        let transport = match header.transport {
            Transport::Stdio => "stdio",
            Transport::Http => "http",
        };
        for n in 0..MAX_FILES {
            let path = folder.join(format!("{transport}-{n}.jsonl"));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    let mut writer = Writer::new(BufWriter::new(file), header)?;
                    writer.flush()?;
                    return Ok(Self {
                        writer,
                        path,
                        started: now(),
                        scratch: Recording::new(),
                        next_seq: 0,
                        data_bytes: 0,
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error.into()),
            }
        }
        let full = format!("{} holds {MAX_FILES} traces already: empty it", folder.display());
        Err(io::Error::other(full).into())
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn event(
        &mut self,
        node: Node,
        channel: Channel,
        kind: Kind,
        cause: Option<u32>,
        bytes: &[u8],
    ) -> Result<u32, RecordError> {
        self.data_bytes += bytes.len();
        // The last event is the end of the run.
        if kind != Kind::End(false) && (self.data_bytes > MAX_DATA_BYTES || self.next_seq >= MAX_EVENTS - 1) {
            return Err(RecordError::Full);
        }
        let t_us = u64::try_from(now().duration_since(self.started).as_micros()).unwrap_or(u64::MAX);
        self.scratch.clear();
        self.scratch.push(t_us, node, channel, kind, cause, bytes);
        if let Some(event) = self.scratch.get(0) {
            self.writer.event(event, bytes)?;
        }
        // A process that is killed must leave all that it did so far.
        self.writer.flush()?;
        self.next_seq += 1;
        Ok(self.next_seq - 1)
    }

    pub(crate) fn finish(mut self, complete: bool) -> Result<(), RecordError> {
        self.event(Node::Harness, Channel::None, Kind::End(complete), None, b"")?;
        self.writer.finish(Some(&Footer::default()))?;
        Ok(())
    }
}
