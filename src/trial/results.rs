//! The tables of results: no time, no hash, no path, so that the same behaviour gives the same bytes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use mcp_parley_oracle::{Severity, property, requirement};
use mcp_parley_trace::{Outcome, escape};

use super::judged::{Broken, Ran, Verdict};
use super::words::leading_to;
use super::{CLIENT, Role, SERVER, Tried};
use crate::exit::Failure;

/// Writes the part of this role into the file. What it has of the other role stays.
pub(crate) fn write(path: &Path, role: &Role, tried: &[Tried]) -> Result<(), Failure> {
    let old = std::fs::read_to_string(path).unwrap_or_default();
    let (of_clients, of_servers) = old.split_at(start_of(&old, SERVER.title));
    let new = markdown(role, tried);
    let parts = match role.title == SERVER.title {
        true => [of_clients.trim_end(), new.trim_end()],
        false => [new.trim_end(), of_servers.trim_end()],
    };
    let parts: Vec<&str> = parts.into_iter().filter(|part| is_part(part)).collect();
    let text = format!("{}\n", parts.join("\n\n"));
    std::fs::write(path, text)
        .map_err(|error| Failure::usage(format!("--results {}: cannot be written: {error}", path.display())))
}

/// A file that somebody else has written is overwritten.
fn is_part(text: &str) -> bool {
    [CLIENT.title, SERVER.title].iter().any(|title| text.starts_with(title))
}

fn start_of(text: &str, title: &str) -> usize {
    if text.starts_with(title) {
        return 0;
    }
    text.find(&format!("\n{title}\n")).map_or(text.len(), |at| at + 1)
}

fn markdown(role: &Role, tried: &[Tried]) -> String {
    let mut out = format!("{}\n\n{}", role.title, role.introduction);
    for Tried { name, sdk, transport, detail, runs, .. } in tried {
        let sdk = sdk.as_ref().map(|(sdk, version)| format!(" ({sdk} {version})")).unwrap_or_default();
        let _ = writeln!(out, "\n## {name}{sdk} over {}{detail}\n", super::over(*transport));
        let _ = writeln!(
            out,
            "| {} | what the {} did | violations | warnings | contested |\n|---|---|---|---|---|",
            role.case, role.word
        );
        for run in runs {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} |",
                run.name,
                cell(&told(run)),
                ids(run, Severity::Error),
                ids(run, Severity::Warning),
                contested(run)
            );
        }
        evidence(&mut out, "Violations", runs, Severity::Error);
        evidence(&mut out, "Warnings", runs, Severity::Warning);
    }
    out
}

/// Text from outside within one cell of a table.
fn cell(text: &str) -> String {
    escape(text.as_bytes(), 600).replace('|', "\\|")
}

fn told(run: &Ran) -> String {
    match &run.verdict {
        Verdict::Judged => run.story.clone(),
        Verdict::Incomplete(why) | Verdict::OurFault(why) => format!("not judged: {why}"),
    }
}

fn joined(words: &[String]) -> String {
    if words.is_empty() { "–".to_owned() } else { words.join(", ") }
}

fn ids(run: &Ran, wanted: Severity) -> String {
    let rows = run.broken.iter().filter(|broken| broken.severity == wanted);
    joined(&rows.map(|broken| broken.id.to_owned()).collect::<Vec<_>>())
}

fn contested(run: &Ran) -> String {
    let rows = run.footer.rulings.iter().filter(|row| row.outcome == Outcome::Contested);
    joined(&rows.map(|row| format!("{}: {}", row.id, row.reason)).collect::<Vec<_>>())
}

/// All of a few names; of many, the first. The table has them all.
fn named(names: &[&str]) -> String {
    const MANY: usize = 12;
    match names.get(..MANY) {
        Some(first) if names.len() > MANY => format!("{} and {} more", first.join(", "), names.len() - MANY),
        _ => names.join(", "),
    }
}

/// Each broken row once: what it says, what the first persona that shows it saw, and the others.
fn evidence(out: &mut String, title: &str, runs: &[Ran], wanted: Severity) {
    let mut rows: BTreeMap<&str, (&Ran, &Broken, Vec<&str>)> = BTreeMap::new();
    for run in runs {
        for broken in run.broken.iter().filter(|broken| broken.severity == wanted) {
            let (.., names) = rows.entry(broken.id).or_insert_with(|| (run, broken, Vec::new()));
            names.push(&run.name);
        }
    }
    if !rows.is_empty() {
        let _ = writeln!(out, "\n### {title}");
    }
    for (id, (run, broken, names)) in rows {
        let text = requirement(id).map(|row| row.text.as_str());
        let text = text.or_else(|| property(id).map(|row| row.text.as_str())).unwrap_or_default();
        let _ = writeln!(out, "\n**{id}** {text}\n");
        let _ = writeln!(out, "{} × {}: {}.\n", names.len(), cell(&broken.reason), named(&names));
        let _ = writeln!(out, "```\n# {}", run.name);
        for line in leading_to(&run.recording, broken.at) {
            let _ = writeln!(out, "{line}");
        }
        out.push_str("```\n");
    }
}
