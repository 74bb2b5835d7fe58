//! `hunt`: the main job. Many simulated runs, each judged.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cpu_time::ProcessTime;
use indicatif::{HumanCount, ProgressBar, ProgressState, ProgressStyle};
use mcp_parley_negotiation::client::State;
use mcp_parley_sim::{Campaign, Drawer, Few, Found, Progress, Setup, record};
use mcp_parley_trace::Transport;

use crate::cli::{Format, HuntArgs};
use crate::exit::{Ended, Exit, Failure};
use crate::say::say;
use crate::{findings, sides};

/// So many states that were not reached are named.
const NAMED: usize = 6;

pub(crate) fn run(args: &HuntArgs) -> Ended {
    let transport = args.transport.map(Into::into);
    let setup = Arc::new(sides::setup(&args.client, args.server.as_deref(), transport)?);
    let seeds = seeds(&args.seeds)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let campaign = Campaign {
        setup: Arc::clone(&setup),
        seeds: seeds.clone(),
        workers: args.workers.unwrap_or(cores),
        max_findings: args.max_findings,
        fail_on: args.fail_on.into(),
    };
    let bar = bar(seeds.end - seeds.start);
    let mut found = FoundSoFar { args, drawer: Drawer::new(Arc::clone(&setup)), files: Vec::new() };
    let mut failure = None;
    let clock = ProcessTime::now();
    let progress = campaign.run(|progress| {
        show(&bar, &setup, progress);
        failure = found.catch_up(progress, &bar).err();
        failure.is_none()
    });
    let cpu = clock.elapsed();
    bar.finish_and_clear();
    if let Some(failure) = failure {
        return Err(failure);
    }
    found.catch_up(&progress, &bar)?;
    match args.format {
        Format::Json => print_json(&setup, &progress, &found.files, cpu)?,
        Format::Text => print_summary(args, &setup, &progress, cpu),
    }
    Ok(exit(&progress))
}

fn exit(progress: &Progress) -> Exit {
    match progress {
        _ if progress.broken.count > 0 => Exit::Internal,
        _ if progress.unstable.count > 0 => Exit::Unstable,
        _ if !progress.findings.is_empty() => Exit::Findings,
        _ if progress.runs == 0 => Exit::NothingJudged,
        _ => Exit::Fine,
    }
}

fn seeds(text: &str) -> Result<Range<u64>, Failure> {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let range = match text.split_once("..") {
        Some((from, to)) => number(from).zip(number(to)).map(|(from, to)| from..to),
        None => number(text).map(|count| 0..count),
    };
    let wrong = || {
        Failure::usage(format!(
            "--seeds {text}: say FROM..TO with FROM below TO, such as 0..1000, or a number"
        ))
    };
    range.filter(|range| range.start < range.end).ok_or_else(wrong)
}

/// One line that fits 80 columns; a narrower terminal loses its end.
fn bar(seeds: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let rate = |state: &ProgressState, out: &mut dyn std::fmt::Write| {
        let _ = write!(out, "{}", HumanCount(state.per_sec() as u64));
    };
    let style = ProgressStyle::with_template("{percent:>3}% of {human_len} seeds  {rate}/s  {wide_msg}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar()).with_key("rate", rate);
    let bar = ProgressBar::new(seeds).with_style(style);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn show(bar: &ProgressBar, setup: &Setup, progress: &Progress) {
    bar.set_position(progress.runs);
    bar.set_message(format!(
        "{}  {}/{} personas  {}/{} client states",
        findings::count(progress.findings.len(), "finding"),
        progress.servers.len(),
        setup.servers.len(),
        progress.states.len(),
        possible(setup).count()
    ));
}

/// The findings that were run again, written down and, for people, printed: at once, so that a campaign that is stopped has
/// not been for nothing.
struct FoundSoFar<'a> {
    args: &'a HuntArgs,
    drawer: Drawer,
    /// The file of each finding and the hash of its run, in their order.
    files: Vec<(PathBuf, String)>,
}

impl FoundSoFar<'_> {
    fn catch_up(&mut self, progress: &Progress, bar: &ProgressBar) -> Result<(), Failure> {
        for Found { seed, finding, .. } in progress.findings.iter().skip(self.files.len()) {
            let run = record(&mut self.drawer, *seed, self.args.fail_on.into()).map_err(Failure::internal)?;
            let name = format!("{}-seed-{seed}", finding.id);
            let path =
                findings::write_trace(&self.args.out, &name, &run.header, &run.recording, &run.footer)?;
            if self.args.format == Format::Text {
                let text = findings::describe(finding, &run.header, &run.recording, &run.footer);
                bar.suspend(|| say!("{text}\n{}\n", findings::reproduce_line(&path)));
            }
            self.files.push((path, run.footer.hash));
        }
        Ok(())
    }
}

