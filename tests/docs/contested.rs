//! `docs/contested.md` is made from the catalogue. `UPDATE_DOCS=1 cargo test --test docs` writes it.

use std::fmt::Write as _;
use std::path::Path;

use mcp_parley_negotiation::client::ClientPolicy;
use mcp_parley_negotiation::gate::GatePolicy;
use mcp_parley_oracle::{CHECKS, Contested, Role, contested};
use mcp_parley_trace::Transport;
use serde_json::Value;

const INTRODUCTION: &str = "# Where the specification leaves it open

Written by a test from `oracle/catalogue/contested/`; do not edit.

Each question has at least two readings, each a passage of revision 2026-07-28 unless the page says otherwise, in our own words, with the
lines of the page's source. Where a run comes to the question, the judge reports which outcome it saw. Every outcome of the table is
allowed, so none is ever a finding; anything else is judged by the requirements. `mcp-parley explain AMB-03` prints one row, `peers/RESULTS.md`
says what real clients do.

A *policy field* chooses what the reference client or a mock server does. Seeds draw the client's fields; a persona sets the server's under
`policy`.
";

fn page() -> String {
    let (client, server) = (ClientPolicy::default(), GatePolicy::default());
    let (client, server) = (serde_json::to_value(client).unwrap(), serde_json::to_value(server).unwrap());
    let mut out = INTRODUCTION.to_owned();
    for row in contested() {
        let _ = writeln!(out, "\n## {}: {}\n\n{}\n\n{}\n", row.id, row.title, scope(row), row.text);
        for reading in &row.readings {
            let (page, section, lines) = (&reading.page, &reading.section, &reading.lines);
            let _ = writeln!(out, "- {page}, *{section}*, lines {lines}: {}", reading.says);
        }
        out.push_str("\n| allowed | what is seen |\n|---|---|\n");
        for name in &row.allowed {
            let _ = writeln!(out, "| `{name}` | {} |", row.outcomes[name].replace('|', "\\|"));
        }
        let fields: Vec<String> = row.policy.iter().map(|name| field(name, &client, &server)).collect();
        if !fields.is_empty() {
            let _ = writeln!(out, "\nPolicy: {}.", fields.join("; "));
        }
    }
    out
}

fn scope(row: &Contested) -> String {
    let roles = row.roles.iter().map(|role| if *role == Role::Client { "clients" } else { "servers" });
    let over = row.transports.iter().map(|over| if *over == Transport::Stdio { "stdio" } else { "HTTP" });
    let (roles, over) = (roles.collect::<Vec<_>>().join(" and "), over.collect::<Vec<_>>().join(" and "));
    let state = match (&row.settled, &row.partly_settled) {
        (Some(rows), _) => format!("Settled by {rows}: breaking these is a violation."),
        (None, Some(rows)) => format!("Partly settled by {rows}. {}", judged(row)),
        (None, None) => judged(row).to_owned(),
    };
    format!("For {roles}, over {over}. {state}")
}

fn judged(row: &Contested) -> &'static str {
    let is = CHECKS.iter().any(|check| check.id == row.id);
    if is { "The judge reports it." } else { "The judge does not report it yet." }
}

/// Whose field it is, and what it is unless it is set.
fn field(name: &str, client: &Value, server: &Value) -> String {
    let default = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match (client.get(name), server.get(name)) {
        (Some(value), None) => format!("`{name}` of the client, `{}` unless set", default(value)),
        (None, Some(value)) => format!("`{name}` of the server, `{}` unless set", default(value)),
        (None, None) => format!("`{name}`, which no policy has yet"),
        (Some(_), Some(_)) => panic!("{name} is a field of both policies"),
    }
}

#[test]
fn the_page_is_the_catalogue() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/contested.md");
    let expected = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let first = (1..).zip(expected.lines()).find(|(at, line)| found.lines().nth(at - 1) != Some(line));
    assert!(
        found == expected,
        "docs/contested.md is stale at {first:?}; UPDATE_DOCS=1 cargo test --test docs writes it"
    );
}

#[test]
fn every_contested_field_of_a_policy_is_named_by_its_row() {
    let named: Vec<&String> = contested().iter().flat_map(|row| &row.policy).collect();
    let own =
        ["mode", "preferences", "probe_timeout_us", "request_timeout_us", "cached_era", "modern", "legacy"];
    let plain = ["list_legacy", "methods", "ttl_ms", "cache_public", "http", "end_session", "listen"];
    for policy in [
        serde_json::to_value(ClientPolicy::default()).unwrap(),
        serde_json::to_value(GatePolicy::default()).unwrap(),
    ] {
        let fields = policy.as_object().unwrap().keys();
        for field in fields.filter(|name| !own.contains(&name.as_str()) && !plain.contains(&name.as_str())) {
            assert!(named.contains(&field), "{field} is in no row");
        }
    }
}
