//! What correct servers say, byte for byte, and what processes do at their end.

use mcp_parley_mock_servers::{ServerInput, persona as embedded};
use serde_json::{Value, json};

use crate::support::*;

fn healthy(id: &str) -> Process {
    Process::quiet(embedded(id).unwrap().resolve(&[]).unwrap())
}

fn code(answer: &str) -> i64 {
    let answer: Value = serde_json::from_str(answer).unwrap();
    answer["error"]["code"].as_i64().unwrap()
}

#[test]
fn modern() {
    let mut server = healthy("modern");
    assert_eq!(server.says(DISCOVER), [DISCOVERED]);
    assert_eq!(server.says(MODERN_LIST), [MODERN_LISTED]);
    assert_eq!(code(&server.answer(INITIALIZE)), -32601);
    assert_eq!(code(&server.answer(LIST)), -32602);
    assert!(server.says(INITIALIZED).is_empty());
}

#[test]
fn legacy() {
    let mut server = healthy("legacy");
    assert_eq!(code(&server.answer(DISCOVER)), -32601);
    assert_eq!(code(&server.answer(LIST)), -32600);
    assert_eq!(server.says(INITIALIZE), [INITIALIZED_2025_11]);
    assert!(server.says(INITIALIZED).is_empty());
    assert_eq!(server.says(LIST), [LISTED]);
    assert_eq!(server.says(PING), [PONG]);
}

#[test]
fn dual_serves_each_era_as_it_is_asked() {
    let mut server = healthy("dual");
    assert_eq!(server.says(DISCOVER), [DISCOVERED]);
    assert_eq!(server.says(MODERN_LIST), [MODERN_LISTED]);
    let mut server = healthy("dual");
    assert_eq!(server.says(INITIALIZE), [INITIALIZED_2025_11]);
    assert_eq!(server.says(LIST), [LISTED]);
}

#[test]
fn policies_are_legal_choices() {
    let listing = healthy("dual-lists-legacy").answer(DISCOVER);
    assert!(listing.contains(r#"["2026-07-28","2025-11-25""#), "{listing}");
    let oldest = healthy("legacy-oldest").answer(INITIALIZE);
    assert_eq!(oldest, INITIALIZED_2025_11.replace("2025-11-25", "2024-11-05"));
    assert_eq!(code(&healthy("legacy-refuses").answer(INITIALIZE)), -32602);
    let kept = healthy("modern-ttl").answer(DISCOVER);
    assert!(kept.contains(r#""ttlMs":3600000,"cacheScope":"public""#), "{kept}");
}

#[test]
fn silent_hears_everything_and_says_nothing() {
    let mut server = healthy("silent");
    for line in [DISCOVER, INITIALIZE, INITIALIZED, LIST, PING, "{", ""] {
        assert_eq!(server.line(line), [], "{line}");
    }
    assert_eq!(server.tell(ServerInput::Eof), [Did::Exit(0)]);
}

#[test]
fn exiting_serves_what_it_knows_and_ends_at_anything_else() {
    let mut server = healthy("exiting");
    assert_eq!(server.says(INITIALIZE), [INITIALIZED_2025_11]);
    assert!(server.says(r#"{"jsonrpc":"2.0","method":"notifications/unheard"}"#).is_empty());
    assert_eq!(server.says(PING), [PONG]);
    assert_eq!(server.says(LIST), [LISTED]);
    assert_eq!(server.line(DISCOVER), [Did::Exit(1)]);
    // After its end it hears nothing.
    assert_eq!(server.line(PING), []);
}

#[test]
fn exiting_knows_what_its_policy_serves() {
    let served = json!([{"name": "server/discover", "capability": "odd", "result": "", "cacheable": false}]);
    let mut server = Process::quiet(persona("exiting", json!({"policy": {"methods": served}})));
    server.says(INITIALIZE);
    assert_eq!(server.says(DISCOVER), [r#"{"jsonrpc":"2.0","id":1,"result":{}}"#]);
    assert_eq!(server.line(LIST), [Did::Exit(1)]);
}

#[test]
fn the_end_of_standard_input_ends_every_server() {
    for profile in ["modern", "legacy", "dual", "silent", "exiting"] {
        let mut server = Process::quiet(persona(profile, json!({})));
        assert_eq!(server.tell(ServerInput::Eof), [Did::Exit(0)], "{profile}");
    }
}

#[test]
fn answers_do_not_depend_on_how_the_input_is_cut() {
    let text = format!("{DISCOVER}\n{INITIALIZE}\n{INITIALIZED}\n{LIST}\n{PING}\n");
    for id in ["modern", "dual", "legacy", "answers-twice", "null-id-error", "foreign-id"] {
        let whole = healthy(id).tell(ServerInput::Bytes(text.as_bytes()));
        for size in [1, 2, 3, 7, 64, 300] {
            let mut server = healthy(id);
            let pieces = text.as_bytes().chunks(size);
            let did: Vec<Did> = pieces.flat_map(|piece| server.tell(ServerInput::Bytes(piece))).collect();
            assert_eq!(did, whole, "{id} cut by {size}");
        }
    }
}

#[test]
fn each_message_of_a_batch_has_a_line() {
    let mut server = healthy("crlf");
    server.line(&INITIALIZE.replace("2025-11-25", "2025-03-26"));
    let said = server.line(&format!("[{LIST},{PING}]"));
    assert_eq!(said, [LISTED, PONG].map(|line| Did::Wrote(format!("{line}\r\n").into_bytes())));
}
