//! One run, judged.

use mcp_parley_hosts::{Driven, RunEnd};
use mcp_parley_oracle::Severity;
use mcp_parley_trace::{Header, Kind, Origin, Recording, SCHEMA, Subject as OnTrial, Transport};
use serde_json::Value;

use super::cases::Case;
use super::peer::Subject;
use super::story::story;
use crate::trial::{Ran, Standstill, Verdict, complaint};

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
    let story = story(&recording);
    Ran::judged(fail_on, &case.name, verdict, header(subject, case), recording, story, complaint)
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
