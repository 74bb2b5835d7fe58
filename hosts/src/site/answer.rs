//! Heads of answers, and what frames their bodies.

use mcp_parley_mock_servers::ResponseHead;

use super::request::Traits;

/// How far an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    framing: Framing,
    keeps_alive: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    /// By itself: there was no head, or the client cannot read chunks. The connection's end is the body's.
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
        let mut text = format!("HTTP/1.1 {} {}\r\n", head.status, reason(head.status));
        for (name, value) in &head.headers {
            text.extend([name, ": ", value, "\r\n"]);
        }
        let has_body = !matches!(head.status, 100..200 | 204 | 304);
        match head.length {
            _ if !has_body => self.framing = Framing::Without,
            Some(length) => {
                text.push_str(&format!("content-length: {length}\r\n"));
                self.framing = Framing::Length(length);
            }
            None if traits.is_http11 => {
                text.push_str("transfer-encoding: chunked\r\n");
                self.framing = Framing::Chunked;
            }
            None => self.framing = Framing::Raw,
        }
        if traits.is_head {
            self.framing = Framing::Without;
        }
        let closes = head.headers.iter().any(|(name, value)| {
            name.eq_ignore_ascii_case("connection") && value.trim().eq_ignore_ascii_case("close")
        });
        self.keeps_alive = traits.keeps_alive && !closes;
        text.push_str("\r\n");
        text.into_bytes()
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

fn reason(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "",
    }
}
