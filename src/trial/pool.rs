//! Runs, a few at a time.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::io::IsTerminal;
use std::sync::Arc;

use indicatif::{ProgressBar, ProgressStyle};
use mcp_parley_hosts::asked_to_end;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::exit::{Exit, Failure};

/// Waiting is not work: so many runs are under way at a time.
const RUNS_PER_CORE: usize = 8;

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A permit for each core: to start is work.
pub(crate) fn starts() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(cores()))
}

/// Runs these; what comes of them is in their order whatever the order in which they end. The first failure ends all.
pub(crate) async fn several<T: Send + 'static>(
    jobs: Option<usize>,
    runs: Vec<impl Future<Output = Result<T, Failure>> + Send + 'static>,
) -> Result<Vec<T>, Failure> {
    let jobs = jobs.unwrap_or(RUNS_PER_CORE * cores());
    let bar = bar(runs.len());
    let mut waiting: VecDeque<_> = (0_usize..).zip(runs).collect();
    let mut running = JoinSet::new();
    let mut ended: BTreeMap<usize, T> = BTreeMap::new();
    let mut stop = std::pin::pin!(asked_to_end());
    loop {
        while running.len() < jobs
            && let Some((at, run)) = waiting.pop_front()
        {
            running.spawn(async move { (at, run.await) });
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
        let (at, came) = next.map_err(Failure::internal)?;
        ended.insert(at, came?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(ended.into_values().collect())
}

fn bar(runs: usize) -> ProgressBar {
    if runs == 0 || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} runs  {elapsed}");
    ProgressBar::new(runs as u64).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
