//! Whatever the policy and whatever the server does: the machine settles or fails in bounded time, and leaves nothing open.

use std::collections::BTreeSet;

use mcp_parley_negotiation::client::*;
use mcp_parley_negotiation::http::{Exchange, HttpEnd};
use mcp_parley_negotiation::version::{Era, ProtocolVersion};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{JSON, Request, SSE, Wire, discovered, error, initialized, result, unsupported};

type Setting = Box<dyn Fn(&mut ClientPolicy)>;

macro_rules! settings {
    ($list:ident: $($field:ident = $values:expr;)*) => {
        // A new field of the policy does not compile before it has a row.
        let ClientPolicy { preferences: _, probe_timeout_us: _, request_timeout_us: _, $($field: _),* } = ClientPolicy::default();
        $(for value in $values {
            $list.push(Box::new(move |policy: &mut ClientPolicy| policy.$field = value.clone()));
        })*
    };
}

/// Every value of every field of the policy.
fn settings() -> Vec<Setting> {
    let mut list: Vec<Setting> = Vec::new();
    let pin = |version| Mode::Pin(ProtocolVersion::new(version));
    settings! { list:
        mode = [Mode::Auto, Mode::Legacy, Mode::Modern, pin("2026-07-28"), pin("2025-06-18")];
        corrective_retries = [1_u8, 2, 5].into_iter().filter_map(std::num::NonZeroU8::new);
        other_success = OtherSuccess::ALL;
        odd_unsupported = OddUnsupported::ALL;
        broken_envelope = BrokenEnvelope::ALL;
        probe_exit = ProbeExit::ALL;
        bad_hint = BadHint::ALL;
        noise = Noise::ALL;
        after_modern_error = AfterModernError::ALL;
        invalid_params = InvalidParams::ALL;
        legacy_meta = LegacyMeta::ALL;
        cancel_probe = CancelProbe::ALL;
        late_discover = LateDiscover::ALL;
        uncorrelated_error = UncorrelatedError::ALL;
        missing_result_type = MissingResultType::ALL;
        initialize_refused = InitializeRefused::ALL;
        early_request = EarlyRequest::ALL;
        http_unauthorized = Unauthorized::ALL;
        http_too_many_requests = TooManyRequests::ALL;
        http_server_error = ServerError::ALL;
        http_redirect = Redirect::ALL;
        http_no_answer = NoAnswer::ALL;
        http_broken_connection = BrokenConnection::ALL;
        http_silence = HttpSilence::ALL;
        http_method_not_found = MethodNotFound::ALL;
        http_step_down = HttpStepDown::ALL;
        end_session = EndSession::ALL;
        listen = Listen::ALL;
        cached_era = [None, Some(Era::Legacy), Some(Era::Modern)];
    }
    list
}

/// What a server does with one request.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// The right answer in the legacy (false) or modern (true) era, as JSON.
    Right(bool),
    /// The same, on a stream that stays open.
    Stream(bool),
    /// A status and a body.
    Say(u16, &'static str, fn() -> Value),
    Status(u16),
    Hold,
    HoldBody(u16),
    Break(HttpEnd),
    BreakBody(HttpEnd),
}

fn broken() -> Value {
    json!({"jsonrpc": "2.0", "id": "$id"})
}

