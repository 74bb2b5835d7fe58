//! The judge against traces written as text: each check's files, whole runs, and what holds for any run.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what is wrong with its own files by ending"
)]

mod careful;
mod careful_http;
mod files;
mod http;
mod properties;
mod readers;
mod servers;
mod support;
