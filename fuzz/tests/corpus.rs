//! Every corpus file, replayed as an ordinary test.

use std::path::{Path, PathBuf};

fn files(target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/fuzz").join(target);
    let mut files = Vec::new();
    for kind in ["named", "found"] {
        let Ok(entries) = std::fs::read_dir(folder.join(kind)) else { continue };
        files.extend(entries.map(|entry| entry.unwrap().path()));
    }
    files.sort();
    assert!(files.len() >= 5, "{target} has hardly a corpus: {files:?}");
    files
}

#[test]
fn classify() {
    for file in files("classify") {
        eprintln!("{}", file.display());
        mcp_parley_fuzz::classify(&std::fs::read(file).unwrap());
    }
}

#[test]
fn client() {
    for file in files("client") {
        eprintln!("{}", file.display());
        mcp_parley_fuzz::client(&std::fs::read(file).unwrap());
    }
}
