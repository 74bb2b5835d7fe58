//! The machine over Streamable HTTP: which requests it makes, what it keeps of their answers, and when they are over.
//!
//! One exchange at most is *awaited*: that of the open probe, handshake message or call. Every other one is an *aside* that
//! nothing depends on: it has a time of its own, and only so many are open at once.

use std::ops::Range;

use super::status::is_success;
use super::wire::About;
use super::{Listen, Negotiator, Output, Phase, State};
use crate::envelope::{Message, read_message};
use crate::headers::{self, MediaType, encode_value, is_visible_ascii, media_type};
use crate::http::{Exchange, HttpEnd, HttpHead, HttpRequest, header_values};
use crate::json::Raw;
use crate::limits::Limits;
use crate::lines::Line;
use crate::sse::{EventStream, StreamEvent};
use crate::time::Time;
use crate::version::{Era, ProtocolVersion};

/// What the machine knows of its exchanges.
#[derive(Clone, Debug, Default)]
pub(super) struct Http {
    next: u32,
    open: Vec<Open>,
    /// The last exchange whose answer was waited for; it may be over.
    awaited: Option<Exchange>,
    /// The status of the answer that is being read.
    pub(super) status: u16,
    /// What the response to `initialize` gave (LEG-19).
    pub(super) session: Session,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Session {
    #[default]
    None,
    Id(String),
    /// It must be sent with every request (LEG-20), and is no value that may be.
    Unusable,
}

/// An exchange that has not ended.
#[derive(Clone, Debug)]
pub(super) struct Open {
    exchange: Exchange,
    role: Role,
    /// When it is given up, if the machine's own deadline does not say so.
    until: Option<Time>,
    head: Option<Head>,
    body: Body,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Awaited,
    Listen,
    EndOfSession,
    Aside,
}

/// What counts of the head of an answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) status: u16,
    media: MediaType,
}

#[derive(Clone, Debug)]
enum Body {
    Whole(Vec<u8>),
    Events(Box<EventStream>),
}

impl Http {
    pub(super) fn knows(&self, exchange: Exchange) -> bool {
        exchange.0 < self.next
    }
}

impl Head {
    /// A success of one of the two media types that an answer may have (HTTP-06).
    pub(super) fn is_answer(self) -> bool {
        is_success(self.status) && self.media != MediaType::Other
    }

    pub(super) fn is_event_stream(self) -> bool {
        self.media == MediaType::EventStream
    }
}

impl Negotiator {
    /// One message, one POST (HTTP-01, LEG-24).
    pub(super) fn post(&mut self, body: Range<usize>, about: About<'_>) {
        let json_only = self.deviations.accept_json_only;
        let accept = if json_only { "application/json" } else { "application/json, text/event-stream" };
        let mut headers =
            vec![("content-type", "application/json".to_owned()), ("accept", accept.to_owned())];
        match about {
            About::Modern { version, method } => {
                let best = self.offered.modern.first().filter(|_| self.deviations.stale_version_header);
                let version = best.map_or(version, ProtocolVersion::as_str);
                headers.push((headers::PROTOCOL_VERSION, encode_value(version).into_owned()));
                headers.push((headers::METHOD, encode_value(method).into_owned()));
                headers.extend(self.name(method, body.clone()).map(|name| (headers::NAME, name)));
            }
            // AMB-36: no version was agreed on yet. A session is here only by deviation.
            About::Initialize => headers.extend(self.session_headers()),
            About::Legacy | About::Initialized | About::Aside => headers.extend(self.session_headers()),
        }
        let leaves_out = |name| match name {
            headers::PROTOCOL_VERSION => self.deviations.omit_version_header,
            headers::METHOD => self.deviations.omit_method_header,
            headers::NAME => self.deviations.omit_name_header,
            _ => false,
        };
        headers.retain(|(name, _)| !leaves_out(*name));
        let (role, until) = match about {
            About::Aside => (Role::Aside, Some(self.now.plus_us(self.policy.request_timeout_us))),
            _ => (Role::Awaited, None),
        };
        self.open("POST", headers, body, role, until);
    }

    /// HTTP-13, HTTP-14. The body is the authority: what it holds last of two members of one name is what a server reads.
    fn name(&self, method: &str, body: Range<usize>) -> Option<String> {
        let member = match method {
            "tools/call" | "prompts/get" => "name",
            "resources/read" => "uri",
            _ => return None,
        };
        let text = std::str::from_utf8(self.bytes.get(body)?).ok()?;
        let name = Raw::of_valid(text).get("params")?.get(member)?.as_str()?;
        let name = encode_value(&name.decode()).into_owned();
        if self.deviations.capital_name_markers {
            return Some(name.replacen("=?base64?", "=?BASE64?", 1));
        }
        Some(name)
    }

