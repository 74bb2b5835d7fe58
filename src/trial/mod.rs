//! What the trials of real clients and of real servers share: what came of them, and how it is told.

mod judged;
mod pool;
mod results;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use mcp_parley_oracle::Finding;
use mcp_parley_trace::{Transport, escape};
use serde_json::json;

pub(crate) use self::judged::{Ran, Standstill, Verdict, complaint};
pub(crate) use self::pool::{several, starts};
#[cfg(test)]
pub(crate) use self::words::leading_to;
pub(crate) use self::words::{RESPONSE, process, word};

use crate::cli::Format;
use crate::exit::{Ended, Exit, Failure};
use crate::findings;
use crate::say::say;

/// The words for one kind of trial.
#[derive(Debug)]
pub(crate) struct Role {
    pub(crate) word: &'static str,
    /// What each run has another one of.
    pub(crate) case: &'static str,
    pub(crate) title: &'static str,
    pub(crate) introduction: &'static str,
}

/// Clients on trial.
pub(crate) const CLIENT: Role = Role {
    word: "client",
    case: "persona",
    title: "# What real clients do",
    introduction: "Written by `mcp-parley client --results`; do not edit. `VERDICTS.md` says how each violation was checked by hand.

- `C0`, `C1`: the first and the second server process that the client started.
- `3 × word`: so many in a row. `(response)`, an answer to the server, stands behind what the client asks on its own account.
- `name#1,0`: the persona with these choices of its open values.
- A violation fails a run. A warning does not: it breaks a SHOULD. `mcp-parley explain ID` says what an id is.
- Contested: the specification leaves it open; this is what the client does.
",
};

/// Servers on trial.
pub(crate) const SERVER: Role = Role {
    word: "server",
    case: "opening",
    title: "# What real servers do",
    introduction: "Written by `mcp-parley server --results`; do not edit. `VERDICTS.md` says how each violation was checked by hand.

- `a → b`: what the client sent, and what came back: a result, the code of an error, over HTTP the status before it. Behind `then`
  stands the good request that follows each input.
- `–`: nothing came back. `lost`: the connection broke or was refused.
- A violation fails a run. A warning does not: it breaks a SHOULD. `mcp-parley explain ID` says what an id is.
- Contested: the specification leaves it open; this is what the server does.
",
};

/// One side over one transport, and all that came of it.
#[derive(Debug)]
pub(crate) struct Tried {
    pub(crate) name: String,
    /// Package and version, where a peer file says so.
    pub(crate) sdk: Option<(String, String)>,
    pub(crate) transport: Transport,
    /// How it was run otherwise, behind the name of the transport.
    pub(crate) detail: String,
    /// What makes its command work, for a shell.
    pub(crate) install: Option<String>,
    pub(crate) runs: Vec<Ran>,
    /// The trace of each distinct finding, by the place of its run.
    pub(crate) files: BTreeMap<usize, PathBuf>,
}

/// The transport's name.
pub(crate) fn over(transport: Transport) -> &'static str {
    match transport {
        Transport::Stdio => "stdio",
        Transport::Http => "HTTP",
    }
}

impl Tried {
    /// The same, its traces written. Findings with the same requirement, message and state are one: the first run that shows it is
    /// written.
    pub(crate) fn of(out: &Path, mut tried: Self) -> Result<Self, Failure> {
        let mut seen = BTreeSet::new();
        for (at, run) in tried.runs.iter().enumerate() {
            let Some(finding) = &run.finding else { continue };
            if !seen.insert((finding.id, finding.message_kind.clone(), finding.state)) {
                continue;
            }
            let over = if tried.transport == Transport::Http { "-http" } else { "" };
            let name: String = format!("{}-{}{over}-{}", finding.id, tried.name, run.name)
                .chars()
                .map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' })
                .collect();
            let path = findings::write_trace(out, &name, &run.header, &run.recording, &run.footer)?;
            tried.files.insert(at, path);
        }
        Ok(tried)
    }

    /// The distinct findings, each with the first run that shows it and with its trace.
    fn shown(&self) -> impl Iterator<Item = (&Ran, &Finding, &PathBuf)> {
        self.files.iter().filter_map(|(at, path)| {
            let run = self.runs.get(*at)?;
            Some((run, run.finding.as_ref()?, path))
        })
    }
}

/// Writes and prints what came of all.
pub(crate) fn tell(role: &Role, tried: &[Tried], results: Option<&Path>, format: Format) -> Ended {
    if let Some(path) = results {
        results::write(path, role, tried)?;
    }
    match format {
        Format::Text => tried.iter().for_each(|tried| print_text(role, tried)),
        Format::Json => print_json(role, tried)?,
    }
    Ok(exit(tried))
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

fn print_text(role: &Role, tried: &Tried) {
    for (run, finding, path) in tried.shown() {
        say!("{} {}", role.case, run.name);
        say!("{}", findings::describe(finding, &run.header, &run.recording, &run.footer));
        say!("{}\n", findings::reproduce_line(path));
    }
    let runs = &tried.runs;
    let judged = runs.iter().filter(|run| run.verdict == Verdict::Judged).count();
    let found = runs.iter().filter(|run| run.finding.is_some()).count();
    say!("{} {} over {}{}", role.word, tried.name, over(tried.transport), tried.detail);
    say!("  {}, {judged} judged", findings::count(runs.len(), "run"));
    for run in runs {
        if let Verdict::Incomplete(why) | Verdict::OurFault(why) = &run.verdict {
            say!("  {}: {}", run.name, escape(why.as_bytes(), 400));
            if let Some(line) = &run.complaint {
                say!("    it said: {}", escape(line.as_bytes(), 400));
            }
        }
    }
    if let Some(command) = &tried.install
        && judged == 0
    {
        say!("  if the {} is not installed: {command}", role.word);
    }
    say!("  {found} with a finding, {} distinct", tried.files.len());
}

fn print_json(role: &Role, tried: &[Tried]) -> Result<(), Failure> {
    let row = |run: &Ran| {
        let (verdict, why) = match &run.verdict {
            Verdict::Judged => ("judged", None),
            Verdict::Incomplete(why) => ("incomplete", Some(why)),
            Verdict::OurFault(why) => ("internal", Some(why)),
        };
        json!({
            role.case: run.name, "verdict": verdict, "why": why, "story": run.story,
            "stderr": run.complaint, "rulings": run.footer.rulings, "finding": run.finding.as_ref().map(|finding| finding.id),
        })
    };
    let one = |tried: &Tried| {
        let runs: Vec<_> = tried.runs.iter().map(row).collect();
        let finding = |(run, finding, path): (&Ran, &Finding, &PathBuf)| {
            let hash = mcp_parley_trace::RunHash::of(&run.recording).finish();
            findings::to_json(finding, &format!("{hash:032x}"), None, path)
        };
        let findings: Vec<_> = tried.shown().map(finding).collect();
        json!({ role.word: tried.name, "transport": tried.transport, "runs": runs, "findings": findings })
    };
    let all: Vec<_> = tried.iter().map(one).collect();
    let object = json!({ "schema": format!("mcp-parley/{}/1", role.word), format!("{}s", role.word): all });
    let text = serde_json::to_string_pretty(&object).map_err(Failure::internal)?;
    say!("{text}");
    Ok(())
}
