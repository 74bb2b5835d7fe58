//! The simulator with the oracle judging every run, and hashes on: what `hunt` does.

use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mcp_parley_mock_servers::personas;
use mcp_parley_oracle::Severity;
use mcp_parley_sim::{Campaign, Setup};
use mcp_parley_trace::Subject;

fn hunt(c: &mut Criterion) {
    let setup = Arc::new(Setup {
        subject: Subject::Client,
        client: Default::default(),
        servers: personas().to_vec(),
        server: Default::default(),
        openings: Vec::new(),
        mode: None,
    });
    let campaign = Campaign { setup, seeds: 0..1024, workers: 1, max_findings: 0, fail_on: Severity::Error };
    let mut group = c.benchmark_group("hunt");
    group.throughput(Throughput::Elements(1024)).sample_size(20);
    group.bench_function("1024 seeds", |b| b.iter(|| campaign.run(|_| true).hash));
    group.finish();
}

criterion_group!(benches, hunt);
criterion_main!(benches);
