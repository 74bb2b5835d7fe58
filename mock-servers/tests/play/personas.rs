//! The embedded personas: that each can be played with every choice, does what its title says, and is like no other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mcp_parley_mock_servers::{Draft, Persona, Played, Profile, ServerInput, persona as embedded, personas};
use mcp_parley_negotiation::Time;

use crate::support::*;

/// Every persona that a draft can become while at most one of its open values has not its first choice.
fn concrete(draft: &Draft) -> Vec<Persona> {
    let mut all = vec![draft.resolve(&[]).unwrap()];
    for (at, point) in draft.open_points().iter().enumerate() {
        for choice in 1..point.choices {
            let mut choices = vec![0; at];
            choices.push(choice);
            all.push(draft.resolve(&choices).unwrap());
        }
    }
    all
}

/// What a process does from its start to its end, in text; it is woken when it asks.
fn transcript(persona: &Persona, number: u32, script: &[&str]) -> String {
    played_by(Process::of(persona.clone(), number), persona, script)
}

fn played_by((mut process, mut did): (Process, Vec<Did>), persona: &Persona, script: &[&str]) -> String {
    let mut text = String::new();
    let mut note = |when: &str, did: &[Did]| {
        did.iter().for_each(|did| match did {
            Did::Wrote(bytes) if bytes.len() > 1 << 20 => {
                text.push_str(&format!(
                    "{when} wrote {} bytes, {}\n",
                    bytes.len(),
                    bytes[..64].escape_ascii()
                ));
            }
            Did::Wrote(bytes) => text.push_str(&format!("{when} wrote {}\n", bytes.escape_ascii())),
            other => text.push_str(&format!("{when} {other:?}\n")),
        });
    };
    note("start", &did);
    for line in script {
        did = process.line(line);
        note(line.split("\"method\"").nth(1).unwrap_or("?").get(..12).unwrap_or("?"), &did);
        while let Some(wake) = process.wake.take() {
            assert!(process.now < wake, "{}: woken in time, it waits on", persona.id);
            process.now = wake;
            did = process.tell(ServerInput::Timeout);
            note(&format!("at {wake:?}"), &did);
        }
    }
    did = process.tell(ServerInput::Eof);
    note("end", &did);
    text
}

const SCRIPTS: [&[&str]; 4] = [
    &[DISCOVER, MODERN_LIST, DISCOVER],
    &[DISCOVER, INITIALIZE, INITIALIZED, LIST, PING],
    &[INITIALIZE, INITIALIZED, LIST, PING],
    &[LIST, PING, INITIALIZE, DISCOVER],
];

fn transcripts(persona: &Persona) -> String {
    let both =
        |script: &&[&str]| format!("{}{}", transcript(persona, 0, script), transcript(persona, 1, script));
    SCRIPTS.iter().map(both).collect::<Vec<_>>().join("---\n")
}

#[test]
fn every_file_is_there_with_title_and_source_the_healthy_one_first() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/personas");
    let files: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    let ids: Vec<&str> = personas().iter().map(Draft::id).collect();
    assert_eq!(ids.iter().map(|id| format!("{id}.toml")).collect::<BTreeSet<_>>(), files);
    assert!(ids.len() >= 26 && ids[0] == "modern" && ids[1..].is_sorted(), "{ids:?}");
    for draft in personas() {
        assert!(!draft.title().is_empty() && !draft.title().contains('\n'), "{}", draft.id());
        assert!(!draft.source().is_empty(), "{}", draft.id());
    }
    let profiles: BTreeSet<Profile> =
        personas().iter().map(|draft| draft.resolve(&[]).unwrap().profile).collect();
    assert_eq!(profiles.len(), 5);
}

#[test]
fn every_choice_can_be_played_and_survives_being_written() {
    for persona in personas().iter().flat_map(concrete) {
        let text = serde_json::to_string(&persona).unwrap();
        let read: Persona = serde_json::from_str(&text).unwrap();
        assert_eq!(read, persona);
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        assert!(Draft::of(&persona).unwrap().open_points().is_empty());
        Played::new(read).unwrap();
    }
}

#[test]
fn no_two_are_alike_and_neither_are_two_choices_of_one() {
    let mut seen = BTreeMap::new();
    for draft in personas().iter().filter(|draft| draft.is_for_stdio()) {
        for persona in concrete(draft) {
            let name = format!("{}: {:?} {:?}", persona.id, persona.wire, persona.quirks);
            if let Some(other) = seen.insert(transcripts(&persona), name.clone()) {
                panic!("two that do the same:\n{other}\n{name}");
            }
        }
    }
}

