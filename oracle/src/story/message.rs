//! One message: where it stands, what it is, and what it says, as far as any check asks.

use crate::json::{At, Refusal, Tree, Type, is_natural};
use crate::known::{self, META_CAPABILITIES, META_INFO, META_SERVER, META_VERSION, Method};

/// What a receiver makes of a longer message is not judged: the text names no size, and nobody can keep any line at all. No
/// message of a negotiation comes near.
const LONG: u32 = 1 << 20;

/// No message, no event.
pub(crate) const NONE: u32 = u32::MAX;

/// From whom a message comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Nothing but blanks.
    Blank,
    /// No JSON text.
    NotJson,
    /// No JSON text, because it ends before its value does.
    Unfinished,
    /// Past a limit of the oracle's reader: not judged.
    Unread,
    /// Bytes at the end of a stream that no newline ends: not judged.
    Partial,
    /// The body of an HTTP answer that is of another media type, or a refusal that says nothing of JSON-RPC: no message, and
    /// nothing wrong with it.
    Text,
    /// A JSON array.
    Batch,
    /// JSON, and neither request, notification nor response.
    NotMessage,
    Request,
    Notification,
    Result,
    Error,
    /// Result and error at once, or either beside a method.
    Both,
    /// `jsonrpc` and an id, and neither method, result nor error: it can only be meant as a response.
    Neither,
}

/// What a response means to the request that it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It answers nothing that is open, or is no response.
    None,
    /// Its envelope is broken, so that what the receiver makes of it is open (AMB-04).
    Broken,
    /// A DiscoverResult in which nothing is wrong that could make it none (an absent `ttlMs` has a default).
    Discovered,
    /// A DiscoverResult without `resultType` (AMB-29).
    Untyped,
    /// A result of a type that the core protocol does not have (BASE-09).
    UnknownType,
    /// Any other success to `server/discover`, or an InitializeResult without version (AMB-02).
    OddSuccess,
    /// -32022 with well-formed data.
    Unsupported,
    /// -32022 with data that is missing, malformed, or an empty list (AMB-03).
    OddUnsupported,
    /// -32020 or -32021.
    ModernError,
    /// Any other error.
    OtherError,
    /// An InitializeResult.
    Handshake,
    /// A success that says `resultType`: a modern one.
    Typed,
    /// A success that does not.
    Success,
}

/// What the subject's process was doing when it sent a message, before that message changed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The era is undecided.
    Opening,
    /// A probe is open.
    Probing,
    /// The era is modern by what was received (client) or answered (server).
    Modern,
    /// `initialize` is under way.
    Shaking,
    /// `initialize` was answered well.
    Shaken,
    /// A legacy session.
    Session,
}

impl Phase {
    pub(crate) fn is_legacy(self) -> bool {
        matches!(self, Self::Shaking | Self::Shaken | Self::Session)
    }
}

/// One line of one stream.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    /// Its place in the story.
    pub(crate) place: u32,
    pub(crate) from: Side,
    /// The place of its process in the story; over HTTP there is one.
    pub(crate) process: u32,
    /// The place of its exchange in the story; [`NONE`] on a pipe.
    pub(crate) exchange: u32,
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// The event that sent its last byte.
    pub(crate) sent: u32,
    pub(crate) sent_us: u64,
    /// The event that received its last byte, or [`NONE`].
    pub(crate) received: u32,
    pub(crate) received_us: u64,
    /// How far its stream is read when it is received; [`NONE`]: to the end.
    pub(crate) wire: u32,
    pub(crate) shape: Shape,
    /// Its envelope is as JSON-RPC and MCP want it, and its length is one that any receiver takes.
    pub(crate) clean: bool,
    pub(crate) root: Option<At>,
    pub(crate) method: Method,
    pub(crate) id: Option<At>,
    pub(crate) params: Option<At>,
    pub(crate) meta: Option<At>,
    /// The value of the version key in `_meta`.
    pub(crate) version: Option<At>,
    /// The value of the capabilities key in `_meta`.
    pub(crate) capabilities: Option<At>,
    /// One of the modern keys is in `_meta`.
    pub(crate) modern_keys: bool,
    /// `protocolVersion` of `initialize`, and of its result.
    pub(crate) handshake_version: Option<At>,
    pub(crate) result: Option<At>,
    pub(crate) result_type: Option<At>,
    pub(crate) error: Option<At>,
    pub(crate) code: Option<i64>,
    /// `supportedVersions`, or `supported` in the data of an error.
    pub(crate) list: Option<At>,
    pub(crate) answer: Answer,
    /// A response's request, or a request's first response.
    pub(crate) pair: u32,
    /// It answers a request that has been answered before.
    pub(crate) repeats: bool,
    /// An error whose id is absent or null, and that is well-formed otherwise.
    pub(crate) nameless: bool,
    /// Its status, or its place in the stream, is so odd that its receiver need not have gone by it.
    pub(crate) faint: bool,
    pub(crate) phase: Phase,
    /// The response that proves a modern server and was received, and not put in question since, when this was sent.
    pub(crate) evidence: u32,
}

