//! A gate that is asked and answers in parsed JSON.

use std::sync::Arc;

use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::gate::{Gate, GateEvent, GateInput, GateOutput, GatePolicy, Prepared};
use mcp_parley_negotiation::version::{Era, ProtocolVersion};
use serde_json::{Value, json};

pub(crate) struct Asked {
    pub(crate) gate: Gate,
    pub(crate) events: Vec<GateEvent>,
}

pub(crate) fn versions(names: &[&str]) -> Vec<ProtocolVersion> {
    names.iter().map(|name| ProtocolVersion::new(name)).collect()
}

pub(crate) fn modern_only() -> GatePolicy {
    GatePolicy::default()
}

pub(crate) fn legacy_only() -> GatePolicy {
    GatePolicy { modern: Vec::new(), ..dual() }
}

pub(crate) fn dual() -> GatePolicy {
    GatePolicy { legacy: versions(&["2025-11-25", "2025-03-26"]), ..GatePolicy::default() }
}

pub(crate) fn ask(policy: GatePolicy) -> Asked {
    Asked { gate: Gate::new(Arc::new(Prepared::new(policy))), events: Vec::new() }
}

/// All lines that the gate has to write, without their newlines; events go to the list.
pub(crate) fn drain(gate: &mut Gate, events: &mut Vec<GateEvent>) -> Vec<String> {
    let (mut buf, mut lines) = (Vec::new(), Vec::new());
    while let Some(output) = gate.poll_output(&mut buf) {
        match output {
            GateOutput::Write(range) => {
                let line = String::from_utf8(buf[range].to_vec()).unwrap();
                let line = line.strip_suffix('\n').unwrap();
                assert!(!line.contains(['\n', '\r']), "STDIO-01: {line:?}");
                lines.push(line.to_owned());
            }
            GateOutput::Event(event) => events.push(event),
            GateOutput::Exit => lines.push("exit".to_owned()),
        }
    }
    lines
}

impl Asked {
    /// The answers to one message.
    pub(crate) fn all(&mut self, message: &str) -> Vec<Value> {
        self.gate.handle_input(Time::ZERO, GateInput::Message(message.as_bytes())).unwrap();
        let lines = drain(&mut self.gate, &mut self.events);
        lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The only answer.
    pub(crate) fn one(&mut self, message: &Value) -> Value {
        let mut answers = self.all(&message.to_string());
        assert_eq!(answers.len(), 1, "{answers:?}");
        answers.remove(0)
    }

    /// The era that the only answer is of; the code of a refusal.
    pub(crate) fn era(&mut self, message: &Value) -> Result<Era, i64> {
        let answer = self.one(message);
        match answer.get("result") {
            Some(result) if result.get("resultType").is_some() => Ok(Era::Modern),
            Some(_) => Ok(Era::Legacy),
            None => Err(answer["error"]["code"].as_i64().unwrap()),
        }
    }

    /// The code of the only answer; 0 for a result.
    pub(crate) fn code(&mut self, message: &Value) -> i64 {
        let answer = self.one(message);
        assert_eq!(answer.get("error").is_some(), answer.get("result").is_none());
        answer["error"]["code"].as_i64().unwrap_or(0)
    }
}

pub(crate) fn bare(method: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method})
}

pub(crate) fn meta(version: &str) -> Value {
    json!({"io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {}})
}

pub(crate) fn modern_at(method: &str, version: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta(version)}})
}

pub(crate) fn modern(method: &str) -> Value {
    modern_at(method, "2026-07-28")
}

/// A modern request with one member of its `_meta` set, or removed by null.
pub(crate) fn modern_but(method: &str, key: &str, value: Value) -> Value {
    let mut request = modern(method);
    let meta = request["params"]["_meta"].as_object_mut().unwrap();
    let key = format!("io.modelcontextprotocol/{key}");
    if value.is_null() {
        meta.remove(&key)
    } else {
        meta.insert(key, value)
    };
    request
}

pub(crate) fn initialize(version: &str) -> Value {
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
}
