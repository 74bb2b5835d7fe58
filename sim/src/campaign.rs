//! Many runs, each judged: seeds in, findings and one hash out. The same seeds give the same answer with any number of workers.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use mcp_parley_negotiation::client::{State, States};
use mcp_parley_oracle::{Finding, Judge, Severity};
use mcp_parley_trace::{CampaignHash, Kind, Outcome, RunHash};

use crate::chooser::Seeded;
use crate::draw::{Drawer, Setup};
use crate::replay::hash_of;
use crate::world::World;

/// Seeds are handed to workers in blocks of this many. All personas together are more than a core keeps close, so a block has
/// several runs of each, and makes them one after another.
const BLOCK: u64 = 1024;
/// So many blocks are under way for each worker. One that is done waits for those before it: however slow one of them is,
/// no more than these are kept.
const AHEAD: u64 = 4;
/// Every n-th run is made twice and compared.
const CHECKED_EVERY: u64 = 997;

/// What to run.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// Where cases are drawn from.
    pub setup: Arc<Setup>,
    /// Which seeds.
    pub seeds: Range<u64>,
    /// How many threads.
    pub workers: usize,
    /// Stop after this many distinct findings; 0 for no limit.
    pub max_findings: usize,
    /// What counts as a finding.
    pub fail_on: Severity,
}

/// What has come out so far, in the order of the seeds.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// How many runs.
    pub runs: u64,
    /// How many of them were made twice and compared.
    pub repeated: u64,
    /// Distinct findings, each with its first seed: at the most one for each check and kind of message.
    pub findings: Vec<Found>,
    /// Over the runs' hashes.
    pub hash: u128,
    /// Which servers were met, by number in the setup.
    pub servers: BTreeSet<u32>,
    /// Which states the client's machine was in, and in how many runs.
    pub states: BTreeMap<State, u64>,
    /// How runs ended, and how often.
    pub ends: BTreeMap<&'static str, u64>,
    /// Contested rows that occurred, each with the outcomes that were seen.
    pub contested: BTreeMap<&'static str, BTreeSet<&'static str>>,
    /// Seeds whose second run was another one.
    pub unstable: Few<u64>,
    /// Runs that could not be made: the seed, and why.
    pub broken: Few<(u64, String)>,
}

/// The first of many, and how many there were: what a campaign keeps does not grow with its runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Few<T> {
    /// The first ones.
    pub first: Vec<T>,
    /// How many there were.
    pub count: u64,
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self { first: Vec::new(), count: 0 }
    }
}

impl<T> Few<T> {
    /// More than this say nothing new.
    const KEPT: usize = 100;

    fn push(&mut self, one: T) {
        self.count += 1;
        if self.first.len() < Self::KEPT {
            self.first.push(one);
        }
    }
}

/// A finding and the seed that shows it first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The seed.
    pub seed: u64,
    /// The hash of its run.
    pub hash: u128,
    /// What it shows.
    pub finding: Finding,
}

/// One run's outcome, small enough to keep a block of them.
struct Ran {
    seed: u64,
    hash: u128,
    server: u32,
    reached: States,
    end: &'static str,
    finding: Option<Box<Finding>>,
    contested: Vec<(&'static str, &'static str)>,
    /// If it was made twice: whether both came out alike.
    stable: Option<bool>,
    broken: Option<String>,
}

