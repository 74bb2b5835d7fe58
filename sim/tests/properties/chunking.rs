//! However the pipes cut the same bytes, the same messages are sent, the client comes to the same outcome, and the judge to the
//! same verdicts.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_parley_mock_servers::Played;
use mcp_parley_negotiation::client::{ClientDeviations, ClientPolicy};
use mcp_parley_sim::{Bytes, Chooser, Site};
use mcp_parley_trace::{Channel, Event, Kind, Node, Outcome};
use proptest::prelude::*;

use crate::support::{Ran, Server, cases, client_case, client_policies, is_caught, run};

/// Cuts writes as the bytes say and does nothing else to them, unless the link is broken: then it loses half of a write.
struct Cutter<'b> {
    cuts: Bytes<'b>,
    broken: bool,
}

impl Chooser for Cutter<'_> {
    fn choose(&mut self, site: Site, bound: u32) -> u32 {
        match site {
            Site::FaultsInPlay => bound - 1,
            Site::Split => self.cuts.choose(site, bound),
            Site::Cut if self.broken => bound - 1,
            _ => 0,
        }
    }
}

#[derive(Debug, PartialEq)]
struct Seen {
    streams: BTreeMap<(Channel, Node), String>,
    reports: Vec<(Kind, String)>,
    verdicts: Vec<(&'static str, Outcome, &'static str)>,
}

fn seen(ran: &Ran) -> Seen {
    let mut streams = BTreeMap::<_, Vec<u8>>::new();
    let mut reports = Vec::new();
    for event in ran.recording.events() {
        let bytes = ran.recording.bytes(event);
        match event.kind {
            Kind::Write => streams.entry((event.channel, event.node)).or_default().extend(bytes),
            Kind::Settled(_) | Kind::Failed | Kind::Downgraded | Kind::Called(_) | Kind::Exit(_) => {
                reports.push((event.kind, String::from_utf8_lossy(bytes).into_owned()));
            }
            _ => {}
        }
    }
    let text = |bytes: Vec<u8>| bytes.escape_ascii().to_string();
    Seen {
        streams: streams.into_iter().map(|(key, bytes)| (key, text(bytes))).collect(),
        reports,
        verdicts: ran.verdicts.iter().map(|(id, verdict)| (*id, verdict.outcome, verdict.observed)).collect(),
    }
}

#[derive(Clone, Debug)]
struct Drawn {
    policy: ClientPolicy,
    server: Server,
    /// The size of the server's writes, where it does not write whole lines.
    pieces: Option<u32>,
    cuts: Vec<u8>,
}

/// A client whose waits are shorter than the time that a cut write takes on its way would notice the cutting; so would one whose wait
/// ends just when a slow persona has written.
fn drawn() -> impl Strategy<Value = Drawn> {
    let patient = client_policies().prop_map(|policy| {
        let patient = |us: u64| us.max(4_000_000);
        ClientPolicy {
            probe_timeout_us: patient(policy.probe_timeout_us),
            request_timeout_us: patient(policy.request_timeout_us),
            ..policy
        }
    });
    let pieces = prop_oneof![Just(None), (20..300_u32).prop_map(Some)];
    let cuts = prop::collection::vec(any::<u8>(), 0..20);
    (patient, Server::any(), pieces, cuts).prop_map(|(policy, server, pieces, cuts)| Drawn {
        policy,
        server,
        pieces,
        cuts,
    })
}

fn ran(drawn: &Drawn, pieces: Option<u32>, cutter: Cutter<'_>) -> Ran {
    let mut persona = drawn.server.persona();
    // Where each piece takes its time, more pieces take more.
    if persona.wire.gap_ms.is_none() {
        persona.wire.chunk_bytes = pieces.or(persona.wire.chunk_bytes);
    }
    let played = Arc::new(Played::new(persona).unwrap());
    run(&client_case(&drawn.policy, &ClientDeviations::default(), played), cutter)
}

fn holds(drawn: &Drawn, broken: bool) -> Result<(), TestCaseError> {
    let whole = ran(drawn, None, Cutter { cuts: Bytes::new(&[]), broken: false });
    // No run has more than so many events, and each piece of a long line is one.
    let longest = whole.recording.events().iter().map(Event::len).max();
    let pieces = drawn.pieces.filter(|_| longest < Some(4000));
    let cut = ran(drawn, pieces, Cutter { cuts: Bytes::new(&drawn.cuts), broken });
    let (expected, found) = (seen(&whole), seen(&cut));
    if expected != found {
        return Err(cut.fails(format_args!("whole: {expected:#?}\ncut: {found:#?}")));
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(700))]

    #[test]
    fn any_cutting_comes_to_the_same(drawn in drawn()) {
        holds(&drawn, false)?;
    }
}

#[test]
fn a_link_that_loses_bytes_is_noticed() {
    assert!(is_caught(&drawn(), |drawn| holds(&drawn, true)));
}
