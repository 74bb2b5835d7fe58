//! The hash of a run and of a campaign: XXH3 with 128 bits, value-stable on every platform.

use xxhash_rust::xxh3::Xxh3;

use crate::{Channel, Era, Kind, Outcome, Recording};

/// Over every event's time, node, channel, kind and bytes, and every verdict. No name of a mutant or file enters it.
#[derive(Clone, Default)]
pub struct RunHash(Xxh3);

impl RunHash {
    /// The hash of a recording; verdicts are added by [`RunHash::verdict`].
    pub fn of(recording: &Recording) -> Self {
        let mut hash = Xxh3::new();
        for event in recording.events() {
            let (channel, number) = match event.channel {
                Channel::None => (0, 0),
                Channel::Process(n) => (1, n),
                Channel::Exchange(n) => (2, n),
            };
            let (kind, detail) = kind_code(event.kind);
            let mut fixed = [0_u8; 24];
            fixed[..8].copy_from_slice(&event.t_us.to_le_bytes());
            fixed[8] = event.node as u8;
            fixed[9] = channel;
            fixed[10] = kind;
            fixed[12..16].copy_from_slice(&number.to_le_bytes());
            fixed[16..20].copy_from_slice(&detail.to_le_bytes());
            fixed[20..24].copy_from_slice(&u32::try_from(event.len()).unwrap_or(u32::MAX).to_le_bytes());
            hash.update(&fixed);
            hash.update(recording.bytes(event));
        }
        Self(hash)
    }

    /// Adds one verdict.
    pub fn verdict(&mut self, id: &str, outcome: Outcome, evidence: &[u32]) {
        self.0.update(id.as_bytes());
        self.0.update(&[0, outcome as u8]);
        for seq in evidence {
            self.0.update(&seq.to_le_bytes());
        }
    }

    /// The finished hash.
    pub fn finish(&self) -> u128 {
        self.0.digest128()
    }
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
    }
}