impl Message {
    pub(crate) fn new(from: Side, process: u32, start: u32, end: u32, sent: u32, sent_us: u64) -> Self {
        Self {
            place: NONE,
            from,
            process,
            exchange: NONE,
            start,
            end,
            sent,
            sent_us,
            received: NONE,
            received_us: 0,
            wire: NONE,
            shape: Shape::Partial,
            clean: false,
            root: None,
            method: Method::Other,
            id: None,
            params: None,
            meta: None,
            version: None,
            capabilities: None,
            modern_keys: false,
            handshake_version: None,
            result: None,
            result_type: None,
            error: None,
            code: None,
            list: None,
            answer: Answer::None,
            pair: NONE,
            repeats: false,
            nameless: false,
            faint: false,
            phase: Phase::Opening,
            evidence: NONE,
        }
    }

    /// Reads the line and fills in what it says.
    pub(crate) fn read(&mut self, tree: &mut Tree, text: &[u8]) {
        let line = text.get(self.start as usize..self.end as usize).unwrap_or_default();
        if line.iter().all(u8::is_ascii_whitespace) {
            self.shape = Shape::Blank;
            return;
        }
        match tree.read(text, self.start, self.end) {
            Ok(root) => {
                self.root = Some(root);
                match tree.kind(root) {
                    Type::Object => self.envelope(tree, text, root),
                    Type::Array => self.shape = Shape::Batch,
                    _ => self.shape = Shape::NotMessage,
                }
            }
            Err(Refusal::NotJson(_)) => self.shape = Shape::NotJson,
            Err(Refusal::Unfinished) => self.shape = Shape::Unfinished,
            Err(Refusal::TooMuch) => self.shape = Shape::Unread,
        }
    }

    fn envelope(&mut self, tree: &Tree, text: &[u8], root: At) {
        let (mut version, mut method) = (None, None);
        let mut doubled = false;
        for member in tree.children(root) {
            let slot = match &*tree.key(text, member) {
                b"jsonrpc" => &mut version,
                b"id" => &mut self.id,
                b"method" => &mut method,
                b"params" => &mut self.params,
                b"result" => &mut self.result,
                b"error" => &mut self.error,
                _ => continue,
            };
            doubled |= slot.replace(member).is_some();
        }
        let named = method.and_then(|at| tree.string(text, at));
        self.shape = match (method, self.result, self.error) {
            (Some(_), None, None) if named.is_none() => Shape::NotMessage,
            (Some(_), None, None) if self.id.is_some() => Shape::Request,
            (Some(_), None, None) => Shape::Notification,
            (None, Some(_), None) => Shape::Result,
            (None, None, Some(_)) => Shape::Error,
            (None, None, None) if version.is_some() && self.id.is_some() => Shape::Neither,
            (None, None, None) => Shape::NotMessage,
            _ => Shape::Both,
        };
        self.clean = !doubled && self.end - self.start <= LONG;
        self.clean &= version.is_some_and(|at| tree.is_string(text, at, "2.0"));
        match self.shape {
            Shape::Request | Shape::Notification => {
                self.method = named.map(|name| Method::named(&name)).unwrap_or_default();
                self.clean &= self.params.is_none_or(|at| tree.kind(at) == Type::Object);
                self.request(tree, text);
            }
            Shape::Result => self.success(tree, text),
            Shape::Both => {
                self.clean = false;
                self.success(tree, text);
            }
            Shape::Error => self.failure(tree, text),
            _ => self.clean = false,
        }
        if self.shape != Shape::Notification {
            let unnamed = self.id.is_none_or(|at| tree.kind(at) == Type::Null);
            self.nameless = self.shape == Shape::Error && self.clean && unnamed;
            self.clean &= self.id.is_some_and(|at| is_good_id(tree, text, at));
        }
    }

