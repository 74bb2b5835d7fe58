//! Runs of a client driver against hosted servers: what is recorded, how runs end, and that nothing of them is left.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "these helpers are part of the tests")]

mod peer;
mod processes;

use std::future::pending;
use std::process::{Command, Stdio};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use mcp_parley_hosts::{Bounds, DriveError, Driven, DriverRun, RunEnd, drive, stuck_after};
use mcp_parley_trace::{Channel, Era, Kind, Node, lines};
use peer::peer;
use processes::{assert_none_left, kinds, running, tag};

fn run(behaviour: &str, tag: &str) -> DriverRun {
    DriverRun {
        command: [&peer(), "driver", behaviour, tag, "--", "{server}"].map(str::to_owned).to_vec(),
        directory: None,
        environment: Default::default(),
        server: [&peer(), "mock", tag].map(str::to_owned).to_vec(),
        mode: "auto".into(),
        probe_timeout: Duration::from_secs(1),
        timeout: Duration::from_secs(20),
        stuck_after: stuck_after(None),
        prints_line: true,
        bounds: Bounds::default(),
    }
}

/// Runs it, and sees that nothing is left the moment it returns.
async fn driven(behaviour: &str, persona: &str) -> Driven {
    let tag = tag(&format!("{behaviour}-{persona}"));
    let driven = drive(&run(behaviour, &tag), persona.into(), (), pending()).await.unwrap();
    assert_eq!(running(&tag), Vec::<String>::new());
    assert_eq!(driven.recording.events().last().unwrap().kind, Kind::End(driven.end.is_complete()));
    driven
}

#[tokio::test]
async fn good_run_is_recorded_in_the_order_in_which_it_happened() {
    let run = driven("asks", "answers").await;
    assert_eq!(run.end, RunEnd::Done);
    assert_eq!(
        kinds(&run.recording, Node::Server),
        [Kind::Up, Kind::Read, Kind::Write, Kind::Write, Kind::Eof, Kind::Exit(0)]
    );
    assert_eq!(kinds(&run.recording, Node::Client), [Kind::Settled(Era::Modern), Kind::Called(true)]);
    let read = run.recording.events().iter().position(|event| event.kind == Kind::Read).unwrap();
    assert_eq!(run.recording.events()[read + 1].cause, u32::try_from(read).ok());
    let lines = lines(&run.recording);
    assert_eq!(lines.len(), 2);
    assert!(String::from_utf8(lines[1].bytes(&run.recording)).unwrap().contains("supportedVersions"));
    assert_eq!(run.line.unwrap().sdk, "peer");
    assert_eq!(run.strangers, 0);
}

#[tokio::test]
async fn every_process_has_its_own_number() {
    let run = driven("twice", "answers").await;
    let ups = run.recording.events().iter().filter(|event| event.kind == Kind::Up);
    assert_eq!(
        ups.map(|event| event.channel).collect::<Vec<_>>(),
        [Channel::Process(0), Channel::Process(1)]
    );
}

#[tokio::test]
async fn killed_mock_is_the_clients_doing_and_no_exit() {
    let run = driven("kills", "answers").await;
    assert_eq!(run.end, RunEnd::Done);
    assert_eq!(kinds(&run.recording, Node::Server).last(), Some(&Kind::Signal(9)));
}

#[tokio::test]
async fn mock_that_dies_as_its_persona_says_is_recorded_once() {
    let run = driven("asks", "dies").await;
    assert_eq!(kinds(&run.recording, Node::Server), [Kind::Up, Kind::Read, Kind::Signal(9)]);
    let run = driven("asks", "exits").await;
    assert!(kinds(&run.recording, Node::Server).contains(&Kind::Exit(3)));
}

#[tokio::test]
async fn mock_that_fails_by_itself_is_our_own_failure() {
    assert_eq!(driven("asks", "fails").await.end, RunEnd::MockFailed("the player lost its script".into()));
    assert_eq!(driven("asks", "panics").await.end, RunEnd::MockFailed("the mock panicked".into()));
}

#[tokio::test]
async fn wrong_token_is_refused() {
    let run = driven("stranger", "answers").await;
    assert_eq!(run.strangers, 1);
    assert_eq!(kinds(&run.recording, Node::Server), []);
    assert_eq!(run.line.unwrap().error.unwrap().message, "Some(70)");
}

#[tokio::test]
async fn floods_end_the_run_with_a_reason() {
    let flood = driven("reads", "flood").await;
    assert_eq!(flood.end, RunEnd::Flood("more than 16777216 bytes were exchanged".into()));
    assert!(flood.recording.len_bytes() <= 16 << 20);

    let tag = tag("many");
    let mut many = run("many", &tag);
    many.bounds.processes = 3;
    let many = drive(&many, "answers".into(), (), pending()).await.unwrap();
    assert_eq!(many.end, RunEnd::Flood("more than 3 processes were started".into()));
    assert_none_left(&tag, Duration::ZERO);
}

#[tokio::test]
async fn driver_that_fails_is_not_evidence() {
    assert_eq!(driven("unsupported", "answers").await.end, RunEnd::Unsupported);
    let crash = driven("crashes", "answers").await;
    assert_eq!(crash.end, RunEnd::DriverFailed("it exited with code 3".into()));
    assert_eq!(crash.stderr, b"no such SDK\n");
    let garbage = driven("garbage", "answers").await.end;
    assert!(
        matches!(&garbage, RunEnd::DriverFailed(why) if why.starts_with("its line cannot be read")),
        "{garbage:?}"
    );
    let late = driven("late", "answers").await;
    assert_eq!(late.end, RunEnd::DriverTimedOut);
    assert_eq!(kinds(&late.recording, Node::Client), []);
}

