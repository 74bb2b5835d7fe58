//! `serve`: one persona as a real process.

use std::path::Path;
use std::sync::Arc;

use mcp_parley_hosts::{FileRecord, Link, PersonaPlayer, Record, ServeEnd, serve_stdio};
use mcp_parley_mock_servers::{Draft, Persona, Played};
use mcp_parley_trace::{Declared, Header, Mode, Origin, SCHEMA, Subject, Transport};

use crate::cli::{ServeArgs, ServeStdioArgs, ServeTransport};
use crate::exit::{Ended, Exit, Failure};
use crate::sides;

pub(crate) fn run(args: &ServeArgs) -> Ended {
    let ServeTransport::Stdio(args) = &args.transport;
    runtime()?.block_on(stdio(args))
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
            let record = match &args.trace {
                None => Record::Nothing,
                Some(folder) => {
                    let file = FileRecord::create(folder, &header(&persona))
                        .map_err(|error| Failure::usage(format!("--trace {}: {error}", folder.display())))?;
                    Record::File(Box::new(file))
                }
            };
            (persona, 0, record)
        }
    };
    let played = Arc::new(Played::new(persona).map_err(Failure::usage)?);
    let ended = serve_stdio(PersonaPlayer::new(played, process), record).await;
    match &ended {
        ServeEnd::Failed(why) => return Err(Failure::internal(why)),
        ServeEnd::Unrecorded(why) => {
            let folder = args.trace.as_deref().unwrap_or_else(|| Path::new("")).display();
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
fn header(persona: &Persona) -> Header {
    Header {
        schema: SCHEMA.into(),
        tool: concat!("mcp-parley ", env!("CARGO_PKG_VERSION")).into(),
        revision: "2026-07-28".into(),
        subject: Subject::Client,
        transport: Transport::Stdio,
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
