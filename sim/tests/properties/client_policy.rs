//! Every legal value of every field of [`ClientPolicy`] is judged clean, and what is contested comes out as the value says.

use std::collections::{BTreeMap, BTreeSet};

use mcp_parley_mock_clients::mutants;
use mcp_parley_negotiation::client::{
    AfterModernError, BadHint, BrokenEnvelope, CancelProbe, ClientDeviations, ClientPolicy, EarlyRequest,
    InitializeRefused, InvalidParams, LateDiscover, LegacyMeta, MissingResultType, Noise, OddUnsupported,
    OtherSuccess, ProbeExit, UncorrelatedError,
};
use mcp_parley_oracle::contested_row;
use mcp_parley_sim::Bytes;
use mcp_parley_trace::{Kind, Node, Outcome};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Ran, Server, cases, client_case, client_policies, decisions, is_caught, run};

type Drawn = (ClientPolicy, Server, Vec<u8>);

fn clean((policy, server, decisions): &Drawn, deviations: &ClientDeviations) -> Result<(), TestCaseError> {
    run(&server.met_by(policy, deviations), Bytes::new(decisions)).is_clean()
}

fn drawn() -> impl Strategy<Value = Drawn> {
    (client_policies(), Server::over_any(), decisions())
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn every_legal_policy_is_judged_clean(drawn in drawn()) {
        clean(&drawn, &ClientDeviations::default())?;
    }
}

#[test]
fn every_mutant_is_not_judged_clean() {
    for mutant in mutants() {
        assert!(is_caught(&drawn(), |drawn| clean(&drawn, &mutant.deviations)), "{}", mutant.id);
    }
}

/// Every value of every field that chooses among the contested outcomes.
fn choices() -> Vec<(&'static str, Vec<Value>)> {
    fn of<T: serde::Serialize>(all: &[T]) -> Vec<Value> {
        all.iter().map(|value| serde_json::to_value(value).unwrap()).collect()
    }
    vec![
        ("other_success", of(OtherSuccess::ALL)),
        ("odd_unsupported", of(OddUnsupported::ALL)),
        ("broken_envelope", of(BrokenEnvelope::ALL)),
        ("probe_exit", of(ProbeExit::ALL)),
        ("bad_hint", of(BadHint::ALL)),
        ("noise", of(Noise::ALL)),
        ("after_modern_error", of(AfterModernError::ALL)),
        ("invalid_params", of(InvalidParams::ALL)),
        ("legacy_meta", of(LegacyMeta::ALL)),
        ("cancel_probe", of(CancelProbe::ALL)),
        ("late_discover", of(LateDiscover::ALL)),
        ("uncorrelated_error", of(UncorrelatedError::ALL)),
        ("missing_result_type", of(MissingResultType::ALL)),
        ("initialize_refused", of(InitializeRefused::ALL)),
        ("early_request", of(EarlyRequest::ALL)),
    ]
}

/// The default, and the default with one other value.
fn one_at_a_time() -> Vec<(String, ClientPolicy)> {
    let default = serde_json::to_value(ClientPolicy::default()).unwrap();
    let mut all = vec![("the default".to_owned(), ClientPolicy::default())];
    for (field, values) in choices() {
        for value in values.into_iter().filter(|value| *value != default[field]) {
            let mut policy = default.clone();
            policy[field] = value.clone();
            all.push((format!("{field} = {value}"), serde_json::from_value(policy).unwrap()));
        }
    }
    all
}

/// The catalogue's name of what a value chooses.
fn outcome<'v>(field: &str, value: &'v str) -> &'v str {
    if (field, value) == ("cancel_probe", "no") { "no-cancel" } else { value }
}

/// What a contested row may show under this policy: the values of its fields.
fn named(id: &str, policy: &Value, ran: &Ran) -> Vec<String> {
    let fields = &contested_row(id).unwrap().policy;
    let values = fields.iter().filter_map(|field| Some((field.as_str(), policy.get(field)?.as_str()?)));
    let mut named: Vec<String> = values.map(|(field, value)| outcome(field, value).to_owned()).collect();
    match id {
        // This client has no choice here: modern evidence is final.
        "AMB-01" => named.push("report".into()),
        // How much may be missing from a DiscoverResult is open as well; to this client one with a list is one.
        "AMB-02" if received(ran, "\"supportedVersions\":[") => {
            named = vec!["stay-modern".into(), "fail".into()]
        }
        // Only a refusal of `initialize` lifts the client out of the legacy era.
        "AMB-21" if !received(ran, "\"id\":2,\"error\"") => named.push("ignore".into()),
        _ => {}
    }
    named
}

fn received(ran: &Ran, text: &str) -> bool {
    let read =
        ran.recording.events().iter().filter(|event| (event.node, event.kind) == (Node::Client, Kind::Read));
    read.map(|event| String::from_utf8_lossy(ran.recording.bytes(event))).any(|read| read.contains(text))
}

/// Clean, and contested as named. Adds what was seen.
fn as_named(
    policy: &ClientPolicy,
    deviations: &ClientDeviations,
    server: &Server,
    seen: &mut BTreeMap<&'static str, BTreeSet<&'static str>>,
) -> Result<(), TestCaseError> {
    let ran = run(&client_case(policy, deviations, server.played()), Bytes::new(&[]));
    ran.is_clean()?;
    let policy = serde_json::to_value(policy).unwrap();
    for (id, verdict) in ran.verdicts.iter().filter(|(_, verdict)| verdict.outcome == Outcome::Contested) {
        let named = named(id, &policy, &ran);
        if !named.iter().any(|name| name == verdict.observed) {
            return Err(ran.fails(format_args!("{id}: {} is seen, {named:?} was chosen", verdict.observed)));
        }
        seen.entry(id).or_default().insert(verdict.observed);
    }
    Ok(())
}

#[test]
fn each_value_shows_the_contested_outcome_that_it_names() {
    let mut seen = BTreeMap::new();
    for (name, policy) in one_at_a_time() {
        for server in Server::all() {
            as_named(&policy, &ClientDeviations::default(), &server, &mut seen)
                .unwrap_or_else(|why| panic!("{name}, {server:?}: {why}"));
        }
    }
    // Every value of the rows that are judged was seen: none of the above held for want of an occasion.
    for (id, seen) in &seen {
        let fields = &contested_row(id).unwrap().policy;
        for (field, values) in
            choices().into_iter().filter(|(field, _)| fields.iter().any(|own| own == field))
        {
            for value in values {
                let name = outcome(field, value.as_str().unwrap());
                assert!(seen.contains(name), "{id}: {name} was never seen, only {seen:?}");
            }
        }
    }
    assert_eq!(seen.len(), 10, "{seen:?}");
}

#[test]
fn an_outcome_that_another_value_names_is_noticed() {
    // This mutant takes an error without an id for its answer, which the policy is to ignore.
    let deviations = ClientDeviations { settle_on_foreign_id: true, ..ClientDeviations::default() };
    let policy: ClientPolicy = serde_json::from_value(json!({"uncorrelated_error": "ignore"})).unwrap();
    let failing = Server::all().into_iter().filter(|server| {
        as_named(&policy, &deviations, server, &mut BTreeMap::new())
            .is_err_and(|why| why.to_string().contains("was chosen"))
    });
    assert!(failing.count() > 0);
}
