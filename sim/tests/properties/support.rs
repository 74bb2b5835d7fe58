//! What the properties draw from, and one run made and judged. The first of every choice is the simplest, so that what
//! proptest shrinks to is a plain case.

use std::num::NonZeroU8;
use std::sync::Arc;

use mcp_parley_mock_servers::{Draft, Persona, Played, personas};
use mcp_parley_negotiation::client::{
    AfterModernError, BadHint, BrokenConnection, BrokenEnvelope, CancelProbe, ClientDeviations, ClientPolicy,
    EarlyRequest, EndSession, HttpSilence, HttpStepDown, InitializeRefused, InvalidParams, LateDiscover,
    LegacyMeta, Listen, MethodNotFound, MissingResultType, Mode, NoAnswer, Noise, OddUnsupported,
    OtherSuccess, ProbeExit, Redirect, ServerError, TooManyRequests, Unauthorized, UncorrelatedError,
};
use mcp_parley_negotiation::gate::GateDeviations;
use mcp_parley_negotiation::version::{Era, Preferences, ProtocolVersion};
use mcp_parley_oracle::{Judge, Verdict};
use mcp_parley_sim::{Case, Chooser, ClientSide, ServerSide, World};
use mcp_parley_trace::{Event, Outcome, Recording, Subject, Transport};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::test_runner::TestRunner;

pub(crate) const MODERN: [&str; 3] = ["2026-07-28", "2027-01-01", "2030-02-02"];
pub(crate) const LEGACY: [&str; 5] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"];

/// The reference client, or a mutant of it, against this server.
pub(crate) fn client_case(policy: &ClientPolicy, deviations: &ClientDeviations, played: Arc<Played>) -> Case {
    let client = ClientSide::Machine { policy: Arc::new(policy.clone()), deviations: deviations.clone() };
    let server = ServerSide { played, deviations: GateDeviations::default() };
    let declared = Arc::new(client.declared());
    Case { subject: Subject::Client, transport: Transport::Stdio, declared, client, server }
}

/// One run, judged.
pub(crate) struct Ran {
    pub(crate) recording: Recording,
    /// Those that apply.
    pub(crate) verdicts: Vec<(&'static str, Verdict)>,
}

pub(crate) fn run(case: &Case, chooser: impl Chooser) -> Ran {
    let mut world = World::new();
    world.run(case, chooser);
    let mut judge = Judge::new();
    let verdicts = judge.judge(&world.recording, &case.declared, case.subject, case.transport);
    let applies = |(_, verdict): &(&str, &Verdict)| verdict.outcome != Outcome::NotApplicable;
    let verdicts = verdicts.iter().filter(applies).map(|(id, verdict)| (id, verdict.clone())).collect();
    Ran { recording: world.recording, verdicts }
}

impl Ran {
    /// A failure that shows the run.
    pub(crate) fn fails(&self, why: impl std::fmt::Display) -> TestCaseError {
        let mut text = format!("{why}\n");
        for (seq, event) in self.recording.events().iter().enumerate() {
            let Event { t_us, node, channel, kind, .. } = event;
            let bytes = String::from_utf8_lossy(self.recording.bytes(event));
            text += &format!("{seq:4} {t_us:10} {node:?} {channel:?} {kind:?} {}\n", bytes.trim_end());
        }
        TestCaseError::fail(text)
    }

