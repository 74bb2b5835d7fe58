//! The runs: a few at a time, and again where a client stood still.

use std::collections::{BTreeMap, VecDeque};
use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use mcp_parley_hosts::{Bounds, DriveError, Driven, DriverRun, RunEnd, asked_to_end, drive, stuck_after};
use tokio::task::JoinSet;

use super::cases::{Case, control};
use super::judged::{Ran, Standstill, judge};
use super::peer::Subject;
use crate::cli::ClientArgs;
use crate::exit::{Exit, Failure};

/// The driver's own time-out: start-up, probe, initialize, call and close, all at their slowest.
const DRIVER_TIMEOUT: Duration = Duration::from_secs(40);

/// Runs them all, in the order of the cases whatever the order in which they end.
pub(crate) async fn all(args: &ClientArgs, subject: &Subject, cases: &[Case]) -> Result<Vec<Ran>, Failure> {
    let every: Vec<&Case> = cases.iter().collect();
    let driven = several(args, subject, &every).await?;
    let still: Vec<usize> =
        (0..).zip(&driven).filter(|(_, run)| run.end == RunEnd::Stuck).map(|(at, _)| at).collect();
    let standstills = again(args, subject, cases, &still).await?;
    let judged = (0..).zip(cases).zip(driven).map(|((at, case), run)| {
        let standstill = standstills.get(&at).copied().unwrap_or(Standstill::Proven);
        judge(args.fail_on.into(), subject, case, run, standstill)
    });
    Ok(judged.collect())
}

/// Runs those that stood still twice more, and a well-behaved server for comparison.
async fn again(
    args: &ClientArgs,
    subject: &Subject,
    cases: &[Case],
    still: &[usize],
) -> Result<BTreeMap<usize, Standstill>, Failure> {
    if still.is_empty() {
        return Ok(BTreeMap::new());
    }
    let control = control()?;
    let mut more = vec![&control];
    more.extend(still.iter().filter_map(|at| cases.get(*at)).flat_map(|case| [case, case]));
    let driven = several(args, subject, &more).await?;
    let (first, rest) =
        driven.split_first().ok_or_else(|| Failure::internal("the comparison was not run"))?;
    let is_still = |run: &Driven| run.end == RunEnd::Stuck;
    let pairs = still.iter().zip(rest.chunks(2));
    Ok(pairs
        .map(|(at, pair)| {
            let standstill = match 1 + pair.iter().filter(|run| is_still(run)).count() {
                _ if is_still(first) => Standstill::Always,
                3 => Standstill::Proven,
                times => Standstill::Sometimes(times),
            };
            (*at, standstill)
        })
        .collect())
}

/// Runs these, in their order whatever the order in which they end.
async fn several(args: &ClientArgs, subject: &Subject, cases: &[&Case]) -> Result<Vec<Driven>, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = args.jobs.unwrap_or(2 * cores);
    let bar = bar(cases.len(), &subject.name);
    let mut waiting: VecDeque<(usize, &Case)> = (0..).zip(cases.iter().copied()).collect();
    let mut running: JoinSet<(usize, Result<Driven, DriveError>)> = JoinSet::new();
    let mut ended: BTreeMap<usize, Driven> = BTreeMap::new();
    let mut stop = std::pin::pin!(asked_to_end());
    loop {
        while running.len() < jobs
            && let Some((at, case)) = waiting.pop_front()
        {
            let run = driver_run(args, subject)?;
            let persona = serde_json::to_string(&*case.persona).map_err(Failure::internal)?;
            running.spawn(async move { (at, drive(&run, persona, std::future::pending()).await) });
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
        ended.insert(at, driven.map_err(|error| not_started(&error, subject))?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(ended.into_values().collect())
}

fn not_started(error: &DriveError, subject: &Subject) -> Failure {
    let hint = subject.install.as_ref().map(|command| format!("; if it is not installed: {command}"));
    Failure::usage(format!("{error}{}", hint.unwrap_or_default()))
}

fn bar(runs: usize, name: &str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg} {bar:30} {pos}/{len} personas  {elapsed}");
    let bar =
        ProgressBar::new(runs as u64).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message(name.to_owned());
    bar
}

fn driver_run(args: &ClientArgs, subject: &Subject) -> Result<DriverRun, Failure> {
    let exe = std::env::current_exe().map_err(Failure::internal)?.display().to_string();
    let longest = subject.declared.longest_wait_us.map(Duration::from_micros);
    Ok(DriverRun {
        command: subject.command.clone(),
        directory: subject.directory.clone(),
        server: vec![exe, "serve".into(), "stdio".into()],
        mode: args.mode.clone(),
        probe_timeout: Duration::from_millis(subject.probe_timeout_ms),
        timeout: DRIVER_TIMEOUT,
        stuck_after: stuck_after(longest),
        prints_line: subject.is_driver,
        bounds: Bounds::default(),
    })
}
