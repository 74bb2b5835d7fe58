//! Time as the machines see it: a number that the caller hands in.

use serde::{Deserialize, Serialize};

/// Microseconds since the run began. Never read from a clock here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub u64);

impl Time {
    /// The beginning of the run.
    pub const ZERO: Self = Self(0);

    /// This time plus a number of microseconds, at most the largest time there is.
    #[must_use]
    pub fn plus_us(self, us: u64) -> Self {
        Self(self.0.saturating_add(us))
    }
}
