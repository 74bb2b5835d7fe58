//! Mock MCP servers that misbehave as data tells them.
//!
//! A [`Persona`] is a profile (a correct server of one kind) plus quirks, in TOML. A [`Draft`] is the file as it stands, with
//! open values; resolving them gives a concrete persona. [`Server`] plays one persona as one server process, sans-IO: the
//! same concrete persona is played by the simulator, by a real process and under the fuzzer.

mod act;
mod doc;
mod draft;
mod engine;
mod files;
mod locate;
mod mutant;
mod persona;
mod pipe;
mod played;
mod select;
mod text;
mod validate;
mod wire;

pub use doc::Doc;
pub use draft::{Draft, OpenPoint};
pub use engine::{Server, ServerInput, ServerOutput};
pub use files::{load, persona, persona_text, personas};
pub use mcp_parley_data::{LoadError, SCHEMA};
pub use mutant::{Base, Mutant, mutant, mutants};
pub use persona::{
    Act, ErrorAct, ExitAct, IdForm, Moment, Persona, PolicyTable, ProcessOverride, Profile, Quirk, RenameAct,
    RetypeAct, Selector, SetAct, ValueKind, ValueSelector,
};
pub use played::{Played, PlayedError};
pub use text::Text;
pub use wire::{LineEnd, Wire};
