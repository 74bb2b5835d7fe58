//! `server`: a real server before odd clients, each followed by a good request.

mod runs;
mod subject;
mod told;

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_parley_mock_clients::{Opening, opening, openings};
use mcp_parley_trace::Transport;

use crate::cli::ServerArgs;
use crate::exit::{Ended, Failure};
use crate::serve;
use crate::suggest::did_you_mean;
use crate::trial::{self, Tried};

use self::subject::{Subject, subjects};

pub(crate) fn run(args: &ServerArgs) -> Ended {
    let mut pairs = Vec::new();
    for subject in subjects(args)? {
        let wanted = wanted(args, subject.transport())?;
        pairs.push((subject, wanted));
    }
    let runs = serve::runtime()?.block_on(runs::all(args, &mut pairs))?;
    let mut tried = Vec::new();
    for ((subject, _), runs) in pairs.into_iter().zip(runs) {
        let transport = subject.transport();
        let Subject { name, sdk, install, .. } = subject;
        let detail = String::new();
        let one = Tried { name, sdk, transport, detail, install, runs, files: BTreeMap::new() };
        tried.push(Tried::of(&args.out, one)?);
    }
    trial::tell(&trial::SERVER, &tried, args.results.as_deref(), args.format)
}

/// The openings that the command line asks for, as far as this transport can play them; all of them if it names none.
fn wanted(args: &ServerArgs, transport: Transport) -> Result<Vec<Arc<Opening>>, Failure> {
    let fits = |opening: &&Opening| match transport {
        Transport::Stdio => opening.is_for_stdio(),
        Transport::Http => opening.is_for_http(),
    };
    if args.opening.is_empty() {
        return Ok(openings().iter().filter(fits).cloned().map(Arc::new).collect());
    }
    let mut wanted = Vec::new();
    for id in &args.opening {
        let Some(opening) = opening(id) else {
            let near = did_you_mean(id, openings().iter().map(|opening| &opening.id));
            return Err(Failure::usage(format!(
                "there is no opening named {id}; `mcp-parley list openings` shows all{near}"
            )));
        };
        if fits(&opening) {
            wanted.push(Arc::new(opening.clone()));
        }
    }
    Ok(wanted)
}
