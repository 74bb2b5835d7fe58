//! What happened in one run, and nothing else: one schema whether the run was simulated or a real process was driven.
//!
//! A [`Recording`] is the run in memory: small fixed-size [`Event`]s over one arena of bytes, cheap enough for every
//! run of a campaign. [`Header`] and [`Footer`] make it a self-contained file, `trace.jsonl` version 1, which [`read`]
//! and [`write`] take in and put out. [`diagram`] shows it to people.

pub mod diagram;
mod escape;
mod event;
mod hash;
mod header;
mod lines;
mod read;
mod summary;
mod wire;
mod write;

pub use escape::escape;
pub use event::{Channel, Era, Event, Kind, Node, Recording};
pub use hash::{CampaignHash, RunHash};
pub use header::{
    Decision, Declared, Footer, Header, Mode, Origin, Outcome, Ruling, SCHEMA, Subject, Transport,
};
pub use lines::{Assembler, Line, MAX_LINES, lines};
pub use read::{
    FileError, MAX_CHUNK_BYTES, MAX_DATA_BYTES, MAX_EVENTS, MAX_HEADER_BYTES, MAX_LINE_BYTES, Problem,
    ReadError, ReadOptions, TraceFile, read, read_file,
};
pub use write::{WriteError, Writer, write};
