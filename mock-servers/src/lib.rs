//! Mock MCP servers that misbehave as data tells them.
//!
//! A [`Persona`] is a profile (a correct server of one kind) plus quirks, in TOML. A [`Draft`] is the file as it stands, with
//! open values; resolving them gives a concrete persona. [`Server`] plays one persona as one server process, sans-IO: the
//! same concrete persona is played by the simulator, by a real process and under the fuzzer. [`personas`] and [`mutants`] are
//! embedded, [`load`] reads a file.
//!
//! ```
//! use std::sync::Arc;
//!
//! use mcp_parley_mock_servers::{Played, Server, ServerInput, ServerOutput, persona};
//! use mcp_parley_negotiation::Time;
//!
//! let draft = persona("legacy").ok_or("it is embedded")?;
//! let mut server = Server::start(Arc::new(Played::new(draft.resolve(&[])?)?), 0);
//! server.handle_input(Time::ZERO, ServerInput::Start);
//! let asked = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{}}\n";
//! server.handle_input(Time(500), ServerInput::Bytes(asked));
//!
//! let mut said = Vec::new();
//! while let Some(output) = server.poll_output(&mut said) {
//!     assert!(matches!(output, ServerOutput::Write(_) | ServerOutput::WakeAt(_)));
//! }
//! assert!(String::from_utf8(said)?.contains(r#""error":{"code":-32601"#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod act;
mod doc;
mod draft;
mod engine;
mod files;
mod http;
mod literal;
mod locate;
mod mutant;
mod persona;
mod pipe;
mod played;
mod select;
mod site;
mod text;
mod validate;
mod wire;

pub use doc::Doc;
pub use draft::{Draft, OpenPoint};
pub use engine::{Server, ServerInput, ServerOutput};
pub use files::{load, persona, persona_text, personas};
pub use http::{Cut, EventLineEnd, Framing, Header, Hold, Http, HttpAct};
pub use literal::Literal;
pub use mcp_parley_data::{LoadError, SCHEMA};
pub use mutant::{Base, Mutant, mutant, mutants};
pub use persona::{
    Act, ErrorAct, ExitAct, HeaderSelector, IdForm, Moment, Persona, PolicyTable, ProcessOverride, Profile,
    Quirk, RenameAct, RetypeAct, Selector, SetAct, ValueKind, ValueSelector,
};
pub use played::{Played, PlayedError};
pub use site::{BodyFraming, ResponseHead, Site, SiteInput, SiteOutput, reason};
pub use text::Text;
pub use wire::{LineEnd, Wire};
