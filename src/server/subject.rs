//! Which servers are on trial, and over what.

use std::path::PathBuf;

use mcp_parley_hosts::Reach;
use mcp_parley_mock_clients::Good;
use mcp_parley_trace::Transport;

use crate::cli::ServerArgs;
use crate::client::peer;
use crate::exit::Failure;

/// A server over one transport.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) name: String,
    pub(super) sdk: Option<(String, String)>,
    pub(super) reach: Reach,
    pub(super) directory: Option<PathBuf>,
    pub(super) install: Option<String>,
    /// What it answers well; to be found out where nobody says.
    pub(super) good: Option<Good>,
}

impl Subject {
    pub(super) fn transport(&self) -> Transport {
        match self.reach {
            Reach::Stdio(_) => Transport::Stdio,
            Reach::Http { .. } => Transport::Http,
        }
    }

    /// How it is started, or where it is.
    pub(super) fn command(&self) -> Vec<String> {
        match &self.reach {
            Reach::Stdio(command) | Reach::Http { command: Some(command), .. } => command.clone(),
            Reach::Http { command: None, url } => vec![url.clone()],
        }
    }
}

pub(super) fn subjects(args: &ServerArgs) -> Result<Vec<Subject>, Failure> {
    let wanted = args.transport.map(Transport::from);
    if args.peer.is_empty() {
        return Ok(vec![of_command(args, wanted)?]);
    }
    let mut subjects = Vec::new();
    for path in &args.peer {
        let peer = peer::server(path)?;
        let good = if peer.modern.is_empty() { Good::Legacy } else { Good::Modern };
        let http = peer.http.map(|(command, url)| Reach::Http { command: Some(command), url });
        let both = [(Transport::Stdio, peer.command.map(Reach::Stdio)), (Transport::Http, http)];
        let before = subjects.len();
        for (_, reach) in both.into_iter().filter(|(own, _)| wanted.is_none_or(|wanted| wanted == *own)) {
            let Some(reach) = reach else { continue };
            subjects.push(Subject {
                name: peer.name.clone(),
                sdk: Some(peer.sdk.clone()),
                reach,
                directory: peer.directory.clone(),
                install: peer.install.clone(),
                good: Some(good),
            });
        }
        if subjects.len() == before {
            return Err(Failure::usage(format!("{}: it cannot be run over this transport", path.display())));
        }
    }
    Ok(subjects)
}

fn of_command(args: &ServerArgs, wanted: Option<Transport>) -> Result<Subject, Failure> {
    let command = (!args.command.is_empty()).then(|| args.command.clone());
    let (reach, name) = match (&args.url, command) {
        (Some(url), command) => {
            let has_port = |text: &String| text.contains("{port}");
            if command.as_ref().is_some_and(|words| !words.iter().any(has_port)) && has_port(url) {
                return Err(Failure::usage("the URL has {port}, and the command nowhere"));
            }
            (Reach::Http { command: command.clone(), url: url.clone() }, command)
        }
        (None, Some(command)) => (Reach::Stdio(command.clone()), Some(command)),
        (None, None) => {
            let text = "say which server: --peer FILE, or -- CMD…, or its URL (with {port} in it and in -- CMD…, to have it started)";
            return Err(Failure::usage(text));
        }
    };
    // A name and no path: it stands in the results and in the names of files.
    let program = name.and_then(|words| words.first().map(PathBuf::from)).unwrap_or_default();
    let name =
        program.file_name().map_or_else(|| "url".to_owned(), |name| name.to_string_lossy().into_owned());
    let subject = Subject { name, sdk: None, reach, directory: None, install: None, good: None };
    match wanted.filter(|wanted| *wanted != subject.transport()) {
        None => Ok(subject),
        Some(Transport::Stdio) => Err(Failure::usage("a URL is a server over HTTP; leave it out for stdio")),
        Some(Transport::Http) => {
            Err(Failure::usage("over HTTP, say the URL as well: http://127.0.0.1:{port}/mcp before the --"))
        }
    }
}
