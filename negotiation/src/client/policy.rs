//! What a client may legally choose. Every ambiguity of the specification is one field, its doc comment begins with its id.

use std::num::NonZeroU8;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::version::{Era, Preferences, ProtocolVersion};

/// How to connect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// `initialize` only.
    Legacy,
    /// Probe, then fall back.
    #[default]
    Auto,
    /// Probe, never `initialize`.
    Modern,
    /// This version only: a modern one never falls back, a legacy one refuses a counter-offer.
    Pin(ProtocolVersion),
}

macro_rules! choices {
    ($($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum $name { $($(#[$vdoc])* $variant),* }
        impl $name {
            /// All values, the default first.
            pub const ALL: &[Self] = &[$(Self::$variant),*];
        }
    )*};
}
pub(crate) use choices;

choices! {
    /// AMB-02: a success that is no DiscoverResult.
    OtherSuccess {
        /// The server is taken for legacy.
        #[default] FallBack,
        /// It is an error.
        Fail,
        /// The server is taken for modern and the preferred version is used.
        StayModern,
    }
    /// AMB-03: a -32022 whose list is missing, malformed or empty.
    OddUnsupported {
        /// The code proves a modern server.
        #[default] ByCode,
        /// Only a well-formed one does; this one means legacy.
        ByShape,
    }
    /// AMB-04: a response to the probe that is neither a result nor an error.
    BrokenEnvelope {
        /// It counts as an answer that is not modern.
        #[default] CountAsAnswer,
        /// It is dropped.
        Drop,
        /// It is an error.
        Fail,
    }
    /// AMB-05: the server closes or exits during the probe.
    ProbeExit {
        /// Start it again, and open with `initialize`.
        #[default] RestartLegacy,
        /// Start it again and probe once more; then as above.
        RestartProbe,
        /// It is an error.
        Fail,
    }
    /// AMB-06: a DiscoverResult with a bad cache hint other than an absent or negative `ttlMs`.
    BadHint {
        /// Use the rest.
        #[default] Ignore,
        /// It is an error.
        Fail,
    }
    /// AMB-07: bytes that are no message, blank lines, a byte-order mark, carriage returns.
    Noise {
        /// Skip them.
        #[default] Skip,
        /// It is an error.
        Fail,
    }
    /// AMB-11: what to do after -32020 or -32021 in answer to the probe.
    AfterModernError {
        /// Ask once more, then fail.
        #[default] Retry,
        /// Fail.
        Fail,
    }
    /// AMB-11: whether -32602 in answer to a correct probe counts as a recognised modern error.
    InvalidParams {
        /// It does not: the server is legacy.
        #[default] Legacy,
        /// It does.
        Modern,
    }
    /// AMB-17: whether the requests of a legacy session keep the modern `_meta` keys.
    LegacyMeta {
        /// They do not.
        #[default] LeaveOut,
        /// They do, `initialize` excepted.
        Keep,
    }
    /// AMB-21: whether a probe that timed out is cancelled before `initialize` is sent.
    CancelProbe {
        /// It is not: a legacy server would not know what to make of it.
        #[default] No,
        /// It is.
        Cancel,
    }
    /// AMB-21: a good DiscoverResult that comes after `initialize` was sent and before it was answered.
    LateDiscover {
        /// It is ignored.
        #[default] Ignore,
        /// If `initialize` is then refused, the client goes modern.
        UpgradeBeforeUse,
    }
    /// AMB-27: on a pipe, an error without id or with a null id while only the probe is open. (Over HTTP the exchange names the
    /// request, and it counts.)
    UncorrelatedError {
        /// It counts as the answer.
        #[default] CountAsAnswer,
        /// It is ignored.
        Ignore,
    }
    /// AMB-29: a modern result without `resultType`.
    MissingResultType {
        /// It is read as "complete".
        #[default] Accept,
        /// It is an error.
        Fail,
    }
    /// AMB-31: `initialize` is refused with an error that lists versions.
    InitializeRefused {
        /// It is an error.
        #[default] Report,
        /// Ask once more for the best legacy version listed.
        RetryListed,
    }
    /// AMB-32: on a pipe, a `ping` from the server while the probe is open. (Over HTTP it comes on the stream of a modern request,
    /// where no answer is allowed: HTTP-04.)
    EarlyRequest {
        /// It is not answered.
        #[default] Silent,
        /// It is answered as in the legacy era.
        AnswerPing,
    }
    /// AMB-08: HTTP 401 or 403 in answer to the probe, without a recognised modern error.
    Unauthorized {
        /// It is an error: the server wants authorization, which says nothing of its era (HTTP-32).
        #[default] Fail,
        /// The server is taken for legacy.
        FallBack,
    }
    /// AMB-08: HTTP 429 in answer to the probe, without a recognised modern error.
    TooManyRequests {
        /// It is an error.
        #[default] Fail,
        /// The server is taken for legacy.
        FallBack,
    }
    /// AMB-08: HTTP 5xx in answer to the probe, or no status that HTTP knows, without a recognised modern error.
    ServerError {
        /// It is an error.
        #[default] Fail,
        /// The server is taken for legacy.
        FallBack,
    }
    /// AMB-08: HTTP 3xx in answer to the probe. No redirection is followed here.
    Redirect {
        /// It is an error.
        #[default] Fail,
        /// The server is taken for legacy.
        FallBack,
    }
    /// AMB-08: HTTP 2xx without an answer to the probe: 202, 204, an empty body, another media type, an event stream that ends
    /// without a response.
    NoAnswer {
        /// The server is taken for legacy.
        #[default] FallBack,
        /// It is an error.
        Fail,
    }
    /// AMB-08: over HTTP, no connection, or one that breaks before the answer to the probe is whole (HTTP-30).
    BrokenConnection {
        /// Ask once more, under a new id, then fail.
        #[default] AskAgain,
        /// It is an error.
        Fail,
        /// The server is taken for legacy.
        FallBack,
    }
    /// AMB-09: no answer to the probe in time, over HTTP.
    HttpSilence {
        /// It is an error: the rule that silence means legacy is one of stdio.
        #[default] Fail,
        /// The server is taken for legacy.
        FallBack,
    }
    /// AMB-28: HTTP 404 or 400 with -32601 in answer to the probe.
    MethodNotFound {
        /// The server is taken for legacy: a modern one must serve the method (NEG-04).
        #[default] FallBack,
        /// It counts as a recognised modern error.
        StayModern,
    }
    /// AMB-33: HTTP 400, 404 or 405 without any JSON-RPC error, which may come from a server of HTTP+SSE (2024-11-05). A JSON-RPC
    /// error shows that the message was read, as only Streamable HTTP does there.
    HttpStepDown {
        /// Send `initialize` first; if that is answered so too, HTTP+SSE is needed.
        #[default] InitializeFirst,
        /// The GET of HTTP+SSE comes first. It is not sent here: the attempt ends, and says so.
        GetFirst,
        /// It is never thought of.
        Never,
    }
    /// LEG-22: what a client that is done does with its session over HTTP.
    EndSession {
        /// It says so, by DELETE.
        #[default] Delete,
        /// Nothing.
        Leave,
    }
    /// LEG-23: whether a legacy session over HTTP has a stream for what the server says unasked.
    Listen {
        /// It has none.
        #[default] Off,
        /// It is asked for by GET, once.
        Get,
    }
}

/// What a client may legally choose. The default keeps the user connected wherever the text allows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClientPolicy {
    /// How to connect.
    pub mode: Mode,
    /// The versions offered.
    pub preferences: Preferences,
    /// AMB-21: how long the probe may take, in microseconds.
    pub probe_timeout_us: u64,
    /// How long every other request may take, in microseconds (CANC-01, LEG-30).
    pub request_timeout_us: u64,
    /// AMB-10: how many corrected requests may follow a refusal. One at the least (NEG-03).
    pub corrective_retries: NonZeroU8,
    /// AMB-02.
    pub other_success: OtherSuccess,
    /// AMB-03.
    pub odd_unsupported: OddUnsupported,
    /// AMB-04.
    pub broken_envelope: BrokenEnvelope,
    /// AMB-05.
    pub probe_exit: ProbeExit,
    /// AMB-06.
    pub bad_hint: BadHint,
    /// AMB-07.
    pub noise: Noise,
    /// AMB-11.
    pub after_modern_error: AfterModernError,
    /// AMB-11.
    pub invalid_params: InvalidParams,
    /// AMB-17.
    pub legacy_meta: LegacyMeta,
    /// AMB-21.
    pub cancel_probe: CancelProbe,
    /// AMB-21.
    pub late_discover: LateDiscover,
    /// AMB-27.
    pub uncorrelated_error: UncorrelatedError,
    /// AMB-29.
    pub missing_result_type: MissingResultType,
    /// AMB-31.
    pub initialize_refused: InitializeRefused,
    /// AMB-32.
    pub early_request: EarlyRequest,
    /// AMB-08.
    pub http_unauthorized: Unauthorized,
    /// AMB-08.
    pub http_too_many_requests: TooManyRequests,
    /// AMB-08.
    pub http_server_error: ServerError,
    /// AMB-08.
    pub http_redirect: Redirect,
    /// AMB-08.
    pub http_no_answer: NoAnswer,
    /// AMB-08.
    pub http_broken_connection: BrokenConnection,
    /// AMB-09.
    pub http_silence: HttpSilence,
    /// AMB-28.
    pub http_method_not_found: MethodNotFound,
    /// AMB-33.
    pub http_step_down: HttpStepDown,
    /// LEG-22.
    pub end_session: EndSession,
    /// LEG-23.
    pub listen: Listen,
    /// What an earlier connection to the same server learned, if it is still kept (ERA-11, ERA-12).
    pub cached_era: Option<Era>,
}

impl ClientPolicy {
    /// What is offered in this mode: the versions preferred, or the pinned one alone. Modern versions only in a mode that
    /// probes, legacy ones only in a mode that may send `initialize`.
    pub fn offered(&self) -> Preferences {
        let none = Arc::default;
        let Preferences { modern, legacy } = self.preferences.cleared();
        match &self.mode {
            Mode::Auto => Preferences { modern, legacy },
            Mode::Modern => Preferences { modern, legacy: none() },
            Mode::Legacy => Preferences { modern: none(), legacy },
            Mode::Pin(version) => {
                let only = Arc::from([version.clone()]);
                let listed = if legacy.contains(version) { Era::Legacy } else { Era::Modern };
                match version.era().unwrap_or(listed) {
                    Era::Modern => Preferences { modern: only, legacy: none() },
                    Era::Legacy => Preferences { modern: none(), legacy: only },
                }
            }
        }
    }
}

impl Default for ClientPolicy {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            preferences: Preferences::default(),
            probe_timeout_us: 5_000_000,
            request_timeout_us: 10_000_000,
            corrective_retries: NonZeroU8::MIN.saturating_add(1),
            other_success: OtherSuccess::default(),
            odd_unsupported: OddUnsupported::default(),
            broken_envelope: BrokenEnvelope::default(),
            probe_exit: ProbeExit::default(),
            bad_hint: BadHint::default(),
            noise: Noise::default(),
            after_modern_error: AfterModernError::default(),
            invalid_params: InvalidParams::default(),
            legacy_meta: LegacyMeta::default(),
            cancel_probe: CancelProbe::default(),
            late_discover: LateDiscover::default(),
            uncorrelated_error: UncorrelatedError::default(),
            missing_result_type: MissingResultType::default(),
            initialize_refused: InitializeRefused::default(),
            early_request: EarlyRequest::default(),
            http_unauthorized: Unauthorized::default(),
            http_too_many_requests: TooManyRequests::default(),
            http_server_error: ServerError::default(),
            http_redirect: Redirect::default(),
            http_no_answer: NoAnswer::default(),
            http_broken_connection: BrokenConnection::default(),
            http_silence: HttpSilence::default(),
            http_method_not_found: MethodNotFound::default(),
            http_step_down: HttpStepDown::default(),
            end_session: EndSession::default(),
            listen: Listen::default(),
            cached_era: None,
        }
    }
}
