//! `client`: a real client through the personas, each hosted for real and judged by the same oracle.

mod cases;
mod judged;
mod peer;
mod results;
mod runs;
mod story;

use std::collections::BTreeMap;
use std::path::PathBuf;

use mcp_parley_oracle::Finding;
use mcp_parley_trace::{Transport, escape};
use serde_json::json;

use crate::cli::{ClientArgs, Format};
use crate::exit::{Ended, Exit, Failure};
use crate::say::say;
use crate::{findings, serve};

use self::judged::{Ran, Verdict};
use self::peer::Subject;

pub(crate) fn run(args: &ClientArgs) -> Ended {
    let subjects = peer::subjects(args)?;
    let mut pairs = Vec::new();
    for subject in subjects {
        let cases = cases::cases(args, subject.transport)?;
        pairs.push((subject, cases));
    }
    let runs = serve::runtime()?.block_on(runs::all(args, &pairs))?;
    let mut tried: Vec<Tried> = Vec::new();
    for ((subject, _), runs) in pairs.into_iter().zip(runs) {
        let files = write_traces(args, &subject, &runs)?;
        tried.push(Tried { subject, runs, files });
    }
    if let Some(path) = &args.results {
        let text = results::markdown(&tried);
        std::fs::write(path, text).map_err(|error| {
            Failure::usage(format!("--results {}: cannot be written: {error}", path.display()))
        })?;
    }
    match args.format {
        Format::Text => tried.iter().for_each(|tried| print_text(args, tried)),
        Format::Json => print_json(&tried)?,
    }
    Ok(exit(&tried))
}

/// One client and all that came of it.
#[derive(Debug)]
pub(crate) struct Tried {
    pub(crate) subject: Subject,
    pub(crate) runs: Vec<Ran>,
    /// The trace of each distinct finding, by the place of its run.
    files: BTreeMap<usize, PathBuf>,
}

impl Tried {
    /// The distinct findings, each with the first run that shows it and with its trace.
    fn shown(&self) -> impl Iterator<Item = (&Ran, &Finding, &PathBuf)> {
        self.files.iter().filter_map(|(at, path)| {
            let run = self.runs.get(*at)?;
            Some((run, run.finding.as_ref()?, path))
        })
    }
}

fn exit(tried: &[Tried]) -> Exit {
    let all = || tried.iter().flat_map(|tried| &tried.runs);
    let is = |wanted: fn(&Verdict) -> bool| all().any(|run| wanted(&run.verdict));
    match () {
        () if is(|verdict| matches!(verdict, Verdict::OurFault(_))) => Exit::Internal,
        () if all().any(|run| run.finding.is_some()) => Exit::Findings,
        () if !is(|verdict| matches!(verdict, Verdict::Judged)) => Exit::NothingJudged,
        () if is(|verdict| matches!(verdict, Verdict::Incomplete(_))) => Exit::Incomplete,
        () => Exit::Fine,
    }
}

/// Findings with the same requirement, message and state are one: the first run that shows it is written.
fn write_traces(
    args: &ClientArgs,
    subject: &Subject,
    runs: &[Ran],
) -> Result<BTreeMap<usize, PathBuf>, Failure> {
    let mut seen = std::collections::BTreeSet::new();
    let mut files = BTreeMap::new();
    for (at, run) in runs.iter().enumerate() {
        let Some(finding) = &run.finding else { continue };
        if !seen.insert((finding.id, &finding.message_kind, finding.state)) {
            continue;
        }
        let over = if subject.transport == Transport::Http { "-http" } else { "" };
        let name: String = format!("{}-{}{over}-{}", finding.id, subject.name, run.case.name)
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' })
            .collect();
        let path = findings::write_trace(&args.out, &name, &run.header, &run.recording, &run.footer)?;
        files.insert(at, path);
    }
    Ok(files)
}

fn print_text(args: &ClientArgs, tried: &Tried) {
    for (run, finding, path) in tried.shown() {
        say!("persona {}", run.case.name);
        say!("{}", findings::describe(finding, &run.header, &run.recording, &run.footer));
        say!("{}\n", findings::reproduce_line(path));
    }
    let runs = &tried.runs;
    let judged = runs.iter().filter(|run| run.verdict == Verdict::Judged).count();
    let found = runs.iter().filter(|run| run.finding.is_some()).count();
    say!("client {} over {}, in mode {}", tried.subject.name, tried.subject.over(), args.mode);
    say!("  {}, {judged} judged", findings::count(runs.len(), "run"));
    for run in runs {
        if let Verdict::Incomplete(why) | Verdict::OurFault(why) = &run.verdict {
            say!("  {}: {}", run.case.name, escape(why.as_bytes(), 400));
            if let Some(line) = &run.complaint {
                say!("    it said: {}", escape(line.as_bytes(), 400));
            }
        }
    }
    if let Some(command) = &tried.subject.install
        && judged == 0
    {
        say!("  if the client is not installed: {command}");
    }
    say!("  {found} with a finding, {} distinct", tried.files.len());
}

fn print_json(tried: &[Tried]) -> Result<(), Failure> {
    let runs = |tried: &Tried| -> Vec<_> {
        let row = |run: &Ran| {
            let (verdict, why) = match &run.verdict {
                Verdict::Judged => ("judged", None),
                Verdict::Incomplete(why) => ("incomplete", Some(why)),
                Verdict::OurFault(why) => ("internal", Some(why)),
            };
            json!({
                "persona": run.case.name, "verdict": verdict, "why": why, "story": run.story,
                "stderr": run.complaint, "rulings": run.footer.rulings, "finding": run.finding.as_ref().map(|finding| finding.id),
            })
        };
        tried.runs.iter().map(row).collect()
    };
    let clients: Vec<_> = tried
        .iter()
        .map(|tried| {
            let findings: Vec<_> = tried
                .shown()
                .map(|(run, finding, path)| {
                    let hash = mcp_parley_trace::RunHash::of(&run.recording).finish();
                    findings::to_json(finding, &format!("{hash:032x}"), None, path)
                })
                .collect();
            json!({ "client": tried.subject.name, "transport": tried.subject.transport, "runs": runs(tried), "findings": findings })
        })
        .collect();
    let object = json!({ "schema": "mcp-parley/client/1", "clients": clients });
    let text = serde_json::to_string_pretty(&object).map_err(Failure::internal)?;
    say!("{text}");
    Ok(())
}
