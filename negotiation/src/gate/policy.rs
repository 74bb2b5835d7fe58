//! What a server may legally choose. Every ambiguity of the specification is one field, its doc comment begins with its id.

use serde::{Deserialize, Serialize};

use crate::client::choices;
use crate::version::ProtocolVersion;

choices! {
    /// AMB-04: a message that is no valid request.
    BrokenRequest {
        /// It is answered by -32700 or -32600.
        #[default] Answer,
        /// It is dropped.
        Drop,
    }
    /// AMB-13: at a dual-era server, a request without `_meta` before any `initialize`.
    BareRequest {
        /// Malformed modern: -32602.
        #[default] InvalidParams,
        /// Early legacy: -32600 (it does not know the request yet).
        EarlyLegacy,
    }
    /// AMB-14: which check wins where several fail.
    CheckOrder {
        /// Required `_meta` fields, then the version, then the method.
        #[default] MetaFirst,
        /// The version where there is one, then the other fields, then the method.
        VersionFirst,
        /// The method first.
        MethodFirst,
    }
    /// AMB-15: wrong types in optional or nested fields of `_meta`.
    NestedTypes {
        /// They are not looked at.
        #[default] Lenient,
        /// They are refused with -32602.
        Strict,
    }
    /// AMB-16: a legacy version, served here by handshake, named through modern `_meta`.
    LegacyByMeta {
        /// -32022.
        #[default] Refuse,
        /// It is served; then it is listed as well.
        Serve,
    }
    /// AMB-17: `initialize` that carries modern `_meta`, at a dual-era server.
    InitializeWithMeta {
        /// It is a handshake.
        #[default] Handshake,
        /// It is an unknown modern method.
        Modern,
    }
    /// AMB-18: a second `initialize`, or a modern request after the handshake, on one process.
    EraChange {
        /// It is served.
        #[default] Allow,
        /// It is refused with -32600.
        Refuse,
    }
    /// AMB-26: how a modern-only server refuses `initialize` on stdio. Its data names the versions served (ERA-13).
    InitializeCode {
        /// -32601.
        #[default] MethodNotFound,
        /// -32602.
        InvalidParams,
        /// -32022, with `requested` as `initialize` had it.
        UnsupportedVersion,
    }
    /// AMB-27: the id of an error for a request whose id could not be read.
    UnreadableId {
        /// It is left out, as in the schema.
        #[default] Absent,
        /// It is null, as in JSON-RPC 2.0.
        Null,
    }
    /// AMB-31: `initialize` for a version that is not served.
    UnknownInitialize {
        /// The best legacy version is offered instead.
        #[default] CounterOffer,
        /// -32602 with `supported` and `requested`, as in the page's example.
        Refuse,
    }
    /// AMB-14, over HTTP: which check wins where headers and body are both wrong.
    HeaderOrder {
        /// The headers.
        #[default] HeadersFirst,
        /// The body.
        BodyFirst,
    }
    /// AMB-14, over HTTP: an `Accept` header that does not list both media types.
    AcceptHeader {
        /// It is not looked at.
        #[default] Ignore,
        /// 406.
        Require,
    }
    /// AMB-19: a modern body without the version header, at a server that serves legacy clients as well.
    MissingHeader {
        /// -32020.
        #[default] Refuse,
        /// The body counts.
        ReadBody,
    }
    /// AMB-20, AMB-25: the headers and the version of a modern notification.
    NotificationHeaders {
        /// They are not looked at.
        #[default] Ignore,
        /// A wrong one is refused with 400.
        Check,
    }
    /// AMB-36: a version header on `initialize` itself.
    InitializeHeader {
        /// It is not looked at: the body is what is negotiated.
        #[default] Ignore,
        /// An unsupported value is refused with 400, as in later requests (LEG-05).
        Check,
    }
    /// AMB-38: the version header twice.
    RepeatedHeader {
        /// It is malformed.
        #[default] Refuse,
        /// The first one counts.
        First,
    }
    /// AMB-40: an `Origin` that is not of this machine, where nothing is configured.
    ForeignOrigin {
        /// 403.
        #[default] Refuse,
        /// It is served.
        Serve,
    }
    /// LEG-19 (MAY): whether a legacy handshake opens a session.
    Sessions {
        /// It does, and every later request must name it (LEG-20).
        #[default] Stateful,
        /// It does not: every legacy request is served by itself.
        Stateless,
    }
    /// LEG-23 (MAY): what a legacy server does with GET.
    GetStream {
        /// 405.
        #[default] Refuse,
        /// It opens a stream, on which nothing comes.
        Open,
    }
    /// HTTP-06 (either is right): how a request is answered that is served.
    AnswerForm {
        /// As one JSON object.
        #[default] Json,
        /// As an event stream.
        EventStream,
    }
    /// AMB-41: a modern request for `ping`.
    RemovedMethod {
        /// -32601.
        #[default] MethodNotFound,
        /// It is served.
        Serve,
    }
}

