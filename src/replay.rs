//! `replay`: a recorded finding again. Simulated ones are run again, real ones judged again.

use std::path::Path;

use mcp_parley_oracle::{Finding, Judge, Severity};
use mcp_parley_sim::replay;
use mcp_parley_trace::{Footer, Origin, ReadOptions, TraceFile, read_file};

use crate::cli::{Format, ReplayArgs};
use crate::exit::{Ended, Exit, Failure};
use crate::findings;
use crate::say::say;

pub(crate) fn run(args: &ReplayArgs) -> Ended {
    let file = read_file(&args.file, ReadOptions { allow_truncated: false }).map_err(Failure::usage)?;
    let footer = file.footer.clone().unwrap_or_default();
    let fail_on: Severity = args.fail_on.into();
    let simulated = matches!(file.header.origin, Origin::Simulated { .. });
    let (again, file, hash) = if simulated {
        let name = args.file.display();
        let run = replay(&file.header, &footer, fail_on)
            .map_err(|error| Failure::usage(format!("{name}: {error}; it was written by another version")))?;
        let hash = run.footer.hash.clone();
        let file = TraceFile { header: run.header, recording: run.recording, footer: Some(run.footer) };
        (run.finding, file, hash)
    } else {
        let mut judge = Judge::new();
        let header = &file.header;
        let verdicts = judge.judge(&file.recording, &header.declared, header.subject, header.transport);
        let again = verdicts.finding_at(fail_on);
        // What the file says was judged by another version, perhaps.
        let judged = Footer { rulings: verdicts.rulings(), ..footer.clone() };
        (again, TraceFile { footer: Some(judged), ..file }, String::new())
    };
    say(args, &file, &footer, again.as_ref(), &hash)?;
    Ok(if again.is_some() { Exit::Findings } else { Exit::Fine })
}

fn say(
    args: &ReplayArgs,
    file: &TraceFile,
    before: &Footer,
    again: Option<&Finding>,
    hash: &str,
) -> Result<(), Failure> {
    let path = std::path::absolute(&args.file).unwrap_or_else(|_| args.file.clone());
    let same = !hash.is_empty() && hash == before.hash;
    if args.format == Format::Json {
        let object = serde_json::json!({
            "schema": "mcp-parley/replay/1",
            "finding": again.map(|finding| findings::to_json(finding, hash, None, Path::new(&path))),
            "hash": hash,
            "hash_before": before.hash,
            "same_run": same,
        });
        let text = serde_json::to_string_pretty(&object).map_err(Failure::internal)?;
        say!("{text}");
        return Ok(());
    }
    let footer = file.footer.clone().unwrap_or_default();
    match again {
        None => say!("healed: nothing is broken any more"),
        Some(finding) => {
            say!("{}", findings::describe(finding, &file.header, &file.recording, &footer));
            say!("{}", findings::reproduce_line(&path));
        }
    }
    match (hash.is_empty(), same) {
        (true, _) => say!("judged again from its trace"),
        (false, true) => say!("the same run as before, hash {hash}"),
        (false, false) => say!("another run than before: hash {hash}, was {}", before.hash),
    }
    Ok(())
}
