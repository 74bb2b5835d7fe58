//! The one task that owns the player and writes the record.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use mcp_parley_mock_servers::{SiteInput, SiteOutput};
use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::http::Exchange;
use mcp_parley_trace::{Channel, Kind};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::answer::{Answer, refusal};
use super::connection::{Act, Connection, Leave, Notice, Pending};
use super::record::SiteRecord;
use super::request::{Traits, is_for, with_head};
use super::socket::SiteSocket;
use crate::record::RecordError;
use crate::serve::ServeEnd;

/// Notices that wait to be taken.
const NOTICES: usize = 64;
/// When the site ends by itself, what is written already has this long to reach the clients.
const FLUSH_TIME: Duration = Duration::from_secs(2);

/// An HTTP server without input or output of its own: an input with the time, then outputs until there are no more.
pub trait PlaySite {
    /// Takes what happened.
    fn handle_input(&mut self, now: Time, input: SiteInput<'_>);

    /// The next thing to do. Bytes are appended to `buf`, ranges are of `buf`.
    fn poll_output(&mut self, buf: &mut Vec<u8>) -> Option<SiteOutput>;
}

/// Plays one HTTP server, its later processes included, until it ends for good or `stop` resolves to a signal's number. When the
/// future is dropped, every connection is closed. After its end the port is kept until the socket is dropped.
pub async fn serve_site(
    player: impl PlaySite,
    socket: &mut SiteSocket,
    record: SiteRecord,
    stop: impl Future<Output = i32>,
) -> ServeEnd {
    let (sender, notices) = mpsc::channel(NOTICES);
    let mut stage = Stage {
        player,
        socket,
        record,
        sender,
        notices,
        tasks: JoinSet::new(),
        open: BTreeMap::new(),
        exchanges: BTreeMap::new(),
        next_connection: 0,
        next_exchange: 0,
        process: 0,
        exit: None,
        held_bytes: 0,
        pending: Arc::default(),
        started: Instant::now(),
        wake_at: None,
        buffer: Vec::new(),
        cause: None,
        is_heard_out: true,
    };
    let end = match stage.run(stop).await {
        Ok(end) => end,
        Err(Trouble::Record(RecordError::Lost)) => ServeEnd::Lost,
        Err(Trouble::Record(error)) => ServeEnd::Unrecorded(error.to_string()),
        Err(Trouble::Host(why)) => ServeEnd::Failed(why),
    };
    let complete = matches!(end, ServeEnd::Exited(_) | ServeEnd::Stopped(_));
    // The connections go with their tasks.
    let Stage { record, socket, .. } = stage;
    socket.open.send_replace(0);
    match record.finish(complete) {
        Err(error) if complete => ServeEnd::Unrecorded(error.to_string()),
        _ => end,
    }
}

pub(super) enum Trouble {
    Host(String),
    Record(RecordError),
}

impl From<RecordError> for Trouble {
    fn from(error: RecordError) -> Self {
        Self::Record(error)
    }
}

pub(super) struct Stage<'a, P> {
    pub(super) player: P,
    pub(super) socket: &'a mut SiteSocket,
    pub(super) record: SiteRecord,
    pub(super) sender: mpsc::Sender<(u32, Notice)>,
    pub(super) notices: mpsc::Receiver<(u32, Notice)>,
    pub(super) tasks: JoinSet<()>,
    /// The connections of the process that runs.
    pub(super) open: BTreeMap<u32, Open>,
    /// Which connection an open exchange is on.
    pub(super) exchanges: BTreeMap<Exchange, u32>,
    pub(super) next_connection: u32,
    pub(super) next_exchange: u32,
    pub(super) process: u32,
    /// How the process has ended, if none runs.
    pub(super) exit: Option<i32>,
    /// Bytes of bodies that are not complete.
    pub(super) held_bytes: usize,
    pub(super) pending: Arc<Pending>,
    pub(super) started: Instant,
    pub(super) wake_at: Option<Time>,
    pub(super) buffer: Vec<u8>,
    /// The event that the player was told of last, and whether it has said all that it does about it.
    pub(super) cause: Option<u32>,
    pub(super) is_heard_out: bool,
}

