//! Findings on disk and on the screen: every one ends with the command that shows it again.

use std::fs;
use std::path::{Path, PathBuf};

use mcp_parley_oracle::{Finding, Severity, property, requirement};
use mcp_parley_trace::{Footer, Header, Recording, WriteError, diagram, escape};

use crate::cli::FailOn;
use crate::exit::Failure;

impl From<FailOn> for Severity {
    fn from(value: FailOn) -> Self {
        match value {
            FailOn::Error => Self::Error,
            FailOn::Warning => Self::Warning,
        }
    }
}

/// Writes a trace file under `out` and returns its absolute path.
pub(crate) fn write_trace(
    out: &Path,
    name: &str,
    header: &Header,
    recording: &Recording,
    footer: &Footer,
) -> Result<PathBuf, Failure> {
    let explain = |error: &dyn std::fmt::Display| {
        Failure::usage(format!(
            "{}: cannot be written: {error}; choose another folder with --out",
            out.display()
        ))
    };
    fs::create_dir_all(out).map_err(|error| explain(&error))?;
    let path = std::path::absolute(out).map_err(|error| explain(&error))?.join(format!("{name}.jsonl"));
    write_file(&path, header, recording, footer).map_err(|error| explain(&error))?;
    Ok(path)
}

/// Writes a trace file where it was asked for.
pub(crate) fn write_file(
    path: &Path,
    header: &Header,
    recording: &Recording,
    footer: &Footer,
) -> Result<(), WriteError> {
    let file = fs::File::create(path)?;
    mcp_parley_trace::write(std::io::BufWriter::new(file), header, recording, Some(footer))
}

/// The command that shows a finding again.
pub(crate) fn reproduce_command(path: &Path) -> String {
    let exe = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("mcp-parley"));
    let words = [exe.display().to_string(), "replay".to_owned(), path.display().to_string()];
    shell_words::join(words)
}

/// The line that ends every finding.
pub(crate) fn reproduce_line(path: &Path) -> String {
    format!("Reproduce with: {}", reproduce_command(path))
}

/// A finding for people: what, why, the run as a diagram.
pub(crate) fn describe(finding: &Finding, header: &Header, recording: &Recording, footer: &Footer) -> String {
    let text = requirement(finding.id)
        .map(|row| row.text.as_str())
        .or_else(|| property(finding.id).map(|row| row.text.as_str()))
        .unwrap_or_default();
    let source = requirement(finding.id)
        .and_then(|row| row.sources.first())
        .map(|source| format!("\n  source: {}", place(&source.page, &source.section, &source.lines)))
        .unwrap_or_default();
    let mut out = format!(
        "{id} broken by the {subject} at event {seq}: {reason}\n  rule: {text}{source}\n  where: {kind}, {state}\n",
        id = finding.id,
        subject = format!("{:?}", finding.subject).to_lowercase(),
        seq = finding.seq,
        reason = escape(finding.reason.as_bytes(), 400),
        kind = escape(finding.message_kind.as_bytes(), 80),
        state = finding.state,
    );
    if !finding.follows.is_empty() {
        out.push_str(&format!("  follows: {}\n", finding.follows.join(", ")));
    }
    out.push('\n');
    out.push_str(&diagram::text(header, recording, Some(footer)));
    out
}

/// Where something stands in the specification.
pub(crate) fn place(page: &str, section: &str, lines: &str) -> String {
    let word = if lines.contains(['-', ',']) { "lines" } else { "line" };
    format!("{page} §{section}, {word} {lines}")
}

/// A finding for programs.
pub(crate) fn to_json(finding: &Finding, hash: &str, seed: Option<u64>, path: &Path) -> serde_json::Value {
    serde_json::json!({
        "id": finding.id,
        "subject": format!("{:?}", finding.subject).to_lowercase(),
        "severity": format!("{:?}", finding.severity).to_lowercase(),
        "event": finding.seq,
        "message": finding.message_kind,
        "state": finding.state,
        "reason": finding.reason,
        "evidence": finding.evidence.to_vec(),
        "follows": finding.follows,
        "seed": seed,
        "hash": hash,
        "file": path,
        "reproduce": reproduce_command(path),
    })
}

/// A number and what it counts.
pub(crate) fn count(number: usize, what: &str) -> String {
    match number {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}
