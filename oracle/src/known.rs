//! The oracle's own tables of versions, codes and methods: one wrong table must not blind both the parser and its judge.

use mcp_parley_trace::Era;

/// Every revision that the oracle knows, oldest first, with its era. Never compared as strings.
pub const VERSIONS: &[(&str, Era)] = &[
    ("2024-10-07", Era::Legacy),
    ("2024-11-05", Era::Legacy),
    ("2025-03-26", Era::Legacy),
    ("2025-06-18", Era::Legacy),
    ("2025-11-25", Era::Legacy),
    ("2026-07-28", Era::Modern),
];

/// The error codes that the modern revision defines in the range that it reserves for itself (ERR-03).
pub const MODERN_CODES: &[(i64, &str)] = &[
    (HEADER_MISMATCH, "HeaderMismatch"),
    (MISSING_CAPABILITY, "MissingRequiredClientCapability"),
    (UNSUPPORTED_VERSION, "UnsupportedProtocolVersion"),
];

pub(crate) const HEADER_MISMATCH: i64 = -32020;
pub(crate) const MISSING_CAPABILITY: i64 = -32021;
pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
pub(crate) const INVALID_PARAMS: i64 = -32602;

pub(crate) const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const META_INFO: &str = "io.modelcontextprotocol/clientInfo";
pub(crate) const META_SERVER: &str = "io.modelcontextprotocol/serverInfo";
pub(crate) const META_LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
pub(crate) const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The era of a known revision.
pub fn era_of(version: &str) -> Option<Era> {
    VERSIONS.iter().find(|(known, _)| *known == version).map(|(_, era)| *era)
}

pub(crate) fn is_modern_code(code: i64) -> bool {
    MODERN_CODES.iter().any(|(known, _)| *known == code)
}

macro_rules! methods {
    ($($variant:ident $name:literal $removed:literal,)*) => {
        /// A method whose name matters to some check.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(crate) enum Method { $($variant,)* #[default] Other }

        impl Method {
            pub(crate) fn named(name: &str) -> Self {
                match name { $($name => Self::$variant,)* _ => Self::Other }
            }

            pub(crate) fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* Self::Other => "other" }
            }

            /// Gone from the modern era (ERA-23). `initialize` is judged by the rows of the fallback instead.
            pub(crate) fn is_removed(self) -> bool {
                match self { $(Self::$variant => $removed,)* Self::Other => false }
            }
        }
    };
}

methods! {
    Cancelled "notifications/cancelled" false,
    CompletionComplete "completion/complete" false,
    Discover "server/discover" false,
    Initialize "initialize" false,
    Initialized "notifications/initialized" true,
    LoggingSetLevel "logging/setLevel" true,
    Ping "ping" true,
    PromptsGet "prompts/get" false,
    PromptsList "prompts/list" false,
    ResourcesList "resources/list" false,
    ResourcesRead "resources/read" false,
    ResourcesSubscribe "resources/subscribe" true,
    ResourcesUnsubscribe "resources/unsubscribe" true,
    RootsListChanged "notifications/roots/list_changed" true,
    TasksCancel "tasks/cancel" true,
    TasksGet "tasks/get" true,
    TasksList "tasks/list" true,
    TasksResult "tasks/result" true,
    ToolsCall "tools/call" false,
    ToolsList "tools/list" false,
}

impl Method {
    /// A core task method, which an extension of the same name may bring back.
    pub(crate) fn is_task(self) -> bool {
        matches!(self, Self::TasksCancel | Self::TasksGet | Self::TasksList | Self::TasksResult)
    }

    /// A method that is a request by definition, so that it cannot go without an id.
    pub(crate) fn is_request(self) -> bool {
        !matches!(self, Self::Cancelled | Self::Initialized | Self::RootsListChanged | Self::Other)
    }
}