const ACTS: [Act; 43] = [
    Act::Right(false),
    Act::Right(true),
    Act::Stream(false),
    Act::Stream(true),
    Act::Say(200, JSON, broken),
    Act::Say(200, JSON, result),
    Act::Say(200, SSE, || json!("no event")),
    Act::Say(200, "text/plain", discovered),
    Act::Say(200, JSON, || json!({"jsonrpc": "2.0", "id": "foreign", "result": {}})),
    Act::Say(200, JSON, || json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})),
    Act::Say(200, JSON, || error(-32601)),
    Act::Say(400, JSON, || error(-32601)),
    Act::Say(404, JSON, || error(-32601)),
    Act::Say(400, JSON, || error(-32602)),
    Act::Say(400, JSON, || error(-32020)),
    Act::Say(400, JSON, || error(-32021)),
    Act::Say(400, JSON, || unsupported(&["2026-07-28"])),
    Act::Say(400, JSON, || unsupported(&["2031-01-01"])),
    Act::Say(400, JSON, || unsupported(&[])),
    Act::Say(400, JSON, || json!({"jsonrpc": "2.0", "error": {"code": -32022, "message": ""}})),
    Act::Say(400, JSON, || {
        json!({"jsonrpc": "2.0", "id": "$id", "error": {"code": -32602, "message": "",
        "data": {"supported": ["2025-06-18"], "requested": "2025-11-25"}}})
    }),
    Act::Status(202),
    Act::Status(204),
    Act::Status(301),
    Act::Status(400),
    Act::Status(401),
    Act::Status(404),
    Act::Status(405),
    Act::Status(410),
    Act::Status(429),
    Act::Status(503),
    Act::Hold,
    Act::HoldBody(200),
    Act::HoldBody(404),
    Act::HoldBody(500),
    Act::Break(HttpEnd::Refused),
    Act::Break(HttpEnd::Reset),
    Act::Break(HttpEnd::Complete),
    Act::BreakBody(HttpEnd::Truncated),
    Act::BreakBody(HttpEnd::Reset),
    Act::Say(200, JSON, || json!([1])),
    Act::Say(200, JSON, || initialized("1999-01-01")),
    Act::Say(
        200,
        JSON,
        || json!({"jsonrpc": "2.0", "id": "$id", "result": {"resultType": "odd", "supportedVersions": []}}),
    ),
];

/// One request is answered by one act; the acts go round.
struct Server<'a> {
    acts: &'a [Act],
    answered: usize,
    /// Requests that have ended here.
    ended: BTreeSet<Exchange>,
    /// A recognised modern error or a DiscoverResult went out, whole, when this many requests were there.
    modern_since: Option<usize>,
}

fn right(request: &Request, modern: bool) -> Option<Value> {
    match (&*request.method(), modern) {
        ("server/discover", true) => Some(discovered()),
        ("server/discover", false) => Some(error(-32601)),
        ("initialize", true) => Some(unsupported(&["2026-07-28"])),
        ("initialize", false) => {
            Some(initialized(request.message()["params"]["protocolVersion"].as_str().unwrap_or_default()))
        }
        (_, _) if request.message()["id"].is_null() => None,
        _ => Some(result()),
    }
}

/// What proves a modern server under every policy: a -32022 without a usable list does not (AMB-03).
fn is_modern(told: &Value) -> bool {
    let error = &told["error"];
    match error["code"].as_i64() {
        Some(-32022) => error["data"]["supported"].as_array().is_some_and(|list| !list.is_empty()),
        Some(code) => matches!(code, -32021 | -32020),
        None => told["result"]["supportedVersions"].is_array(),
    }
}

impl Server<'_> {
    fn serve(&mut self, wire: &mut Wire) {
        while let Some(request) = wire.requests.get(self.answered) {
            let act = self.acts[self.answered % self.acts.len()];
            let (exchange, verb, id) = (request.exchange, request.verb, request.message()["id"].to_string());
            let told = match act {
                Act::Right(modern) | Act::Stream(modern) => right(request, modern),
                Act::Say(_, _, body) => Some(body()),
                _ => None,
            };
            let text = told.as_ref().map(Value::to_string).unwrap_or_default().replace("\"$id\"", &id);
            self.answered += 1;
            if wire.aborted.contains(&exchange) {
                continue;
            }
            // Only an answer to a probe is evidence whatever else is said of it.
            if told.as_ref().is_some_and(is_modern) && request.method() == "server/discover" {
                self.modern_since.get_or_insert(self.answered);
            }
            let session = ("mcp-session-id", "s");
            let end = match act {
                Act::Right(_) if verb != "POST" || text.is_empty() => {
                    wire.head(exchange, if verb == "POST" { 202 } else { 405 }, &[]);
                    Some(HttpEnd::Complete)
                }
                Act::Right(_) => {
                    wire.head(exchange, 200, &[("content-type", JSON), session]);
                    wire.body(exchange, &text);
                    Some(HttpEnd::Complete)
                }
                Act::Stream(_) => {
                    wire.head(exchange, 200, &[("content-type", SSE), session]);
                    wire.body(exchange, "data: {\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}\n\n");
                    wire.body(exchange, &format!("data: {text}\n\n"));
                    None
                }
                Act::Say(status, media, _) => {
                    wire.head(exchange, status, &[("content-type", media)]);
                    wire.body(exchange, &text);
                    Some(HttpEnd::Complete)
                }
                Act::Status(status) => {
                    wire.head(exchange, status, &[]);
                    Some(HttpEnd::Complete)
                }
                Act::Hold => None,
                Act::HoldBody(status) => {
                    wire.head(exchange, status, &[("content-type", SSE)]);
                    None
                }
                Act::Break(end) => Some(end),
                Act::BreakBody(end) => {
                    wire.head(exchange, 200, &[("content-type", JSON)]);
                    wire.body(exchange, "{\"jsonrpc\"");
                    Some(end)
                }
            };
            if let Some(end) = end {
                if !wire.aborted.contains(&exchange) {
                    self.ended.insert(exchange);
                }
                wire.end(exchange, end);
            }
        }
    }

    /// Until this holds. Time passes only when nothing else can happen, and then a wake must have been asked for.
    fn until(&mut self, wire: &mut Wire, done: impl Fn(&Wire) -> bool) {
        for _ in 0..60 {
            self.serve(wire);
            if done(wire) {
                return;
            }
            assert!(wire.wake.is_some(), "an unbounded wait in {:?}", wire.machine.state());
            wire.wait();
        }
        panic!("no end in {:?}: {:?}", wire.machine.state(), wire.methods());
    }
}

