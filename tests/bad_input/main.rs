//! Bad input, as users and counterparts bring it: one clear line that says what, where and what to do, the right exit
//! code, bounded memory, and no panic, hang or orphan. With the release binary, which is what users run, and all of it:
//! `cargo build --release && MCP_PARLEY_EXE=$PWD/target/release/mcp-parley cargo test --test bad_input -- --include-ignored`

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "these helpers are part of the tests")]

mod clients;
mod files;
mod harness;
mod served;
mod servers;
mod sites;
mod traces;

/// A line that no side can hold.
const LONG: usize = 100 << 20;
const DEEP: usize = 100_000;
