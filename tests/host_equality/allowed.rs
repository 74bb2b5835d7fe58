//! The differences between hosts that are allowed, each with its reason. One that is not met is a failure as well.

use std::collections::BTreeSet;
use std::sync::Mutex;

use mcp_parley_trace::Transport;

use crate::transcript::{Part, Transcript, differences};

/// Who plays a persona.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Host {
    World,
    Hosted,
    Process,
}

struct Allowed {
    host: Host,
    transport: Transport,
    /// All of them, if none is named.
    personas: &'static [&'static str],
    part: Part,
    reason: &'static str,
}

const ALLOWED: &[Allowed] = &[Allowed {
    host: Host::World,
    transport: Transport::Http,
    personas: &["http-raw"],
    part: Part::Bytes,
    reason: "what the simulator's client is told of begins with a head, and these bytes never become one",
}];

/// What was compared by one test: what is not allowed, and which of the allowed differences were met.
#[derive(Default)]
pub(crate) struct Compared {
    wrong: Mutex<Vec<String>>,
    used: Mutex<BTreeSet<usize>>,
    count: Mutex<usize>,
}

impl Compared {
    pub(crate) fn compare(
        &self,
        (host, transport, persona, script): (Host, Transport, &str, &str),
        reference: &Transcript,
        other: &Transcript,
    ) {
        *self.count.lock().unwrap() += 1;
        for (part, place) in differences(reference, other) {
            let fits = |own: &Allowed| {
                (own.host, own.transport, own.part) == (host, transport, part)
                    && (own.personas.is_empty() || own.personas.contains(&persona))
            };
            match ALLOWED.iter().position(fits) {
                Some(at) => drop(self.used.lock().unwrap().insert(at)),
                None => {
                    let said = format!("{host:?} over {transport:?}, {persona}, {script}: {part:?}, {place}");
                    self.wrong.lock().unwrap().push(said);
                }
            }
        }
    }

    /// At least so many were compared, nothing is wrong, and every difference that is allowed to this host was met.
    pub(crate) fn finish(self, host: Host, transport: Transport, at_least: usize) {
        let wrong = self.wrong.into_inner().unwrap();
        assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
        let (used, count) = (self.used.into_inner().unwrap(), self.count.into_inner().unwrap());
        for (at, own) in ALLOWED.iter().enumerate() {
            let here = (own.host, own.transport) == (host, transport);
            assert!(!here || used.contains(&at), "never met: {}", own.reason);
        }
        assert!(count >= at_least, "{count} were compared");
    }
}
