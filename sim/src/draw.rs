//! Draws a case: which persona, with which open values, met by which client with which policy.
//!
//! Every field is drawn through the chooser, 0 being the simplest; a run first draws what is in play at all (swarm).

use std::collections::BTreeMap;
use std::num::NonZeroU8;
use std::sync::Arc;

use mcp_parley_mock_clients::{Good, Opening};
use mcp_parley_mock_servers::{Draft, Played, personas};
use mcp_parley_negotiation::client::{
    AfterModernError, BadHint, BrokenConnection, BrokenEnvelope, CancelProbe, ClientDeviations, ClientPolicy,
    EarlyRequest, EndSession, HttpSilence, HttpStepDown, InitializeRefused, InvalidParams, LateDiscover,
    LegacyMeta, Listen, MethodNotFound, MissingResultType, Mode, NoAnswer, Noise, OddUnsupported,
    OtherSuccess, ProbeExit, Redirect, ServerError, TooManyRequests, Unauthorized, UncorrelatedError,
};
use mcp_parley_negotiation::gate::GateDeviations;
use mcp_parley_negotiation::version::{Era, LATEST_LEGACY, LATEST_MODERN, Preferences, ProtocolVersion};
use mcp_parley_trace::{Declared, Subject, Transport};

use crate::case::{Case, ClientSide, ServerSide};
use crate::chooser::{Chooser, Site};

/// Where cases are drawn from.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Who is judged.
    pub subject: Subject,
    /// What the client breaks; nothing for the reference client.
    pub client: ClientDeviations,
    /// The servers to draw from, the simplest first; not empty.
    pub servers: Vec<Draft>,
    /// What the server's gate breaks; nothing for a persona as it is.
    pub server: GateDeviations,
    /// Odd clients to draw from besides the machine, where the server is judged.
    pub openings: Vec<Arc<Opening>>,
    /// The client's mode, if it is not drawn.
    pub mode: Option<Mode>,
    /// The transport, if it is not drawn.
    pub transport: Option<Transport>,
}

/// The reference client on trial, against every embedded persona.
impl Default for Setup {
    fn default() -> Self {
        Self {
            subject: Subject::Client,
            client: ClientDeviations::default(),
            servers: personas().to_vec(),
            server: GateDeviations::default(),
            openings: Vec::new(),
            mode: None,
            transport: None,
        }
    }
}

/// Draws cases; keeps the concrete personas that it has made, of which there are finitely many.
#[derive(Debug)]
pub struct Drawer {
    setup: Arc<Setup>,
    /// The places of the servers that can be played over stdio, and over HTTP.
    playable: [Vec<u32>; 2],
    made: BTreeMap<(u32, Vec<u32>), Arc<Played>>,
    default_policy: Arc<ClientPolicy>,
    preferences: [Preferences; 4],
    /// What a client says of itself, by its mode, its preferences and its time-out.
    declared: BTreeMap<(u32, u32, u64), Arc<Declared>>,
    choices: Vec<u32>,
}

/// No more concrete personas than this are kept.
const KEPT: usize = 4096;
/// Of the runs that would write megabytes, one in so many does: each of them costs as much as hundreds of others.
const HEAVY_ONE_IN: u32 = 256;

impl Drawer {
    /// Draws from this setup.
    pub fn new(setup: Arc<Setup>) -> Self {
        let places = |fits: fn(&Draft) -> bool| {
            let fitting = (0..).zip(&setup.servers).filter(|(_, draft)| fits(draft));
            fitting.map(|(at, _)| at).collect()
        };
        Self {
            playable: [places(Draft::is_for_stdio), places(Draft::is_for_http)],
            setup,
            made: BTreeMap::new(),
            default_policy: Arc::default(),
            preferences: [0, 1, 2, 3].map(preferences),
            declared: BTreeMap::new(),
            choices: Vec::new(),
        }
    }

    /// Draws a case. The number of the persona is given for progress.
    ///
    /// # Errors
    /// A persona whose choice does not fit the schema: the file's fault, in one line.
    pub fn draw(&mut self, chooser: &mut impl Chooser) -> Result<(Case, u32), String> {
        let setup = Arc::clone(&self.setup);
        let (transport, at) = self.place(chooser);
        let played = self.played(&setup, at, chooser)?;
        let (client, declared) = match self.opening(&setup, transport, chooser) {
            Some(opening) => {
                // What it does to the next good request is half of what an odd input shows.
                let good = if played.persona().profile.has_modern() { Good::Modern } else { Good::Legacy };
                let client = ClientSide::Opening(Arc::new(opening.then(good)));
                let declared = Arc::new(client.declared());
                (client, declared)
            }
            None => self.machine(&setup, transport, chooser),
        };
        let server = ServerSide { played, deviations: setup.server.clone() };
        Ok((Case { subject: setup.subject, transport, client, declared, server }, at))
    }

