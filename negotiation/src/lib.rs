//! How an MCP client and server agree on what they speak, without any input or output of its own.
//!
//! - [`version`]: the known revisions and their eras, by table; preferences and selection.
//! - [`envelope`] and [`json`]: one JSON-RPC message, every malformed shape a named [`issue`] with its byte offset.
//! - [`classify`]: what one answer to `server/discover` says, and which version follows from it.
//! - [`client`]: the client's negotiation machine. [`gate`]: the server's side.
//! - [`policy`](client::ClientPolicy): what a host may legally choose. `deviations`: what breaks a rule on purpose.
//!
//! Nothing here reads a clock, allocates without bound, or panics on any input.

mod capabilities;
pub mod classify;
pub mod client;
pub mod codes;
pub mod envelope;
mod examine;
pub mod gate;
pub mod http;
pub mod issue;
pub mod json;
pub mod limits;
pub mod lines;
pub mod meta;
mod time;
pub mod version;

pub use time::Time;
