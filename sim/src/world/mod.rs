//! One run: client ⇄ link ⇄ server processes, one event loop, one queue ordered by time and sequence.
//!
//! Nothing here knows what is right. It keeps two promises of its own: no run is endless (an event budget), and nobody is
//! left idle and undone (a run whose queue is empty while the client still waits is marked as cut off, for the judge).

mod client;
mod hop;
mod http;
mod link;
mod queue;
mod server;

use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::client::{DownKind, Input, Process, States};
use mcp_parley_trace::{Channel, Kind, Node, Recording, Transport};

use self::client::Client;
use self::queue::{Queue, What};
use self::server::ServerProcess;
use crate::case::Case;
use crate::chooser::{Chooser, Site};

/// No run has more events than this.
pub const MAX_EVENTS: usize = 600;
/// As many processes of earlier runs are kept.
const SPARE: usize = 4;
/// Faults are drawn up to this event; what comes after must end well.
const FAULTS_UNTIL: usize = 48;

/// The memory of a world, kept from run to run.
#[derive(Debug, Default)]
pub struct World {
    /// What happened.
    pub recording: Recording,
    queue: Queue,
    /// Bytes on their way; the queue holds ranges of it.
    wire: Vec<u8>,
    buf: Vec<u8>,
    /// What the client says of itself.
    text: String,
    servers: Vec<ServerProcess>,
    /// Processes of earlier runs, whose memory serves the next ones.
    spare: Vec<ServerProcess>,
    /// Over HTTP: the server and all exchanges with it.
    net: Option<http::Net>,
    /// The client of the last run, whose memory serves the next.
    client: Option<Client>,
}

/// One run in progress.
struct Run<'w, C> {
    chooser: C,
    case: &'w Case,
    world: &'w mut World,
    client: Client,
    now: Time,
    faults: bool,
    wake: Option<Time>,
    called: bool,
    closing: bool,
}

impl World {
    /// An empty world.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs a case from its beginning to its end; [`World::recording`] then holds it.
    pub fn run<C: Chooser>(&mut self, case: &Case, mut chooser: C) -> C {
        self.recording.clear();
        self.queue.clear();
        self.wire.clear();
        self.spare.append(&mut self.servers);
        self.spare.truncate(SPARE);
        let faults = chooser.choose(Site::FaultsInPlay, 3) == 2;
        let client = Client::new(&case.client, case.transport, self.client.take());
        self.net = (case.transport == Transport::Http).then(|| http::Net::new(&case.server));
        let mut run = Run {
            chooser,
            case,
            world: self,
            client,
            now: Time::ZERO,
            faults,
            wake: None,
            called: false,
            closing: false,
        };
        if case.transport == Transport::Http {
            run.open_site();
        }
        run.tell_client(Input::Start);
        run.turn();
        let Run { chooser, client, .. } = run;
        self.client = Some(client);
        chooser
    }

    /// Which states the client's machine was in during the last run.
    pub fn reached(&self) -> States {
        self.client.as_ref().map(Client::reached).unwrap_or_default()
    }
}

impl<C: Chooser> Run<'_, C> {
    fn turn(&mut self) {
        loop {
            while let Some((time, what)) = self.world.queue.pop() {
                self.now = time;
                self.happen(what);
                if self.world.recording.events().len() >= MAX_EVENTS {
                    return self.end(false);
                }
                if self.faults && self.world.recording.events().len() > FAULTS_UNTIL {
                    self.faults = false;
                    self.record(Node::Harness, Channel::None, Kind::FaultsOff, None, &[]);
                }
            }
            if self.client.is_done() || self.closing {
                return self.end(self.client.is_done());
            }
            // All is quiet and the client is connected: the user goes away.
            self.closing = true;
            if !self.client.is_settled() {
                return self.end(false);
            }
            self.tell_client(Input::Shutdown);
        }
    }

    fn happen(&mut self, what: What) {
        match what {
            What::Up(process) => self.tell_client(Input::Up(process)),
            What::Boot(process) => self.on_boot(process),
            What::SpawnFailed(process) => {
                self.record(
                    Node::Client,
                    channel(process),
                    Kind::SpawnFailed,
                    None,
                    b"the program is not there",
                );
                self.tell_client(Input::Down(process, DownKind::SpawnFailed));
            }
            What::ToServer { process, start, end, cause } => self.on_server_bytes(process, start, end, cause),
            What::ServerEof(process, cause) => self.on_server_eof(process, cause),
            What::ServerWake(process) => self.on_server_wake(process),
            What::Kill(process, cause) => self.kill(process, cause),
            What::ToClient { process, start, end, cause } => self.on_client_bytes(process, start, end, cause),
            What::ClientDown(process, kind, cause) => {
                if self.client.is_done() {
                    return;
                }
                self.record(Node::Client, channel(process), Kind::Eof, cause, &[]);
                self.tell_client(Input::Down(process, kind));
            }
            What::ClientWake => {
                if self.wake.is_some_and(|wake| wake <= self.now) {
                    self.wake = None;
                    self.tell_client(Input::Timeout);
                }
            }
            What::RequestArrives(exchange, cause) => self.on_request(exchange, cause),
            What::Answer(exchange, part, cause) => self.on_answer(exchange, part, cause),
            What::ClientLeft(exchange, cause) => self.on_client_left(exchange, cause),
            What::SiteWake => self.on_site_wake(),
            What::SiteUp => self.on_site_up(),
            What::SiteDies(cause) => self.kill_site(cause),
            What::Shutdown => {
                if !self.client.is_done() {
                    self.closing = true;
                    self.tell_client(Input::Shutdown);
                }
            }
        }
    }

    fn end(&mut self, complete: bool) {
        self.record(Node::Harness, Channel::None, Kind::End(complete), None, &[]);
    }

    fn record(&mut self, node: Node, channel: Channel, kind: Kind, cause: Option<u32>, bytes: &[u8]) -> u32 {
        self.world.recording.push(self.now.0, node, channel, kind, cause, bytes)
    }
}

fn channel(process: Process) -> Channel {
    Channel::Process(process.0)
}
