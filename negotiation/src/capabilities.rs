//! The types of the known capabilities (DISC-07). Unknown ones are legal, whatever they hold (DISC-06).

use crate::examine::Examiner;
use crate::issue::IssueId;
use crate::json::{Kind, Raw};

/// What a capability, always an object, holds.
#[derive(Clone, Copy)]
pub(crate) enum Holds {
    /// Anything.
    Anything,
    /// `listChanged` and `subscribe`, booleans.
    Flags,
    /// Objects under these names.
    Parts(&'static [&'static str]),
    /// Objects under any name.
    Objects,
}

pub(crate) type Known = [(&'static str, Holds)];

/// The capabilities of a client.
pub(crate) const CLIENT: &Known = &[
    ("experimental", Holds::Objects),
    ("roots", Holds::Flags),
    ("sampling", Holds::Parts(&["context", "tools"])),
    ("elicitation", Holds::Parts(&["form", "url"])),
    ("extensions", Holds::Objects),
];

/// The capabilities of a server.
pub(crate) const SERVER: &Known = &[
    ("experimental", Holds::Objects),
    ("logging", Holds::Anything),
    ("completions", Holds::Anything),
    ("prompts", Holds::Flags),
    ("resources", Holds::Flags),
    ("tools", Holds::Flags),
    ("extensions", Holds::Objects),
];

/// Notes every known capability, and every known member of one, that is not of its type.
pub(crate) fn check(capabilities: Raw<'_>, known: &Known, examiner: &mut Examiner<'_>) {
    for (name, capability) in capabilities.members() {
        let Some((_, holds)) = known.iter().find(|(known, _)| name.eq_str(known)) else { continue };
        if examiner.of_kind(Some(capability), Kind::Object, IssueId::CapabilitiesWrongType).is_none() {
            continue;
        }
        for (name, member) in capability.members() {
            let kind = match holds {
                Holds::Flags if name.eq_str("listChanged") || name.eq_str("subscribe") => Kind::Bool,
                Holds::Parts(parts) if parts.iter().any(|part| name.eq_str(part)) => Kind::Object,
                Holds::Objects => Kind::Object,
                Holds::Anything | Holds::Flags | Holds::Parts(_) => continue,
            };
            examiner.of_kind(Some(member), kind, IssueId::CapabilitiesWrongType);
        }
    }
}
