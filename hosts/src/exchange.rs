//! One HTTP exchange as a client: a connection of its own, the request as it is given, and the answer as it comes.

use std::fmt;
use std::io;
use std::time::Duration;

use httparse::{EMPTY_HEADER, Response, Status};
use mcp_parley_negotiation::http::{HttpEnd, HttpRequest};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::site::{Body, Framing, MAX_HEADERS, Step};
use crate::tls;

const CHUNK_BYTES: usize = 16 << 10;
const MAX_HEAD_BYTES: usize = 64 << 10;
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// How an alert or a handshake of TLS begins.
const TLS_RECORDS: [&[u8]; 2] = [&[0x15, 3], &[0x16, 3]];

/// Where a server is.
#[derive(Clone)]
pub struct Endpoint {
    authority: String,
    host: String,
    address: String,
    target: String,
    tls: Option<TlsConnector>,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority, self.target)
    }
}

/// Why a URL names no server that can be reached.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EndpointError {
    /// There is no TLS on this machine. Why.
    #[error("cannot use https: {0}")]
    Tls(String),
    /// It is something else.
    #[error("not a URL of a server: say http://HOST:PORT/PATH, or https://")]
    Malformed,
}

impl Endpoint {
    /// Reads `http://HOST[:PORT][/PATH]`, or the same with `https`.
    ///
    /// # Errors
    /// When it is something else, or this machine trusts no authority that signs certificates.
    pub fn parse(url: &str) -> Result<Self, EndpointError> {
        let (is_tls, rest) = match (url.strip_prefix("http://"), url.strip_prefix("https://")) {
            (Some(rest), _) => (false, rest),
            (None, Some(rest)) => (true, rest),
            (None, None) => return Err(EndpointError::Malformed),
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let is_plain = rest.bytes().all(|byte| byte.is_ascii_graphic()) && !authority.contains('@');
        // The last part of an address of IPv6 is no port.
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port.parse::<u16>().ok()),
            _ => (authority, Some(if is_tls { 443 } else { 80 })),
        };
        let (Some(port), false, true) = (port, host.is_empty(), is_plain) else {
            return Err(EndpointError::Malformed);
        };
        let target = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
        let tls = is_tls.then(tls::system).transpose().map_err(EndpointError::Tls)?;
        let (authority, address) = (authority.to_owned(), format!("{host}:{port}"));
        Ok(Self { authority, host: host.to_owned(), address, target, tls })
    }

    /// The head of a request as it will be on the wire: to be recorded before it is sent.
    pub fn head(&self, request: &HttpRequest, body: &[u8]) -> Vec<u8> {
        let mut text = format!("{} {} HTTP/1.1\r\nHost: {}\r\n", request.verb, self.target, self.authority);
        for (name, value) in &request.headers {
            text.extend([name, ": ", value, "\r\n"]);
        }
        if request.verb == "POST" || !body.is_empty() {
            text.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        text.push_str("Connection: close\r\n\r\n");
        text.into_bytes()
    }
}

/// What comes of an exchange. Bytes are as they came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExchangeNotice {
    /// A head, from the status line to the empty line. Interim ones come before the last.
    Head(Vec<u8>),
    /// A piece of the body, without the framing of the transfer.
    Body(Vec<u8>),
    /// The last notice: how it ended, and why where there is something to say.
    End(HttpEnd, Option<String>),
}

/// Sends a request on a connection of its own and hands on what comes, until the end. Dropping it aborts the exchange: the connection
/// is closed. It waits for the receiver, so what is not taken is not read; how long all of it may take is the caller's business.
pub async fn exchange(endpoint: &Endpoint, head: &[u8], body: &[u8], notices: &mpsc::Sender<ExchangeNotice>) {
    let (end, why) = match run(endpoint, head, body, notices).await {
        Ok(()) => (HttpEnd::Complete, None),
        Err(Ended(end, why)) => (end, why),
    };
    // Nobody listens any more: then nobody needs to know.
    let _ = notices.send(ExchangeNotice::End(end, why)).await;
}

struct Ended(HttpEnd, Option<String>);

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Self {
        let is_reset = error.kind() == io::ErrorKind::ConnectionReset;
        Self(if is_reset { HttpEnd::Reset } else { HttpEnd::Truncated }, Some(error.to_string()))
    }
}

/// What the head says of the bytes behind it.
enum Rest {
    Framed(Body),
    UntilClose,
    /// None, and another head follows.
    Interim,
}

