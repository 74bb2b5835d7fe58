//! One connection of a site: requests are read from it and taken apart, and what it is told is written. It decides nothing.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep_until, timeout};

use super::body::{Body, Step};
use super::bounds::SiteBounds;
use super::request::{Traits, parse};

const CHUNK_BYTES: usize = 16 << 10;
/// Bytes read while a request is being answered: they are the next one's.
const MAX_EARLY_BYTES: usize = 64 << 10;
/// A client that still sends when its connection is closed has this long, and so many bytes, to read why.
const PARTING_TIME: Duration = Duration::from_secs(2);
const MAX_PARTING_BYTES: usize = 4 << 20;

/// What a connection tells the site.
#[derive(Debug)]
pub(crate) enum Notice {
    /// The head of a request, or bytes that are none, and the status that refuses them.
    Head { bytes: Vec<u8>, traits: Result<Traits, u16> },
    /// Bytes of its body, without framing.
    Body(Vec<u8>),
    /// The request is complete.
    End,
    /// The rest of the request is refused with this status.
    Refused(u16),
    /// The connection is gone.
    Left(Leave),
}

/// How a connection went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    /// The client closed it.
    Closed,
    /// The client reset it.
    Reset,
    /// The client does not take what is written.
    WriteFailed,
    /// We closed it.
    Done,
}

/// What a connection is told.
#[derive(Debug)]
pub(crate) enum Act {
    /// Write these bytes.
    Write(Load),
    /// The answer is complete: go on with the next request.
    Next,
    /// Close, after what was written.
    Close,
    /// Reset.
    Reset,
}

/// Bytes that wait for a client, counted while they do.
#[derive(Debug)]
pub(crate) struct Load {
    bytes: Vec<u8>,
    pending: Arc<Pending>,
}

/// How many bytes wait for clients.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    bytes: AtomicUsize,
    fewer: Notify,
}

impl Pending {
    pub(crate) fn load(self: &Arc<Self>, bytes: Vec<u8>) -> Load {
        self.bytes.fetch_add(bytes.len(), Ordering::Relaxed);
        Load { bytes, pending: Arc::clone(self) }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Resolves when there are fewer.
    pub(crate) async fn fewer(&self) {
        self.fewer.notified().await;
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.pending.bytes.fetch_sub(self.bytes.len(), Ordering::Relaxed);
        self.pending.fewer.notify_one();
    }
}

enum State {
    /// In the head of a request, of which so many bytes were searched for its end, and so many parsed.
    Head { searched: usize, parsed: usize },
    /// In its body.
    Body(Body),
    /// The request is complete and being answered.
    Answered,
    /// It was refused; whatever else comes is thrown away.
    Refused,
}

const START: State = State::Head { searched: 0, parsed: 0 };

/// The site no longer listens to this connection.
struct Unheard;

pub(crate) struct Connection {
    number: u32,
    stream: TcpStream,
    buffer: Vec<u8>,
    state: State,
    deadline: Option<Instant>,
    acts: mpsc::UnboundedReceiver<Act>,
    notices: mpsc::Sender<(u32, Notice)>,
    bounds: SiteBounds,
}

impl Connection {
    pub(crate) fn new(
        number: u32,
        stream: TcpStream,
        acts: mpsc::UnboundedReceiver<Act>,
        notices: mpsc::Sender<(u32, Notice)>,
        bounds: SiteBounds,
    ) -> Self {
        Self { number, stream, buffer: Vec::new(), state: START, deadline: None, acts, notices, bounds }
    }

    /// Until either side is done with it.
    pub(crate) async fn run(self) {
        let (number, notices) = (self.number, self.notices.clone());
        // With it go the acts that wait: they are counted, and the site may take no notice until they are fewer.
        let how = self.serve().await;
        // If the site is gone there is nobody to tell.
        let _ = notices.send((number, Notice::Left(how))).await;
    }

    async fn serve(mut self) -> Leave {
        // It fails on sockets that are gone, which the next read tells.
        let _ = self.stream.set_nodelay(true);
        self.deadline = Instant::now().checked_add(self.bounds.idle_time);
        loop {
            self.buffer.reserve(CHUNK_BYTES);
            let has_room = self.buffer.len() < MAX_EARLY_BYTES;
            tokio::select! {
                biased;
                act = self.acts.recv() => match act {
                    Some(Act::Write(load)) => {
                        if write(&mut self.stream, &load.bytes, self.bounds.write_time).await.is_err() {
                            return Leave::WriteFailed;
                        }
                    }
                    Some(Act::Next) => {
                        self.state = START;
                        self.wait(self.bounds.idle_time);
                        if self.advance().await.is_err() {
                            return Leave::Done;
                        }
                    }
                    Some(Act::Close) => return self.close().await,
                    Some(Act::Reset) => {
                        // It fails on sockets that are gone.
                        let _ = self.stream.set_zero_linger();
                        return Leave::Done;
                    }
                    // The process has ended: its sockets end with it.
                    None => return Leave::Done,
                },
                read = self.stream.read_buf(&mut self.buffer), if has_room => match read {
                    Ok(1..) => {
                        if self.advance().await.is_err() {
                            return Leave::Done;
                        }
                    }
                    Ok(0) => return Leave::Closed,
                    Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Leave::Reset,
                    Err(_) => return Leave::Closed,
                },
                () = until(self.deadline) => {
                    self.deadline = None;
                    let late = match self.state {
                        State::Head { .. } if self.buffer.is_empty() => return Leave::Done,
                        State::Head { .. } => Notice::Head { bytes: std::mem::take(&mut self.buffer), traits: Err(408) },
                        State::Body(_) => Notice::Refused(408),
                        State::Answered | State::Refused => continue,
                    };
                    self.state = State::Refused;
                    if self.notify(late).await.is_err() {
                        return Leave::Done;
                    }
                }
            }
        }
    }

