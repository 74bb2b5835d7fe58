//! Protocol versions: any string names one, a table says which are known and of which era they are.
//!
//! Versions are never compared as strings or dates: what is newer is what stands earlier in a list of preferences.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Legacy opens with `initialize`; modern carries its version in the `_meta` of every request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Era {
    /// 2025-11-25 and earlier.
    Legacy,
    /// 2026-07-28 and later.
    Modern,
}

/// The known revisions, newest first.
pub const REVISIONS: [(&str, Era); 6] = [
    ("2026-07-28", Era::Modern),
    ("2025-11-25", Era::Legacy),
    ("2025-06-18", Era::Legacy),
    ("2025-03-26", Era::Legacy),
    ("2024-11-05", Era::Legacy),
    ("2024-10-07", Era::Legacy),
];

/// The newest modern revision.
pub const LATEST_MODERN: &str = "2026-07-28";
/// The newest legacy revision.
pub const LATEST_LEGACY: &str = "2025-11-25";

/// The era of a known revision; `None` for every other string (AMB-22).
pub fn era_of(version: &str) -> Option<Era> {
    REVISIONS.iter().find(|(name, _)| *name == version).map(|(_, era)| *era)
}

/// A version: any string. Known revisions are looked up in [`REVISIONS`]. Cloning allocates nothing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProtocolVersion(Arc<str>);

impl ProtocolVersion {
    /// The version of this name.
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// Its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True if the requests of a legacy session at this version name it in a header over HTTP: since 2025-06-18 (LEG-05,
    /// LEG-17). An unknown version counts as a newer one.
    pub fn has_legacy_header(&self) -> bool {
        !matches!(self.as_str(), "2025-03-26" | "2024-11-05" | "2024-10-07")
    }

    /// Its era, if it is a known revision.
    pub fn era(&self) -> Option<Era> {
        era_of(&self.0)
    }
}

impl std::fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a side offers: versions of each era, best first. Which era a version is offered in is said by the list that
/// it stands in, so an experimental version needs no entry in [`REVISIONS`]. Cloning allocates nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preferences {
    /// Modern versions, best first.
    pub modern: Arc<[ProtocolVersion]>,
    /// Legacy versions, best first.
    pub legacy: Arc<[ProtocolVersion]>,
}

impl Preferences {
    /// All known revisions from 2024-11-05 on.
    pub fn all() -> Self {
        let of = |era| {
            let known = REVISIONS.iter().filter(|(name, e)| *e == era && *name != "2024-10-07");
            known.map(|(name, _)| ProtocolVersion::new(name)).collect()
        };
        Self { modern: of(Era::Modern), legacy: of(Era::Legacy) }
    }

    /// The same, each version once and in one era: a known revision in the list of the other era is left out (ERA-22), an
    /// unknown version in both lists counts as modern.
    #[must_use]
    pub fn cleared(&self) -> Self {
        let of = |list: &Arc<[ProtocolVersion]>, other: Era, taken: &[ProtocolVersion]| {
            let keeps = |(at, version): &(usize, &ProtocolVersion)| {
                let earlier = list.get(..*at).unwrap_or_default();
                version.era() != Some(other) && !taken.contains(version) && !earlier.contains(version)
            };
            let all = || list.iter().enumerate();
            if all().all(|one| keeps(&one)) {
                return Arc::clone(list);
            }
            all().filter(keeps).map(|(_, version)| version.clone()).collect()
        };
        let modern = of(&self.modern, Era::Legacy, &[]);
        let legacy = of(&self.legacy, Era::Modern, &modern);
        Self { modern, legacy }
    }

    /// The place of a version among the modern ones.
    pub fn modern_index(&self, version: &str) -> Option<usize> {
        self.modern.iter().position(|v| v.as_str() == version)
    }

    /// The place of a version among the legacy ones.
    pub fn legacy_index(&self, version: &str) -> Option<usize> {
        self.legacy.iter().position(|v| v.as_str() == version)
    }
}

impl Default for Preferences {
    fn default() -> Self {
        Self::all()
    }
}
