//! No two personas are the same: over each transport every persona, with each of its choices, says something that no other one says.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_parley_mock_servers::{Draft, Played, personas};
use mcp_parley_trace::Transport;

use crate::engine;
use crate::scripts::{choices, played, scripts};
use crate::transcript::Transcript;

/// All twelve conversations; over stdio with the first process, and with the one after it.
fn all(played: &Arc<Played>, transport: Transport) -> Vec<Transcript> {
    let of = |at: usize| {
        let script = &scripts()[at % scripts().len()];
        match transport {
            Transport::Stdio => {
                engine::over_stdio(Arc::clone(played), u32::from(at >= scripts().len()), &script.stdio).0
            }
            Transport::Http => engine::over_http(Arc::clone(played), &script.http).0,
        }
    };
    let count = if transport == Transport::Stdio { 2 * scripts().len() } else { scripts().len() };
    (0..count).map(of).collect()
}

fn distinct(transport: Transport, fits: fn(&Draft) -> bool) {
    let mut said: BTreeMap<Vec<Transcript>, Vec<String>> = BTreeMap::new();
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
