//! `serve`: one persona as a real process.

use std::future::ready;
use std::io::Write as _;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;

use mcp_parley_hosts::{
    FileRecord, Link, PersonaPlayer, Record, ServeEnd, SiteBounds, SiteRecord, SiteSocket, asked_to_end,
    serve_site, serve_stdio,
};
use mcp_parley_mock_servers::{Draft, Persona, Played, Site};
use mcp_parley_trace::{Declared, Header, Mode, Origin, SCHEMA, Subject, Transport};

use crate::cli::{ServeArgs, ServeHttpArgs, ServeStdioArgs, ServeTransport};
use crate::exit::{Ended, Exit, Failure};
use crate::say::say;
use crate::sides;

pub(crate) fn run(args: &ServeArgs) -> Ended {
    match &args.transport {
        ServeTransport::Stdio(args) => runtime()?.block_on(stdio(args)),
        ServeTransport::Http(args) => runtime()?.block_on(http(args)),
    }
}

/// One thread is enough for everything that this program hosts.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::internal)
}

async fn stdio(args: &ServeStdioArgs) -> Ended {
    let (persona, process, record) = match (&args.recorder, &args.token) {
        (Some(address), Some(token)) => {
            let link = Link::connect(*address, token).await.map_err(Failure::usage)?;
            let persona: Persona = serde_json::from_str(link.persona()).map_err(Failure::internal)?;
            (persona, link.process(), Record::Supervisor(link))
        }
        _ => {
            let name = args.persona.as_deref().unwrap_or_default();
            let persona = chosen(&sides::persona(name)?, &args.choose)?;
            refuse(&persona, "stdio", persona.refuses_stdio())?;
            let record = match &args.trace {
                None => Record::Nothing,
                Some(folder) => Record::File(Box::new(file(folder, &persona, Transport::Stdio)?)),
            };
            (persona, 0, record)
        }
    };
    let played = Arc::new(Played::new(persona).map_err(Failure::usage)?);
    let ended = serve_stdio(PersonaPlayer::new(played, process), record).await;
    leave(&ended, args.trace.as_deref())
}

async fn http(args: &ServeHttpArgs) -> Ended {
    let persona = chosen(&sides::persona(&args.persona)?, &args.choose)?;
    refuse(&persona, "HTTP", persona.refuses_http())?;
    let path = args.path.clone();
    let is_path =
        path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic() && !b"?#".contains(&byte));
    if !is_path {
        return Err(Failure::usage(format!(
            "--path {path}: say a path such as /mcp, without blanks, ? and #"
        )));
    }
    let mut socket = SiteSocket::bind(args.port, Some(path), SiteBounds::default())
        .map_err(|error| Failure::usage(format!("--port {}: {error}", args.port)))?;
    let record = match &args.trace {
        None => SiteRecord::nothing(),
        Some(folder) => SiteRecord::file(file(folder, &persona, Transport::Http)?),
    };
    let (id, url) = (persona.id.clone(), socket.url());
    let site = Site::start(Arc::new(Played::new(persona).map_err(Failure::usage)?));
    let mut served = pin!(serve_site(site, &mut socket, record, asked_to_end()));
    // A persona that ends at its start has done so before anybody can learn where it was.
    let ended = tokio::select! {
        biased;
        ended = &mut served => Some(ended),
        () = ready(()) => None,
    };
    let _ = writeln!(anstream::stderr(), "{id} listens on {url}; Ctrl-C ends it");
    say!("{url}");
    let ended = match ended {
        Some(ended) => ended,
        None => served.await,
    };
    leave(&ended, args.trace.as_deref())
}

fn refuse(persona: &Persona, transport: &str, why: Option<&str>) -> Result<(), Failure> {
    match why {
        None => Ok(()),
        Some(why) => {
            Err(Failure::usage(format!("persona {} cannot be played over {transport}: {why}", persona.id)))
        }
    }
}

fn file(folder: &Path, persona: &Persona, transport: Transport) -> Result<FileRecord, Failure> {
    FileRecord::create(folder, &header(persona, transport))
        .map_err(|error| Failure::usage(format!("--trace {}: {error}", folder.display())))
}

/// Ends this process as the served one ended, unless that is our own failure.
fn leave(ended: &ServeEnd, trace: Option<&Path>) -> Ended {
    match ended {
        ServeEnd::Failed(why) => return Err(Failure::internal(why)),
        ServeEnd::Unrecorded(why) => {
            let folder = trace.unwrap_or_else(|| Path::new("")).display();
            let text = format!(
                "--trace {folder}: {why}; the server was ended, and its trace shows the run up to here"
            );
            return Err(Failure { text, exit: Exit::Incomplete });
        }
        _ => {}
    }
    // A thread may still be blocked on standard input: leaving does not wait for it.
    ended.leave()
}

/// Missing choices are the first; a choice that does not exist is a slip, which drawing would forgive.
fn chosen(draft: &Draft, choices: &[u32]) -> Result<Persona, Failure> {
    let points = draft.open_points();
    let wrong = points.iter().zip(choices).position(|(point, choice)| *choice >= point.choices);
    if choices.len() > points.len() || wrong.is_some() {
        let counts: Vec<String> = points.iter().map(|point| point.choices.to_string()).collect();
        let has = if counts.is_empty() {
            "no open value".to_owned()
        } else {
            format!("open values with {} choices, counted from 0", counts.join(", "))
        };
        return Err(Failure::usage(format!("--choose: {} has {has}", draft.id())));
    }
    draft.resolve(choices).map_err(Failure::usage)
}

/// A process that is served by hand knows nothing of its client.
fn header(persona: &Persona, transport: Transport) -> Header {
    Header {
        schema: SCHEMA.into(),
        tool: concat!("mcp-parley ", env!("CARGO_PKG_VERSION")).into(),
        revision: "2026-07-28".into(),
        subject: Subject::Client,
        transport,
        origin: Origin::Real { command: Vec::new(), peer: None },
        declared: Declared {
            mode: Mode::Unknown,
            modern: None,
            legacy: None,
            longest_wait_us: None,
            reports: false,
        },
        client: serde_json::Value::Null,
        server: serde_json::to_value(persona).unwrap_or_default(),
    }
}
