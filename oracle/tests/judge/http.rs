//! Exchanges as text, below the header `transport: http`:
//!
//! * `C> BODY` opens an exchange: a POST with the headers that a correct client sends with this body. `C> POST | -Accept |
//!   Mcp-Method: x | +Origin: y | BODY` leaves a header out, replaces one, adds one more; `C> GET`, `C> DELETE` and other verbs
//!   likewise, with a path if it is not `/mcp`. Behind `-- legacy VERSION SESSION` (or only the version, or `-- legacy` for
//!   neither) requests without modern keys carry these two.
//! * `S> BODY` answers the newest exchange with 200 and JSON, `S> 400 | content-type: text/html | BODY` as it says (without a body
//!   if there is none), and `S2> …` answers exchange 2. `S> sse` begins an event stream, `S> data BODY` sends an event on it, `S>
//!   raw TEXT` other text (`⏎` for a newline, `␍` for a carriage return), `S> end` ends it. `S> head 400 | …` sends a head and nothing more.
//! * `-- reset`, `-- server closes`, `-- refused` and `-- close` (by the client) end the newest exchange, or the one they name.

use mcp_parley_trace::{Channel, Kind, Node};
use serde_json::Value;

use crate::support::{Tape, expand};

/// One line about an exchange.
pub(crate) struct Line<'a> {
    from: Node,
    exchange: Option<u32>,
    words: &'a str,
}

impl<'a> Line<'a> {
    pub(crate) fn parse(line: &'a str) -> Option<Self> {
        if let Some(words) = line.strip_prefix("C>") {
            return Some(Self { from: Node::Client, exchange: None, words: words.trim_start() });
        }
        if let Some(rest) = line.strip_prefix('S') {
            let (number, words) = rest.split_once('>')?;
            return Some(Self {
                from: Node::Server,
                exchange: number.parse().ok(),
                words: words.trim_start(),
            });
        }
        let words = line.trim_start_matches("--").trim();
        let (what, number) = match words.rsplit_once(' ') {
            Some((what, number)) if number.parse::<u32>().is_ok() => (what, number.parse().ok()),
            _ => (words, None),
        };
        let known = matches!(what, "reset" | "server closes" | "refused" | "close");
        let words = if words.starts_with("legacy") { words } else { what };
        (known || words.starts_with("legacy")).then_some(Self {
            from: Node::Harness,
            exchange: number,
            words,
        })
    }
}

/// What is open between the two.
#[derive(Default)]
pub(crate) struct Wire {
    opened: u32,
    legacy: Vec<String>,
}

type Headers = Vec<(String, String)>;

impl Wire {
    /// The number of the event that sends the end of what the line says.
    pub(crate) fn play(&mut self, tape: &mut Tape, line: &Line<'_>) -> Option<u32> {
        let newest = self.opened.saturating_sub(1);
        let channel = Channel::Exchange(line.exchange.unwrap_or(newest));
        match line.from {
            Node::Client => self.ask(tape, line.words),
            Node::Server => answer(tape, channel, line.words),
            _ => {
                let both = match line.words {
                    "reset" => [(Node::Server, Kind::Reset), (Node::Client, Kind::Eof)],
                    "server closes" => [(Node::Server, Kind::Close), (Node::Client, Kind::Eof)],
                    "close" => [(Node::Client, Kind::Close), (Node::Server, Kind::Eof)],
                    "refused" => {
                        tape.push(Node::Client, channel, Kind::Refused, b"refused");
                        return None;
                    }
                    legacy => {
                        self.legacy = legacy.split_whitespace().skip(1).map(str::to_owned).collect();
                        return None;
                    }
                };
                both.iter().for_each(|(node, kind)| tape.push(*node, channel, *kind, b""));
                None
            }
        }
    }

    fn ask(&mut self, tape: &mut Tape, words: &str) -> Option<u32> {
        let channel = Channel::Exchange(self.opened);
        self.opened += 1;
        let mut parts = words.split(" | ");
        let first = parts.next().unwrap_or_default();
        let is_verb = first
            .split(' ')
            .next()
            .is_some_and(|verb| !verb.is_empty() && verb.chars().all(|c| c.is_ascii_uppercase()));
        let (line, changes, body) = if is_verb {
            let rest: Vec<&str> = parts.collect();
            let has_body = rest.last().is_some_and(|last| !is_header(last));
            let (changes, body) = rest.split_at(rest.len() - usize::from(has_body));
            (first, changes.to_vec(), body.first().copied().unwrap_or_default())
        } else {
            ("POST", Vec::new(), words)
        };
        let body = expand(body);
        let (verb, path) = line.split_once(' ').unwrap_or((line, "/mcp"));
        let mut headers = self.headers(verb, &body);
        change(&mut headers, &changes);
        send(
            tape,
            (Node::Client, Node::Server),
            channel,
            &head(&format!("{verb} {path} HTTP/1.1"), &headers),
            Some(body.as_bytes()),
        )
    }

