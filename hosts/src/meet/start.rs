//! A server that is started and waited for.

use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::{Meeting, Reach};
use crate::exchange::{Endpoint, EndpointError};
use crate::server::{Notice, Server};

/// A server that does not listen by then is not going to.
const READY_TIME: Duration = Duration::from_secs(60);
const READY_STEP: Duration = Duration::from_millis(20);
const PORT: &str = "{port}";

#[derive(Debug)]
pub(super) enum StartError {
    Url(String, EndpointError),
    Failed(String),
}

/// What was started, and where it is.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) server: Option<Server>,
    pub(super) endpoint: Option<Endpoint>,
    port: Option<u16>,
}

impl Started {
    pub(super) fn start(run: &Meeting, sender: &mpsc::Sender<(u32, Notice)>) -> Result<Self, StartError> {
        let failed = |error: std::io::Error| StartError::Failed(error.to_string());
        let spawn = |command: &[String]| {
            let server = Server::start(command, run.directory.as_deref(), 0, sender);
            let name = command.first().map(String::as_str).unwrap_or_default();
            server.map_err(|error| StartError::Failed(format!("cannot start {name}: {error}")))
        };
        match &run.server {
            Reach::Stdio(command) => Ok(Self { server: Some(spawn(command)?), endpoint: None, port: None }),
            Reach::Http { command, url } => {
                let port = free_port().map_err(failed)?;
                let fill = |text: &String| text.replace(PORT, &port.to_string());
                let url = fill(url);
                let endpoint = Endpoint::parse(&url).map_err(|error| StartError::Url(url.clone(), error))?;
                let command = command.as_ref().map(|words| words.iter().map(fill).collect::<Vec<_>>());
                let server = command.map(|words| spawn(&words)).transpose()?;
                let port = server.is_some().then_some(port);
                Ok(Self { server, endpoint: Some(endpoint), port })
            }
        }
    }

    /// Waits until its port accepts connections.
    pub(super) async fn ready(&self, notices: &mut mpsc::Receiver<(u32, Notice)>) -> Result<(), StartError> {
        let Some(port) = self.port else { return Ok(()) };
        let failed = |why: &str| Err(StartError::Failed(why.to_owned()));
        let until = Instant::now() + READY_TIME;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.is_err() {
            if Instant::now() >= until {
                return failed("it did not listen on its port within a minute");
            }
            tokio::select! {
                () = sleep(READY_STEP) => {}
                Some((_, notice)) = notices.recv() => {
                    if matches!(notice, Notice::Ended { .. }) {
                        return failed("it ended before it listened on its port");
                    }
                }
            }
        }
        Ok(())
    }
}

/// One that nobody has at the moment. Until the server has it, somebody else may take it: then the server says so and ends.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
