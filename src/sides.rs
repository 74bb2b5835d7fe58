//! From `--client X --server Y` to what the simulator draws from.

use std::path::Path;
use std::sync::Arc;

use mcp_parley_mock_clients as mock_clients;
use mcp_parley_mock_servers as mock_servers;
use mcp_parley_mock_servers::{Draft, Persona};
use mcp_parley_negotiation::client::ClientDeviations;
use mcp_parley_sim::Setup;
use mcp_parley_trace::{Subject, Transport};

use crate::exit::Failure;
use crate::suggest::did_you_mean;

/// Reads both sides. A server mutant is on trial itself; otherwise the client is.
pub(crate) fn setup(
    client: &str,
    server: Option<&str>,
    transport: Option<Transport>,
) -> Result<Setup, Failure> {
    let mut setup = Setup { client: client_side(client)?, transport, ..Setup::default() };
    let Some(server) = server else {
        match transport {
            Some(Transport::Stdio) => setup.servers.retain(Draft::is_for_stdio),
            Some(Transport::Http) => setup.servers.retain(Draft::is_for_http),
            None => {}
        }
        return Ok(setup);
    };
    match server.split_once(':') {
        Some(("mutant", id)) => {
            let mutant = mock_servers::mutant(id).ok_or_else(|| {
                let near = did_you_mean(id, mock_servers::mutants().iter().map(|mutant| &mutant.id));
                unknown("server mutant", id, "mutants", near)
            })?;
            setup.subject = Subject::Server;
            setup.server = mutant.deviations.clone();
            setup.servers = vec![draft_of(mutant)?];
            setup.openings = mock_clients::openings().iter().cloned().map(Arc::new).collect();
        }
        Some(("persona", id)) => {
            setup.servers = vec![embedded(id)?];
        }
        _ => setup.servers = vec![persona(server)?],
    }
    for draft in &setup.servers {
        playable(draft, transport)?;
    }
    Ok(setup)
}

/// A persona that a transport cannot play says why.
pub(crate) fn playable(draft: &Draft, transport: Option<Transport>) -> Result<(), Failure> {
    let Some(transport) = transport else { return Ok(()) };
    let persona = draft.resolve(&[]).map_err(Failure::usage)?;
    let (name, other, why) = match transport {
        Transport::Stdio => ("stdio", "http", persona.refuses_stdio()),
        Transport::Http => ("http", "stdio", persona.refuses_http()),
    };
    match why {
        None => Ok(()),
        Some(why) => {
            let id = draft.id();
            Err(Failure::usage(format!("persona {id} cannot be played over {name}: {why}; try {other}")))
        }
    }
}

fn client_side(client: &str) -> Result<ClientDeviations, Failure> {
    match client.split_once(':') {
        None if client == "reference" => Ok(ClientDeviations::default()),
        Some(("mutant", id)) => {
            mock_clients::mutant(id).map(|mutant| mutant.deviations.clone()).ok_or_else(|| {
                let near = did_you_mean(id, mock_clients::mutants().iter().map(|mutant| &mutant.id));
                unknown("client mutant", id, "mutants", near)
            })
        }
        _ => {
            let mutants = mock_clients::mutants().iter().map(|mutant| format!("mutant:{}", mutant.id));
            let near = did_you_mean(client, mutants.chain(["reference".to_owned()]));
            Err(Failure::usage(format!("--client {client}: say `reference` or `mutant:ID`{near}")))
        }
    }
}

/// An embedded persona by its id, or one from a file.
pub(crate) fn persona(name: &str) -> Result<Draft, Failure> {
    match mock_servers::persona(name) {
        Some(draft) => Ok(draft.clone()),
        None if Path::new(name).exists() => mock_servers::load(Path::new(name)).map_err(Failure::usage),
        None => Err(unknown(
            "persona",
            &format!("{name}, and no such file"),
            "personas",
            did_you_mean(name, ids()),
        )),
    }
}

fn embedded(id: &str) -> Result<Draft, Failure> {
    mock_servers::persona(id)
        .cloned()
        .ok_or_else(|| unknown("persona", id, "personas", did_you_mean(id, ids())))
}

fn ids() -> impl Iterator<Item = &'static str> {
    mock_servers::personas().iter().map(Draft::id)
}

fn unknown(kind: &str, id: &str, list: &str, near: String) -> Failure {
    Failure::usage(format!("there is no {kind} named {id}; `mcp-parley list {list}` shows all{near}"))
}

/// The server that a mutant is but for its fault. Its name does not enter the run.
fn draft_of(mutant: &mock_servers::Mutant) -> Result<Draft, Failure> {
    let persona = Persona {
        source: vec![mutant.killed_by.clone()],
        policy: mutant.base.policy.clone(),
        ..Persona::unmodified("mutant", "a server with one fault", mutant.base.profile)
    };
    Draft::of(&persona).map_err(Failure::internal)
}
