//! Real processes, pipes and clocks around the deterministic crates.
//!
//! - [`drive`]: puts a real client on trial. It starts the client's driver, which starts mock servers; each of those connects
//!   to the recorder of its run, and lives no longer than that connection.
//! - [`drive_http`]: the same over HTTP; the server is in this process.
//! - [`serve`]: such a mock server, on real standard streams.
//! - [`serve_site`]: a mock server over HTTP.
//! - [`exchange`]: one request to a real HTTP server, and its answer as it comes.
//! - [`meet`]: puts a real server on trial: an odd client meets it, over stdio or HTTP.
//! - [`probe`]: one polite negotiation with a real server over stdio; [`probe_url`]: over HTTP.
//!
//! No function here creates a runtime; all of them run well on a single thread, with tokio's I/O and time enabled.

mod command;
mod drive;
mod driver;
mod exchange;
mod frames;
mod guard;
mod log;
mod meet;
mod os;
mod persona;
mod probe;
mod probe_url;
mod record;
mod recorder;
mod serve;
mod server;
mod site;
mod tail;
mod tls;

pub use drive::{
    DriveError, Driven, DriverRun, RunEnd, conformance_environment, drive, drive_http, stuck_after,
};
pub use driver::{DriverError, DriverLine, Stage};
pub use exchange::{Endpoint, EndpointError, ExchangeNotice, exchange};
pub use guard::{Guard, guard};
pub use log::Bounds;
pub use meet::{MeetEnd, MeetError, Meeting, Met, Reach, meet};
pub use os::asked_to_end;
pub use persona::PersonaPlayer;
pub use probe::{ProbeEnd, ProbeError, ProbeReport, ProbeRun, probe};
pub use probe_url::{UrlProbe, probe_url};
pub use record::{FileRecord, Link, LinkError, Record, RecordError};
pub use serve::{LOST_RECORDER_EXIT, Play, PlayInput, PlayOutput, ServeEnd, serve, serve_stdio};
pub use site::{PlaySite, SiteBounds, SiteRecord, SiteSocket, serve_site};
