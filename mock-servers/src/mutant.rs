//! Server mutants: a server that would be correct but for one fault of its gate.

use include_dir::include_dir;
use mcp_parley_data::{self as data, Shelf};
use mcp_parley_negotiation::gate::GateDeviations;
use serde::{Deserialize, Serialize};

use crate::persona::{PolicyTable, Profile};

static SHELF: Shelf<Mutant> = Shelf::new(include_dir!("$CARGO_MANIFEST_DIR/mutants"));

/// A server with one fault.
pub type Mutant = data::Mutant<GateDeviations, Base>;

/// What a mutant is but for its fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Base {
    /// The kind of server.
    pub profile: Profile,
    /// What it legally chooses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicyTable>,
}

impl Default for Base {
    fn default() -> Self {
        Self { profile: Profile::Modern, policy: None }
    }
}

/// All of them, in the order of their names.
pub fn mutants() -> &'static [Mutant] {
    SHELF.all()
}

/// The one of this name.
pub fn mutant(id: &str) -> Option<&'static Mutant> {
    SHELF.get(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_read_and_deviates() {
        assert_eq!(SHELF.problems(), [""; 0]);
        let deviates = |mutant: &Mutant| mutant.deviations != GateDeviations::default();
        assert!(mutants().iter().all(|mutant| mutant.side == "server" && deviates(mutant)));
        assert!(mutants().len() >= 5);
    }
}