#[tokio::test]
async fn any_program_can_be_the_client() {
    let tag = tag("any-program");
    let mut any = run("crashes", &tag);
    any.prints_line = false;
    assert_eq!(drive(&any, "answers".into(), (), pending()).await.unwrap().end, RunEnd::NeverConnected);
    let mut any = run("garbage", &tag);
    any.command =
        vec!["sh".into(), "-c".into(), "\"$@\" < /dev/null; exit 5".into(), "sh".into(), "{server}".into()];
    any.prints_line = false;
    let done = drive(&any, "answers".into(), (), pending()).await.unwrap();
    assert_eq!(done.end, RunEnd::Done);
    assert_eq!(kinds(&done.recording, Node::Server), [Kind::Up, Kind::Eof, Kind::Exit(0)]);
}

#[tokio::test]
async fn mock_that_stays_is_ended_with_the_run() {
    let run = driven("leaves", "stays").await;
    assert_eq!(run.end, RunEnd::Done);
    // It saw the end of its input, and what ended it in the end was us: not an event of the run.
    assert_eq!(kinds(&run.recording, Node::Server).last(), Some(&Kind::Eof));
}

#[tokio::test]
async fn silence_counts_as_stuck_and_a_client_that_never_came_does_not() {
    let tag = tag("stuck");
    let mut stuck = run("hangs", &tag);
    stuck.stuck_after = Duration::from_millis(700);
    let stuck = drive(&stuck, "answers".into(), (), pending()).await.unwrap();
    assert_eq!(stuck.end, RunEnd::Stuck);
    assert!(kinds(&stuck.recording, Node::Harness).contains(&Kind::Stuck));
    assert_none_left(&tag, Duration::ZERO);
    assert_eq!(stuck_after(None), Duration::from_secs(45));
    assert_eq!(stuck_after(Some(Duration::from_secs(20))), Duration::from_secs(60));

    let mut never = run("hangs", &tag);
    never.command = vec!["sh".into(), "-c".into(), "sleep 100".into(), "{server}".into()];
    never.stuck_after = Duration::from_millis(100);
    assert_eq!(drive(&never, "answers".into(), (), pending()).await.unwrap().end, RunEnd::NeverConnected);
    assert_none_left(&tag, Duration::ZERO);
}

#[tokio::test]
async fn others_may_start_once_the_client_has_started_its_server_and_not_before() {
    let held = |start: &Weak<()>| start.strong_count() > 0;
    let (tag, start) = (tag("starts"), Arc::new(()));
    let (run, freed) = (run("hangs", &tag), Arc::downgrade(&start));
    let waiting = async {
        while held(&freed) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        running(&tag).len()
    };
    let here = tokio::select! {
        run = drive(&run, "answers".into(), start, pending()) => panic!("{run:?}"),
        here = waiting => here,
    };
    assert_eq!(here, 2, "the driver and its mock go on");

    let (mut never, start) = (run.clone(), Arc::new(()));
    never.command = vec!["sh".into(), "-c".into(), "sleep 100".into(), "{server}".into()];
    let freed = Arc::downgrade(&start);
    let looking = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert!(held(&freed));
    };
    tokio::select! {
        run = drive(&never, "answers".into(), start, pending()) => panic!("{run:?}"),
        () = looking => {}
    }
}

#[tokio::test]
async fn cancelled_or_dropped_run_leaves_nothing() {
    let cancelled = tag("cancelled");
    let cancel = tokio::time::sleep(Duration::from_millis(500));
    let run_of = |tag: &str| run("hangs", tag);
    let done = drive(&run_of(&cancelled), "silent".into(), (), cancel).await.unwrap();
    assert_eq!(done.end, RunEnd::Cancelled);
    assert_none_left(&cancelled, Duration::ZERO);

    let dropped = tag("dropped");
    let run = run_of(&dropped);
    let running_on = drive(&run, "silent".into(), (), pending());
    assert!(tokio::time::timeout(Duration::from_millis(500), running_on).await.is_err());
    // What was dropped is ended by the runtime, so it must run.
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_none_left(&dropped, Duration::ZERO);
}

#[tokio::test]
async fn killing_the_supervisor_leaves_nothing() {
    let tag = tag("killed-supervisor");
    let mut supervisor =
        Command::new(peer()).args(["supervise", &tag]).stdout(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while running(&tag).len() < 3 {
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", running(&tag));
        std::thread::sleep(Duration::from_millis(10));
    }
    supervisor.kill().unwrap();
    supervisor.wait().unwrap();
    assert_none_left(&tag, Duration::from_secs(5));
}

#[tokio::test]
async fn run_that_cannot_begin_says_why() {
    let mut none = run("asks", "x");
    none.command = vec!["/no/such/program".into(), "{server}".into()];
    let error = drive(&none, String::new(), (), pending()).await.unwrap_err();
    assert!(error.to_string().starts_with("cannot start /no/such/program: "), "{error}");
    none.command.pop();
    assert!(matches!(drive(&none, String::new(), (), pending()).await, Err(DriveError::NoServer)));
    none.command.clear();
    assert!(matches!(drive(&none, String::new(), (), pending()).await, Err(DriveError::NoCommand)));
}
