//! Exit codes, and the errors that lead to them.

use std::process::ExitCode;

/// How the program ends. When several apply, the first of this list does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// We are broken: 70.
    Internal,
    /// The same seed gave two different runs: 6.
    Unstable,
    /// The command line or a file named on it is wrong: 2.
    Usage,
    /// Something was found: 1.
    Findings,
    /// It applied, and could not be shown: 3.
    Incomplete,
    /// Nothing was judged: 4.
    NothingJudged,
    /// All is well: 0.
    Fine,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Findings => 1,
            Self::Usage => 2,
            Self::Incomplete => 3,
            Self::NothingJudged => 4,
            Self::Unstable => 6,
            Self::Internal => 70,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// One line that says what is wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{}", one_line(text))]
pub(crate) struct Failure {
    pub(crate) text: String,
    pub(crate) exit: Exit,
}

impl Failure {
    pub(crate) fn usage(text: impl std::fmt::Display) -> Self {
        Self { text: text.to_string(), exit: Exit::Usage }
    }

    pub(crate) fn internal(text: impl std::fmt::Display) -> Self {
        Self { text: format!("{text} (this is a bug in mcp-parley)"), exit: Exit::Internal }
    }
}

/// A longer line says no more.
const COLUMNS: usize = 2000;

/// Names and texts come from files and command lines: none of them may act on the terminal. Backslashes stay, for paths.
fn one_line(text: &str) -> String {
    let pieces: Vec<String> =
        text.split('\\').map(|piece| mcp_parley_trace::escape(piece.as_bytes(), COLUMNS)).collect();
    pieces.join("\\")
}

/// What every subcommand gives back.
pub(crate) type Ended = Result<Exit, Failure>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_one_line_whatever_it_names() {
        let said = Failure::usage("C:\\no\u{1b}[2J\n.toml: gone").to_string();
        assert_eq!(said, "C:\\no\\u{1b}[2J\\n.toml: gone");
    }
}
