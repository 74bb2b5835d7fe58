//! Files added to these folders are embedded by the next build: without this, only changes to files already embedded are seen.

fn main() {
    for folder in ["personas", "mutants"] {
        println!("cargo::rerun-if-changed={folder}");
    }
}
