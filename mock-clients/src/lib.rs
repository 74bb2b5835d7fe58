//! Odd MCP clients for servers under test, and mutants: a client with one fault, named in a file.
//!
//! Both are data. An [`Opening`] is a list of messages that [`Player`] sends; a [`Mutant`] names one deviation of
//! `negotiation`'s client machine. Neither chooses, waits or does input and output by itself.

mod mutant;
mod opening;
mod player;

pub use mcp_parley_data::LoadError;
pub use mutant::{Mutant, mutant, mutants};
pub use opening::{HeaderName, Message, Opening, OverHttp, Step, Verb, Wait, opening, openings};
pub use player::Player;
