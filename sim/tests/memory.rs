//! What a campaign keeps does not grow with its runs. The allocator counts every byte; nothing is timed.

mod common;

use std::sync::Arc;

use mcp_parley_negotiation::client::ClientDeviations;
use mcp_parley_sim::{Progress, Setup};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

const FEW: u64 = 6_000;
const MANY: u64 = 24_000;
/// Less than four bytes for each run more. Buffers that are kept from run to run grow to the longest run, which may come late.
const SLACK: usize = 64 << 10;
/// What the blocks of runs take that are under way; how many of them are at once depends on the machine.
const UNDER_WAY: usize = 1 << 20;

/// What a campaign of so many runs had in use when the last of them was in, and the most that it had at once, in bytes.
fn used(setup: &Arc<Setup>, runs: u64, mut watch: impl FnMut(&Progress)) -> (usize, usize) {
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    let mut at_the_end = 0;
    let progress = common::campaign(Arc::clone(setup), 0..runs, 1).run(|progress| {
        watch(progress);
        at_the_end = ALLOCATOR.current_usage() - before;
        true
    });
    assert_eq!(progress.runs, runs);
    (at_the_end, ALLOCATOR.peak_usage() - before)
}

/// One test, so that nothing else allocates meanwhile.
#[test]
fn ten_times_the_runs_take_the_same_memory() {
    let setup = common::setup(ClientDeviations::default());
    // A drawer keeps the concrete personas that it has made. Of these all are made soon; those with open values are finitely
    // many as well, but the rarest of them come late.
    let closed = setup.servers.iter().filter(|draft| draft.open_points().is_empty()).cloned().collect();
    let setup = Arc::new(Setup { servers: closed, ..(*setup).clone() });
    // Of what goes wrong the same number is kept, however often it does.
    let nobody = Arc::new(Setup { servers: Vec::new(), ..(*setup).clone() });
    used(&setup, 1, |_| {});
    for setup in [&setup, &nobody] {
        let (few, many) = (used(setup, FEW, |_| {}), used(setup, MANY, |_| {}));
        assert!(many.0.abs_diff(few.0) < SLACK, "{few:?} bytes for {FEW} runs, {many:?} for {MANY}");
        assert!(many.1.abs_diff(few.1) < UNDER_WAY, "{few:?} bytes for {FEW} runs, {many:?} for {MANY}");
    }
    // Somebody who keeps four bytes a run is noticed.
    let few = used(&nobody, FEW, |_| {});
    let mut kept: Vec<u32> = Vec::new();
    let many = used(&nobody, MANY, |progress| kept.resize(kept.len().max(progress.runs as usize), 0));
    assert!(many.0.abs_diff(few.0) >= SLACK, "{few:?} and {many:?} bytes");
}
