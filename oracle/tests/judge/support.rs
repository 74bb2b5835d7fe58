//! Traces as readable text, for the tests: loads a file into a recording, as seen from both ends or from the
//! counterpart's end only.
//!
//! `C> LINE` is a line that the client writes and the server reads, `S> LINE` the other way round; `-- WHAT` anything
//! else; `!` before a line marks the event that breaks the rule. `\u{fffd}` stands for a byte that is no UTF-8, `\u{240a}` for the
//! end of a line that is written together with the next one. Words with `$` are shorthand, see [`expand`]. Below the header
//! `transport: http` the lines are requests and answers, see `http.rs`.

use mcp_parley_trace::{Channel, Declared, Era, Kind, Mode, Node, Recording, Subject, Transport};

use crate::http::Line;

/// Whose events were recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    Both,
    CounterpartOnly,
}

/// A trace file.
pub(crate) struct Script {
    pub(crate) subject: Subject,
    pub(crate) transport: Transport,
    pub(crate) declared: Declared,
    /// For a contested row.
    pub(crate) observed: Option<String>,
    /// The id that the finding has, where it is not the file's own.
    pub(crate) finding: Option<String>,
    /// Why the file is not judged from the counterpart's end.
    pub(crate) both_ends_only: Option<String>,
    lines: Vec<(bool, String)>,
}

/// A script as it was recorded.
pub(crate) struct Take {
    pub(crate) recording: Recording,
    pub(crate) marked: Option<u32>,
}

impl Script {
    pub(crate) fn parse(text: &str) -> Self {
        let mut this = Self {
            subject: Subject::Client,
            transport: Transport::Stdio,
            declared: Declared {
                mode: Mode::Auto,
                modern: Some(vec!["2026-07-28".into()]),
                legacy: Some(vec!["2025-11-25".into(), "2025-06-18".into()]),
                longest_wait_us: Some(10_000_000),
                reports: true,
            },
            observed: None,
            finding: None,
            both_ends_only: None,
            lines: Vec::new(),
        };
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (marked, body) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
            let answers_later = body.starts_with('S') && body[1..].starts_with(|c: char| c.is_ascii_digit());
            if body.starts_with("C>") || body.starts_with("S>") || body.starts_with("--") || answers_later {
                this.lines.push((marked, body.to_owned()));
            } else {
                let (key, value) =
                    body.split_once(':').unwrap_or_else(|| panic!("neither header nor event: {line}"));
                this.header(key, value.trim());
            }
        }
        this
    }

    fn header(&mut self, key: &str, value: &str) {
        let list = || match value {
            "unknown" => None,
            _ => Some(value.split(',').map(|v| v.trim().to_owned()).filter(|v| !v.is_empty()).collect()),
        };
        match key {
            "subject" if value == "server" => self.subject = Subject::Server,
            "subject" => self.subject = Subject::Client,
            "transport" => {
                self.transport = if value == "http" { Transport::Http } else { Transport::Stdio };
            }
            "mode" => {
                self.declared.mode = match value {
                    "legacy" => Mode::Legacy,
                    "auto" => Mode::Auto,
                    "modern" => Mode::Modern,
                    "unknown" => Mode::Unknown,
                    pin => Mode::Pin(pin.to_owned()),
                }
            }
            "modern" => self.declared.modern = list(),
            "legacy" => self.declared.legacy = list(),
            "wait" => self.declared.longest_wait_us = value.parse().ok(),
            "reports" => self.declared.reports = value == "yes",
            "observed" => self.observed = Some(value.to_owned()),
            "finding" => self.finding = Some(value.to_owned()),
            "both ends only" => self.both_ends_only = Some(value.to_owned()),
            _ => panic!("unknown header {key}"),
        }
    }

    pub(crate) fn record(&self, view: View) -> Take {
        let hidden = match (view, self.subject) {
            (View::Both, _) => None,
            (_, Subject::Server) => Some(Node::Server),
            _ => Some(Node::Client),
        };
        let mut tape = Tape { recording: Recording::new(), t_us: 0, process: 0, hidden, marked: None };
        let mut wire = crate::http::Wire::default();
        let over_http = self.transport == Transport::Http;
        if !over_http {
            tape.start();
        }
        let mut ended = false;
        for (marked, line) in &self.lines {
            let before = tape.recording.events().len() as u32;
            let line = line.as_str();
            if over_http && let Some(step) = Line::parse(line) {
                let at = wire.play(&mut tape, &step);
                tape.marked = if *marked { Some(at.unwrap_or(before)) } else { tape.marked };
                continue;
            }
            if let Some(text) = line.strip_prefix("C>") {
                tape.message(Node::Client, Node::Server, text);
            } else if let Some(text) = line.strip_prefix("S>") {
                tape.message(Node::Server, Node::Client, text);
            } else {
                ended |= tape.event(line.trim_start_matches("--").trim());
            }
            if *marked {
                tape.marked = Some(before);
            }
        }
        if !ended {
            tape.push(Node::Harness, Channel::None, Kind::End(true), b"");
        }
        Take { recording: tape.recording, marked: tape.marked }
    }
}

