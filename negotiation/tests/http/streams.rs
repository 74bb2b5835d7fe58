//! Answers as event streams (K20), and what else may come on them.

use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::client::{ClientPolicy, EarlyRequest, Event, Failure, Noise};
use mcp_parley_negotiation::http::{Exchange, HttpEnd};
use mcp_parley_negotiation::version::Era;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{JSON, SSE, Wire, discovered, error, initialized, legacy, result};

fn policy() -> ClientPolicy {
    ClientPolicy::default()
}

/// One event a message, for the request of this id.
fn events(id: i64, messages: &[Value]) -> String {
    let event = |message: &Value| format!("event: message\ndata: {message}\n\n");
    messages.iter().map(event).collect::<String>().replace("\"$id\"", &id.to_string())
}

#[test]
fn the_response_settles_before_the_stream_ends() {
    for framing in [
        "data: $\n\n",
        "data:$\r\n\r\n",
        ":\r\rdata: $\r\r",
        "id: 1\ndata:\n\nid: 2\nretry: 10\ndata: $\n\n",
        "\u{feff}event: message\ndata: $\n\n",
        "event: other\ndata: {}\n\ndata: $\n\n",
        "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\ndata: $\n\n",
        "data: not json\n\ndata: $\n\n",
        "data: {\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}\n\ndata: $\n\n",
    ] {
        let mut wire = Wire::start(policy());
        wire.head(Exchange(0), 200, &[("Content-Type", "Text/Event-Stream;charset=utf-8")]);
        wire.body(Exchange(0), &framing.replace('$', &discovered().to_string().replace("\"$id\"", "1")));
        assert_eq!(wire.settled(), Some((Era::Modern, "2026-07-28")), "{framing:?}");
        wire.end(Exchange(0), HttpEnd::Complete);
        assert_eq!((&*wire.aborted, wire.wake), (&[][..], None));
    }
    let message = discovered().to_string().replace("\"$id\"", "1").replace(",\"result\"", "\n,\"result\"");
    let mut wire = Wire::start(policy());
    wire.answer(200, &[("content-type", SSE)], &format!("data: {}\n\n", message.replace('\n', "\ndata: ")));
    assert!(wire.machine.is_settled());
}

#[test]
fn a_stream_that_stays_open_after_the_response_is_given_up_and_not_read() {
    let mut wire = Wire::start(policy());
    wire.head(Exchange(0), 200, &[("content-type", SSE)]);
    wire.body(Exchange(0), &events(1, &[discovered(), error(-32601)]));
    wire.body(Exchange(0), &events(1, &[error(-32022)]));
    assert_eq!((wire.requests.len(), wire.wake, &*wire.aborted), (1, Some(Time(1_000_000)), &[][..]));
    wire.wait();
    assert_eq!((wire.wake, &*wire.aborted), (None, &[Exchange(0)][..]));
    assert!(wire.machine.is_settled());
}

#[test]
fn an_error_on_a_stream_is_one_whatever_the_status() {
    for status in [200, 400] {
        let mut wire = Wire::start(policy());
        wire.answer(status, &[("content-type", SSE)], &events(1, &[error(-32020)]));
        assert_eq!(wire.methods(), ["server/discover", "server/discover"], "{status}");
        let mut wire = Wire::start(policy());
        wire.answer(status, &[("content-type", SSE)], &events(1, &[error(-32601)]));
        assert_eq!(wire.methods(), ["server/discover", "initialize"], "{status}");
    }
}

#[test]
fn a_request_on_the_stream_of_a_modern_request_is_never_answered() {
    let ping = json!({"jsonrpc": "2.0", "id": "p", "method": "ping"});
    for early_request in EarlyRequest::ALL {
        let mut wire = Wire::start(ClientPolicy { early_request: *early_request, ..policy() });
        wire.answer(200, &[("content-type", SSE)], &events(1, &[ping.clone(), discovered()]));
        wire.call("tools/list", "");
        wire.answer(200, &[("content-type", SSE)], &events(2, &[ping.clone(), result()]));
        assert_eq!(wire.methods(), ["server/discover", "tools/list"]);
        assert_eq!(wire.events.last(), Some(&Event::Called(true)));
    }
}

