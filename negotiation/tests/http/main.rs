//! The client's machine over Streamable HTTP, by scripted exchanges.

#![expect(clippy::panic, reason = "these helpers are part of the tests")]

mod bounds;
mod calls;
#[cfg(feature = "deviations")]
mod deviations;
mod probe;
mod requests;
mod sessions;
mod streams;
mod support;
