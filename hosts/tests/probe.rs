//! The client's machine against real server processes.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "these helpers are part of the tests")]

mod peer;
mod processes;

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use mcp_parley_hosts::{ProbeEnd, ProbeError, ProbeReport, ProbeRun, probe};
use mcp_parley_negotiation::client::{ClientPolicy, DownKind, Failure};
use mcp_parley_negotiation::version::Era;
use mcp_parley_trace::{Kind, Node, lines};
use peer::peer;
use processes::{assert_none_left, kinds, running, tag};

fn shell(script: &str) -> ProbeRun {
    let command = ["sh", "-c", script].map(str::to_owned).to_vec();
    let policy =
        ClientPolicy { probe_timeout_us: 300_000, request_timeout_us: 400_000, ..ClientPolicy::default() };
    ProbeRun { policy: Arc::new(policy), ..ProbeRun::new(command) }
}

async fn probed(run: &ProbeRun) -> ProbeReport {
    let report = probe(run, pending()).await.unwrap();
    let complete = matches!(report.end, ProbeEnd::Settled | ProbeEnd::Failed(_));
    assert_eq!(report.recording.events().last().unwrap().kind, Kind::End(complete));
    report
}

#[tokio::test]
async fn good_server_is_settled_with_called_and_closed() {
    let tag = tag("good-server");
    let run = ProbeRun::new([&peer(), "plain", "talks", &tag].map(str::to_owned).to_vec());
    let report = probed(&run).await;
    assert_none_left(&tag, Duration::ZERO);
    assert_eq!(report.end, ProbeEnd::Settled);
    let (era, version) = report.settled.clone().unwrap();
    assert_eq!((era, version.as_str(), report.called), (Era::Modern, "2026-07-28", Some(true)));
    assert_eq!(
        kinds(&report.recording, Node::Server),
        [Kind::Up, Kind::Exit(0)],
        "{}",
        String::from_utf8_lossy(&report.stderr)
    );
    let client = kinds(&report.recording, Node::Client);
    assert_eq!(client.first(), Some(&Kind::Spawn));
    assert_eq!(client[client.len() - 2..], [Kind::Close, Kind::Eof]);
    let first = &lines(&report.recording)[0];
    assert!(String::from_utf8(first.bytes(&report.recording)).unwrap().contains("server/discover"));
    // A write that answers a read names it.
    let events = report.recording.events();
    let call = events.iter().rfind(|event| event.kind == Kind::Write).unwrap();
    assert_eq!(events[call.cause.unwrap() as usize].kind, Kind::Read);
    assert!(String::from_utf8(report.stderr).unwrap().contains("I am a server"));
}

#[tokio::test]
async fn server_that_cannot_be_started_fails_with_the_reason() {
    let run = ProbeRun::new(vec!["/no/such/server".into()]);
    let report = probed(&run).await;
    assert_eq!(report.end, ProbeEnd::Failed(Failure::ServerGone(DownKind::SpawnFailed)));
    assert!(report.spawn_error.unwrap().contains("No such file"));
    assert!(kinds(&report.recording, Node::Client).contains(&Kind::SpawnFailed));
    let nothing = ProbeRun::new(Vec::new());
    assert!(matches!(probe(&nothing, pending()).await, Err(ProbeError::NoCommand)));
}

#[tokio::test]
async fn server_that_exits_is_started_once_more_and_no_oftener() {
    let report = probed(&shell("echo farewell >&2; exit 4")).await;
    assert!(matches!(report.end, ProbeEnd::Failed(Failure::ServerGone(_))), "{:?}", report.end);
    let server = kinds(&report.recording, Node::Server);
    assert_eq!(server, [Kind::Up, Kind::Exit(4), Kind::Up, Kind::Exit(4)]);
    assert_eq!(report.stderr, b"farewell\nfarewell\n");
}

#[tokio::test]
async fn server_that_closes_a_pipe_and_stays_is_told_from_one_that_exits() {
    let report = probed(&shell("exec >&-; sleep 100")).await;
    assert_eq!(report.end, ProbeEnd::Failed(Failure::ServerGone(DownKind::Eof)));
    // The input is closed before the answer comes, so the call after it cannot be written.
    let result = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}"#;
    let script =
        format!(r#"read line; exec <&-; echo '{{"jsonrpc":"2.0","id":1,"result":{result}}}'; sleep 100"#);
    let report = probed(&shell(&script)).await;
    let client = kinds(&report.recording, Node::Client);
    let failed = client.iter().position(|kind| *kind == Kind::WriteFailed).unwrap();
    // The machine was told, and starts it again.
    assert!(client[failed..].contains(&Kind::Spawn), "{client:?}");
    assert!(report.took_us < 10_000_000, "{}", report.took_us);
}

#[tokio::test]
async fn silent_server_that_ignores_everything_is_closed_by_force() {
    let tag = tag("ignores");
    let run = shell(&format!("trap '' TERM; echo {tag} >/dev/null; while :; do sleep 0.1; done"));
    let report = probed(&run).await;
    assert_none_left(&tag, Duration::ZERO);
    assert!(matches!(report.end, ProbeEnd::Failed(Failure::Silence(_))), "{:?}", report.end);
    let events = report.recording.events();
    let time_of = |kind| events.iter().rfind(|event| event.kind == kind).unwrap().t_us;
    // STDIO-10: input closed, two seconds, SIGTERM, two seconds, SIGKILL.
    let patience = time_of(Kind::Signal(9)) - time_of(Kind::Close);
    assert!((4_000_000..8_000_000).contains(&patience), "{patience}");
}

#[tokio::test]
async fn flood_is_stopped_and_leaves_nothing() {
    let tag = tag("yes");
    let report = probed(&shell(&format!("yes {tag}"))).await;
    assert_eq!(report.end, ProbeEnd::Flood("more than 16777216 bytes were exchanged".into()));
    assert_none_left(&tag, Duration::from_millis(200));
}

#[tokio::test]
async fn time_for_everything_is_bounded() {
    let tag = tag("out-of-time");
    let mut run = shell(&format!("echo {tag} >/dev/null; sleep 100"));
    run.policy = Arc::default();
    run.timeout = Duration::from_millis(300);
    assert_eq!(probed(&run).await.end, ProbeEnd::OutOfTime);
    assert_none_left(&tag, Duration::ZERO);

    run.timeout = Duration::from_secs(60);
    let cancel = tokio::time::sleep(Duration::from_millis(100));
    assert_eq!(probe(&run, cancel).await.unwrap().end, ProbeEnd::Cancelled);
    assert_none_left(&tag, Duration::ZERO);

    let running_on = probe(&run, pending());
    assert!(tokio::time::timeout(Duration::from_millis(100), running_on).await.is_err());
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(running(&tag), Vec::<String>::new());
}

#[tokio::test]
async fn output_held_open_by_a_grandchild_does_not_hold_up_the_end() {
    let tag = tag("grandchild");
    let report = probed(&shell(&format!("sh -c 'sleep 100; echo {tag}' & exit 0"))).await;
    assert!(matches!(report.end, ProbeEnd::Failed(_)), "{:?}", report.end);
    assert!(report.took_us < 3_000_000, "{}", report.took_us);
    assert_none_left(&tag, Duration::from_millis(200));
}
