//! The deterministic simulator: every decision goes through one [`Chooser`], every run becomes one recording.
//!
//! [`Drawer`] makes a [`Case`] from decisions, [`World`] runs it: client ⇄ link ⇄ server processes, one queue, no clock.
//! [`Campaign`] runs many seeds and judges each; [`record()`] writes one run down whole, [`replay()`] runs a trace file again.
//!
//! ```
//! use std::sync::Arc;
//!
//! use mcp_parley_negotiation::client::ClientDeviations;
//! use mcp_parley_oracle::Severity;
//! use mcp_parley_sim::{Campaign, Setup};
//!
//! // A client with one fault, against every persona.
//! let setup = Setup {
//!     client: ClientDeviations { reuse_probe_id: true, ..Default::default() },
//!     ..Setup::default()
//! };
//! let campaign =
//!     Campaign { setup: Arc::new(setup), seeds: 0..1000, workers: 1, max_findings: 1, fail_on: Severity::Error };
//! let progress = campaign.run(|_| true);
//! assert_eq!(progress.findings[0].finding.id, "BASE-12");
//! ```

mod campaign;
mod case;
mod chooser;
mod draw;
mod replay;
mod world;

pub use campaign::{Campaign, Few, Found, Progress};
pub use case::{Case, ClientSide, ServerSide};
pub use chooser::{Bytes, Chooser, Recorder, Replay, Seeded, Site};
pub use draw::{Drawer, Setup};
pub use replay::{FullRun, hash_of, record, replay};
pub use world::{MAX_EVENTS, World};
