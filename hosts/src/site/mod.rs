//! A persona as a real HTTP server.
//!
//! HTTP/1.1 is read and written by hand, over hyper's parser (`httparse`): answers must have header names as they are given and in
//! their order, may be any bytes, and may end in a reset, none of which hyper's server can do; and requests are wanted as they came.
//!
//! [`serve_site`] is one task that owns the player and is the only writer of the record. Each connection is a task of its own that
//! takes requests apart and writes what it is told; the two speak through queues. Whatever comes is recorded before the player is
//! told of it, and whatever the player does before it is written.

mod acts;
mod answer;
mod body;
mod bounds;
mod connection;
mod record;
mod request;
mod socket;
mod stage;

pub(crate) use body::{Body, Step};
pub use bounds::SiteBounds;
pub use record::SiteRecord;
pub(crate) use request::{Framing, MAX_HEADERS};
pub use socket::SiteSocket;
pub use stage::{PlaySite, serve_site};
