//! The one line, and the only way out. The first failure is kept.

use std::io::Write;
use std::process::exit;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rmcp::model::Implementation;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde::Serialize;

const MESSAGE_LIMIT: usize = 2000;

pub struct Report {
    state: Mutex<State>,
}

struct State {
    line: Line,
    stage: &'static str,
    /// The server's process: the SDK starts one.
    child: Option<Pid>,
}

#[derive(Serialize)]
struct Line {
    schema: u32,
    sdk: String,
    version: String,
    connected: bool,
    era: Option<&'static str>,
    protocol_version: Option<String>,
    tools: Option<usize>,
    error: Option<Failure>,
}

#[derive(Serialize)]
struct Failure {
    stage: &'static str,
    message: String,
}

impl Report {
    pub fn new() -> Self {
        // The SDK's own name and version, as it was built.
        let sdk = Implementation::from_build_env();
        let line = Line {
            schema: 1,
            sdk: sdk.name,
            version: sdk.version,
            connected: false,
            era: None,
            protocol_version: None,
            tools: None,
            error: None,
        };
        Self { state: Mutex::new(State { line, stage: "connect", child: None }) }
    }

    pub fn started(&self, pid: Option<u32>) {
        self.lock().child = pid.and_then(|pid| Pid::from_raw(pid.try_into().ok()?));
    }

    pub fn connected(&self, era: &'static str, version: &str) {
        let mut state = self.lock();
        state.line.connected = true;
        state.line.era = Some(era);
        state.line.protocol_version = Some(version.to_owned());
        state.stage = "call";
    }

    pub fn listed(&self, tools: usize) {
        self.lock().line.tools = Some(tools);
    }

    pub fn enter(&self, stage: &'static str) {
        self.lock().stage = stage;
    }

    pub fn fail(&self, message: &str) {
        self.lock().fail(message);
    }

    pub fn time_out(&self, timeout: Duration) -> ! {
        let mut state = self.lock();
        state.line.error = None;
        state.fail(&format!("driver time-out after {} ms", timeout.as_millis()));
        state.print_and_exit()
    }

    pub fn print_and_exit(&self) -> ! {
        self.lock().print_and_exit()
    }

    pub fn kill_children(&self) {
        self.lock().kill();
    }

    /// Reports the server's process if it outlives the SDK's close.
    pub fn wait_for_children(&self, grace: Duration) {
        let deadline = Instant::now() + grace;
        while self.lock().is_running() {
            if Instant::now() >= deadline {
                let mut state = self.lock();
                state.stage = "close";
                return state.fail("the SDK left 1 server process(es) running");
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Never released by those who print: the watchdog and the end of the work may meet here.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn fail(&mut self, message: &str) {
        if self.line.error.is_none() {
            let message = message.chars().take(MESSAGE_LIMIT).collect();
            self.line.error = Some(Failure { stage: self.stage, message });
        }
    }

    fn is_running(&self) -> bool {
        self.child.is_some_and(|pid| test_kill_process(pid).is_ok())
    }

    fn kill(&self) {
        if let Some(pid) = self.child {
            // It may have just exited.
            let _ = kill_process(pid, Signal::KILL);
        }
    }

    fn print_and_exit(&self) -> ! {
        self.kill();
        let line = serde_json::to_string(&self.line).unwrap_or_default();
        let _ = writeln!(std::io::stdout(), "{line}");
        exit(0)
    }
}
