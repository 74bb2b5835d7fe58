//! A campaign in a few lines: the reference client against every persona, each run judged.
//!
//! ```text
//! campaign SEEDS    prints each distinct finding, then how much was run
//! ```
#![expect(clippy::print_stdout, reason = "it is a program")]

use std::sync::Arc;

use mcp_parley_oracle::Severity;
use mcp_parley_sim::{Campaign, Setup};

fn main() {
    let seeds = std::env::args().nth(1).and_then(|seeds| seeds.parse().ok()).unwrap_or(10_000);
    let setup = Setup::default();
    let campaign = Campaign {
        setup: Arc::new(setup),
        seeds: 0..seeds,
        workers: std::thread::available_parallelism().map_or(1, usize::from),
        max_findings: 0,
        fail_on: Severity::Error,
    };
    let progress = campaign.run(|_| true);
    for found in &progress.findings {
        println!("{} in seed {}: {}", found.finding.id, found.seed, found.finding.reason);
    }
    for (seed, why) in &progress.broken.first {
        println!("seed {seed} could not be run: {why}");
    }
    println!(
        "{} runs, {} personas, {} findings",
        progress.runs,
        progress.servers.len(),
        progress.findings.len()
    );
}
