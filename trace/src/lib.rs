//! What happened in one run, and nothing else: one schema whether the run was simulated or a real process was driven.
//!
//! A [`Recording`] is the run in memory: small fixed-size [`Event`]s over one arena of bytes, cheap enough for every
//! run of a campaign. [`Header`] and [`Footer`] make it a self-contained file, `trace.jsonl` version 1, which [`read()`]
//! and [`write()`] take in and put out. [`diagram`] shows it to people. [`RunHash`] tells two runs apart.
//!
//! ```
//! use mcp_parley_trace::{Channel, Declared, Header, Kind, Mode, Node, Origin, ReadOptions, Recording, Subject, Transport};
//!
//! let mut run = Recording::new();
//! let pipe = Channel::Process(0);
//! run.push(0, Node::Client, pipe, Kind::Spawn, None, b"");
//! let sent = run.push(500, Node::Client, pipe, Kind::Write, None, b"{\"method\":\"ping\",\"id\":7}\n");
//! run.push(900, Node::Server, pipe, Kind::Read, Some(sent), b"{\"method\":\"ping\",\"id\":7}\n");
//!
//! let declared = Declared { mode: Mode::Unknown, modern: None, legacy: None, longest_wait_us: None, reports: false };
//! let header = Header {
//!     schema: mcp_parley_trace::SCHEMA.into(),
//!     tool: "example".into(),
//!     revision: "2026-07-28".into(),
//!     subject: Subject::Client,
//!     transport: Transport::Stdio,
//!     origin: Origin::Written,
//!     declared,
//!     client: Default::default(),
//!     server: Default::default(),
//! };
//! let mut file = Vec::new();
//! mcp_parley_trace::write(&mut file, &header, &run, None)?;
//! let read = mcp_parley_trace::read(&file[..], ReadOptions { allow_truncated: true })?;
//! assert_eq!(read.recording, run);
//! assert!(mcp_parley_trace::diagram::text(&header, &run, None).contains("C ──▶ S0  ping id=7"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
