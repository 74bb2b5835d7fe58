//! `probe`: one polite negotiation with a real server, and what it says of the server.

mod http;

use std::sync::Arc;
use std::time::Duration;

use mcp_parley_hosts::{Endpoint, ProbeEnd, ProbeReport, ProbeRun, UrlProbe, asked_to_end, probe, probe_url};
use mcp_parley_negotiation::classify::{ReplyKind, classify_reply};
use mcp_parley_negotiation::client::{ClientPolicy, DownKind, Failure as Why, Mode};
use mcp_parley_negotiation::issue::IssueSink;
use mcp_parley_negotiation::json::{Raw, check, pointer_at};
use mcp_parley_negotiation::limits::Limits;
use mcp_parley_negotiation::version::{Era, ProtocolVersion};
use mcp_parley_oracle::{Judge, severity};
use mcp_parley_trace::{
    Channel, Declared, Footer, Header, Kind, Node, Origin, Outcome, Recording, SCHEMA, Subject, Transport,
    escape, lines,
};
use serde_json::{Value, json};

use crate::cli::{Format, ProbeArgs};
use crate::exit::{Ended, Exit, Failure};
use crate::say::say;
use crate::{findings, serve};

/// The end of a server's standard error that is shown, in bytes.
const STDERR_BYTES: usize = 2000;
/// No more versions, capabilities or issues are told: a server may list millions.
const MOST_TOLD: usize = 100;
/// Of lines that cannot be read, no more issues than this are told.
const MOST_UNREADABLE: usize = 8;
/// What a server says of itself is told if it is no longer than this.
const INFO_BYTES: usize = 16 << 10;

pub(crate) fn run(args: &ProbeArgs) -> Ended {
    let policy = Arc::new(ClientPolicy {
        mode: chosen_mode(args)?,
        probe_timeout_us: args.probe_timeout_ms.saturating_mul(1000),
        ..ClientPolicy::default()
    });
    let timeout = Duration::from_millis(args.timeout_ms);
    let cancel = async {
        asked_to_end().await;
    };
    let report = match &args.url {
        Some(url) => {
            let endpoint = Endpoint::parse(url).map_err(|why| Failure::usage(format!("{url}: {why}")))?;
            let run = UrlProbe { policy: Arc::clone(&policy), timeout, ..UrlProbe::new(endpoint) };
            serve::runtime()?.block_on(probe_url(&run, cancel))
        }
        None => {
            let new = ProbeRun::new(args.command.clone());
            let run = ProbeRun { policy: Arc::clone(&policy), timeout, ..new };
            serve::runtime()?.block_on(probe(&run, cancel))
        }
    };
    let report = report.map_err(Failure::internal)?;
    if let Some(why) = &report.spawn_error {
        let command = shell_words::join(&args.command);
        return Err(Failure::usage(format!(
            "{command}: cannot be started: {why}; check the command behind --"
        )));
    }
    if let Some((url, why)) = args.url.as_deref().zip(http::unreachable(&report)) {
        return Err(Failure::usage(format!("{url}: {why}")));
    }
    let said = describe(args, &report, &policy)?;
    match args.format {
        Format::Json => {
            let text = serde_json::to_string_pretty(&said).map_err(Failure::internal)?;
            say!("{text}");
        }
        Format::Text => print(&said),
    }
    let broken =
        said["violations"].as_array().is_some_and(|rows| rows.iter().any(|row| row["severity"] == "error"));
    Ok(match (broken, &said["why"]) {
        (true, _) => Exit::Findings,
        (false, Value::Null) => Exit::Fine,
        (false, _) => Exit::Incomplete,
    })
}

/// A client that the conformance suite starts is to take the era from its variable.
fn chosen_mode(args: &ProbeArgs) -> Result<Mode, Failure> {
    let asked = || std::env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").ok();
    match (&args.mode, asked()) {
        (Some(text), _) => mode(text),
        (None, None) => Ok(Mode::Auto),
        (None, Some(version)) => Ok(match ProtocolVersion::new(&version).era() {
            Some(Era::Legacy) => Mode::Legacy,
            Some(Era::Modern) => Mode::Modern,
            None => Mode::Pin(ProtocolVersion::new(&version)),
        }),
    }
}

/// `auto`, `legacy`, `modern` or `pin:VERSION`.
pub(crate) fn mode(text: &str) -> Result<Mode, Failure> {
    match (text, text.split_once(':')) {
        ("auto", _) => Ok(Mode::Auto),
        ("legacy", _) => Ok(Mode::Legacy),
        ("modern", _) => Ok(Mode::Modern),
        (_, Some(("pin", version))) => Ok(Mode::Pin(ProtocolVersion::new(version))),
        _ => Err(Failure::usage(format!("--mode {text}: say auto, legacy, modern or pin:VERSION"))),
    }
}

