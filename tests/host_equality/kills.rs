//! A mock that is killed from outside has not ended by itself: no recording says that it exited, and nobody is found guilty of it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use mcp_parley_hosts::{Bounds, Driven, DriverRun, RunEnd, drive, drive_http, stuck_after};
use mcp_parley_mock_servers::{Site, persona};
use mcp_parley_oracle::{Judge, Severity, severity};
use mcp_parley_trace::{Declared, Kind, Mode, Node, ReadOptions, Recording, Subject, Transport, read_file};
use tokio::sync::Notify;

use crate::scripts::{line, persona as concrete, played, scripts};

const EXE: &str = env!("CARGO_BIN_EXE_mcp-parley");

/// A client in the shell: starts the server, says which process it is, sends what stands in a file, and waits for the server's end.
const CLIENT: &str = r#"
    mkfifo in
    "$@" <in >out &
    echo $! >pid.new; mv pid.new pid
    exec 3>in; cat line >&3; wait
"#;

fn run(folder: &Path, command: &[&str]) -> DriverRun {
    DriverRun {
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        directory: Some(folder.to_owned()),
        environment: Default::default(),
        server: [EXE, "serve", "stdio"].map(str::to_owned).to_vec(),
        mode: "auto".into(),
        probe_timeout: Duration::from_secs(5),
        timeout: Duration::from_secs(60),
        stuck_after: stuck_after(None),
        prints_line: false,
        bounds: Bounds::default(),
    }
}

/// Waits until the file is there and not empty.
async fn appears(file: &Path) -> String {
    loop {
        match std::fs::read_to_string(file) {
            Ok(text) if !text.is_empty() => return text,
            _ => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

fn kill(number: &str) {
    assert!(Command::new("kill").args(["-KILL", number]).status().unwrap().success());
}

fn of_server(recording: &Recording) -> Vec<(Kind, Option<u32>)> {
    let server = recording.events().iter().filter(|event| event.node == Node::Server);
    server.map(|event| (event.kind, event.cause)).collect()
}

fn is_exit(kind: Kind) -> bool {
    matches!(kind, Kind::Exit(_))
}

const BOTH: &[Subject] = &[Subject::Client, Subject::Server];

/// The ids that are broken if one of these is on trial.
fn broken(
    recording: &Recording,
    transport: Transport,
    subjects: &[Subject],
) -> Vec<(&'static str, Severity)> {
    let declared =
        Declared { mode: Mode::Unknown, modern: None, legacy: None, longest_wait_us: None, reports: false };
    let mut found = Vec::new();
    for subject in subjects.iter().copied() {
        let mut judge = Judge::new();
        let verdicts = judge.judge(recording, &declared, subject, transport);
        let ids = verdicts.iter().filter(|(_, verdict)| verdict.is_broken()).map(|(id, _)| id);
        found.extend(ids.map(|id| (id, severity(id))));
    }
    found
}

async fn killed(name: &str, from_outside: bool) -> Driven {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("line"), line(&scripts()[1].stdio.steps[0])).unwrap();
    let text = serde_json::to_string(&concrete(persona(name).unwrap(), &[])).unwrap();
    let run = run(folder.path(), &["sh", "-c", CLIENT, "sh", "{server}"]);
    let driven = drive(&run, text, (), std::future::pending());
    let killer = async {
        if from_outside {
            let number = appears(&folder.path().join("pid")).await;
            appears(&folder.path().join("out")).await;
            kill(number.trim());
        }
    };
    tokio::join!(driven, killer).0.unwrap()
}

#[tokio::test]
async fn a_process_that_is_killed_from_outside_has_not_exited_and_breaks_no_rule_that_must_be_kept() {
    let driven = killed("modern", true).await;
    let events = of_server(&driven.recording);
    assert_eq!(events.last(), Some(&(Kind::Signal(9), None)), "{events:?}");
    assert!(!events.iter().any(|(kind, _)| is_exit(*kind)), "{events:?}");
    // Nobody can see who it was. A client may kill its server, and should wait before it does: that is all that is said, a warning.
    assert_eq!(broken(&driven.recording, Transport::Stdio, BOTH), [("STDIO-10", Severity::Warning)]);
    // The neighbour: a persona that ends by this signal names the message that made it do so.
    let own = of_server(&killed("exits-once", false).await.recording);
    assert!(matches!(own.last(), Some((Kind::Signal(9), Some(_)))), "{own:?}");
}

#[tokio::test]
async fn a_process_that_the_supervisor_ends_has_not_exited_and_nobody_has_killed_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("line"), line(&scripts()[1].stdio.steps[0])).unwrap();
    let text = serde_json::to_string(&concrete(persona("modern").unwrap(), &[])).unwrap();
    let mut run = run(folder.path(), &["sh", "-c", CLIENT, "sh", "{server}"]);
    run.stuck_after = Duration::from_secs(1);
    let driven = drive(&run, text, (), std::future::pending()).await.unwrap();
    assert_eq!(driven.end, RunEnd::Stuck);
    let events = of_server(&driven.recording);
    assert!(events.contains(&(Kind::Signal(15), None)), "the client's processes are told to end: {events:?}");
    assert!(!events.iter().any(|(kind, _)| is_exit(*kind)), "{events:?}");
    // It stood still, and that is all.
    let found = broken(&driven.recording, Transport::Stdio, &[Subject::Client]);
    assert_eq!(found, [("PROP-BOUND", Severity::Error)]);
}

#[tokio::test]
async fn a_site_whose_run_is_stopped_has_not_exited_and_the_run_proves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let client = "echo started >started; exec sleep 60";
    let run = run(folder.path(), &["sh", "-c", client, "sh", "{url}"]);
    let stop = Arc::new(Notify::new());
    let cancel = stop.notified();
    let site = Site::start(played(persona("modern").unwrap(), &[]));
    let stopper = async {
        appears(&folder.path().join("started")).await;
        stop.notify_one();
    };
    let (driven, ()) = tokio::join!(drive_http(&run, site, (), cancel), stopper);
    let driven = driven.unwrap();
    assert_eq!(driven.end, RunEnd::Cancelled);
    assert!(!driven.end.is_complete());
    assert_eq!(driven.recording.events().last().unwrap().kind, Kind::End(false));
    assert!(!of_server(&driven.recording).iter().any(|(kind, _)| is_exit(*kind)));
    assert_eq!(broken(&driven.recording, Transport::Http, BOTH), []);
}

#[tokio::test]
async fn a_host_that_is_killed_leaves_a_trace_without_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let traces = folder.path().display().to_string();
    let mut command = Command::new(EXE);
    command.args(["serve", "http", "--persona", "modern", "--trace", &traces]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let file = folder.path().join("http-0.jsonl");
    while !appears(&file).await.contains("\"up\"") {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    kill(&child.id().to_string());
    child.wait().unwrap();
    assert!(read_file(&file, ReadOptions::default()).is_err(), "it is no whole trace");
    let read = read_file(&file, ReadOptions { allow_truncated: true }).unwrap();
    let events = of_server(&read.recording);
    assert!(matches!(events[..], [(Kind::Up, _)]), "{events:?}");
    assert!(!read.recording.events().iter().any(|event| matches!(event.kind, Kind::End(true))));
    assert_eq!(broken(&read.recording, Transport::Http, BOTH), []);
}
