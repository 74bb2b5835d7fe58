//! Streamable HTTP: exchanges between the client and one server, each a link of its own. A hop on the way may change headers.

use std::ops::Range;
use std::sync::Arc;

use mcp_parley_mock_servers::{BodyFraming, ResponseHead, Site, SiteInput, SiteOutput};
use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::client::Input;
use mcp_parley_negotiation::http::{Exchange, HttpEnd, HttpHead, HttpRequest, RequestHead};
use mcp_parley_trace::{Channel, Kind, Node, Subject};

use super::Run;
use super::hop;
use super::link::{TRAVEL_US, to_u32};
use super::queue::What;
use crate::case::ServerSide;
use crate::chooser::{Chooser, Site as Door};

/// More headers than any persona or client writes.
const HEADERS_MOST: usize = 64;
/// A body is split into this many chunks at the most.
const CHUNKS_MOST: usize = 64;
/// The answers to what a hop sent twice go nowhere: exchanges from here on are none of the client's.
const ECHO: u32 = 1 << 31;

/// The server and all exchanges with it.
#[derive(Debug)]
pub(super) struct Net {
    site: Box<Site>,
    /// Which process has the port, if one has.
    process: u32,
    listens: bool,
    wake: Option<Time>,
    links: Vec<Link>,
}

/// One exchange.
#[derive(Debug)]
struct Link {
    /// The request as it is on its way: where its head and its body stand in the world's wire.
    head: Range<usize>,
    body: Range<usize>,
    /// Neither side has ended it.
    client_waits: bool,
    server_works: bool,
    /// The server has it.
    arrived: bool,
    /// Nothing that is sent back arrives any more.
    cut: bool,
    framing: Option<BodyFraming>,
    /// No chunk may overtake the one before.
    last_out: Time,
    /// Bytes that are no head yet, where the server writes without one.
    raw: Vec<u8>,
}

impl Net {
    pub(super) fn new(side: &ServerSide) -> Self {
        let site = Site::start(Arc::clone(&side.played)).with_deviations(side.deviations.clone());
        Self { site: Box::new(site), process: 0, listens: true, wake: None, links: Vec::new() }
    }

    fn link(&mut self, exchange: Exchange) -> Option<&mut Link> {
        self.links.get_mut(exchange.0 as usize)
    }
}

/// A part of an answer on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Head { start: u32, end: u32 },
    Body { start: u32, end: u32 },
    End(HttpEnd),
}

impl Part {
    fn head(range: &Range<usize>) -> Self {
        Self::Head { start: to_u32(range.start), end: to_u32(range.end) }
    }

    fn body(range: &Range<usize>) -> Self {
        Self::Body { start: to_u32(range.start), end: to_u32(range.end) }
    }
}

/// The head of a request, as any client of HTTP writes it.
fn request_head(request: &HttpRequest, length: usize) -> Vec<u8> {
    let mut text = format!("{} /mcp HTTP/1.1\r\nhost: localhost\r\n", request.verb);
    for (name, value) in &request.headers {
        text.extend([*name, ": ", value, "\r\n"]);
    }
    if request.verb == "POST" || length > 0 {
        text.push_str(&format!("content-length: {length}\r\n"));
    }
    text.push_str("\r\n");
    text.into_bytes()
}

