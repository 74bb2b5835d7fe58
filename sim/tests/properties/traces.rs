//! A run's trace file holds all of it: reading what was written gives the run back, and running that gives it once more.

use std::sync::{Arc, LazyLock};

use mcp_parley_mock_clients::openings;
use mcp_parley_oracle::Severity;
use mcp_parley_sim::{Drawer, FullRun, Setup, record, replay};
use mcp_parley_trace::{ReadOptions, Recording, Subject, read, write};
use proptest::prelude::*;

use crate::support::is_caught;

fn setup(subject: Subject) -> Arc<Setup> {
    let openings = openings().iter().cloned().map(Arc::new);
    Arc::new(Setup {
        subject,
        openings: openings.filter(|_| subject == Subject::Server).collect(),
        ..Setup::default()
    })
}

fn recorded(seed: u64, subject: Subject) -> FullRun {
    static SETUPS: LazyLock<[Arc<Setup>; 2]> =
        LazyLock::new(|| [Subject::Client, Subject::Server].map(setup));
    let setup = &SETUPS[usize::from(subject == Subject::Server)];
    record(&mut Drawer::new(Arc::clone(setup)), seed, Severity::Error).unwrap()
}

fn drawn() -> impl Strategy<Value = (u64, Subject)> {
    (any::<u64>(), prop_oneof![Just(Subject::Client), Just(Subject::Server)])
}

fn holds(run: &FullRun, written: &FullRun) -> Result<(), TestCaseError> {
    let mut bytes = Vec::new();
    write(&mut bytes, &written.header, &written.recording, Some(&written.footer)).unwrap();
    let file =
        read(&bytes[..], ReadOptions::default()).map_err(|why| TestCaseError::fail(why.to_string()))?;
    let footer = file.footer.unwrap();
    prop_assert_eq!(&file.header, &run.header);
    prop_assert_eq!(&file.recording, &run.recording);
    prop_assert_eq!(&footer, &run.footer);
    let again = replay(&file.header, &footer, Severity::Error).map_err(TestCaseError::fail)?;
    prop_assert_eq!(again.diverged, None);
    prop_assert_eq!((&again.recording, &again.footer), (&run.recording, &run.footer));
    Ok(())
}

proptest! {
    #[test]
    fn what_is_written_is_read_and_run_again((seed, subject) in drawn()) {
        let run = recorded(seed, subject);
        holds(&run, &run)?;
    }
}

/// What a careless writer would put into the file.
fn careless(run: &FullRun, flaw: &str) -> FullRun {
    let mut written = run.clone();
    written.recording = Recording::new();
    for event in run.recording.events() {
        let bytes = run.recording.bytes(event);
        let (t_us, cause, bytes) = match flaw {
            "milliseconds" => (event.t_us / 1000 * 1000, event.cause, bytes),
            "causes" => (event.t_us, None, bytes),
            "lines" => (event.t_us, event.cause, bytes.trim_ascii_end()),
            _ => (event.t_us, event.cause, bytes),
        };
        written.recording.push(t_us, event.node, event.channel, event.kind, cause, bytes);
    }
    if flaw == "decisions" {
        written.footer.decisions.pop();
    }
    written
}

#[test]
fn a_careless_writer_is_noticed() {
    for flaw in ["milliseconds", "causes", "lines", "decisions"] {
        let fails = |(seed, subject)| {
            let run = recorded(seed, subject);
            holds(&run, &careless(&run, flaw))
        };
        assert!(is_caught(&drawn(), fails), "{flaw}");
    }
}
