//! What one answer to `server/discover` says, and which version follows from it.

use crate::capabilities;
use crate::codes;
use crate::envelope::{ErrorObject, Id, Message, Outcome, Request, Response, read_message};
use crate::examine::Examiner;
use crate::issue::{IssueId, IssueSink};
use crate::json::{Kind, Number, Raw, RawStr};
use crate::limits::Limits;
use crate::meta;
use crate::version::{Preferences, ProtocolVersion};

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

/// Classifies one response to `server/discover` and selects the version. Total: every input has an answer.
pub fn classify_reply<'a>(
    bytes: &'a [u8],
    preferences: &Preferences,
    limits: &Limits,
    issues: &mut IssueSink,
) -> Reply<'a> {
    match read_message(bytes, limits, issues) {
        Message::Request(Request { id, method, .. }) => Reply { id, kind: ReplyKind::Request(method) },
        Message::Notification { method, .. } => {
            Reply { id: Id::Absent, kind: ReplyKind::Notification(method) }
        }
        Message::Batch | Message::NotAMessage | Message::NotJson => {
            Reply { id: Id::Absent, kind: ReplyKind::NotAMessage }
        }
        Message::Response(Response { id, outcome }) => {
            let mut reader = Reader { preferences, examiner: Examiner::new(bytes, issues) };
            let kind = match outcome {
                Outcome::Result(result) => reader.result(result),
                Outcome::Error(error) => reader.error(&error),
                Outcome::Broken => ReplyKind::Broken,
            };
            Reply { id, kind }
        }
    }
}

struct Reader<'s> {
    preferences: &'s Preferences,
    examiner: Examiner<'s>,
}

impl Reader<'_> {
    /// DISC-02, BASE-08, CACHE-01 to CACHE-03.
    fn result<'a>(&mut self, result: Raw<'a>) -> ReplyKind<'a> {
        let names = [
            "resultType",
            "supportedVersions",
            "capabilities",
            "ttlMs",
            "cacheScope",
            "instructions",
            "_meta",
        ];
        let [result_type, versions, capabilities, ttl, scope, instructions, meta] =
            self.examiner.pick(result, names);
        let result_type = self.result_type(result, result_type);
        let Some(versions) = self.list(result, versions) else { return ReplyKind::OtherResult(result_type) };
        let (listed, _) = self.versions(versions, None);
        let capabilities = read_capabilities(result, capabilities, &mut self.examiner);
        // A result that asks for input carries no hints (CACHE-14).
        let hints_due = result_type != ResultType::InputRequired;
        let (ttl_ms, ttl_fine) = self.ttl(result, ttl, hints_due);
        let hints_fine = self.scope(result, scope, hints_due) && ttl_fine;
        check_instructions_and_meta(instructions, meta, &mut self.examiner);
        ReplyKind::Discovered(Discovered { listed, result_type, ttl_ms, hints_fine, capabilities })
    }

    fn result_type<'a>(&mut self, result: Raw<'a>, raw: Option<Raw<'a>>) -> ResultType<'a> {
        let result_type = result_type_of(raw);
        let wrong = match result_type {
            ResultType::Complete => return result_type,
            ResultType::InputRequired => IssueId::ResultTypeInputRequired,
            ResultType::Absent => IssueId::ResultTypeMissing,
            ResultType::Unknown(_) => IssueId::ResultTypeUnknown,
            ResultType::WrongType(_) => IssueId::ResultTypeWrongType,
        };
        self.examiner.issue(wrong, raw.unwrap_or(result));
        result_type
    }

    fn error<'a>(&mut self, error: &ErrorObject<'a>) -> ReplyKind<'a> {
        match error.code {
            code if code == codes::UNSUPPORTED_VERSION.code => {
                ReplyKind::UnsupportedVersion(self.unsupported(error))
            }
            code if codes::is_recognised_modern(code) => ReplyKind::ModernError(code),
            code => ReplyKind::OtherError(code),
        }
    }

    /// NEG-06.
    fn unsupported(&mut self, error: &ErrorObject<'_>) -> Unsupported {
        let nothing = Unsupported { listed: Listed::default(), well_formed: false };
        let data = self.examiner.required(error.data, error.raw, IssueId::DataMissing);
        let Some(data) = self.examiner.of_kind(data, Kind::Object, IssueId::DataWrongType) else {
            return nothing;
        };
        let [supported, requested] = self.examiner.pick(data, ["supported", "requested"]);
        self.examiner.required(requested, data, IssueId::RequestedMissing);
        let requested = self.examiner.of_kind(requested, Kind::String, IssueId::RequestedWrongType);
        let Some(supported) = self.list(data, supported) else { return nothing };
        let (listed, only_strings) = self.versions(supported, requested.and_then(|version| version.as_str()));
        Unsupported { listed, well_formed: only_strings && listed.strings > 0 }
    }

    /// A list of versions, if it is one.
    fn list<'a>(&mut self, object: Raw<'a>, list: Option<Raw<'a>>) -> Option<Raw<'a>> {
        let list = self.examiner.required(list, object, IssueId::VersionsMissing);
        self.examiner.of_kind(list, Kind::Array, IssueId::VersionsWrongType)
    }

    /// What is in the list, and whether it holds strings only. `refused` is the version that should not be in it (ERR-03).
    fn versions(&mut self, list: Raw<'_>, refused: Option<RawStr<'_>>) -> (Listed, bool) {
        let (mut listed, mut only_strings) = (Listed::default(), true);
        let mut seen = [None; COMPARED];
        for element in list.elements() {
            let Some(version) = element.as_str() else {
                only_strings = false;
                self.examiner.issue(IssueId::VersionWrongType, element);
                continue;
            };
            if seen.iter().map_while(|earlier| *earlier).any(|earlier: RawStr<'_>| earlier == version) {
                self.examiner.issue(IssueId::VersionDuplicate, element);
            }
            if let Some(slot) = seen.get_mut(listed.strings as usize) {
                *slot = Some(version);
            }
            if refused == Some(version) {
                self.examiner.issue(IssueId::RefusedVersionListed, element);
            }
            listed.add(version, self.preferences);
        }
        if only_strings && listed.strings == 0 {
            self.examiner.issue(IssueId::VersionsEmpty, list);
        }
        (listed, only_strings)
    }

    /// Milliseconds, and whether the hint is fine or odd only in a way that has a meaning (CACHE-08, CACHE-09).
    fn ttl(&mut self, result: Raw<'_>, ttl: Option<Raw<'_>>, due: bool) -> (u64, bool) {
        let Some(raw) = ttl else {
            if due {
                self.examiner.issue(IssueId::TtlMissing, result);
            }
            return (0, true);
        };
        let (wrong, fine) = match raw.as_number() {
            Some(Number::Integer(value @ 0..)) => return (value.unsigned_abs(), true),
            Some(Number::Huge { negative: false }) => return (u64::MAX, true),
            Some(Number::Integer(_) | Number::Huge { negative: true }) => (IssueId::TtlNegative, true),
            Some(Number::Fraction { .. }) => (IssueId::TtlFractional, false),
            None => (IssueId::TtlWrongType, false),
        };
        self.examiner.issue(wrong, raw);
        (0, fine)
    }

    fn scope(&mut self, result: Raw<'_>, scope: Option<Raw<'_>>, due: bool) -> bool {
        if scope.is_none() && !due {
            return true;
        }
        let is_known = |scope: Raw<'_>| {
            scope.as_str().is_some_and(|scope| scope.eq_str("public") || scope.eq_str("private"))
        };
        let scope = self.examiner.required(scope, result, IssueId::ScopeMissing);
        self.examiner.checked(scope, is_known, IssueId::ScopeUnknown).is_some()
    }
}

