//! The hunt that the tests of campaigns share: the reference client against every persona.

use std::sync::Arc;

use mcp_parley_negotiation::client::ClientDeviations;
use mcp_parley_oracle::Severity;
use mcp_parley_sim::{Campaign, Setup};

pub(crate) fn setup(client: ClientDeviations) -> Arc<Setup> {
    Arc::new(Setup { client, ..Setup::default() })
}

pub(crate) fn campaign(setup: Arc<Setup>, seeds: std::ops::Range<u64>, workers: usize) -> Campaign {
    Campaign { setup, seeds, workers, max_findings: 0, fail_on: Severity::Error }
}
