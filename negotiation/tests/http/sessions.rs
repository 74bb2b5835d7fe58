//! The legacy session: its id, its confirmation, its stream, its end (K21 to K23).

use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::client::{ClientPolicy, EndSession, Event, Failure, Input, Listen, State};
use mcp_parley_negotiation::http::{Exchange, HttpEnd};
use mcp_parley_negotiation::version::Era;
use serde_json::json;

use crate::support::{JSON, SSE, Wire, error, initialized, legacy, modern, result};

fn policy() -> ClientPolicy {
    ClientPolicy::default()
}

fn session(wire: &Wire) -> Vec<Option<&str>> {
    wire.requests.iter().map(|request| request.header("mcp-session-id")).collect()
}

#[test]
fn a_session_id_is_sent_back_with_everything_that_follows() {
    let mut wire = legacy(policy(), "2025-11-25", Some("s-1"));
    wire.call("tools/list", "");
    assert_eq!(session(&wire), [None, None, Some("s-1"), Some("s-1")]);
    // A later response does not change it.
    wire.answer(200, &[("content-type", JSON), ("mcp-session-id", "s-2")], &result().to_string());
    wire.call("tools/list", "");
    assert_eq!(wire.last().header("mcp-session-id"), Some("s-1"));
}

#[test]
fn only_the_answer_to_initialize_gives_a_session() {
    let mut wire = Wire::start(policy());
    wire.answer(404, &[("mcp-session-id", "early")], "");
    wire.answer(200, &[("content-type", JSON)], &initialized("2025-11-25").to_string());
    wire.answer(202, &[("mcp-session-id", "late")], "");
    wire.call("tools/list", "");
    assert_eq!(session(&wire), [None; 4]);
    let mut wire = Wire::start(policy());
    wire.answer(
        200,
        &[("content-type", JSON), ("mcp-session-id", "x")],
        &crate::support::discovered().to_string(),
    );
    wire.call("tools/list", "");
    assert_eq!(session(&wire), [None; 2]);
}

#[test]
fn a_session_id_that_cannot_be_sent_back_ends_the_attempt() {
    let long = "x".repeat((8 << 10) + 1);
    for id in ["", " ", "a b", "naïve", "a\tb", &long] {
        let mut wire = Wire::start(policy());
        wire.answer(404, &[], "");
        let headers = [("content-type", JSON), ("mcp-session-id", id)];
        wire.answer(200, &headers, &initialized("2025-11-25").to_string());
        assert_eq!(wire.failure(), Some(&Failure::UnusableInitialize("its session id cannot be sent back")));
        assert_eq!(wire.requests.len(), 2);
    }
    for id in [" padded\t", &long[1..], "!~"] {
        let wire = legacy(policy(), "2025-11-25", Some(id));
        assert_eq!(wire.last().header("mcp-session-id"), Some(id.trim()));
    }
}

