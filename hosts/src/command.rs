//! The driver's command, with its placeholders filled in, and the process that it becomes.

use std::io::{self, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};
use tempfile::NamedTempFile;
use tokio::process::{Child, ChildStdin, Command};

use crate::drive::{DriveError, DriverRun};
use crate::driver::MAX_OUTPUT_BYTES;
use crate::os::Group;
use crate::tail::{Kept, Part};

const STDERR_BYTES: usize = 64 << 10;
const MCP_JSON: &str = "{mcp-json}";

/// What the client is to speak to.
#[derive(Clone, Debug)]
pub(crate) enum Server {
    /// A command that starts it.
    Stdio(Vec<String>),
    /// Its endpoint.
    Http(String),
}

impl Server {
    /// As most clients want to be configured.
    fn mcp_json(&self) -> Value {
        let server = match self {
            Self::Stdio(argv) => {
                let (command, args) =
                    argv.split_first().map_or((None, &[][..]), |(first, rest)| (Some(first), rest));
                json!({ "type": "stdio", "command": command, "args": args })
            }
            Self::Http(url) => json!({ "type": "http", "url": url }),
        };
        json!({ "mcpServers": { "parley": server } })
    }
}

/// The running driver.
pub(crate) struct Driver {
    pub(crate) child: Child,
    pub(crate) group: Group,
    /// Waiting for a child closes the pipe, unless it was taken out.
    _stdin: Option<ChildStdin>,
    /// It is there as long as the driver.
    _mcp_json: Option<NamedTempFile>,
    pub(crate) stdout: Kept,
    pub(crate) stderr: Kept,
}

impl Driver {
    pub(crate) fn start(run: &DriverRun, server: &Server) -> Result<Self, DriveError> {
        let mcp_json = match run.command.iter().any(|word| word.contains(MCP_JSON)) {
            true => Some(mcp_json(server).map_err(DriveError::McpJson)?),
            false => None,
        };
        let path = mcp_json.as_ref().map(|file| file.path().to_string_lossy().into_owned());
        let argv = expand(run, server, path.as_deref())?;
        let (program, arguments) = argv.split_first().ok_or(DriveError::NoCommand)?;
        let mut command = Command::new(program);
        // The driver reads nothing; that the pipe closes tells it that this process is gone.
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.envs(&run.environment);
        if let Some(directory) = &run.directory {
            command.current_dir(directory);
        }
        Group::prepare(&mut command);
        let failed = |error| DriveError::Spawn { program: program.clone(), error };
        let mut child = command.spawn().map_err(failed)?;
        let group = Group::of(&child);
        let piped =
            || DriveError::Spawn { program: program.clone(), error: io::ErrorKind::BrokenPipe.into() };
        let stdout = child.stdout.take().ok_or_else(piped)?;
        let stderr = child.stderr.take().ok_or_else(piped)?;
        let stdout = Kept::read(stdout, Part::First(MAX_OUTPUT_BYTES));
        let stderr = Kept::read(stderr, Part::Last(STDERR_BYTES));
        Ok(Self { _stdin: child.stdin.take(), _mcp_json: mcp_json, child, group, stdout, stderr })
    }
}

fn mcp_json(server: &Server) -> io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix("mcp-parley-").suffix(".json").tempfile()?;
    writeln!(file, "{}", server.mcp_json())?;
    file.flush()?;
    Ok(file)
}

fn expand(run: &DriverRun, server: &Server, mcp_json: Option<&str>) -> Result<Vec<String>, DriveError> {
    if run.command.is_empty() {
        return Err(DriveError::NoCommand);
    }
    let url = match server {
        Server::Stdio(_) => None,
        Server::Http(url) => Some(url.as_str()),
    };
    let mut argv = Vec::new();
    let mut has_server = mcp_json.is_some();
    for word in &run.command {
        match server {
            Server::Stdio(words) if word == "{server}" => {
                has_server = true;
                argv.extend(words.iter().cloned());
                continue;
            }
            Server::Http(_) if word == "{server}" => return Err(DriveError::ServerOverHttp),
            Server::Stdio(_) | Server::Http(_) => {}
        }
        has_server |= url.is_some() && word.contains("{url}");
        argv.push(
            word.replace("{mode}", &run.mode)
                .replace("{probe_timeout_ms}", &run.probe_timeout.as_millis().to_string())
                .replace("{timeout_ms}", &run.timeout.as_millis().to_string())
                .replace(MCP_JSON, mcp_json.unwrap_or(MCP_JSON))
                .replace("{url}", url.unwrap_or("{url}")),
        );
    }
    match url {
        _ if has_server => {}
        // The contract of the official conformance suite's clients.
        Some(url) => argv.push(url.to_owned()),
        None => return Err(DriveError::NoServer),
    }
    Ok(argv)
}
