//! The runs: a few at a time, and again where a client stood still.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use mcp_parley_hosts::{
    Bounds, DriveError, Driven, DriverRun, RunEnd, conformance_environment, drive, drive_http, stuck_after,
};
use mcp_parley_mock_servers::{Played, Site};
use mcp_parley_trace::Transport;
use tokio::sync::Semaphore;

use super::cases::{Case, control};
use super::judged::judge;
use super::peer::Subject;
use crate::cli::ClientArgs;
use crate::exit::Failure;
use crate::trial::{self, Ran, Standstill, starts};

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

/// Runs these, in their order.
async fn several(args: &ClientArgs, runs: &[Run<'_>]) -> Result<Vec<Driven>, Failure> {
    let starts = starts();
    let driven = runs.iter().map(|run| driven(args, *run, Arc::clone(&starts)));
    trial::several(args.jobs, driven.collect::<Result<Vec<_>, _>>()?).await
}

fn driven(
    args: &ClientArgs,
    run: Run<'_>,
    starts: Arc<Semaphore>,
) -> Result<impl Future<Output = Result<Driven, Failure>> + Send + 'static, Failure> {
    let persona = Arc::clone(&run.case.persona);
    let (transport, install) = (run.subject.transport, run.subject.install.clone());
    let run = driver_run(args, run.subject)?;
    let text = serde_json::to_string(&*persona).map_err(Failure::internal)?;
    let played = Played::new((*persona).clone()).map_err(Failure::usage)?;
    Ok(async move {
        // It is never closed; if it were, there would be nothing to wait for.
        let start = starts.acquire_owned().await.ok();
        let never = std::future::pending();
        let driven = match transport {
            Transport::Stdio => drive(&run, text, start, never).await,
            Transport::Http => drive_http(&run, Site::start(Arc::new(played)), start, never).await,
        };
        driven.map_err(|error| not_started(&error, install.as_deref()))
    })
}

fn not_started(error: &DriveError, install: Option<&str>) -> Failure {
    let hint = install.map(|command| format!("; if it is not installed: {command}"));
    Failure::usage(format!("{error}{}", hint.unwrap_or_default()))
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
