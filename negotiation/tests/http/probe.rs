//! K06 to K09: what each status and body says to the probe.

use mcp_parley_negotiation::client::{
    BrokenConnection, ClientPolicy, Event, Evidence, Failure, HttpSilence, HttpStepDown, InvalidParams,
    MethodNotFound, Mode, NoAnswer, Noise, Redirect, ServerError, State, TooManyRequests, Unauthorized,
};
use mcp_parley_negotiation::http::{Exchange, HttpEnd};
use mcp_parley_negotiation::version::Era;
use serde_json::{Value, json};

use crate::support::{JSON, SSE, Wire, discovered, error, initialized, unsupported};

fn policy() -> ClientPolicy {
    ClientPolicy::default()
}

/// Why the machine stepped down, if it did.
fn downgraded(wire: &Wire) -> Option<Evidence> {
    wire.events.iter().find_map(|event| match event {
        Event::Downgraded(evidence) => Some(*evidence),
        _ => None,
    })
}

/// The evidence of a fallback, or the failure, after this answer to the probe.
fn after(policy: ClientPolicy, status: u16, media: &str, body: &str) -> Result<Evidence, Failure> {
    let mut wire = Wire::start(policy);
    wire.answer(status, &[("content-type", media)], body);
    match (downgraded(&wire), wire.failure()) {
        (Some(evidence), None) => {
            assert_eq!(wire.methods(), ["server/discover", "initialize"]);
            assert_eq!(wire.last().header("mcp-protocol-version"), None);
            Ok(evidence)
        }
        (None, Some(failure)) => {
            assert_eq!(wire.methods(), ["server/discover"]);
            assert!(wire.machine.is_done());
            Err(failure.clone())
        }
        odd => panic!("HTTP {status} {body:?}: {odd:?}"),
    }
}

const BODIES: [(&str, &str); 6] = [
    ("text/plain", ""),
    ("text/plain", "no such session"),
    ("text/html", "<html>not here</html>"),
    (JSON, "{\"detail\":\"Not Found\"}"),
    (JSON, "{"),
    (JSON, ""),
];

#[test]
fn a_4xx_without_a_json_rpc_error_means_legacy() {
    for status in [400, 402, 404, 405, 406, 410, 415, 422, 499] {
        for (media, body) in BODIES {
            let evidence = Evidence::Http { status, code: None };
            assert_eq!(after(policy(), status, media, body), Ok(evidence), "{status} {body}");
            let modern = ClientPolicy { mode: Mode::Modern, ..policy() };
            assert_eq!(after(modern, status, media, body), Err(Failure::LegacyServer(evidence)));
        }
    }
}

#[test]
fn an_error_that_is_not_modern_means_legacy_whatever_its_id() {
    for status in [400, 404, 405, 422] {
        for code in [-32700, -32600, -32601, -32602, -32603, -32000, -32001, -32004, 0, 7] {
            for media in [JSON, "Application/JSON; charset=utf-8", "text/plain"] {
                let mut body = error(code);
                let evidence = Ok(Evidence::Http { status, code: Some(code) });
                assert_eq!(after(policy(), status, media, &body.to_string()), evidence);
                body["id"] = Value::Null;
                assert_eq!(after(policy(), status, media, &body.to_string()), evidence);
                body.as_object_mut().unwrap().remove("id");
                assert_eq!(after(policy(), status, media, &body.to_string()), evidence);
                body["id"] = "server-error".into();
                let foreign = Ok(Evidence::Http { status, code: None });
                assert_eq!(after(policy(), status, media, &body.to_string()), foreign);
            }
        }
    }
    assert_eq!(after(policy(), 200, JSON, &error(-32601).to_string()), Ok(Evidence::Error(-32601)));
}

#[test]
fn a_recognised_modern_error_keeps_the_client_modern_whatever_the_status() {
    for status in [200, 400, 401, 403, 404, 405, 429, 500, 503] {
        for code in [-32020, -32021] {
            for id in [json!("$id"), Value::Null] {
                let mut wire = Wire::start(policy());
                let mut body = error(code);
                body["id"] = id;
                wire.answer_json(status, &body);
                assert_eq!(wire.methods(), ["server/discover", "server/discover"], "{status} {code}");
                wire.answer(404, &[], "");
                let evidence = Evidence::Http { status: 404, code: None };
                assert_eq!(wire.failure(), Some(&Failure::ModernServer(evidence)));
            }
        }
        let mut wire = Wire::start(policy());
        wire.answer_json(status, &unsupported(&["2031-01-01"]));
        assert_eq!(wire.failure(), Some(&Failure::NoCommonVersion), "{status}");
    }
}

