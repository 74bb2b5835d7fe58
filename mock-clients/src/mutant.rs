//! Client mutants: the reference client with one fault.

use include_dir::include_dir;
use mcp_parley_data::{self as data, Shelf};
use mcp_parley_negotiation::client::ClientDeviations;

static SHELF: Shelf<Mutant> = Shelf::new(include_dir!("$CARGO_MANIFEST_DIR/mutants"));

/// A client with one fault.
pub type Mutant = data::Mutant<ClientDeviations>;

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
        let deviates = |mutant: &Mutant| mutant.deviations != ClientDeviations::default();
        assert!(mutants().iter().all(|mutant| mutant.side == "client" && deviates(mutant)));
        assert!(mutants().len() >= 10);
    }
}
