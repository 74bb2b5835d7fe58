//! The simulator with the oracle judging every run, and hashes on: what `hunt` does.

use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mcp_parley_oracle::Severity;
use mcp_parley_sim::{Campaign, Setup};

fn hunt(c: &mut Criterion) {
    let setup = Arc::new(Setup::default());
    let campaign = Campaign { setup, seeds: 0..1024, workers: 1, max_findings: 0, fail_on: Severity::Error };
    let mut group = c.benchmark_group("hunt");
    group.throughput(Throughput::Elements(1024)).sample_size(20);
    group.bench_function("1024 seeds", |b| b.iter(|| campaign.run(|_| true).hash));
    group.finish();
}

criterion_group!(benches, hunt);
criterion_main!(benches);