/// A negotiation, a call if there is an era for it, and the end.
fn run(policy: ClientPolicy, acts: &[Act]) -> States {
    let mut server = Server { acts, answered: 0, ended: BTreeSet::new(), modern_since: None };
    let mut wire = Wire::start(policy);
    server.until(&mut wire, |wire| wire.machine.is_settled() || wire.machine.is_done());
    assert!(wire.now.0 <= 60_000_000 && wire.requests.len() <= 40, "{:?} {:?}", wire.now, wire.methods());
    assert_eq!(wire.machine.is_done(), wire.failure().is_some());
    if wire.machine.is_settled() {
        wire.call("tools/call", "\"name\":\"add\"");
        let called = |wire: &Wire| wire.events.iter().any(|event| matches!(event, Event::Called(_)));
        server.until(&mut wire, |wire| called(wire) || wire.machine.is_done());
        assert!(called(&wire), "the call has no end");
    }
    wire.input(Input::Shutdown);
    server.until(&mut wire, |wire| wire.machine.is_done());
    check(&wire, &server);
    wire.machine.reached()
}

fn check(wire: &Wire, server: &Server<'_>) {
    assert_eq!(wire.wake, None);
    let (mut ids, aborted) = (BTreeSet::new(), BTreeSet::from_iter(&wire.aborted));
    assert_eq!(aborted.len(), wire.aborted.len(), "given up twice");
    for (at, request) in wire.requests.iter().enumerate() {
        let (message, method) = (request.message(), request.method());
        assert_eq!(request.exchange.0 as usize, at);
        let over = server.ended.contains(&request.exchange);
        assert!(
            over != aborted.contains(&request.exchange),
            "{method} is left open, or given up after its end"
        );
        if let (Some(id), false) = (message["id"].as_i64(), message["method"].is_null()) {
            assert!(ids.insert(id), "{id} is used twice");
        }
        let after_evidence = server.modern_since.is_some_and(|since| at >= since);
        assert!(!(after_evidence && method == "initialize"), "{:?}", wire.methods());
        let version = &message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
        if let (Some(version), Some(_)) = (version.as_str(), request.header("mcp-method")) {
            assert_eq!(request.header("mcp-protocol-version"), Some(version));
            assert_eq!(request.header("mcp-method"), Some(&*method));
            assert_eq!(request.header("mcp-session-id"), None);
        }
    }
}

#[test]
fn every_value_of_every_field_settles_or_fails_with_every_server() {
    let mut reached = BTreeSet::new();
    for setting in settings() {
        for first in ACTS {
            // The rest of the pairs is drawn below: all of them take half a minute.
            for second in ACTS.into_iter().step_by(5) {
                let mut policy = ClientPolicy::default();
                setting(&mut policy);
                reached.extend(run(policy, &[first, second]).iter());
            }
        }
    }
    assert_eq!(reached, State::over_http().collect());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_policy_settles_or_fails_with_any_server(
        chosen in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        acts in prop::collection::vec(prop::sample::select(ACTS.to_vec()), 1..7),
    ) {
        let (settings, mut policy) = (settings(), ClientPolicy::default());
        for index in chosen {
            settings[index.index(settings.len())](&mut policy);
        }
        run(policy, &acts);
    }
}
