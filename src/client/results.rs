//! The table of results: no time, no hash, no path, so that the same behaviour gives the same bytes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use mcp_parley_oracle::{Severity, property, requirement};
use mcp_parley_trace::{Mode, Outcome, escape};

use super::Tried;
use super::judged::{Broken, Ran, Verdict};
use super::story::leading_to;

const INTRODUCTION: &str = "# What real clients do

Written by `mcp-parley client --results`; do not edit. `VERDICTS.md` says how each violation was checked by hand.

- `C0`, `C1`: the first and the second server process that the client started.
- `3 × word`: so many in a row. `(response)`, an answer to the server, stands behind what the client asks on its own account.
- `name#1,0`: the persona with these choices of its open values.
- A violation fails a run. A warning does not: it breaks a SHOULD. `mcp-parley explain ID` says what an id is.
- Contested: the specification leaves it open; this is what the client does.
";

pub(crate) fn markdown(tried: &[Tried]) -> String {
    let mut out = String::from(INTRODUCTION);
    for Tried { subject, runs, .. } in tried {
        let sdk =
            subject.sdk.as_ref().map(|(sdk, version)| format!(" ({sdk} {version})")).unwrap_or_default();
        let _ = writeln!(
            out,
            "\n## {}{sdk} over {}, mode {}\n",
            subject.name,
            subject.over(),
            mode(&subject.declared.mode)
        );
        out.push_str(
            "| persona | what the client did | violations | warnings | contested |\n|---|---|---|---|---|\n",
        );
        for run in runs {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} |",
                run.case.name,
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

fn mode(mode: &Mode) -> String {
    match mode {
        Mode::Pin(version) => format!("pin:{version}"),
        other => format!("{other:?}").to_lowercase(),
    }
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
            names.push(&run.case.name);
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
        let _ = writeln!(out, "```\n# {}", run.case.name);
        for line in leading_to(&run.recording, broken.at) {
            let _ = writeln!(out, "{line}");
        }
        out.push_str("```\n");
    }
}
