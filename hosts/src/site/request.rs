//! The head of a request: where it ends, how its body is framed, and what the host refuses by itself.

use httparse::{EMPTY_HEADER, Error, Header, Request, Status};
use mcp_parley_negotiation::http::RequestHead;

/// Headers of one request; more are refused.
pub(crate) const MAX_HEADERS: usize = 256;

/// How the body of a request comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(u64),
    Chunked,
}

/// What the head says of the connection and of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Traits {
    pub(crate) framing: Framing,
    /// The answer may be in chunks, and the connection may stay open: not before HTTP/1.1.
    pub(crate) is_http11: bool,
    pub(crate) keeps_alive: bool,
    /// The client waits for leave to send its body.
    pub(crate) expects_continue: bool,
    /// The verb is HEAD: no answer has a body.
    pub(crate) is_head: bool,
    /// `Host` and `Origin` name this machine, or are absent (HTTP-21).
    pub(crate) is_local: bool,
}

/// Length and traits of the head at the start of `bytes`; `None` if it is not complete.
///
/// # Errors
/// The status that refuses it.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<(usize, Traits)>, u16> {
    let mut headers = [EMPTY_HEADER; MAX_HEADERS];
    let mut request = Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(Status::Complete(length)) => Ok(Some((length, traits(&request)?))),
        Ok(Status::Partial) => Ok(None),
        Err(Error::TooManyHeaders) => Err(431),
        Err(Error::Version) => Err(505),
        Err(_) => Err(400),
    }
}

/// Hands the head on as it came. The error is the status that [`parse`] gives.
pub(crate) fn with_head<R>(bytes: &[u8], then: impl FnOnce(RequestHead<'_>) -> R) -> Result<R, u16> {
    let mut headers = [EMPTY_HEADER; MAX_HEADERS];
    let mut request = Request::new(&mut headers);
    request.parse(bytes).map_err(|_| 400_u16)?;
    let (Some(verb), Some(target)) = (request.method, request.path) else { return Err(400) };
    let headers: Vec<_> = request.headers.iter().map(|own| (own.name.as_bytes(), own.value)).collect();
    Ok(then(RequestHead { verb, target, headers: &headers }))
}

fn traits(request: &Request<'_, '_>) -> Result<Traits, u16> {
    let headers = &*request.headers;
    let is_http11 = request.version == Some(1);
    let says = |name, word: &str| values(headers, name).flat_map(words).any(|own| own == word.as_bytes());
    let keeps_alive = if is_http11 { !says("connection", "close") } else { says("connection", "keep-alive") };
    Ok(Traits {
        framing: framing(headers)?,
        is_http11,
        keeps_alive,
        expects_continue: is_http11 && says("expect", "100-continue"),
        is_head: request.method == Some("HEAD"),
        is_local: values(headers, "host").all(is_loopback_authority)
            && values(headers, "origin").all(is_loopback_origin),
    })
}

/// Whoever says two things about where the body ends could have a second request read into the first.
fn framing(headers: &[Header<'_>]) -> Result<Framing, u16> {
    let mut length = None;
    for value in values(headers, "content-length") {
        let digits = std::str::from_utf8(value).map_err(|_| 400_u16)?.trim();
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let own: u64 = if is_number { digits.parse().map_err(|_| 413_u16)? } else { return Err(400) };
        if length.is_some_and(|other| other != own) {
            return Err(400);
        }
        length = Some(own);
    }
    let codings: Vec<Vec<u8>> = values(headers, "transfer-encoding").flat_map(words).collect();
    match (codings.as_slice(), length) {
        ([], length) => Ok(Framing::Length(length.unwrap_or(0))),
        (_, Some(_)) => Err(400),
        ([only], None) if only == b"chunked" => Ok(Framing::Chunked),
        _ => Err(501),
    }
}

fn values<'a>(headers: &'a [Header<'a>], name: &'static str) -> impl Iterator<Item = &'a [u8]> {
    headers.iter().filter(move |own| own.name.eq_ignore_ascii_case(name)).map(|own| own.value)
}

/// The words of a list, in lower case.
fn words(value: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let words = value.split(|byte| *byte == b',').map(|word| word.trim_ascii().to_ascii_lowercase());
    words.filter(|word| !word.is_empty())
}

/// `Origin: null` is a page that hides where it comes from.
fn is_loopback_origin(value: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(value) else { return false };
    text.split_once("://").is_some_and(|(_, authority)| is_loopback_authority(authority.as_bytes()))
}

/// A name of this machine, with any port: the names that a DNS server could turn on it are others.
fn is_loopback_authority(value: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(value) else { return false };
    let (host, rest) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host, rest),
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let is_port = rest.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    (rest.is_empty() || is_port)
        && (host.eq_ignore_ascii_case("localhost")
            || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback()))
}

