//! One JSON-RPC message: what it is, and everything that is wrong with it.

use crate::issue::{IssueId, IssueSink};
use crate::json::{self, Kind, Number, Raw, RawStr};
use crate::limits::Limits;

/// The `id` of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Id<'a> {
    /// A string.
    String(RawStr<'a>),
    /// An integer that fits 64 bits, also when written `1.0` or `1e0`.
    Integer(i64),
    /// `null`.
    Null,
    /// There is none.
    Absent,
    /// A fraction, a huge number, or another type: it matches no request. The JSON text.
    Other(Raw<'a>),
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// A request: `method` and an `id` (which may be malformed).
    Request(Request<'a>),
    /// A notification: `method` and no `id`.
    Notification {
        /// The method.
        method: RawStr<'a>,
        /// Its parameters.
        params: Option<Raw<'a>>,
    },
    /// A response: `result` or `error`.
    Response(Response<'a>),
    /// An array.
    Batch,
    /// JSON, but no message: another type, or an object with none of the members.
    NotAMessage,
    /// Not JSON within the limits.
    NotJson,
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// Its id.
    pub id: Id<'a>,
    /// The method.
    pub method: RawStr<'a>,
    /// Its parameters, if they are an object; anything else is an issue.
    pub params: Option<Raw<'a>>,
}

/// A response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response<'a> {
    /// Its id.
    pub id: Id<'a>,
    /// What it says.
    pub outcome: Outcome<'a>,
}

/// What a response says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// `result`, an object.
    Result(Raw<'a>),
    /// `error`, an object with an integer code; a missing or odd message is an issue and no more.
    Error(ErrorObject<'a>),
    /// It has `result` or `error` and cannot be read as either: both, `error: null`, a code that is no integer, a result that
    /// is no object, `jsonrpc` that is not "2.0". The issues say which (AMB-04).
    Broken,
}

/// An error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorObject<'a> {
    /// Its code.
    pub code: i64,
    /// Its message, if it is a string.
    pub message: Option<RawStr<'a>>,
    /// Its data, of any type.
    pub data: Option<Raw<'a>>,
    /// The object itself.
    pub raw: Raw<'a>,
}

const MEMBERS: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

/// The members of a message, as they stand.
struct Members<'a> {
    id: Option<Raw<'a>>,
    method: Option<Raw<'a>>,
    params: Option<Raw<'a>>,
    result: Option<Raw<'a>>,
    error: Option<Raw<'a>>,
}

/// Reads one message (one line without its newline, or one HTTP body). Total: every input has an answer.
pub fn read_message<'a>(bytes: &'a [u8], limits: &Limits, issues: &mut IssueSink) -> Message<'a> {
    let Some(value) = json::check(bytes, limits, issues) else { return Message::NotJson };
    let at = value.offset_in(bytes);
    match value.kind() {
        Kind::Object => {}
        Kind::Array => {
            issues.push(IssueId::Batch, at);
            return Message::Batch;
        }
        _ => {
            issues.push(IssueId::NotAnObject, at);
            return Message::NotAMessage;
        }
    }
    let [jsonrpc, id, method, params, result, error] = json::pick(bytes, value, MEMBERS, issues);
    let members = Members { id, method, params, result, error };
    let jsonrpc = read_jsonrpc(jsonrpc, bytes, at, issues);
    let outcome = members.result.or(members.error);
    match (members.method, outcome) {
        (None, None) => {
            issues.push(IssueId::NeitherResultNorError, at);
            // With an id it can only be meant as a response; without one it is nothing.
            if members.id.is_none() {
                return Message::NotAMessage;
            }
            let id = json::read_id(members.id, bytes, limits, None, issues);
            Message::Response(Response { id, outcome: Outcome::Broken })
        }
        (Some(method), None) => read_call(&members, method, bytes, limits, issues),
        (method, Some(outcome)) => {
            let id = json::read_id(members.id, bytes, limits, Some(at), issues);
            let read = read_outcome(&members, bytes, issues);
            if method.is_some() {
                issues.push(IssueId::MethodAndOutcome, outcome.offset_in(bytes));
            }
            let broken = !jsonrpc || method.is_some();
            Message::Response(Response { id, outcome: if broken { Outcome::Broken } else { read } })
        }
    }
}

fn read_jsonrpc(value: Option<Raw<'_>>, base: &[u8], at: usize, issues: &mut IssueSink) -> bool {
    match value {
        None => issues.push(IssueId::JsonrpcMissing, at),
        Some(value) if value.as_str().is_some_and(|text| text.eq_str("2.0")) => return true,
        Some(value) => issues.push(IssueId::JsonrpcWrong, value.offset_in(base)),
    }
    false
}

fn read_call<'a>(
    members: &Members<'a>,
    method: Raw<'a>,
    base: &[u8],
    limits: &Limits,
    issues: &mut IssueSink,
) -> Message<'a> {
    let Some(name) = method.as_str() else {
        issues.push(IssueId::MethodWrongType, method.offset_in(base));
        return Message::NotAMessage;
    };
    let params = members.params.filter(|params| {
        let object = params.kind() == Kind::Object;
        if !object {
            issues.push(IssueId::ParamsWrongType, params.offset_in(base));
        }
        object
    });
    if members.id.is_none() {
        return Message::Notification { method: name, params };
    }
    let id = json::read_id(members.id, base, limits, None, issues);
    Message::Request(Request { id, method: name, params })
}

fn read_outcome<'a>(members: &Members<'a>, base: &[u8], issues: &mut IssueSink) -> Outcome<'a> {
    match (members.result, members.error) {
        (Some(_), Some(error)) => {
            issues.push(IssueId::ResultAndError, error.offset_in(base));
            Outcome::Broken
        }
        (Some(result), None) if result.kind() == Kind::Object => Outcome::Result(result),
        (Some(result), None) => {
            issues.push(IssueId::ResultWrongType, result.offset_in(base));
            Outcome::Broken
        }
        (None, Some(error)) => read_error(error, base, issues).map_or(Outcome::Broken, Outcome::Error),
        (None, None) => Outcome::Broken,
    }
}

fn read_error<'a>(error: Raw<'a>, base: &[u8], issues: &mut IssueSink) -> Option<ErrorObject<'a>> {
    let at = error.offset_in(base);
    match error.kind() {
        Kind::Object => {}
        Kind::Null => {
            issues.push(IssueId::ErrorNull, at);
            return None;
        }
        _ => {
            issues.push(IssueId::ErrorWrongType, at);
            return None;
        }
    }
    let [code, message, data] = json::pick(base, error, ["code", "message", "data"], issues);
    match message {
        None => issues.push(IssueId::MessageMissing, at),
        Some(message) if message.kind() != Kind::String => {
            issues.push(IssueId::MessageWrongType, message.offset_in(base));
        }
        Some(_) => {}
    }
    let Some(code) = code else {
        issues.push(IssueId::CodeMissing, at);
        return None;
    };
    let wrong = match (code.kind(), code.as_number()) {
        (_, Some(Number::Integer(code))) => {
            let message = message.and_then(|text| text.as_str());
            return Some(ErrorObject { code, message, data, raw: error });
        }
        (Kind::String, _) => IssueId::CodeString,
        (_, Some(Number::Fraction { .. })) => IssueId::CodeFractional,
        (_, Some(Number::Huge { .. })) => IssueId::CodeHuge,
        _ => IssueId::CodeWrongType,
    };
    issues.push(wrong, code.offset_in(base));
    None
}