/// The client's end.
impl<C: Chooser> Run<'_, C> {
    pub(super) fn open_site(&mut self) {
        if self.faults && self.chooser.choose(Door::Start, 16) >= 13 {
            // Nobody listens yet.
            let slow_us = self.probe_timeout_us();
            if let Some(net) = &mut self.world.net {
                net.listens = false;
            }
            return self.world.queue.at(self.now.plus_us(slow_us).plus_us(TRAVEL_US), What::SiteUp);
        }
        self.on_site_up();
    }

    pub(super) fn on_site_up(&mut self) {
        let Some(net) = &mut self.world.net else { return };
        net.listens = true;
        let process = net.process;
        self.record(Node::Server, Channel::Process(process), Kind::Up, None, &[]);
        self.tell_site(SiteInput::Start, None);
    }

    /// The server's process is ended from outside; the next one has the port after a while.
    pub(super) fn kill_site(&mut self, cause: u32) {
        let Some(net) = &mut self.world.net else { return };
        if !std::mem::replace(&mut net.listens, false) {
            return;
        }
        let process = net.process;
        net.process = process.saturating_add(1);
        net.site.next_process();
        net.wake = None;
        self.site_is_gone(process, Kind::Signal(9), HttpEnd::Reset, Some(cause));
        self.world.queue.at(self.now.plus_us(4 * TRAVEL_US), What::SiteUp);
    }

    /// What a hop makes of a head. Where the server is judged, it must have got what the client sent.
    fn on_the_way(&mut self, head: Vec<u8>, acts: &[hop::Hop]) -> Vec<u8> {
        if !self.faults || self.case.subject != Subject::Client {
            return head;
        }
        let usual = 20;
        let choice = self.chooser.choose(Door::Hop, usual + u32::try_from(acts.len()).unwrap_or(0));
        match choice.checked_sub(usual).and_then(|at| acts.get(at as usize)) {
            Some(act) => {
                let count = u32::try_from(hop::fields(&head)).unwrap_or(0);
                act.on(&head, self.chooser.choose(Door::Hop, count) as usize)
            }
            None => head,
        }
    }

    pub(super) fn client_requests(
        &mut self,
        exchange: Exchange,
        request: &HttpRequest,
        body: Range<usize>,
        cause: Option<u32>,
    ) {
        let body = self.world.buf.get(body).unwrap_or_default().to_vec();
        let head = request_head(request, body.len());
        let channel = Channel::Exchange(exchange.0);
        self.record(Node::Client, channel, Kind::WriteHead, cause, &head);
        if !body.is_empty() {
            self.record(Node::Client, channel, Kind::Write, cause, &body);
        }
        let seq = self.record(Node::Client, channel, Kind::WriteEnd, cause, &[]);
        let head = self.on_the_way(head, hop::TO_SERVER);
        let (head, body) = (self.put(&head), self.put(&body));
        let delay_us = if self.faults { self.delay_us() } else { 0 };
        let time = self.now.plus_us(TRAVEL_US).plus_us(delay_us);
        if let Some(net) = &mut self.world.net {
            debug_assert_eq!(net.links.len(), exchange.0 as usize, "exchanges are numbered in their order");
            net.links.push(Link {
                head,
                body,
                client_waits: true,
                server_works: false,
                arrived: false,
                cut: false,
                framing: None,
                last_out: Time::ZERO,
                raw: Vec::new(),
            });
        }
        self.world.queue.at(time, What::RequestArrives(exchange, seq));
        if self.faults && self.chooser.choose(Door::Twice, 32) == 31 {
            self.world.queue.at(time.plus_us(1), What::RequestArrives(Exchange(exchange.0 | ECHO), seq));
        }
        if self.faults && self.chooser.choose(Door::Death, 32) == 31 {
            self.world.queue.at(time.plus_us(TRAVEL_US), What::SiteDies(seq));
        }
    }

    fn put(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.world.wire.len();
        self.world.wire.extend_from_slice(bytes);
        start..self.world.wire.len()
    }

    pub(super) fn client_aborts(&mut self, exchange: Exchange, cause: Option<u32>) {
        let Some(link) = self.world.net.as_mut().and_then(|net| net.link(exchange)) else { return };
        if std::mem::replace(&mut link.client_waits, false) {
            let seq = self.record(Node::Client, Channel::Exchange(exchange.0), Kind::Close, cause, &[]);
            self.world.queue.at(self.now.plus_us(TRAVEL_US), What::ClientLeft(exchange, seq));
        }
    }

    pub(super) fn on_answer(&mut self, exchange: Exchange, part: Part, cause: u32) {
        let Some(link) = self.world.net.as_mut().and_then(|net| net.link(exchange)) else { return };
        if !link.client_waits {
            return;
        }
        if !matches!(part, Part::Head { .. } | Part::Body { .. }) {
            link.client_waits = false;
        }
        let channel = Channel::Exchange(exchange.0);
        let wire = std::mem::take(&mut self.world.wire);
        let at = |start: u32, end: u32| wire.get(start as usize..end as usize).unwrap_or_default();
        let (seq, told) = match part {
            Part::Head { start, end } => {
                let bytes = at(start, end);
                let seq = self.record(Node::Client, channel, Kind::ReadHead, Some(cause), bytes);
                (seq, self.tell_head(exchange, bytes))
            }
            Part::Body { start, end } => {
                let seq = self.record(Node::Client, channel, Kind::Read, Some(cause), at(start, end));
                (seq, self.client.handle_input(self.now, Input::HttpBody(exchange, at(start, end))).is_ok())
            }
            Part::End(end) => {
                let (kind, how) = match end {
                    HttpEnd::Complete => (Kind::ReadEnd, &b""[..]),
                    HttpEnd::Truncated => (Kind::Eof, &b""[..]),
                    HttpEnd::Reset => (Kind::Eof, &b"reset"[..]),
                    HttpEnd::Refused => (Kind::Refused, &b"connection refused"[..]),
                };
                let seq = self.record(Node::Client, channel, kind, Some(cause), how);
                (seq, self.client.handle_input(self.now, Input::HttpEnd(exchange, end)).is_ok())
            }
        };
        self.world.wire = wire;
        if told {
            self.drain_client(Some(seq));
            self.call_once_settled();
        }
    }

    fn tell_head(&mut self, exchange: Exchange, bytes: &[u8]) -> bool {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MOST];
        let mut response = httparse::Response::new(&mut headers);
        if !matches!(response.parse(bytes), Ok(httparse::Status::Complete(_))) {
            return false;
        }
        let headers: Vec<(&[u8], &[u8])> =
            response.headers.iter().map(|header| (header.name.as_bytes(), header.value)).collect();
        let head = HttpHead { status: response.code.unwrap_or(0), headers: &headers };
        self.client.handle_input(self.now, Input::HttpHead(exchange, head)).is_ok()
    }
}

