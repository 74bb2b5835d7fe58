//! One run, judged.

use mcp_parley_hosts::{Driven, RunEnd};
use mcp_parley_oracle::{Finding, Judge, Severity, severity};
use mcp_parley_trace::{Footer, Header, Kind, Origin, Recording, SCHEMA, Subject as OnTrial, Transport};
use serde_json::Value;

use super::cases::Case;
use super::peer::Subject;
use super::story::story;

/// What came of one persona.
#[derive(Clone, Debug)]
pub(crate) struct Ran {
    pub(crate) case: Case,
    pub(crate) verdict: Verdict,
    /// What the client wrote, process by process, and how it ended.
    pub(crate) story: String,
    pub(crate) header: Header,
    pub(crate) recording: Recording,
    pub(crate) footer: Footer,
    pub(crate) broken: Vec<Broken>,
    pub(crate) finding: Option<Finding>,
    /// What the client printed on standard error, where it failed: the line that names an error, or the last one.
    pub(crate) complaint: Option<String>,
}

/// One row that was broken.
#[derive(Clone, Debug)]
pub(crate) struct Broken {
    pub(crate) id: &'static str,
    pub(crate) severity: Severity,
    pub(crate) reason: String,
    /// The event that broke it.
    pub(crate) at: u32,
}

/// Whether a run counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Judged,
    Incomplete(String),
    OurFault(String),
}

/// What a standstill means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standstill {
    /// There was none, or it came again each time while a well-behaved server was left as it should be.
    Proven,
    /// It came in so many of three runs only.
    Sometimes(usize),
    /// The client stands still with a well-behaved server too: it does not end by itself.
    Always,
}

pub(crate) fn judge(
    fail_on: Severity,
    subject: &Subject,
    case: &Case,
    driven: Driven,
    standstill: Standstill,
) -> Ran {
    let verdict = verdict(&driven.end, subject, standstill);
    let failed = matches!(driven.end, RunEnd::DriverFailed(_) | RunEnd::NeverConnected);
    let complaint = failed.then(|| complaint(&driven.stderr)).flatten();
    let recording = match standstill {
        Standstill::Always => without_standstill(&driven.recording),
        Standstill::Proven | Standstill::Sometimes(_) => driven.recording,
    };
    let header = header(subject, case);
    let mut judge = Judge::new();
    let judged = verdict == Verdict::Judged;
    let verdicts = judge.judge(&recording, &header.declared, OnTrial::Client, subject.transport);
    let mut broken = Vec::new();
    for (id, verdict) in verdicts.iter().filter(|(_, verdict)| judged && verdict.is_broken()) {
        let reason = verdict.reason.clone().into_owned();
        broken.push(Broken { id, severity: severity(id), reason, at: verdict.at });
    }
    let rulings = if judged { verdicts.rulings() } else { Vec::new() };
    let finding = verdicts.finding_at(fail_on).filter(|_| judged);
    Ran {
        case: case.clone(),
        verdict,
        story: story(&recording),
        header,
        recording,
        footer: Footer { rulings, ..Footer::default() },
        broken,
        finding,
        complaint,
    }
}

fn complaint(stderr: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(stderr);
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines().rfind(|line| line.contains("rror")).or_else(|| lines().next_back())?;
    Some(line.to_owned())
}

fn verdict(end: &RunEnd, subject: &Subject, standstill: Standstill) -> Verdict {
    let why = match (end, standstill) {
        (RunEnd::Stuck, Standstill::Sometimes(times)) => format!("it stood still in {times} of 3 runs only"),
        (RunEnd::Stuck, Standstill::Always) if subject.is_driver => {
            "it stands still with a well-behaved server too".into()
        }
        (RunEnd::Done | RunEnd::Stuck, _) => return Verdict::Judged,
        (RunEnd::MockFailed(why), _) => return Verdict::OurFault(format!("the mock failed: {why}")),
        (RunEnd::DriverTimedOut, _) => "the driver ran out of time".into(),
        (RunEnd::Unsupported, _) => "the SDK has no such mode".into(),
        (RunEnd::NeverConnected, _) if subject.transport == Transport::Http => {
            "the client never sent a request: it must use the URL that stands for {url} in its command".into()
        }
        (RunEnd::NeverConnected, _) => {
            "the client never started the server: it must run what stands for {server} in its command".into()
        }
        (RunEnd::DriverFailed(why), _) => format!("the driver failed: {why}"),
        (RunEnd::Flood(why), _) => format!("too much traffic for a negotiation: {why}"),
        (RunEnd::Cancelled, _) => "stopped".into(),
    };
    Verdict::Incomplete(why)
}

fn header(subject: &Subject, case: &Case) -> Header {
    Header {
        schema: SCHEMA.into(),
        tool: concat!("mcp-parley ", env!("CARGO_PKG_VERSION")).into(),
        revision: "2026-07-28".into(),
        subject: OnTrial::Client,
        transport: subject.transport,
        origin: Origin::Real { command: subject.command.clone(), peer: Some(subject.name.clone()) },
        declared: subject.declared.clone(),
        client: Value::Null,
        server: serde_json::to_value(&*case.persona).unwrap_or_default(),
    }
}

/// The same run, as one that was cut off while the client was content.
fn without_standstill(recording: &Recording) -> Recording {
    let mut out = Recording::new();
    for event in recording.events().iter().take_while(|event| event.kind != Kind::Stuck) {
        let bytes = recording.bytes(event);
        out.push(event.t_us, event.node, event.channel, event.kind, event.cause, bytes);
    }
    let t_us = recording.events().last().map_or(0, |event| event.t_us);
    out.push(
        t_us,
        mcp_parley_trace::Node::Harness,
        mcp_parley_trace::Channel::None,
        Kind::End(false),
        None,
        b"",
    );
    out
}