#[test]
fn a_discover_result_is_modern_whatever_stands_around_it() {
    for (status, media) in [(200, JSON), (200, "text/plain"), (201, JSON), (400, JSON), (500, "text/html")] {
        let mut wire = Wire::start(policy());
        wire.answer(status, &[("CONTENT-TYPE", media)], &discovered().to_string());
        assert_eq!(wire.settled(), Some((Era::Modern, "2026-07-28")), "{status} {media}");
        assert_eq!((wire.methods().len(), wire.wake), (1, None));
    }
}

#[test]
fn a_status_that_says_nothing_of_the_era_is_a_failure_unless_the_policy_says_otherwise() {
    let falls_back = ClientPolicy {
        http_unauthorized: Unauthorized::FallBack,
        http_too_many_requests: TooManyRequests::FallBack,
        http_server_error: ServerError::FallBack,
        http_redirect: Redirect::FallBack,
        ..policy()
    };
    for status in [301, 307, 308, 401, 403, 429, 500, 502, 503, 599, 999] {
        for (media, body) in
            BODIES.into_iter().chain([(JSON, r#"{"jsonrpc":"2.0","error":{"code":-32601,"message":""}}"#)])
        {
            let failure = Failure::HttpStatus { status, what: "server/discover" };
            assert_eq!(after(policy(), status, media, body), Err(failure), "{status} {body}");
            let evidence = Evidence::Http { status, code: None };
            assert_eq!(after(falls_back.clone(), status, media, body), Ok(evidence), "{status} {body}");
        }
    }
    // Each field is of its own statuses only.
    let only = ClientPolicy { http_unauthorized: Unauthorized::FallBack, ..policy() };
    assert!(after(only.clone(), 403, "", "").is_ok() && after(only, 429, "", "").is_err());
    let only = ClientPolicy { http_too_many_requests: TooManyRequests::FallBack, ..policy() };
    assert!(after(only.clone(), 429, "", "").is_ok() && after(only, 500, "", "").is_err());
    let only = ClientPolicy { http_server_error: ServerError::FallBack, ..policy() };
    assert!(after(only.clone(), 500, "", "").is_ok() && after(only, 302, "", "").is_err());
    let only = ClientPolicy { http_redirect: Redirect::FallBack, ..policy() };
    assert!(after(only.clone(), 302, "", "").is_ok() && after(only, 401, "", "").is_err());
}

#[test]
fn a_failure_says_what_to_do() {
    let failure = after(policy(), 401, "", "").unwrap_err();
    assert_eq!(
        failure.to_string(),
        "server/discover was answered by HTTP 401: the server wants authorization"
    );
    let evidence = Evidence::Http { status: 404, code: Some(-32601) };
    assert_eq!(evidence.to_string(), "the probe was answered by HTTP 404 with error -32601");
    let failure = Failure::ConnectionLost { end: HttpEnd::Refused, what: "initialize" };
    assert_eq!(failure.to_string(), "initialize got no whole answer: there was no connection");
}

#[test]
fn a_success_without_an_answer_means_legacy_or_a_failure() {
    let fails = ClientPolicy { http_no_answer: NoAnswer::Fail, ..policy() };
    for (status, media, body) in [
        (202, "", ""),
        (204, "", ""),
        (200, JSON, ""),
        (200, JSON, " \n"),
        (200, JSON, "{}"),
        (200, JSON, "[]"),
        (200, JSON, r#"{"jsonrpc":"2.0","method":"notifications/x"}"#),
        (200, JSON, r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#),
        (200, JSON, r#"{"jsonrpc":"2.0","id":99,"error":{"code":-32022,"message":""}}"#),
        (200, JSON, r#"{"jsonrpc":"2.0","id":null,"result":{}}"#),
        (200, "text/html", "<html>"),
        (200, "text/plain", r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":""}}"#),
        (200, SSE, ""),
        (200, SSE, ": nothing\n\n"),
        (200, SSE, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n"),
        (200, SSE, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"\"}}\n"),
    ] {
        assert_eq!(after(policy(), status, media, body), Ok(Evidence::NoAnswer { status }), "{body:?}");
        let failure = Failure::Policy("an HTTP success without an answer");
        assert_eq!(after(fails.clone(), status, media, body), Err(failure), "{body:?}");
    }
    let strict = ClientPolicy { noise: Noise::Fail, ..policy() };
    assert_eq!(after(strict.clone(), 200, JSON, "{}"), Err(Failure::Noise));
    assert_eq!(after(strict, 200, JSON, ""), Ok(Evidence::NoAnswer { status: 200 }));
}

#[test]
fn an_answer_to_another_request_is_said_to_be_ignored() {
    let mut foreign = error(-32020);
    foreign["id"] = 77.into();
    for status in [200, 400] {
        let mut wire = Wire::start(policy());
        wire.answer_json(status, &foreign);
        assert_eq!(wire.events.first(), Some(&Event::Ignored), "{status}");
        wire.answer_json(status, &foreign);
        let ignored = wire.events.iter().filter(|event| **event == Event::Ignored).count();
        assert_eq!(ignored, 2, "{status}");
    }
}

#[test]
fn an_unknown_method_is_legacy_or_modern_by_policy() {
    let modern = ClientPolicy { http_method_not_found: MethodNotFound::StayModern, ..policy() };
    for status in [400, 404] {
        let mut wire = Wire::start(modern.clone());
        for _ in 0..2 {
            wire.answer_json(status, &error(-32601));
        }
        assert_eq!(wire.methods(), ["server/discover", "server/discover"]);
        assert_eq!(wire.failure(), Some(&Failure::ModernError(-32601)));
    }
    for (status, code) in [(405, -32601), (400, -32600)] {
        let evidence = Evidence::Http { status, code: Some(code) };
        assert_eq!(after(modern.clone(), status, JSON, &error(code).to_string()), Ok(evidence));
    }
    assert_eq!(after(modern, 200, JSON, &error(-32601).to_string()), Ok(Evidence::Error(-32601)));
    let strict = ClientPolicy { invalid_params: InvalidParams::Modern, ..policy() };
    let mut wire = Wire::start(strict);
    wire.answer_json(400, &error(-32602));
    assert_eq!(wire.methods(), ["server/discover", "server/discover"]);
}

#[test]
fn the_step_to_http_sse_is_thought_of_when_the_policy_says() {
    let of = |http_step_down| ClientPolicy { http_step_down, ..policy() };
    for status in [400, 404, 405, 406] {
        let sse = status != 406;
        let plain = Failure::HttpStatus { status, what: "initialize" };
        for (choice, then) in [
            (HttpStepDown::InitializeFirst, if sse { Failure::NeedsHttpSse } else { plain.clone() }),
            (HttpStepDown::Never, plain.clone()),
        ] {
            let mut wire = Wire::start(of(choice));
            wire.answer(status, &[], "");
            wire.answer(status, &[], "");
            assert_eq!(wire.failure(), Some(&then), "{status} {choice:?}");
            assert_eq!(wire.methods(), ["server/discover", "initialize"]);
        }
        let once = after(of(HttpStepDown::GetFirst), status, "", "");
        // ERA-08: behind a 400 comes `initialize`, whatever the client thinks of HTTP+SSE.
        assert_eq!(once.is_err(), sse && status != 400, "{status}: {once:?}");
        assert!(once.is_ok() || once == Err(Failure::NeedsHttpSse));
        // A JSON-RPC error: the message was read, so this is Streamable HTTP.
        assert!(after(of(HttpStepDown::GetFirst), status, JSON, &error(-32000).to_string()).is_ok());
        let mut wire = Wire::start(policy());
        wire.answer(status, &[], "");
        wire.answer_json(status, &error(-32602));
        assert_eq!(wire.failure(), Some(&Failure::InitializeRefused(-32602)));
    }
    // To a client without that revision it is of no use.
    let mut newer = of(HttpStepDown::GetFirst);
    newer.preferences.legacy = newer.preferences.legacy.iter().take(2).cloned().collect();
    assert!(after(newer, 404, "", "").is_ok());
    let mut wire = Wire::start(of(HttpStepDown::GetFirst));
    wire.answer_json(400, &error(-32020));
    wire.answer(404, &[], "");
    assert!(matches!(wire.failure(), Some(Failure::ModernServer(_))), "{:?}", wire.failure());
    let mut modern = of(HttpStepDown::GetFirst);
    modern.mode = Mode::Modern;
    assert!(matches!(after(modern, 404, "", ""), Err(Failure::LegacyServer(_))));
}

#[test]
fn silence_is_a_failure_unless_the_policy_says_otherwise_and_the_stream_is_closed() {
    for fed in [0, 1, 2] {
        let silent = |policy| {
            let mut wire = Wire::start(policy);
            if fed > 0 {
                wire.head(Exchange(0), 200, &[("content-type", SSE)]);
            }
            if fed > 1 {
                wire.body(Exchange(0), ": still here\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n");
            }
            wire.wait();
            assert_eq!((wire.now.0, &*wire.aborted), (5_000_000, &[Exchange(0)][..]));
            wire
        };
        let wire = silent(policy());
        assert_eq!(wire.failure(), Some(&Failure::Silence("server/discover")));
        assert_eq!(wire.methods(), ["server/discover"]);
        let wire = silent(ClientPolicy { http_silence: HttpSilence::FallBack, ..policy() });
        assert_eq!(downgraded(&wire), Some(Evidence::Silence));
        assert_eq!(wire.methods(), ["server/discover", "initialize"]);
    }
}

#[test]
fn a_status_without_the_rest_of_its_body_is_known_when_the_time_is_over() {
    for (status, expected) in
        [(404, None), (503, Some(Failure::HttpStatus { status: 503, what: "server/discover" }))]
    {
        let mut wire = Wire::start(policy());
        wire.head(Exchange(0), status, &[("content-type", JSON)]);
        wire.body(Exchange(0), "{\"jsonrpc\"");
        assert_eq!((wire.methods().len(), wire.failure()), (1, None));
        wire.wait();
        assert_eq!(
            (wire.failure(), wire.methods().len()),
            (expected.as_ref(), 2 - usize::from(expected.is_some()))
        );
        assert_eq!(wire.aborted, [Exchange(0)]);
    }
}

#[test]
fn a_broken_connection_is_tried_again_once_under_a_new_id_and_never_means_legacy() {
    for (end, head, body) in [
        (HttpEnd::Refused, false, ""),
        (HttpEnd::Reset, false, ""),
        (HttpEnd::Truncated, true, ""),
        (HttpEnd::Reset, true, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601"),
        (HttpEnd::Complete, false, ""),
    ] {
        for status in [200, 400, 503] {
            let broken = |policy, times| {
                let mut wire = Wire::start(policy);
                for _ in 0..times {
                    let exchange = wire.last().exchange;
                    if head {
                        wire.head(exchange, status, &[("content-type", JSON)]);
                        wire.body(exchange, body);
                    }
                    wire.end(exchange, end);
                }
                assert_eq!(wire.aborted, []);
                wire
            };
            let mut wire = broken(policy(), 1);
            assert_eq!((wire.last().exchange, &wire.last().message()["id"]), (Exchange(1), &json!(2)));
            assert_eq!(wire.machine.state(), State::ProbingAgain);
            wire.answer_json(200, &discovered());
            assert!(wire.machine.is_settled());
            let lost = Failure::ConnectionLost { end, what: "server/discover" };
            let wire = broken(policy(), 2);
            assert_eq!((wire.failure(), wire.methods().len()), (Some(&lost), 2));
            let fails = ClientPolicy { http_broken_connection: BrokenConnection::Fail, ..policy() };
            let wire = broken(fails, 1);
            assert_eq!((wire.failure(), wire.methods().len()), (Some(&lost), 1));
            let strict = ClientPolicy { noise: Noise::Fail, ..policy() };
            assert_eq!(broken(strict, 2).failure(), Some(&lost), "half a message is no noise");
            let legacy = ClientPolicy { http_broken_connection: BrokenConnection::FallBack, ..policy() };
            assert_eq!(downgraded(&broken(legacy, 1)), Some(Evidence::Connection(end)));
        }
    }
}

#[test]
fn an_answer_that_came_whole_counts_however_the_connection_ended() {
    for (status, media, body, count) in [
        (200, JSON, discovered().to_string(), 1),
        (400, JSON, error(-32601).to_string(), 2),
        (200, SSE, format!("data: {}\n\n", discovered()), 1),
    ] {
        let mut wire = Wire::start(policy());
        wire.head(Exchange(0), status, &[("content-type", media)]);
        wire.body(Exchange(0), &body.replace("\"$id\"", "1"));
        wire.end(Exchange(0), HttpEnd::Reset);
        assert_eq!((wire.failure(), wire.requests.len()), (None, count), "{body}");
        assert!(wire.machine.is_settled() || downgraded(&wire).is_some());
    }
}

#[test]
fn an_answer_that_is_too_long_is_evidence_of_nothing() {
    let long = " ".repeat((4 << 20) + 1);
    let mut wire = Wire::start(policy());
    wire.head(Exchange(0), 200, &[("content-type", JSON)]);
    wire.body(Exchange(0), &long[1..]);
    assert_eq!(wire.failure(), None);
    wire.body(Exchange(0), " ");
    assert!(matches!(wire.failure(), Some(Failure::UnusableDiscovery(_))), "{:?}", wire.failure());
    assert_eq!(wire.aborted, [Exchange(0)]);
    let mut wire = Wire::start(policy());
    wire.head(Exchange(0), 404, &[("content-type", "text/html")]);
    wire.body(Exchange(0), &long);
    assert_eq!(
        (wire.methods(), &*wire.aborted),
        (vec!["server/discover".into(), "initialize".into()], &[Exchange(0)][..])
    );
    wire.head(Exchange(1), 200, &[("content-type", JSON)]);
    wire.body(Exchange(1), &long);
    assert!(matches!(wire.failure(), Some(Failure::UnusableInitialize(_))), "{:?}", wire.failure());
}

#[test]
fn an_interim_head_and_a_second_one_change_nothing() {
    let mut wire = Wire::start(policy());
    wire.head(Exchange(0), 103, &[]);
    wire.head(Exchange(0), 200, &[("content-type", JSON)]);
    wire.head(Exchange(0), 500, &[]);
    wire.body(Exchange(0), &error(-32603).to_string().replace("\"$id\"", "1"));
    wire.end(Exchange(0), HttpEnd::Complete);
    assert_eq!(downgraded(&wire), Some(Evidence::Error(-32603)));
}

#[test]
fn a_cached_era_that_a_modern_server_refuses_by_status_is_probed_after_all() {
    for body in ["", &error(-32020).to_string()] {
        let mut wire = Wire::start(ClientPolicy { cached_era: Some(Era::Legacy), ..policy() });
        wire.answer(400, &[("content-type", JSON)], body);
        assert_eq!(wire.methods(), ["initialize", "server/discover"]);
        assert_eq!(wire.last().header("mcp-protocol-version"), Some("2026-07-28"));
    }
    for status in [200, 400, 403, 500] {
        let mut wire = Wire::start(policy());
        wire.answer(400, &[], "");
        wire.answer_json(status, &unsupported(&["2026-07-28"]));
        assert_eq!(wire.methods(), ["server/discover", "initialize", "server/discover"], "{status}");
        wire.answer_json(200, &discovered());
        assert!(wire.machine.is_settled());
    }
}

#[test]
fn an_answer_to_initialize_that_is_none_is_a_failure_with_its_reason() {
    let to_initialize = |status: u16, media: &str, body: &str| {
        let mut wire = Wire::start(policy());
        wire.answer(404, &[], "");
        wire.answer(status, &[("content-type", media)], body);
        wire.failure().cloned()
    };
    let unusable = Some(Failure::UnusableInitialize("there is no JSON-RPC response in it"));
    assert_eq!(to_initialize(202, "", ""), unusable);
    assert_eq!(to_initialize(200, SSE, ""), unusable);
    assert_eq!(to_initialize(200, "text/html", &initialized("2025-11-25").to_string()), unusable);
    let refused = |status| Some(Failure::HttpStatus { status, what: "initialize" });
    for status in [301, 401, 403, 429, 500] {
        assert_eq!(to_initialize(status, "", ""), refused(status));
        assert_eq!(to_initialize(status, JSON, &error(-32603).to_string()), refused(status));
    }
    let mut uncorrelated = error(-32602);
    uncorrelated["id"] = Value::Null;
    assert_eq!(to_initialize(400, JSON, &uncorrelated.to_string()), Some(Failure::InitializeRefused(-32602)));
    assert_eq!(to_initialize(200, JSON, &uncorrelated.to_string()), Some(Failure::InitializeRefused(-32602)));
    assert_eq!(
        to_initialize(200, "text/plain", &uncorrelated.to_string()),
        Some(Failure::InitializeRefused(-32602))
    );
    uncorrelated["id"] = 77.into();
    assert_eq!(to_initialize(400, JSON, &uncorrelated.to_string()), Some(Failure::NeedsHttpSse));
}
