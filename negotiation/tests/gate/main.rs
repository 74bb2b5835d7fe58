//! The server's gate: every requirement and every choice of its policy, each with its neighbour.

#![expect(clippy::unwrap_used, reason = "these helpers are part of the tests")]

mod choices;
#[cfg(feature = "deviations")]
mod deviations;
mod framing;
mod http;
mod legacy;
mod modern;
mod properties;
mod support;
