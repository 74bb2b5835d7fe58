//! The form of one event in a file: one JSON object whose members depend on the kind.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::{Channel, Era, Event, Kind, Node};

/// A longer chunk is written as base64, which grows by a third where escaped text may grow sixfold.
const MAX_TEXT_BYTES: usize = 4 << 20;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventLine<'a> {
    pub(crate) seq: u32,
    pub(crate) t_us: u64,
    node: Node,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    process: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exchange: Option<u32>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    era: Option<Era>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ok: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    complete: Option<bool>,
    // Without this attribute an absent member would read as null.
    #[serde(deserialize_with = "Option::deserialize")]
    cause_seq: Option<u32>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    data: Option<Data<'a>>,
}

#[derive(Serialize, Deserialize)]
enum Data<'a> {
    #[serde(rename = "t", borrow)]
    Text(Cow<'a, str>),
    #[serde(rename = "b64", borrow)]
    Base64(Cow<'a, str>),
}

#[derive(Serialize)]
pub(crate) struct NoteLine<'a> {
    pub(crate) note: &'static str,
    pub(crate) from: Node,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) process: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exchange: Option<u32>,
    pub(crate) chunks: &'a [u32],
}

/// The members that say on which channel it is.
pub(crate) fn channel_members(channel: Channel) -> (Option<u32>, Option<u32>) {
    match channel {
        Channel::None => (None, None),
        Channel::Process(n) => (Some(n), None),
        Channel::Exchange(n) => (None, Some(n)),
    }
}

impl<'a> EventLine<'a> {
    pub(crate) fn new(seq: u32, event: &Event, bytes: &'a [u8]) -> Self {
        let (process, exchange) = channel_members(event.channel);
        let mut line = Self {
            seq,
            t_us: event.t_us,
            node: event.node,
            process,
            exchange,
            kind: Cow::Borrowed(kind_name(event.kind)),
            code: None,
            signal: None,
            era: None,
            ok: None,
            complete: None,
            cause_seq: event.cause,
            data: Data::new(bytes),
        };
        match event.kind {
            Kind::Exit(code) => line.code = Some(code),
            Kind::Signal(signal) => line.signal = Some(signal),
            Kind::Settled(era) => line.era = Some(era),
            Kind::Called(ok) => line.ok = Some(ok),
            Kind::End(complete) => line.complete = Some(complete),
            _ => {}
        }
        line
    }

    pub(crate) fn node(&self) -> Node {
        self.node
    }

    pub(crate) fn cause(&self) -> Option<u32> {
        self.cause_seq
    }

    pub(crate) fn channel(&self) -> Result<Channel, String> {
        match (self.process, self.exchange) {
            (None, None) => Ok(Channel::None),
            (Some(n), None) => Ok(Channel::Process(n)),
            (None, Some(n)) => Ok(Channel::Exchange(n)),
            (Some(_), Some(_)) => Err("it has both `process` and `exchange`".into()),
        }
    }

    pub(crate) fn kind(&self) -> Result<Kind, String> {
        let kind = &*self.kind;
        let need = |member: &str| format!("kind \"{kind}\" needs the member `{member}`");
        let read = match kind {
            "spawn" => Kind::Spawn,
            "up" => Kind::Up,
            "spawn-failed" => Kind::SpawnFailed,
            "write" => Kind::Write,
            "stderr" => Kind::Stderr,
            "read" => Kind::Read,
            "write-head" => Kind::WriteHead,
            "read-head" => Kind::ReadHead,
            "write-end" => Kind::WriteEnd,
            "read-end" => Kind::ReadEnd,
            "close" => Kind::Close,
            "reset" => Kind::Reset,
            "refused" => Kind::Refused,
            "eof" => Kind::Eof,
            "write-failed" => Kind::WriteFailed,
            "exit" => Kind::Exit(self.code.ok_or_else(|| need("code"))?),
            "signal" => Kind::Signal(self.signal.ok_or_else(|| need("signal"))?),
            "settled" => Kind::Settled(self.era.ok_or_else(|| need("era"))?),
            "failed" => Kind::Failed,
            "downgraded" => Kind::Downgraded,
            "called" => Kind::Called(self.ok.ok_or_else(|| need("ok"))?),
            "faults-off" => Kind::FaultsOff,
            "stuck" => Kind::Stuck,
            "end" => Kind::End(self.complete.ok_or_else(|| need("complete"))?),
            _ => return Err(format!("unknown kind \"{}\"", crate::escape(kind.as_bytes(), 40))),
        };
        let present = [
            ("code", self.code.is_some(), "exit"),
            ("signal", self.signal.is_some(), "signal"),
            ("era", self.era.is_some(), "settled"),
            ("ok", self.ok.is_some(), "called"),
            ("complete", self.complete.is_some(), "end"),
        ];
        match present.iter().find(|(_, is, owner)| *is && *owner != kind) {
            Some((member, ..)) => Err(format!("kind \"{kind}\" has no member `{member}`")),
            None => Ok(read),
        }
    }

    pub(crate) fn bytes(&self) -> Result<Cow<'_, [u8]>, String> {
        match &self.data {
            None => Ok(Cow::Borrowed(&[])),
            Some(Data::Text(text)) => Ok(Cow::Borrowed(text.as_bytes())),
            Some(Data::Base64(text)) => match STANDARD.decode(text.as_bytes()) {
                Ok(bytes) => Ok(Cow::Owned(bytes)),
                Err(error) => Err(format!("`b64` is no base64: {error}")),
            },
        }
    }
}

impl<'a> Data<'a> {
    fn new(bytes: &'a [u8]) -> Option<Self> {
        if bytes.is_empty() {
            return None;
        }
        Some(match std::str::from_utf8(bytes) {
            Ok(text) if text.len() <= MAX_TEXT_BYTES => Self::Text(Cow::Borrowed(text)),
            _ => Self::Base64(Cow::Owned(STANDARD.encode(bytes))),
        })
    }
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Spawn => "spawn",
        Kind::Up => "up",
        Kind::SpawnFailed => "spawn-failed",
        Kind::Write => "write",
        Kind::Stderr => "stderr",
        Kind::Read => "read",
        Kind::WriteHead => "write-head",
        Kind::ReadHead => "read-head",
        Kind::WriteEnd => "write-end",
        Kind::ReadEnd => "read-end",
        Kind::Close => "close",
        Kind::Reset => "reset",
        Kind::Refused => "refused",
        Kind::Eof => "eof",
        Kind::WriteFailed => "write-failed",
        Kind::Exit(_) => "exit",
        Kind::Signal(_) => "signal",
        Kind::Settled(_) => "settled",
        Kind::Failed => "failed",
        Kind::Downgraded => "downgraded",
        Kind::Called(_) => "called",
        Kind::FaultsOff => "faults-off",
        Kind::Stuck => "stuck",
        Kind::End(_) => "end",
    }
}
