//! Every odd input meets every correct server, over every transport that both have: nothing is found, and the good request behind it
//! is answered.

#![expect(clippy::unwrap_used, reason = "helpers of tests may be blunt")]

use std::sync::Arc;

use mcp_parley_mock_clients::{Good, Opening, openings};
use mcp_parley_mock_servers::{Draft, Persona, Played, mutants, persona};
use mcp_parley_negotiation::gate::GateDeviations;
use mcp_parley_oracle::Judge;
use mcp_parley_sim::{Case, ClientSide, Replay, ServerSide, World};
use mcp_parley_trace::{Kind, Node, Recording, Subject, Transport, lines};

/// The personas that are correct servers, and what each answers well.
const HEALTHY: &[(&str, Good)] = &[
    ("modern", Good::Modern),
    ("dual", Good::Modern),
    ("dual", Good::Legacy),
    ("dual-lists-legacy", Good::Modern),
    ("legacy", Good::Legacy),
    ("legacy-oldest", Good::Legacy),
    ("http-stateless", Good::Modern),
    ("http-stateless", Good::Legacy),
    ("http-streams", Good::Modern),
    ("http-streams", Good::Legacy),
    ("modern-ttl", Good::Modern),
];

fn case(
    opening: &Opening,
    good: Good,
    transport: Transport,
    persona: Persona,
    deviations: GateDeviations,
) -> Case {
    let client = ClientSide::Opening(Arc::new(opening.then(good)));
    let declared = Arc::new(client.declared());
    let server = ServerSide { played: Arc::new(Played::new(persona).unwrap()), deviations };
    Case { subject: Subject::Server, transport, client, declared, server }
}

/// The rows that the run breaks, with the reasons, and what happened.
fn play(case: &Case) -> (Vec<String>, Recording) {
    let mut world = World::new();
    world.run(case, Replay::new(&[]));
    let mut judge = Judge::new();
    let verdicts = judge.judge(&world.recording, &case.declared, case.subject, case.transport);
    let broken = verdicts.iter().filter(|(_, verdict)| verdict.is_broken());
    let broken = broken.map(|(id, verdict)| format!("{id}: {}", verdict.reason)).collect();
    (broken, world.recording)
}

fn told(recording: &Recording) -> String {
    let line = |line: &mcp_parley_trace::Line| {
        let text = String::from_utf8_lossy(&line.bytes(recording)).into_owned();
        format!("  {:?} {}\n", line.from, text.chars().take(300).collect::<String>())
    };
    let heads = recording.events().iter().filter(|event| event.kind == Kind::WriteHead);
    let heads = heads.map(|event| String::from_utf8_lossy(recording.bytes(event)).into_owned());
    heads.chain(lines(recording).iter().map(line)).collect()
}

/// The last good request was answered with a result.
fn ends_well(recording: &Recording) -> bool {
    let answers = |line: &mcp_parley_trace::Line| {
        let text = String::from_utf8_lossy(&line.bytes(recording)).into_owned();
        let good = text.contains("\"id\":9001") || text.contains("\"id\":9002");
        line.from == Node::Server && good && text.contains("\"tools\"")
    };
    lines(recording).iter().any(answers)
}

fn over(opening: &Opening, draft: &Draft) -> Vec<Transport> {
    let mut both = Vec::new();
    if opening.is_for_stdio() && draft.is_for_stdio() {
        both.push(Transport::Stdio);
    }
    if opening.is_for_http() && draft.is_for_http() {
        both.push(Transport::Http);
    }
    both
}

#[test]
fn a_correct_server_is_never_accused_and_answers_what_comes_behind() {
    let mut problems = Vec::new();
    let mut runs = 0;
    for (id, good) in HEALTHY {
        let draft = persona(id).unwrap();
        for opening in openings() {
            for transport in over(opening, draft) {
                let case =
                    case(opening, *good, transport, draft.resolve(&[]).unwrap(), GateDeviations::default());
                let (broken, recording) = play(&case);
                runs += 1;
                let whole = recording.events().last().is_some_and(|event| event.kind == Kind::End(true));
                if !broken.is_empty() || !whole || !ends_well(&recording) {
                    problems.push(format!(
                        "{id} {transport:?} {} {good:?}: whole {whole} {broken:?}\n{}",
                        opening.id,
                        told(&recording)
                    ));
                }
            }
        }
    }
    assert!(runs > 1500, "{runs}");
    assert!(problems.is_empty(), "{} of {runs}\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn every_server_mutant_is_killed_by_an_opening_for_its_own_reason() {
    let mut killed = 0;
    for mutant in mutants() {
        let policy = mutant.base.policy.clone();
        let persona = Persona { policy, ..Persona::unmodified("mutant", "one fault", mutant.base.profile) };
        let draft = Draft::of(&persona).unwrap();
        let breaks = |opening: &Opening, transport| {
            let case = case(opening, Good::Modern, transport, persona.clone(), mutant.deviations.clone());
            play(&case).0.iter().any(|row| row.starts_with(&format!("{}: ", mutant.killed_by)))
        };
        let mut runs = openings().iter().flat_map(|opening| {
            let both = over(opening, &draft);
            both.into_iter().map(move |transport| (opening, transport))
        });
        let found = runs.any(|(opening, transport)| breaks(opening, transport));
        assert!(found, "{} is not killed by {}", mutant.id, mutant.killed_by);
        killed += 1;
    }
    assert!(killed >= 8, "{killed}");
}
