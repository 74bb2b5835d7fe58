//! What holds for every legal policy, every persona and every link.

#![expect(clippy::unwrap_used, reason = "helpers of tests may be blunt")]

mod client_policy;
mod gate_policy;
mod support;