pub(crate) struct Tape {
    pub(crate) recording: Recording,
    pub(crate) t_us: u64,
    process: u32,
    pub(crate) hidden: Option<Node>,
    marked: Option<u32>,
}

impl Tape {
    /// What the subject says of itself is recorded from either end, and so is the end of a process.
    pub(crate) fn push(&mut self, node: Node, channel: Channel, kind: Kind, bytes: &[u8]) {
        let always = matches!(
            kind,
            Kind::Settled(_)
                | Kind::Failed
                | Kind::Downgraded
                | Kind::Called(_)
                | Kind::Exit(_)
                | Kind::Signal(_)
        );
        if self.hidden != Some(node) || always {
            self.recording.push(self.t_us, node, channel, kind, None, bytes);
        }
    }

    fn here(&self) -> Channel {
        Channel::Process(self.process)
    }

    fn start(&mut self) {
        self.push(Node::Client, self.here(), Kind::Spawn, b"");
        self.push(Node::Server, self.here(), Kind::Up, b"");
    }

    fn message(&mut self, from: Node, to: Node, text: &str) {
        let text = text.strip_prefix(' ').unwrap_or(text);
        let line = format!("{}\n", expand(text)).replace('\u{240a}', "\n");
        // What no text can hold: a byte that is no UTF-8.
        let pieces: Vec<&[u8]> = line.split('\u{fffd}').map(str::as_bytes).collect();
        let line = pieces.join(&0xff);
        self.push(from, self.here(), Kind::Write, &line);
        self.push(to, self.here(), Kind::Read, &line);
        self.t_us += 1_000;
    }

    /// True if it ends the run.
    fn event(&mut self, what: &str) -> bool {
        let words: Vec<&str> = what.split_whitespace().collect();
        let era = |word: &str| if word == "modern" { Era::Modern } else { Era::Legacy };
        match words.as_slice() {
            ["t", at] => self.t_us = at.parse().expect("a time in microseconds"),
            ["start"] => {
                self.process += 1;
                self.start();
            }
            ["close"] => {
                self.push(Node::Client, self.here(), Kind::Close, b"");
                self.push(Node::Server, self.here(), Kind::Eof, b"");
            }
            ["server", "closes"] => {
                self.push(Node::Server, self.here(), Kind::Close, b"");
                self.push(Node::Client, self.here(), Kind::Eof, b"");
            }
            ["exit", code] => {
                let code = code.parse().expect("an exit code");
                self.push(Node::Server, self.here(), Kind::Exit(code), b"");
                self.push(Node::Client, self.here(), Kind::Eof, b"");
            }
            ["signal", signal] => {
                let signal = signal.parse().expect("a signal");
                self.push(Node::Server, self.here(), Kind::Signal(signal), b"");
            }
            // By itself, or by what it was sent: the event before is the cause.
            ["dies", signal] => {
                let kind = Kind::Signal(signal.parse().expect("a signal"));
                let cause = (self.recording.events().len() as u32).checked_sub(1);
                self.recording.push(self.t_us, Node::Server, self.here(), kind, cause, b"");
            }
            ["client", "signal", signal] => {
                let signal = signal.parse().expect("a signal");
                self.push(Node::Client, Channel::None, Kind::Signal(signal), b"");
            }
            ["start", "fails"] => {
                self.process += 1;
                self.push(Node::Client, self.here(), Kind::Spawn, b"");
                self.push(Node::Client, self.here(), Kind::SpawnFailed, b"why");
            }
            ["settled", word, version] => {
                self.push(Node::Client, Channel::None, Kind::Settled(era(word)), version.as_bytes());
            }
            ["called", word] => self.push(Node::Client, Channel::None, Kind::Called(*word == "well"), b""),
            ["failed", ..] => self.push(Node::Client, Channel::None, Kind::Failed, b"why"),
            ["stuck"] => self.push(Node::Harness, Channel::None, Kind::Stuck, b"an answer"),
            ["end"] | ["cut"] => {
                self.push(Node::Harness, Channel::None, Kind::End(what == "end"), b"");
                return true;
            }
            _ => panic!("unknown event: {what}"),
        }
        false
    }
}

