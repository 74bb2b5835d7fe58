//! The head of an answer as it stands on the wire.

use super::ResponseHead;

/// What frames the body that follows a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFraming {
    /// There is none: the status forbids it.
    Without,
    /// So many bytes.
    Length(usize),
    /// Pieces, each with its length.
    Chunked,
}

impl ResponseHead {
    /// How the body is framed in HTTP/1.1.
    pub fn framing(&self) -> BodyFraming {
        match (self.status, self.length) {
            (100..200 | 204 | 304, _) => BodyFraming::Without,
            (_, Some(length)) => BodyFraming::Length(length),
            (_, None) => BodyFraming::Chunked,
        }
    }

    /// From the status line to the empty line: names and values as they are given, and behind them what the body needs.
    pub fn to_bytes(&self, framing: BodyFraming) -> Vec<u8> {
        let mut text = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        for (name, value) in &self.headers {
            text.extend([name, ": ", value, "\r\n"]);
        }
        match framing {
            BodyFraming::Without => {}
            BodyFraming::Length(length) => text.push_str(&format!("content-length: {length}\r\n")),
            BodyFraming::Chunked => text.push_str("transfer-encoding: chunked\r\n"),
        }
        text.push_str("\r\n");
        text.into_bytes()
    }
}

/// The words of RFC 9110 for a status; none for one that it does not have.
pub fn reason(status: u16) -> &'static str {
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