/// Among how many strings of a list a duplicate is looked for: lists are short, and this bounds the work.
const COMPARED: usize = 32;

impl Listed {
    fn add(&mut self, version: RawStr<'_>, preferences: &Preferences) {
        self.strings = self.strings.saturating_add(1);
        let place = |ours: &[ProtocolVersion]| {
            u16::try_from(ours.iter().position(|ours| version.eq_str(ours.as_str()))?).ok()
        };
        // Our order decides, not the server's.
        let better = |old: Option<u16>, new: Option<u16>| old.into_iter().chain(new).min();
        let modern = place(&preferences.modern);
        self.modern = better(self.modern, modern);
        self.legacy = better(self.legacy, place(&preferences.legacy));
        self.modern_set |= modern.and_then(|at| 1_u64.checked_shl(at.into())).unwrap_or(0);
    }
}

fn result_type_of(raw: Option<Raw<'_>>) -> ResultType<'_> {
    let Some(raw) = raw else { return ResultType::Absent };
    match raw.as_str() {
        None => ResultType::WrongType(raw),
        Some(name) if name.eq_str("complete") => ResultType::Complete,
        Some(name) if name.eq_str("input_required") => ResultType::InputRequired,
        Some(name) => ResultType::Unknown(name),
    }
}

fn read_capabilities<'a>(
    result: Raw<'a>,
    capabilities: Option<Raw<'a>>,
    examiner: &mut Examiner<'_>,
) -> Option<Raw<'a>> {
    let capabilities = examiner.required(capabilities, result, IssueId::CapabilitiesMissing);
    let declared = examiner.of_kind(capabilities, Kind::Object, IssueId::CapabilitiesWrongType)?;
    capabilities::check(declared, capabilities::SERVER, examiner);
    Some(declared)
}

fn check_instructions_and_meta(
    instructions: Option<Raw<'_>>,
    meta: Option<Raw<'_>>,
    examiner: &mut Examiner<'_>,
) {
    examiner.of_kind(instructions, Kind::String, IssueId::InstructionsWrongType);
    if let Some([info]) = meta.and_then(|meta| meta::pick(meta, [meta::SERVER_INFO], examiner)) {
        examiner.checked(info, meta::is_implementation, IssueId::InfoWrongType);
    }
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
    let examiner = &mut Examiner::new(base, issues);
    let names = ["protocolVersion", "capabilities", "serverInfo", "instructions", "_meta"];
    let [version, capabilities, info, instructions, meta] = examiner.pick(result, names);
    let version = examiner.required(version, result, IssueId::ProtocolVersionMissing);
    let version = examiner.of_kind(version, Kind::String, IssueId::ProtocolVersionWrongType);
    let capabilities = read_capabilities(result, capabilities, examiner);
    let info = examiner.required(info, result, IssueId::InfoMissing);
    examiner.checked(info, meta::is_implementation, IssueId::InfoWrongType);
    check_instructions_and_meta(instructions, meta, examiner);
    InitializeResult { version: version.and_then(|version| version.as_str()), capabilities }
}

/// The type of the result of an ordinary request, for a client that has settled on the modern era (BASE-08 to BASE-10).
pub fn read_result_type(result: Raw<'_>) -> ResultType<'_> {
    result_type_of(result.get("resultType"))
}
