//! Whatever the server and the link do, the client settles or fails within the time that its policy allows, and then ends.

use mcp_parley_negotiation::client::{ClientDeviations, ClientPolicy};
use mcp_parley_sim::{Bytes, MAX_EVENTS};
use mcp_parley_trace::{Event, Kind, Recording};
use proptest::prelude::*;

use crate::support::{Server, cases, client_case, client_policies, decisions, is_caught, run};

/// The longest negotiation: every wait has its time-out, every retry its budget. At the most three processes are started, the
/// last two in place of one that ended; `initialize` is sent once to each, once more at a listed version, and once more
/// after a probe that followed a refusal.
fn bound_us(policy: &ClientPolicy) -> u64 {
    const PROCESSES: u64 = 3;
    let probes = u64::from(policy.corrective_retries.get()) + PROCESSES + 1;
    let others = PROCESSES + (PROCESSES + 2);
    let probing = policy.probe_timeout_us.saturating_mul(probes);
    probing.saturating_add(policy.request_timeout_us.saturating_mul(others))
}

/// After that a call is answered, or given up: once at each version and process that is tried.
fn call_bound_us(policy: &ClientPolicy) -> u64 {
    policy.request_timeout_us.saturating_mul(u64::from(policy.corrective_retries.get()) + 3)
}

fn settles(policy: &ClientPolicy, recording: &Recording) -> Result<(), String> {
    let events = recording.events();
    let first = |wanted: fn(Kind) -> bool| events.iter().find(|event| wanted(event.kind));
    let Some(outcome) = first(|kind| matches!(kind, Kind::Settled(_) | Kind::Failed)) else {
        return Err("it neither settles nor fails".into());
    };
    if outcome.t_us > bound_us(policy) {
        return Err(format!(
            "it settles or fails after {} us, the bound is {}",
            outcome.t_us,
            bound_us(policy)
        ));
    }
    let Some(end) = first(|kind| matches!(kind, Kind::Called(_) | Kind::Failed)) else {
        return Err("it is idle, and its call is undone".into());
    };
    if end.t_us > outcome.t_us.saturating_add(call_bound_us(policy)) {
        return Err(format!("its call takes until {} us", end.t_us));
    }
    match events.last() {
        Some(Event { kind: Kind::End(true), .. }) if events.len() < MAX_EVENTS => Ok(()),
        last => Err(format!("it does not end: {last:?}")),
    }
}

type Drawn = (ClientPolicy, Server, Vec<u8>);

fn drawn() -> impl Strategy<Value = Drawn> {
    (client_policies(), Server::over_any(), decisions())
}

fn holds((policy, server, decisions): &Drawn, deviations: &ClientDeviations) -> Result<(), TestCaseError> {
    let ran = run(&server.met_by(policy, deviations), Bytes::new(decisions));
    settles(policy, &ran.recording).map_err(|why| ran.fails(why))
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn every_run_settles_within_its_bound(drawn in drawn()) {
        holds(&drawn, &ClientDeviations::default())?;
    }
}

#[test]
fn a_client_that_retries_for_ever_does_not_settle() {
    let deviations = ClientDeviations { retry_for_ever: true, ..ClientDeviations::default() };
    assert!(is_caught(&drawn(), |drawn| holds(&drawn, &deviations)));
}

/// The run of the simplest case without the events of one kind: a client that stands still at that point.
fn without(wanted: fn(Kind) -> bool) -> Result<(), String> {
    let policy = ClientPolicy::default();
    let server = Server::all().into_iter().next().unwrap();
    let ran = run(&client_case(&policy, &ClientDeviations::default(), server.played()), Bytes::new(&[]));
    let mut kept = Recording::new();
    for event in ran.recording.events().iter().filter(|event| !wanted(event.kind)) {
        kept.push(event.t_us, event.node, event.channel, event.kind, None, ran.recording.bytes(event));
    }
    settles(&policy, &kept)
}

#[test]
fn a_client_that_stands_still_is_noticed_wherever_it_does() {
    assert_eq!(without(|_| false), Ok(()));
    for stop in [
        |kind| matches!(kind, Kind::Settled(_)),
        |kind| matches!(kind, Kind::Called(_)),
        |kind| matches!(kind, Kind::End(_)),
    ] {
        without(stop).unwrap_err();
    }
}
