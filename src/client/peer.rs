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

/// A server that can be run.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) name: String,
    /// Package and version.
    pub(crate) sdk: (String, String),
    /// What is started to judge it over stdio.
    pub(crate) command: Option<Vec<String>>,
    /// What is started to judge it over HTTP, with `{port}` in it, and the URL at which it then is, with `{port}` too.
    pub(crate) http: Option<(Vec<String>, String)>,
    pub(crate) directory: Option<PathBuf>,
    /// What makes the commands work, for a shell.
    pub(crate) install: Option<String>,
    /// The versions that it serves, best first.
    pub(crate) modern: Vec<String>,
    #[cfg_attr(not(test), expect(dead_code, reason = "what a server answers to `initialize` tells more"))]
    pub(crate) legacy: Vec<String>,
}

/// The format of a server's file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerFile {
    #[serde(rename = "schema")]
    _schema: u32,
    name: String,
    #[serde(rename = "role")]
    _role: String,
    sdk: String,
    version: String,
    command: Option<Vec<String>>,
    http_command: Option<Vec<String>>,
    url: Option<String>,
    install: Vec<String>,
    declares: Serves,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Serves {
    modern: Vec<String>,
    legacy: Vec<String>,
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
        subjects.extend(read(path, &mode, &args.mode, args.transport.map(Into::into))?);
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
fn read(path: &Path, mode: &Mode, asked: &str, wanted: Option<Transport>) -> Result<Vec<Subject>, Failure> {
    let refuse = |why: &dyn std::fmt::Display| Failure::usage(format!("{}: {why}", path.display()));
    let role: Role = mcp_parley_data::load(path).map_err(Failure::usage)?;
    if role.role != "client" {
        return Err(refuse(&"this peer is a server; `client` wants one whose role is \"client\""));
    }
    let peer: PeerFile = mcp_parley_data::load(path).map_err(Failure::usage)?;
    let kind = asked.split(':').next().unwrap_or_default();
    if !peer.modes.iter().any(|mode| mode == kind) {
        return Err(refuse(&format!("it has no mode {kind}; it has {}", peer.modes.join(", "))));
    }
    let directory = folder_of(path);
    let probe_timeout_ms = peer.declares.probe_timeout_ms.max(PROBE_TIMEOUT_MS);
    let request_timeout_ms = peer.declares.request_timeout_ms.unwrap_or_default();
    let longest_wait_us = Some(1000 * probe_timeout_ms.max(request_timeout_ms));
    let commands = [(Transport::Stdio, Some(peer.command)), (Transport::Http, peer.http_command)];
    let mut subjects = Vec::new();
    for (transport, command) in
        commands.into_iter().filter(|(own, _)| wanted.is_none_or(|wanted| *own == wanted))
    {
        let Some(command) = command else { continue };
        subjects.push(Subject {
            name: peer.name.clone(),
            sdk: Some((peer.sdk.clone(), peer.version.clone())),
            transport,
            command: started_in(directory.as_deref(), command),
            directory: directory.clone(),
            install: directory.as_deref().map(|folder| installed_in(folder, &peer.install)),
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

/// Reads the peer file of a server.
pub(crate) fn server(path: &Path) -> Result<Server, Failure> {
    let refuse = |why: &str| Failure::usage(format!("{}: {why}", path.display()));
    let role: Role = mcp_parley_data::load(path).map_err(Failure::usage)?;
    if role.role != "server" {
        return Err(refuse("this peer is a client; `server` wants one whose role is \"server\""));
    }
    let peer: ServerFile = mcp_parley_data::load(path).map_err(Failure::usage)?;
    let directory = folder_of(path);
    let http = match (peer.http_command, peer.url) {
        (Some(command), Some(url)) => Some((started_in(directory.as_deref(), command), url)),
        (None, None) => None,
        _ => return Err(refuse("`http_command` and `url` go together")),
    };
    if peer.command.is_none() && http.is_none() {
        return Err(refuse("it says how to start the server neither over stdio (`command`) nor over HTTP"));
    }
    Ok(Server {
        name: peer.name,
        sdk: (peer.sdk, peer.version),
        command: peer.command.map(|command| started_in(directory.as_deref(), command)),
        http,
        install: directory.as_deref().map(|folder| installed_in(folder, &peer.install)),
        directory,
        modern: peer.declares.modern,
        legacy: peer.declares.legacy,
    })
}

fn folder_of(path: &Path) -> Option<PathBuf> {
    std::path::absolute(path).ok().and_then(|path| path.parent().map(Path::to_owned))
}

fn installed_in(folder: &Path, install: &[String]) -> String {
    let folder = folder.display().to_string();
    format!("cd {} && {}", shell_words::quote(&folder), shell_words::join(install))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ours(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(name).with_extension("toml")
    }

    /// The client over stdio, and over HTTP.
    fn both(path: &Path) -> [Subject; 2] {
        let both: [Subject; 2] = read(path, &Mode::Auto, "auto", None).unwrap().try_into().unwrap();
        assert_eq!([both[0].transport, both[1].transport], [Transport::Stdio, Transport::Http]);
        for subject in &both {
            let one = read(path, &Mode::Auto, "auto", Some(subject.transport)).unwrap();
            assert!(one.len() == 1 && one[0].is(subject));
        }
        both
    }

    /// What it says of a file that differs from one of ours in one place.
    fn refused(ours_is: &str, from: &str, to: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("peer.toml");
        let text = std::fs::read_to_string(ours(ours_is)).unwrap();
        assert!(text.contains(from), "{text}");
        std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
        match ours_is.contains("server") {
            true => server(&path).unwrap_err().to_string(),
            false => read(&path, &Mode::Auto, "auto", None).unwrap_err().to_string(),
        }
    }

    #[test]
    fn every_peer_of_ours_is_read_in_its_role() {
        let mut clients = 0;
        let mut servers = 0;
        for entry in std::fs::read_dir(ours("x").parent().unwrap()).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|ending| ending != "toml") {
                continue;
            }
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            if name.ends_with("server") {
                let peer = server(&path).unwrap();
                assert_eq!(peer.name, name);
                let (command, url) = peer.http.unwrap();
                assert_eq!(command.iter().filter(|word| word.contains("{port}")).count(), 1, "{name}");
                assert!(url.starts_with("http://127.0.0.1:{port}/"), "{name}");
                assert_eq!(peer.command.is_some(), name != "typescript-sessions-server");
                assert_eq!(peer.modern.is_empty(), name == "everything-server");
                assert!(!peer.legacy.is_empty() && !peer.sdk.1.is_empty(), "{name}");
                assert_eq!(peer.directory.as_deref(), path.parent());
                assert!(peer.install.unwrap().contains("./install"), "{name}");
                assert!(read(&path, &Mode::Auto, "auto", None).is_err());
                servers += 1;
            } else {
                let [pipes, http] = both(&path);
                assert_eq!((&pipes.name, &http.name), (&name, &name));
                assert!(pipes.command.contains(&"{server}".to_owned()), "{name}");
                let words = http.command;
                assert_eq!(words.iter().filter(|word| *word == "{url}").count(), 1, "{name}");
                assert!(!words.contains(&"{server}".to_owned()), "{name}");
                assert!(server(&path).is_err());
                clients += 1;
            }
        }
        assert!(clients >= 3 && servers >= 5, "{clients} clients, {servers} servers");
    }

    #[test]
    fn a_program_by_a_path_is_started_from_the_folder_of_its_file() {
        let program = ours("x").with_file_name("rust/target/release/client").display().to_string();
        assert!(both(&ours("rust")).iter().all(|rust| rust.command.first() == Some(&program)));
        let node = server(&ours("typescript-server")).unwrap();
        assert_eq!(node.http.unwrap().0.first().map(String::as_str), Some("node"));
    }

    #[test]
    fn a_client_without_a_time_out_for_requests_declares_its_probe() {
        let [rust, _] = both(&ours("rust"));
        assert_eq!(rust.declared.longest_wait_us, Some(10_000_000));
        let [typescript, _] = both(&ours("typescript"));
        assert_eq!(typescript.declared.longest_wait_us, Some(5_000_000));
    }

    #[test]
    fn what_a_file_may_not_say_is_refused() {
        assert!(refused("typescript", "http_command", "htp_command").contains("htp_command"));
        assert!(refused("typescript-server", "http_command", "htp_command").contains("htp_command"));
        assert!(refused("typescript-server", "\nurl = ", "\n# ").contains("go together"));
        assert!(
            refused("everything-server", "modern = []", "probe_timeout_ms = 1").contains("probe_timeout_ms")
        );
        let none = refused("typescript-sessions-server", "http_command = [", "# [");
        assert!(none.contains("go together"), "{none}");
    }
}
