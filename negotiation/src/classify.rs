//! What one answer to `server/discover` says, and which version follows from it.

use crate::codes;
use crate::envelope::{ErrorObject, Id, Message, Outcome, read_message};
use crate::issue::{IssueId, IssueSink};
use crate::json::{self, Kind, Number, Raw, RawStr};
use crate::limits::Limits;
use crate::meta;
use crate::version::Preferences;

/// An answer, read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply<'a> {
    /// Its id, for the caller to compare.
    pub id: Id<'a>,
    /// What it says.
    pub kind: ReplyKind<'a>,
}

/// What an answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyKind<'a> {
    /// A DiscoverResult: a result whose `supportedVersions` is an array, whatever else is wrong with it (AMB-02).
    Discovered(Discovered<'a>),
    /// -32022, whatever its data (ERA-04, AMB-03).
    UnsupportedVersion(Unsupported),
    /// -32020 or -32021 (ERA-02).
    ModernError(i64),
    /// Any other error.
    OtherError(i64),
    /// A result that is no DiscoverResult (AMB-02).
    OtherResult(ResultType<'a>),
    /// A response that is neither a result nor an error (AMB-04).
    Broken,
    /// A request from the server. Its method.
    Request(RawStr<'a>),
    /// A notification. Its method.
    Notification(RawStr<'a>),
    /// Not a message at all (AMB-07), or a batch (AMB-04).
    NotAMessage,
}

/// The type of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultType<'a> {
    /// "complete".
    Complete,
    /// "input_required".
    InputRequired,
    /// Absent (AMB-29).
    Absent,
    /// Another string (BASE-09).
    Unknown(RawStr<'a>),
    /// No string (BASE-09).
    WrongType(Raw<'a>),
}

/// Which of our versions stand in a list of the server's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// The best of our modern versions in the list: an index into [`Preferences::modern`].
    pub modern: Option<u16>,
    /// The best of our legacy versions in the list: an index into [`Preferences::legacy`].
    pub legacy: Option<u16>,
    /// How many strings the list has.
    pub strings: u32,
    /// All of our modern versions in the list, by bit (the first 64).
    pub modern_set: u64,
}

/// A DiscoverResult.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Discovered<'a> {
    /// What `supportedVersions` has of ours.
    pub listed: Listed,
    /// Its type.
    pub result_type: ResultType<'a>,
    /// How long it may be kept, in milliseconds: 0 if absent or negative (CACHE-08, CACHE-09), the largest number if huge.
    pub ttl_ms: u64,
    /// False if `ttlMs` or `cacheScope` is odd in another way than an absent or negative `ttlMs` (AMB-06).
    pub hints_fine: bool,
    /// `capabilities`, if it is an object.
    pub capabilities: Option<Raw<'a>>,
}

/// A -32022.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// What `data.supported` has of ours.
    pub listed: Listed,
    /// True if `data` is an object whose `supported` is an array of strings with at least one member (AMB-03).
    pub well_formed: bool,
}

const RESULT_MEMBERS: [&str; 7] =
    ["resultType", "supportedVersions", "capabilities", "ttlMs", "cacheScope", "instructions", "_meta"];

/// Classifies one response to `server/discover` and selects the version. Total: every input has an answer.
pub fn classify_reply<'a>(
    bytes: &'a [u8],
    preferences: &Preferences,
    limits: &Limits,
    issues: &mut IssueSink,
) -> Reply<'a> {
    let (id, kind) = match read_message(bytes, limits, issues) {
        Message::Request(request) => (request.id, ReplyKind::Request(request.method)),
        Message::Notification { method, .. } => (Id::Absent, ReplyKind::Notification(method)),
        Message::Batch | Message::NotAMessage | Message::NotJson => (Id::Absent, ReplyKind::NotAMessage),
        Message::Response(response) => {
            let kind = match response.outcome {
                Outcome::Result(result) => read_result(result, bytes, preferences, issues),
                Outcome::Error(error) => classify_error(error, bytes, preferences, issues),
                Outcome::Broken => ReplyKind::Broken,
            };
            (response.id, kind)
        }
    };
    Reply { id, kind }
}

fn classify_error<'a>(
    error: ErrorObject<'a>,
    base: &[u8],
    preferences: &Preferences,
    issues: &mut IssueSink,
) -> ReplyKind<'a> {
    match error.code {
        code if code == codes::UNSUPPORTED_VERSION.code => {
            ReplyKind::UnsupportedVersion(read_unsupported(error, base, preferences, issues))
        }
        code if codes::is_recognised_modern(code) => ReplyKind::ModernError(code),
        code => ReplyKind::OtherError(code),
    }
}