async fn run(
    endpoint: &Endpoint,
    head: &[u8],
    body: &[u8],
    notices: &mpsc::Sender<ExchangeNotice>,
) -> Result<(), Ended> {
    let refused = |why: String| Ended(HttpEnd::Refused, Some(why));
    let connected = timeout(CONNECT_TIME, TcpStream::connect(&endpoint.address)).await;
    let connected = connected.map_err(|_| refused(format!("no answer within {CONNECT_TIME:?}")))?;
    let stream = connected.map_err(|error| refused(unreachable(&endpoint.address, &error)))?;
    stream.set_nodelay(true)?;
    let Some(connector) = &endpoint.tls else { return speak(stream, head, body, notices).await };
    let secured = timeout(CONNECT_TIME, tls::connect(connector, &endpoint.host, stream)).await;
    let secured = secured.map_err(|_| refused(format!("TLS is not agreed on within {CONNECT_TIME:?}")))?;
    speak(secured.map_err(refused)?, head, body, notices).await
}

fn unreachable(address: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            format!("nobody listens on {address}: does the server run, and is this its port?")
        }
        _ => format!("cannot connect to {address}: {error}"),
    }
}

async fn speak(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    head: &[u8],
    body: &[u8],
    notices: &mpsc::Sender<ExchangeNotice>,
) -> Result<(), Ended> {
    // A server may answer before it has all of the request, and close.
    let sent = async {
        stream.write_all(head).await?;
        stream.write_all(body).await?;
        stream.flush().await
    }
    .await;
    let mut buffer = Vec::new();
    let mut rest = Rest::Interim;
    let is_head = head.starts_with(b"HEAD ");
    loop {
        match &mut rest {
            Rest::Interim => {
                if let Some((length, next)) = parse(&buffer, is_head)? {
                    hand_on(notices, ExchangeNotice::Head(buffer.drain(..length).collect())).await?;
                    rest = next;
                    continue;
                }
            }
            Rest::Framed(framed) => match framed.step(&buffer) {
                Step::Skip(n) => {
                    buffer.drain(..n);
                    continue;
                }
                Step::Data(n) => {
                    hand_on(notices, ExchangeNotice::Body(buffer.drain(..n).collect())).await?;
                    continue;
                }
                Step::Done => return Ok(()),
                Step::Bad(_) => return Err(malformed("the framing of the body cannot be read")),
                Step::More => {}
            },
            Rest::UntilClose if !buffer.is_empty() => {
                hand_on(notices, ExchangeNotice::Body(std::mem::take(&mut buffer))).await?;
            }
            Rest::UntilClose => {}
        }
        buffer.reserve(CHUNK_BYTES);
        if stream.read_buf(&mut buffer).await? == 0 {
            return match (rest, sent) {
                (Rest::UntilClose, _) => Ok(()),
                (_, Err(error)) => Err(error.into()),
                _ => Err(Ended(HttpEnd::Truncated, None)),
            };
        }
    }
}

async fn hand_on(notices: &mpsc::Sender<ExchangeNotice>, notice: ExchangeNotice) -> Result<(), Ended> {
    notices.send(notice).await.map_err(|_| Ended(HttpEnd::Truncated, None))
}

fn malformed(why: &str) -> Ended {
    Ended(HttpEnd::Truncated, Some(why.to_owned()))
}

/// The length of the head, if it is complete, and what follows.
fn parse(bytes: &[u8], is_head: bool) -> Result<Option<(usize, Rest)>, Ended> {
    let mut headers = [EMPTY_HEADER; MAX_HEADERS];
    let mut response = Response::new(&mut headers);
    let length = match response.parse(bytes) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) if bytes.len() < MAX_HEAD_BYTES => return Ok(None),
        Ok(Status::Partial) => return Err(malformed("the head of the answer does not end")),
        Err(_) if TLS_RECORDS.iter().any(|record| bytes.starts_with(record)) => {
            return Err(malformed("the answer is TLS: is it an https:// URL?"));
        }
        Err(error) => return Err(malformed(&format!("the head of the answer cannot be read: {error}"))),
    };
    let values = |name: &'static str| {
        response.headers.iter().filter(move |own| own.name.eq_ignore_ascii_case(name)).map(|own| own.value)
    };
    let chunked =
        values("transfer-encoding").any(|value| value.trim_ascii().eq_ignore_ascii_case(b"chunked"));
    let digits = values("content-length").next().map(<[u8]>::trim_ascii);
    let framing = match (response.code.unwrap_or_default(), digits) {
        (100..200, _) => return Ok(Some((length, Rest::Interim))),
        (204 | 304, _) => Some(Framing::Length(0)),
        _ if is_head => Some(Framing::Length(0)),
        _ if chunked => Some(Framing::Chunked),
        (_, None) => None,
        (_, Some(digits)) => {
            let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
            Some(Framing::Length(number.ok_or_else(|| malformed("the length of the answer is no number"))?))
        }
    };
    let rest = match framing.map(|framing| Body::new(framing, usize::MAX)) {
        None => Rest::UntilClose,
        Some(Ok(body)) => Rest::Framed(body),
        Some(Err(_)) => return Err(malformed("the answer is too long")),
    };
    Ok(Some((length, rest)))
}