    /// Nothing is broken, of whatever severity.
    pub(crate) fn is_clean(&self) -> Result<(), TestCaseError> {
        match self.verdicts.iter().find(|(_, verdict)| verdict.is_broken()) {
            Some((id, verdict)) => {
                Err(self.fails(format_args!("{id} {:?} {}", verdict.evidence, verdict.reason)))
            }
            None => Ok(()),
        }
    }
}

/// This many cases, or as many as `PROPTEST_CASES` says.
pub(crate) fn cases(count: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    let told = std::env::var_os("PROPTEST_CASES").is_some();
    ProptestConfig { cases: if told { default.cases } else { count }, ..default }
}

/// Fails on some of the inputs, without looking for the smallest.
pub(crate) fn is_caught<S: Strategy>(
    inputs: &S,
    property: impl Fn(S::Value) -> Result<(), TestCaseError>,
) -> bool {
    let config = ProptestConfig { cases: 4000, max_shrink_iters: 0, ..ProptestConfig::default() };
    TestRunner::new(config).run(inputs, property).is_err()
}

/// An embedded persona with choices for its open values.
#[derive(Clone)]
pub(crate) struct Server {
    draft: &'static Draft,
    choices: Vec<u32>,
    transport: Transport,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { draft, choices, transport } = self;
        write!(f, "persona {} with the choices {choices:?} over {transport:?}", draft.id())
    }
}

impl Server {
    pub(crate) fn played(&self) -> Arc<Played> {
        Arc::new(Played::new(self.persona()).unwrap())
    }

    pub(crate) fn persona(&self) -> Persona {
        self.draft.resolve(&self.choices).unwrap()
    }

    /// The case of a client that meets it.
    pub(crate) fn met_by(&self, policy: &ClientPolicy, deviations: &ClientDeviations) -> Case {
        Case { transport: self.transport, ..client_case(policy, deviations, self.played()) }
    }

    /// Over stdio: every persona with each value of one open point at a time, but for those that write megabytes: a run of one takes as
    /// long as a hundred others, and what it shows is in the corpus.
    pub(crate) fn all() -> Vec<Self> {
        Self::over(Transport::Stdio, Draft::is_for_stdio)
    }

    fn over(transport: Transport, fits: fn(&Draft) -> bool) -> Vec<Self> {
        let mut all = Vec::new();
        for draft in personas().iter().filter(|draft| fits(draft)) {
            let points = draft.open_points();
            let simplest = vec![0; points.len()];
            all.push(Self { draft, choices: simplest.clone(), transport });
            for (at, point) in points.iter().enumerate() {
                all.extend((1..point.choices).map(|choice| {
                    let mut choices = simplest.clone();
                    choices[at] = choice;
                    Self { draft, choices, transport }
                }));
            }
        }
        all.retain(|server| !writes_megabytes(&serde_json::to_value(server.persona()).unwrap()));
        all
    }

    pub(crate) fn any() -> impl Strategy<Value = Self> {
        select(Self::all())
    }

    /// Over either transport.
    pub(crate) fn over_any() -> impl Strategy<Value = Self> {
        select([Self::all(), Self::over(Transport::Http, Draft::is_for_http)].concat())
    }
}

fn writes_megabytes(value: &serde_json::Value) -> bool {
    let many = |(key, value): (&String, &serde_json::Value)| {
        let counts = ["pad_bytes", "line_bytes", "times"].contains(&key.as_str());
        counts && value.as_u64().is_some_and(|count| count > 100_000) || writes_megabytes(value)
    };
    value.as_object().is_some_and(|members| members.iter().any(many))
        || value.as_array().is_some_and(|items| items.iter().any(writes_megabytes))
}

/// The bytes of a [`mcp_parley_sim::Bytes`] chooser: none, or a few with faults often in play.
pub(crate) fn decisions() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        1 => Just(Vec::new()),
        2 => prop::collection::vec(any::<u8>(), 0..100).prop_map(|rest| [vec![2], rest].concat()),
    ]
}

/// Some of them in any order, perhaps none.
pub(crate) fn offers(pool: &'static [&'static str]) -> impl Strategy<Value = Vec<ProtocolVersion>> {
    let some = subsequence(pool, 0..=pool.len()).prop_shuffle();
    some.prop_map(|names| names.into_iter().map(ProtocolVersion::new).collect())
}

fn modes() -> impl Strategy<Value = Mode> {
    let pins = [&MODERN[..2], &LEGACY[..2], &["who knows"]].concat();
    prop_oneof![
        4 => Just(Mode::Auto),
        1 => Just(Mode::Modern),
        1 => Just(Mode::Legacy),
        1 => select(pins).prop_map(|name| Mode::Pin(ProtocolVersion::new(name))),
    ]
}

