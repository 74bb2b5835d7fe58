//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Finds where MCP clients and servers disagree on what they speak: the protocol version, the era, and discovery.
#[derive(Debug, Parser)]
#[command(name = "mcp-parley", version, about, arg_required_else_help = true)]
#[command(
    after_help = "Exit codes: 0 fine, 1 findings, 2 usage, 3 incomplete, 4 nothing judged, 6 non-determinism, 70 internal."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Simulate many runs of a client against misbehaving servers, and judge each.
    Hunt(HuntArgs),
    /// Run a recorded finding again: 1 if it is still there, 0 if it is healed.
    Replay(ReplayArgs),
    /// Show a recorded run as a sequence diagram.
    Show(ShowArgs),
    /// Host one persona for real.
    Serve(ServeArgs),
    /// Put a real client through the personas.
    Client(ClientArgs),
    /// One polite negotiation with a real server: era, versions, capabilities, issues.
    Probe(ProbeArgs),
    /// List personas, openings, mutants, requirements, properties or checks.
    List(ListArgs),
    /// Say what a requirement, property, contested row, persona, opening or mutant is.
    Explain(ExplainArgs),
}

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs: one JSON object on standard output.
    Json,
}

/// What counts as a finding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// MUST, schema, binding rows, and defects.
    #[default]
    Error,
    /// SHOULD and other prose as well.
    Warning,
}

#[derive(Debug, Args)]
pub(crate) struct HuntArgs {
    /// The client: `reference`, or `mutant:ID`.
    #[arg(long, default_value = "reference", value_name = "CLIENT")]
    pub(crate) client: String,
    /// The server: `persona:ID`, `mutant:ID` (then the server is on trial), or a persona file. Default: all personas.
    #[arg(long, value_name = "SERVER")]
    pub(crate) server: Option<String>,
    /// Which seeds: `FROM..TO`, or a number of them from 0.
    #[arg(long, default_value = "0..200000", value_name = "SEEDS")]
    pub(crate) seeds: String,
    /// How many threads. Default: one a core. The result does not depend on it.
    #[arg(long, value_name = "N")]
    pub(crate) workers: Option<usize>,
    /// Stop after this many distinct findings; 0 for no limit.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) max_findings: usize,
    /// What counts as a finding.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) fail_on: FailOn,
    /// How the result is printed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// Where findings are written.
    #[arg(long, default_value = "parley-findings", value_name = "DIR")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// A trace file that `hunt` or `client` wrote.
    pub(crate) file: PathBuf,
    /// What counts as a finding.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) fail_on: FailOn,
    /// How the result is printed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// How a run is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shape {
    /// One line an event, for a terminal.
    #[default]
    Text,
    /// A Mermaid sequence diagram.
    Mermaid,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// A trace file.
    pub(crate) file: PathBuf,
    /// As what.
    #[arg(long = "as", value_enum, default_value_t)]
    pub(crate) shape: Shape,
    /// Also read a log that ends too early, as a killed process leaves it.
    #[arg(long)]
    pub(crate) allow_truncated: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    #[command(subcommand)]
    pub(crate) transport: ServeTransport,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServeTransport {
    /// On standard input and output.
    Stdio(ServeStdioArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ServeStdioArgs {
    /// An embedded persona's id, or a persona file. (A supervisor sends the persona itself.)
    #[arg(long, value_name = "ID|FILE", required_unless_present = "recorder")]
    pub(crate) persona: Option<String>,
    /// The choices of the persona's open values, in order. Default: the first of each.
    #[arg(long, value_name = "N,N…", value_delimiter = ',')]
    pub(crate) choose: Vec<u32>,
    /// Write a trace of this process into this folder.
    #[arg(long, value_name = "DIR", conflicts_with = "recorder")]
    pub(crate) trace: Option<PathBuf>,
    /// The supervisor's address; given by `client`.
    #[arg(long, value_name = "ADDRESS", requires = "token", hide = true)]
    pub(crate) recorder: Option<std::net::SocketAddr>,
    /// The run's token; given by `client`.
    #[arg(long, value_name = "TOKEN", requires = "recorder", hide = true)]
    pub(crate) token: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ClientArgs {
    /// A peer file (see docs/driver.md): its command, modes and what it declares.
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    pub(crate) peer: Vec<PathBuf>,
    /// Only these personas. Default: all.
    #[arg(long, value_name = "ID")]
    pub(crate) persona: Vec<String>,
    /// A persona file, besides or instead of the embedded ones.
    #[arg(long, value_name = "FILE")]
    pub(crate) persona_file: Vec<PathBuf>,
    /// The mode that the client is told.
    #[arg(long, default_value = "auto", value_name = "auto|legacy|modern|pin:VERSION")]
    pub(crate) mode: String,
    /// How many runs at a time. Default: eight a core, one of which may be starting.
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Write the table of results here, as Markdown.
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<PathBuf>,
    /// Where findings are written.
    #[arg(long, default_value = "parley-findings", value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// What counts as a finding.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) fail_on: FailOn,
    /// How the result is printed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// Any program that starts an MCP server over stdio; `{server}` stands for the mock's command line.
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ProbeArgs {
    /// The client's mode.
    #[arg(long, default_value = "auto", value_name = "auto|legacy|modern|pin:VERSION")]
    pub(crate) mode: String,
    /// How long the whole may take, in milliseconds.
    #[arg(long, default_value_t = 30_000, value_name = "MS")]
    pub(crate) timeout_ms: u64,
    /// How long the probe itself may go unanswered, in milliseconds.
    #[arg(long, default_value_t = 5_000, value_name = "MS")]
    pub(crate) probe_timeout_ms: u64,
    /// Write a trace here.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// How the result is printed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// The server's command line.
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<String>,
}

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum What {
    /// Mock servers.
    Personas,
    /// Odd clients.
    Openings,
    /// Clients and servers with one fault.
    Mutants,
    /// What the specification says.
    Requirements,
    /// Where it is silent.
    Contested,
    /// What any sane side keeps.
    Properties,
    /// What is judged.
    Checks,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// What.
    #[arg(value_enum)]
    pub(crate) what: What,
    /// How it is printed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// For example ERA-04, AMB-21, PROP-ID, or the name of a persona or mutant.
    pub(crate) id: String,
    /// How it is printed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}
