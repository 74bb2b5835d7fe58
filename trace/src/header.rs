//! The first and the last line of a trace file.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The schema that this version writes and reads.
pub const SCHEMA: &str = "mcp-parley/trace/1";

/// Who is on trial. Only the subject is judged; what its counterpart did is the condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// The client.
    Client,
    /// The server.
    Server,
    /// The proxy between them.
    Proxy,
}

/// How the two sides are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// Standard streams of a child process.
    Stdio,
    /// Streamable HTTP.
    Http,
}

/// In which mode the client was told to connect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// `initialize` only.
    Legacy,
    /// Probe, then fall back.
    Auto,
    /// Probe, never `initialize`.
    Modern,
    /// This version only.
    Pin(String),
    /// Not known (a client that somebody else configured).
    Unknown,
}

/// What the sides say of themselves before the run, as far as it is known. The judge never guesses what is absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Declared {
    /// The client's mode.
    pub mode: Mode,
    /// The modern versions that the client offers, best first; `None` if unknown.
    pub modern: Option<Vec<String>>,
    /// The legacy versions that the client accepts, best first; `None` if unknown.
    pub legacy: Option<Vec<String>>,
    /// The client's longest wait for one answer, in microseconds; `None` if unknown.
    pub longest_wait_us: Option<u64>,
    /// True if the client reports `Settled`, `Failed` and `Downgraded` events.
    pub reports: bool,
}

/// Where the events come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Origin {
    /// The simulator, from this seed.
    Simulated {
        /// The seed.
        seed: u64,
    },
    /// A real process.
    Real {
        /// The subject's command line.
        command: Vec<String>,
        /// The name in its peer file, if it has one.
        peer: Option<String>,
    },
    /// Written by hand, for a test or a case.
    Written,
}

/// The first line of a trace file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Name and version of the tool that wrote it.
    pub tool: String,
    /// The revision of the specification whose catalogue judges it.
    pub revision: String,
    /// Who is on trial.
    pub subject: Subject,
    /// How the two sides are connected.
    pub transport: Transport,
    /// Where the events come from.
    pub origin: Origin,
    /// What the sides say of themselves.
    pub declared: Declared,
    /// The client's policy, deviations or odd opening, whole: enough to run it again. Opaque here.
    #[serde(default)]
    pub client: Value,
    /// The server's concrete persona or gate, whole: enough to run it again. Opaque here.
    #[serde(default)]
    pub server: Value,
}

/// One decision of the chooser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision(
    /// The site.
    pub String,
    /// How many choices there were.
    pub u32,
    /// The choice, below the bound. 0 is always the simplest.
    pub u32,
);

/// What the judge says of one requirement or property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Kept, as the evidence shows.
    Pass,
    /// A requirement of the specification is broken.
    Violation,
    /// A property that any sane side keeps is broken.
    Defect,
    /// The specification leaves it open; this is what was seen.
    Contested,
    /// It applied, and the run could not show it.
    Incomplete,
    /// Other side, other era, other transport, or never triggered.
    NotApplicable,
}

/// One verdict as it stands in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ruling {
    /// The requirement's or property's id.
    pub id: String,
    /// The verdict.
    pub outcome: Outcome,
    /// Numbers of the events that show it, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<u32>,
    /// Why, in one sentence; for a contested one, the outcome that was seen.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// For a contested one: all outcomes that are allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<String>,
}

/// The last line of a trace file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Footer {
    /// All verdicts, in catalogue order; those that are not applicable are left out.
    pub rulings: Vec<Ruling>,
    /// The decision log of a simulated run.
    #[serde(default)]
    pub decisions: Vec<Decision>,
    /// The run's hash, in hexadecimal; empty if the run was not simulated.
    #[serde(default)]
    pub hash: String,
}
