//! `_meta`: the specification's keys, the grammar of all others, what a modern request must carry, and what writes it.

use crate::capabilities;
use crate::examine::Examiner;
use crate::issue::{IssueId, IssueSink};
use crate::json::{Kind, Odd, Raw, RawStr, write_string};

/// The version of a request. Required (META-01).
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Name and version of the client (META-04).
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// The client's capabilities. Required (META-01).
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The log level asked for (META-11, META-22).
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// Name and version of the server, in results (DISC-03).
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The subscription that a notification belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// The known values of [`LOG_LEVEL`], least severe first.
pub const LOG_LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// True if a key keeps the grammar (META-13): an optional dotted prefix closed by a slash, and a name.
pub fn key_is_valid(key: &str) -> bool {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    prefix.is_none_or(|prefix| prefix.split('.').all(label_is_valid)) && name_is_valid(name)
}

/// True if the key's prefix is reserved for MCP (META-14): its second label is `modelcontextprotocol` or `mcp`.
pub fn is_reserved_prefix(key: &str) -> bool {
    let second = key.split_once('/').and_then(|(prefix, _)| prefix.split('.').nth(1));
    matches!(second, Some("modelcontextprotocol" | "mcp"))
}

fn label_is_valid(label: &str) -> bool {
    let bytes = label.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
}

fn name_is_valid(name: &str) -> bool {
    let bytes = name.as_bytes();
    let mut ends = [bytes.first(), bytes.last()].into_iter().flatten();
    ends.all(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

/// What the `_meta` of a request says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestMeta<'a> {
    /// There is a `_meta` object.
    pub present: bool,
    /// There is a version, of whatever type.
    pub version_present: bool,
    /// The version, if it is a string.
    pub version: Option<RawStr<'a>>,
    /// There are capabilities, of whatever type.
    pub capabilities_present: bool,
    /// The capabilities, if they are an object.
    pub capabilities: Option<Raw<'a>>,
    /// The client's name and version, of whatever type.
    pub client_info: Option<Raw<'a>>,
    /// False if a log level is given and is no known one (META-22).
    pub log_level_fine: bool,
}

/// Reads the `_meta` of a modern request's parameters; `base` is the message that they are a slice of, for offsets. The
/// issues are what breaks META-01, META-13, META-20, META-22, DISC-07 or DISC-08. A `_meta` that is absent or no object is
/// one issue, not one for each field that it lacks.
pub fn read_request_meta<'a>(
    base: &[u8],
    params: Option<Raw<'a>>,
    issues: &mut IssueSink,
) -> RequestMeta<'a> {
    let examiner = &mut Examiner::new(base, issues);
    let nothing = RequestMeta { log_level_fine: true, ..RequestMeta::default() };
    let Some(params) = params else {
        examiner.issue_at_message(IssueId::MetaMissing);
        return nothing;
    };
    let [meta] = examiner.pick(params, ["_meta"]);
    let Some(meta) = examiner.required(meta, params, IssueId::MetaMissing) else { return nothing };
    let names = [PROTOCOL_VERSION, CLIENT_INFO, CLIENT_CAPABILITIES, LOG_LEVEL];
    let Some([version, client_info, capabilities, log_level]) = pick(meta, names, examiner) else {
        return nothing;
    };
    examiner.required(version, meta, IssueId::MetaVersionMissing);
    let version_string = examiner.of_kind(version, Kind::String, IssueId::MetaVersionWrongType);
    examiner.checked(client_info, is_implementation, IssueId::InfoWrongType);
    examiner.required(capabilities, meta, IssueId::MetaCapabilitiesMissing);
    let declared = examiner.of_kind(capabilities, Kind::Object, IssueId::MetaCapabilitiesWrongType);
    if let Some(declared) = declared {
        capabilities::check(declared, capabilities::CLIENT, examiner);
    }
    let known_level = examiner.checked(log_level, is_log_level, IssueId::LogLevelUnknown);
    RequestMeta {
        present: true,
        version_present: version.is_some(),
        version: version_string.and_then(|version| version.as_str()),
        capabilities_present: capabilities.is_some(),
        capabilities: declared,
        client_info,
        log_level_fine: known_level == log_level,
    }
}

/// The members of these names, if `_meta` is an object; its type and its keys are issues.
pub(crate) fn pick<'a, const N: usize>(
    meta: Raw<'a>,
    names: [&str; N],
    examiner: &mut Examiner<'_>,
) -> Option<[Option<Raw<'a>>; N]> {
    let meta = examiner.of_kind(Some(meta), Kind::Object, IssueId::MetaWrongType)?;
    Some(meta.pick(names, |key, odd| match odd {
        Odd::Duplicate => examiner.issue_at_key(IssueId::DuplicateKey, key),
        Odd::Unknown if !key_is_valid(&key.decode()) => examiner.issue_at_key(IssueId::MetaKeyInvalid, key),
        Odd::Unknown => {}
    }))
}

/// DISC-08: an object with the strings `name` and `version`.
pub(crate) fn is_implementation(info: Raw<'_>) -> bool {
    info.pick(["name", "version"], |_, _| {})
        .iter()
        .all(|text| text.is_some_and(|text| text.kind() == Kind::String))
}

fn is_log_level(level: Raw<'_>) -> bool {
    level.as_str().is_some_and(|level| LOG_LEVELS.iter().any(|known| level.eq_str(known)))
}

/// Appends `"_meta":{…}`, the member that every modern request has among its parameters (META-01, META-04). Without a
/// version it breaks META-01. `capabilities` is the JSON text of an object.
pub fn write_request_meta(
    out: &mut Vec<u8>,
    version: Option<&str>,
    client_name: &str,
    client_version: &str,
    capabilities: &str,
) {
    out.extend_from_slice(b"\"_meta\":{");
    if let Some(version) = version {
        write_key(out, PROTOCOL_VERSION);
        write_string(out, version);
        out.push(b',');
    }
    write_key(out, CLIENT_INFO);
    out.extend_from_slice(b"{\"name\":");
    write_string(out, client_name);
    out.extend_from_slice(b",\"version\":");
    write_string(out, client_version);
    out.extend_from_slice(b"},");
    write_key(out, CLIENT_CAPABILITIES);
    out.extend_from_slice(capabilities.as_bytes());
    out.push(b'}');
}

/// One of the keys above, none of which needs an escape.
fn write_key(out: &mut Vec<u8>, key: &str) {
    out.push(b'"');
    out.extend_from_slice(key.as_bytes());
    out.extend_from_slice(b"\":");
}