/// NEG-06.
fn read_unsupported(
    error: ErrorObject<'_>,
    base: &[u8],
    preferences: &Preferences,
    issues: &mut IssueSink,
) -> Unsupported {
    let Some(data) = error.data else {
        issues.push(IssueId::DataMissing, 0);
        return Unsupported { listed: Listed::default(), well_formed: false };
    };
    if data.kind() != Kind::Object {
        issues.push(IssueId::DataWrongType, data.offset_in(base));
        return Unsupported { listed: Listed::default(), well_formed: false };
    }
    let [supported, requested] = json::pick(base, data, ["supported", "requested"], issues);
    match requested {
        None => issues.push(IssueId::RequestedMissing, data.offset_in(base)),
        Some(value) if value.kind() != Kind::String => {
            issues.push(IssueId::RequestedWrongType, value.offset_in(base));
        }
        Some(_) => {}
    }
    let before = issues.count();
    let listed = read_versions(supported, data, base, preferences, issues);
    let well_formed = listed.strings > 0 && issues.count() == before;
    if let (Some(list), Some(asked)) = (supported, requested.and_then(|text| text.as_str())) {
        let asked = asked.decode();
        if let Some(same) = list.elements().find(|item| item.as_str().is_some_and(|text| text.eq_str(&asked)))
        {
            issues.push(IssueId::RefusedVersionListed, same.offset_in(base));
        }
    }
    Unsupported { listed, well_formed }
}

/// A list of versions: what of it is ours. A version that stands in it twice is reported and does no harm.
fn read_versions(
    list: Option<Raw<'_>>,
    parent: Raw<'_>,
    base: &[u8],
    preferences: &Preferences,
    issues: &mut IssueSink,
) -> Listed {
    let mut listed = Listed::default();
    let Some(list) = list else {
        issues.push(IssueId::VersionsMissing, parent.offset_in(base));
        return listed;
    };
    if list.kind() != Kind::Array {
        issues.push(IssueId::VersionsWrongType, list.offset_in(base));
        return listed;
    }
    let mut any = false;
    let mut legacy_set = 0_u64;
    for item in list.elements() {
        any = true;
        let Some(name) = item.as_str() else {
            issues.push(IssueId::VersionWrongType, item.offset_in(base));
            continue;
        };
        listed.strings = listed.strings.saturating_add(1);
        let place =
            |ours: &[crate::version::ProtocolVersion]| ours.iter().position(|v| name.eq_str(v.as_str()));
        let seen = match (place(&preferences.modern), place(&preferences.legacy)) {
            (Some(at), _) => note(at, &mut listed.modern, &mut listed.modern_set),
            (None, Some(at)) => note(at, &mut listed.legacy, &mut legacy_set),
            (None, None) => false,
        };
        if seen {
            issues.push(IssueId::VersionDuplicate, item.offset_in(base));
        }
    }
    if !any {
        issues.push(IssueId::VersionsEmpty, list.offset_in(base));
    }
    listed
}

/// Keeps the best place; true if it was there before.
fn note(at: usize, best: &mut Option<u16>, set: &mut u64) -> bool {
    let place = u16::try_from(at).unwrap_or(u16::MAX);
    *best = Some(best.map_or(place, |old| old.min(place)));
    let bit = u32::try_from(at).ok().and_then(|at| 1_u64.checked_shl(at)).unwrap_or(0);
    let seen = *set & bit != 0;
    *set |= bit;
    seen
}

/// DISC-02, BASE-08, CACHE-01 to CACHE-03.
fn read_result<'a>(
    result: Raw<'a>,
    base: &[u8],
    preferences: &Preferences,
    issues: &mut IssueSink,
) -> ReplyKind<'a> {
    let [kind, versions, capabilities, ttl, scope, instructions, meta] =
        json::pick(base, result, RESULT_MEMBERS, issues);
    let at = result.offset_in(base);
    let result_type = read_type(kind);
    match result_type {
        ResultType::Complete => {}
        ResultType::InputRequired => issues.push(IssueId::ResultTypeInputRequired, at),
        ResultType::Absent => issues.push(IssueId::ResultTypeMissing, at),
        ResultType::Unknown(text) => {
            issues.push(IssueId::ResultTypeUnknown, text.offset_in(base).saturating_sub(1))
        }
        ResultType::WrongType(value) => issues.push(IssueId::ResultTypeWrongType, value.offset_in(base)),
    }
    if versions.is_none_or(|list| list.kind() != Kind::Array) {
        read_versions(versions, result, base, preferences, issues);
        return ReplyKind::OtherResult(result_type);
    }
    let listed = read_versions(versions, result, base, preferences, issues);
    let capabilities = read_capabilities(capabilities, result, base, issues);
    let (ttl_ms, ttl_fine) = read_ttl(ttl, result, base, issues);
    let scope_fine = read_scope(scope, result, base, issues);
    if let Some(text) = instructions.filter(|value| value.kind() != Kind::String) {
        issues.push(IssueId::InstructionsWrongType, text.offset_in(base));
    }
    let info = meta.and_then(|meta| meta.get(meta::SERVER_INFO));
    if let Some(info) = info.filter(|info| !meta::is_implementation(*info)) {
        issues.push(IssueId::InfoWrongType, info.offset_in(base));
    }
    ReplyKind::Discovered(Discovered {
        listed,
        result_type,
        ttl_ms,
        hints_fine: ttl_fine && scope_fine,
        capabilities,
    })
}