    /// What every message of a legacy session has after `initialize` (LEG-05, LEG-20).
    fn session_headers(&self) -> Vec<(&'static str, String)> {
        let mut headers = Vec::new();
        if let Phase::Confirming { version } | Phase::Settled { era: Era::Legacy, version } = &self.phase
            && version.has_legacy_header()
        {
            headers.push((headers::PROTOCOL_VERSION, encode_value(version.as_str()).into_owned()));
        }
        if let Some(Http { session: Session::Id(id), .. }) = &self.http
            && !self.deviations.forget_session
        {
            headers.push((headers::SESSION_ID, id.clone()));
        }
        headers
    }

    /// LEG-23, if the policy is to. One attempt a session, whatever becomes of it.
    pub(super) fn listen(&mut self) {
        if self.policy.listen == Listen::Get && self.http.is_some() {
            let mut headers = vec![("accept", "text/event-stream".to_owned())];
            headers.extend(self.session_headers());
            let until = self.now.plus_us(self.policy.request_timeout_us);
            self.open("GET", headers, 0..0, Role::Listen, Some(until));
        }
    }

    /// LEG-22. The machine is done when this is.
    pub(super) fn end_session(&mut self) {
        let headers = self.session_headers();
        self.abort_all();
        self.enter(State::Ending);
        self.phase = Phase::Ending;
        (self.deadline, self.call) = (None, None);
        let until = self.now.plus_us(Limits::LINGER_US);
        self.open("DELETE", headers, 0..0, Role::EndOfSession, Some(until));
    }

    fn open(
        &mut self,
        verb: &'static str,
        headers: Vec<(&'static str, String)>,
        body: Range<usize>,
        role: Role,
        until: Option<Time>,
    ) {
        let Some(http) = &mut self.http else { return };
        let exchange = Exchange(http.next);
        http.next += 1;
        if role == Role::Awaited {
            http.awaited = Some(exchange);
        }
        self.queue.push_back(Output::Http(exchange, HttpRequest { verb, headers }, body));
        self.admit(Open { exchange, role, until, head: None, body: Body::Whole(Vec::new()) });
    }
}

/// What comes in.
impl Negotiator {
    pub(super) fn on_http_head(&mut self, exchange: Exchange, head: HttpHead<'_>) {
        // A head of the 1xx announces another one.
        if head.status < 200 {
            return;
        }
        let Some(mut open) = self.take(exchange) else { return };
        if open.head.is_some() {
            return self.keep(open);
        }
        let media = header_values(head.headers, "content-type").next().map_or(MediaType::Other, media_type);
        if media == MediaType::EventStream {
            open.body = Body::Events(Box::default());
        }
        open.head = Some(Head { status: head.status, media });
        match (open.role, &self.phase) {
            (Role::Awaited, Phase::Initializing { .. }) => self.note_session(&head),
            (Role::Awaited, Phase::Confirming { .. }) => self.on_confirmation(head.status),
            (Role::Listen, _) if is_success(head.status) && media == MediaType::EventStream => {
                open.until = None;
            }
            (Role::Listen, _) => open.role = Role::Aside,
            _ => {}
        }
        self.keep(open);
    }

    fn note_session(&mut self, head: &HttpHead<'_>) {
        let Some(http) = &mut self.http else { return };
        let fine = |id: &&[u8]| is_visible_ascii(id) && id.len() <= Limits::SESSION_ID_BYTES;
        let id = header_values(head.headers, headers::SESSION_ID).next().map(headers::trim);
        http.session = match id {
            None => Session::None,
            Some(id) if fine(&id) => Session::Id(String::from_utf8_lossy(id).into_owned()),
            Some(_) => Session::Unusable,
        };
    }

    pub(super) fn on_http_body(&mut self, exchange: Exchange, bytes: &[u8]) {
        let Some(mut open) = self.take(exchange) else { return };
        let (role, limits) = (open.role, self.limits);
        match (open.head, &mut open.body) {
            (Some(head), Body::Whole(kept)) if role == Role::Awaited => {
                if bytes.len() > limits.message_bytes - kept.len() {
                    self.queue.push_back(Output::Abort(exchange));
                    return self.on_too_long(head);
                }
                kept.extend_from_slice(bytes);
            }
            (Some(head), Body::Events(stream)) if matches!(role, Role::Awaited | Role::Listen) => {
                stream.push(bytes);
                while let Some(event) = stream.next(&limits) {
                    match (event, role) {
                        (StreamEvent::Message(line), Role::Listen) => self.on_unasked(line),
                        (StreamEvent::TooLong, Role::Listen) => {}
                        (StreamEvent::Message(line), _) => self.on_http_message(head, line),
                        (StreamEvent::TooLong, _) => self.on_noise(),
                    }
                    if role == Role::Awaited && !self.awaits(exchange) {
                        break;
                    }
                }
            }
            _ => {}
        }
        self.keep(open);
    }

