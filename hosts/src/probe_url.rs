//! One polite negotiation with a real server over HTTP: the client's machine with real exchanges and real time.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use httparse::{EMPTY_HEADER, Response};
use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::client::{ClientPolicy, Event, Input, Misuse, Negotiator, Output};
use mcp_parley_negotiation::http::{Exchange, HttpEnd, HttpHead, HttpRequest};
use mcp_parley_trace::{Channel, Kind, Node};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep};

use crate::exchange::{Endpoint, ExchangeNotice, exchange};
use crate::log::{Bounds, Log, Stop};
use crate::probe::{ProbeEnd, ProbeError, ProbeReport, Told, Wish, wake};
use crate::site::MAX_HEADERS;

const NOTICES: usize = 16;
/// A server that asks again and again has to wait for our answers.
const MOST_OPEN: usize = 64;

/// One probe of a URL.
#[derive(Clone, Debug)]
pub struct UrlProbe {
    /// Where the server is.
    pub endpoint: Endpoint,
    /// How the client behaves.
    pub policy: Arc<ClientPolicy>,
    /// An ordinary request after settling, as for [`ProbeRun`](crate::ProbeRun).
    pub call: Option<String>,
    /// How long everything may take, closing included.
    pub timeout: Duration,
    /// What the server may produce at most.
    pub bounds: Bounds,
}

impl UrlProbe {
    /// The reference client, `tools/list` after settling, at most a minute.
    pub fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            policy: Arc::new(ClientPolicy::default()),
            call: Some("tools/list".into()),
            timeout: Duration::from_secs(60),
            bounds: Bounds::default(),
        }
    }
}

/// Negotiates once with the server at the endpoint, makes one call, and closes politely: a session is ended by DELETE (LEG-22).
/// Redirects are not followed. No connection is left open, also when this future is dropped.
///
/// # Errors
/// For our own fault. All that the server does wrong is in the report.
pub async fn probe_url(run: &UrlProbe, cancel: impl Future<Output = ()>) -> Result<ProbeReport, ProbeError> {
    let (sender, mut notices) = mpsc::channel(NOTICES);
    let mut host = Host::new(run, sender);
    let deadline = sleep(run.timeout);
    tokio::pin!(deadline, cancel);
    host.input(None, Input::Start)?;
    let end = loop {
        if let Some(Stop::Flood(why) | Stop::MockFailed(why)) = host.log.stop_reason() {
            break ProbeEnd::Flood(why);
        }
        if host.machine.is_done() {
            break host.told.end();
        }
        tokio::select! {
            Some((number, notice)) = notices.recv() => host.on_notice(number, notice)?,
            () = wake(host.wake_at()) => host.input(None, Input::Timeout)?,
            () = &mut deadline => break ProbeEnd::OutOfTime,
            () = &mut cancel => break ProbeEnd::Cancelled,
        }
    };
    let left: Vec<u32> = host.open.keys().copied().collect();
    left.into_iter().for_each(|number| host.abort(Exchange(number), None));
    Ok(ProbeReport { trouble: host.trouble, ..host.told.report(&host.log, end) })
}

/// The machine between real exchanges.
struct Host<'a> {
    run: &'a UrlProbe,
    log: Log,
    started: Instant,
    machine: Negotiator,
    notices: mpsc::Sender<(u32, ExchangeNotice)>,
    tasks: JoinSet<()>,
    open: BTreeMap<u32, AbortHandle>,
    wake_at: Option<Time>,
    told: Told,
    trouble: Option<String>,
}

impl<'a> Host<'a> {
    fn new(run: &'a UrlProbe, notices: mpsc::Sender<(u32, ExchangeNotice)>) -> Self {
        Self {
            run,
            log: Log::new(run.bounds),
            started: Instant::now(),
            machine: Negotiator::over_http(Arc::clone(&run.policy)),
            notices,
            tasks: JoinSet::new(),
            open: BTreeMap::new(),
            wake_at: None,
            told: Told::default(),
            trouble: None,
        }
    }

    fn wake_at(&self) -> Option<Instant> {
        // One more microsecond, since the machine ignores what comes too early.
        self.wake_at.and_then(|at| self.started.checked_add(Duration::from_micros(at.0.saturating_add(1))))
    }

