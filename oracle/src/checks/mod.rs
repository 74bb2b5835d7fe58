//! The checks: one small function a row, grouped by series. Each reads the story and says one verdict.

mod amb;
mod amb_http;
mod amb_server;
mod base;
mod cache;
mod canc;
mod disc;
mod era;
mod err;
mod fallback;
mod fallback_http;
mod http;
mod http_legacy;
mod http_server;
mod leg;
mod meta;
mod neg;
mod pat;
mod prop;
mod prop_version;
mod stdio;

use mcp_parley_trace::Era;

use crate::catalogue::Role;
use crate::json::{At, Type};
use crate::known::{META_INFO, META_LOG_LEVEL, Method};
use crate::story::{Answer, Facts, Message, Phase, Side, Story};
use crate::verdict::Verdict;

/// A check of one requirement, property or contested row.
pub struct Check {
    /// The row's id.
    pub id: &'static str,
    /// Which subject it judges.
    pub subject: Role,
    /// It applies only to runs that have one of these.
    pub(crate) about: Facts,
    pub(crate) run: fn(&Story<'_>) -> Verdict,
}

macro_rules! about {
    () => { Facts::ANY };
    ($first:ident $($more:ident)*) => { Facts::$first$(.or(Facts::$more))* };
}

macro_rules! checks {
    ($($id:literal $subject:ident $run:path $(, about $($fact:ident)+)?;)*) => {
        /// Every check. Where several rows break at the same event, the first of them here names the finding: the order
        /// is the catalogue's, except that a row which only repeats others stands after them (DISC-02, ERA-02, ERA-11,
        /// ERA-20, META-20, PAT-01b).
        pub const CHECKS: &[Check] = &[$(Check {
            id: $id,
            subject: Role::$subject,
            about: about!($($($fact)+)?),
            run: $run,
        }),*];
    };
}

checks! {
    "NEG-01" Client neg::states_version;
    "NEG-02" Server neg::refuses_unserved;
    "NEG-03" Client neg::retries_or_reports, about UNSUPPORTED;
    "NEG-04" Server neg::implements_discover;
    "NEG-06" Server neg::unsupported_data;
    "NEG-07" Server http_server::unsupported_is_400, about HTTP;
    "ERA-03" Client era::no_initialize_after_discovery, about DISCOVERED;
    "ERA-04" Client era::no_initialize_after_modern_error, about UNSUPPORTED MODERN_ERROR;
    "ERA-05" Client fallback::after_silence;
    "ERA-06" Client fallback::after_any_error, about OTHER_ERROR;
    "ERA-07c" Client era::no_fallback_after_bad_request, about UNSUPPORTED MODERN_ERROR;
    "ERA-08" Client fallback_http::after_bad_request, about HTTP;
    "ERA-10" Client fallback_http::after_client_error, about HTTP;
    "ERA-09" Client era::probes_first;
    "ERA-13" Server era::refusal_names_versions, about INITIALIZE;
    "ERA-14" Server era::legacy_session_by_legacy_rules, about INITIALIZE;
    "ERA-17" Server era::answers_initialize, about INITIALIZE;
    "ERA-18" Server http_server::has_no_sessions, about HTTP;
    "ERA-22" Both era::handshake_is_legacy, about INITIALIZE;
    "ERA-23" Client era::no_removed_method;
    "HTTP-01" Client http::posts_each, about HTTP;
    "HTTP-02" Client http::accepts_both, about HTTP;
    "HTTP-04" Client http::one_message, about HTTP;
    "HTTP-04b" Client http::no_response, about HTTP;
    "HTTP-05" Server http_server::acknowledges, about HTTP;
    "HTTP-06" Server http_server::answers_with_message, about HTTP;
    "HTTP-07" Client http::has_version_header, about HTTP;
    "HTTP-08" Both http::version_agrees, about HTTP;
    "HTTP-09" Server http_server::refuses_version_with_400, about HTTP;
    "HTTP-10" Server http_server::unknown_method_is_404, about HTTP;
    "HTTP-12" Server http_server::refuses_without_version, about HTTP;
    "HTTP-13" Client http::repeats_method, about HTTP;
    "HTTP-14" Client http::encodes_name, about HTTP;
    "HTTP-15" Server http_server::decodes_name, about HTTP;
    "HTTP-16" Server http_server::ignores_case_of_names, about HTTP;
    "HTTP-16b" Both http::keeps_case, about HTTP;
    "HTTP-18" Server http_server::mismatch_is_400, about HTTP;
    "HTTP-19" Server http_server::refuses_missing_header, about HTTP;
    "HTTP-21" Server http_server::refuses_origin_with_403, about HTTP;
    "HTTP-22" Server http_server::no_request_on_stream, about HTTP;
    "HTTP-22b" Server http_server::response_is_last, about HTTP;
    "HTTP-30" Client http::asks_anew, about HTTP;
    "HTTP-17" Server http_server::refuses_disagreement, about HTTP;
    "HTTP-03" Client http::has_metadata_headers, about HTTP;
    "ERA-02" Client era::no_fallback_after_modern_error, about UNSUPPORTED MODERN_ERROR;
    "ERA-20" Client era::stays_modern;
    "ERA-07" Client era::no_fallback_after_bad_request, about UNSUPPORTED MODERN_ERROR;
    "DISC-01" Client disc::no_parameters;
    "DISC-05" Client disc::uses_listed, about DISCOVERED UNTYPED;
    "MRTR-01" Server disc::never_asks_for_input;
    "META-01" Client meta::required_fields;
    "META-02" Server meta::refuses_incomplete;
    "META-03" Server http_server::incomplete_is_400, about HTTP;
    "META-07" Server http_server::missing_capability_is_400, about HTTP;
    "META-20" Client meta::types;
    "BASE-01" Both base::is_json_rpc;
    "BASE-02" Client base::request_id;
    "BASE-03" Client base::no_null_id;
    "BASE-04" Server base::result_id;
    "BASE-05" Server base::error_id;
    "BASE-06" Server base::error_members;
    "BASE-07" Server base::integer_code;
    "BASE-08" Server base::has_result_type;
    "BASE-09" Client base::refuses_unknown_type, about UNKNOWN_TYPE;
    "BASE-11" Server base::no_answer_to_notification;
    "BASE-12" Client base::no_id_in_flight_twice;
    "BASE-14" Server base::result_is_object;
    "BASE-17" Both base::notification_without_id;
    "ERR-03" Server err::no_undefined_code;
    "ERR-04" Server err::no_old_code;
    "PAT-01" Server pat::no_server_request;
    "STDIO-01" Both stdio::one_line;
    "STDIO-02" Server stdio::messages_only;
    "STDIO-03" Client stdio::messages_only;
    "STDIO-04" Client pat::no_client_response;
    "STDIO-05" Server pat::no_server_request;
    "STDIO-07" Server stdio::exits_on_eof;
    "STDIO-10" Client stdio::closes_first;
    "LEG-29" Client stdio::closes_session_first, about INITIALIZE;
    "PAT-01b" Client pat::no_client_response;
    "CANC-06b" Client canc::closes_stream, about HTTP;
    "CANC-09" Client canc::names_open_request, about CANCELLED;
    "CACHE-01" Server cache::has_hints;
    "CACHE-02" Server cache::not_negative;
    "CACHE-02b" Server cache::is_integer;
    "CACHE-03" Server cache::known_scope;
    "DISC-02" Server disc::result_members;
    "LEG-01" Client leg::names_supported, about INITIALIZE;
    "LEG-01b" Client leg::names_newest, about INITIALIZE;
    "LEG-02" Server leg::echoes_supported, about HANDSHAKE;
    "LEG-03" Server leg::offers_another, about INITIALIZE;
    "LEG-04" Client leg::leaves_unsupported, about HANDSHAKE;
    "LEG-04b" Client leg::disconnects, about HANDSHAKE;
    "LEG-06" Client canc::not_initialize, about CANCELLED;
    "LEG-07" Client leg::opens_with_initialize;
    "LEG-08" Server leg::result_members, about INITIALIZE;
    "LEG-09" Client leg::sends_initialized, about HANDSHAKE;
    "LEG-10" Client leg::waits_for_answer, about INITIALIZE;
    "LEG-05" Both http_legacy::version_header, about HANDSHAKE;
    "LEG-15" Client http_legacy::agreed_version, about HANDSHAKE;
    "LEG-19" Server http_server::session_is_visible, about HANDSHAKE;
    "LEG-20" Client http_legacy::carries_session, about HANDSHAKE;
    "LEG-20b" Server http_server::asks_for_session, about HANDSHAKE;
    "LEG-21" Both http_legacy::ended_session, about HANDSHAKE;
    "LEG-23" Both http_legacy::stream_by_get, about HTTP;
    "LEG-24" Both http_legacy::posts, about INITIALIZE;
    "LEG-26" Both leg::no_id_twice, about INITIALIZE;
    "LEG-38b" Both stdio::legacy_framing, about INITIALIZE;
    "PROP-BOUND" Client prop::bound;
    "PROP-RETRY" Client prop::retry;
    "PROP-ID" Client prop::foreign_id, about STRAY;
    "PROP-ONE-ERA" Client prop::one_era;
    "PROP-OFFERED" Client prop_version::offered;
    "PROP-PREFERENCE" Client prop_version::preference, about DISCOVERED UNTYPED UNSUPPORTED;
    "PROP-SAME" Both prop::same;
    "PROP-ALIVE" Both prop::alive;
    "PROP-STDOUT" Both stdio::nothing_else;
    "ERA-11" Client era::remembers_legacy, about HANDSHAKE;
    "AMB-01" Client amb::legacy_list, about DISCOVERED;
    "AMB-02" Client amb::odd_success, about ODD_SUCCESS;
    "AMB-03" Client amb::odd_unsupported, about ODD_UNSUPPORTED;
    "AMB-05" Client amb::probe_exit, about GONE;
    "AMB-08" Client amb_http::odd_status, about HTTP;
    "AMB-09" Client amb_http::silence, about HTTP;
    "AMB-11" Client amb::after_modern_error, about MODERN_ERROR OTHER_ERROR;
    "AMB-14" Server amb_server::check_order, about HTTP;
    "AMB-17" Client amb::legacy_meta, about HANDSHAKE;
    "AMB-19" Server amb_server::missing_header, about HTTP;
    "AMB-20" Both amb_http::notification_headers, about HTTP;
    "AMB-21" Client amb::late_discover, about INITIALIZE;
    "AMB-25" Server amb_server::notification_version, about HTTP;
    "AMB-27" Client amb::uncorrelated_error, about ERROR;
    "AMB-28" Client amb_http::method_not_found, about HTTP;
    "AMB-29" Client amb::missing_result_type, about UNTYPED;
    "AMB-32" Client amb::early_request, about SERVER_REQUEST;
    "AMB-33" Client amb_http::step_down, about HTTP;
    "AMB-34" Server amb_server::refusal_body, about HTTP;
    "AMB-35" Server amb_server::error_status, about HTTP;
    "AMB-36" Both amb_http::initialize_header, about HTTP;
    "AMB-38" Both amb_http::odd_headers, about HTTP;
    "AMB-40" Server amb_server::default_origin, about HTTP;
}

/// A request by which the client claims the modern era: the probe, one with modern keys, one after modern evidence, and
/// any from a client that speaks nothing else. What it sends in a legacy session is judged by legacy rows.
fn is_modern_call(story: &Story<'_>, message: &Message) -> bool {
    message.is_request()
        && message.from == Side::Client
        && message.method != Method::Initialize
        && !message.phase.is_legacy()
        && (message.method == Method::Discover
            || message.phase == Phase::Modern
            || message.modern_keys
            || story.is_modern_only())
}

/// Like [`is_modern_call`], and more than a probe: with it the client goes on in the modern era.
fn goes_on_modern(story: &Story<'_>, message: &Message) -> bool {
    is_modern_call(story, message) && message.method != Method::Discover
}

/// A request in which the strictest modern server finds nothing wrong but perhaps its version and method (AMB-15).
fn is_sound_call(story: &Story<'_>, request: &Message) -> bool {
    http::has_sound_headers(story, request) && is_sound_body(story, request)
}

/// [`is_sound_call`], whatever its headers.
fn is_sound_body(story: &Story<'_>, request: &Message) -> bool {
    let member = |name| request.meta.and_then(|meta| story.get(meta, name));
    request.clean
        && request.method != Method::Initialize
        && story.is(request.version, Type::String)
        && request.capabilities.is_some_and(|at| {
            story.kind(at) == Type::Object && story.children(at).all(|one| story.kind(one) == Type::Object)
        })
        && member(META_INFO).is_none_or(|info| names_itself(story, info))
        && member(META_LOG_LEVEL).is_none()
        && member("progressToken").is_none_or(|at| matches!(story.kind(at), Type::String | Type::Number))
}

/// `clientInfo` or `serverInfo` with its two required members.
fn names_itself(story: &Story<'_>, info: At) -> bool {
    story.is(story.get(info, "name"), Type::String) && story.is(story.get(info, "version"), Type::String)
}

/// The request names no version of a legacy revision.
fn is_modern_version(story: &Story<'_>, request: &Message) -> bool {
    story.string(request.version).is_some_and(|version| story.era(&version) != Some(Era::Legacy))
}

/// The server has answered this one outside a legacy session, and is known for a modern server.
fn is_modern_answer(story: &Story<'_>, answer: &Message, request: &Message) -> bool {
    story.server_is_modern && answer.phase != Phase::Session && request.method != Method::Initialize
}

/// The answer may have crossed what the client sent next: the recorder saw the server's end only, and the answer was not
/// written before the client's longest wait was over.
fn may_have_crossed(story: &Story<'_>, answer: &Message) -> bool {
    let Some(request) = story.request_of(answer) else { return false };
    !story.sees(Side::Client)
        && story.declared.longest_wait_us.is_some_and(|wait| answer.sent_us >= request.sent_us + wait)
}

/// The client may not have read this answer as one to its request, and nothing says that it has to: the id has the value of the
/// request's in another notation (`1.0` for `1`, AMB-04), something that is no message came before it (AMB-07), or its status
/// has a meaning of its own (AMB-08).
fn may_be_unread(story: &Story<'_>, answer: &Message) -> bool {
    let id = story.request_of(answer).and_then(|request| request.id);
    let another_notation = matches!((id, answer.id), (Some(asked), Some(given))
        if story.kind(given) == Type::Number && story.raw(asked) != story.raw(given));
    let before = |line: &Message| {
        line.process == answer.process && line.exchange == answer.exchange && line.place < answer.place
    };
    another_notation || answer.faint || story.from(Side::Server).any(|line| before(line) && line.is_noise())
}

/// A DiscoverResult in which the only versions that both sides support are legacy (AMB-01). Where the client's own are not
/// known, every version of the right era may be one.
fn is_legacy_list(story: &Story<'_>, answer: &Message) -> bool {
    let common = |own: Option<&[String]>, era: Era| {
        answer.list.is_some_and(|list| {
            story.children(list).filter_map(|at| story.string(Some(at))).any(|version| {
                own.map_or(story.era(&version) == Some(era), |own| own.iter().any(|own| *own == *version))
            })
        })
    };
    answer.answer == Answer::Discovered
        && common(story.accepts(), Era::Legacy)
        && !common(story.offers(), Era::Modern)
}

/// The client received this answer before the event `seq`, beyond doubt.
fn was_received(story: &Story<'_>, answer: &Message, seq: u32) -> bool {
    answer.received < seq && !may_have_crossed(story, answer) && !may_be_unread(story, answer)
}

/// What a client received in answer to its probes that is of the modern era or may be.
fn is_modern_sign(answer: Answer) -> bool {
    !matches!(answer, Answer::None | Answer::OtherError | Answer::Handshake | Answer::Success)
}

/// Before this request, on its process, the client received a line behind a byte-order mark. The mark makes the line no JSON,
/// and a reader may pass over it all the same (AMB-07): what stands behind it may have been the answer.
fn met_a_mark(story: &Story<'_>, request: &Message) -> bool {
    story.from(Side::Server).any(|line| {
        line.process == request.process
            && !story.is_http()
            && line.received < request.sent
            && story.line(line).starts_with(b"\xef\xbb\xbf")
    })
}