const META: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"mock-client","version":"0.0.1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;

/// Writes shorthand out: a name, and perhaps arguments in brackets. It is looked up again in what it stands for.
pub(crate) fn expand(text: &str) -> String {
    let Some(at) = text.find('$') else { return text.to_owned() };
    let rest = &text[at + 1..];
    let name_end = rest.find(|c: char| !(c.is_ascii_uppercase() || c == '_')).unwrap_or(rest.len());
    let (name, mut after) = rest.split_at(name_end);
    let mut args: Vec<&str> = Vec::new();
    if let Some(inside) = after.strip_prefix('(') {
        let close = inside.find(')').expect("a closing bracket");
        args = inside[..close].split(',').map(str::trim).collect();
        after = &inside[close + 1..];
    }
    let arg =
        |n: usize, other: &str| args.get(n).map_or_else(|| other.to_owned(), |value| (*value).to_owned());
    let list = |from: usize| {
        let versions: Vec<String> = args.iter().skip(from).map(|v| format!("{v:?}")).collect();
        if versions.is_empty() { "\"2026-07-28\"".to_owned() } else { versions.join(",") }
    };
    let id = arg(0, "1");
    let written = match name {
        "META" => META.replace("2026-07-28", &arg(0, "2026-07-28")),
        "PROBE" => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"server/discover","params":{{"_meta":$META({})}}}}"#,
            arg(1, "2026-07-28")
        ),
        "LIST" => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{{"_meta":$META({})}}}}"#,
            arg(1, "2026-07-28")
        ),
        "CALL" => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{}","params":{{"_meta":$META}}}}"#,
            arg(1, "tools/list")
        ),
        "BARE" => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{}"}}"#, arg(1, "tools/list")),
        "DISCOVER_OK" => format!(
            r#"{{"resultType":"complete","supportedVersions":[{}],"capabilities":{{"tools":{{}}}},"_meta":{{"io.modelcontextprotocol/serverInfo":{{"name":"mock-server","version":"0.0.1"}}}},"ttlMs":0,"cacheScope":"private"}}"#,
            list(0)
        ),
        "FOUND" => {
            let versions = args.iter().skip(1).copied().collect::<Vec<_>>().join(",");
            let versions = if versions.is_empty() { "2026-07-28".to_owned() } else { versions };
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":$DISCOVER_OK({versions})}}"#)
        }
        "REFUSED" => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32022,"message":"Unsupported protocol version","data":{{"supported":[{}],"requested":"{}"}}}}}}"#,
            list(2),
            arg(1, "2026-07-28")
        ),
        "ERROR" => {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{},"message":"no"}}}}"#, arg(1, "-32601"))
        }
        "TOOLS" => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}}}}"#
        ),
        "OLD_TOOLS" => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[]}}}}"#),
        "INITIALIZE" => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{"protocolVersion":"{}","capabilities":{{}},"clientInfo":{{"name":"mock-client","version":"0.0.1"}}}}}}"#,
            arg(1, "2025-11-25")
        ),
        "AGREED" => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"{}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"mock-server","version":"0.0.1"}}}}}}"#,
            arg(1, "2025-11-25")
        ),
        "READY" => r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
        "CANCEL" => {
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
        }
        other => panic!("unknown shorthand ${other}"),
    };
    format!("{}{}{}", &text[..at], expand(&written), expand(after))
}