#[test]
fn a_ping_in_the_legacy_era_is_answered_by_a_post_of_its_own() {
    let ping = |id: &str| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    let mut wire = Wire::start(policy());
    wire.answer(404, &[], "");
    wire.head(Exchange(1), 200, &[("content-type", SSE), ("mcp-session-id", "s-1")]);
    wire.body(Exchange(1), &events(2, &[ping("a")]));
    assert_eq!(wire.last().message(), json!({"jsonrpc": "2.0", "id": "a", "result": {}}));
    assert_eq!(
        (wire.last().header("mcp-session-id"), wire.last().header("mcp-protocol-version")),
        (Some("s-1"), None)
    );
    wire.body(Exchange(1), &events(2, &[initialized("2025-11-25")]));
    wire.head(Exchange(3), 202, &[]);
    wire.call("tools/list", "");
    let call = wire.last().exchange;
    wire.head(call, 200, &[("content-type", SSE)]);
    wire.body(call, &events(3, &[ping("b")]));
    let answer = wire.last();
    assert_eq!(answer.message(), json!({"jsonrpc": "2.0", "id": "b", "result": {}}));
    assert_eq!(
        (answer.header("mcp-session-id"), answer.header("mcp-protocol-version")),
        (Some("s-1"), Some("2025-11-25"))
    );
    wire.body(call, &events(3, &[result()]));
    assert_eq!(wire.events.last(), Some(&Event::Called(true)));
}

#[test]
fn a_flood_of_requests_leaves_a_bounded_number_of_exchanges_open() {
    let mut wire = legacy(policy(), "2025-11-25", None);
    wire.call("tools/list", "");
    let call = wire.last().exchange;
    wire.head(call, 200, &[("content-type", SSE)]);
    let ping = json!({"jsonrpc": "2.0", "id": "p", "method": "ping"});
    wire.body(call, &events(3, &vec![ping; 100]));
    assert_eq!((wire.requests.len(), wire.aborted.len()), (104, 84));
    assert!(wire.aborted.iter().all(|exchange| *exchange > call), "the call is not given up");
    wire.body(call, &events(3, &[result()]));
    assert_eq!(wire.events.last(), Some(&Event::Called(true)));
    wire.wait();
    assert_eq!((wire.wake, wire.aborted.len()), (None, 101));
}

#[test]
fn noise_on_a_stream_is_borne_or_not() {
    let long = format!("data: {}\n\n", "x".repeat((4 << 20) + 1));
    for noise in ["data: x\n\n", &*long] {
        for (choice, failure) in [(Noise::Skip, None), (Noise::Fail, Some(Failure::Noise))] {
            let mut wire = Wire::start(ClientPolicy { noise: choice, ..policy() });
            wire.head(Exchange(0), 200, &[("content-type", SSE)]);
            wire.body(Exchange(0), noise);
            assert_eq!(wire.failure(), failure.as_ref());
            assert_eq!(wire.aborted.len(), usize::from(failure.is_some()));
            wire.body(Exchange(0), &events(1, &[discovered()]));
            assert_eq!(wire.machine.is_settled(), failure.is_none());
        }
    }
}

/// What was asked for and what was said, after the whole of this answer in these pieces.
fn told(status: u16, media: &str, body: &[u8], cuts: &[usize]) -> (Vec<String>, Vec<Exchange>, Vec<Event>) {
    let mut wire = Wire::start(policy());
    wire.head(Exchange(0), status, &[("content-type", media)]);
    let mut start = 0;
    for cut in cuts.iter().copied().chain([body.len()]) {
        let end = cut.clamp(start, body.len());
        wire.input(mcp_parley_negotiation::client::Input::HttpBody(Exchange(0), &body[start..end]));
        start = end;
    }
    wire.end(Exchange(0), HttpEnd::Complete);
    (wire.requests.iter().map(|request| request.body.clone()).collect(), wire.aborted, wire.events)
}

proptest! {
    #[test]
    fn any_cut_of_the_same_body_gives_the_same(
        status in prop::sample::select(vec![200_u16, 202, 400, 404, 500]),
        stream in any::<bool>(),
        parts in prop::collection::vec(0..8_usize, 0..4),
        mut cuts in prop::collection::vec(0..600_usize, 0..10),
    ) {
        let parts: Vec<String> = parts.into_iter().map(|part| match part {
            0 => events(1, &[discovered()]),
            1 => events(1, &[error(-32022)]),
            2 => events(1, &[error(-32601)]),
            3 => events(9, &[discovered()]),
            4 => ":\r\n\r\n".into(),
            5 => "data: \n".into(),
            6 => "{}".into(),
            _ => discovered().to_string().replace("\"$id\"", "1"),
        }).collect();
        let body = parts.concat();
        cuts.sort_unstable();
        let media = if stream { SSE } else { JSON };
        prop_assert_eq!(told(status, media, body.as_bytes(), &cuts), told(status, media, body.as_bytes(), &[]));
    }
}