fn describe(args: &ProbeArgs, report: &ProbeReport, policy: &ClientPolicy) -> Result<Value, Failure> {
    let era = report.settled.as_ref().map(|(era, _)| if *era == Era::Modern { "modern" } else { "legacy" });
    let header = header(args, policy);
    let mut judge = Judge::new();
    let verdicts = judge.judge(&report.recording, &header.declared, Subject::Server, header.transport);
    let violations: Vec<Value> = verdicts
        .iter()
        .filter(|(_, verdict)| matches!(verdict.outcome, Outcome::Violation | Outcome::Defect))
        .map(|(id, verdict)| {
            json!({
                "id": id, "severity": format!("{:?}", severity(id)).to_lowercase(),
                "reason": verdict.reason, "evidence": verdict.evidence.to_vec(),
            })
        })
        .collect();
    let footer = Footer { rulings: verdicts.rulings(), ..Footer::default() };
    if let Some(path) = &args.trace {
        findings::write_file(path, &header, &report.recording, &footer)
            .map_err(|why| Failure::usage(format!("--trace {}: cannot be written: {why}", path.display())))?;
    }
    let answers = answers(report, policy);
    Ok(json!({
        "schema": "mcp-parley/probe/1",
        "era": era,
        "version": report.settled.as_ref().map(|(_, version)| version.as_str()),
        "why": why(report),
        "versions": answers.versions,
        "capabilities": answers.capabilities,
        "server": answers.server,
        "called": report.called,
        "issues": answers.issues,
        "violations": violations,
        "answers": timing(&report.recording),
        "took_ms": report.took_us / 1000,
        "stderr": tail(&report.stderr),
    }))
}

fn header(args: &ProbeArgs, policy: &ClientPolicy) -> Header {
    let command = args.url.as_ref().map_or_else(|| args.command.clone(), |url| vec![url.clone()]);
    let names = |list: &[ProtocolVersion]| Some(list.iter().map(|v| v.as_str().to_owned()).collect());
    Header {
        schema: SCHEMA.into(),
        tool: concat!("mcp-parley ", env!("CARGO_PKG_VERSION")).into(),
        revision: "2026-07-28".into(),
        subject: Subject::Server,
        transport: if args.url.is_some() { Transport::Http } else { Transport::Stdio },
        origin: Origin::Real { command, peer: None },
        declared: Declared {
            mode: mcp_parley_trace::Mode::Unknown,
            modern: names(&policy.preferences.modern),
            legacy: names(&policy.preferences.legacy),
            longest_wait_us: Some(policy.probe_timeout_us.max(policy.request_timeout_us)),
            reports: true,
        },
        client: serde_json::to_value(policy).unwrap_or_default(),
        server: Value::Null,
    }
}

/// Why no era can be told, or why the probe was cut off after it could.
fn why(report: &ProbeReport) -> Option<String> {
    if report.settled.is_some() && matches!(report.end, ProbeEnd::Settled | ProbeEnd::Failed(_)) {
        return None;
    }
    Some(match &report.end {
        ProbeEnd::Failed(Why::ServerGone(DownKind::Eof | DownKind::Exited)) => {
            let how = report.recording.events().iter().rev().find_map(|event| match event.kind {
                Kind::Exit(code) => Some(format!("exits with code {code}")),
                Kind::Signal(signal) => Some(format!("is ended by signal {signal}")),
                _ => None,
            });
            format!("the server {} before it answers anything", how.as_deref().unwrap_or("goes away"))
        }
        ProbeEnd::Failed(failure) => http::why(failure, report),
        ProbeEnd::Settled => "the server was closed before it was settled".into(),
        ProbeEnd::Flood(bound) => {
            format!("the server writes too much: {bound}; what is no message belongs on standard error")
        }
        ProbeEnd::OutOfTime => "the time for everything was over; see --timeout-ms".into(),
        ProbeEnd::Cancelled => "it was stopped".into(),
    })
}

/// The end of what was printed on standard error.
fn tail(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.get(bytes.len().saturating_sub(STDERR_BYTES)..).unwrap_or_default())
        .trim()
        .into()
}

/// How long each request waited for its answer, in order.
fn timing(recording: &Recording) -> Vec<Value> {
    let mut open: Vec<(Channel, String, String, u64)> = Vec::new();
    let mut answers = Vec::new();
    for line in lines(recording) {
        let bytes = line.bytes(recording);
        let Some(message) = check(&bytes, &Limits::DEFAULT, &mut IssueSink::new()) else { continue };
        let Some(id) = message.get("id").map(|id| id.text().to_owned()) else { continue };
        let Some(at) = line.chunks.last().and_then(|seq| recording.get(*seq)).map(|event| event.t_us) else {
            continue;
        };
        let method = message.get("method").and_then(|method| Some(method.as_str()?.decode().into_owned()));
        match (line.from, method) {
            (Node::Client, Some(method)) => open.push((line.channel, id, method, at)),
            (Node::Server, None) => {
                let Some(place) = open.iter().position(|(on, asked, ..)| *on == line.channel && *asked == id)
                else {
                    continue;
                };
                let (_, _, method, since) = open.remove(place);
                answers.push(json!({ "to": method, "ms": at.saturating_sub(since) / 1000 }));
            }
            _ => {}
        }
    }
    answers
}

