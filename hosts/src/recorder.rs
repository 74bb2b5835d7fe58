//! The supervisor's end of the recorder: mock processes connect to it, tell it everything, and live no longer than the
//! connection.
//!
//! SDKs start several servers with the same arguments, filter the environment, use other process groups and kill with
//! SIGKILL. So nothing but an address and a token travels as an argument, and nothing but a socket ties a mock to its run.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use mcp_parley_trace::{Channel, Kind, Node};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use crate::frames::{Frame, MAX_TOKEN_BYTES, read_bytes, read_frame, write_bytes};
use crate::log::{Log, Stop};
use crate::os::SIGKILL;

/// Whoever connects has this long to show the token.
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);
/// A mock has this long to end after its connection was closed.
const PARTING_TIMEOUT: Duration = Duration::from_secs(2);
/// Connections that have not shown the token yet.
const MAX_CONNECTIONS: usize = 256;

/// Listens on loopback. Dropping it closes every connection, which ends every mock.
#[derive(Debug)]
pub(crate) struct Recorder {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    token: String,
    persona: String,
    log: Arc<Log>,
    /// How many mocks are connected.
    open: watch::Sender<u32>,
    closing: watch::Sender<bool>,
}

impl Recorder {
    /// Listens on a port that the system chooses; every mock that shows the token is given the persona.
    pub(crate) async fn listen(persona: String, log: Arc<Log>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            token: new_token()?,
            persona,
            log,
            open: watch::Sender::new(0),
            closing: watch::Sender::new(false),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self { address, shared, accepting })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn token(&self) -> &str {
        &self.shared.token
    }

    /// Waits until no mock is connected, at most for `grace`; then closes what is left and waits for it to end.
    pub(crate) async fn close(self, grace: Duration) {
        let mut open = self.shared.open.subscribe();
        let nobody = |open: &u32| *open == 0;
        if timeout(grace, open.wait_for(nobody)).await.is_err() {
            self.shared.closing.send_replace(true);
            // Past this the connections are dropped, and what hangs on them ends by itself.
            let _ = timeout(PARTING_TIMEOUT, open.wait_for(nobody)).await;
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// 128 bits that nobody can guess, in hexadecimal.
pub(crate) fn new_token() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if connections.len() < MAX_CONNECTIONS => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection(stream, Arc::clone(&shared)));
                }
                // Out of descriptors, say: it may pass.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    let mut stream = BufReader::new(stream);
    let hello = timeout(HELLO_TIMEOUT, read_bytes(&mut stream, MAX_TOKEN_BYTES)).await;
    if !matches!(hello, Ok(Ok(token)) if token == shared.token.as_bytes()) {
        return shared.log.stranger();
    }
    let open = Open::new(&shared);
    // It fails on sockets that are gone, which the next read tells.
    let _ = stream.get_ref().set_nodelay(true);
    if let Some(process) = shared.log.admit() {
        shared.log.meet();
        let mut closing = shared.closing.subscribe();
        tokio::select! {
            () = serve(&mut stream, &shared, process) => {}
            _ = closing.wait_for(|closing| *closing) => {}
        }
    }
    // The mock ends when it sees this; its end of the socket closes when it has ended.
    if stream.shutdown().await.is_ok() {
        let _ = timeout(PARTING_TIMEOUT, drain(&mut stream)).await;
    }
    drop(open);
}

/// Records what one mock tells until it is gone or the run is stopped.
async fn serve(stream: &mut BufReader<TcpStream>, shared: &Shared, process: u32) {
    let channel = Channel::Process(process);
    let mut welcome = process.to_le_bytes().to_vec();
    if write_bytes(&mut welcome, shared.persona.as_bytes()).await.is_err()
        || stream.write_all(&welcome).await.is_err()
    {
        shared.log.push(Node::Server, channel, Kind::Signal(SIGKILL), None, b"");
        return;
    }
    let mut said_farewell = false;
    loop {
        let (kind, cause, bytes) = match read_frame(stream).await {
            Ok(Frame::Event(kind, cause, bytes)) => (kind, cause, bytes),
            Ok(Frame::Broken(why)) => {
                return shared.log.stop(Stop::MockFailed(String::from_utf8_lossy(&why).into_owned()));
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return shared.log.stop(Stop::MockFailed(format!("mock process {process}: {error}")));
            }
            Err(_) => break,
        };
        said_farewell |= matches!(kind, Kind::Exit(_) | Kind::Signal(_));
        let Some(seq) = shared.log.push(Node::Server, channel, kind, cause, &bytes) else { return };
        if stream.write_all(&seq.to_le_bytes()).await.is_err() {
            break;
        }
    }
    if !said_farewell {
        // A mock that ends by itself says so. This one had no chance to.
        shared.log.push(Node::Server, channel, Kind::Signal(SIGKILL), None, b"");
    }
}

async fn drain(stream: &mut BufReader<TcpStream>) {
    let mut buffer = [0; 4096];
    while matches!(stream.read(&mut buffer).await, Ok(1..)) {}
}

/// Counts a connection for as long as it lives.
struct Open<'a>(&'a Shared);

impl<'a> Open<'a> {
    fn new(shared: &'a Shared) -> Self {
        shared.open.send_modify(|open| *open += 1);
        Self(shared)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.send_modify(|open| *open = open.saturating_sub(1));
    }
}
