//! What a failure over HTTP means to whoever gave the URL.

use mcp_parley_hosts::ProbeReport;
use mcp_parley_negotiation::client::Failure;
use mcp_parley_trace::{Kind, Recording, escape};

/// A text from the wire is shown up to here, in bytes.
const SHOWN_BYTES: usize = 300;

/// Why there was never a connection, if there was none: then nothing can be said of the server.
pub(super) fn unreachable(report: &ProbeReport) -> Option<String> {
    let events = report.recording.events();
    let met = events.iter().any(|event| matches!(event.kind, Kind::ReadHead | Kind::Eof));
    let refused = events.iter().any(|event| event.kind == Kind::Refused);
    (refused && !met).then(|| report.trouble.clone().unwrap_or_else(|| "there is no connection".into()))
}

/// The failure, and what to do about it where the answers show that.
pub(super) fn why(failure: &Failure, report: &ProbeReport) -> String {
    match advice(&report.recording).or_else(|| report.trouble.clone()) {
        Some(more) => format!("{failure}; {more}"),
        None => failure.to_string(),
    }
}

fn advice(recording: &Recording) -> Option<String> {
    let heads: Vec<(u16, Option<String>)> = recording
        .events()
        .iter()
        .filter(|event| event.kind == Kind::ReadHead)
        .map(|event| read(recording.bytes(event)))
        .filter(|(status, _)| *status >= 200)
        .collect();
    if let Some((status, Some(to))) = heads.iter().find(|(status, _)| (300..400).contains(status)) {
        return Some(format!("it redirects to {to} with {status}, which is not followed: give that URL"));
    }
    let all = |wanted: u16| !heads.is_empty() && heads.iter().all(|(status, _)| *status == wanted);
    if all(404) || all(405) {
        return Some("is this the URL of the endpoint itself, with its path, such as …/mcp?".into());
    }
    let says_https = |text: &[u8]| text.windows(5).any(|word| word == b"HTTPS");
    let is_https =
        recording.events().iter().any(|event| event.kind == Kind::Read && says_https(recording.bytes(event)));
    (all(400) && is_https).then(|| "it speaks of HTTPS: is it an https:// URL?".into())
}

/// The status of a head, and where it redirects to.
fn read(head: &[u8]) -> (u16, Option<String>) {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.lines();
    let status = lines.next().and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    let to = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("location").then(|| escape(value.trim().as_bytes(), SHOWN_BYTES))
    });
    (status.unwrap_or_default(), to)
}