    fn headers(&self, verb: &str, body: &str) -> Headers {
        let accept = match verb {
            "POST" => "application/json, text/event-stream",
            "GET" => "text/event-stream",
            _ => "*/*",
        };
        let mut headers = vec![("host".to_owned(), "localhost".to_owned()), ("Accept".into(), accept.into())];
        let message: Value = serde_json::from_str(body).unwrap_or_default();
        let params = &message["params"];
        let version = params["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str();
        let mut add = |name: &str, value: Option<&str>| {
            headers.extend(value.map(|value| (name.to_owned(), value.to_owned())));
        };
        add("Content-Type", (verb == "POST").then_some("application/json"));
        add("MCP-Protocol-Version", version);
        if version.is_some() {
            add("Mcp-Method", message["method"].as_str());
            let named =
                matches!(message["method"].as_str(), Some("tools/call" | "prompts/get" | "resources/read"));
            add("Mcp-Name", params["name"].as_str().or(params["uri"].as_str()).filter(|_| named));
        } else {
            add("MCP-Protocol-Version", self.legacy.first().map(String::as_str));
            add("Mcp-Session-Id", self.legacy.get(1).map(String::as_str));
        }
        headers
    }
}

fn is_header(part: &str) -> bool {
    let name = part.trim_start_matches(['-', '+']).split(':').next().unwrap_or_default();
    let is_one = part.starts_with('-') || part.contains(": ");
    is_one && !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

fn change(headers: &mut Headers, changes: &[&str]) {
    for change in changes {
        if let Some(name) = change.strip_prefix('-') {
            headers.retain(|(own, _)| !own.eq_ignore_ascii_case(name));
            continue;
        }
        let (name, value) = change.split_once(':').expect("a header");
        let (name, more) = name.strip_prefix('+').map_or((name, false), |name| (name, true));
        if !more {
            headers.retain(|(own, _)| !own.eq_ignore_ascii_case(name));
        }
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
}

fn head(first: &str, headers: &Headers) -> String {
    let lines: Vec<String> = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("{first}\r\n{}\r\n", lines.concat())
}

fn answer(tape: &mut Tape, channel: Channel, words: &str) -> Option<u32> {
    let ends = (Node::Server, Node::Client);
    let (word, rest) = words.split_once(' ').unwrap_or((words, ""));
    let sse = |text: String| text.into_bytes();
    match word {
        "sse" => {
            let opened = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
            let mut headers = opened;
            change(&mut headers, &rest.split(" | ").filter(|part| is_header(part)).collect::<Vec<_>>());
            step(
                tape,
                ends,
                channel,
                &[(Kind::WriteHead, Kind::ReadHead, head("HTTP/1.1 200 OK", &headers).into_bytes())],
            )
        }
        "data" => {
            let event = sse(format!("event: message\ndata: {}\n\n", expand(rest)));
            step(tape, ends, channel, &[(Kind::Write, Kind::Read, event)])
        }
        "raw" => step(
            tape,
            ends,
            channel,
            &[(Kind::Write, Kind::Read, sse(expand(rest).replace('⏎', "\n").replace('␍', "\r")))],
        ),
        "end" => step(tape, ends, channel, &[(Kind::WriteEnd, Kind::ReadEnd, Vec::new())]),
        _ => {
            let (only_head, words) = words.strip_prefix("head ").map_or((false, words), |rest| (true, rest));
            let parts: Vec<&str> = words.split(" | ").collect();
            let status = parts.first().filter(|first| first.len() == 3 && first.parse::<u16>().is_ok());
            let mut headers = Headers::new();
            let body = match status {
                None => words,
                Some(_) => {
                    parts.last().filter(|last| parts.len() > 1 && !is_header(last)).copied().unwrap_or("")
                }
            };
            if !body.is_empty() {
                headers.push(("content-type".into(), "application/json".into()));
            }
            let changes: Vec<&str> = parts.iter().skip(1).filter(|part| is_header(part)).copied().collect();
            change(&mut headers, &changes);
            let first = format!("HTTP/1.1 {} Whatever", status.unwrap_or(&"200"));
            let body = expand(body);
            send(tape, ends, channel, &head(&first, &headers), (!only_head).then_some(body.as_bytes()))
        }
    }
}

fn send(
    tape: &mut Tape,
    ends: (Node, Node),
    channel: Channel,
    head: &str,
    body: Option<&[u8]>,
) -> Option<u32> {
    let mut steps = vec![(Kind::WriteHead, Kind::ReadHead, head.as_bytes().to_vec())];
    if let Some(body) = body {
        if !body.is_empty() {
            steps.push((Kind::Write, Kind::Read, body.to_vec()));
        }
        steps.push((Kind::WriteEnd, Kind::ReadEnd, Vec::new()));
    }
    step(tape, ends, channel, &steps)
}

/// Both ends of it, the sender's first; gives the last event of the first end that was recorded.
fn step(
    tape: &mut Tape,
    (from, to): (Node, Node),
    channel: Channel,
    steps: &[(Kind, Kind, Vec<u8>)],
) -> Option<u32> {
    steps.iter().for_each(|(kind, _, bytes)| tape.push(from, channel, *kind, bytes));
    let sent = tape.recording.events().len() as u32;
    steps.iter().for_each(|(_, kind, bytes)| tape.push(to, channel, *kind, bytes));
    let received = tape.recording.events().len() as u32;
    tape.t_us += 1_000;
    if tape.hidden == Some(from) { received.checked_sub(1) } else { sent.checked_sub(1) }
}
