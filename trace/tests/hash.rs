//! The hash of a run changes with every byte, time, node, place, kind and verdict, and with nothing else.

mod common;

use common::{footer, header, recording};
use mcp_parley_trace::{CampaignHash, Channel, Event, Kind, Node, Outcome, Recording, RunHash, TraceFile};

fn changed(at: usize, change: impl Fn(&mut Event, &mut Vec<u8>)) -> u128 {
    let old = recording();
    let mut new = Recording::new();
    for (i, event) in old.events().iter().enumerate() {
        let (mut event, mut bytes) = (*event, old.bytes(event).to_vec());
        if i == at {
            change(&mut event, &mut bytes);
        }
        new.push(event.t_us, event.node, event.channel, event.kind, event.cause, &bytes);
    }
    RunHash::of(&new).finish()
}

#[test]
fn every_part_of_an_event_counts_except_its_cause() {
    let plain = RunHash::of(&recording()).finish();
    assert_eq!(changed(0, |_, _| {}), plain);
    assert_eq!(changed(4, |event, _| event.cause = None), plain, "what the recorder guesses is no behaviour");
    let hashes = [
        plain,
        changed(2, |_, bytes| bytes[0] ^= 1),
        changed(2, |_, bytes| bytes.push(0)),
        changed(2, |event, _| event.t_us += 1),
        changed(2, |event, _| event.node = Node::Server),
        changed(2, |event, _| event.channel = Channel::Exchange(0)),
        changed(2, |event, _| event.channel = Channel::Process(1)),
        changed(2, |event, _| event.kind = Kind::Read),
        changed(10, |event, _| event.kind = Kind::Exit(0)),
        changed(10, |event, _| event.kind = Kind::Signal(-1)),
        // The same bytes, cut elsewhere.
        changed(2, |_, bytes| bytes.truncate(39)),
    ];
    for (i, one) in hashes.iter().enumerate() {
        assert!(!hashes[i + 1..].contains(one), "{i}");
    }
}

#[test]
fn every_part_of_a_verdict_counts() {
    let with = |verdicts: &[(&str, Outcome, &[u32])]| {
        let mut hash = RunHash::of(&recording());
        for (id, outcome, evidence) in verdicts {
            hash.verdict(id, *outcome, evidence);
        }
        hash.finish()
    };
    let base = with(&[("ERA-02", Outcome::Violation, &[6, 8])]);
    assert_ne!(base, with(&[]));
    assert_ne!(base, with(&[("ERA-03", Outcome::Violation, &[6, 8])]));
    assert_ne!(base, with(&[("ERA-02", Outcome::Pass, &[6, 8])]));
    assert_ne!(base, with(&[("ERA-02", Outcome::Violation, &[6])]));
    assert_eq!(base, with(&[("ERA-02", Outcome::Violation, &[6, 8])]));
}

#[test]
fn neither_header_nor_reason_nor_name_counts() {
    let hash_of = |file: &TraceFile| {
        let mut hash = RunHash::of(&file.recording);
        for ruling in file.footer.iter().flat_map(|footer| &footer.rulings) {
            hash.verdict(&ruling.id, ruling.outcome, &ruling.evidence);
        }
        hash.finish()
    };
    let plain = TraceFile { header: header(), recording: recording(), footer: Some(footer()) };
    let mut renamed = plain.clone();
    renamed.header.client = "another".into();
    renamed.header.tool = "another".into();
    renamed.footer.iter_mut().for_each(|footer| footer.rulings[1].reason = "another".into());
    assert_ne!(plain, renamed);
    assert_eq!(hash_of(&plain), hash_of(&renamed));
}

#[test]
fn the_hash_is_the_same_on_every_platform_and_the_order_of_runs_counts() {
    assert_eq!(format!("{:032x}", RunHash::of(&recording()).finish()), "661b5e2515f926470aca46043d0c5d59");
    let of = |runs: &[u128]| {
        let mut hash = CampaignHash::default();
        runs.iter().for_each(|run| hash.run(*run));
        hash.finish()
    };
    assert_ne!(of(&[1, 2]), of(&[2, 1]));
    assert_ne!(of(&[1, 2]), of(&[1, 3]));
}
