//! The runs: every persona with every choice of its open values, a few at a time.

use std::collections::VecDeque;
use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use mcp_parley_hosts::{Bounds, Driven, DriverRun, RunEnd, asked_to_end, drive, stuck_after};
use mcp_parley_mock_servers::{Draft, Persona, personas};
use mcp_parley_oracle::{Finding, Judge};
use mcp_parley_trace::{
    Footer, Header, Kind, Node, Origin, Recording, SCHEMA, Subject as OnTrial, Transport, lines,
};
use serde_json::Value;
use tokio::task::JoinSet;

use super::Cases;
use super::peer::Subject;
use crate::cli::ClientArgs;
use crate::exit::Failure;
use crate::sides;

/// The driver's own time-out: start-up, probe, initialize, call and close, all at their slowest.
const DRIVER_TIMEOUT: Duration = Duration::from_secs(40);

/// One concrete persona.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// The persona's id, and behind a `#` its choices where it has any.
    pub(crate) name: String,
    persona: Arc<Persona>,
}

/// One run.
#[derive(Clone, Debug)]
pub(crate) struct Ran {
    pub(crate) case: Case,
    pub(crate) verdict: Verdict,
    /// What the client wrote, process by process, and how it ended.
    pub(crate) story: String,
    pub(crate) header: Header,
    pub(crate) recording: Recording,
    pub(crate) footer: Footer,
    pub(crate) finding: Option<Finding>,
}

/// Whether a run counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Judged,
    Incomplete(String),
    OurFault(String),
}

/// Every choice of each open value, one off its first at a time.
pub(crate) fn cases(args: &ClientArgs) -> Result<Cases, Failure> {
    let mut drafts: Vec<Draft> = Vec::new();
    for path in &args.persona_file {
        drafts.push(mcp_parley_mock_servers::load(path).map_err(Failure::usage)?);
    }
    for id in &args.persona {
        drafts.push(sides::persona(id)?);
    }
    if drafts.is_empty() {
        drafts = personas().to_vec();
    }
    let mut cases = Vec::new();
    for draft in &drafts {
        let points = draft.open_points();
        let mut variants = vec![vec![0; points.len()]];
        for (at, point) in points.iter().enumerate() {
            variants.extend((1..point.choices).map(|choice| {
                let mut choices = vec![0; points.len()];
                choices[at] = choice;
                choices
            }));
        }
        for choices in variants {
            let persona = Arc::new(draft.resolve(&choices).map_err(Failure::usage)?);
            let words: Vec<String> = choices.iter().map(u32::to_string).collect();
            let suffix = if words.is_empty() { String::new() } else { format!("#{}", words.join(",")) };
            cases.push(Case { name: format!("{}{suffix}", draft.id()), persona });
        }
    }
    Ok(cases)
}

/// Runs them all, in the order of the cases whatever the order in which they end.
pub(crate) async fn all(args: &ClientArgs, subject: &Subject, cases: &[Case]) -> Result<Vec<Ran>, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = args.jobs.unwrap_or(2 * cores).max(1);
    let bar = bar(cases.len(), &subject.name);
    let mut waiting: VecDeque<usize> = (0..cases.len()).collect();
    let mut running: JoinSet<(usize, Result<Driven, Failure>)> = JoinSet::new();
    let mut ran: Vec<Option<Ran>> = cases.iter().map(|_| None).collect();
    let mut stop = std::pin::pin!(asked_to_end());
    loop {
        while running.len() < jobs
            && let Some(at) = waiting.pop_front()
            && let Some(case) = cases.get(at)
        {
            let run = driver_run(args, subject)?;
            let persona = serde_json::to_string(&*case.persona).map_err(Failure::internal)?;
            running.spawn(async move {
                (at, drive(&run, persona, std::future::pending()).await.map_err(Failure::usage))
            });
        }
        let ended = tokio::select! {
            ended = running.join_next() => ended,
            _ = &mut stop => return Err(Failure::usage("stopped; nothing is left running")),
        };
        let Some(ended) = ended else { break };
        let (at, driven) = ended.map_err(Failure::internal)?;
        if let (Some(case), Some(slot)) = (cases.get(at), ran.get_mut(at)) {
            *slot = Some(judge(args, subject, case, driven?));
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(ran.into_iter().flatten().collect())
}

fn bar(runs: usize, name: &str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg} {bar:30} {pos}/{len} personas  {elapsed}");
    let bar =
        ProgressBar::new(runs as u64).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message(name.to_owned());
    bar
}