impl Campaign {
    /// Runs it. `watch` is told after every block, on the caller's thread; false stops the campaign there.
    pub fn run(&self, mut watch: impl FnMut(&Progress) -> bool) -> Progress {
        let workers = self.workers.max(1);
        let ahead = AHEAD.saturating_mul(u64::try_from(workers).unwrap_or(u64::MAX));
        let (hand_out, todo) = channel::<u64>();
        let (sender, receiver) = channel::<(u64, Vec<Ran>)>();
        let todo = Mutex::new(todo);
        let mut starts = self.seeds.clone().step_by(BLOCK as usize);
        let mut merge = Merge::new(self);
        std::thread::scope(|scope| {
            for _ in 0..workers {
                let (todo, sender) = (&todo, sender.clone());
                scope.spawn(move || self.work(todo, &sender));
            }
            drop(sender);
            // At the end of this scope both are dropped, which ends the workers.
            let (hand_out, receiver) = (hand_out, receiver);
            let mut handed = 0;
            loop {
                while handed < merge.blocks.saturating_add(ahead)
                    && let Some(start) = starts.next()
                    && hand_out.send(start).is_ok()
                {
                    handed += 1;
                }
                if handed == merge.blocks {
                    return;
                }
                let Ok((start, block)) = receiver.recv() else { return };
                if !merge.add(start, block) || !watch(&merge.progress) {
                    return;
                }
            }
        });
        merge.finish()
    }

    fn work(&self, todo: &Mutex<Receiver<u64>>, sender: &Sender<(u64, Vec<Ran>)>) {
        let mut bench = Bench::new(Arc::clone(&self.setup), self.fail_on);
        let next = || todo.lock().ok()?.recv().ok();
        while let Some(start) = next() {
            let end = start.saturating_add(BLOCK).min(self.seeds.end);
            // Runs share nothing, so their order is nobody's business.
            let mut seeds: Vec<u64> = (start..end).collect();
            seeds.sort_by_cached_key(|seed| bench.drawer.place(&mut Seeded::new(*seed)));
            let mut block: Vec<Ran> = seeds.into_iter().map(|seed| bench.run(seed)).collect();
            block.sort_unstable_by_key(|ran| ran.seed);
            if sender.send((start, block)).is_err() {
                return;
            }
        }
    }
}

/// One worker's memory.
struct Bench {
    setup: Arc<Setup>,
    drawer: Drawer,
    world: World,
    judge: Judge,
    hash: RunHash,
    fail_on: Severity,
}

impl Bench {
    fn new(setup: Arc<Setup>, fail_on: Severity) -> Self {
        Self {
            drawer: Drawer::new(Arc::clone(&setup)),
            setup,
            world: World::new(),
            judge: Judge::new(),
            hash: RunHash::default(),
            fail_on,
        }
    }

    fn run(&mut self, seed: u64) -> Ran {
        // A failed assertion is caught at the run's edge: it is a finding about us, with its seed, and no reason to stop.
        let ran = catch_unwind(AssertUnwindSafe(|| checked(seed, |seed| self.once(seed))));
        ran.unwrap_or_else(|panic| {
            let why = panic.downcast_ref::<String>().map(String::as_str);
            let why = why.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned();
            *self = Self::new(Arc::clone(&self.setup), self.fail_on);
            Ran::broken(seed, why)
        })
    }

    fn once(&mut self, seed: u64) -> Ran {
        let mut chooser = Seeded::new(seed);
        let (case, server) = match self.drawer.draw(&mut chooser) {
            Ok(drawn) => drawn,
            Err(why) => return Ran::broken(seed, why),
        };
        self.world.run(&case, chooser);
        let recording = &self.world.recording;
        let verdicts = self.judge.judge(recording, &case.declared, case.subject, case.transport);
        let hash = hash_of(&mut self.hash, recording, verdicts.iter());
        let contested = verdicts.iter().filter(|(_, verdict)| verdict.outcome == Outcome::Contested);
        let end = recording.events().iter().rev().find_map(|event| match event.kind {
            Kind::Failed => Some("failed with a reason"),
            Kind::Called(true) => Some("connected"),
            Kind::Called(false) => Some("connected, call refused"),
            _ => None,
        });
        Ran {
            seed,
            hash,
            server,
            reached: self.world.reached(),
            end: end.unwrap_or("ended otherwise"),
            finding: verdicts.finding_at(self.fail_on).map(Box::new),
            contested: contested.map(|(id, verdict)| (id, verdict.observed)).collect(),
            stable: None,
            broken: None,
        }
    }
}

