//! The simulator against the engine alone: every persona with every choice.

use mcp_parley_mock_servers::{Draft, personas};
use mcp_parley_trace::Transport;

use crate::allowed::{Compared, Host};
use crate::scripts::{choices, played, scripts};
use crate::{engine, world};

fn compare(transport: Transport) -> Compared {
    let compared = Compared::default();
    let fits = |draft: &&Draft| match transport {
        Transport::Stdio => draft.is_for_stdio(),
        Transport::Http => draft.is_for_http(),
    };
    for draft in personas().iter().filter(fits) {
        for choices in choices(draft) {
            let played = played(draft, &choices);
            for script in scripts() {
                let (reference, opening) = match transport {
                    Transport::Stdio => (engine::over_stdio(played.clone(), 0, &script.stdio), &script.stdio),
                    Transport::Http => (engine::over_http(played.clone(), &script.http), &script.http),
                };
                let other = world::run(played.clone(), opening, transport);
                let script = format!("{} {choices:?}", script.id);
                compared.compare(
                    (Host::World, transport, draft.id(), &script),
                    &reference.transcript,
                    &other,
                );
            }
        }
    }
    compared
}

#[test]
fn the_simulator_without_faults_plays_each_persona_as_the_engine_does_over_stdio() {
    compare(Transport::Stdio).finish(Host::World, Transport::Stdio, 1000);
}

#[test]
fn the_simulator_without_faults_plays_each_persona_as_the_engine_does_over_http() {
    compare(Transport::Http).finish(Host::World, Transport::Http, 1000);
}
