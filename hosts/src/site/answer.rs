//! Heads of answers, and what frames their bodies.

use mcp_parley_mock_servers::{BodyFraming, ResponseHead, reason};

use super::request::Traits;

/// How far an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    framing: Framing,
    keeps_alive: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    /// By nothing: there was no head, or the client cannot read chunks. The connection's end is the body's.
    Raw,
    /// There is none: the status or the verb forbids it.
    Without,
    /// So many bytes are still to come.
    Length(usize),
    Chunked,
}

impl Answer {
    /// One whose head is still to come.
    pub(crate) fn new() -> Self {
        Self { framing: Framing::Raw, keeps_alive: false }
    }

    /// The bytes of a head: names and values as they are given, and behind them what the body needs.
    pub(crate) fn head(&mut self, head: &ResponseHead, traits: Traits) -> Vec<u8> {
        let framing = match head.framing() {
            // A client of HTTP/1.0 cannot read chunks.
            BodyFraming::Chunked if !traits.is_http11 => None,
            framing => Some(framing),
        };
        let bytes = head.to_bytes(framing.unwrap_or(BodyFraming::Without));
        self.framing = match framing {
            None => Framing::Raw,
            Some(BodyFraming::Without) => Framing::Without,
            Some(BodyFraming::Length(length)) => Framing::Length(length),
            Some(BodyFraming::Chunked) => Framing::Chunked,
        };
        if traits.is_head {
            self.framing = Framing::Without;
        }
        let closes = head.headers.iter().any(|(name, value)| {
            name.eq_ignore_ascii_case("connection") && value.trim().eq_ignore_ascii_case("close")
        });
        self.keeps_alive = traits.keeps_alive && !closes;
        bytes
    }

    /// What is sent for a piece of the body; `None` if the answer has none.
    pub(crate) fn body(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        match &mut self.framing {
            _ if bytes.is_empty() => None,
            Framing::Without => None,
            Framing::Raw => Some(bytes.to_vec()),
            Framing::Length(left) => {
                self.keeps_alive &= bytes.len() <= *left;
                *left = left.saturating_sub(bytes.len());
                Some(bytes.to_vec())
            }
            Framing::Chunked => Some([format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()),
        }
    }

    /// Bytes as they are. From here on nothing is known of how the answer is framed.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        *self = Self::new();
        Some(bytes.to_vec())
    }

    /// What is sent at the end.
    pub(crate) fn end(&self) -> &'static [u8] {
        if self.framing == Framing::Chunked { b"0\r\n\r\n" } else { b"" }
    }

    /// Whether another request may follow on the connection.
    pub(crate) fn keeps_alive(&self) -> bool {
        self.keeps_alive && !matches!(self.framing, Framing::Raw | Framing::Length(1..))
    }
}

/// The head by which the host itself refuses a request. Nothing follows on the connection.
pub(crate) fn refusal(status: u16) -> Vec<u8> {
    format!("HTTP/1.1 {status} {}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n", reason(status))
        .into_bytes()
}