    fn now(&self) -> Time {
        Time(u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX))
    }

    /// Gives the machine an input and does what it says. What it does is caused by the event `cause`.
    fn input(&mut self, cause: Option<u32>, input: Input<'_>) -> Result<(), Misuse> {
        self.machine.handle_input(self.now(), input)?;
        let mut wishes = VecDeque::new();
        self.drain(cause, &mut wishes);
        while let Some(wish) = wishes.pop_front() {
            let input = match (wish, &self.run.call) {
                (Wish::Call, Some(method)) => Input::Call(method, b""),
                (Wish::Call, None) | (Wish::Shutdown, _) => Input::Shutdown,
            };
            self.machine.handle_input(self.now(), input)?;
            self.drain(cause, &mut wishes);
        }
        Ok(())
    }

    fn drain(&mut self, cause: Option<u32>, wishes: &mut VecDeque<Wish>) {
        let mut buffer = Vec::new();
        while let Some(output) = self.machine.poll_output(&mut buffer) {
            match output {
                Output::Http(exchange, request, range) => {
                    let body = buffer.get(range).unwrap_or_default().to_vec();
                    self.request(exchange, &request, body, cause);
                }
                Output::Abort(exchange) => self.abort(exchange, cause),
                Output::Event(event) => wishes.extend(self.hear(event, cause)),
                Output::WakeAt(at) => self.wake_at = at,
                // The machine was started on HTTP.
                Output::Write(..) | Output::Spawn(..) | Output::Close(_) => {}
            }
        }
    }

    fn hear(&mut self, event: Event, cause: Option<u32>) -> Option<Wish> {
        self.told.hear(&self.log, event, cause)
    }

    fn push(&self, number: u32, kind: Kind, cause: Option<u32>, bytes: &[u8]) -> Option<u32> {
        self.log.push(Node::Client, Channel::Exchange(number), kind, cause, bytes)
    }

    fn request(
        &mut self,
        Exchange(number): Exchange,
        request: &HttpRequest,
        body: Vec<u8>,
        cause: Option<u32>,
    ) {
        if self.open.len() >= MOST_OPEN {
            return self.log.stop(Stop::Flood(format!("more than {MOST_OPEN} exchanges were open at once")));
        }
        let head = self.run.endpoint.head(request, &body);
        self.push(number, Kind::WriteHead, cause, &head);
        if !body.is_empty() {
            self.push(number, Kind::Write, cause, &body);
        }
        self.push(number, Kind::WriteEnd, cause, b"");
        while self.tasks.try_join_next().is_some() {}
        let (endpoint, all) = (self.run.endpoint.clone(), self.notices.clone());
        let task = self.tasks.spawn(async move {
            let (sender, mut notices) = mpsc::channel(1);
            let hand_on = async {
                while let Some(notice) = notices.recv().await {
                    let is_last = matches!(notice, ExchangeNotice::End(..));
                    if all.send((number, notice)).await.is_err() || is_last {
                        return;
                    }
                }
            };
            tokio::join!(exchange(&endpoint, &head, &body, &sender), hand_on);
        });
        self.open.insert(number, task);
    }

    fn abort(&mut self, Exchange(number): Exchange, cause: Option<u32>) {
        if let Some(task) = self.open.remove(&number) {
            task.abort();
            self.push(number, Kind::Close, cause, b"");
        }
    }

    fn on_notice(&mut self, number: u32, notice: ExchangeNotice) -> Result<(), Misuse> {
        // What was given up may still have said something.
        if !self.open.contains_key(&number) {
            return Ok(());
        }
        let exchange = Exchange(number);
        match notice {
            ExchangeNotice::Head(bytes) => match self.push(number, Kind::ReadHead, None, &bytes) {
                Some(seq) => self.on_head(seq, exchange, &bytes),
                // A bound was reached.
                None => Ok(()),
            },
            ExchangeNotice::Body(bytes) => match self.push(number, Kind::Read, None, &bytes) {
                Some(seq) => self.input(Some(seq), Input::HttpBody(exchange, &bytes)),
                None => Ok(()),
            },
            ExchangeNotice::End(end, why) => {
                self.open.remove(&number);
                let text = why.unwrap_or_default();
                let (kind, bytes) = match end {
                    HttpEnd::Complete => (Kind::ReadEnd, &b""[..]),
                    HttpEnd::Truncated => (Kind::Eof, &b""[..]),
                    HttpEnd::Reset => (Kind::Eof, &b"reset"[..]),
                    HttpEnd::Refused => (Kind::Refused, text.as_bytes()),
                };
                let seq = self.push(number, kind, None, bytes);
                self.trouble = Some(text).filter(|text| !text.is_empty()).or(self.trouble.take());
                self.input(seq, Input::HttpEnd(exchange, end))
            }
        }
    }

    fn on_head(&mut self, seq: u32, exchange: Exchange, bytes: &[u8]) -> Result<(), Misuse> {
        let mut headers = [EMPTY_HEADER; MAX_HEADERS];
        let mut response = Response::new(&mut headers);
        // It was parsed when it came: it has no error.
        let _ = response.parse(bytes);
        let headers: Vec<(&[u8], &[u8])> =
            response.headers.iter().map(|header| (header.name.as_bytes(), header.value)).collect();
        let head = HttpHead { status: response.code.unwrap_or(0), headers: &headers };
        self.input(Some(seq), Input::HttpHead(exchange, head))
    }
}