/// What the server's answers say, the last ones counting.
#[derive(Default)]
struct Answers {
    versions: Vec<String>,
    capabilities: Vec<String>,
    server: Option<Value>,
    issues: Vec<Value>,
}

impl Answers {
    fn issues(&mut self, issues: &IssueSink, line: usize, bytes: &[u8]) {
        let room = MOST_TOLD.saturating_sub(self.issues.len());
        self.issues.extend(issues.issues().iter().take(room).map(|issue| {
            let at = pointer_at(bytes, issue.offset as usize);
            json!({ "issue": format!("{:?}", issue.id), "at": at, "byte": issue.offset, "line": line })
        }));
    }
}

fn answers(report: &ProbeReport, policy: &ClientPolicy) -> Answers {
    let mut answers = Answers::default();
    let from_server = lines(&report.recording).into_iter().filter(|line| line.from == Node::Server);
    for (number, line) in (1..).zip(from_server) {
        let bytes = line.bytes(&report.recording);
        let limits = Limits::DEFAULT;
        let mut issues = IssueSink::new();
        let Some(message) = check(&bytes, &limits, &mut issues) else {
            if !bytes.trim_ascii().is_empty() && answers.issues.len() < MOST_UNREADABLE {
                answers.issues(&issues, number, &bytes);
            }
            continue;
        };
        let place = |path: &[&str]| path.iter().try_fold(message, |value: Raw<'_>, step| value.get(step));
        for path in [
            ["result", "supportedVersions"].as_slice(),
            &["error", "data", "supported"],
            &["result", "protocolVersion"],
        ] {
            let Some(value) = place(path) else { continue };
            let listed: Vec<String> = match value.as_str() {
                Some(one) => vec![one.decode().into_owned()],
                None => {
                    value.elements().filter_map(|item| Some(item.as_str()?.decode().into_owned())).collect()
                }
            };
            for name in listed {
                if answers.versions.len() < MOST_TOLD && !answers.versions.contains(&name) {
                    answers.versions.push(name);
                }
            }
        }
        if let Some(capabilities) = place(&["result", "capabilities"]) {
            answers.capabilities =
                capabilities.members().take(MOST_TOLD).map(|(name, _)| name.decode().into_owned()).collect();
        }
        let info = place(&["result", "_meta", "io.modelcontextprotocol/serverInfo"])
            .or_else(|| place(&["result", "serverInfo"]))
            .filter(|info| info.text().len() <= INFO_BYTES);
        answers.server = info.and_then(|info| serde_json::from_str(info.text()).ok()).or(answers.server);
        let mut issues = IssueSink::new();
        let reply = classify_reply(&bytes, &policy.preferences, &limits, &mut issues);
        if matches!(
            reply.kind,
            ReplyKind::Discovered(_) | ReplyKind::UnsupportedVersion(_) | ReplyKind::Broken
        ) {
            answers.issues(&issues, number, &bytes);
        }
    }
    answers
}

fn print(said: &Value) {
    let plain = |value: &Value| match value {
        Value::String(text) => escape(text.as_bytes(), 2000),
        Value::Array(items) => {
            let words: Vec<String> = items
                .iter()
                .map(|item| {
                    item.as_str().map_or_else(|| item.to_string(), |text| escape(text.as_bytes(), 80))
                })
                .collect();
            words.join(", ")
        }
        other => escape(other.to_string().as_bytes(), 400),
    };
    let row = |name: &str, value: &Value| {
        if !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty()) {
            say!("{name:<13} {}", plain(value));
        }
    };
    if said["era"].is_null() {
        say!("{:<13} unknown: {}", "era", plain(&said["why"]));
        if said["stderr"] != "" {
            row("stderr", &said["stderr"]);
        }
    } else {
        row("cut off", &said["why"]);
    }
    for (name, title) in [
        ("era", "era"),
        ("version", "version"),
        ("versions", "it lists"),
        ("capabilities", "capabilities"),
        ("server", "server"),
    ] {
        row(title, &said[name]);
    }
    match said["called"].as_bool() {
        Some(true) => say!("{:<13} answered", "tools/list"),
        Some(false) => say!("{:<13} not answered well", "tools/list"),
        None => {}
    }
    for answer in said["answers"].as_array().into_iter().flatten() {
        say!("{:<13} {} after {} ms", "answer", plain(&answer["to"]), answer["ms"]);
    }
    for issue in said["issues"].as_array().into_iter().flatten() {
        say!(
            "{:<13} {} at {:?} (byte {} of line {})",
            "issue",
            plain(&issue["issue"]),
            plain(&issue["at"]),
            issue["byte"],
            issue["line"]
        );
    }
    for broken in said["violations"].as_array().into_iter().flatten() {
        say!(
            "{:<13} {} ({}): {}",
            "violation",
            plain(&broken["id"]),
            plain(&broken["severity"]),
            plain(&broken["reason"])
        );
    }
    say!("{:<13} {} ms", "took", said["took_ms"]);
}