#[test]
fn the_session_is_open_once_initialized_was_accepted_in_any_way() {
    for (status, media, body) in [
        (202, "", ""),
        (204, "", ""),
        (200, "", ""),
        (200, JSON, "{}"),
        (200, JSON, "null"),
        (202, "text/plain", "Accepted"),
        (202, "text/html", ""),
    ] {
        let mut wire = Wire::start(policy());
        wire.answer(404, &[], "");
        wire.answer_json(200, &initialized("2025-11-25"));
        assert_eq!((wire.machine.state(), wire.settled()), (State::Confirming, None));
        assert_eq!(wire.last().message(), json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        wire.answer(status, &[("content-type", media)], body);
        assert_eq!(wire.settled(), Some((Era::Legacy, "2025-11-25")), "{status} {body}");
        assert_eq!((wire.wake, wire.requests.len()), (None, 3));
    }
    // A stream that stays open is given up after a while, and nothing waits for it.
    let mut wire = Wire::start(policy());
    wire.answer(404, &[], "");
    wire.answer_json(200, &initialized("2025-11-25"));
    wire.head(Exchange(2), 200, &[("content-type", SSE)]);
    assert!(wire.machine.is_settled());
    wire.wait();
    assert_eq!((&*wire.aborted, wire.wake, wire.now), (&[Exchange(2)][..], None, Time(1_000_000)));
}

#[test]
fn a_refused_initialized_is_no_session() {
    let refused = |step: &dyn Fn(&mut Wire)| {
        let mut wire = Wire::start(policy());
        wire.answer(404, &[], "");
        wire.answer_json(200, &initialized("2025-11-25"));
        step(&mut wire);
        assert!(wire.machine.is_done() && wire.settled().is_none());
        (wire.failure().cloned(), wire.aborted)
    };
    let what = "notifications/initialized";
    for status in [302, 400, 401, 404, 500] {
        let (failure, aborted) = refused(&|wire| wire.head(Exchange(2), status, &[]));
        assert_eq!((failure, aborted), (Some(Failure::HttpStatus { status, what }), vec![Exchange(2)]));
    }
    let (failure, aborted) = refused(&Wire::wait);
    assert_eq!((failure, aborted), (Some(Failure::Silence(what)), vec![Exchange(2)]));
    let (failure, _) = refused(&|wire| wire.end(Exchange(2), HttpEnd::Reset));
    assert_eq!(failure, Some(Failure::ConnectionLost { end: HttpEnd::Reset, what }));
}

#[test]
fn a_session_that_the_server_forgot_is_begun_anew_once_and_the_call_goes_on() {
    for body in [String::new(), error(-32001).to_string()] {
        let mut wire = legacy(policy(), "2025-06-18", Some("s-1"));
        wire.call("tools/list", "");
        wire.answer(404, &[("content-type", JSON)], &body);
        assert_eq!(wire.last().message()["params"]["protocolVersion"], "2025-06-18");
        assert_eq!((wire.last().method(), wire.last().header("mcp-session-id")), ("initialize".into(), None));
        assert_eq!(wire.last().header("mcp-protocol-version"), None);
        let headers = [("content-type", JSON), ("mcp-session-id", "s-2")];
        wire.answer(200, &headers, &initialized("2025-06-18").to_string());
        wire.answer(202, &[], "");
        assert_eq!(
            (wire.last().method(), wire.last().header("mcp-session-id")),
            ("tools/list".into(), Some("s-2"))
        );
        let ids: std::collections::BTreeSet<_> =
            wire.requests.iter().filter_map(|request| request.message()["id"].as_i64()).collect();
        assert_eq!(ids, (1..=5).collect());
        // Once only (BR-146).
        wire.answer(404, &[("content-type", JSON)], &body);
        assert_eq!((wire.events.last(), wire.requests.len()), (Some(&Event::Called(false)), 7));
        assert!(wire.machine.is_settled());
    }
}

#[test]
fn a_404_without_a_session_or_another_status_begins_nothing_anew() {
    for (id, status) in [(None, 404), (Some("s-1"), 400), (Some("s-1"), 410)] {
        let mut wire = legacy(policy(), "2025-11-25", id);
        wire.call("tools/list", "");
        wire.answer(status, &[], "");
        assert_eq!((wire.events.last(), wire.requests.len()), (Some(&Event::Called(false)), 4));
    }
    let mut wire = modern(policy());
    wire.call("tools/list", "");
    wire.answer(404, &[], "");
    assert_eq!((wire.events.last(), wire.requests.len()), (Some(&Event::Called(false)), 2));
}

#[test]
fn a_renewal_that_fails_ends_the_call_too() {
    let mut wire = legacy(policy(), "2025-11-25", Some("s-1"));
    wire.call("tools/list", "");
    wire.answer(404, &[], "");
    wire.answer(503, &[], "");
    let failure = Failure::HttpStatus { status: 503, what: "initialize" };
    assert_eq!(wire.events[wire.events.len() - 2..], [Event::Called(false), Event::Failed(failure)]);
}

#[test]
fn whoever_is_done_with_a_session_deletes_it() {
    for (status, end) in
        [(200, HttpEnd::Complete), (405, HttpEnd::Complete), (500, HttpEnd::Reset), (0, HttpEnd::Refused)]
    {
        let mut wire = legacy(policy(), "2025-11-25", Some("s-1"));
        wire.call("tools/list", "");
        wire.input(Input::Shutdown);
        let delete = wire.last();
        assert_eq!((delete.verb, delete.body.as_str(), delete.exchange), ("DELETE", "", Exchange(4)));
        assert_eq!(
            delete.headers,
            [("mcp-protocol-version", "2025-11-25".to_owned()), ("mcp-session-id", "s-1".to_owned())]
        );
        assert_eq!(wire.aborted, [Exchange(3)]);
        assert_eq!((wire.machine.is_done(), wire.machine.is_settled()), (false, false));
        assert_eq!((wire.machine.state(), wire.wake), (State::Ending, Some(Time(1_000_000))));
        if status > 0 {
            wire.head(Exchange(4), status, &[]);
            assert!(!wire.machine.is_done());
        }
        wire.end(Exchange(4), end);
        assert_eq!((wire.machine.is_done(), wire.machine.state()), (true, State::Closed));
        assert_eq!((&*wire.aborted, wire.wake), (&[Exchange(3)][..], None));
    }
}

#[test]
fn the_end_of_a_session_is_waited_for_a_short_time_only() {
    let mut wire = legacy(policy(), "2025-11-25", Some("s-1"));
    wire.input(Input::Shutdown);
    wire.wait();
    assert_eq!((wire.machine.is_done(), &*wire.aborted), (true, &[Exchange(3)][..]));
    let mut wire = legacy(policy(), "2025-11-25", Some("s-1"));
    wire.input(Input::Shutdown);
    wire.input(Input::Shutdown);
    assert_eq!((wire.machine.is_done(), &*wire.aborted), (true, &[Exchange(3)][..]));
}

#[test]
fn without_a_session_there_is_nothing_to_end() {
    let leave = ClientPolicy { end_session: EndSession::Leave, ..policy() };
    for mut wire in [
        legacy(policy(), "2025-11-25", None),
        legacy(leave, "2025-11-25", Some("s-1")),
        modern(policy()),
        Wire::start(policy()),
    ] {
        let open = usize::from(!wire.machine.is_settled());
        let before = wire.requests.len();
        wire.input(Input::Shutdown);
        assert_eq!((wire.machine.is_done(), wire.requests.len(), wire.wake), (true, before, None));
        assert_eq!(wire.aborted.len(), open);
    }
}

fn listening() -> Wire {
    let policy = ClientPolicy { listen: Listen::Get, ..policy() };
    let wire = legacy(policy, "2025-11-25", Some("s-1"));
    let get = wire.last();
    assert_eq!((get.verb, get.exchange, get.body.as_str()), ("GET", Exchange(3), ""));
    let expected = [("accept", SSE), ("mcp-protocol-version", "2025-11-25"), ("mcp-session-id", "s-1")];
    assert!(get.headers.iter().map(|(name, value)| (*name, value.as_str())).eq(expected));
    wire
}

#[test]
fn the_stream_of_a_session_is_asked_for_once() {
    for status in [200, 404, 405, 406, 501] {
        let mut wire = listening();
        wire.answer(status, &[("content-type", SSE)], "");
        assert_eq!((wire.requests.len(), wire.wake, wire.failure()), (4, None, None), "{status}");
    }
    let mut wire = listening();
    wire.head(Exchange(3), 404, &[("content-type", SSE)]);
    wire.body(Exchange(3), "data: {\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}\n\n");
    assert_eq!(wire.requests.len(), 4, "a refusal is no stream");
    let mut wire = listening();
    wire.wait();
    assert_eq!((&*wire.aborted, wire.wake, wire.requests.len()), (&[Exchange(3)][..], None, 4));
    // No modern session has one.
    let wire = modern(ClientPolicy { listen: Listen::Get, ..policy() });
    assert_eq!(wire.requests.len(), 1);
}

#[test]
fn what_comes_on_that_stream_is_answered_and_settles_no_call() {
    let mut wire = listening();
    wire.head(Exchange(3), 200, &[("content-type", SSE)]);
    assert_eq!(wire.wake, None);
    wire.call("tools/list", "");
    wire.body(Exchange(3), "data: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n\n");
    assert_eq!(wire.events.last(), Some(&Event::Ignored));
    wire.body(Exchange(3), "data: {\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}\n\n");
    assert_eq!(wire.last().body, r#"{"jsonrpc":"2.0","id":"p","result":{}}"#);
    assert_eq!(wire.last().header("mcp-session-id"), Some("s-1"));
    wire.body(Exchange(3), "data: {\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"roots/list\"}\n\n");
    assert_eq!(wire.last().message()["error"]["code"], -32601);
    wire.body(Exchange(3), "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\ndata: x\n\n");
    assert_eq!((wire.requests.len(), wire.failure()), (7, None));
    wire.input(Input::Shutdown);
    assert_eq!(wire.aborted, [3, 4, 5, 6].map(Exchange));
}

#[test]
fn a_new_session_has_a_stream_of_its_own() {
    let mut wire = listening();
    wire.head(Exchange(3), 200, &[("content-type", SSE)]);
    wire.call("tools/list", "");
    wire.answer(404, &[], "");
    assert_eq!((wire.last().method(), &*wire.aborted), ("initialize".into(), &[Exchange(3)][..]));
    let headers = [("content-type", JSON), ("mcp-session-id", "s-2")];
    wire.answer(200, &headers, &initialized("2025-11-25").to_string());
    wire.answer(202, &[], "");
    let asked: Vec<_> =
        wire.requests[7..].iter().map(|request| (request.verb, request.header("mcp-session-id"))).collect();
    assert_eq!(asked, [("POST", Some("s-2")), ("GET", Some("s-2"))]);
}
