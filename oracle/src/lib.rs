//! The judge: reads a recorded run and nothing else, and says which requirements and properties its subject kept.
//!
//! It depends on the trace only. Its reading of lines, JSON, versions and codes is its own, so that a bug in the code
//! on trial cannot hide itself. [`Judge::judge`] gives [`Verdicts`]; [`Verdicts::finding`] the one thing to tell a user;
//! [`requirement`], [`property`] and [`contested_row`] what an id means.
//!
//! ```
//! use mcp_parley_oracle::{Judge, requirement};
//! use mcp_parley_trace::{Channel, Declared, Kind, Mode, Node, Recording, Subject, Transport};
//!
//! // A client that asks `initialize` for a modern version.
//! let bytes = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2026-07-28","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}
//! "#;
//! let mut run = Recording::new();
//! run.push(0, Node::Client, Channel::Process(0), Kind::Write, None, bytes);
//! run.push(500, Node::Server, Channel::Process(0), Kind::Read, Some(0), bytes);
//! run.push(900, Node::Harness, Channel::None, Kind::End(true), None, b"");
//!
//! let declared = Declared { mode: Mode::Legacy, modern: None, legacy: None, longest_wait_us: None, reports: false };
//! let mut judge = Judge::new();
//! let verdicts = judge.judge(&run, &declared, Subject::Client, Transport::Stdio);
//! let verdict = verdicts.get("ERA-22").ok_or("it is judged")?;
//! assert!(verdict.is_broken());
//! assert_eq!(verdict.reason, "`initialize` asks for a modern version");
//! assert!(requirement("ERA-22").is_some_and(|row| !row.sources.is_empty()));
//! # Ok::<(), &str>(())
//! ```

mod catalogue;
mod checks;
mod compare;
mod json;
mod judge;
mod known;
mod story;
mod verdict;

pub use catalogue::{
    CatalogueError, Contested, EraScope, Level, Property, Reading, Requirement, Role, Severity, Source,
    contested, contested_row, properties, property, requirement, requirements, severity, validate,
};
pub use checks::{CHECKS, Check};
pub use compare::compare;
pub use judge::Judge;
pub use known::{MODERN_CODES, VERSIONS, era_of};
pub use verdict::{EVIDENCE, Finding, Verdict, Verdicts};
