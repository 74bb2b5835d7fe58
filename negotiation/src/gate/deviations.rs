//! What breaks a rule on purpose: a mutant names one of these, a model several. All off by default.

use serde::{Deserialize, Serialize};

/// Faults of a server. Each names the rule that it breaks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GateDeviations {
    /// NEG-02: refuses an unserved version with this code instead of -32022.
    pub unsupported_code: Option<i64>,
    /// NEG-06: leaves `requested` out of the data of -32022.
    pub omit_requested: bool,
    /// BASE-08: leaves `resultType` out of modern results.
    pub omit_result_type: bool,
    /// NEG-02: serves this version although it does not list it.
    pub serve_unlisted: Option<String>,
    /// HTTP-08, HTTP-12, HTTP-17: does not look at the headers of a modern request.
    pub ignore_headers: bool,
    /// BASE-04: answers with an id of the other JSON type.
    pub other_id_type: bool,
    /// META-02: serves a modern request that lacks a required key of `_meta`.
    pub serve_incomplete: bool,
    /// HTTP-05: takes notifications with this status instead of 202.
    pub notification_status: Option<u16>,
}
