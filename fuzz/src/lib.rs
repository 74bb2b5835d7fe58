//! What each fuzz target does with one input. The targets themselves are thin, so that the corpora are replayed file by file as
//! ordinary tests on stable.

use std::sync::{Arc, Mutex, OnceLock};

use mcp_parley_negotiation::classify::{ReplyKind, classify_reply};
use mcp_parley_negotiation::issue::IssueSink;
use mcp_parley_negotiation::json::pointer_at;
use mcp_parley_negotiation::limits::Limits;
use mcp_parley_negotiation::version::Preferences;
use mcp_parley_oracle::Judge;
use mcp_parley_sim::{Bytes, Drawer, Setup, World};
use mcp_parley_trace::{Subject, Transport};

/// The reply classifier: total, issues within the input, a version only from a list that names one of ours.
pub fn classify(input: &[u8]) {
    let mut issues = IssueSink::new();
    let reply = classify_reply(input, &Preferences::all(), &Limits::DEFAULT, &mut issues);
    for issue in issues.issues() {
        assert!(issue.offset as usize <= input.len(), "{issue:?} lies outside the message");
        let _ = pointer_at(input, issue.offset as usize);
    }
    if let ReplyKind::Discovered(discovered) = reply.kind {
        assert!(discovered.listed.modern.is_none() || discovered.listed.strings > 0);
    }
}

/// The whole line over a fuzzer's decisions: the reference client keeps every rule against every persona.
pub fn client(input: &[u8]) {
    static LINE: OnceLock<Mutex<(Drawer, World, Judge)>> = OnceLock::new();
    let line = LINE.get_or_init(|| {
        let setup = Setup::default();
        Mutex::new((Drawer::new(Arc::new(setup)), World::new(), Judge::new()))
    });
    let Ok(mut line) = line.lock() else { return };
    let (drawer, world, judge) = &mut *line;
    let mut chooser = Bytes::new(input);
    let Ok((case, _)) = drawer.draw(&mut chooser) else { panic!("an embedded persona cannot be played") };
    world.run(&case, chooser);
    let verdicts = judge.judge(&world.recording, &case.declared, Subject::Client, Transport::Stdio);
    assert_eq!(verdicts.finding(), None);
}
