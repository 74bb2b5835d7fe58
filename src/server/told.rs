//! What a server did, in a few words that are the same in every run that goes the same way.

use std::collections::BTreeMap;

use mcp_parley_trace::{Channel, Kind, Node, Recording, lines};
use serde_json::Value;

use crate::trial::word;

/// For example: `initialize 1.0.0 → 2025-11-25; then tools/list → result`.
pub(crate) fn told(recording: &Recording) -> String {
    let mut parts = match recording.events().iter().any(|event| event.kind == Kind::WriteHead) {
        true => over_http(recording),
        false => over_pipes(recording),
    };
    parts.extend(ending(recording));
    parts.join("; ")
}

/// How it ended, where that was not our doing.
fn ending(recording: &Recording) -> Option<String> {
    recording.events().iter().find_map(|event| match event.kind {
        Kind::Exit(code) if !recording.events().iter().any(|own| own.kind == Kind::Close) => {
            Some(format!("exited with {code}"))
        }
        Kind::Signal(signal) if !matches!(signal, 9 | 15) => Some(format!("ended by signal {signal}")),
        Kind::Stuck => Some("stood still".to_owned()),
        _ => None,
    })
}

/// The first id of the good requests that the player adds.
const GOOD: i64 = 9001;

fn is_good(id: &Value) -> bool {
    id.as_i64().is_some_and(|id| id >= GOOD)
}

fn read(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_default()
}

fn over_pipes(recording: &Recording) -> Vec<String> {
    let lines = lines(recording);
    let from = |node| lines.iter().filter(move |line| line.from == node).map(|line| line.bytes(recording));
    let mut answers: Vec<Value> = from(Node::Server).map(|line| read(&line)).filter(is_answer).collect();
    let mut out = Vec::new();
    for line in from(Node::Client) {
        let message = read(&line);
        let id = message.get("id").filter(|_| message.get("method").is_some());
        let answer = id.and_then(|id| {
            let at = answers.iter().position(|answer| answer.get("id") == Some(id))?;
            Some(answers.remove(at))
        });
        let then = if id.is_some_and(is_good) { "then " } else { "" };
        out.push(match (id, answer) {
            (None, _) => word(&line),
            (Some(_), None) => format!("{then}{} → –", word(&line)),
            (Some(_), Some(answer)) => format!("{then}{} → {}", word(&line), outcome(&answer)),
        });
    }
    // Which of the inputs they answer, they do not say.
    out.extend(answers.iter().map(|answer| format!("besides {}", outcome(answer))));
    out
}

/// A batch of answers, and a single one.
fn is_answer(message: &Value) -> bool {
    message.is_array() || message.get("result").is_some() || message.get("error").is_some()
}

fn outcome(answer: &Value) -> String {
    match (answer.get("error"), answer.get("result")) {
        (Some(error), _) => error["code"].to_string(),
        (None, Some(result)) => {
            result["protocolVersion"].as_str().map_or_else(|| "result".to_owned(), str::to_owned)
        }
        (None, None) if answer.is_array() => "batch".to_owned(),
        (None, None) => "odd".to_owned(),
    }
}

/// One exchange.
#[derive(Default)]
struct Told {
    asked: String,
    good: bool,
    status: String,
    answer: Option<String>,
    lost: bool,
}

fn over_http(recording: &Recording) -> Vec<String> {
    let mut exchanges: BTreeMap<u32, Told> = BTreeMap::new();
    for event in recording.events() {
        let Channel::Exchange(number) = event.channel else { continue };
        let told = exchanges.entry(number).or_default();
        let first = || String::from_utf8_lossy(recording.bytes(event)).into_owned();
        let nth = |n| first().split_ascii_whitespace().nth(n).unwrap_or_default().to_owned();
        match event.kind {
            Kind::WriteHead => told.asked = nth(0),
            Kind::ReadHead => told.status = nth(1),
            Kind::Refused | Kind::Eof => told.lost = true,
            _ => {}
        }
    }
    for line in lines(recording) {
        let Channel::Exchange(number) = line.channel else { continue };
        let told = exchanges.entry(number).or_default();
        let bytes = line.bytes(recording);
        let message = read(&bytes);
        if line.from == Node::Client {
            told.asked = word(&bytes);
            told.good = is_good(&message["id"]);
        } else if is_answer(&message) {
            told.answer.get_or_insert_with(|| outcome(&message));
        }
    }
    exchanges.into_values().map(|told| told.text()).collect()
}

impl Told {
    fn text(self) -> String {
        let then = if self.good { "then " } else { "" };
        let lost = self.lost.then(|| "lost".to_owned());
        let words: Vec<String> =
            [self.status, self.answer.unwrap_or_default(), lost.unwrap_or_default()].into_iter().collect();
        let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let came = if words.is_empty() { "–".to_owned() } else { words.join(" ") };
        format!("{then}{} → {came}", self.asked)
    }
}
