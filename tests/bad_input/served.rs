//! What a client writes to a hosted server: it answers what it can, and goes on.

use super::harness::{Bench, repeat};
use super::{DEEP, LONG};

const DISCOVER: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientInfo\":{\"name\":\"x\",\"version\":\"0\"},\"io.modelcontextprotocol/clientCapabilities\":{}}}}\n";
const PARSE_ERROR: &str = r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}"#;
const SERVE: [&str; 4] = ["serve", "stdio", "--persona", "modern"];

/// The bad line is answered with a parse error, the good one behind it as ever.
fn survived(feed: impl FnOnce(&mut dyn std::io::Write) + Send) {
    let ended = Bench::new().fed(&SERVE, |stdin| {
        feed(stdin);
        stdin.write_all(b"\n").unwrap();
        stdin.write_all(DISCOVER).unwrap();
    });
    let lines: Vec<&str> = ended.out.lines().collect();
    assert_eq!((ended.code, ended.err.as_str(), lines.len()), (Some(0), "", 2), "{}", ended.out);
    assert_eq!(lines[0], PARSE_ERROR);
    assert!(lines[1].contains(r#""supportedVersions":["2026-07-28"]"#), "{}", ended.out);
}

#[test]
fn a_line_of_100_mb() {
    survived(|stdin| {
        stdin.write_all(b"{\"a\":\"").unwrap();
        repeat(stdin, b"a", LONG);
        stdin.write_all(b"\"}").unwrap();
    });
}

#[test]
fn invalid_utf_8() {
    survived(|stdin| stdin.write_all(b"{\"caf\xe9\":1}").unwrap());
}

#[test]
fn one_hundred_thousand_levels_of_nesting() {
    survived(|stdin| {
        repeat(stdin, b"[", DEEP);
        repeat(stdin, b"]", DEEP);
    });
}

#[test]
fn a_flood() {
    let ended = Bench::new().fed(&SERVE, |stdin| repeat(stdin, DISCOVER, DISCOVER.len() * 20_000));
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
}

/// The trace that a process writes of itself is bounded; it is left whole, and can be shown.
#[test]
#[cfg_attr(debug_assertions, ignore = "slow without optimisation")]
fn a_flood_that_fills_the_trace() {
    let bench = Bench::new();
    let ended =
        bench.fed(&[&SERVE[..], &["--trace", "traces"]].concat(), |stdin| repeat(stdin, b"\n", 4 << 30));
    let full = "the trace is full: 67108864 bytes or 262144 events; the server was ended, and its trace shows the run up to here";
    assert_eq!(ended.err, format!("mcp-parley: --trace traces: {full}\n"));
    assert_eq!((ended.code, ended.out.as_str()), (Some(3), ""));
    let shown = bench.run(&["show", "traces/stdio-0.jsonl"]);
    assert_eq!((shown.code, shown.err.as_str()), (Some(0), ""));
    let size = bench.path().join("traces/stdio-0.jsonl").metadata().unwrap().len();
    assert!(size < 512 << 20, "{size}");
}
