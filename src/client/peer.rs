//! Who is on trial: a peer file, or any command.

use std::path::{Path, PathBuf};

use mcp_parley_trace::{Declared, Mode, Transport};
use serde::Deserialize;

use crate::cli::ClientArgs;
use crate::exit::Failure;

/// A client that can be run.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) name: String,
    /// Package and version, where a peer file says so.
    pub(crate) sdk: Option<(String, String)>,
    pub(crate) transport: Transport,
    pub(crate) command: Vec<String>,
    pub(crate) directory: Option<PathBuf>,
    /// What makes the command work, for a shell.
    pub(crate) install: Option<String>,
    pub(crate) declared: Declared,
    /// How long its probe may take, in milliseconds.
    pub(crate) probe_timeout_ms: u64,
    pub(crate) is_driver: bool,
}

impl Subject {
    /// The same client over the same transport.
    pub(crate) fn is(&self, other: &Self) -> bool {
        (&self.name, self.transport) == (&other.name, other.transport)
    }

    /// The transport's name.
    pub(crate) fn over(&self) -> &'static str {
        match self.transport {
            Transport::Stdio => "stdio",
            Transport::Http => "HTTP",
        }
    }
}

/// The file format of docs/driver.md.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PeerFile {
    #[serde(rename = "schema")]
    _schema: u32,
    name: String,
    #[serde(rename = "role")]
    _role: String,
    sdk: String,
    version: String,
    command: Vec<String>,
    http_command: Option<Vec<String>>,
    install: Vec<String>,
    #[serde(default)]
    modes: Vec<String>,
    declares: Declares,
}

/// A server's file lacks what a client's needs, so its role is looked at first.
#[derive(Debug, Deserialize)]
struct Role {
    role: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Declares {
    modern: Vec<String>,
    legacy: Vec<String>,
    probe_timeout_ms: u64,
    /// Absent where the SDK has none.
    request_timeout_ms: Option<u64>,
    #[serde(rename = "probe_process")]
    _probe_process: Option<String>,
}

/// A mock that starts slowly eats the probe's time-out, so that SDKs get more of it than they declare.
const PROBE_TIMEOUT_MS: u64 = 5_000;

pub(crate) fn subjects(args: &ClientArgs) -> Result<Vec<Subject>, Failure> {
    let mode = mode(&args.mode)?;
    if args.peer.is_empty() {
        if args.command.is_empty() {
            return Err(Failure::usage(
                "say which client: --peer FILE, or -- CMD… with {server} in it (over HTTP: {url})",
            ));
        }
        let has = |placeholder| args.command.iter().any(|word| word.contains(placeholder));
        let transport = match args.transport {
            Some(transport) => transport.into(),
            None if has("{url}") && !has("{server}") => Transport::Http,
            None => Transport::Stdio,
        };
        let declared = Declared { mode, modern: None, legacy: None, longest_wait_us: None, reports: false };
        // A name and no path: it stands in the results and in the names of files.
        let program = args.command.first().map(PathBuf::from).unwrap_or_default();
        let name = program.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        return Ok(vec![Subject {
            name,
            sdk: None,
            transport,
            command: args.command.clone(),
            directory: None,
            install: None,
            declared,
            probe_timeout_ms: PROBE_TIMEOUT_MS,
            is_driver: false,
        }]);
    }
    let mut subjects = Vec::new();
    for path in &args.peer {
        subjects.extend(read(path, &mode, args)?);
    }
    Ok(subjects)
}

fn mode(text: &str) -> Result<Mode, Failure> {
    use mcp_parley_negotiation::client::Mode as Ours;
    Ok(match crate::probe::mode(text)? {
        Ours::Auto => Mode::Auto,
        Ours::Legacy => Mode::Legacy,
        Ours::Modern => Mode::Modern,
        Ours::Pin(version) => Mode::Pin(version.as_str().to_owned()),
    })
}

/// The client of a peer file, over each transport that is asked for and that it has.
fn read(path: &Path, mode: &Mode, args: &ClientArgs) -> Result<Vec<Subject>, Failure> {
    let refuse = |why: &dyn std::fmt::Display| Failure::usage(format!("{}: {why}", path.display()));
    let role: Role = mcp_parley_data::load(path).map_err(Failure::usage)?;
    if role.role != "client" {
        return Err(refuse(&"this peer is a server; `client` wants one whose role is \"client\""));
    }
    let peer: PeerFile = mcp_parley_data::load(path).map_err(Failure::usage)?;
    let kind = args.mode.split(':').next().unwrap_or_default();
    if !peer.modes.iter().any(|mode| mode == kind) {
        return Err(refuse(&format!("it has no mode {kind}; it has {}", peer.modes.join(", "))));
    }
    let directory = std::path::absolute(path).ok().and_then(|path| path.parent().map(Path::to_owned));
    let install = directory.as_ref().map(|folder| {
        let folder = folder.display().to_string();
        format!("cd {} && {}", shell_words::quote(&folder), shell_words::join(&peer.install))
    });
    let probe_timeout_ms = peer.declares.probe_timeout_ms.max(PROBE_TIMEOUT_MS);
    let request_timeout_ms = peer.declares.request_timeout_ms.unwrap_or_default();
    let longest_wait_us = Some(1000 * probe_timeout_ms.max(request_timeout_ms));
    let commands = [(Transport::Stdio, Some(peer.command)), (Transport::Http, peer.http_command)];
    let wanted = |transport| args.transport.is_none_or(|wanted| transport == Transport::from(wanted));
    let mut subjects = Vec::new();
    for (transport, command) in commands.into_iter().filter(|(transport, _)| wanted(*transport)) {
        let Some(command) = command else { continue };
        subjects.push(Subject {
            name: peer.name.clone(),
            sdk: Some((peer.sdk.clone(), peer.version.clone())),
            transport,
            command: started_in(directory.as_deref(), command),
            directory: directory.clone(),
            install: install.clone(),
            declared: Declared {
                mode: mode.clone(),
                modern: Some(peer.declares.modern.clone()),
                legacy: Some(peer.declares.legacy.clone()),
                longest_wait_us,
                reports: true,
            },
            probe_timeout_ms,
            is_driver: true,
        });
    }
    if subjects.is_empty() {
        return Err(refuse(&"it has no `http_command`, so it cannot be judged over HTTP"));
    }
    Ok(subjects)
}

/// A command whose program may be given by a path from the folder of the peer file.
fn started_in(folder: Option<&Path>, mut command: Vec<String>) -> Vec<String> {
    if let (Some(program), Some(folder)) = (command.first_mut(), folder)
        && program.contains('/')
    {
        // Joined, never resolved: a virtual environment is known by the path of its link.
        *program = folder.join(&*program).display().to_string();
    }
    command
}
