//! Client mutants: a file names one deviation and the check that kills it.

use std::sync::OnceLock;

use mcp_parley_negotiation::client::ClientDeviations;
use serde::{Deserialize, Serialize};

use crate::data::{self, Kind};

/// A client with one fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutant {
    /// The schema number.
    pub schema: u32,
    /// Its name.
    pub id: String,
    /// Always `client`.
    pub side: String,
    /// The requirement or property whose check must be the first to see the fault.
    pub killed_by: String,
    /// The fault in one line.
    pub title: String,
    /// The fault.
    pub deviations: ClientDeviations,
}

/// All of them, in the order of their names.
pub fn mutants() -> &'static [Mutant] {
    static ALL: OnceLock<Vec<Mutant>> = OnceLock::new();
    ALL.get_or_init(|| data::embedded(Kind::Mutants))
}

/// The one of this name.
pub fn mutant(id: &str) -> Option<&'static Mutant> {
    mutants().iter().find(|mutant| mutant.id == id)
}
