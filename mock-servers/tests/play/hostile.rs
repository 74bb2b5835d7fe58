//! Input that nobody means well: no panic, and nothing that grows with it.

use mcp_parley_mock_servers::{ServerInput, ServerOutput};
use mcp_parley_negotiation::Time;
use proptest::prelude::*;
use serde_json::json;

use crate::support::*;

/// One process of each kind of path through the engine: untouched, selecting by content, editing every answer.
fn processes() -> [Process; 3] {
    let looking = quirk("dual", json!({"has": "/params/a/b/c"}), json!({"omit": ["/result"]}));
    let editing =
        acting(json!({"set": [{"at": "/result/x", "to": 1}], "double": ["/id"], "id": "other-type"}));
    [Process::quiet(persona("dual", json!({}))), looking, editing]
}

fn written(did: &[Did]) -> usize {
    let size = |did: &Did| if let Did::Wrote(bytes) = did { bytes.len() } else { 0 };
    did.iter().map(size).sum()
}

#[test]
fn deep_nesting_is_refused_and_forgotten() {
    for (open, inside) in [("[", ""), ("{\"a\":", "1")] {
        let deep = open.repeat(100_000);
        for line in
            [deep.clone(), format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{deep}{inside}"#)]
        {
            for mut process in processes() {
                assert!(written(&process.line(&line)) < 1000);
                assert_eq!(process.says(PING).len(), 1);
            }
        }
    }
}

#[test]
fn a_line_of_five_megabytes_is_refused_once_and_forgotten() {
    let long = vec![b' '; 5 << 20];
    for mut process in processes() {
        let did: Vec<Did> =
            long.chunks(1 << 16).flat_map(|piece| process.tell(ServerInput::Bytes(piece))).collect();
        // -32700, as to anything that is no JSON, as soon as it is known to be too long.
        let said = lines(&did).concat();
        assert!(did.len() == 1 && said.contains("-32700"), "{said}");
        assert_eq!(process.tell(ServerInput::Bytes(b"\n")), []);
        assert_eq!(process.says(PING).len(), 1);
    }
}

#[test]
fn what_is_not_utf8_is_refused_and_forgotten() {
    for mut process in processes() {
        let did =
            process.tell(ServerInput::Bytes(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}\n"));
        assert!(lines(&did).concat().contains("-32700"), "{did:?}");
        assert_eq!(process.says(PING).len(), 1);
    }
}

#[test]
fn no_more_answers_wait_than_can_be_kept() {
    let mut process = acting(json!({"delay_ms": 1}));
    for _ in 0..1000 {
        assert_eq!(process.line(PING), []);
    }
    process.now = Time::ZERO.plus_us(1000);
    assert_eq!(process.tell(ServerInput::Timeout).len(), 256);
    // And there is room again.
    process.line(PING);
    process.now = process.now.plus_us(1000);
    assert_eq!(process.tell(ServerInput::Timeout).len(), 1);
}

/// Taken up all at once, these answers would be more than any process may hold.
#[test]
fn a_chunk_of_many_messages_is_answered_one_by_one() {
    let mut server = acting(json!({"pad_bytes": 1 << 20})).server;
    server.handle_input(Time::ZERO, ServerInput::Bytes(format!("{PING}\n").repeat(100).as_bytes()));
    let (mut buf, mut sizes) = (Vec::new(), Vec::new());
    while let Some(ServerOutput::Write(range)) = server.poll_output(&mut buf) {
        sizes.push(range.len());
        buf.clear();
    }
    assert_eq!(sizes, [(1 << 20) + PONG.len() + 1; 100]);
}

#[test]
fn no_more_bytes_wait_than_can_be_kept() {
    let many = |times: usize| format!("{PING}\n").repeat(times);
    let woken = |process: &mut Process| {
        let mut count = 0;
        while let Some(wake) = process.wake.take() {
            process.now = wake;
            count += process.tell(ServerInput::Timeout).len();
        }
        count
    };
    let mut slow = acting(json!({"delay_ms": 1, "pad_bytes": 1 << 20}));
    for _ in 0..100 {
        slow.now = slow.now.plus_us(1);
        assert_eq!(slow.line(PING), []);
    }
    assert_eq!(woken(&mut slow), 63);
    let gap = json!({"wire": {"gap_ms": 1}, "quirks": [{"act": {"pad_bytes": 1 << 20}}]});
    let mut gapped = Process::quiet(persona("dual", gap));
    let count = gapped.tell(ServerInput::Bytes(many(100).as_bytes())).len() + woken(&mut gapped);
    assert!((60..70).contains(&count), "{count}");
    // And there is room again.
    gapped.now = gapped.now.plus_us(1000);
    assert_eq!(gapped.line(PING).len(), 1);
    let mut together = Process::quiet(persona("dual", json!({"wire": {"together": true}})));
    let writes = together.tell(ServerInput::Bytes(many(60_000).as_bytes()));
    assert!((2..6).contains(&writes.len()), "{}", writes.len());
}

#[test]
fn times_that_overflow_are_the_last_time() {
    let mut process = acting(json!({"delay_ms": u64::MAX}));
    process.line(PING);
    assert!(process.wake.is_some());
    process.now = process.wake.unwrap();
    assert_eq!(lines(&process.tell(ServerInput::Timeout)), [PONG]);
}

proptest! {
    #[test]
    fn no_bytes_make_any_of_them_panic_or_write_without_bound(
        text in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..400),
            r#"(\{|\}|\[|\]|"|,|:|\n|"id"|"method"|"ping"|"jsonrpc":"2.0"|"params"|1|null|\\u00){0,60}"#
                .prop_map(String::into_bytes),
        ],
        size in 1_usize..50,
    ) {
        for mut process in processes() {
            let did: Vec<Did> = text.chunks(size).flat_map(|piece| process.tell(ServerInput::Bytes(piece))).collect();
            let count = text.iter().filter(|byte| **byte == b'\n').count();
            prop_assert!(written(&did) <= count * 2000 + text.len() * 4);
            prop_assert_eq!(process.tell(ServerInput::Eof), vec![Did::Exit(0)]);
        }
    }
}
