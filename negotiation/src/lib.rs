//! How an MCP client and server agree on what they speak, without any input or output of its own.
//!
//! - [`version`]: the known revisions and their eras, by table; preferences and selection.
//! - [`envelope`] and [`json`]: one JSON-RPC message, every malformed shape a named [`issue`] with its byte offset.
//! - [`classify`]: what one answer to `server/discover` says, and which version follows from it.
//! - [`client`]: the client's negotiation machine. [`gate`]: the server's side.
//! - [`http`], [`headers`] and [`sse`]: what an HTTP exchange is made of, the values of its headers, and event streams.
//! - [`policy`](client::ClientPolicy): what a host may legally choose. `deviations`: what breaks a rule on purpose.
//!
//! Nothing here reads a clock, allocates without bound, or panics on any input. The caller hands in what happened, with the time, and
//! carries out what comes out:
//!
//! ```
//! use std::sync::Arc;
//!
//! use mcp_parley_negotiation::Time;
//! use mcp_parley_negotiation::client::{ClientPolicy, Input, Negotiator, Output, Process, State};
//!
//! let mut client = Negotiator::new(Arc::new(ClientPolicy::default()));
//! let server = Process(0);
//! client.handle_input(Time::ZERO, Input::Start)?;
//! client.handle_input(Time::ZERO, Input::Up(server))?;
//! let mut sent = Vec::new();
//! while let Some(output) = client.poll_output(&mut sent) {
//!     match output {
//!         Output::Spawn(..) | Output::Write(..) | Output::WakeAt(_) => {} // start it, write to it, set a timer
//!         other => panic!("{other:?} comes later"),
//!     }
//! }
//! assert!(sent.starts_with(br#"{"jsonrpc":"2.0","id":1,"method":"server/discover""#));
//!
//! let refusal = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"unknown\"}}\n";
//! client.handle_input(Time(20_000), Input::Bytes(server, refusal))?;
//! assert_eq!(client.state(), State::FallingBack);
//! # Ok::<(), mcp_parley_negotiation::client::Misuse>(())
//! ```

mod capabilities;
pub mod classify;
pub mod client;
pub mod codes;
pub mod envelope;
mod examine;
pub mod gate;
pub mod headers;
pub mod http;
pub mod issue;
pub mod json;
pub mod limits;
pub mod lines;
pub mod meta;
pub mod sse;
mod time;
pub mod version;

pub use time::Time;
