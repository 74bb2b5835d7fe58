//! Data files: TOML with a schema number, embedded in the program or named by a user.
//!
//! What is wrong with a file is said in one line: the file, the line in it, and what is allowed.

mod file;
mod mutant;
mod shelf;

pub use file::{LoadError, SCHEMA, line_at, load, parse, text_of};
pub use mutant::Mutant;
pub use shelf::{Named, Shelf, texts};