    fn wait(&mut self, time: Duration) {
        self.deadline = Instant::now().checked_add(time);
    }

    async fn notify(&self, notice: Notice) -> Result<(), Unheard> {
        self.notices.send((self.number, notice)).await.map_err(|_| Unheard)
    }

    /// Takes what came as far as it goes.
    async fn advance(&mut self) -> Result<(), Unheard> {
        loop {
            match &mut self.state {
                State::Head { .. } => {
                    if !self.head().await? {
                        return Ok(());
                    }
                }
                State::Body(_) => {
                    if !self.body().await? {
                        return Ok(());
                    }
                }
                State::Answered => return Ok(()),
                State::Refused => {
                    self.buffer.clear();
                    self.deadline = None;
                    return Ok(());
                }
            }
        }
    }

    /// Takes the head, if it is complete, or what cannot become one.
    async fn head(&mut self) -> Result<bool, Unheard> {
        let State::Head { searched, parsed } = &mut self.state else { return Ok(true) };
        let (len, limit) = (self.buffer.len(), self.bounds.head_bytes);
        if len == 0 {
            return Ok(false);
        }
        if *searched == 0 {
            self.deadline = Instant::now().checked_add(self.bounds.head_time);
        }
        let new = self.buffer.get(searched.saturating_sub(3)..).unwrap_or_default();
        *searched = len;
        // To parse it anew for every byte that comes would take quadratic time.
        if !has_empty_line(new) && len < *parsed * 2 && len < limit {
            return Ok(false);
        }
        *parsed = len;
        let (length, traits) = match parse(&self.buffer) {
            Ok(Some((length, traits))) if length <= limit => (length, Ok(traits)),
            Ok(None) if len < limit => return Ok(false),
            Ok(_) => (len, Err(431)),
            Err(status) => (len, Err(status)),
        };
        let body = traits.and_then(|traits| Body::new(traits.framing, self.bounds.body_bytes));
        let bytes = self.buffer.drain(..length).collect();
        self.state = body.map_or(State::Refused, State::Body);
        self.wait(self.bounds.body_time);
        let expects = traits.is_ok_and(|traits| traits.expects_continue);
        self.notify(Notice::Head { bytes, traits: body.and(traits) }).await?;
        if expects && body.is_ok() && self.buffer.is_empty() {
            // A part of how the body is transferred, and not of the answer: not in the trace.
            let _ = write(&mut self.stream, b"HTTP/1.1 100 Continue\r\n\r\n", self.bounds.write_time).await;
        }
        Ok(true)
    }

    /// Takes what there is of the body, as one piece however it is framed.
    async fn body(&mut self) -> Result<bool, Unheard> {
        let State::Body(body) = &mut self.state else { return Ok(true) };
        let (mut at, mut data) = (0, Vec::new());
        let end = loop {
            let rest = self.buffer.get(at..).unwrap_or_default();
            match body.step(rest) {
                Step::Skip(n) => at += n,
                Step::Data(n) => {
                    data.extend_from_slice(rest.get(..n).unwrap_or_default());
                    at += n;
                }
                Step::More => break None,
                Step::Done => break Some(Notice::End),
                Step::Bad(status) => break Some(Notice::Refused(status)),
            }
        };
        drop(self.buffer.drain(..at));
        if let Some(end) = &end {
            self.state = if matches!(end, Notice::End) { State::Answered } else { State::Refused };
            self.deadline = None;
        }
        if !data.is_empty() {
            self.notify(Notice::Body(data)).await?;
        }
        match end {
            Some(end) => self.notify(end).await.map(|()| true),
            None => Ok(false),
        }
    }

    /// Closes it in such a way that the client can read all that was written: a socket with unread bytes would be reset.
    async fn close(mut self) -> Leave {
        if self.stream.shutdown().await.is_err() {
            return Leave::Done;
        }
        let mut left = MAX_PARTING_BYTES;
        let drained = async {
            while left > 0 {
                self.buffer.clear();
                match self.stream.read_buf(&mut self.buffer).await {
                    Ok(n @ 1..) => left = left.saturating_sub(n),
                    _ => return,
                }
            }
        };
        let _ = timeout(PARTING_TIME, drained).await;
        Leave::Done
    }
}

fn has_empty_line(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|pair| pair == b"\n\n") || bytes.windows(3).any(|three| three == b"\n\r\n")
}

/// Writes all of it, as long as the client takes something now and then.
async fn write(stream: &mut TcpStream, mut bytes: &[u8], patience: Duration) -> io::Result<()> {
    while !bytes.is_empty() {
        let taken = timeout(patience, stream.write(bytes)).await.map_err(|_| io::ErrorKind::TimedOut)??;
        bytes = bytes.get(taken..).unwrap_or_default();
    }
    Ok(())
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
