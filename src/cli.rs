//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Finds where MCP clients and servers disagree on what they speak: the protocol version, the era, and discovery.
///
/// Personas are mock servers, correct or with a known fault. A client meets them in a simulator or as real processes, and
/// every run is judged against the specification.
#[derive(Debug, Parser)]
#[command(name = "mcp-parley", version, arg_required_else_help = true, after_help = AFTER)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER: &str = "\
Try:
  mcp-parley hunt                                  simulate 200 000 runs of the reference client
  mcp-parley client -- my-client {server}          put your client through every persona
  mcp-parley server -- my-server                   put your server before every odd client
  mcp-parley probe -- my-server                    what your server speaks
  mcp-parley probe http://localhost:8080/mcp       the same over HTTP
  mcp-parley serve stdio --persona late-discover   one misbehaving server, for a debugger
  mcp-parley explain ERA-04                        what an id in a finding means

Exit codes:
  0 fine   1 findings   2 wrong usage   3 incomplete   4 nothing was judged
  6 the same seed gave two different runs   70 a bug in mcp-parley";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Simulate many runs of a client against misbehaving servers, and judge each.
    Hunt(HuntArgs),
    /// Run a recorded finding again: 1 if it is still there, 0 if it is healed.
    Replay(ReplayArgs),
    /// Draw a recorded run as a sequence diagram.
    Show(ShowArgs),
    /// Be one persona: a mock MCP server as a real process.
    Serve(ServeArgs),
    /// Put a real client through the personas, and judge what it does.
    Client(ClientArgs),
    /// Put a real server before odd clients: is it alive behind each, and what does it answer?
    Server(ServerArgs),
    /// Connect to a real server once: what it speaks, and what is wrong with its answers.
    Probe(ProbeArgs),
    /// List what there is: personas, mutants, requirements and so on.
    List(ListArgs),
    /// Kill what is left when `server` is killed; started by `server`.
    #[command(hide = true)]
    Guard,
    /// Say what an id means: a requirement, contested row, property, persona, opening or mutant.
    Explain(ExplainArgs),
}

/// How many threads or runs at a time. Each takes memory of its own.
fn at_once(text: &str) -> Result<usize, &'static str> {
    text.parse().ok().filter(|number| (1..=1024).contains(number)).ok_or("say a whole number from 1 to 1024")
}

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs: one JSON document on standard output.
    Json,
}

/// What counts as a finding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// What breaks a MUST, the schema or a binding decision of the specification, and what no sane side does.
    #[default]
    Error,
    /// What breaks a SHOULD or other prose as well.
    Warning,
}

#[derive(Debug, Args)]
pub(crate) struct HuntArgs {
    /// The client: `reference`, or `mutant:ID` for one with a planted fault (see `list mutants`).
    #[arg(long, default_value = "reference", value_name = "CLIENT")]
    pub(crate) client: String,
    /// The server: `persona:ID`, a persona file, or `mutant:ID` (then the server is on trial). Default: all personas.
    #[arg(long, value_name = "SERVER")]
    pub(crate) server: Option<String>,
    /// Over which transport. Default: both, one run in three over HTTP.
    #[arg(long, value_enum)]
    pub(crate) transport: Option<Transport>,
    /// Which seeds: `FROM..TO`, or a number of them from 0.
    #[arg(long, default_value = "0..200000", value_name = "SEEDS")]
    pub(crate) seeds: String,
    /// How many threads. Default: one a core. The result does not depend on it.
    #[arg(long, value_name = "N", value_parser = at_once)]
    pub(crate) workers: Option<usize>,
    /// Stop after this many distinct findings, 0 for no limit.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) max_findings: usize,
    /// What counts as a finding.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) fail_on: FailOn,
    /// How the result is printed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// The folder for the traces of findings; it is made if need be.
    #[arg(long, default_value = "parley-findings", value_name = "DIR")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// A trace file, as `hunt` and `client` write them.
    pub(crate) file: PathBuf,
    /// What counts as a finding.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) fail_on: FailOn,
    /// How the result is printed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// How client and server are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    /// Standard streams of a process.
    Stdio,
    /// Streamable HTTP.
    Http,
}

impl From<Transport> for mcp_parley_trace::Transport {
    fn from(transport: Transport) -> Self {
        match transport {
            Transport::Stdio => Self::Stdio,
            Transport::Http => Self::Http,
        }
    }
}

