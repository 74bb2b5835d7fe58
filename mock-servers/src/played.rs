//! A persona made ready: policies prepared and selectors compiled once, so that starting a process costs next to nothing.

use std::sync::Arc;

use mcp_parley_negotiation::gate::{GatePolicy, Prepared};
use mcp_parley_negotiation::version::{Era, ProtocolVersion};
use serde_json::Value;
use thiserror::Error;

use crate::persona::{Act, Persona, PolicyTable, Profile, Quirk};
use crate::text::Text;
use crate::validate;
use crate::wire::Wire;

/// A persona that can be played.
#[derive(Clone, Debug)]
pub struct Played {
    persona: Persona,
    gates: Vec<(u32, Profile, Arc<Prepared>)>,
    /// Methods that a quirk waits for: what a process has seen of them is a bit each.
    watched: Vec<String>,
    /// How processes write that the persona's wire is not for.
    plain: Wire,
    heavy: bool,
}

/// A persona cannot be played.
#[derive(Debug, Error)]
pub enum PlayedError {
    /// Its policy does not fit the gate.
    #[error("in [policy]: {0}")]
    Policy(String),
    /// A value is not one of those allowed.
    #[error("`{name}`: {allowed}")]
    Value {
        /// The key.
        name: &'static str,
        /// What is allowed.
        allowed: &'static str,
    },
    /// A value in a quirk is not one of those allowed.
    #[error("in quirk {number}: `{name}`: {allowed}")]
    Quirk {
        /// The quirk, counted from 1.
        number: usize,
        /// The key.
        name: &'static str,
        /// What is allowed.
        allowed: &'static str,
    },
    /// More methods are waited for than can be kept.
    #[error("quirks wait for more than 64 methods")]
    TooManyMethods,
}

impl Played {
    /// Makes a persona ready.
    ///
    /// # Errors
    /// [`PlayedError`] says what in it does not fit.
    pub fn new(persona: Persona) -> Result<Self, PlayedError> {
        validate::persona(&persona)?;
        let mut gates = vec![(1, persona.profile, prepare(persona.profile, persona.policy.as_ref())?)];
        for later in &persona.process {
            gates.push((later.from, later.profile, prepare(later.profile, None)?));
        }
        gates.sort_by_key(|(from, ..)| *from);
        let mut watched: Vec<String> = persona.quirks.iter().flat_map(watched_by).cloned().collect();
        watched.sort_unstable();
        watched.dedup();
        if watched.len() > 64 {
            return Err(PlayedError::TooManyMethods);
        }
        let heavy = is_heavy(&persona);
        Ok(Self { persona, gates, watched, plain: Wire::default(), heavy })
    }

    /// The persona.
    pub fn persona(&self) -> &Persona {
        &self.persona
    }

    /// What the process of this number, counted from 0, is.
    pub(crate) fn gate(&self, process: u32) -> (Profile, Arc<Prepared>) {
        let of = |(_, profile, gate): &(u32, Profile, Arc<Prepared>)| (*profile, Arc::clone(gate));
        let found = self
            .gates
            .iter()
            .rev()
            .find(|(from, ..)| *from <= process.saturating_add(1))
            .or_else(|| self.gates.first());
        found.map_or_else(|| (Profile::Silent, Arc::new(Prepared::new(GatePolicy::default()))), of)
    }

    /// How the process of this number, counted from 0, writes.
    pub(crate) fn wire(&self, process: u32) -> &Wire {
        let wire = &self.persona.wire;
        if wire.processes.is_some_and(|first| process >= first) { &self.plain } else { wire }
    }

    /// True if one message can make it write more than most processes write in their life.
    pub fn is_heavy(&self) -> bool {
        self.heavy
    }

    pub(crate) fn bit(&self, method: &str) -> u64 {
        self.watched.iter().position(|name| name == method).map_or(0, |at| 1 << at)
    }
}

fn is_heavy(persona: &Persona) -> bool {
    const HEAVY: usize = 1 << 16;
    let long = |texts: &[Text]| texts.iter().any(|text| text.size() > HEAVY);
    let act = |act: &Act| {
        let raw = act.set.iter().filter_map(|set| set.raw.as_ref());
        let lines = [act.line.as_slice(), &act.before, &act.behind, &act.stderr];
        lines.into_iter().chain(raw.map(std::slice::from_ref)).any(long)
            || act.pad_bytes.is_some_and(|size| size as usize > HEAVY)
    };
    long(&persona.wire.banner)
        || long(&persona.wire.stderr)
        || persona.quirks.iter().any(|quirk| act(&quirk.act))
}

fn watched_by(quirk: &Quirk) -> impl Iterator<Item = &String> {
    quirk.when.after.iter().chain(&quirk.when.before).chain(&quirk.act.until)
}

fn prepare(profile: Profile, changes: Option<&PolicyTable>) -> Result<Arc<Prepared>, PlayedError> {
    let policy = policy(profile, changes).map_err(PlayedError::Policy)?;
    Ok(Arc::new(Prepared::new(policy)))
}

/// The profile's policy with these fields changed.
fn policy(profile: Profile, changes: Option<&PolicyTable>) -> Result<GatePolicy, String> {
    let Some(changes) = changes else { return Ok(profile.policy()) };
    let mut fields = serde_json::to_value(profile.policy()).map_err(|error| error.to_string())?;
    if let Value::Object(fields) = &mut fields {
        for (name, value) in changes {
            fields.insert(name.clone(), value.clone());
        }
    }
    let policy: GatePolicy = serde_json::from_value(fields).map_err(|error| error.to_string())?;
    swapped("modern", &policy.modern, Era::Legacy)?;
    swapped("legacy", &policy.legacy, Era::Modern)?;
    Ok(policy)
}

/// The gate would leave such a version out, and the file would not do what it says.
fn swapped(list: &str, versions: &[ProtocolVersion], other: Era) -> Result<(), String> {
    match versions.iter().find(|version| version.era() == Some(other)) {
        Some(version) => Err(format!("`{list}`: {version} is of the other era; a quirk can answer with it")),
        None => Ok(()),
    }
}
