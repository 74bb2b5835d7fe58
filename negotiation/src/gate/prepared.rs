//! What follows from a policy alone, made once: every result is written from here by copying.

use super::{GatePolicy, LegacyByMeta, ServedMethod};
use crate::json::write_string;
use crate::meta::SERVER_INFO;
use crate::version::{Preferences, ProtocolVersion};

/// What the gate says of itself. Fixed, so that a release changes no hash.
const SERVER: &str = r#"{"name":"mcp-parley-mock","version":"1"}"#;

/// A policy with the texts that follow from it, shared by every gate that has it.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub(super) policy: GatePolicy,
    /// The versions that the server says it supports, as a JSON array.
    pub(super) listed: String,
    /// Those of the handshake alone.
    pub(super) listed_legacy: String,
    /// Each version of the handshake, as a JSON string.
    pub(super) legacy: Vec<String>,
    /// The members of a DiscoverResult, but for `resultType`.
    pub(super) discover: String,
    /// The members of an InitializeResult behind `protocolVersion`.
    pub(super) initialize: String,
    /// The members of a modern result that has none of its own, but for `resultType`.
    pub(super) empty: String,
    pub(super) methods: Vec<PreparedMethod>,
}

/// The members of one method's results.
#[derive(Clone, Debug)]
pub(super) struct PreparedMethod {
    /// But for `resultType`.
    pub(super) modern: String,
    pub(super) legacy: String,
}

impl Prepared {
    /// Prepares a policy. Its lists are [cleared](Preferences::cleared): a modern revision under `legacy` would be agreed on by
    /// `initialize` (ERA-22). The members in [`ServedMethod::result`] must be valid JSON; line breaks between them are removed
    /// (STDIO-01).
    pub fn new(mut policy: GatePolicy) -> Self {
        let lists = Preferences { modern: policy.modern.into(), legacy: policy.legacy.into() }.cleared();
        (policy.modern, policy.legacy) = (lists.modern.to_vec(), lists.legacy.to_vec());
        let with_legacy = policy.list_legacy || policy.legacy_by_meta == LegacyByMeta::Serve;
        let legacy = policy.legacy.iter().filter(|_| with_legacy);
        let listed = array(policy.modern.iter().chain(legacy));
        let capabilities = capabilities(&policy.methods);
        let (hints, meta) = (hints(&policy), meta());
        Self {
            discover: format!("\"supportedVersions\":{listed},\"capabilities\":{capabilities},{hints}{meta}"),
            initialize: format!(",\"capabilities\":{capabilities},\"serverInfo\":{SERVER}"),
            methods: policy.methods.iter().map(|method| prepare(method, &hints, &meta)).collect(),
            legacy: policy.legacy.iter().map(|version| string(version.as_str())).collect(),
            listed_legacy: array(policy.legacy.iter()),
            listed,
            empty: meta,
            policy,
        }
    }

    /// The policy.
    pub fn policy(&self) -> &GatePolicy {
        &self.policy
    }
}

fn prepare(method: &ServedMethod, hints: &str, meta: &str) -> PreparedMethod {
    // No string of JSON holds a bare line break, so what is removed is white space.
    let legacy = method.result.replace(['\n', '\r'], "");
    let comma = if legacy.trim().is_empty() { "" } else { "," };
    let hints = if method.cacheable { hints } else { "" };
    PreparedMethod { modern: format!("{legacy}{comma}{hints}{meta}"), legacy }
}

/// CACHE-01 to CACHE-03.
fn hints(policy: &GatePolicy) -> String {
    let scope = if policy.cache_public { "public" } else { "private" };
    format!("\"ttlMs\":{},\"cacheScope\":\"{scope}\",", policy.ttl_ms)
}

/// DISC-03: the server names itself in every modern result.
fn meta() -> String {
    format!("\"_meta\":{{\"{SERVER_INFO}\":{SERVER}}}")
}

fn array<'a>(versions: impl Iterator<Item = &'a ProtocolVersion>) -> String {
    format!("[{}]", versions.map(|version| string(version.as_str())).collect::<Vec<_>>().join(","))
}

fn capabilities(methods: &[ServedMethod]) -> String {
    let mut names: Vec<&str> = methods.iter().map(|method| method.capability.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let members: Vec<String> = names.iter().map(|name| format!("{}:{{}}", string(name))).collect();
    format!("{{{}}}", members.join(","))
}

/// A JSON string literal.
fn string(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    write_string(&mut out, text);
    String::from_utf8(out).unwrap_or_default()
}