/// In the simulator a process takes over the memory of another one, which was left in the middle of something.
#[test]
fn a_process_in_the_memory_of_another_is_like_a_new_one() {
    let all: Vec<Persona> = personas().iter().flat_map(concrete).collect();
    let mut old = Process::of(all[0].clone(), 0).0;
    for persona in &all {
        for script in SCRIPTS {
            let played = Arc::new(Played::new(persona.clone()).unwrap());
            old.server.renew(Arc::clone(&played), 0, Default::default());
            let mut renewed = Process { server: old.server.clone(), now: Time::ZERO, wake: None };
            let did = renewed.tell(ServerInput::Start);
            let said = played_by((renewed, did), persona, script);
            assert_eq!(said, transcript(persona, 0, script), "{}", persona.id);
        }
        old.tell(ServerInput::Start);
        old.line(DISCOVER);
        old.tell(ServerInput::Bytes(&PING.as_bytes()[..20]));
    }
}

#[test]
fn a_persona_does_the_same_each_time() {
    for persona in personas().iter().flat_map(concrete) {
        assert_eq!(transcripts(&persona), transcripts(&persona), "{}", persona.id);
    }
}

/// A dual-era persona that misbehaves on the probe is seen to serve a client that wrongly falls back.
#[test]
fn whoever_falls_back_from_a_dual_persona_is_served() {
    // The one whose quirk is that it serves nobody who falls back is left out.
    let falls_back = |persona: &Persona| {
        persona.profile == Profile::Dual && persona.id != "locks-era" && persona.refuses_stdio().is_none()
    };
    let duals = personas().iter().flat_map(concrete).filter(falls_back);
    let mut count = 0;
    for persona in duals {
        let whole = transcript(&persona, 1, &[DISCOVER, INITIALIZE, INITIALIZED, LIST]);
        assert!(whole.contains(r#"protocolVersion\":\"2025-11-25"#), "{}: {whole}", persona.id);
        assert!(whole.contains(r#"\"id\":4,\"result\":{\"tools\":"#), "{}: {whole}", persona.id);
        count += 1;
    }
    assert!(count > 20);
}

fn first(id: &str) -> Persona {
    embedded(id).unwrap().resolve(&[]).unwrap()
}

#[test]
fn the_ones_that_end_end_where_they_say() {
    let (_, did) = Process::of(first("exits-at-start"), 0);
    assert_eq!(did, [Did::Exit(1)]);
    let end = |id: &str, number| Process::of(first(id), number).0.line(DISCOVER).pop();
    assert_eq!(end("exiting", 0), Some(Did::Exit(1)));
    assert_eq!(end("exiting", 7), Some(Did::Exit(1)));
    assert_eq!(end("exits-once", 0), Some(Did::Signal(9)));
    assert_eq!(end("exits-once", 1), Some(Did::Wrote(format!("{DISCOVERED}\n").into_bytes())));
    assert_eq!(end("restarts-as-legacy", 0), Some(Did::Exit(3)));
    let (mut second, _) = Process::of(first("restarts-as-legacy"), 1);
    assert_eq!(second.says(INITIALIZE), [INITIALIZED_2025_11]);
}

#[test]
fn the_second_of_two_members_is_the_right_one() {
    let said = Process::quiet(first("duplicate-members")).answer(DISCOVER);
    assert_eq!(said.matches("\"result\":").count(), 2, "{said}");
    let read: serde_json::Value = serde_json::from_str(&said).unwrap();
    let right: serde_json::Value = serde_json::from_str(DISCOVERED).unwrap();
    // This reader takes the last of two.
    assert_eq!(read, right);
    let (before, _) = said.split_at(said.rfind("\"result\":").unwrap());
    assert!(!before.contains("2026-07-28"), "whoever takes the first is told something else: {said}");
}

#[test]
fn silence_is_chosen_by_content() {
    let mut server = Process::quiet(first("silent-when-meta"));
    assert_eq!(server.line(DISCOVER), []);
    assert_eq!(server.line(&PING.replace("\"ping\"", "\"ping\",\"params\":{\"_meta\":{}}")), []);
    assert_eq!(server.says(INITIALIZE), [INITIALIZED_2025_11]);
    let mut server = Process::quiet(first("silent-to-probe"));
    assert_eq!(server.line(DISCOVER), []);
    assert!(server.answer(MODERN_LIST).contains("\"error\""));
    let mut slow = Process::quiet(first("slow"));
    assert_eq!((slow.line(DISCOVER), slow.wake), (vec![], Some(Time::ZERO.plus_us(2_000_000))));
}
