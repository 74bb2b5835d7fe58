//! The parse-and-select path: one answer to `server/discover`, classified, and the version selected.

use criterion::{Criterion, criterion_group, criterion_main};
use mcp_parley_negotiation::classify::classify_reply;
use mcp_parley_negotiation::issue::IssueSink;
use mcp_parley_negotiation::limits::Limits;
use mcp_parley_negotiation::version::Preferences;
use std::hint::black_box;

fn inputs() -> Vec<(&'static str, String)> {
    let discover = |versions: &str, more: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"complete","supportedVersions":[{versions}],"capabilities":{{"tools":{{"listChanged":true}},"resources":{{}}}},"_meta":{{"io.modelcontextprotocol/serverInfo":{{"name":"bench","version":"1"}}}}{more},"ttlMs":3600000,"cacheScope":"public"}}}}"#
        )
    };
    let many: Vec<String> =
        (0..1000).map(|n| format!("\"v{n}\"")).chain(["\"2026-07-28\"".to_owned()]).collect();
    vec![
        ("typical", discover("\"2026-07-28\",\"2025-11-25\"", r#","instructions":"Weather, and resources about it.""#)),
        ("1000 versions", discover(&many.join(","), "")),
        (
            "-32022",
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28"],"requested":"2027-01-01"}}}"#.into(),
        ),
        ("legacy error", r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}"#.into()),
        ("nesting 100000", "[".repeat(100_000)),
    ]
}

fn classify(c: &mut Criterion) {
    let (preferences, limits) = (Preferences::all(), Limits::DEFAULT);
    let mut group = c.benchmark_group("classify and select");
    for (name, input) in inputs() {
        group.bench_function(name, |b| {
            b.iter(|| {
                let mut issues = IssueSink::new();
                let reply = classify_reply(black_box(input.as_bytes()), &preferences, &limits, &mut issues);
                black_box((matches!(reply.id, mcp_parley_negotiation::envelope::Id::Absent), issues.count()))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, classify);
criterion_main!(benches);
