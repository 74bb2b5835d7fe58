//! HTTP as the machines see it: an exchange is a head, body chunks and an end. Names and values keep their case, order
//! and duplicates.

/// Names one HTTP exchange; numbered by whoever opens it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Exchange(pub u32);

/// The head of a response: a status and headers as they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpHead<'a> {
    /// The status code.
    pub status: u16,
    /// Names and values in order.
    pub headers: &'a [(&'a [u8], &'a [u8])],
}

/// The head of a request as a server sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHead<'a> {
    /// `POST`, `GET`, `DELETE` or another one.
    pub verb: &'a str,
    /// What stands between verb and version.
    pub target: &'a str,
    /// Names and values in order, as they came.
    pub headers: &'a [(&'a [u8], &'a [u8])],
}

/// The value of every header of this name, in order; the name compares without case.
pub fn header_values<'a>(
    headers: &'a [(&'a [u8], &'a [u8])],
    name: &str,
) -> impl Iterator<Item = &'a [u8]> + use<'a> {
    let name = name.to_owned();
    headers.iter().filter(move |(own, _)| own.eq_ignore_ascii_case(name.as_bytes())).map(|(_, value)| *value)
}

/// How a body ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HttpEnd {
    /// As its framing said.
    Complete,
    /// The connection was reset.
    Reset,
    /// The connection was closed before the body was complete.
    Truncated,
    /// There was no connection at all.
    Refused,
}

/// A request to be made; its body is in the caller's buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// `POST`, `GET` or `DELETE`.
    pub verb: &'static str,
    /// Names and values in order.
    pub headers: Vec<(&'static str, String)>,
}
