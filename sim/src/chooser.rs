//! The one door for every decision that is not determined: seeded, replayed and fuzzed runs differ only in the chooser.
//!
//! Choice 0 always means "simplest, no fault".

use mcp_parley_trace::Decision;

/// Where a decision is made. Each site has its own stream, so that a new site does not shift the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Site {
    /// Which persona.
    Persona,
    /// An open value of the persona.
    OpenValue,
    /// Which odd opening, where the server is on trial.
    Opening,
    /// The client's mode.
    Mode,
    /// The versions that the client offers.
    Preferences,
    /// Whether policy fields are in play at all in this run.
    PolicyInPlay,
    /// One policy field's value.
    Policy,
    /// Whether link and process faults are in play at all in this run.
    FaultsInPlay,
    /// How long a chunk travels.
    Delay,
    /// Into how many chunks a write is split.
    Split,
    /// Whether the link is cut within a write.
    Cut,
    /// Whether the server process dies.
    Death,
    /// How a process starts.
    Start,
    /// How long the user waits before closing.
    Linger,
    /// Over which transport, where a campaign has both.
    Transport,
    /// What a hop does to the head of an HTTP message.
    Hop,
    /// Whether a hop sends an HTTP request twice.
    Twice,
}

impl Site {
    /// All sites.
    pub const ALL: [Self; 17] = [
        Self::Persona,
        Self::OpenValue,
        Self::Opening,
        Self::Mode,
        Self::Preferences,
        Self::PolicyInPlay,
        Self::Policy,
        Self::FaultsInPlay,
        Self::Delay,
        Self::Split,
        Self::Cut,
        Self::Death,
        Self::Start,
        Self::Linger,
        Self::Transport,
        Self::Hop,
        Self::Twice,
    ];

    /// Its name in decision logs. Streams are seeded by the name: it must not change.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Persona => "persona",
            Self::OpenValue => "open-value",
            Self::Opening => "opening",
            Self::Mode => "mode",
            Self::Preferences => "preferences",
            Self::PolicyInPlay => "policy-in-play",
            Self::Policy => "policy",
            Self::FaultsInPlay => "faults-in-play",
            Self::Delay => "delay",
            Self::Split => "split",
            Self::Cut => "cut",
            Self::Death => "death",
            Self::Start => "start",
            Self::Linger => "linger",
            Self::Transport => "transport",
            Self::Hop => "hop",
            Self::Twice => "twice",
        }
    }
}

/// Makes decisions.
pub trait Chooser {
    /// A number below `bound`. A bound of 0 or 1 leaves no choice: 0.
    fn choose(&mut self, site: Site, bound: u32) -> u32;
}

impl<C: Chooser + ?Sized> Chooser for &mut C {
    fn choose(&mut self, site: Site, bound: u32) -> u32 {
        (**self).choose(site, bound)
    }
}

/// Pseudo-random, value-stable on every platform: SplitMix64, one stream a site.
#[derive(Clone, Debug)]
pub struct Seeded {
    streams: [u64; Site::ALL.len()],
}

impl Seeded {
    /// The chooser of this seed.
    pub fn new(seed: u64) -> Self {
        let mut streams = [0; Site::ALL.len()];
        for (stream, salt) in streams.iter_mut().zip(SALTS) {
            *stream = mix(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ salt);
        }
        Self { streams }
    }
}

impl Chooser for Seeded {
    fn choose(&mut self, site: Site, bound: u32) -> u32 {
        let Some(stream) = self.streams.get_mut(site as usize) else { return 0 };
        *stream = stream.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let high = mix(*stream) >> 32;
        // The high half of a product: below the bound, and the same everywhere.
        u32::try_from((high * u64::from(bound)) >> 32).unwrap_or(0)
    }
}

const SALTS: [u64; Site::ALL.len()] = {
    let mut salts = [0; Site::ALL.len()];
    let mut at = 0;
    while at < salts.len() {
        salts[at] = fnv(Site::ALL[at].name().as_bytes());
        at += 1;
    }
    salts
};

const fn fnv(bytes: &[u8]) -> u64 {
    let mut hash = 0xCBF2_9CE4_8422_2325;
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01B3);
        at += 1;
    }
    hash
}

const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// From a fuzzer's bytes: one byte a decision (four where the bound needs them); 0 once they are used up.
#[derive(Clone, Debug)]
pub struct Bytes<'a> {
    rest: &'a [u8],
}

impl<'a> Bytes<'a> {
    /// A chooser that reads these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }
}

