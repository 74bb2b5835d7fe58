//! Odd MCP clients for servers under test, and mutants: a client with one fault, named in a file.
//!
//! Both are data. An [`Opening`] is a list of messages that [`Player`] sends; a [`Mutant`] names one deviation of
//! `negotiation`'s client machine. Neither chooses, waits or does input and output by itself.

mod conversation;
mod good;
mod http;
mod mutant;
mod opening;
mod player;

pub use conversation::{Conversation, OverHttp, Said, Talker};
pub use http::{HeaderName, HttpForm, Verb};
pub use mcp_parley_data::LoadError;
pub use mutant::{Mutant, mutant, mutants};
pub use opening::{Good, Hex, Message, Opening, Step, Wait, opening, openings};
pub use player::Player;