/// A method that the server has, besides those of the protocol itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServedMethod {
    /// Its name.
    pub name: String,
    /// The capability that announces it.
    pub capability: String,
    /// The members of its result, as JSON text without the braces; what the era adds is added by the gate.
    pub result: String,
    /// True if a modern result carries cache hints.
    pub cacheable: bool,
}

/// What a server is, and what it may legally choose. A version that is no known revision is of the era of its list; a known
/// one in the list of the other era is left out by [`Prepared::new`](super::Prepared::new).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GatePolicy {
    /// Modern versions served, best first; empty at a legacy-only server.
    pub modern: Vec<ProtocolVersion>,
    /// Legacy versions served by handshake, best first; empty at a modern-only server.
    pub legacy: Vec<ProtocolVersion>,
    /// AMB-01: whether the legacy versions are listed in `supportedVersions` and in `supported` as well.
    pub list_legacy: bool,
    /// The server's methods.
    pub methods: Vec<ServedMethod>,
    /// `ttlMs` of cacheable results, in milliseconds.
    pub ttl_ms: u64,
    /// True for `cacheScope: "public"`.
    pub cache_public: bool,
    /// AMB-04.
    pub broken_request: BrokenRequest,
    /// AMB-13.
    pub bare_request: BareRequest,
    /// AMB-14.
    pub check_order: CheckOrder,
    /// AMB-15.
    pub nested_types: NestedTypes,
    /// AMB-16.
    pub legacy_by_meta: LegacyByMeta,
    /// AMB-17.
    pub initialize_with_meta: InitializeWithMeta,
    /// AMB-18.
    pub era_change: EraChange,
    /// AMB-26.
    pub initialize_code: InitializeCode,
    /// AMB-27.
    pub unreadable_id: UnreadableId,
    /// AMB-31.
    pub unknown_initialize: UnknownInitialize,
    /// AMB-41.
    pub removed_method: RemovedMethod,
    /// Over HTTP.
    pub http: HttpPolicy,
}

/// What a server may legally choose over HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpPolicy {
    /// AMB-14.
    pub header_order: HeaderOrder,
    /// AMB-14.
    pub accept_header: AcceptHeader,
    /// AMB-19.
    pub missing_header: MissingHeader,
    /// AMB-20, AMB-25.
    pub notification_headers: NotificationHeaders,
    /// AMB-36.
    pub initialize_header: InitializeHeader,
    /// AMB-38.
    pub repeated_header: RepeatedHeader,
    /// AMB-40.
    pub foreign_origin: ForeignOrigin,
    /// LEG-19.
    pub sessions: Sessions,
    /// LEG-23.
    pub get_stream: GetStream,
    /// HTTP-06.
    pub answer_form: AnswerForm,
}

impl Default for GatePolicy {
    /// A modern-only server with one tool.
    fn default() -> Self {
        Self {
            modern: vec![ProtocolVersion::new(crate::version::LATEST_MODERN)],
            legacy: Vec::new(),
            list_legacy: false,
            methods: vec![ServedMethod {
                name: "tools/list".into(),
                capability: "tools".into(),
                result: r#""tools":[{"name":"echo","description":"Says it again","inputSchema":{"type":"object"}}]"#.into(),
                cacheable: true,
            }],
            ttl_ms: 0,
            cache_public: false,
            broken_request: BrokenRequest::default(),
            bare_request: BareRequest::default(),
            check_order: CheckOrder::default(),
            nested_types: NestedTypes::default(),
            legacy_by_meta: LegacyByMeta::default(),
            initialize_with_meta: InitializeWithMeta::default(),
            era_change: EraChange::default(),
            initialize_code: InitializeCode::default(),
            unreadable_id: UnreadableId::default(),
            unknown_initialize: UnknownInitialize::default(),
            removed_method: RemovedMethod::default(),
            http: HttpPolicy::default(),
        }
    }
}