fn offered() -> impl Strategy<Value = Preferences> {
    prop_oneof![
        Just(Preferences::all()),
        (offers(&MODERN), offers(&LEGACY))
            .prop_map(|(modern, legacy)| Preferences { modern: modern.into(), legacy: legacy.into() }),
    ]
}

/// The fields that count over HTTP only; the others are not drawn.
fn over_http() -> impl Strategy<Value = ClientPolicy> {
    let fields = (
        select(Unauthorized::ALL),
        select(TooManyRequests::ALL),
        select(ServerError::ALL),
        select(Redirect::ALL),
        select(NoAnswer::ALL),
        select(BrokenConnection::ALL),
        select(HttpSilence::ALL),
        select(MethodNotFound::ALL),
        select(HttpStepDown::ALL),
        select(EndSession::ALL),
        select(Listen::ALL),
    );
    fields.prop_map(|http| ClientPolicy {
        http_unauthorized: http.0,
        http_too_many_requests: http.1,
        http_server_error: http.2,
        http_redirect: http.3,
        http_no_answer: http.4,
        http_broken_connection: http.5,
        http_silence: http.6,
        http_method_not_found: http.7,
        http_step_down: http.8,
        end_session: http.9,
        listen: http.10,
        ..ClientPolicy::default()
    })
}

/// Every legal value of every field; a field that is added does not compile until it is drawn here.
pub(crate) fn client_policies() -> impl Strategy<Value = ClientPolicy> {
    let waits = || prop_oneof![Just(5_000_000), select(vec![0, 1, 1_000, 12_000_000, 60_000_000, u64::MAX])];
    let eras = prop_oneof![2 => Just(None), 1 => select(vec![Some(Era::Legacy), Some(Era::Modern)])];
    let open = (modes(), offered(), waits(), waits(), prop_oneof![Just(2), 1..=u8::MAX], eras);
    let probe = (
        select(OtherSuccess::ALL),
        select(OddUnsupported::ALL),
        select(BrokenEnvelope::ALL),
        select(ProbeExit::ALL),
        select(BadHint::ALL),
        select(Noise::ALL),
        select(AfterModernError::ALL),
        select(InvalidParams::ALL),
    );
    let later = (
        select(LegacyMeta::ALL),
        select(CancelProbe::ALL),
        select(LateDiscover::ALL),
        select(UncorrelatedError::ALL),
        select(MissingResultType::ALL),
        select(InitializeRefused::ALL),
        select(EarlyRequest::ALL),
    );
    (open, probe, later, over_http()).prop_map(|(open, probe, later, http)| ClientPolicy {
        mode: open.0,
        preferences: open.1,
        probe_timeout_us: open.2,
        request_timeout_us: open.3,
        corrective_retries: NonZeroU8::new(open.4).unwrap(),
        other_success: probe.0,
        odd_unsupported: probe.1,
        broken_envelope: probe.2,
        probe_exit: probe.3,
        bad_hint: probe.4,
        noise: probe.5,
        after_modern_error: probe.6,
        invalid_params: probe.7,
        legacy_meta: later.0,
        cancel_probe: later.1,
        late_discover: later.2,
        uncorrelated_error: later.3,
        missing_result_type: later.4,
        initialize_refused: later.5,
        early_request: later.6,
        http_unauthorized: http.http_unauthorized,
        http_too_many_requests: http.http_too_many_requests,
        http_server_error: http.http_server_error,
        http_redirect: http.http_redirect,
        http_no_answer: http.http_no_answer,
        http_broken_connection: http.http_broken_connection,
        http_silence: http.http_silence,
        http_method_not_found: http.http_method_not_found,
        http_step_down: http.http_step_down,
        end_session: http.end_session,
        listen: http.listen,
        cached_era: open.5,
    })
}
