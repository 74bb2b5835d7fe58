//! The runs: a few at a time, and again where a server stood still.

use std::collections::BTreeMap;
use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;

use mcp_parley_hosts::{Bounds, Guard, MeetEnd, MeetError, Meeting, Met, meet, stuck_after};
use mcp_parley_mock_clients::{Good, Message, Opening, Step, Wait};
use mcp_parley_oracle::Severity;
use mcp_parley_trace::{Declared, Header, Kind, Mode, Node, Origin, SCHEMA, Subject as OnTrial, lines};
use tokio::sync::Semaphore;

use super::subject::Subject;
use super::told::told;
use crate::cli::ServerArgs;
use crate::exit::Failure;
use crate::trial::{Ran, Standstill, Verdict, complaint, several, starts};

/// Start-up, every step of an opening at its slowest, and the standstill behind them.
const MEETING_TIME: Duration = Duration::from_secs(300);

/// What all runs have in common.
struct Played<'a> {
    args: &'a ServerArgs,
    guard: Guard,
}

/// Which openings each server meets.
pub(super) type Pairs = Vec<(Subject, Vec<Arc<Opening>>)>;

/// Plays every opening against every server; for each server its runs, in the order of the openings.
pub(super) async fn all(args: &ServerArgs, pairs: &mut Pairs) -> Result<Vec<Vec<Ran>>, Failure> {
    let exe = std::env::current_exe().map_err(Failure::internal)?.display().to_string();
    let guard = Guard::start(&[exe, "guard".into()]).map_err(Failure::internal)?;
    let args = &Played { args, guard };
    find_out(args, pairs).await?;
    let every: Vec<(usize, Arc<Opening>)> = (0..)
        .zip(pairs.iter())
        .flat_map(|(at, (subject, openings))| {
            let good = subject.good.unwrap_or(Good::Legacy);
            openings.iter().map(move |opening| (at, Arc::new(opening.then(good))))
        })
        .collect();
    let subjects: Vec<&Subject> = pairs.iter().map(|(subject, _)| subject).collect();
    let met = all_of(args, &subjects, &every).await?;
    let standstills = again(args, &subjects, &every, &met).await?;
    let mut ran: Vec<Vec<Ran>> = pairs.iter().map(|_| Vec::new()).collect();
    for ((place, (at, opening)), met) in (0..).zip(every).zip(met) {
        let standstill = standstills.get(&place).copied().unwrap_or(Standstill::Proven);
        if let (Some(subject), Some(ran)) = (subjects.get(at), ran.get_mut(at)) {
            ran.push(judge(args.args.fail_on.into(), subject, &opening, met, standstill));
        }
    }
    Ok(ran)
}

/// Where nobody says what the server answers well: whether it answers a probe.
async fn find_out(args: &Played<'_>, pairs: &mut Pairs) -> Result<(), Failure> {
    for (subject, _) in pairs.iter_mut().filter(|(subject, _)| subject.good.is_none()) {
        let meta = Some("modern".to_owned());
        let message = Message { id: Some(1.into()), method: "server/discover".into(), params: None, meta };
        let step = Step { send: Some(message), wait: Wait::Answer, ..Step::default() };
        let probe = Opening { steps: vec![step], then: None, ..Opening::only(Good::Modern) };
        let met = all_of(args, &[&*subject], &[(0, Arc::new(probe))]).await?;
        let recording = met.into_iter().next().map(|met| met.recording).unwrap_or_default();
        let is_discovered = lines(&recording).iter().filter(|line| line.from == Node::Server).any(|line| {
            let answer: serde_json::Value =
                serde_json::from_slice(&line.bytes(&recording)).unwrap_or_default();
            answer["result"]["supportedVersions"].is_array()
        });
        subject.good = Some(if is_discovered { Good::Modern } else { Good::Legacy });
    }
    Ok(())
}

async fn all_of(
    args: &Played<'_>,
    subjects: &[&Subject],
    every: &[(usize, Arc<Opening>)],
) -> Result<Vec<Met>, Failure> {
    let starts = starts();
    let run = |(at, opening): &(usize, Arc<Opening>)| {
        subjects
            .get(*at)
            .map(|subject| one(subject, Arc::clone(opening), Arc::clone(&starts), args.guard.clone()))
    };
    several(args.args.jobs, every.iter().filter_map(run).collect()).await
}

