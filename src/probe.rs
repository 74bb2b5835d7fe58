pub(crate) fn run(_: &crate::cli::ProbeArgs) -> crate::exit::Ended { Ok(crate::exit::Exit::NothingJudged) }
