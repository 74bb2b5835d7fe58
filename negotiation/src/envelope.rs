//! One JSON-RPC message: what it is, and everything that is wrong with it.

use crate::examine::Examiner;
use crate::issue::{IssueId, IssueSink};
use crate::json::{self, Kind, Noted, Number, Raw, RawStr};
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
    /// A response: `result` or `error`, or what can only be meant as one.
    Response(Response<'a>),
    /// An array.
    Batch,
    /// JSON, but no message: another type, or an object with none of the members, or with a `method` that is no string.
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
    /// It can only be meant as a response and cannot be read as one: both `result` and `error` or, beside `jsonrpc` and `id`, neither;
    /// `error: null`, a code that is no integer, a result that is no object, `jsonrpc` that is not "2.0", a `method` besides.
    /// The issues say which (AMB-04).
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

/// Reads one message (one line without its newline, or one HTTP body). Total: every input has an answer. The issues are
/// those of the message itself; what its parameters, result or data hold is for others to judge.
pub fn read_message<'a>(bytes: &'a [u8], limits: &Limits, issues: &mut IssueSink) -> Message<'a> {
    let mut noted = Noted::default();
    let Some(value) = json::check_noting(bytes, limits, issues, &mut noted) else { return Message::NotJson };
    let mut examiner = Examiner::new(bytes, issues);
    match value.kind() {
        Kind::Object => read_object(value, &noted, limits, &mut examiner),
        Kind::Array => {
            examiner.issue(IssueId::Batch, value);
            Message::Batch
        }
        _ => {
            examiner.issue(IssueId::NotAnObject, value);
            Message::NotAMessage
        }
    }
}

fn read_object<'a>(
    object: Raw<'a>,
    noted: &Noted<'a>,
    limits: &Limits,
    examiner: &mut Examiner<'_>,
) -> Message<'a> {
    let names = ["jsonrpc", "id", "method", "params", "result", "error"];
    let [jsonrpc, id, method, params, result, error] = match noted.members() {
        Some(members) => examiner.pick_from(members, names),
        None => examiner.pick(object, names),
    };
    let jsonrpc = examiner.required(jsonrpc, object, IssueId::JsonrpcMissing);
    let is_meant = jsonrpc.is_some() && id.is_some();
    let is_right = |version: Raw<'_>| version.as_str().is_some_and(|version| version.eq_str("2.0"));
    let jsonrpc = examiner.checked(jsonrpc, is_right, IssueId::JsonrpcWrong);
    let (id_raw, id) = (id, read_id(id, limits, examiner));
    let method_name =
        examiner.of_kind(method, Kind::String, IssueId::MethodWrongType).and_then(|name| name.as_str());
    let Some(answer) = result.or(error) else {
        return match (method, method_name) {
            (_, Some(method)) => {
                let params = examiner.of_kind(params, Kind::Object, IssueId::ParamsWrongType);
                match id {
                    Id::Absent => Message::Notification { method, params },
                    _ => Message::Request(Request { id, method, params }),
                }
            }
            (Some(_), None) => Message::NotAMessage,
            (None, None) => {
                examiner.issue(IssueId::NeitherResultNorError, object);
                // With an id it can only be meant as a response; a line of a log may have one, but no `jsonrpc`.
                let broken = Message::Response(Response { id, outcome: Outcome::Broken });
                if is_meant { broken } else { Message::NotAMessage }
            }
        };
    };
    if method.is_some() {
        examiner.issue(IssueId::MethodAndOutcome, answer);
    }
    if id_raw.is_none() && result.is_some() {
        examiner.issue(IssueId::IdMissing, object);
    }
    let outcome = read_outcome(result, error, examiner).filter(|_| jsonrpc.is_some() && method.is_none());
    Message::Response(Response { id, outcome: outcome.unwrap_or(Outcome::Broken) })
}

fn read_id<'a>(id: Option<Raw<'a>>, limits: &Limits, examiner: &mut Examiner<'_>) -> Id<'a> {
    let Some(raw) = id else { return Id::Absent };
    let (id, wrong) = match (raw.as_str(), raw.as_number()) {
        _ if raw.text().len() > limits.id_bytes => (Id::Other(raw), IssueId::IdHuge),
        (Some(text), _) => match text.raw().parse() {
            Ok(value) if cfg!(planted = "id-type") => return Id::Integer(value),
            _ => return Id::String(text),
        },
        (_, Some(Number::Integer(value))) => return Id::Integer(value),
        (_, Some(Number::Huge { .. })) => (Id::Other(raw), IssueId::IdHuge),
        (_, Some(Number::Fraction { .. })) => (Id::Other(raw), IssueId::IdFractional),
        _ if raw.kind() == Kind::Null => (Id::Null, IssueId::IdNull),
        _ => (Id::Other(raw), IssueId::IdWrongType),
    };
    examiner.issue(wrong, raw);
    id
}

fn read_outcome<'a>(
    result: Option<Raw<'a>>,
    error: Option<Raw<'a>>,
    examiner: &mut Examiner<'_>,
) -> Option<Outcome<'a>> {
    let object = examiner.of_kind(result, Kind::Object, IssueId::ResultWrongType);
    let read = error.and_then(|error| read_error(error, examiner));
    match (result, error) {
        (Some(_), Some(error)) => {
            examiner.issue(IssueId::ResultAndError, error);
            None
        }
        (Some(_), None) => object.map(Outcome::Result),
        (None, _) => read.map(Outcome::Error),
    }
}

fn read_error<'a>(error: Raw<'a>, examiner: &mut Examiner<'_>) -> Option<ErrorObject<'a>> {
    let wrong = if error.kind() == Kind::Null { IssueId::ErrorNull } else { IssueId::ErrorWrongType };
    examiner.of_kind(Some(error), Kind::Object, wrong)?;
    let [code, message, data] = examiner.pick(error, ["code", "message", "data"]);
    let code = examiner.required(code, error, IssueId::CodeMissing);
    let code = code.and_then(|code| read_code(code, examiner));
    let message = examiner.required(message, error, IssueId::MessageMissing);
    let message = examiner.of_kind(message, Kind::String, IssueId::MessageWrongType);
    Some(ErrorObject { code: code?, message: message.and_then(|message| message.as_str()), data, raw: error })
}

fn read_code(code: Raw<'_>, examiner: &mut Examiner<'_>) -> Option<i64> {
    let wrong = match code.as_number() {
        Some(Number::Integer(code)) => return Some(code),
        Some(Number::Fraction { .. }) => IssueId::CodeFractional,
        Some(Number::Huge { .. }) => IssueId::CodeHuge,
        None if code.kind() == Kind::String => IssueId::CodeString,
        None => IssueId::CodeWrongType,
    };
    examiner.issue(wrong, code);
    None
}
