//! `show`: a recorded run for people.

use mcp_parley_trace::{ReadOptions, diagram, read_file};

use crate::cli::{Shape, ShowArgs};
use crate::exit::{Ended, Exit, Failure};

pub(crate) fn run(args: &ShowArgs) -> Ended {
    let options = ReadOptions { allow_truncated: args.allow_truncated };
    let file = read_file(&args.file, options).map_err(Failure::usage)?;
    let text = match args.shape {
        Shape::Text => diagram::text(&file.header, &file.recording, file.footer.as_ref()),
        Shape::Mermaid => diagram::mermaid(&file.header, &file.recording, file.footer.as_ref()),
    };
    crate::say::text(format_args!("{text}"));
    Ok(Exit::Fine)
}
