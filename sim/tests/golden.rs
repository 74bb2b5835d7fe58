//! The runs of the first thousand seeds, held to what they were: the same on every machine, in debug and in release, until
//! somebody means to change them.

mod common;

use std::fmt::Write;

use mcp_parley_negotiation::client::ClientDeviations;
use mcp_parley_oracle::Severity;
use mcp_parley_sim::{Drawer, record};

/// What writes the file anew.
const COMMAND: &str = "BLESS=1 cargo test -p mcp-parley-sim --test golden";
const SEEDS: u64 = 1000;
/// Seeds 0 and 997.
const REPEATED: u64 = 2;

#[test]
fn the_first_thousand_seeds_give_the_runs_that_they_gave() {
    let setup = common::setup(ClientDeviations::default());
    let progress = common::campaign(setup.clone(), 0..SEEDS, 2).run(|_| true);
    assert_eq!((progress.runs, progress.repeated, progress.unstable.count), (SEEDS, REPEATED, 0));
    assert_eq!(progress.broken.first, []);
    let mut found = format!("campaign {:032x}\n", progress.hash);
    let mut drawer = Drawer::new(setup);
    for seed in 0..SEEDS {
        let run = record(&mut drawer, seed, Severity::Error).unwrap();
        writeln!(found, "{seed} {}", run.footer.hash).unwrap();
    }
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/seeds-0-1000.txt");
    if std::env::var_os("BLESS").is_some() {
        return std::fs::write(golden, found).unwrap();
    }
    let expected = std::fs::read_to_string(golden).unwrap();
    if expected != found {
        let differs = expected.lines().zip(found.lines()).skip(1).find(|(was, is)| was != is);
        panic!("the first run that differs was and is {differs:?}. If that is meant:\n  {COMMAND}");
    }
}
