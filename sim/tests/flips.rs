//! The hash of a campaign covers every byte of every message, every time and every verdict of every run: whichever of them is
//! another one, the hash is another one.

#![expect(clippy::unwrap_used, reason = "helpers of tests may be blunt")]

mod common;

use std::collections::BTreeSet;

use mcp_parley_negotiation::client::ClientDeviations;
use mcp_parley_oracle::{Judge, Verdict};
use mcp_parley_sim::{Drawer, Seeded, World, hash_of};
use mcp_parley_trace::{CampaignHash, Event, Outcome, Recording, RunHash};

const SEEDS: u64 = 5;

struct Run {
    recording: Recording,
    verdicts: Vec<(&'static str, Verdict)>,
}

impl Run {
    fn of(seed: u64) -> Self {
        let mut drawer = Drawer::new(common::setup(ClientDeviations::default()));
        let mut chooser = Seeded::new(seed);
        let (case, _) = drawer.draw(&mut chooser).unwrap();
        let mut world = World::new();
        world.run(&case, chooser);
        let mut judge = Judge::new();
        let verdicts = judge.judge(&world.recording, &case.declared, case.subject, case.transport);
        let verdicts = verdicts.iter().map(|(id, verdict)| (id, verdict.clone())).collect();
        Self { recording: world.recording, verdicts }
    }

    fn hash(&self) -> u128 {
        let verdicts = self.verdicts.iter().map(|(id, verdict)| (*id, verdict));
        hash_of(&mut RunHash::default(), &self.recording, verdicts)
    }

    /// The hash with this done to one event and its bytes.
    fn with_event(&self, at: usize, change: impl Fn(&mut Event, &mut Vec<u8>)) -> u128 {
        let mut recording = Recording::new();
        for (place, event) in self.recording.events().iter().enumerate() {
            let (mut event, mut bytes) = (*event, self.recording.bytes(event).to_vec());
            if place == at {
                change(&mut event, &mut bytes);
            }
            recording.push(event.t_us, event.node, event.channel, event.kind, event.cause, &bytes);
        }
        Self { recording, verdicts: self.verdicts.clone() }.hash()
    }

    /// The hash with this done to one verdict.
    fn with_verdict(&self, at: usize, change: impl Fn(&mut Verdict)) -> u128 {
        let mut verdicts = self.verdicts.clone();
        change(&mut verdicts[at].1);
        Self { recording: self.recording.clone(), verdicts }.hash()
    }

    fn flipped_bytes(&self) -> Vec<u128> {
        let events = self.recording.events().iter().enumerate();
        let places = events.flat_map(|(at, event)| (0..event.len()).map(move |byte| (at, byte)));
        places.map(|(at, byte)| self.with_event(at, |_, bytes| bytes[byte] ^= 1)).collect()
    }

    fn shifted_times(&self) -> Vec<u128> {
        (0..self.recording.events().len()).map(|at| self.with_event(at, |event, _| event.t_us += 1)).collect()
    }

    fn turned_verdicts(&self) -> Vec<u128> {
        let turn = |verdict: &mut Verdict| {
            verdict.outcome = match verdict.outcome {
                Outcome::Pass => Outcome::Violation,
                _ => Outcome::Pass,
            };
        };
        (0..self.verdicts.len()).map(|at| self.with_verdict(at, turn)).collect()
    }
}

fn campaign_of(runs: impl Iterator<Item = u128>) -> u128 {
    let mut hash = CampaignHash::default();
    runs.for_each(|run| hash.run(run));
    hash.finish()
}

#[test]
fn every_flip_of_a_byte_a_time_or_a_verdict_changes_the_campaigns_hash() {
    let runs: Vec<Run> = (0..SEEDS).map(Run::of).collect();
    let plain: Vec<u128> = runs.iter().map(Run::hash).collect();
    let whole = campaign_of(plain.iter().copied());
    let setup = common::setup(ClientDeviations::default());
    assert_eq!(
        whole,
        common::campaign(setup, 0..SEEDS, 1).run(|_| true).hash,
        "what is flipped is what a campaign hashes"
    );
    let mut hashes = BTreeSet::from([whole]);
    let mut flips = [0_usize; 3];
    for (place, run) in runs.iter().enumerate() {
        let kinds = [run.flipped_bytes(), run.shifted_times(), run.turned_verdicts()];
        for (kind, flipped) in kinds.into_iter().enumerate() {
            flips[kind] += flipped.len();
            hashes.extend(flipped.into_iter().map(|hash| {
                let others = plain.iter().enumerate();
                campaign_of(others.map(|(at, plain)| if at == place { hash } else { *plain }))
            }));
        }
    }
    let [bytes, times, verdicts] = flips;
    assert!(bytes > 1000 && times > 50 && verdicts > 300, "{flips:?}");
    assert_eq!(hashes.len(), 1 + bytes + times + verdicts, "two flips gave the same hash");
}