    /// An odd client in every other run, where there are any that fit.
    fn opening(
        &self,
        setup: &Setup,
        transport: Transport,
        chooser: &mut impl Chooser,
    ) -> Option<Arc<Opening>> {
        let fits = |opening: &&Arc<Opening>| match transport {
            Transport::Stdio => opening.is_for_stdio(),
            Transport::Http => opening.is_for_http(),
        };
        let fitting: Vec<_> = setup.openings.iter().filter(fits).collect();
        let count = u32::try_from(fitting.len()).unwrap_or(0);
        let choice = if count == 0 { 0 } else { chooser.choose(Site::Opening, 2 * count) };
        choice.checked_sub(count).and_then(|at| fitting.get(at as usize)).map(|opening| Arc::clone(opening))
    }

    /// The first decisions of a run: over which transport, and with which server, by its place in the setup.
    pub(crate) fn place(&self, chooser: &mut impl Chooser) -> (Transport, u32) {
        let [pipes, http] = &self.playable;
        let transport = match self.setup.transport {
            Some(transport) => transport,
            None if http.is_empty() => Transport::Stdio,
            None if pipes.is_empty() => Transport::Http,
            // Over HTTP a run takes longer, and half of what can go wrong is the same.
            None if chooser.choose(Site::Transport, 3) == 2 => Transport::Http,
            None => Transport::Stdio,
        };
        let places = if transport == Transport::Stdio { pipes } else { http };
        let at = chooser.choose(Site::Persona, u32::try_from(places.len()).unwrap_or(u32::MAX));
        (transport, places.get(at as usize).copied().unwrap_or(u32::MAX))
    }

    fn played(&mut self, setup: &Setup, at: u32, chooser: &mut impl Chooser) -> Result<Arc<Played>, String> {
        let Some(draft) = setup.servers.get(at as usize) else {
            return Err("no server to draw from that can be played over this transport".into());
        };
        self.choices.clear();
        for point in draft.open_points() {
            self.choices.push(chooser.choose(Site::OpenValue, point.choices));
        }
        let played = self.concrete(draft, at)?;
        if played.is_heavy() && chooser.choose(Site::OpenValue, HEAVY_ONE_IN) + 1 < HEAVY_ONE_IN {
            self.choices.fill(0);
            return self.concrete(draft, at);
        }
        Ok(played)
    }

    /// The persona with the choices made last.
    fn concrete(&mut self, draft: &Draft, at: u32) -> Result<Arc<Played>, String> {
        let key = (at, std::mem::take(&mut self.choices));
        if let Some(played) = self.made.get(&key) {
            let played = Arc::clone(played);
            self.choices = key.1;
            return Ok(played);
        }
        let explain = |error: String| format!("persona {}: {error}", draft.id());
        let persona = draft.resolve(&key.1).map_err(explain)?;
        let played = Arc::new(Played::new(persona).map_err(|error| explain(error.to_string()))?);
        self.choices.clone_from(&key.1);
        if self.made.len() < KEPT {
            self.made.insert(key, Arc::clone(&played));
        }
        Ok(played)
    }

    fn machine(
        &mut self,
        setup: &Setup,
        transport: Transport,
        chooser: &mut impl Chooser,
    ) -> (ClientSide, Arc<Declared>) {
        let (mode_choice, mode) = match &setup.mode {
            Some(mode) => (u32::MAX, mode.clone()),
            None => {
                let choice = chooser.choose(Site::Mode, 8);
                (choice, mode(choice))
            }
        };
        let preferences = chooser.choose(Site::Preferences, 4);
        let in_play = chooser.choose(Site::PolicyInPlay, 2) == 1;
        let policy = if mode == Mode::Auto && preferences == 0 && !in_play {
            Arc::clone(&self.default_policy)
        } else {
            let chosen = self.preferences[preferences as usize % self.preferences.len()].clone();
            let mut policy = ClientPolicy { mode, preferences: chosen, ..(*self.default_policy).clone() };
            if in_play {
                vary(&mut policy, chooser);
                if transport == Transport::Http {
                    vary_http(&mut policy, chooser);
                }
            }
            Arc::new(policy)
        };
        let key = (mode_choice, preferences, policy.probe_timeout_us);
        let client = ClientSide::Machine { policy, deviations: setup.client.clone() };
        let declared = self.declared.entry(key).or_insert_with(|| Arc::new(client.declared()));
        let declared = Arc::clone(declared);
        (client, declared)
    }
}

