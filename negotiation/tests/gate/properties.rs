//! What holds for every policy and every input.

use std::sync::Arc;

use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::gate::{
    BareRequest, BrokenRequest, CheckOrder, EraChange, Gate, GateEvent, GateInput, GatePolicy,
    InitializeCode, InitializeWithMeta, LegacyByMeta, NestedTypes, Prepared, RemovedMethod,
    UnknownInitialize, UnreadableId,
};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::support::{drain, versions};

fn policies() -> impl Strategy<Value = GatePolicy> {
    let servers = select(vec![
        (vec!["2026-07-28"], vec![]),
        (vec![], vec!["2025-11-25", "2025-03-26"]),
        (vec!["2026-07-28", "x"], vec!["2025-03-26"]),
    ]);
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
        any::<bool>(),
    );
    (servers, first, second).prop_map(|((modern, legacy), a, b)| GatePolicy {
        modern: versions(&modern),
        legacy: versions(&legacy),
        list_legacy: b.5,
        broken_request: a.0,
        bare_request: a.1,
        check_order: a.2,
        nested_types: a.3,
        legacy_by_meta: a.4,
        initialize_with_meta: a.5,
        era_change: b.0,
        initialize_code: b.1,
        unreadable_id: b.2,
        unknown_initialize: b.3,
        removed_method: b.4,
        ..GatePolicy::default()
    })
}

/// Members that may stand in a message, each often right and sometimes odd.
fn ids() -> impl Strategy<Value = Option<Value>> {
    prop_oneof![
        3 => any::<i64>().prop_map(|id| Some(json!(id))),
        3 => any::<String>().prop_map(|id| Some(json!(id))),
        2 => Just(None),
        1 => select(vec![json!(null), json!(1.5), json!(1e300), json!([]), json!({}), json!(true)]).prop_map(Some),
    ]
}

fn params() -> impl Strategy<Value = Option<Value>> {
    let version =
        select(vec![json!("2026-07-28"), json!("2025-11-25"), json!("2025-03-26"), json!("?\""), json!(1)]);
    let capabilities = select(vec![json!({}), json!({"roots": {}}), json!([]), json!(null)]);
    let full = (version, capabilities, any::<[bool; 3]>()).prop_map(|(version, capabilities, [a, b, c])| {
        let mut meta = json!({"progressToken": 1});
        if a {
            meta["io.modelcontextprotocol/protocolVersion"] = version.clone();
        }
        if b {
            meta["io.modelcontextprotocol/clientCapabilities"] = capabilities;
        }
        let mut params = json!({"_meta": meta});
        if c {
            params["protocolVersion"] = version;
        }
        Some(params)
    });
    prop_oneof![6 => full, 1 => Just(None), 1 => select(vec![json!([]), json!(1), json!({"_meta": 1})]).prop_map(Some)]
}

fn messages() -> impl Strategy<Value = Value> {
    let methods = select(vec![
        json!("initialize"),
        json!("server/discover"),
        json!("tools/list"),
        json!("ping"),
        json!("no/such"),
        json!("notifications/initialized"),
        json!(5),
    ]);
    let jsonrpc = prop_oneof![8 => Just(json!("2.0")), 1 => Just(json!("1.0"))];
    (ids(), methods, params(), jsonrpc).prop_map(|(id, method, params, jsonrpc)| {
        let mut message = json!({"jsonrpc": jsonrpc, "method": method});
        if let Some(id) = id {
            message["id"] = id;
        }
        if let Some(params) = params {
            message["params"] = params;
        }
        message
    })
}

