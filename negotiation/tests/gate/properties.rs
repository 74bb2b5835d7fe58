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

fn run(gate: &mut Gate, input: GateInput<'_>) -> (Vec<String>, Vec<GateEvent>) {
    let mut events = Vec::new();
    gate.handle_input(Time::ZERO, input).unwrap();
    (drain(gate, &mut events), events)
}

proptest! {
    #[test]
    fn answers_belong_to_their_requests(policy in policies(), messages in prop::collection::vec(messages(), 1..12)) {
        let mut gate = Gate::new(Arc::new(Prepared::new(policy.clone())));
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
            let refused = matches!(events.first(), Some(GateEvent::Refused(code)) if answer["error"]["code"] == *code);
            prop_assert_eq!(refused, answer.get("result").is_none());
            prop_assert!(!broken || refused);
        }
    }

    #[test]
    fn no_handshake_agrees_on_a_modern_version(policy in policies(), messages in prop::collection::vec(messages(), 1..12)) {
        let mut gate = Gate::new(Arc::new(Prepared::new(policy.clone())));
        for message in messages {
            let (lines, events) = run(&mut gate, GateInput::Message(message.to_string().as_bytes()));
            if let Some(GateEvent::HandshakeDone(place)) = events.first() {
                let answer: Value = serde_json::from_str(&lines[0]).unwrap();
                prop_assert_eq!(&answer["result"]["protocolVersion"], policy.legacy[*place].as_str());
                prop_assert_eq!(gate.session(), Some(*place));
            }
        }
    }

    #[test]
    fn any_chunking_gives_the_same_outputs(
        policy in policies(),
        messages in prop::collection::vec(prop_oneof![3 => messages().prop_map(|m| m.to_string()), 1 => ".{0,20}"], 0..8),
        cuts in prop::collection::vec(1_usize..50, 1..40),
    ) {
        let text = messages.iter().map(|message| format!("{message}\n")).collect::<String>();
        let prepared = Arc::new(Prepared::new(policy));
        let whole = run(&mut Gate::new(Arc::clone(&prepared)), GateInput::Bytes(text.as_bytes()));
        let mut gate = Gate::new(prepared);
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
    }

    #[test]
    fn any_bytes_are_survived_and_every_line_written_is_json(
        policy in policies(),
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), select(b"{}[]\":,\n\\e1 ".to_vec())], 0..300),
    ) {
        let mut gate = Gate::new(Arc::new(Prepared::new(policy)));
        let (lines, _) = run(&mut gate, GateInput::Bytes(&bytes));
        prop_assert!(lines.len() <= bytes.iter().filter(|byte| **byte == b'\n').count());
        for line in lines {
            prop_assert!(serde_json::from_str::<Value>(&line).is_ok(), "{line}");
        }
    }
}
