//! The player between real pipes or connections.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use mcp_parley_mock_clients::Player;
use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::client::{DownKind, Input, Misuse, Output, Process};
use mcp_parley_negotiation::http::{Exchange, HttpEnd, HttpRequest};
use mcp_parley_trace::{Channel, Kind, Node};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::posting::{Posting, read_head};
use super::start::{StartError, Started};
use super::{MeetEnd, Meeting, Met, Reach};
use crate::exchange::{Endpoint, ExchangeNotice};
use crate::guard::Guard;
use crate::log::{Log, Stop};
use crate::os::{GroupId, signal_of};
use crate::server::{Notice, Server};

const NOTICES: usize = 16;
/// After a connection broke, what became of the server says more than that.
const EXIT_GRACE: Duration = Duration::from_millis(300);
/// Between the end of its input and SIGTERM. Where many run at a time, a server is slow to end without any fault of its own.
const CLOSE_GRACE: Duration = Duration::from_secs(15);
/// Between SIGTERM and SIGKILL, and after that.
const TERM_GRACE: Duration = Duration::from_secs(2);
const SIGTERM: i32 = 15;
/// The server's process. A meeting has one.
const PROCESS: Process = Process(0);
const CHANNEL: Channel = Channel::Process(0);

pub(super) struct Host<'a> {
    run: &'a Meeting,
    log: Log,
    started: Instant,
    player: Player,
    sender: mpsc::Sender<(u32, Notice)>,
    notices: mpsc::Receiver<(u32, Notice)>,
    server: Option<Server>,
    group: Option<GroupId>,
    endpoint: Option<Endpoint>,
    posting: Option<Posting>,
    wake_at: Option<Time>,
    buffer: Vec<u8>,
    stderr: Vec<u8>,
}

impl<'a> Host<'a> {
    pub(super) fn new(run: &'a Meeting) -> Self {
        let (sender, notices) = mpsc::channel(NOTICES);
        let player = match run.server {
            Reach::Stdio(_) => Player::new(Arc::clone(&run.opening)),
            Reach::Http { .. } => Player::over_http(Arc::clone(&run.opening)),
        };
        Self {
            run,
            log: Log::new(run.bounds),
            started: Instant::now(),
            player,
            sender,
            notices,
            server: None,
            group: None,
            endpoint: None,
            posting: None,
            wake_at: None,
            buffer: Vec::new(),
            stderr: Vec::new(),
        }
    }

    /// Starts the server, if it is to be started, and waits until it can be spoken to.
    pub(super) async fn start(&mut self) -> Result<(), StartError> {
        let started = Started::start(self.run, &self.sender)?;
        self.group = started.server.as_ref().and_then(Server::group);
        self.guarded(Guard::watch);
        let ready = started.ready(&mut self.notices).await;
        (self.server, self.endpoint) = (started.server, started.endpoint);
        ready
    }

    pub(super) async fn play(
        &mut self,
        mut cancel: Pin<&mut impl Future<Output = ()>>,
    ) -> Result<MeetEnd, Misuse> {
        let deadline = sleep(self.run.timeout);
        tokio::pin!(deadline);
        if self.server.is_some() {
            if self.is_over_pipes() {
                self.push(Node::Client, CHANNEL, Kind::Spawn, None, b"");
            }
            self.push(Node::Server, CHANNEL, Kind::Up, None, b"");
        }
        self.input(None, Input::Start)?;
        if self.is_over_pipes() {
            self.input(None, Input::Up(PROCESS))?;
        }
        loop {
            if let Some(Stop::Flood(why) | Stop::MockFailed(why)) = self.log.stop_reason() {
                return Ok(MeetEnd::Flood(why));
            }
            let is_over = !self.is_over_pipes() || self.server.is_none();
            if self.player.is_done() && is_over {
                return Ok(MeetEnd::Done);
            }
            let (wake_at, stuck_at) = (self.wake_at(), self.stuck_at());
            tokio::select! {
                Some((_, notice)) = self.notices.recv() => self.on_notice(notice).await?,
                Some(notice) = next(&mut self.posting) => self.on_exchange(notice).await?,
                () = until(wake_at) => self.input(None, Input::Timeout)?,
                () = until(stuck_at) => {
                    self.log.conclude(Node::Harness, Kind::Stuck, b"the server to answer a good request");
                    return Ok(MeetEnd::Stuck);
                }
                () = &mut deadline => return Ok(MeetEnd::OutOfTime),
                () = &mut cancel => return Ok(MeetEnd::Cancelled),
            }
        }
    }