/// The server's end.
impl<C: Chooser> Run<'_, C> {
    pub(super) fn on_request(&mut self, exchange: Exchange, cause: u32) {
        let echo = exchange.0 & ECHO != 0;
        let Some(net) = &mut self.world.net else { return };
        let listens = net.listens;
        let Some(link) = net.link(Exchange(exchange.0 & !ECHO)) else { return };
        // A client that has left before its request arrived: the connection was never seen here.
        if !link.client_waits && !echo {
            return;
        }
        if !listens {
            let time = self.now.plus_us(TRAVEL_US);
            if !echo {
                self.world.queue.at(time, What::Answer(exchange, Part::End(HttpEnd::Refused), cause));
            }
            return;
        }
        (link.arrived, link.server_works) = (true, true);
        let (head, body) = (link.head.clone(), link.body.clone());
        // What the server says to it goes on the same wire.
        let of_wire = |range: Range<usize>| self.world.wire.get(range).unwrap_or_default().to_vec();
        let (head, body) = (of_wire(head), of_wire(body));
        let (head, body) = (head.as_slice(), body.as_slice());
        let mut seq = cause;
        if !echo {
            let channel = Channel::Exchange(exchange.0);
            self.record(Node::Server, channel, Kind::ReadHead, Some(cause), head);
            if !body.is_empty() {
                self.record(Node::Server, channel, Kind::Read, Some(cause), body);
            }
            seq = self.record(Node::Server, channel, Kind::ReadEnd, Some(cause), &[]);
        }
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MOST];
        let mut request = httparse::Request::new(&mut headers);
        if matches!(request.parse(head), Ok(httparse::Status::Complete(_))) {
            let headers: Vec<(&[u8], &[u8])> =
                request.headers.iter().map(|header| (header.name.as_bytes(), header.value)).collect();
            let head = RequestHead {
                verb: request.method.unwrap_or_default(),
                target: request.path.unwrap_or_default(),
                headers: &headers,
            };
            self.tell_site(SiteInput::Request(exchange, head, body), Some(seq));
        }
    }

    pub(super) fn on_client_left(&mut self, exchange: Exchange, cause: u32) {
        let Some(link) = self.world.net.as_mut().and_then(|net| net.link(exchange)) else { return };
        if !link.arrived || !std::mem::replace(&mut link.server_works, false) {
            return;
        }
        let seq = self.record(Node::Server, Channel::Exchange(exchange.0), Kind::Eof, Some(cause), &[]);
        self.tell_site(SiteInput::Gone(exchange), Some(seq));
    }

    pub(super) fn on_site_wake(&mut self) {
        let now = self.now;
        let Some(net) = &mut self.world.net else { return };
        if net.wake.is_some_and(|wake| wake <= now) {
            net.wake = None;
            self.tell_site(SiteInput::Timeout, None);
        }
    }

    fn tell_site(&mut self, input: SiteInput<'_>, cause: Option<u32>) {
        let now = self.now;
        let Some(net) = &mut self.world.net else { return };
        net.site.handle_input(now, input);
        loop {
            let mut buf = std::mem::take(&mut self.world.buf);
            buf.clear();
            let output = self.world.net.as_mut().and_then(|net| net.site.poll_output(&mut buf));
            let Some(output) = output else {
                self.world.buf = buf;
                return;
            };
            self.site_does(output, &buf, cause);
            self.world.buf = buf;
        }
    }

    fn site_does(&mut self, output: SiteOutput, buf: &[u8], cause: Option<u32>) {
        match output {
            SiteOutput::Head(exchange, head) => self.site_heads(exchange, &head, cause),
            SiteOutput::Body(exchange, range) => {
                let bytes = buf.get(range).unwrap_or_default();
                if self.works(exchange).is_some_and(|link| link.framing != Some(BodyFraming::Without)) {
                    self.site_writes(exchange, bytes, cause);
                }
            }
            SiteOutput::Raw(exchange, range) => {
                self.site_writes_raw(exchange, buf.get(range).unwrap_or_default(), cause)
            }
            SiteOutput::End(exchange) => self.site_ends(exchange, Kind::WriteEnd, HttpEnd::Complete, cause),
            SiteOutput::Close(exchange) => self.site_ends(exchange, Kind::Close, HttpEnd::Truncated, cause),
            SiteOutput::Reset(exchange) => self.site_ends(exchange, Kind::Reset, HttpEnd::Reset, cause),
            SiteOutput::Exit(code) => self.site_exits(code, cause),
            SiteOutput::Up => {
                let Some(net) = &mut self.world.net else { return };
                (net.listens, net.process) = (true, net.process.saturating_add(1));
                let process = net.process;
                self.record(Node::Server, Channel::Process(process), Kind::Up, cause, &[]);
            }
            SiteOutput::WakeAt(wake) => {
                let Some(net) = &mut self.world.net else { return };
                let before = std::mem::replace(&mut net.wake, wake);
                if let Some(wake) = wake.filter(|wake| before != Some(*wake)) {
                    self.world.queue.at(wake, What::SiteWake);
                }
            }
        }
    }

    /// The link of an exchange that the server still answers. What it says to an echo goes nowhere.
    fn works(&mut self, exchange: Exchange) -> Option<&mut Link> {
        self.world.net.as_mut()?.link(exchange).filter(|link| link.server_works)
    }

    fn site_heads(&mut self, exchange: Exchange, head: &ResponseHead, cause: Option<u32>) {
        let framing = head.framing();
        let Some(link) = self.works(exchange) else { return };
        link.framing = Some(framing);
        let bytes = head.to_bytes(framing);
        let seq = self.record(Node::Server, Channel::Exchange(exchange.0), Kind::WriteHead, cause, &bytes);
        let bytes = self.on_the_way(bytes, hop::TO_CLIENT);
        let range = self.put(&bytes);
        self.send_back(exchange, Part::head(&range), seq);
    }

    fn site_writes(&mut self, exchange: Exchange, bytes: &[u8], cause: Option<u32>) {
        if bytes.is_empty() {
            return;
        }
        let seq = self.record(Node::Server, Channel::Exchange(exchange.0), Kind::Write, cause, bytes);
        let whole = self.put(bytes);
        let mut end = whole.end;
        let mut chunks = 1;
        let mut cut = None;
        if self.faults {
            chunks = match self.chooser.choose(Door::Split, 8) {
                0..=5 => 1,
                6 => 2,
                _ => CHUNKS_MOST,
            };
            cut = match self.chooser.choose(Door::Cut, 32) {
                30 => Some(HttpEnd::Truncated),
                31 => Some(HttpEnd::Reset),
                _ => None,
            };
        }
        if cut.is_some() {
            end = whole.start + bytes.len() / 2;
        }
        let size = (end - whole.start).div_ceil(chunks).max(1);
        let mut at = whole.start;
        while at < end {
            let next = (at + size).min(end);
            self.send_back(exchange, Part::body(&(at..next)), seq);
            at = next;
        }
        if let Some(how) = cut {
            self.send_back(exchange, Part::End(how), seq);
            if let Some(link) = self.works(exchange) {
                link.cut = true;
            }
        }
    }

    /// Bytes that may be a head, or never become one.
    fn site_writes_raw(&mut self, exchange: Exchange, bytes: &[u8], cause: Option<u32>) {
        let Some(link) = self.works(exchange) else { return };
        link.raw.extend_from_slice(bytes);
        let raw = link.raw.clone();
        let seq = self.record(Node::Server, Channel::Exchange(exchange.0), Kind::Write, cause, bytes);
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MOST];
        let mut response = httparse::Response::new(&mut headers);
        if let Ok(httparse::Status::Complete(length)) = response.parse(&raw) {
            let range = self.put(&raw);
            self.send_back(exchange, Part::head(&(range.start..range.start + length)), seq);
            if range.start + length < range.end {
                self.send_back(exchange, Part::body(&(range.start + length..range.end)), seq);
            }
        }
    }

    fn site_ends(&mut self, exchange: Exchange, kind: Kind, end: HttpEnd, cause: Option<u32>) {
        let Some(link) = self.works(exchange) else { return };
        link.server_works = false;
        let seq = self.record(Node::Server, Channel::Exchange(exchange.0), kind, cause, &[]);
        self.send_back(exchange, Part::End(end), seq);
    }

    fn site_exits(&mut self, code: i32, cause: Option<u32>) {
        let Some(net) = &mut self.world.net else { return };
        net.listens = false;
        let process = net.process;
        self.site_is_gone(process, Kind::Exit(code), HttpEnd::Truncated, cause);
    }

    fn site_is_gone(&mut self, process: u32, kind: Kind, how: HttpEnd, cause: Option<u32>) {
        let Some(net) = &mut self.world.net else { return };
        let open = net.links.iter().enumerate().filter(|(_, link)| link.server_works);
        let open: Vec<u32> = open.filter_map(|(at, _)| u32::try_from(at).ok()).collect();
        let seq = self.record(Node::Server, Channel::Process(process), kind, cause, &[]);
        for exchange in open.into_iter().map(Exchange) {
            if let Some(link) = self.works(exchange) {
                link.server_works = false;
            }
            self.send_back(exchange, Part::End(how), seq);
        }
    }

    fn send_back(&mut self, exchange: Exchange, part: Part, cause: u32) {
        let delay_us = if self.faults && matches!(part, Part::Head { .. }) { self.delay_us() } else { 0 };
        let earliest = self.now.plus_us(TRAVEL_US).plus_us(delay_us);
        let Some(link) = self.world.net.as_mut().and_then(|net| net.link(exchange)) else { return };
        if link.cut {
            return;
        }
        // One after the other, like the bytes of one connection.
        link.last_out = link.last_out.plus_us(1).max(earliest);
        let time = link.last_out;
        self.world.queue.at(time, What::Answer(exchange, part, cause));
    }
}
