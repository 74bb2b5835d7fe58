//! Mutants: a file names one deviation and the check that kills it.

use serde::{Deserialize, Serialize};

use crate::shelf::Named;

/// One side with one fault: `D` has the switches for faults, `B` says what the side is but for its fault, if there is a choice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutant<D, B = ()> {
    /// The schema number.
    pub schema: u32,
    /// Its name; that of its file.
    pub id: String,
    /// `client` or `server`.
    pub side: String,
    /// The requirement or property whose check must be the first to see the fault.
    pub killed_by: String,
    /// The fault in one line.
    pub title: String,
    /// `stdio` or `http`, if it shows over one of them only, or is killed as named over one only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// What it is but for its fault.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub base: B,
    /// The fault.
    pub deviations: D,
}

impl<D, B> Named for Mutant<D, B> {
    fn id(&self) -> &str {
        &self.id
    }
}

fn is_nothing<B>(_: &B) -> bool {
    size_of::<B>() == 0
}
