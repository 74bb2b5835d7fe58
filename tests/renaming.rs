//! The name of a mutant is for people: under another one the same faults give the same seeds and the same hashes.

#![expect(clippy::unwrap_used, reason = "helpers of tests may be blunt")]

use std::process::Command;
use std::sync::Arc;

use mcp_parley_mock_clients as mock_clients;
use mcp_parley_mock_servers as mock_servers;
use mcp_parley_mock_servers::{Draft, Persona};
use mcp_parley_negotiation::client::ClientDeviations;
use mcp_parley_negotiation::gate::GateDeviations;
use mcp_parley_oracle::Severity;
use mcp_parley_sim::{Campaign, Setup};
use mcp_parley_trace::Subject;
use serde_json::Value;

const SEEDS: u64 = 200;

/// The campaign's hash, and of each finding its rule, its seed and the hash of its run.
type Came = (String, Vec<(String, u64, String)>);

/// What the command makes of a mutant under its own name.
fn named(side: &str, id: &str) -> Came {
    let folder = tempfile::tempdir().unwrap();
    let (side, id, seeds) = (format!("--{side}"), format!("mutant:{id}"), format!("0..{SEEDS}"));
    let output = Command::new(env!("CARGO_BIN_EXE_mcp-parley"))
        .args(["hunt", "--format", "json", "--max-findings", "0", "--seeds", &seeds, &side, &id, "--out"])
        .arg(folder.path())
        .output()
        .unwrap();
    let came: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let of = |found: &Value| (text(&found["id"]), found["seed"].as_u64().unwrap(), text(&found["hash"]));
    (text(&came["hash"]), came["findings"].as_array().unwrap().iter().map(of).collect())
}

/// What comes out where nobody knows a name.
fn nameless(setup: Setup) -> Came {
    let (setup, seeds, fail_on) = (Arc::new(setup), 0..SEEDS, Severity::Error);
    let came = Campaign { setup, seeds, workers: 1, max_findings: 0, fail_on }.run(|_| true);
    let hex = |hash: u128| format!("{hash:032x}");
    let findings = came.findings.iter();
    let findings = findings.map(|found| (found.finding.id.to_owned(), found.seed, hex(found.hash)));
    (hex(came.hash), findings.collect())
}

fn setup(subject: Subject, client: ClientDeviations, server: GateDeviations) -> Setup {
    Setup { subject, client, server, ..Setup::default() }
}

#[test]
fn another_name_of_a_client_mutant_changes_no_seed_and_no_hash() {
    for mutant in mock_clients::mutants() {
        let renamed = setup(Subject::Client, mutant.deviations.clone(), GateDeviations::default());
        assert_eq!(named("client", &mutant.id), nameless(renamed), "{}", mutant.id);
    }
}

#[test]
fn another_name_of_a_server_mutant_changes_no_seed_and_no_hash() {
    for mutant in mock_servers::mutants() {
        let policy = mutant.base.policy.clone();
        let persona =
            Persona { policy, ..Persona::unmodified("another-name", "another title", mutant.base.profile) };
        let plain = setup(Subject::Server, ClientDeviations::default(), mutant.deviations.clone());
        let openings = mock_clients::openings().iter().cloned().map(Arc::new).collect();
        let renamed = Setup { servers: vec![Draft::of(&persona).unwrap()], openings, ..plain };
        assert_eq!(named("server", &mutant.id), nameless(renamed), "{}", mutant.id);
    }
}
