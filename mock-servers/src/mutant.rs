//! Server mutants: a file names one deviation of the gate and the check that kills it.

use std::sync::OnceLock;

use mcp_parley_negotiation::gate::GateDeviations;
use serde::{Deserialize, Serialize};

use crate::files;
use crate::persona::{PolicyTable, Profile};

/// A server with one fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutant {
    /// The schema number.
    pub schema: u32,
    /// Its name.
    pub id: String,
    /// Always `server`.
    pub side: String,
    /// The requirement or property whose check must be the first to see the fault.
    pub killed_by: String,
    /// The fault in one line.
    pub title: String,
    /// What the server is but for its fault.
    pub profile: Profile,
    /// What it legally chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicyTable>,
    /// The fault.
    pub deviations: GateDeviations,
}

/// All of them, in the order of their names.
pub fn mutants() -> &'static [Mutant] {
    static ALL: OnceLock<Vec<Mutant>> = OnceLock::new();
    ALL.get_or_init(|| {
        files::mutant_texts().into_iter().filter_map(|(_, text)| toml::from_str(text).ok()).collect()
    })
}

/// The one of this name.
pub fn mutant(id: &str) -> Option<&'static Mutant> {
    mutants().iter().find(|mutant| mutant.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_embedded_file_is_read() {
        for (path, text) in files::mutant_texts() {
            let mutant: Mutant = toml::from_str(text).unwrap();
            assert_eq!((format!("{}.toml", mutant.id).as_str(), mutant.schema), (path, 1));
            assert_ne!(mutant.deviations, GateDeviations::default(), "{path} deviates in nothing");
        }
        assert!(files::mutant_texts().len() >= 5);
    }
}