fn driver_run(args: &ClientArgs, subject: &Subject) -> Result<DriverRun, Failure> {
    let exe = std::env::current_exe().map_err(Failure::internal)?.display().to_string();
    let longest = subject.declared.longest_wait_us.map(Duration::from_micros);
    Ok(DriverRun {
        command: subject.command.clone(),
        directory: subject.directory.clone(),
        server: vec![exe, "serve".into(), "stdio".into()],
        mode: args.mode.clone(),
        probe_timeout: Duration::from_millis(subject.probe_timeout_ms),
        timeout: DRIVER_TIMEOUT,
        stuck_after: stuck_after(longest),
        prints_line: subject.is_driver,
        bounds: Bounds::default(),
    })
}

fn judge(args: &ClientArgs, subject: &Subject, case: &Case, driven: Driven) -> Ran {
    let verdict = match &driven.end {
        RunEnd::Done | RunEnd::Stuck => Verdict::Judged,
        RunEnd::MockFailed(why) => Verdict::OurFault(format!("the mock failed: {why}")),
        RunEnd::DriverTimedOut => Verdict::Incomplete("the driver ran out of time".into()),
        RunEnd::Unsupported => Verdict::Incomplete("the SDK has no such mode".into()),
        RunEnd::NeverConnected => Verdict::Incomplete("the client never started the server".into()),
        RunEnd::DriverFailed(why) => Verdict::Incomplete(format!("the driver failed: {why}")),
        RunEnd::Flood(why) => Verdict::Incomplete(format!("too much traffic: {why}")),
        RunEnd::Cancelled => Verdict::Incomplete("stopped".into()),
    };
    let header = Header {
        schema: SCHEMA.into(),
        tool: concat!("mcp-parley ", env!("CARGO_PKG_VERSION")).into(),
        revision: "2026-07-28".into(),
        subject: OnTrial::Client,
        transport: Transport::Stdio,
        origin: Origin::Real { command: subject.command.clone(), peer: Some(subject.name.clone()) },
        declared: subject.declared.clone(),
        client: Value::Null,
        server: serde_json::to_value(&*case.persona).unwrap_or_default(),
    };
    let mut judge = Judge::new();
    let judged = verdict == Verdict::Judged;
    let verdicts = judge.judge(&driven.recording, &header.declared, OnTrial::Client, Transport::Stdio);
    let rulings = if judged { verdicts.rulings() } else { Vec::new() };
    let finding = verdicts.finding_at(args.fail_on.into()).filter(|_| judged);
    let footer = Footer { rulings, ..Footer::default() };
    let story = story(&driven);
    Ran { case: case.clone(), verdict, story, header, recording: driven.recording, footer, finding }
}

/// For example: `C0 server/discover; C1 initialize 2025-11-25, notifications/initialized, tools/list; connected legacy`.
fn story(driven: &Driven) -> String {
    let mut parts: Vec<(String, Vec<String>)> = Vec::new();
    for line in lines(&driven.recording).iter().filter(|line| line.from == Node::Client) {
        let process = match line.channel {
            mcp_parley_trace::Channel::Process(number) => format!("C{number}"),
            _ => "C".to_owned(),
        };
        let text = word(&line.bytes(&driven.recording));
        match parts.last_mut() {
            Some((last, words)) if *last == process => words.push(text),
            _ => parts.push((process, vec![text])),
        }
    }
    let mut out: Vec<String> =
        parts.iter().map(|(process, words)| format!("{process} {}", words.join(", "))).collect();
    let said = driven.recording.events().iter().rev().find_map(|event| match event.kind {
        Kind::Settled(era) => {
            let version = String::from_utf8_lossy(driven.recording.bytes(event)).into_owned();
            Some(format!(
                "connected {} {version}",
                if era == mcp_parley_trace::Era::Legacy { "legacy" } else { "modern" }
            ))
        }
        Kind::Failed => Some("failed".to_owned()),
        _ => None,
    });
    out.extend(said);
    out.join("; ")
}

/// A message in a word or two.
fn word(bytes: &[u8]) -> String {
    let Ok(message) = serde_json::from_slice::<Value>(bytes) else { return "(no JSON)".into() };
    let Some(method) = message["method"].as_str() else { return "(response)".into() };
    let version = message["params"]["protocolVersion"].as_str();
    let version =
        version.or_else(|| message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str());
    version.map_or_else(|| method.to_owned(), |version| format!("{method} {version}"))
}
