//! What a run is: who is on trial, and the two sides, concrete. A case and a decision log make the same run again.

use std::sync::Arc;

use mcp_parley_mock_clients::{Conversation, Opening};
use mcp_parley_mock_servers::{Persona, Played};
use mcp_parley_negotiation::client::{ClientDeviations, ClientPolicy, Mode};
use mcp_parley_negotiation::gate::GateDeviations;
use mcp_parley_negotiation::version::ProtocolVersion;
use mcp_parley_trace::{Declared, Mode as DeclaredMode, Subject, Transport};
use serde::{Deserialize, Serialize};

/// The client of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientSide {
    /// The negotiation machine with a policy, and with faults if it is a mutant or a model.
    Machine {
        /// What it legally chooses.
        policy: Arc<ClientPolicy>,
        /// What it breaks.
        deviations: ClientDeviations,
    },
    /// An odd client.
    Opening(Arc<Opening>),
    /// A client that says the same whatever it is answered.
    Conversation(Arc<Conversation>),
}

/// The server of a run: a concrete persona, and faults of its gate if it is a mutant.
#[derive(Clone, Debug)]
pub struct ServerSide {
    /// The persona, ready to be played.
    pub played: Arc<Played>,
    /// What its gate breaks.
    pub deviations: GateDeviations,
}

/// How a [`ServerSide`] stands in a trace.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenServer {
    persona: Persona,
    deviations: GateDeviations,
}

/// A whole case.
#[derive(Clone, Debug)]
pub struct Case {
    /// Who is judged.
    pub subject: Subject,
    /// How the two are connected.
    pub transport: Transport,
    /// The client.
    pub client: ClientSide,
    /// What the client says of itself: see [`ClientSide::declared`].
    pub declared: Arc<Declared>,
    /// The server.
    pub server: ServerSide,
}

impl Case {
    /// The client as it stands in a trace's header.
    pub fn client_value(&self) -> serde_json::Value {
        serde_json::to_value(&self.client).unwrap_or_default()
    }

    /// The server as it stands in a trace's header.
    pub fn server_value(&self) -> serde_json::Value {
        let persona = self.server.played.persona().clone();
        let written = WrittenServer { persona, deviations: self.server.deviations.clone() };
        serde_json::to_value(written).unwrap_or_default()
    }

    /// Reads a case back from a trace's header.
    ///
    /// # Errors
    /// What in the header is not what this version writes.
    pub fn from_values(
        subject: Subject,
        transport: Transport,
        client: serde_json::Value,
        server: serde_json::Value,
    ) -> Result<Self, String> {
        let client = serde_json::from_value(client).map_err(|error| format!("its `client`: {error}"))?;
        let written: WrittenServer =
            serde_json::from_value(server).map_err(|error| format!("its `server`: {error}"))?;
        let played = Arc::new(Played::new(written.persona).map_err(|error| format!("its persona: {error}"))?);
        let client: ClientSide = client;
        let declared = Arc::new(client.declared());
        let server = ServerSide { played, deviations: written.deviations };
        Ok(Self { subject, transport, client, declared, server })
    }
}

impl ClientSide {
    /// What the client says of itself, for the judge.
    pub fn declared(&self) -> Declared {
        let Self::Machine { policy, .. } = self else {
            return Declared {
                mode: DeclaredMode::Unknown,
                modern: None,
                legacy: None,
                longest_wait_us: None,
                reports: false,
            };
        };
        let offered = policy.offered();
        let names = |list: &[ProtocolVersion]| Some(list.iter().map(|v| v.as_str().to_owned()).collect());
        let mode = match &policy.mode {
            Mode::Legacy => DeclaredMode::Legacy,
            Mode::Auto => DeclaredMode::Auto,
            Mode::Modern => DeclaredMode::Modern,
            Mode::Pin(version) => DeclaredMode::Pin(version.as_str().to_owned()),
        };
        Declared {
            mode,
            modern: names(&offered.modern),
            legacy: names(&offered.legacy),
            longest_wait_us: Some(policy.probe_timeout_us.max(policy.request_timeout_us)),
            reports: true,
        }
    }
}
