//! The arrows between the crates, as `cargo tree` sees them, and the tables that two crates keep apart.

#![expect(clippy::unwrap_used, reason = "helpers of tests may be blunt")]

use std::collections::BTreeSet;
use std::process::Command;

fn tree(package: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args([
            "tree",
            "--offline",
            "--locked",
            "--edges",
            "normal",
            "--prefix",
            "none",
            "--package",
            package,
        ])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

fn ours(package: &str) -> Vec<String> {
    tree(package).into_iter().filter(|name| name.starts_with("mcp-parley-") && name != package).collect()
}

#[test]
fn the_arrows_hold() {
    assert!(ours("mcp-parley-negotiation").is_empty());
    assert!(ours("mcp-parley-trace").is_empty());
    // One parser bug must not blind both.
    assert_eq!(ours("mcp-parley-oracle"), ["mcp-parley-trace"]);
    assert!(ours("mcp-parley-data").is_empty());
    assert_eq!(ours("mcp-parley-mock-servers"), ["mcp-parley-data", "mcp-parley-negotiation"]);
    assert_eq!(ours("mcp-parley-mock-clients"), ["mcp-parley-data", "mcp-parley-negotiation"]);
    for deterministic in ["negotiation", "data", "trace", "oracle", "mock-servers", "mock-clients", "sim"] {
        assert!(
            !tree(&format!("mcp-parley-{deterministic}")).contains("tokio"),
            "{deterministic} needs tokio"
        );
    }
    assert!(tree("mcp-parley-hosts").contains("tokio"), "the test would not see it");
}

#[test]
fn the_two_tables_of_versions_agree() {
    let theirs: BTreeSet<&str> =
        mcp_parley_negotiation::version::REVISIONS.iter().map(|(name, _)| *name).collect();
    let own: BTreeSet<&str> = mcp_parley_oracle::VERSIONS.iter().map(|(name, _)| *name).collect();
    assert_eq!(theirs, own);
    for name in theirs {
        let negotiation = mcp_parley_negotiation::version::era_of(name).map(|era| format!("{era:?}"));
        assert_eq!(negotiation, mcp_parley_oracle::era_of(name).map(|era| format!("{era:?}")), "{name}");
    }
    for (code, name) in mcp_parley_oracle::MODERN_CODES {
        assert!(mcp_parley_negotiation::codes::is_recognised_modern(*code), "{code}");
        let known = mcp_parley_negotiation::codes::ALL.iter().find(|known| known.code == *code);
        assert_eq!(known.map(|known| known.name), Some(*name));
    }
}
