//! The judge: reads a recorded run and nothing else, and says which requirements and properties its subject kept.
//!
//! It depends on the trace only. Its reading of lines, JSON, versions and codes is its own, so that a bug in the code
//! on trial cannot hide itself. [`Judge::judge`] gives [`Verdicts`]; [`Verdicts::finding`] the one thing to tell a user;
//! [`requirement`], [`property`] and [`contested_row`] what an id means.

mod catalogue;
mod checks;
mod compare;
mod json;
mod judge;
mod known;
mod story;
mod verdict;

pub use catalogue::{
    CatalogueError, Contested, EraScope, Level, Property, Reading, Requirement, Role, Severity, Source,
    contested, contested_row, properties, property, requirement, requirements, severity, validate,
};
pub use checks::{CHECKS, Check};
pub use compare::compare;
pub use judge::Judge;
pub use known::{MODERN_CODES, VERSIONS, era_of};
pub use verdict::{EVIDENCE, Finding, Verdict, Verdicts};