/// How a run is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shape {
    /// One line an event, at most 110 columns wide.
    #[default]
    Text,
    /// The source of a Mermaid sequence diagram, as GitHub renders it.
    Mermaid,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// A trace file.
    pub(crate) file: PathBuf,
    /// What is drawn.
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
    /// Over standard input and output, as MCP clients start servers.
    Stdio(ServeStdioArgs),
    /// Over Streamable HTTP, on a loopback port. Prints the endpoint's URL as its only line.
    Http(ServeHttpArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ServeHttpArgs {
    /// A persona's id (see `list personas`), or a persona file.
    #[arg(long, value_name = "ID|FILE")]
    pub(crate) persona: String,
    /// Which value each `one_of` of the persona takes, counted from 0, in the order of the file. Default: the first.
    #[arg(long, value_name = "N,N…", value_delimiter = ',')]
    pub(crate) choose: Vec<u32>,
    /// The port, 0 for a free one.
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) port: u16,
    /// The endpoint's path. Requests to others are answered 404.
    #[arg(long, default_value = "/mcp", value_name = "PATH")]
    pub(crate) path: String,
    /// Write a trace of the run into this folder; `show` draws it.
    #[arg(long, value_name = "DIR")]
    pub(crate) trace: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ServeStdioArgs {
    /// A persona's id (see `list personas`), or a persona file.
    #[arg(long, value_name = "ID|FILE", required_unless_present = "recorder")]
    pub(crate) persona: Option<String>,
    /// Which value each `one_of` of the persona takes, counted from 0, in the order of the file. Default: the first.
    #[arg(long, value_name = "N,N…", value_delimiter = ',')]
    pub(crate) choose: Vec<u32>,
    /// Write a trace of this process into this folder; `show` draws it.
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
    /// Over which transport. Default: a peer over each that it has; a command with `{url}` over HTTP, any other over stdio.
    #[arg(long, value_enum)]
    pub(crate) transport: Option<Transport>,
    /// Only this persona; may be given several times. Default: all.
    #[arg(long, value_name = "ID")]
    pub(crate) persona: Vec<String>,
    /// A persona file, besides or instead of the embedded ones.
    #[arg(long, value_name = "FILE")]
    pub(crate) persona_file: Vec<PathBuf>,
    /// The mode that the client is told, and held to.
    ///
    /// auto: probe, then fall back. legacy: `initialize` only. modern: probe only. pin:VERSION: this version or none.
    #[arg(long, default_value = "auto", value_name = "MODE")]
    pub(crate) mode: String,
    /// How many runs at a time. Default: eight a core, one of which may be starting.
    #[arg(long, value_name = "N", value_parser = at_once)]
    pub(crate) jobs: Option<usize>,
    /// Write what the client did with each persona here, as Markdown.
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<PathBuf>,
    /// The folder for the traces of findings; it is made if need be.
    #[arg(long, default_value = "parley-findings", value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// What counts as a finding.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) fail_on: FailOn,
    /// How the result is printed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// Any program that uses an MCP server. Over stdio the argument `{server}` becomes the mock's command line, as several
    /// arguments; over HTTP `{url}` becomes its endpoint, or the URL is added as the last argument. `{mcp-json}` becomes the
    /// path of a file with an `mcpServers` object.
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    /// A peer file of a server (see docs/driver.md); may be given several times.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["command", "url"])]
    pub(crate) peer: Vec<PathBuf>,
    /// Over which transport. Default: each that the peer has.
    #[arg(long, value_enum)]
    pub(crate) transport: Option<Transport>,
    /// Only this opening (see `list openings`); may be given several times. Default: all.
    #[arg(long, value_name = "ID")]
    pub(crate) opening: Vec<String>,
    /// How many runs at a time. Default: eight a core, one of which may be starting.
    #[arg(long, value_name = "N", value_parser = at_once)]
    pub(crate) jobs: Option<usize>,
    /// Write what the server did with each opening here, as Markdown. What the file says of clients stays.
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<PathBuf>,
    /// The folder for the traces of findings; it is made if need be.
    #[arg(long, default_value = "parley-findings", value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// What counts as a finding.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) fail_on: FailOn,
    /// How the result is printed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// The URL of a server over HTTP. With a command it may have `{port}` in it, as the command then has; a command without a URL
    /// is a server over stdio.
    #[arg(value_name = "URL")]
    pub(crate) url: Option<String>,
    /// The server's command line: a program and its arguments. It is started anew for each opening.
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ProbeArgs {
    /// How to connect: `auto`, `legacy`, `modern` or `pin:VERSION`. Default: the era of `MCP_CONFORMANCE_PROTOCOL_VERSION`, which the
    /// official conformance suite sets; without it `auto`.
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<String>,
    /// How long the whole may take, in milliseconds.
    #[arg(long, default_value_t = 30_000, value_name = "MS")]
    pub(crate) timeout_ms: u64,
    /// How long the probe itself may go unanswered, in milliseconds.
    #[arg(long, default_value_t = 5_000, value_name = "MS")]
    pub(crate) probe_timeout_ms: u64,
    /// Write a trace here; `show` draws it.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// How the result is printed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// The server's endpoint over Streamable HTTP: `http://HOST:PORT/PATH` or `https://…`. Redirects are not followed. A certificate
    /// must be signed by an authority of this machine, or by one in the file (PEM) that the variable `SSL_CERT_FILE` names.
    #[arg(value_name = "URL", required_unless_present = "command", conflicts_with = "command")]
    pub(crate) url: Option<String>,
    /// The server's command line, over stdio: a program and its arguments.
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<String>,
}

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum What {
    /// Mock servers, correct or with a known fault.
    Personas,
    /// Odd clients, for servers on trial.
    Openings,
    /// Reference clients and servers with one planted fault.
    Mutants,
    /// What the specification says.
    Requirements,
    /// Where the specification is silent or pulls two ways.
    Contested,
    /// What any sane side keeps, whatever the specification says.
    Properties,
    /// The ids that are judged today.
    Checks,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// What to list.
    #[arg(value_enum)]
    pub(crate) what: What,
    /// How the result is printed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// For example ERA-04, AMB-21, PROP-ID, or the name of a persona or mutant.
    pub(crate) id: String,
    /// How the result is printed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}
