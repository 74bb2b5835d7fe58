//! No two personas are the same: over each transport every persona, with each of its choices, says something that no other one says.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_parley_mock_servers::{Draft, Played, personas};
use mcp_parley_negotiation::Time;
use mcp_parley_trace::Transport;

use crate::engine::{self, Reference};
use crate::scripts::{choices, played, scripts};
use crate::transcript::Transcript;

/// Also the pieces and their times: some personas differ in nothing else.
type Said = (Transcript, Vec<(Time, usize, usize)>);

/// All twelve conversations; over stdio with the first process, and with the one after it.
fn all(played: &Arc<Played>, transport: Transport) -> Vec<Said> {
    let of = |at: usize| -> Reference {
        let script = &scripts()[at % scripts().len()];
        match transport {
            Transport::Stdio => {
                engine::over_stdio(Arc::clone(played), u32::from(at >= scripts().len()), &script.stdio)
            }
            Transport::Http => engine::over_http(Arc::clone(played), &script.http),
        }
    };
    let count = if transport == Transport::Stdio { 2 * scripts().len() } else { scripts().len() };
    (0..count).map(of).map(|said| (said.transcript, said.pieces)).collect()
}

fn distinct(transport: Transport, fits: fn(&Draft) -> bool) {
    let mut said: BTreeMap<Vec<Said>, Vec<String>> = BTreeMap::new();
    for draft in personas().iter().filter(|draft| fits(draft)) {
        for choices in choices(draft) {
            let name = format!("{} {choices:?}", draft.id());
            said.entry(all(&played(draft, &choices), transport)).or_default().push(name);
        }
    }
    let same: Vec<String> =
        said.into_values().filter(|names| names.len() > 1).map(|names| names.join(" = ")).collect();
    assert!(same.is_empty(), "over {transport:?} {} are the same:\n{}", same.len(), same.join("\n"));
}

#[test]
fn no_two_personas_say_the_same_over_stdio() {
    distinct(Transport::Stdio, Draft::is_for_stdio);
}

#[test]
fn no_two_personas_say_the_same_over_http() {
    distinct(Transport::Http, Draft::is_for_http);
}