    fn request(&mut self, tree: &Tree, text: &[u8]) {
        let Some(params) = self.params else { return };
        self.meta = tree.get(text, params, "_meta");
        if let Some(meta) = self.meta {
            self.version = tree.get(text, meta, META_VERSION);
            self.capabilities = tree.get(text, meta, META_CAPABILITIES);
            self.modern_keys = self.version.is_some()
                || self.capabilities.is_some()
                || tree.get(text, meta, META_INFO).is_some();
        }
        if self.method == Method::Initialize {
            self.handshake_version = tree.get(text, params, "protocolVersion");
        }
    }

    fn success(&mut self, tree: &Tree, text: &[u8]) {
        let Some(result) = self.result else { return };
        self.clean &= tree.kind(result) == Type::Object;
        self.result_type = tree.get(text, result, "resultType");
        self.list = tree.get(text, result, "supportedVersions");
        self.handshake_version = tree.get(text, result, "protocolVersion");
    }

    fn failure(&mut self, tree: &Tree, text: &[u8]) {
        let Some(error) = self.error else { return };
        let code = tree.get(text, error, "code");
        // To the schema, -32022.0 is an integer. One that does not fit here need not fit the receiver either, and many do not take
        // one that is written as a fraction or with an exponent (AMB-04).
        self.code = code.and_then(|at| tree.number(text, at)).and_then(|number| number.small_integer());
        self.clean &= self.code.is_some()
            && code.is_some_and(|at| {
                tree.raw(text, at).iter().all(|byte| byte.is_ascii_digit() || *byte == b'-')
            })
            && tree.get(text, error, "message").is_some_and(|at| tree.kind(at) == Type::String);
        self.list = tree.get(text, error, "data").and_then(|data| tree.get(text, data, "supported"));
    }

    pub(crate) fn is_response(&self) -> bool {
        matches!(self.shape, Shape::Result | Shape::Error | Shape::Both | Shape::Neither)
    }

    pub(crate) fn is_request(&self) -> bool {
        self.shape == Shape::Request
    }

    pub(crate) fn is_call(&self, method: Method) -> bool {
        self.shape == Shape::Request && self.method == method
    }

    /// A line that is no message at all, whatever is meant.
    pub(crate) fn is_noise(&self) -> bool {
        matches!(
            self.shape,
            Shape::Blank
                | Shape::NotJson
                | Shape::Unfinished
                | Shape::Batch
                | Shape::NotMessage
                | Shape::Neither
        )
    }

