//! `client`: a real client through the personas, each hosted for real and judged by the same oracle.

mod cases;
mod judged;
pub(crate) mod peer;
mod runs;
mod story;

use std::collections::BTreeMap;

use crate::cli::ClientArgs;
use crate::exit::Ended;
use crate::serve;
use crate::trial::{self, Tried};

use self::peer::Subject;

pub(crate) fn run(args: &ClientArgs) -> Ended {
    let subjects = peer::subjects(args)?;
    let mut pairs = Vec::new();
    for subject in subjects {
        let cases = cases::cases(args, subject.transport)?;
        pairs.push((subject, cases));
    }
    let runs = serve::runtime()?.block_on(runs::all(args, &pairs))?;
    let mut tried: Vec<Tried> = Vec::new();
    for ((subject, _), runs) in pairs.into_iter().zip(runs) {
        let detail = format!(", mode {}", args.mode);
        let Subject { name, sdk, transport, install, .. } = subject;
        tried.push(Tried::of(
            &args.out,
            Tried { name, sdk, transport, detail, install, runs, files: BTreeMap::new() },
        )?);
    }
    trial::tell(&trial::CLIENT, &tried, args.results.as_deref(), args.format)
}