/// Whether the request line names this path, also where the rest of the head cannot be read.
pub(crate) fn is_for(bytes: &[u8], path: &str) -> bool {
    let start = bytes.iter().position(|byte| !matches!(byte, b'\r' | b'\n')).unwrap_or(0);
    let line = bytes.get(start..).unwrap_or_default().split(|byte| *byte == b'\n').next().unwrap_or_default();
    let target = line.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
    let target = target.split(|byte| matches!(byte, b'?' | b'#' | b'\r')).next().unwrap_or_default();
    // The form that proxies are sent.
    let target = match target.strip_prefix(b"http://") {
        Some(rest) => {
            rest.get(rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len())..).unwrap_or_default()
        }
        None => target,
    };
    target == path.as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(lines: &str) -> Result<Option<(usize, Traits)>, u16> {
        parse(format!("POST /mcp HTTP/1.1\r\n{lines}\r\n").as_bytes())
    }

    fn framing_of(lines: &str) -> Result<Framing, u16> {
        head(lines).map(|whole| whole.unwrap().1.framing)
    }

    #[test]
    fn body_is_framed_in_one_way_or_refused() {
        assert_eq!(framing_of(""), Ok(Framing::Length(0)));
        assert_eq!(framing_of("content-length: 7\r\nContent-Length: 7\r\n"), Ok(Framing::Length(7)));
        assert_eq!(framing_of("Transfer-Encoding: Chunked\r\n"), Ok(Framing::Chunked));
        assert_eq!(framing_of("content-length: 7\r\ncontent-length: 8\r\n"), Err(400));
        assert_eq!(framing_of("content-length: 7\r\ntransfer-encoding: chunked\r\n"), Err(400));
        assert_eq!(framing_of("content-length: +7\r\n"), Err(400));
        assert_eq!(framing_of("content-length: 99999999999999999999\r\n"), Err(413));
        assert_eq!(framing_of("transfer-encoding: gzip, chunked\r\n"), Err(501));
    }

    #[test]
    fn head_is_incomplete_whole_or_bad() {
        assert_eq!(parse(b"POST /mcp HT"), Ok(None));
        assert_eq!(head("a: b\r\n").unwrap().unwrap().0, 28);
        assert_eq!(head("a b\r\n"), Err(400));
        assert_eq!(head(&"a: b\r\n".repeat(MAX_HEADERS + 1)), Err(431));
        assert_eq!(parse(b"POST /mcp HTTP/2.0\r\n\r\n"), Err(505));
        assert_eq!(parse(b"\x16\x03\x01\x02\x00"), Err(400));
    }

    #[test]
    fn connection_stays_open_as_the_version_says() {
        let keeps = |bytes: &[u8]| parse(bytes).unwrap().unwrap().1.keeps_alive;
        assert!(keeps(b"GET / HTTP/1.1\r\n\r\n"));
        assert!(!keeps(b"GET / HTTP/1.1\r\nConnection: x, Close\r\n\r\n"));
        assert!(!keeps(b"GET / HTTP/1.0\r\n\r\n"));
        assert!(keeps(b"GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n"));
    }

    #[test]
    fn only_this_machine_is_local() {
        let local = |lines: &str| head(lines).unwrap().unwrap().1.is_local;
        for good in [
            "",
            "host: 127.0.0.1:80\r\n",
            "Host: localhost\r\nOrigin: http://LOCALHOST:3000\r\n",
            "host: [::1]:8080\r\norigin: https://127.0.0.2\r\n",
        ] {
            assert!(local(good), "{good}");
        }
        for bad in [
            "host: evil.example\r\n",
            "host: localhost.evil.example\r\n",
            "host: 127.0.0.1:80:90\r\n",
            "origin: null\r\n",
            "origin: http://localhost:3000@evil.example\r\n",
            "origin: http://127.0.0.1\r\norigin: http://evil.example\r\n",
            "origin: \r\n",
        ] {
            assert!(!local(bad), "{bad}");
        }
    }

    #[test]
    fn path_is_found_in_heads_that_cannot_be_read() {
        assert!(is_for(b"\r\nPOST /x/mcp?a=b HTTP/1.1\r\nbad header\r\n", "/x/mcp"));
        assert!(is_for(b"POST http://127.0.0.1:8/x/mcp HTTP/1.1\r\n\r\n", "/x/mcp"));
        assert!(!is_for(b"POST /x/mcp2 HTTP/1.1\r\n\r\n", "/x/mcp"));
        assert!(!is_for(b"GET http://127.0.0.1:8", "/x/mcp"));
        assert!(!is_for(b"\x16\x03\x01", "/x/mcp"));
    }

    #[test]
    fn head_is_handed_on_as_it_came() {
        let bytes = b"POST /mcp HTTP/1.1\r\nX-B: 2 \r\nx-a:1\r\nX-B: 3\r\n\r\n";
        let seen = with_head(bytes, |head| {
            assert_eq!((head.verb, head.target), ("POST", "/mcp"));
            head.headers.iter().map(|(name, value)| [*name, *value].concat()).collect::<Vec<_>>()
        });
        assert_eq!(seen.unwrap(), [b"X-B2", b"x-a1", b"X-B3"].map(|own| own.to_vec()));
    }
}
