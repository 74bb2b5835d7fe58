//! The server's side: decides, message by message, in which era and version a request is served, or how it is refused.
