//! `_meta`: the keys of the specification, the grammar of all others, what a modern request must carry.

use crate::issue::{IssueId, IssueSink};
use crate::json::{self, Kind, Raw, RawStr, write_string};

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

const KEYS: [&str; 4] = [PROTOCOL_VERSION, CLIENT_INFO, CLIENT_CAPABILITIES, LOG_LEVEL];
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// True if a key keeps the grammar (META-13): an optional dotted prefix closed by a slash, and a name.
pub fn key_is_valid(key: &str) -> bool {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    prefix.is_none_or(|prefix| prefix.split('.').all(label_is_valid)) && name_is_valid(name)
}

fn label_is_valid(label: &str) -> bool {
    let bytes = label.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-')
}

fn name_is_valid(name: &str) -> bool {
    let bytes = name.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    ends.iter().flatten().all(|b| b.is_ascii_alphanumeric())
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(b))
}

/// True if the key's prefix is reserved for MCP (META-14): its second label is `modelcontextprotocol` or `mcp`.
pub fn is_reserved(key: &str) -> bool {
    let second = key.split_once('/').and_then(|(prefix, _)| prefix.split('.').nth(1));
    matches!(second, Some("modelcontextprotocol" | "mcp"))
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

/// Reads the `_meta` of a request's params; `base` is the message that they are a slice of. Everything that breaks META-01,
/// META-13, META-20, META-22 or DISC-08 is an issue.
pub fn read_request_meta<'a>(
    base: &[u8],
    params: Option<Raw<'a>>,
    issues: &mut IssueSink,
) -> RequestMeta<'a> {
    let mut read = RequestMeta { log_level_fine: true, ..RequestMeta::default() };
    let at = params.map_or(0, |params| params.offset_in(base));
    let Some(meta) = params.and_then(|params| params.get("_meta")) else {
        issues.push(IssueId::MetaMissing, at);
        return read;
    };
    let at = meta.offset_in(base);
    if meta.kind() != Kind::Object {
        issues.push(IssueId::MetaWrongType, at);
        return read;
    }
    read.present = true;
    let [version, info, capabilities, level] = json::pick(base, meta, KEYS, issues);
    for (key, _) in meta.members() {
        if !key_is_valid(&key.decode()) {
            issues.push(IssueId::MetaKeyInvalid, key.offset_in(base).saturating_sub(1));
        }
    }
    read_required([version, capabilities], at, base, &mut read, issues);
    read.client_info = info;
    if let Some(info) = read.client_info.filter(|info| !is_implementation(*info)) {
        issues.push(IssueId::InfoWrongType, info.offset_in(base));
    }
    if let Some(level) = level {
        read.log_level_fine =
            level.as_str().is_some_and(|text| LEVELS.iter().any(|known| text.eq_str(known)));
        if !read.log_level_fine {
            issues.push(IssueId::LogLevelUnknown, level.offset_in(base));
        }
    }
    read
}

fn read_required<'a>(
    [version, capabilities]: [Option<Raw<'a>>; 2],
    at: usize,
    base: &[u8],
    read: &mut RequestMeta<'a>,
    issues: &mut IssueSink,
) {
    match version {
        None => issues.push(IssueId::MetaVersionMissing, at),
        Some(version) => {
            read.version_present = true;
            read.version = version.as_str();
            if read.version.is_none() {
                issues.push(IssueId::MetaVersionWrongType, version.offset_in(base));
            }
        }
    }
    match capabilities {
        None => issues.push(IssueId::MetaCapabilitiesMissing, at),
        Some(capabilities) => {
            read.capabilities_present = true;
            read.capabilities = Some(capabilities).filter(|value| value.kind() == Kind::Object);
            if read.capabilities.is_none() {
                issues.push(IssueId::MetaCapabilitiesWrongType, capabilities.offset_in(base));
            }
        }
    }
}

/// DISC-08: an object with the strings `name` and `version`.
pub(crate) fn is_implementation(value: Raw<'_>) -> bool {
    ["name", "version"].iter().all(|name| value.get(name).is_some_and(|text| text.kind() == Kind::String))
}

/// Appends `"_meta":{…}` for a modern request: version (left out if `None`), client and capabilities (a JSON object).
pub fn write_request_meta(
    out: &mut Vec<u8>,
    version: Option<&str>,
    client_name: &str,
    client_version: &str,
    capabilities: &str,
) {
    out.extend_from_slice(b"\"_meta\":{");
    if let Some(version) = version {
        write_string(out, PROTOCOL_VERSION);
        out.push(b':');
        write_string(out, version);
        out.push(b',');
    }
    write_string(out, CLIENT_INFO);
    out.extend_from_slice(b":{\"name\":");
    write_string(out, client_name);
    out.extend_from_slice(b",\"version\":");
    write_string(out, client_version);
    out.extend_from_slice(b"},");
    write_string(out, CLIENT_CAPABILITIES);
    out.push(b':');
    out.extend_from_slice(capabilities.as_bytes());
    out.push(b'}');
}
