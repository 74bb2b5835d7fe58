//! What breaks a rule on purpose: a mutant names one of these, a model several. All off by default.

use serde::{Deserialize, Serialize};

/// Faults of a client. Each names the rule that it breaks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClientDeviations {
    /// ERA-06: falls back on -32601 only; any other error that is not modern ends the attempt.
    pub fall_back_on_method_not_found_only: bool,
    /// ERA-04: falls back after a -32022 that lists a common version.
    pub fall_back_after_unsupported: bool,
    /// ERA-03: sends `initialize` after a good DiscoverResult, and goes on in the legacy era.
    pub initialize_after_discover: bool,
    /// BASE-09: takes a result whose `resultType` it does not know.
    pub accept_unknown_result_type: bool,
    /// BASE-12: uses the unanswered probe's id again for `initialize`.
    pub reuse_probe_id: bool,
    /// NEG-01, META-01: leaves the version out of the requests after the probe.
    pub omit_version_after_probe: bool,
    /// ERA-22: asks `initialize` for the newest modern version.
    pub initialize_modern_version: bool,
    /// PROP-ONE-ERA: speaks modern after its legacy handshake, because a late DiscoverResult came.
    pub modern_after_late_discover: bool,
    /// PROP-RETRY: repeats the probe for as long as it is refused.
    pub retry_for_ever: bool,
    /// PROP-ID: takes any response for the answer to the open request.
    pub settle_on_foreign_id: bool,
    /// HTTP-02: accepts JSON only.
    pub accept_json_only: bool,
    /// HTTP-07, LEG-05: sends no version header.
    pub omit_version_header: bool,
    /// HTTP-08: names its best version in the header, whatever the body says.
    pub stale_version_header: bool,
    /// HTTP-13: sends no `Mcp-Method`.
    pub omit_method_header: bool,
    /// HTTP-13: sends no `Mcp-Name`.
    pub omit_name_header: bool,
    /// HTTP-14: writes the markers of the Base64 form in capitals.
    pub capital_name_markers: bool,
    /// ERA-07: falls back on HTTP 400 without a look at the body.
    pub fall_back_on_400_unread: bool,
    /// CANC-06: gives a modern call up by a notification too, over HTTP.
    pub cancel_by_notification: bool,
    /// HTTP-30: sends a request that was lost again under the same id.
    pub reuse_lost_id: bool,
    /// LEG-20: never sends its session id.
    pub forget_session: bool,
    /// LEG-21: sends the id of the session that is gone with the new `initialize`.
    pub keep_lost_session: bool,
}
