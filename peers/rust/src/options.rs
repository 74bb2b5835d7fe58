//! What the driver is asked to do.

use std::time::Duration;

use rmcp::ClientLifecycleMode;
use rmcp::model::ProtocolVersion;

const EXIT_USAGE: i32 = 2;
const EXIT_UNSUPPORTED: i32 = 89;
const TIMEOUT_MS: u64 = 20_000;

pub struct Options {
    pub lifecycle: ClientLifecycleMode,
    pub timeout: Duration,
    pub target: Target,
}

pub enum Target {
    /// A program and its arguments.
    Server(String, Vec<String>),
    Url(String),
}

impl Options {
    pub fn read() -> Self {
        let mut words = std::env::args().skip(1);
        let (mut mode, mut timeout_ms, mut url) = (String::from("auto"), TIMEOUT_MS, None);
        let mut server = Vec::new();
        while let Some(word) = words.next() {
            let mut value = || words.next().unwrap_or_else(|| usage(&format!("{word} needs a value")));
            match word.as_str() {
                "--mode" => mode = value(),
                "--timeout-ms" => timeout_ms = positive(&word, &value()),
                "--probe-timeout-ms" => {
                    positive(&word, &value());
                    super::give_up(
                        EXIT_UNSUPPORTED,
                        "this SDK has no option for the probe's time-out, which is 10 s",
                    );
                }
                "--url" => url = Some(value()),
                "--" => server = words.by_ref().collect(),
                _ => usage(&format!("there is no option {word}")),
            }
        }
        let target = match (url, server.split_first()) {
            (Some(url), None) => Target::Url(url),
            (None, Some((program, arguments))) => Target::Server(program.clone(), arguments.to_vec()),
            _ => usage("say which server: --url URL, or a command after --"),
        };
        Self { lifecycle: lifecycle(&mode), timeout: Duration::from_millis(timeout_ms), target }
    }
}

fn lifecycle(mode: &str) -> ClientLifecycleMode {
    let modern = vec![ProtocolVersion::V_2026_07_28];
    match mode {
        "auto" => ClientLifecycleMode::Auto {
            preferred_versions: modern,
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        },
        "legacy" => ClientLifecycleMode::Initialize,
        // It pins modern versions only: after `initialize` it takes every counter-offer that it knows.
        "modern" | "pin:2026-07-28" => ClientLifecycleMode::Discover { preferred_versions: modern },
        _ => super::give_up(EXIT_UNSUPPORTED, &format!("this SDK has no mode {mode}")),
    }
}

fn positive(option: &str, text: &str) -> u64 {
    match text.parse() {
        Ok(number) if number > 0 => number,
        _ => usage(&format!("{option} needs a positive whole number, not {text}")),
    }
}

fn usage(message: &str) -> ! {
    super::give_up(EXIT_USAGE, message)
}
