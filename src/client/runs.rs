//! The runs: a few at a time, and again where a client stood still.

use std::collections::{BTreeMap, VecDeque};
use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use mcp_parley_hosts::{
    Bounds, DriveError, Driven, DriverRun, RunEnd, asked_to_end, conformance_environment, drive, drive_http,
    stuck_after,
};
use mcp_parley_mock_servers::{Played, Site};
use mcp_parley_trace::Transport;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::cases::{Case, control};
use super::judged::{Ran, Standstill, judge};
use super::peer::Subject;
use crate::cli::ClientArgs;
use crate::exit::{Exit, Failure};

/// Waiting is not work: so many runs are under way at a time.
const RUNS_PER_CORE: usize = 8;
/// Start-up, probe, initialize, call and close of a driver, all at their slowest.
const DRIVER_TIME: Duration = Duration::from_secs(40);

/// The scenario of the official conformance suite in which a client connects and lists the tools.
const SCENARIO: &str = "initialize";

/// Runs every subject through its cases; for each subject its runs, in the order of the cases.
pub(crate) async fn all(args: &ClientArgs, pairs: &[(Subject, Vec<Case>)]) -> Result<Vec<Vec<Ran>>, Failure> {
    let every: Vec<Run<'_>> = pairs
        .iter()
        .flat_map(|(subject, cases)| cases.iter().map(move |case| Run { subject, case }))
        .collect();
    let driven = several(args, &every).await?;
    let still: Vec<usize> =
        (0..).zip(&driven).filter(|(_, run)| run.end == RunEnd::Stuck).map(|(at, _)| at).collect();
    let standstills = again(args, pairs, &every, &still).await?;
    let mut judged = (0..).zip(&every).zip(driven).map(|((at, run), driven)| {
        let standstill = standstills.get(&at).copied().unwrap_or(Standstill::Proven);
        judge(args.fail_on.into(), run.subject, run.case, driven, standstill)
    });
    Ok(pairs.iter().map(|(_, cases)| judged.by_ref().take(cases.len()).collect()).collect())
}

/// One client and one persona.
#[derive(Clone, Copy, Debug)]
struct Run<'a> {
    subject: &'a Subject,
    case: &'a Case,
}

/// What the standstills mean: each client that stood still meets a well-behaved server for comparison, and where it does not
/// stand still with that one, the runs are repeated twice.
async fn again(
    args: &ClientArgs,
    pairs: &[(Subject, Vec<Case>)],
    every: &[Run<'_>],
    still: &[usize],
) -> Result<BTreeMap<usize, Standstill>, Failure> {
    let is_still = |run: &Driven| run.end == RunEnd::Stuck;
    let stood_still: Vec<(usize, Run<'_>)> =
        still.iter().filter_map(|at| Some((*at, *every.get(*at)?))).collect();
    let control = control()?;
    let controls: Vec<Run<'_>> = pairs
        .iter()
        .filter(|(subject, _)| stood_still.iter().any(|(_, run)| run.subject.is(subject)))
        .map(|(subject, _)| Run { subject, case: &control })
        .collect();
    let compared = several(args, &controls).await?;
    let never_ends: Vec<&Subject> = controls
        .iter()
        .zip(&compared)
        .filter(|(_, driven)| is_still(driven))
        .map(|(run, _)| run.subject)
        .collect();
    let (always, repeated): (Vec<_>, Vec<_>) = stood_still
        .into_iter()
        .partition(|(_, run)| never_ends.iter().any(|subject| subject.is(run.subject)));
    let twice: Vec<Run<'_>> = repeated.iter().flat_map(|(_, run)| [*run, *run]).collect();
    let driven = several(args, &twice).await?;
    let counted = repeated.iter().zip(driven.chunks(2)).map(|((at, _), pair)| {
        let standstill = match 1 + pair.iter().filter(|run| is_still(run)).count() {
            3 => Standstill::Proven,
            times => Standstill::Sometimes(times),
        };
        (*at, standstill)
    });
    Ok(always.iter().map(|(at, _)| (*at, Standstill::Always)).chain(counted).collect())
}

/// Runs these, in their order whatever the order in which they end.
async fn several(args: &ClientArgs, runs: &[Run<'_>]) -> Result<Vec<Driven>, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = args.jobs.unwrap_or(RUNS_PER_CORE * cores);
    let starts = Arc::new(Semaphore::new(cores));
    let bar = bar(runs.len());
    let mut waiting: VecDeque<(usize, &Run<'_>)> = (0..).zip(runs).collect();
    let mut running: JoinSet<(usize, Result<Driven, DriveError>)> = JoinSet::new();
    let mut ended: BTreeMap<usize, Driven> = BTreeMap::new();
    let mut stop = std::pin::pin!(asked_to_end());
    loop {
        while running.len() < jobs
            && let Some((at, run)) = waiting.pop_front()
        {
            let persona = Arc::clone(&run.case.persona);
            let transport = run.subject.transport;
            let (run, starts) = (driver_run(args, run.subject)?, Arc::clone(&starts));
            let text = serde_json::to_string(&*persona).map_err(Failure::internal)?;
            let played = Played::new((*persona).clone()).map_err(Failure::usage)?;
            running.spawn(async move {
                // It is never closed; if it were, there would be nothing to wait for.
                let start = starts.acquire_owned().await.ok();
                let never = std::future::pending();
                let driven = match transport {
                    Transport::Stdio => drive(&run, text, start, never).await,
                    Transport::Http => drive_http(&run, Site::start(Arc::new(played)), start, never).await,
                };
                (at, driven)
            });
        }
        let next = tokio::select! {
            next = running.join_next() => next,
            _ = &mut stop => {
                // Every run ends its own processes before it is gone.
                running.shutdown().await;
                return Err(Failure { text: "stopped; nothing is left running".into(), exit: Exit::Incomplete });
            }
        };
        let Some(next) = next else { break };
        let (at, driven) = next.map_err(Failure::internal)?;
        let subject = runs.get(at).map(|run| run.subject);
        ended.insert(at, driven.map_err(|error| not_started(&error, subject))?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(ended.into_values().collect())
}

fn not_started(error: &DriveError, subject: Option<&Subject>) -> Failure {
    let install = subject.and_then(|subject| subject.install.as_ref());
    let hint = install.map(|command| format!("; if it is not installed: {command}"));
    Failure::usage(format!("{error}{}", hint.unwrap_or_default()))
}

fn bar(runs: usize) -> ProgressBar {
    if runs == 0 || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} runs  {elapsed}");
    ProgressBar::new(runs as u64).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn driver_run(args: &ClientArgs, subject: &Subject) -> Result<DriverRun, Failure> {
    let exe = std::env::current_exe().map_err(Failure::internal)?.display().to_string();
    let stuck_after = stuck_after(subject.declared.longest_wait_us.map(Duration::from_micros));
    Ok(DriverRun {
        command: subject.command.clone(),
        directory: subject.directory.clone(),
        environment: match subject.transport {
            Transport::Stdio => BTreeMap::new(),
            Transport::Http => conformance_environment(SCENARIO, &args.mode),
        },
        server: vec![exe, "serve".into(), "stdio".into()],
        mode: args.mode.clone(),
        probe_timeout: Duration::from_millis(subject.probe_timeout_ms),
        // A driver that ended a standstill by itself would leave nothing to be seen.
        timeout: DRIVER_TIME.saturating_add(stuck_after),
        stuck_after,
        prints_line: subject.is_driver,
        bounds: Bounds::default(),
    })
}