    pub(super) fn on_http_end(&mut self, exchange: Exchange, end: HttpEnd) {
        let Some(open) = self.take(exchange) else { return };
        match open.role {
            Role::Awaited => self.conclude(open, end),
            Role::EndOfSession => self.finish(State::Closed),
            Role::Listen | Role::Aside => {}
        }
    }

    /// The awaited answer has ended. A message that came whole counts, however the connection ended after it.
    fn conclude(&mut self, open: Open, end: HttpEnd) {
        let Some(head) = open.head else { return self.on_broken(end) };
        if let Body::Whole(body) = &open.body
            && !body.trim_ascii().is_empty()
            && (end == HttpEnd::Complete || self.is_whole(body))
        {
            self.on_http_message(head, body);
        }
        if self.awaits(open.exchange) {
            match end {
                HttpEnd::Complete => self.on_unanswered(head),
                broken => self.on_broken(broken),
            }
        }
    }

    fn is_whole(&mut self, body: &[u8]) -> bool {
        matches!(read_message(body, &self.limits, &mut self.issues), Message::Response(_))
    }

    fn on_http_message(&mut self, head: Head, line: &[u8]) {
        if let Some(http) = &mut self.http {
            http.status = head.status;
        }
        if head.is_answer() {
            return self.on_line(Line::Whole(line));
        }
        self.issues.clear();
        self.on_refusal(head.status, line);
    }

    /// The time of the awaited exchange is over. What has come of it, if anything.
    pub(super) fn give_up(&mut self) -> Option<Head> {
        let awaited = self.http.as_ref()?.awaited?;
        let open = self.take(awaited)?;
        self.queue.push_back(Output::Abort(awaited));
        open.head
    }

    /// True if this exchange is the one that an answer must come from.
    fn awaits(&self, exchange: Exchange) -> bool {
        let open = match self.phase {
            Phase::Probing { .. } | Phase::Initializing { .. } | Phase::Confirming { .. } => true,
            Phase::Settled { .. } => self.call.is_some(),
            Phase::Idle | Phase::Spawning | Phase::Ending | Phase::Done => false,
        };
        open && self.http.as_ref().is_some_and(|http| http.awaited == Some(exchange))
    }

    fn take(&mut self, exchange: Exchange) -> Option<Open> {
        let open = &mut self.http.as_mut()?.open;
        let at = open.iter().position(|open| open.exchange == exchange)?;
        Some(open.remove(at))
    }

    /// Keeps an exchange that has not ended, as what it is by now. After its response a stream should end by itself; it is
    /// given up only when it does not, so that a connection can be used again.
    fn keep(&mut self, mut open: Open) {
        if self.phase == Phase::Done {
            return self.queue.push_back(Output::Abort(open.exchange));
        }
        if open.role == Role::Awaited && !self.awaits(open.exchange) {
            open.role = Role::Aside;
            open.until = Some(self.now.plus_us(Limits::LINGER_US));
        }
        self.admit(open);
    }

    /// Among the open ones, and only so many asides.
    fn admit(&mut self, open: Open) {
        let Some(http) = &mut self.http else { return };
        http.open.push(open);
        let mut asides = http.open.iter().filter(|open| open.role == Role::Aside).map(|open| open.exchange);
        let oldest = asides.clone().min();
        if asides.nth(Limits::ASIDES).is_some()
            && let Some(oldest) = oldest
        {
            http.open.retain(|open| open.exchange != oldest);
            self.queue.push_back(Output::Abort(oldest));
        }
    }

    pub(super) fn abort_all(&mut self) {
        if let Some(http) = &mut self.http {
            http.open.sort_by_key(|open| open.exchange);
            self.queue.extend(http.open.drain(..).map(|open| Output::Abort(open.exchange)));
        }
    }

    /// Gives up what has had its time. The end of a session may be among it.
    pub(super) fn expire(&mut self) {
        let Some(http) = &mut self.http else { return };
        let now = self.now;
        let late = |open: &Open| open.until.is_some_and(|until| until <= now);
        self.queue
            .extend(http.open.iter().filter(|open| late(open)).map(|open| Output::Abort(open.exchange)));
        http.open.retain(|open| !late(open));
        if self.phase == Phase::Ending {
            let ends = http.open.iter().any(|open| open.role == Role::EndOfSession);
            if !ends {
                self.finish(State::Closed);
            }
        }
    }

    /// When the machine has to look at its exchanges next.
    pub(super) fn next_expiry(&self) -> Option<Time> {
        self.http.as_ref()?.open.iter().filter_map(|open| open.until).min()
    }
}