fn read_type(value: Option<Raw<'_>>) -> ResultType<'_> {
    let Some(value) = value else { return ResultType::Absent };
    match value.as_str() {
        None => ResultType::WrongType(value),
        Some(text) if text.eq_str("complete") => ResultType::Complete,
        Some(text) if text.eq_str("input_required") => ResultType::InputRequired,
        Some(text) => ResultType::Unknown(text),
    }
}

fn read_capabilities<'a>(
    capabilities: Option<Raw<'a>>,
    result: Raw<'_>,
    base: &[u8],
    issues: &mut IssueSink,
) -> Option<Raw<'a>> {
    let Some(capabilities) = capabilities else {
        issues.push(IssueId::CapabilitiesMissing, result.offset_in(base));
        return None;
    };
    if capabilities.kind() != Kind::Object {
        issues.push(IssueId::CapabilitiesWrongType, capabilities.offset_in(base));
        return None;
    }
    for (_, value) in capabilities.members().filter(|(_, value)| value.kind() != Kind::Object) {
        issues.push(IssueId::CapabilitiesWrongType, value.offset_in(base));
    }
    Some(capabilities)
}

/// Milliseconds, and whether the hint is fine or odd only in a way that has a meaning (CACHE-08, CACHE-09).
fn read_ttl(ttl: Option<Raw<'_>>, result: Raw<'_>, base: &[u8], issues: &mut IssueSink) -> (u64, bool) {
    let Some(value) = ttl else {
        issues.push(IssueId::TtlMissing, result.offset_in(base));
        return (0, true);
    };
    let at = value.offset_in(base);
    match value.as_number() {
        Some(Number::Integer(ms)) if ms >= 0 => (ms.unsigned_abs(), true),
        Some(Number::Integer(_) | Number::Huge { negative: true }) => {
            issues.push(IssueId::TtlNegative, at);
            (0, true)
        }
        Some(Number::Huge { negative: false }) => (u64::MAX, true),
        Some(Number::Fraction { .. }) => {
            issues.push(IssueId::TtlFractional, at);
            (0, false)
        }
        None => {
            issues.push(IssueId::TtlWrongType, at);
            (0, false)
        }
    }
}

fn read_scope(scope: Option<Raw<'_>>, result: Raw<'_>, base: &[u8], issues: &mut IssueSink) -> bool {
    let Some(scope) = scope else {
        issues.push(IssueId::ScopeMissing, result.offset_in(base));
        return false;
    };
    let fine = scope.as_str().is_some_and(|text| text.eq_str("public") || text.eq_str("private"));
    if !fine {
        issues.push(IssueId::ScopeUnknown, scope.offset_in(base));
    }
    fine
}

/// What the answer to `initialize` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitializeResult<'a> {
    /// `protocolVersion`, if it is a string.
    pub version: Option<RawStr<'a>>,
    /// `capabilities`, if it is an object.
    pub capabilities: Option<Raw<'a>>,
}

/// Reads the `result` of an answer to `initialize` (LEG-08); `base` is the message that it is a slice of, for offsets.
pub fn read_initialize_result<'a>(
    base: &[u8],
    result: Raw<'a>,
    issues: &mut IssueSink,
) -> InitializeResult<'a> {
    let [version, capabilities] = json::pick(base, result, ["protocolVersion", "capabilities"], issues);
    match version {
        None => issues.push(IssueId::VersionsMissing, result.offset_in(base)),
        Some(value) if value.kind() != Kind::String => {
            issues.push(IssueId::VersionWrongType, value.offset_in(base))
        }
        Some(_) => {}
    }
    let capabilities = read_capabilities(capabilities, result, base, issues);
    InitializeResult { version: version.and_then(|text| text.as_str()), capabilities }
}

/// The type of the result of an ordinary request, for a client that has settled on the modern era (BASE-08 to BASE-10).
pub fn read_result_type(result: Raw<'_>) -> ResultType<'_> {
    read_type(result.get("resultType"))
}
