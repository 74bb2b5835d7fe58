//! The deterministic simulator: every decision goes through one [`Chooser`], every run becomes one recording.
//!
//! [`draw`] makes a [`Case`] from decisions, [`World`] runs it, [`Campaign`] runs many and judges each; [`replay`] runs a trace
//! file again.

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
