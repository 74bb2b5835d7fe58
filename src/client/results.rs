//! The table of results: no time, no hash, no path, so that the same behaviour gives the same bytes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use mcp_parley_oracle::{Severity, requirement, severity};
use mcp_parley_trace::{Outcome, escape};

use super::peer::Subject;
use super::runs::{Ran, Verdict};

pub(crate) fn markdown(ran: &[(Subject, Vec<Ran>)]) -> String {
    let mut out = String::from(
        "# What real clients do\n\nWritten by `mcp-parley client --results`; do not edit. `VERDICTS.md` says how each violation \
         was checked by hand.\n`C0`, `C1`: the first and the second server process that the client started.\n",
    );
    for (subject, runs) in ran {
        let sdk =
            subject.sdk.as_ref().map(|(sdk, version)| format!(" ({sdk} {version})")).unwrap_or_default();
        let _ = writeln!(out, "\n## {}{sdk}, mode {:?}\n", subject.name, subject.declared.mode);
        out.push_str(
            "| persona | what the client did | violations | warnings | contested |\n|---|---|---|---|---|\n",
        );
        for run in runs {
            let cell =
                |cells: Vec<String>| if cells.is_empty() { "–".to_owned() } else { cells.join(", ") };
            let broken = |wanted: Severity| {
                let rows = run.footer.rulings.iter().filter(move |row| {
                    matches!(row.outcome, Outcome::Violation | Outcome::Defect) && severity(&row.id) == wanted
                });
                cell(rows.map(|row| row.id.clone()).collect())
            };
            let contested = run.footer.rulings.iter().filter(|row| row.outcome == Outcome::Contested);
            let contested = cell(contested.map(|row| format!("{}: {}", row.id, row.reason)).collect());
            let story = match &run.verdict {
                Verdict::Judged => run.story.clone(),
                Verdict::Incomplete(why) | Verdict::OurFault(why) => format!("not judged: {why}"),
            };
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {contested} |",
                run.case.name,
                escape(story.as_bytes(), 600).replace('|', "\\|"),
                broken(Severity::Error),
                broken(Severity::Warning),
            );
        }
        evidence(&mut out, runs);
    }
    out
}

/// Each violated row once, with its text and the personas that show it.
fn evidence(out: &mut String, runs: &[Ran]) {
    let mut rows: BTreeMap<&str, (String, Vec<&str>)> = BTreeMap::new();
    for run in runs {
        for row in &run.footer.rulings {
            if matches!(row.outcome, Outcome::Violation | Outcome::Defect)
                && severity(&row.id) == Severity::Error
            {
                let entry = rows.entry(&row.id).or_insert_with(|| (row.reason.clone(), Vec::new()));
                entry.1.push(&run.case.name);
            }
        }
    }
    out.push('\n');
    for (id, (reason, personas)) in rows {
        let text = requirement(id).map(|row| row.text.as_str()).unwrap_or_default();
        let _ = writeln!(out, "- **{id}** {text}\n  Seen: {reason}. Personas: {}.", personas.join(", "));
    }
}
