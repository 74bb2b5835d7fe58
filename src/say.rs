//! Standard output. A reader that has gone away, as `head` does, and a full disk are no bugs: the program ends, since what it has
//! found can no longer be told.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write};

use crate::exit::Exit;

/// Prints a line.
macro_rules! say {
    ($($text:tt)*) => { $crate::say::text(format_args!("{}\n", format_args!($($text)*))) };
}
pub(crate) use say;

/// Prints text as it is.
pub(crate) fn text(text: Arguments<'_>) {
    let mut out = anstream::stdout();
    if let Err(error) = out.write_fmt(text).and_then(|()| out.flush()) {
        if error.kind() != ErrorKind::BrokenPipe {
            let _ = writeln!(anstream::stderr(), "mcp-parley: standard output cannot be written: {error}");
        }
        std::process::exit(Exit::Incomplete.code().into());
    }
}
