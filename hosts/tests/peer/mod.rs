//! Where the program is that plays both sides.

use std::path::PathBuf;

/// Cargo builds the examples together with the tests, into the folder beside theirs.
pub(crate) fn peer() -> String {
    let test = std::env::current_exe().unwrap();
    let folder: PathBuf = test.ancestors().nth(2).unwrap().join("examples");
    folder.join(format!("peer{}", std::env::consts::EXE_SUFFIX)).to_string_lossy().into_owned()
}