/// Half of the runs are in mode auto: that is where eras meet.
fn mode(choice: u32) -> Mode {
    match choice {
        0..=3 => Mode::Auto,
        4 => Mode::Modern,
        5 => Mode::Legacy,
        6 => Mode::Pin(ProtocolVersion::new(LATEST_MODERN)),
        _ => Mode::Pin(ProtocolVersion::new(LATEST_LEGACY)),
    }
}

fn preferences(choice: u32) -> Preferences {
    let of = |names: &[&str]| names.iter().map(|name| ProtocolVersion::new(name)).collect();
    match choice {
        0 => Preferences::all(),
        1 => Preferences {
            modern: of(&["2027-01-01", LATEST_MODERN]),
            legacy: of(&[LATEST_LEGACY, "2025-06-18"]),
        },
        2 => Preferences {
            modern: of(&[LATEST_MODERN, "2027-01-01"]),
            legacy: of(&["2025-06-18", LATEST_LEGACY]),
        },
        _ => Preferences { modern: of(&[LATEST_MODERN]), legacy: of(&["2025-06-18"]) },
    }
}

/// Each field keeps its default in two of three runs, so that few are off at a time.
fn vary(policy: &mut ClientPolicy, chooser: &mut impl Chooser) {
    policy.other_success = pick(OtherSuccess::ALL, chooser);
    policy.odd_unsupported = pick(OddUnsupported::ALL, chooser);
    policy.broken_envelope = pick(BrokenEnvelope::ALL, chooser);
    policy.probe_exit = pick(ProbeExit::ALL, chooser);
    policy.bad_hint = pick(BadHint::ALL, chooser);
    policy.noise = pick(Noise::ALL, chooser);
    policy.after_modern_error = pick(AfterModernError::ALL, chooser);
    policy.invalid_params = pick(InvalidParams::ALL, chooser);
    policy.legacy_meta = pick(LegacyMeta::ALL, chooser);
    policy.cancel_probe = pick(CancelProbe::ALL, chooser);
    policy.late_discover = pick(LateDiscover::ALL, chooser);
    policy.uncorrelated_error = pick(UncorrelatedError::ALL, chooser);
    policy.missing_result_type = pick(MissingResultType::ALL, chooser);
    policy.initialize_refused = pick(InitializeRefused::ALL, chooser);
    policy.early_request = pick(EarlyRequest::ALL, chooser);
    let beyond_one = [1, 0, 2][chooser.choose(Site::Policy, 3) as usize];
    policy.corrective_retries = NonZeroU8::MIN.saturating_add(beyond_one);
    policy.probe_timeout_us = [5_000_000, 1_000_000, 12_000_000][chooser.choose(Site::Policy, 3) as usize];
    policy.cached_era =
        [None, None, None, Some(Era::Legacy), Some(Era::Modern)][chooser.choose(Site::Policy, 5) as usize];
}

fn vary_http(policy: &mut ClientPolicy, chooser: &mut impl Chooser) {
    policy.http_unauthorized = pick(Unauthorized::ALL, chooser);
    policy.http_too_many_requests = pick(TooManyRequests::ALL, chooser);
    policy.http_server_error = pick(ServerError::ALL, chooser);
    policy.http_redirect = pick(Redirect::ALL, chooser);
    policy.http_no_answer = pick(NoAnswer::ALL, chooser);
    policy.http_broken_connection = pick(BrokenConnection::ALL, chooser);
    policy.http_silence = pick(HttpSilence::ALL, chooser);
    policy.http_method_not_found = pick(MethodNotFound::ALL, chooser);
    policy.http_step_down = pick(HttpStepDown::ALL, chooser);
    policy.end_session = pick(EndSession::ALL, chooser);
    policy.listen = pick(Listen::ALL, chooser);
}

fn pick<T: Copy>(all: &[T], chooser: &mut impl Chooser) -> T {
    let others = u32::try_from(all.len()).unwrap_or(1).saturating_sub(1);
    let choice = chooser.choose(Site::Policy, 3 * others.max(1));
    let at = choice.checked_sub(2 * others).map_or(0, |at| at as usize + 1);
    all.get(at).copied().unwrap_or(all[0])
}