    /// What this response, whose id is that of `request`, means to it.
    pub(crate) fn answer_to(&self, request: &Message, tree: &Tree, text: &[u8]) -> Answer {
        if !self.clean {
            return Answer::Broken;
        }
        if self.shape == Shape::Error {
            return self.error_answer(tree, text);
        }
        let result_type = self.result_type.map(|at| match tree.string(text, at).as_deref() {
            Some("complete") => Answer::Typed,
            Some("input_required") if request.method == Method::Discover => Answer::OddSuccess,
            Some("input_required") => Answer::Typed,
            None if tree.kind(at) == Type::Null => Answer::OddSuccess,
            _ => Answer::UnknownType,
        });
        match request.method {
            Method::Initialize => match self.handshake_version {
                Some(at) if tree.kind(at) == Type::String => Answer::Handshake,
                _ => Answer::OddSuccess,
            },
            Method::Discover => match result_type {
                None if self.has_list(tree) => Answer::Untyped,
                Some(Answer::Typed) if self.is_discovery(tree, text) => Answer::Discovered,
                Some(Answer::UnknownType) => Answer::UnknownType,
                _ => Answer::OddSuccess,
            },
            _ if request.version.is_none() => Answer::Success,
            _ => result_type.unwrap_or(Answer::Success),
        }
    }

    fn error_answer(&self, tree: &Tree, text: &[u8]) -> Answer {
        match self.code {
            Some(known::UNSUPPORTED_VERSION) => {
                let requested = self
                    .error
                    .and_then(|error| tree.get(text, error, "data"))
                    .and_then(|data| tree.get(text, data, "requested"));
                let whole = requested.is_some_and(|at| tree.kind(at) == Type::String);
                if whole && self.has_list(tree) { Answer::Unsupported } else { Answer::OddUnsupported }
            }
            Some(known::HEADER_MISMATCH | known::MISSING_CAPABILITY) => Answer::ModernError,
            _ => Answer::OtherError,
        }
    }

    /// Its list of versions has at least one, and strings only.
    pub(crate) fn has_list(&self, tree: &Tree) -> bool {
        self.list.is_some_and(|list| {
            tree.kind(list) == Type::Array
                && tree.children(list).next().is_some()
                && tree.children(list).all(|at| tree.kind(at) == Type::String)
        })
    }

    fn is_discovery(&self, tree: &Tree, text: &[u8]) -> bool {
        let Some(result) = self.result else { return false };
        let member = |name| tree.get(text, result, name);
        self.has_list(tree)
            && member("capabilities").is_some_and(|at| are_capabilities(tree, text, at))
            && member("_meta").is_none_or(|at| is_result_meta(tree, text, at))
            && member("ttlMs").is_none_or(|at| is_plain_integer(tree, text, at))
            && member("instructions").is_none_or(|at| tree.kind(at) == Type::String)
            && member("cacheScope")
                .is_some_and(|at| tree.is_string(text, at, "public") || tree.is_string(text, at, "private"))
    }
}

/// An object of objects, in which a strict reader finds nothing of another type either.
fn are_capabilities(tree: &Tree, text: &[u8], at: At) -> bool {
    let switch = |one, name| tree.get(text, one, name).is_none_or(|at| tree.kind(at) == Type::Bool);
    tree.kind(at) == Type::Object
        && tree.children(at).all(|one| {
            tree.kind(one) == Type::Object && switch(one, "listChanged") && switch(one, "subscribe")
        })
}

/// An object in which the server, if it names itself, does so with a name and a version.
fn is_result_meta(tree: &Tree, text: &[u8], at: At) -> bool {
    let named = |info, name| tree.get(text, info, name).is_some_and(|at| tree.kind(at) == Type::String);
    tree.kind(at) == Type::Object
        && tree.get(text, at, META_SERVER).is_none_or(|info| {
            tree.kind(info) == Type::Object && named(info, "name") && named(info, "version")
        })
}

/// An integer that every reader can hold: past 2^53 they differ (RFC 8259, section 6), and some refuse the whole message.
fn is_plain_integer(tree: &Tree, text: &[u8], at: At) -> bool {
    let value = tree.number(text, at).and_then(|number| number.small_integer());
    value.is_some_and(|value| value.unsigned_abs() < 1 << 53)
}

/// A string or an integer (BASE-02).
pub(crate) fn is_good_id(tree: &Tree, text: &[u8], at: At) -> bool {
    match tree.kind(at) {
        Type::String => true,
        Type::Number if is_natural(tree.raw(text, at)) => true,
        Type::Number => tree.number(text, at).is_some_and(|number| number.is_integer()),
        _ => false,
    }
}