    fn is_over_pipes(&self) -> bool {
        matches!(self.run.server, Reach::Stdio(_))
    }

    fn wake_at(&self) -> Option<Instant> {
        // One more microsecond, since the player ignores what comes too early.
        self.wake_at.and_then(|at| self.started.checked_add(Duration::from_micros(at.0.saturating_add(1))))
    }

    /// When the server counts as stuck, if nothing happens until then.
    fn stuck_at(&self) -> Option<Instant> {
        let last: Instant = self.log.last_act().into();
        self.player.is_at_good().then(|| last.checked_add(self.run.stuck_after)).flatten()
    }

    /// Gives the player an input and does what it says. What it does is caused by the event `cause`.
    fn input(&mut self, cause: Option<u32>, input: Input<'_>) -> Result<(), Misuse> {
        let now = Time(u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX));
        self.player.handle_input(now, input)?;
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        while let Some(output) = self.player.poll_output(&mut buffer) {
            let bytes = |range: std::ops::Range<usize>| buffer.get(range).unwrap_or_default().to_vec();
            match output {
                Output::Write(_, range) => self.write(cause, bytes(range)),
                Output::Http(exchange, request, range) => self.post(cause, exchange, &request, bytes(range)),
                Output::Abort(exchange) => self.abort(cause, exchange),
                Output::Close(_) => {
                    if self.server.as_mut().is_some_and(|server| server.close_within(CLOSE_GRACE)) {
                        self.push(Node::Client, CHANNEL, Kind::Close, cause, b"");
                    }
                }
                Output::WakeAt(at) => self.wake_at = at,
                // The process was started before; a player has nothing to say.
                Output::Spawn(..) | Output::Event(_) => {}
            }
        }
        self.buffer = buffer;
        Ok(())
    }

    fn push(
        &self,
        node: Node,
        channel: Channel,
        kind: Kind,
        cause: Option<u32>,
        bytes: &[u8],
    ) -> Option<u32> {
        self.log.push(node, channel, kind, cause, bytes)
    }

    fn write(&self, cause: Option<u32>, bytes: Vec<u8>) {
        self.push(Node::Client, CHANNEL, Kind::Write, cause, &bytes);
        if let Some(server) = &self.server {
            server.write(bytes);
        }
    }

    fn post(&mut self, cause: Option<u32>, exchange: Exchange, request: &HttpRequest, body: Vec<u8>) {
        let Some(endpoint) = &self.endpoint else { return };
        let head = endpoint.head(request, &body);
        let channel = Channel::Exchange(exchange.0);
        self.push(Node::Client, channel, Kind::WriteHead, cause, &head);
        if !body.is_empty() {
            self.push(Node::Client, channel, Kind::Write, cause, &body);
        }
        self.push(Node::Client, channel, Kind::WriteEnd, cause, b"");
        self.posting = Some(Posting::begin(endpoint, exchange, head, body));
    }

    fn abort(&mut self, cause: Option<u32>, exchange: Exchange) {
        if self.posting.take_if(|posting| posting.exchange == exchange).is_some() {
            self.push(Node::Client, Channel::Exchange(exchange.0), Kind::Close, cause, b"");
        }
    }

    async fn on_exchange(&mut self, notice: ExchangeNotice) -> Result<(), Misuse> {
        let Some(exchange) = self.posting.as_ref().map(|posting| posting.exchange) else { return Ok(()) };
        let channel = Channel::Exchange(exchange.0);
        match notice {
            ExchangeNotice::Head(bytes) => {
                let seq = self.push(Node::Client, channel, Kind::ReadHead, None, &bytes);
                let mut told = Ok(());
                read_head(&bytes, |head| told = self.input(seq, Input::HttpHead(exchange, head)));
                told
            }
            ExchangeNotice::Body(bytes) => {
                let seq = self.push(Node::Client, channel, Kind::Read, None, &bytes);
                self.input(seq, Input::HttpBody(exchange, &bytes))
            }
            ExchangeNotice::End(end, why) => {
                self.posting = None;
                let (kind, why) = match end {
                    HttpEnd::Complete => (Kind::ReadEnd, String::new()),
                    HttpEnd::Refused => (Kind::Refused, why.unwrap_or_default()),
                    HttpEnd::Reset => (Kind::Eof, "reset".to_owned()),
                    HttpEnd::Truncated => (Kind::Eof, String::new()),
                };
                if end != HttpEnd::Complete {
                    self.see_whether_it_ended().await?;
                }
                let seq = self.push(Node::Client, channel, kind, None, why.as_bytes());
                self.input(seq, Input::HttpEnd(exchange, end))
            }
        }
    }

    /// A server that ends breaks its connections before that can be seen of the process.
    async fn see_whether_it_ended(&mut self) -> Result<(), Misuse> {
        let until = Instant::now() + EXIT_GRACE;
        while self.server.is_some() {
            tokio::select! {
                Some((_, notice)) = self.notices.recv() => self.on_notice(notice).await?,
                () = sleep_until(until) => return Ok(()),
            }
        }
        Ok(())
    }

    async fn on_notice(&mut self, notice: Notice) -> Result<(), Misuse> {
        let pipes = self.is_over_pipes();
        match notice {
            Notice::Ended { status, eof } => {
                if eof && pipes {
                    self.push(Node::Client, CHANNEL, Kind::Eof, None, b"");
                }
                let signal = status.as_ref().ok().and_then(|status| signal_of(*status));
                let code = status.as_ref().ok().and_then(std::process::ExitStatus::code);
                let (kind, down) = match signal {
                    Some(signal) => (Kind::Signal(signal), DownKind::Signalled),
                    None => (Kind::Exit(code.unwrap_or(-1)), DownKind::Exited),
                };
                let seq = self.push(Node::Server, CHANNEL, kind, None, b"");
                self.forget().await;
                if pipes { self.input(seq, Input::Down(PROCESS, down)) } else { Ok(()) }
            }
            // Over HTTP its standard streams say nothing.
            _ if !pipes => Ok(()),
            Notice::Read(bytes) => match self.push(Node::Client, CHANNEL, Kind::Read, None, &bytes) {
                Some(seq) => self.input(Some(seq), Input::Bytes(PROCESS, &bytes)),
                // A bound was reached.
                None => Ok(()),
            },
            Notice::Eof => {
                let seq = self.push(Node::Client, CHANNEL, Kind::Eof, None, b"");
                self.input(seq, Input::Down(PROCESS, DownKind::Eof))
            }
            Notice::WriteFailed => {
                self.push(Node::Client, CHANNEL, Kind::WriteFailed, None, b"");
                Ok(())
            }
            Notice::Deaf => self.input(None, Input::Down(PROCESS, DownKind::WriteFailed)),
        }
    }

    async fn forget(&mut self) {
        if let Some(mut server) = self.server.take() {
            self.stderr = server.finish().await;
            self.guarded(Guard::forget);
        }
    }

    fn guarded(&self, tell: impl FnOnce(&Guard, GroupId)) {
        if let (Some(guard), Some(group)) = (&self.run.guard, self.group) {
            tell(guard, group);
        }
    }

    /// Ends what still runs. That is our doing, and recorded as such.
    pub(super) async fn end(&mut self, end: &MeetEnd) {
        self.posting = None;
        if let Some(server) = &self.server {
            server.terminate();
            if !matches!(end, MeetEnd::NotStarted(_)) {
                self.log.conclude_on(Node::Server, CHANNEL, Kind::Signal(SIGTERM));
            }
        }
        if !self.is_gone_within(TERM_GRACE).await
            && let Some(server) = &self.server
        {
            server.kill();
            self.is_gone_within(TERM_GRACE).await;
        }
        self.forget().await;
    }

    async fn is_gone_within(&mut self, grace: Duration) -> bool {
        if self.server.is_none() {
            return true;
        }
        let notices = &mut self.notices;
        let gone = async {
            while let Some((_, notice)) = notices.recv().await {
                if matches!(notice, Notice::Ended { .. }) {
                    return;
                }
            }
        };
        timeout(grace, gone).await.is_ok()
    }

    pub(super) fn report(self, end: MeetEnd) -> Met {
        let whole = matches!(end, MeetEnd::Done | MeetEnd::Stuck);
        self.log.conclude(Node::Harness, Kind::End(whole), b"");
        let took_us = self.log.elapsed_us();
        Met { recording: self.log.take(), end, stderr: self.stderr, took_us }
    }
}

async fn next(posting: &mut Option<Posting>) -> Option<ExchangeNotice> {
    match posting {
        Some(posting) => posting.next().await,
        None => std::future::pending().await,
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