fn runs_per_cpu_second(progress: &Progress, cpu: Duration) -> u64 {
    let micros = u64::try_from(cpu.as_micros()).unwrap_or(u64::MAX).max(1);
    progress.runs.saturating_mul(1_000_000) / micros
}

/// The states that this campaign can come to.
fn possible(setup: &Setup) -> impl Iterator<Item = State> + use<> {
    let (pipes, http) = match setup.transport {
        Some(Transport::Stdio) => (true, false),
        Some(Transport::Http) => (false, true),
        None => (true, true),
    };
    State::ALL.iter().copied().filter(move |state| {
        pipes && State::over_stdio().any(|own| own == *state)
            || http && State::over_http().any(|own| own == *state)
    })
}

fn print_json(
    setup: &Setup,
    progress: &Progress,
    files: &[(PathBuf, String)],
    cpu: Duration,
) -> Result<(), Failure> {
    let findings: Vec<_> = progress
        .findings
        .iter()
        .zip(files)
        .map(|(Found { seed, finding, .. }, (path, hash))| {
            findings::to_json(finding, hash, Some(*seed), path)
        })
        .collect();
    let object = serde_json::json!({
        "schema": "mcp-parley/hunt/1",
        "runs": progress.runs,
        "findings": findings,
        "hash": format!("{:032x}", progress.hash),
        "runs_per_cpu_second": runs_per_cpu_second(progress, cpu),
        "personas": progress.servers.len(),
        "client_states": possible(setup)
            .map(|state| (state.name(), progress.states.get(&state).copied().unwrap_or(0)))
            .collect::<BTreeMap<_, _>>(),
        "ends": progress.ends,
        "contested": progress.contested,
        "repeated_runs": progress.repeated,
        "unstable_seeds": progress.unstable.first,
        "broken_runs": progress.broken.first,
    });
    let text = serde_json::to_string_pretty(&object).map_err(Failure::internal)?;
    say!("{text}");
    Ok(())
}

fn print_summary(args: &HuntArgs, setup: &Setup, progress: &Progress, cpu: Duration) {
    let server = args.server.as_deref().unwrap_or("every persona");
    say!("client {} against {server}", args.client);
    say!(
        "  {} runs, {} a CPU second, hash {:032x}",
        progress.runs,
        runs_per_cpu_second(progress, cpu),
        progress.hash
    );
    say!("  personas met: {} of {}", progress.servers.len(), setup.servers.len());
    say!("  client states reached: {}", states(setup, progress));
    for (end, count) in &progress.ends {
        say!("  {count:>9} {end}");
    }
    if !progress.contested.is_empty() {
        let rows: Vec<&str> = progress.contested.keys().copied().collect();
        say!("  contested, each outcome allowed: {}", rows.join(", "));
    }
    for (seed, why) in &progress.broken.first {
        say!("  seed {seed} could not be run: {why} (this is a bug in mcp-parley)");
    }
    more(&progress.broken);
    for seed in &progress.unstable.first {
        say!("  seed {seed} gave two different runs (this is a bug in mcp-parley)");
    }
    more(&progress.unstable);
    say!("  {}", findings::count(progress.findings.len(), "finding"));
}

fn more<T>(few: &Few<T>) {
    let rest = few.count - few.first.len() as u64;
    if rest > 0 {
        say!("  and {rest} more seeds like these");
    }
}

/// How many of how many, and by name those that are missing, if they are few.
fn states(setup: &Setup, progress: &Progress) -> String {
    let missing: Vec<&str> =
        possible(setup).filter(|state| !progress.states.contains_key(state)).map(State::name).collect();
    let text = format!("{} of {}", progress.states.len(), possible(setup).count());
    if missing.is_empty() || missing.len() > NAMED {
        text
    } else {
        format!("{text}, not {}", missing.join(", "))
    }
}