/// Makes a run, and makes every n-th again.
fn checked(seed: u64, mut once: impl FnMut(u64) -> Ran) -> Ran {
    let mut ran = once(seed);
    if seed.is_multiple_of(CHECKED_EVERY) {
        ran.stable = Some(once(seed).hash == ran.hash);
    }
    ran
}

impl Ran {
    fn broken(seed: u64, why: String) -> Self {
        Self {
            seed,
            hash: 0,
            server: 0,
            reached: States::default(),
            end: "not run",
            finding: None,
            contested: Vec::new(),
            stable: None,
            broken: Some(why),
        }
    }
}

/// Puts blocks back into the order of their seeds.
struct Merge {
    waiting: BTreeMap<u64, Vec<Ran>>,
    next: u64,
    /// How many blocks were taken.
    blocks: u64,
    hash: CampaignHash,
    seen: BTreeSet<(&'static str, String)>,
    max_findings: usize,
    progress: Progress,
}

impl Merge {
    fn new(campaign: &Campaign) -> Self {
        Self {
            waiting: BTreeMap::new(),
            next: campaign.seeds.start,
            blocks: 0,
            hash: CampaignHash::default(),
            seen: BTreeSet::new(),
            max_findings: campaign.max_findings,
            progress: Progress::default(),
        }
    }

    /// False once there are enough findings.
    fn add(&mut self, start: u64, block: Vec<Ran>) -> bool {
        self.waiting.insert(start, block);
        while let Some(block) = self.waiting.remove(&self.next) {
            self.next = self.next.saturating_add(BLOCK);
            self.blocks += 1;
            for ran in block {
                if !self.take(ran) {
                    return false;
                }
            }
        }
        true
    }

    fn take(&mut self, ran: Ran) -> bool {
        let progress = &mut self.progress;
        progress.runs += 1;
        self.hash.run(ran.hash);
        progress.servers.insert(ran.server);
        for state in ran.reached.iter() {
            *progress.states.entry(state).or_default() += 1;
        }
        *progress.ends.entry(ran.end).or_default() += 1;
        for (id, observed) in ran.contested {
            progress.contested.entry(id).or_default().insert(observed);
        }
        progress.repeated += u64::from(ran.stable.is_some());
        if ran.stable == Some(false) {
            progress.unstable.push(ran.seed);
        }
        if let Some(why) = ran.broken {
            progress.broken.push((ran.seed, why));
        }
        if let Some(finding) = ran.finding
            && self.seen.insert((finding.id, finding.message_kind.to_string()))
        {
            progress.findings.push(Found { seed: ran.seed, hash: ran.hash, finding: *finding });
            return self.max_findings == 0 || progress.findings.len() < self.max_findings;
        }
        true
    }

    fn finish(mut self) -> Progress {
        self.progress.hash = self.hash.finish();
        self.progress
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_comes_out_otherwise_the_second_time_is_noticed() {
        let mut runs = 0;
        let mut moody = |seed| {
            runs += 1;
            Ran { hash: runs, ..Ran::broken(seed, String::new()) }
        };
        let stable: Vec<_> = (990..=1994).filter_map(|seed| checked(seed, &mut moody).stable).collect();
        assert_eq!((stable, runs), (vec![false, false], 1005 + 2), "at 997 and 1994");
        let even = |seed| Ran { hash: u128::from(seed), ..Ran::broken(seed, String::new()) };
        assert_eq!((checked(997, even).stable, checked(998, even).stable), (Some(true), None));
    }

    #[test]
    fn of_many_the_first_are_kept_and_all_are_counted() {
        let mut few = Few::default();
        (0..1000).for_each(|number| few.push(number));
        assert_eq!((few.first, few.count), ((0..100).collect(), 1000));
    }
}
