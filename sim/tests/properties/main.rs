//! What holds for every legal policy, every persona and every link. Each property comes with mutants that it catches.

#![expect(clippy::unwrap_used, reason = "helpers of tests may be blunt")]

mod chunking;
mod client_policy;
mod gate_policy;
mod settling;
mod support;
mod traces;