impl Chooser for Bytes<'_> {
    fn choose(&mut self, _site: Site, bound: u32) -> u32 {
        if bound <= 1 {
            return 0;
        }
        let width = if bound <= 256 { 1 } else { 4 };
        let taken = self.rest.len().min(width);
        let (head, rest) = self.rest.split_at(taken);
        self.rest = rest;
        head.iter().fold(0_u32, |value, byte| (value << 8) | u32::from(*byte)) % bound
    }
}

/// Repeats a decision log. Where the run asks for something else than the log says, it goes on clamped, and
/// [`Replay::diverged`] says where.
#[derive(Clone, Debug)]
pub struct Replay<'a> {
    log: &'a [Decision],
    next: usize,
    diverged: Option<usize>,
}

impl<'a> Replay<'a> {
    /// A chooser that repeats this log.
    pub fn new(log: &'a [Decision]) -> Self {
        Self { log, next: 0, diverged: None }
    }

    /// The first decision that the log did not foresee, if there was one.
    pub fn diverged(&self) -> Option<usize> {
        self.diverged.or_else(|| (self.next < self.log.len()).then_some(self.next))
    }
}

impl Chooser for Replay<'_> {
    fn choose(&mut self, site: Site, bound: u32) -> u32 {
        let at = self.next;
        self.next += 1;
        match self.log.get(at) {
            Some(Decision(name, old, choice)) => {
                if (name != site.name() || *old != bound) && self.diverged.is_none() {
                    self.diverged = Some(at);
                }
                (*choice).min(bound.saturating_sub(1))
            }
            None => {
                self.diverged = self.diverged.or(Some(at));
                0
            }
        }
    }
}

/// Writes down what another chooser decides.
#[derive(Clone, Debug)]
pub struct Recorder<C> {
    inner: C,
    log: Vec<Decision>,
}

impl<C: Chooser> Recorder<C> {
    /// Around another chooser.
    pub fn new(inner: C) -> Self {
        Self { inner, log: Vec::new() }
    }

    /// The other chooser and what it decided.
    pub fn into_parts(self) -> (C, Vec<Decision>) {
        (self.inner, self.log)
    }
}

impl<C: Chooser> Chooser for Recorder<C> {
    fn choose(&mut self, site: Site, bound: u32) -> u32 {
        let choice = self.inner.choose(site, bound);
        self.log.push(Decision(site.name().to_owned(), bound, choice));
        choice
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_have_their_own_streams() {
        let (mut a, mut b) = (Seeded::new(7), Seeded::new(7));
        for _ in 0..10 {
            a.choose(Site::Cut, 1000);
        }
        assert_eq!(a.choose(Site::Delay, 1 << 30), b.choose(Site::Delay, 1 << 30));
        assert_ne!(Seeded::new(7).choose(Site::Cut, 1 << 30), Seeded::new(7).choose(Site::Delay, 1 << 30));
        assert_ne!(Seeded::new(7).choose(Site::Cut, 1 << 30), Seeded::new(8).choose(Site::Cut, 1 << 30));
    }

    #[test]
    fn values_are_stable_and_below_the_bound() {
        let mut chooser = Seeded::new(1);
        let values: Vec<u32> = (0..6).map(|_| chooser.choose(Site::Persona, 100)).collect();
        assert_eq!(
            values,
            [87, 61, 57, 38, 95, 64],
            "a change here changes every seed that anybody wrote down"
        );
        assert!((0..1000).all(|_| chooser.choose(Site::Mode, 3) < 3));
        assert_eq!(chooser.choose(Site::Mode, 0), 0);
    }

    #[test]
    fn a_recorded_run_is_replayed_and_a_different_one_is_noticed() {
        let mut recorder = Recorder::new(Seeded::new(3));
        let made: Vec<u32> = (2..20).map(|bound| recorder.choose(Site::Delay, bound)).collect();
        let (_, log) = recorder.into_parts();
        let mut replay = Replay::new(&log);
        let again: Vec<u32> = (2..20).map(|bound| replay.choose(Site::Delay, bound)).collect();
        assert_eq!((again, replay.diverged()), (made, None));
        let mut other = Replay::new(&log);
        other.choose(Site::Split, 2);
        assert_eq!(other.diverged(), Some(0));
        assert_eq!(Replay::new(&log).diverged(), Some(0), "a log that was not used up");
    }

    #[test]
    fn bytes_run_out_into_the_simplest_choice() {
        let mut chooser = Bytes::new(&[5, 200]);
        let choices: Vec<u32> = (0..4).map(|_| chooser.choose(Site::Mode, 100)).collect();
        assert_eq!(choices, [5, 0, 0, 0]);
    }
}
