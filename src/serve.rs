pub(crate) fn run(_: &crate::cli::ServeArgs) -> crate::exit::Ended { Ok(crate::exit::Exit::NothingJudged) }
