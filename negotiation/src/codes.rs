//! The error codes, in one table.

use crate::version::Era;

/// One code that has a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCode {
    /// The number.
    pub code: i64,
    /// The specification's name.
    pub name: &'static str,
    /// The message that our own side sends with it.
    pub message: &'static str,
    /// The era that it belongs to; `None` for both.
    pub era: Option<Era>,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $ident:ident = $code:literal, $name:literal, $message:literal, $era:expr;)*) => {
        $($(#[$doc])* pub const $ident: ErrorCode =
            ErrorCode { code: $code, name: $name, message: $message, era: $era };)*
        /// All of them.
        pub const ALL: &[ErrorCode] = &[$($ident),*];
    };
}

codes! {
    /// Not JSON.
    PARSE_ERROR = -32700, "ParseError", "Parse error", None;
    /// JSON, but no request object.
    INVALID_REQUEST = -32600, "InvalidRequest", "Invalid request", None;
    /// Unknown method, or one whose capability was not advertised (ERR-07).
    METHOD_NOT_FOUND = -32601, "MethodNotFound", "Method not found", None;
    /// Bad parameters, in the modern era also a missing required `_meta` field (META-02).
    INVALID_PARAMS = -32602, "InvalidParams", "Invalid params", None;
    /// Internal failure.
    INTERNAL_ERROR = -32603, "InternalError", "Internal error", None;
    /// Resource not found, up to 2025-11-25 (ERR-04, ERR-08).
    RESOURCE_NOT_FOUND = -32002, "ResourceNotFound", "Resource not found", Some(Era::Legacy);
    /// Headers and body disagree, or a required header is missing or malformed (HTTP-18).
    HEADER_MISMATCH = -32020, "HeaderMismatch", "Header mismatch", Some(Era::Modern);
    /// The request needs a capability that the client did not declare (META-06).
    MISSING_CAPABILITY =
        -32021, "MissingRequiredClientCapability", "Missing required client capability", Some(Era::Modern);
    /// The version of the request is not served here (NEG-02).
    UNSUPPORTED_VERSION =
        -32022, "UnsupportedProtocolVersion", "Unsupported protocol version", Some(Era::Modern);
}

/// True for the codes that prove a modern server on stdio: -32020, -32021, -32022 (ERA-02, ERA-04).
pub fn is_recognised_modern(code: i64) -> bool {
    matches!(code, -32022..=-32020)
}
