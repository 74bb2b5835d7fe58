//! Every legal value of every field of [`GatePolicy`] is judged clean, whoever asks.

use std::sync::Arc;

use mcp_parley_mock_clients::{Opening, openings};
use mcp_parley_mock_servers::{Persona, Played, Profile, mutants};
use mcp_parley_negotiation::client::ClientDeviations;
use mcp_parley_negotiation::gate::{
    BareRequest, BrokenRequest, CheckOrder, EraChange, GateDeviations, GatePolicy, HttpPolicy,
    InitializeCode, InitializeWithMeta, LegacyByMeta, NestedTypes, RemovedMethod, ServedMethod,
    UnknownInitialize, UnreadableId,
};
use mcp_parley_sim::{Bytes, Case, ClientSide, ServerSide};
use mcp_parley_trace::{Subject, Transport};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use crate::support::{LEGACY, MODERN, cases, client_policies, decisions, is_caught, offers, run};

/// Every legal value of every field; a field that is added does not compile until it is drawn here.
fn gate_policies() -> impl Strategy<Value = GatePolicy> {
    let served = (offers(&MODERN), offers(&LEGACY), any::<bool>());
    let served = served.prop_filter("a server serves something", |(modern, legacy, _)| {
        !(modern.is_empty() && legacy.is_empty())
    });
    let ttl = prop_oneof![Just(0), any::<u64>(), Just(u64::MAX)];
    let results = (methods(), ttl, any::<bool>());
    let first = (
        select(BrokenRequest::ALL),
        select(BareRequest::ALL),
        select(CheckOrder::ALL),
        select(NestedTypes::ALL),
        select(LegacyByMeta::ALL),
        select(InitializeWithMeta::ALL),
    );
    let second = (
        select(EraChange::ALL),
        select(InitializeCode::ALL),
        select(UnreadableId::ALL),
        select(UnknownInitialize::ALL),
        select(RemovedMethod::ALL),
    );
    (served, results, first, second).prop_map(|(served, results, first, second)| GatePolicy {
        modern: served.0,
        legacy: served.1,
        list_legacy: served.2,
        methods: results.0,
        ttl_ms: results.1,
        cache_public: results.2,
        broken_request: first.0,
        bare_request: first.1,
        check_order: first.2,
        nested_types: first.3,
        legacy_by_meta: first.4,
        initialize_with_meta: first.5,
        era_change: second.0,
        initialize_code: second.1,
        unreadable_id: second.2,
        unknown_initialize: second.3,
        removed_method: second.4,
        http: HttpPolicy::default(),
    })
}

fn methods() -> impl Strategy<Value = Vec<ServedMethod>> {
    let method = |name: &str, capability: &str, result: &str, cacheable| ServedMethod {
        name: name.into(),
        capability: capability.into(),
        result: result.into(),
        cacheable,
    };
    let pool = vec![
        method("tools/list", "tools", r#""tools":[]"#, true),
        method("prompts/list", "prompts", "\n \"prompts\" : [ ]\r\n", true),
        method("odd \" name", "odd \" name", "", false),
    ];
    subsequence(pool, 0..=3)
}

/// Who asks: the reference client with any policy, or an odd opening.
fn clients() -> impl Strategy<Value = ClientSide> {
    let opening = |opening: &Opening| ClientSide::Opening(Arc::new(opening.clone()));
    prop_oneof![
        client_policies().prop_map(|policy| ClientSide::Machine {
            policy: Arc::new(policy),
            deviations: ClientDeviations::default(),
        }),
        select(openings().iter().map(opening).collect::<Vec<_>>()),
    ]
}

type Drawn = (GatePolicy, ClientSide, Vec<u8>);

fn drawn() -> impl Strategy<Value = Drawn> {
    (gate_policies(), clients(), decisions())
}

fn clean((policy, client, decisions): &Drawn, deviations: &GateDeviations) -> Result<(), TestCaseError> {
    let policy = serde_json::to_value(policy).unwrap().as_object().cloned();
    let persona = Persona { policy, ..Persona::unmodified("drawn", "a correct server", Profile::Dual) };
    let played = Arc::new(Played::new(persona).unwrap());
    let server = ServerSide { played, deviations: deviations.clone() };
    let declared = Arc::new(client.declared());
    let (subject, transport) = (Subject::Server, Transport::Stdio);
    let case = Case { subject, transport, client: client.clone(), declared, server };
    run(&case, Bytes::new(decisions)).is_clean()
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn every_legal_policy_is_judged_clean(drawn in drawn()) {
        clean(&drawn, &GateDeviations::default())?;
    }
}

#[test]
fn every_mutant_is_not_judged_clean() {
    for mutant in mutants().iter().filter(|mutant| mutant.over.as_deref() != Some("http")) {
        assert!(is_caught(&drawn(), |drawn| clean(&drawn, &mutant.deviations)), "{}", mutant.id);
    }
}
