//! `client`: a real client through the personas, each hosted for real and judged by the same oracle.

mod peer;
mod results;
mod runs;

use crate::cli::{ClientArgs, Format};
use crate::exit::{Ended, Exit, Failure};
use crate::{findings, serve};

use self::peer::Subject;
use self::runs::{Case, Ran, Verdict};

pub(crate) fn run(args: &ClientArgs) -> Ended {
    let subjects = peer::subjects(args)?;
    let cases = runs::cases(args)?;
    let mut ran: Vec<(Subject, Vec<Ran>)> = Vec::new();
    for subject in subjects {
        let runs = serve::runtime()?.block_on(runs::all(args, &subject, &cases))?;
        ran.push((subject, runs));
    }
    if let Some(path) = &args.results {
        let text = results::markdown(&ran);
        std::fs::write(path, text).map_err(|error| {
            Failure::usage(format!("--results {}: cannot be written: {error}", path.display()))
        })?;
    }
    match args.format {
        Format::Text => print_text(args, &ran)?,
        Format::Json => print_json(&ran)?,
    }
    Ok(exit(&ran))
}

fn exit(ran: &[(Subject, Vec<Ran>)]) -> Exit {
    let all = || ran.iter().flat_map(|(_, runs)| runs);
    let is = |wanted: fn(&Verdict) -> bool| all().any(|run| wanted(&run.verdict));
    match () {
        () if is(|verdict| matches!(verdict, Verdict::OurFault(_))) => Exit::Internal,
        () if all().any(|run| run.finding.is_some()) => Exit::Findings,
        () if !is(|verdict| matches!(verdict, Verdict::Judged)) => Exit::NothingJudged,
        () if is(|verdict| matches!(verdict, Verdict::Incomplete(_))) => Exit::Incomplete,
        () => Exit::Fine,
    }
}

fn print_text(args: &ClientArgs, ran: &[(Subject, Vec<Ran>)]) -> Result<(), Failure> {
    for (subject, runs) in ran {
        let mut shown = std::collections::BTreeSet::new();
        for run in runs {
            let Some(finding) = &run.finding else { continue };
            if !shown.insert((finding.id, finding.message_kind.to_string())) {
                continue;
            }
            let name = format!("{}-{}-{}", finding.id, subject.name, run.case.name.replace(['#', ','], "-"));
            let path = findings::write_trace(&args.out, &name, &run.header, &run.recording, &run.footer)?;
            anstream::println!("{}", findings::describe(finding, &run.header, &run.recording, &run.footer));
            anstream::println!("{}\n", findings::reproduce_line(&path));
        }
        let count = |wanted: fn(&&Ran) -> bool| runs.iter().filter(wanted).count();
        anstream::println!("client {} in mode {}", subject.name, args.mode);
        anstream::println!(
            "  {} runs, {} judged",
            runs.len(),
            count(|run| matches!(run.verdict, Verdict::Judged))
        );
        for run in runs {
            if let Verdict::Incomplete(why) | Verdict::OurFault(why) = &run.verdict {
                anstream::println!("  {}: {why}", run.case.name);
            }
        }
        anstream::println!(
            "  {} with a finding, {} distinct",
            count(|run| run.finding.is_some()),
            shown.len()
        );
    }
    Ok(())
}

fn print_json(ran: &[(Subject, Vec<Ran>)]) -> Result<(), Failure> {
    let rows: Vec<_> = ran
        .iter()
        .flat_map(|(subject, runs)| runs.iter().map(move |run| (subject, run)))
        .map(|(subject, run)| {
            serde_json::json!({
                "client": subject.name, "persona": run.case.name, "story": run.story,
                "rulings": run.footer.rulings, "finding": run.finding.as_ref().map(|finding| finding.id),
            })
        })
        .collect();
    let object = serde_json::json!({ "schema": "mcp-parley/client/1", "runs": rows });
    let text = serde_json::to_string_pretty(&object).map_err(Failure::internal)?;
    anstream::println!("{text}");
    Ok(())
}

/// One persona with its choices, by the name under which results give it.
pub(crate) type Cases = Vec<Case>;