fn one(
    subject: &Subject,
    opening: Arc<Opening>,
    starts: Arc<Semaphore>,
    guard: Guard,
) -> impl Future<Output = Result<Met, Failure>> + Send + 'static {
    let run = Meeting {
        opening,
        server: subject.reach.clone(),
        directory: subject.directory.clone(),
        stuck_after: stuck_after(None),
        timeout: MEETING_TIME,
        bounds: Bounds::default(),
        guard: Some(guard),
    };
    async move {
        // It is never closed; if it were, there would be nothing to wait for.
        let start = starts.acquire_owned().await.ok();
        meet(&run, start, pending()).await.map_err(|error| match error {
            MeetError::Url(..) => Failure::usage(error),
            MeetError::Misuse(_) => Failure::internal(error),
        })
    }
}

/// What the standstills mean: each server that stood still is asked a good question with nothing before it, and where it answers
/// that one, the runs are repeated twice.
async fn again(
    args: &Played<'_>,
    subjects: &[&Subject],
    every: &[(usize, Arc<Opening>)],
    met: &[Met],
) -> Result<BTreeMap<usize, Standstill>, Failure> {
    let is_still = |met: &Met| met.end == MeetEnd::Stuck;
    let still: Vec<(usize, &(usize, Arc<Opening>))> =
        (0..).zip(every).zip(met).filter(|(_, met)| is_still(met)).map(|(run, _)| run).collect();
    let mut controls: Vec<(usize, Arc<Opening>)> = Vec::new();
    for (at, subject) in subjects.iter().enumerate() {
        if still.iter().any(|(_, (own, _))| *own == at) {
            controls.push((at, Arc::new(Opening::only(subject.good.unwrap_or(Good::Legacy)))));
        }
    }
    let compared = all_of(args, subjects, &controls).await?;
    let never: Vec<usize> =
        controls.iter().zip(&compared).filter(|(_, met)| is_still(met)).map(|((at, _), _)| *at).collect();
    let (always, repeated): (Vec<_>, Vec<_>) = still.into_iter().partition(|(_, (at, _))| never.contains(at));
    let twice: Vec<_> = repeated.iter().flat_map(|(_, run)| [(*run).clone(), (*run).clone()]).collect();
    let met = all_of(args, subjects, &twice).await?;
    let counted = repeated.iter().zip(met.chunks(2)).map(|((place, _), pair)| {
        let standstill = match 1 + pair.iter().filter(|met| is_still(met)).count() {
            3 => Standstill::Proven,
            times => Standstill::Sometimes(times),
        };
        (*place, standstill)
    });
    Ok(always.iter().map(|(place, _)| (*place, Standstill::Always)).chain(counted).collect())
}

fn judge(fail_on: Severity, subject: &Subject, opening: &Opening, met: Met, standstill: Standstill) -> Ran {
    let verdict = verdict(&met.end, standstill);
    let was_up = met.recording.events().iter().any(|event| event.kind == Kind::Up);
    let complaint = (!was_up).then(|| complaint(&met.stderr)).flatten();
    let story = told(&met.recording);
    Ran::judged(fail_on, &opening.id, verdict, header(subject, opening), met.recording, story, complaint)
}

fn verdict(end: &MeetEnd, standstill: Standstill) -> Verdict {
    Verdict::Incomplete(match (end, standstill) {
        (MeetEnd::Stuck, Standstill::Sometimes(times)) => format!("it stood still in {times} of 3 runs only"),
        (MeetEnd::Stuck, Standstill::Always) => "it leaves a good request alone without an answer too".into(),
        (MeetEnd::Done | MeetEnd::Stuck, _) => return Verdict::Judged,
        (MeetEnd::NotStarted(why), _) => format!("the server was not there: {why}"),
        (MeetEnd::Flood(why), _) => format!("too much traffic for a negotiation: {why}"),
        (MeetEnd::OutOfTime, _) => "it took more than five minutes".into(),
        (MeetEnd::Cancelled, _) => "stopped".into(),
    })
}

fn header(subject: &Subject, opening: &Opening) -> Header {
    Header {
        schema: SCHEMA.into(),
        tool: concat!("mcp-parley ", env!("CARGO_PKG_VERSION")).into(),
        revision: "2026-07-28".into(),
        subject: OnTrial::Server,
        transport: subject.transport(),
        origin: Origin::Real { command: subject.command(), peer: Some(subject.name.clone()) },
        declared: Declared {
            mode: Mode::Unknown,
            modern: None,
            legacy: None,
            longest_wait_us: None,
            reports: false,
        },
        client: serde_json::to_value(opening).unwrap_or_default(),
        server: serde_json::Value::Null,
    }
}
