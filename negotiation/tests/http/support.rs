//! A machine and everything that it asked for.

use std::sync::Arc;

use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::client::{ClientPolicy, Event, Failure, Input, Misuse, Negotiator, Output};
use mcp_parley_negotiation::http::{Exchange, HttpEnd, HttpHead};
use mcp_parley_negotiation::version::Era;
use serde_json::{Value, json};

/// A request that the machine made.
pub(crate) struct Request {
    pub(crate) exchange: Exchange,
    pub(crate) verb: &'static str,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| *own == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn message(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }

    pub(crate) fn method(&self) -> String {
        self.message()["method"].as_str().unwrap_or(self.verb).to_owned()
    }
}

/// A machine over HTTP, driven by hand.
pub(crate) struct Wire {
    pub(crate) machine: Negotiator,
    pub(crate) now: Time,
    pub(crate) requests: Vec<Request>,
    pub(crate) aborted: Vec<Exchange>,
    pub(crate) events: Vec<Event>,
    pub(crate) wake: Option<Time>,
}

pub(crate) const JSON: &str = "application/json";
pub(crate) const SSE: &str = "text/event-stream";

impl Wire {
    /// Started, the first request made.
    pub(crate) fn start(policy: ClientPolicy) -> Self {
        Self::of(Negotiator::over_http(Arc::new(policy)))
    }

    pub(crate) fn of(machine: Negotiator) -> Self {
        let (requests, aborted, events) = Default::default();
        let mut wire = Self { machine, now: Time::ZERO, requests, aborted, events, wake: None };
        wire.input(Input::Start);
        wire
    }

    pub(crate) fn try_input(&mut self, input: Input<'_>) -> Result<(), Misuse> {
        self.machine.handle_input(self.now, input)?;
        let mut buffer = Vec::new();
        while let Some(output) = self.machine.poll_output(&mut buffer) {
            match output {
                Output::Http(exchange, request, body) => self.requests.push(Request {
                    exchange,
                    verb: request.verb,
                    headers: request.headers,
                    body: String::from_utf8_lossy(&buffer[body]).into_owned(),
                }),
                Output::Abort(exchange) => self.aborted.push(exchange),
                Output::Event(event) => self.events.push(event),
                Output::WakeAt(wake) => self.wake = wake,
                Output::Write(..) | Output::Spawn(..) | Output::Close(_) => {
                    panic!("{output:?} is none of HTTP")
                }
            }
        }
        Ok(())
    }

    pub(crate) fn input(&mut self, input: Input<'_>) {
        if let Err(misuse) = self.try_input(input) {
            panic!("{input:?}: {misuse}");
        }
    }

    /// The request made last.
    pub(crate) fn last(&self) -> &Request {
        self.requests.last().unwrap_or_else(|| panic!("no request was made"))
    }

    /// The methods (or verbs) of all requests.
    pub(crate) fn methods(&self) -> Vec<String> {
        self.requests.iter().map(Request::method).collect()
    }

    pub(crate) fn failure(&self) -> Option<&Failure> {
        self.events.iter().find_map(|event| match event {
            Event::Failed(failure) => Some(failure),
            _ => None,
        })
    }

    /// The era and version settled on last.
    pub(crate) fn settled(&self) -> Option<(Era, &str)> {
        self.events.iter().rev().find_map(|event| match event {
            Event::Settled(era, version) => Some((*era, version.as_str())),
            _ => None,
        })
    }

    pub(crate) fn head(&mut self, exchange: Exchange, status: u16, headers: &[(&str, &str)]) {
        let headers: Vec<_> =
            headers.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
        self.input(Input::HttpHead(exchange, HttpHead { status, headers: &headers }));
    }

    pub(crate) fn body(&mut self, exchange: Exchange, body: &str) {
        self.input(Input::HttpBody(exchange, body.as_bytes()));
    }

    pub(crate) fn end(&mut self, exchange: Exchange, end: HttpEnd) {
        self.input(Input::HttpEnd(exchange, end));
    }

    /// Answers the request made last, whole. `$id` in the body is its id.
    pub(crate) fn answer(&mut self, status: u16, headers: &[(&str, &str)], body: &str) {
        let (exchange, id) = (self.last().exchange, self.last().message()["id"].to_string());
        self.head(exchange, status, headers);
        if !body.is_empty() {
            self.body(exchange, &body.replace("\"$id\"", &id));
        }
        self.end(exchange, HttpEnd::Complete);
    }

    pub(crate) fn answer_json(&mut self, status: u16, body: &Value) {
        self.answer(status, &[("Content-Type", JSON)], &body.to_string());
    }

    /// Lets the time come that was asked for.
    pub(crate) fn wait(&mut self) {
        let wake = self.wake.unwrap_or_else(|| panic!("there is nothing to wait for"));
        assert!(wake >= self.now, "{wake:?} is over");
        self.now = wake;
        self.input(Input::Timeout);
    }

    pub(crate) fn call(&mut self, method: &str, params: &str) {
        self.input(Input::Call(method, params.as_bytes()));
    }
}

pub(crate) fn discovered() -> Value {
    json!({"jsonrpc": "2.0", "id": "$id", "result": {"resultType": "complete", "supportedVersions": ["2026-07-28"],
        "capabilities": {}, "ttlMs": 0, "cacheScope": "private"}})
}

pub(crate) fn initialized(version: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": "$id", "result": {"protocolVersion": version, "capabilities": {},
        "serverInfo": {"name": "mock-server", "version": "0.0.1"}}})
}

pub(crate) fn error(code: i64) -> Value {
    json!({"jsonrpc": "2.0", "id": "$id", "error": {"code": code, "message": "no"}})
}

pub(crate) fn unsupported(versions: &[&str]) -> Value {
    json!({"jsonrpc": "2.0", "id": "$id", "error": {"code": -32022, "message": "no",
        "data": {"supported": versions, "requested": "2026-07-28"}}})
}

pub(crate) fn result() -> Value {
    json!({"jsonrpc": "2.0", "id": "$id", "result": {"resultType": "complete"}})
}

/// Settled on the modern era.
pub(crate) fn modern(policy: ClientPolicy) -> Wire {
    let mut wire = Wire::start(policy);
    wire.answer_json(200, &discovered());
    assert_eq!(wire.settled(), Some((Era::Modern, "2026-07-28")));
    wire
}

/// Settled on the legacy era at this version, with this session.
pub(crate) fn legacy(policy: ClientPolicy, version: &str, session: Option<&str>) -> Wire {
    let mut wire = Wire::start(policy);
    wire.answer(404, &[], "");
    let mut headers = vec![("content-type", JSON)];
    headers.extend(session.map(|id| ("Mcp-Session-Id", id)));
    wire.answer(200, &headers, &initialized(version).to_string());
    wire.answer(202, &[], "");
    assert_eq!(wire.settled(), Some((Era::Legacy, version)));
    wire
}
