//! One run in full: from a seed or from a trace file, with its decision log, verdicts and hash.

use mcp_parley_oracle::{Finding, Judge, Severity, Verdict};
use mcp_parley_trace::{Decision, Footer, Header, Origin, Outcome, Recording, RunHash, SCHEMA};

use crate::case::Case;
use crate::chooser::{Chooser, Recorder, Replay, Seeded};
use crate::draw::Drawer;
use crate::world::World;

/// The revision of the specification whose catalogue judges the runs.
const REVISION: &str = "2026-07-28";

/// A run with all that can be said of it.
#[derive(Clone, Debug)]
pub struct FullRun {
    /// The first line of its trace file.
    pub header: Header,
    /// What happened.
    pub recording: Recording,
    /// The last line of its trace file.
    pub footer: Footer,
    /// What it shows, if anything.
    pub finding: Option<Finding>,
    /// The first decision that the log did not foresee, where it was repeated from one.
    pub diverged: Option<usize>,
}

/// Makes the run of a seed again, with its decision log.
///
/// # Errors
/// A persona that cannot be played, in one line.
pub fn record(drawer: &mut Drawer, seed: u64, fail_on: Severity) -> Result<FullRun, String> {
    let mut chooser = Seeded::new(seed);
    let (case, _) = drawer.draw(&mut chooser)?;
    let (run, recorder) = full(&case, Recorder::new(chooser), Origin::Simulated { seed }, fail_on);
    let (_, decisions) = recorder.into_parts();
    Ok(with_decisions(run, decisions))
}

/// Makes the run of a trace file again.
///
/// # Errors
/// What in the header cannot be run again.
pub fn replay(header: &Header, footer: &Footer, fail_on: Severity) -> Result<FullRun, String> {
    let case =
        Case::from_values(header.subject, header.transport, header.client.clone(), header.server.clone())?;
    let (mut run, chooser) = full(&case, Replay::new(&footer.decisions), header.origin.clone(), fail_on);
    run.diverged = chooser.diverged();
    Ok(with_decisions(run, footer.decisions.clone()))
}

fn with_decisions(mut run: FullRun, decisions: Vec<Decision>) -> FullRun {
    run.footer.decisions = decisions;
    run
}

/// The hash of a judged run. A verdict that is not in it is *not applicable*; most are, in any one run.
pub fn hash_of<'v>(
    hash: &mut RunHash,
    recording: &Recording,
    verdicts: impl IntoIterator<Item = (&'static str, &'v Verdict)>,
) -> u128 {
    hash.begin(recording);
    let applicable = |(_, verdict): &(&str, &Verdict)| verdict.outcome != Outcome::NotApplicable;
    for (id, verdict) in verdicts.into_iter().filter(applicable) {
        hash.verdict(id, verdict.outcome, &verdict.evidence);
    }
    hash.finish()
}

fn full<C: Chooser>(case: &Case, chooser: C, origin: Origin, fail_on: Severity) -> (FullRun, C) {
    let mut world = World::new();
    let chooser = world.run(case, chooser);
    let mut judge = Judge::new();
    let verdicts = judge.judge(&world.recording, &case.declared, case.subject, case.transport);
    let hash = hash_of(&mut RunHash::default(), &world.recording, verdicts.iter());
    let footer = Footer { rulings: verdicts.rulings(), decisions: Vec::new(), hash: format!("{hash:032x}") };
    let header = Header {
        schema: SCHEMA.into(),
        tool: concat!("mcp-parley ", env!("CARGO_PKG_VERSION")).into(),
        revision: REVISION.into(),
        subject: case.subject,
        transport: case.transport,
        origin,
        declared: (*case.declared).clone(),
        client: case.client_value(),
        server: case.server_value(),
    };
    let finding = verdicts.finding_at(fail_on);
    (
        FullRun { header, recording: std::mem::take(&mut world.recording), footer, finding, diverged: None },
        chooser,
    )
}