/// A connection as the site sees it.
pub(super) struct Open {
    pub(super) acts: mpsc::UnboundedSender<Act>,
    pub(super) phase: Phase,
    /// Its last exchange, also when that is complete.
    pub(super) exchange: Option<Exchange>,
}

pub(super) enum Phase {
    Idle,
    Reading {
        head: Vec<u8>,
        body: Vec<u8>,
        traits: Traits,
    },
    Answering {
        answer: Answer,
        traits: Traits,
    },
    /// The host has refused its request; nothing it says counts any more.
    Refused,
}

impl Open {
    pub(super) fn act(&self, act: Act) {
        // A connection that is gone says so by itself.
        let _ = self.acts.send(act);
    }
}

impl<P: PlaySite> Stage<'_, P> {
    async fn run(&mut self, stop: impl Future<Output = i32>) -> Result<ServeEnd, Trouble> {
        tokio::pin!(stop);
        self.record.up(self.process)?;
        self.input(SiteInput::Start, None);
        loop {
            self.hear_out()?;
            if let Some(code) = self.exit.filter(|_| self.is_heard_out && self.wake_at.is_none()) {
                self.flush().await;
                return Ok(ServeEnd::Exited(code));
            }
            self.socket
                .open
                .send_if_modified(|open| std::mem::replace(open, self.tasks.len()) != self.tasks.len());
            let has_room = self.tasks.len() < self.socket.bounds.connections;
            let wake_at = self.wake_instant();
            let is_heard_out = self.is_heard_out;
            tokio::select! {
                biased;
                signal = &mut stop => {
                    self.record.server(Channel::Process(self.process), Kind::Signal(signal), None, b"")?;
                    return Ok(ServeEnd::Stopped(signal));
                }
                Some(_) = self.tasks.join_next() => {}
                Some((number, notice)) = self.notices.recv(), if is_heard_out => self.notice(number, notice)?,
                () = self.pending.fewer(), if !is_heard_out => {}
                accepted = self.socket.accept(), if has_room => match accepted {
                    Ok(stream) => self.admit(stream),
                    // Out of descriptors, say: it may pass.
                    Err(_) => sleep(Duration::from_millis(50)).await,
                },
                () = wake(wake_at), if is_heard_out => self.input(SiteInput::Timeout, None),
            }
        }
    }

    /// What the last process has written is on its way to the clients still.
    async fn flush(&mut self) {
        let (tasks, notices) = (&mut self.tasks, &mut self.notices);
        let flushed = async {
            loop {
                tokio::select! {
                    left = tasks.join_next() => if left.is_none() { return },
                    _ = notices.recv() => {}
                }
            }
        };
        let _ = timeout(FLUSH_TIME, flushed).await;
    }

    fn admit(&mut self, stream: TcpStream) {
        let (acts, receiver) = mpsc::unbounded_channel();
        let number = self.next_connection;
        self.next_connection = number.wrapping_add(1);
        self.open.insert(number, Open { acts, phase: Phase::Idle, exchange: None });
        let connection = Connection::new(number, stream, receiver, self.sender.clone(), self.socket.bounds);
        self.tasks.spawn(connection.run());
    }

    /// Takes what a connection tells. One that is not known is of a process that has ended.
    fn notice(&mut self, number: u32, notice: Notice) -> Result<(), Trouble> {
        let Some(open) = self.open.get_mut(&number) else { return Ok(()) };
        match notice {
            Notice::Head { bytes, traits } => self.head(number, bytes, traits),
            Notice::Body(bytes) => {
                let (Phase::Reading { body, .. }, Some(exchange)) = (&mut open.phase, open.exchange) else {
                    return Ok(());
                };
                self.record.server(channel(exchange), Kind::Read, None, &bytes)?;
                if self.held_bytes.saturating_add(bytes.len()) > self.socket.bounds.held_bytes {
                    return self.refuse(number, 503);
                }
                self.held_bytes += bytes.len();
                body.extend_from_slice(&bytes);
                Ok(())
            }
            Notice::End => self.request(number),
            Notice::Refused(status) => match open.phase {
                Phase::Reading { .. } => self.refuse(number, status),
                _ => Ok(()),
            },
            Notice::Left(how) => self.left(number, how),
        }
    }

    fn head(&mut self, number: u32, bytes: Vec<u8>, traits: Result<Traits, u16>) -> Result<(), Trouble> {
        let Some(open) = self.open.get_mut(&number) else { return Ok(()) };
        if !is_for(&bytes, &self.socket.path) {
            self.record.stranger(Kind::ReadHead, &bytes)?;
            open.exchange = None;
            return self.refuse(number, traits.err().unwrap_or(404));
        }
        let exchange = Exchange(self.next_exchange);
        self.next_exchange = self.next_exchange.wrapping_add(1);
        open.exchange = Some(exchange);
        self.record.server(channel(exchange), Kind::ReadHead, None, &bytes)?;
        match traits {
            Ok(traits) if traits.is_local => {
                open.phase = Phase::Reading { head: bytes, body: Vec::new(), traits };
                Ok(())
            }
            Ok(_) => self.refuse(number, 403),
            Err(status) => self.refuse(number, status),
        }
    }

    /// Answers in the persona's place, and closes.
    fn refuse(&mut self, number: u32, status: u16) -> Result<(), Trouble> {
        let Some(open) = self.open.get_mut(&number) else { return Ok(()) };
        let bytes = refusal(status);
        match open.exchange {
            Some(exchange) => {
                self.record.server(channel(exchange), Kind::WriteHead, None, &bytes)?;
                self.record.server(channel(exchange), Kind::WriteEnd, None, b"")?;
            }
            None => self.record.stranger(Kind::WriteHead, &bytes)?,
        }
        open.act(Act::Write(self.pending.load(bytes)));
        open.act(Act::Close);
        if let Phase::Reading { body, .. } = std::mem::replace(&mut open.phase, Phase::Refused) {
            self.held_bytes = self.held_bytes.saturating_sub(body.len());
        }
        Ok(())
    }

    /// A request is complete.
    fn request(&mut self, number: u32) -> Result<(), Trouble> {
        let Some(open) = self.open.get_mut(&number) else { return Ok(()) };
        let Some(exchange) = open.exchange else { return Ok(()) };
        if !matches!(open.phase, Phase::Reading { .. }) {
            return Ok(());
        }
        let Phase::Reading { head, body, traits } = std::mem::replace(&mut open.phase, Phase::Idle) else {
            return Ok(());
        };
        open.phase = Phase::Answering { answer: Answer::new(), traits };
        self.held_bytes = self.held_bytes.saturating_sub(body.len());
        self.exchanges.insert(exchange, number);
        let cause = self.record.server(channel(exchange), Kind::ReadEnd, None, b"")?;
        let told =
            with_head(&head, |head| self.input(SiteInput::Request(exchange, head, &body), Some(cause)));
        told.map_err(|_| Trouble::Host("a head was read that cannot be read again".into()))
    }

    fn left(&mut self, number: u32, how: Leave) -> Result<(), Trouble> {
        let Some(open) = self.open.remove(&number) else { return Ok(()) };
        let Some(exchange) = open.exchange else { return Ok(()) };
        let is_open = match open.phase {
            Phase::Reading { body, .. } => {
                self.held_bytes = self.held_bytes.saturating_sub(body.len());
                true
            }
            Phase::Answering { .. } => true,
            Phase::Idle | Phase::Refused => false,
        };
        let (kind, bytes): (_, &[u8]) = match how {
            Leave::Closed => (Kind::Eof, b""),
            Leave::Reset => (Kind::Eof, b"reset"),
            Leave::WriteFailed => (Kind::WriteFailed, b""),
            Leave::Done => return Ok(()),
        };
        if is_open || how == Leave::WriteFailed {
            let cause = self.record.server(channel(exchange), kind, None, bytes)?;
            if self.exchanges.remove(&exchange).is_some() {
                self.input(SiteInput::Gone(exchange), Some(cause));
            }
        }
        Ok(())
    }

    fn input(&mut self, input: SiteInput<'_>, cause: Option<u32>) {
        let now = Time(u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX));
        self.player.handle_input(now, input);
        (self.cause, self.is_heard_out) = (cause, false);
    }

    fn wake_instant(&self) -> Option<Instant> {
        // One more microsecond, since a player may ignore what comes too early.
        self.wake_at.and_then(|at| self.started.checked_add(Duration::from_micros(at.0.saturating_add(1))))
    }
}

pub(super) fn channel(exchange: Exchange) -> Channel {
    Channel::Exchange(exchange.0)
}

async fn wake(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