type Ran = (Vec<String>, Vec<GateEvent>);
/// What hands an input to a gate and drains it: the plain way, or one that breaks a property.
type Run = fn(&mut Gate, GateInput<'_>) -> Ran;

fn run(gate: &mut Gate, input: GateInput<'_>) -> Ran {
    let mut events = Vec::new();
    gate.handle_input(Time::ZERO, input).unwrap();
    (drain(gate, &mut events), events)
}

fn gate(policy: &GatePolicy) -> Gate {
    Gate::new(Arc::new(Prepared::new(policy.clone())))
}

fn answers_belong(run: Run, policy: &GatePolicy, messages: &[Value]) -> Result<(), TestCaseError> {
    let mut gate = gate(policy);
    for message in messages {
        let (lines, events) = run(&mut gate, GateInput::Message(message.to_string().as_bytes()));
        let id = message.get("id");
        let method = message["method"].is_string();
        if id.is_none() && method {
            prop_assert!(lines.is_empty(), "a notification was answered: {message} {lines:?}");
            continue;
        }
        let readable = id.is_some_and(|id| id.is_string() || id.is_i64());
        let broken = !readable || !method || message["jsonrpc"] != "2.0";
        let dropped = broken && policy.broken_request == BrokenRequest::Drop;
        prop_assert_eq!((lines.len(), events.len()), (usize::from(!dropped), usize::from(!dropped)));
        let Some(line) = lines.first() else { continue };
        let answer: Value = serde_json::from_str(line).unwrap();
        if readable {
            prop_assert_eq!(answer.get("id"), id);
        } else {
            let null = (policy.unreadable_id == UnreadableId::Null).then_some(&Value::Null);
            prop_assert_eq!(answer.get("id"), null);
        }
        let refused =
            matches!(events.first(), Some(GateEvent::Refused(code)) if answer["error"]["code"] == *code);
        prop_assert_eq!(refused, answer.get("result").is_none());
        prop_assert!(!broken || refused);
    }
    Ok(())
}

fn handshakes_are_legacy(run: Run, policy: &GatePolicy, messages: &[Value]) -> Result<(), TestCaseError> {
    let mut gate = gate(policy);
    for message in messages {
        let (lines, events) = run(&mut gate, GateInput::Message(message.to_string().as_bytes()));
        if let Some(GateEvent::HandshakeDone(place)) = events.first() {
            let answer: Value = serde_json::from_str(&lines[0]).unwrap();
            prop_assert_eq!(&answer["result"]["protocolVersion"], policy.legacy[*place].as_str());
            prop_assert_eq!(gate.session(), Some(*place));
        }
    }
    Ok(())
}

fn chunks_do_not_matter(
    run: Run,
    policy: &GatePolicy,
    text: &str,
    cuts: &[usize],
) -> Result<(), TestCaseError> {
    let whole = run(&mut gate(policy), GateInput::Bytes(text.as_bytes()));
    let mut gate = gate(policy);
    let (mut parts, mut rest) = ((Vec::new(), Vec::new()), text.as_bytes());
    for cut in cuts.iter().cycle() {
        let (chunk, after) = rest.split_at((*cut).min(rest.len()));
        let (lines, events) = run(&mut gate, GateInput::Bytes(chunk));
        parts.0.extend(lines);
        parts.1.extend(events);
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    prop_assert_eq!(parts, whole);
    Ok(())
}

fn lines_are_json(run: Run, policy: &GatePolicy, bytes: &[u8]) -> Result<(), TestCaseError> {
    let (lines, _) = run(&mut gate(policy), GateInput::Bytes(bytes));
    prop_assert!(lines.len() <= bytes.iter().filter(|byte| **byte == b'\n').count());
    for line in lines {
        prop_assert!(serde_json::from_str::<Value>(&line).is_ok(), "{line}");
    }
    Ok(())
}

fn many() -> impl Strategy<Value = Vec<Value>> {
    prop::collection::vec(messages(), 1..12)
}

fn texts() -> impl Strategy<Value = String> {
    let line = prop_oneof![3 => messages().prop_map(|message| message.to_string()), 1 => ".{0,20}"];
    prop::collection::vec(line, 0..8)
        .prop_map(|lines| lines.iter().map(|line| format!("{line}\n")).collect::<String>())
}

fn cuts() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1_usize..50, 1..40)
}

fn junk() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![any::<u8>(), select(b"{}[]\":,\n\\e1 ".to_vec())];
    prop::collection::vec(byte, 0..300)
}

proptest! {
    #[test]
    fn answers_belong_to_their_requests(policy in policies(), messages in many()) {
        answers_belong(run, &policy, &messages)?;
    }

    #[test]
    fn no_handshake_agrees_on_a_modern_version(policy in policies(), messages in many()) {
        handshakes_are_legacy(run, &policy, &messages)?;
    }

    #[test]
    fn any_chunking_gives_the_same_outputs(policy in policies(), text in texts(), cuts in cuts()) {
        chunks_do_not_matter(run, &policy, &text, &cuts)?;
    }

    #[test]
    fn any_bytes_are_survived_and_every_line_written_is_json(policy in policies(), bytes in junk()) {
        lines_are_json(run, &policy, &bytes)?;
    }
}

/// A gate with this done to each line that it writes.
fn changed(gate: &mut Gate, input: GateInput<'_>, change: fn(&str) -> String) -> Ran {
    let (lines, events) = run(gate, input);
    (lines.iter().map(|line| change(line)).collect(), events)
}

fn echoes_modern(line: &str) -> String {
    ["2025-11-25", "2025-03-26"].iter().fold(line.to_owned(), |line, old| line.replace(old, "2026-07-28"))
}

fn forgets(gate: &mut Gate, input: GateInput<'_>) -> Ran {
    let ran = run(gate, input);
    // A newline of its own ends whatever line was under way.
    run(gate, GateInput::Bytes(b"\n"));
    ran
}

#[track_caller]
fn fails<S: Strategy>(inputs: S, property: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = ProptestConfig { max_shrink_iters: 0, ..ProptestConfig::default() };
    TestRunner::new(config).run(&inputs, property).unwrap_err();
}

#[test]
fn a_gate_that_errs_is_noticed_by_every_property() {
    let other_id: Run = |gate, input| changed(gate, input, |line| line.replace("\"id\":", "\"id\":1"));
    fails((policies(), many()), |(policy, messages)| answers_belong(other_id, &policy, &messages));
    let modern: Run = |gate, input| changed(gate, input, echoes_modern);
    fails((policies(), many()), |(policy, messages)| handshakes_are_legacy(modern, &policy, &messages));
    let inputs = (policies(), texts(), cuts());
    fails(inputs, |(policy, text, cuts)| chunks_do_not_matter(forgets, &policy, &text, &cuts));
    let unfinished: Run = |gate, input| changed(gate, input, |line| line[..line.len() - 1].to_owned());
    fails((policies(), junk()), |(policy, bytes)| lines_are_json(unfinished, &policy, &bytes));
}
