//! A run as a sequence diagram, for a terminal and for Mermaid. All wire text in it is escaped.

mod heads;
mod mermaid;
mod rows;
mod text;

pub use mermaid::mermaid;
pub use text::text;
