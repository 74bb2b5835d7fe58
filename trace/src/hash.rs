//! The hash of a run and of a campaign: XXH3 with 128 bits, value-stable on every platform.

use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::{Channel, Era, Event, Kind, Outcome, Recording};

/// Over every event's time, node, channel, kind and bytes, and every verdict. No name of a mutant or file enters it.
/// Reusable: [`RunHash::begin`] keeps the memory.
#[derive(Clone, Debug, Default)]
pub struct RunHash {
    /// The hash of all bytes of all events, then each event without its bytes, then each verdict.
    facts: Vec<u8>,
}

impl RunHash {
    /// The hash of a recording; verdicts are added by [`RunHash::verdict`].
    pub fn of(recording: &Recording) -> Self {
        let mut hash = Self::default();
        hash.begin(recording);
        hash
    }

    /// Forgets everything and begins with a recording.
    pub fn begin(&mut self, recording: &Recording) {
        self.facts.clear();
        self.facts.extend_from_slice(&xxh3_128(recording.all_bytes()).to_le_bytes());
        for event in recording.events() {
            self.facts.extend_from_slice(&facts_of(event));
        }
    }

    /// Adds one verdict.
    pub fn verdict(&mut self, id: &str, outcome: Outcome, evidence: &[u32]) {
        self.facts.extend_from_slice(id.as_bytes());
        self.facts.extend_from_slice(&[0, outcome as u8, u8::try_from(evidence.len()).unwrap_or(u8::MAX)]);
        for seq in evidence {
            self.facts.extend_from_slice(&seq.to_le_bytes());
        }
    }

    /// The finished hash.
    pub fn finish(&self) -> u128 {
        xxh3_128(&self.facts)
    }
}

/// Everything of an event but its bytes; their number tells where they end.
fn facts_of(event: &Event) -> [u8; 24] {
    let (channel, number) = match event.channel {
        Channel::None => (0, 0),
        Channel::Process(n) => (1, n),
        Channel::Exchange(n) => (2, n),
    };
    let (kind, detail) = kind_code(event.kind);
    let mut facts = [0_u8; 24];
    facts[..8].copy_from_slice(&event.t_us.to_le_bytes());
    facts[8] = event.node as u8;
    facts[9] = channel;
    facts[10] = kind;
    facts[12..16].copy_from_slice(&number.to_le_bytes());
    facts[16..20].copy_from_slice(&detail.to_le_bytes());
    facts[20..24].copy_from_slice(&u32::try_from(event.len()).unwrap_or(u32::MAX).to_le_bytes());
    facts
}

/// Over the hashes of a campaign's runs, in the order of their seeds.
#[derive(Clone, Default)]
pub struct CampaignHash(Xxh3);

impl CampaignHash {
    /// Adds the next run.
    pub fn run(&mut self, hash: u128) {
        self.0.update(&hash.to_le_bytes());
    }

    /// The finished hash.
    pub fn finish(&self) -> u128 {
        self.0.digest128()
    }
}

fn kind_code(kind: Kind) -> (u8, i32) {
    match kind {
        Kind::Spawn => (0, 0),
        Kind::Up => (1, 0),
        Kind::SpawnFailed => (2, 0),
        Kind::Write => (3, 0),
        Kind::Read => (4, 0),
        Kind::Close => (5, 0),
        Kind::Eof => (6, 0),
        Kind::WriteFailed => (7, 0),
        Kind::Exit(code) => (8, code),
        Kind::Signal(signal) => (9, signal),
        Kind::Settled(Era::Legacy) => (10, 0),
        Kind::Settled(Era::Modern) => (10, 1),
        Kind::Failed => (11, 0),
        Kind::Downgraded => (12, 0),
        Kind::Called(ok) => (13, i32::from(ok)),
        Kind::FaultsOff => (14, 0),
        Kind::Stuck => (15, 0),
        Kind::End(complete) => (16, i32::from(complete)),
        Kind::Stderr => (17, 0),
        Kind::WriteHead => (18, 0),
        Kind::ReadHead => (19, 0),
        Kind::WriteEnd => (20, 0),
        Kind::ReadEnd => (21, 0),
        Kind::Reset => (22, 0),
        Kind::Refused => (23, 0),
    }
}
