//! Both sides of a run in one small program: how to host a server of your own, and what the tests of this crate start.
//!
//! ```text
//! peer mock --recorder ADDRESS --token TOKEN    a hosted server; its persona comes from the recorder
//! peer file FOLDER PERSONA                      the same, writing its own trace
//! peer plain PERSONA                            the same, without any record
//! peer driver BEHAVIOUR TAG -- SERVER…          a client driver
//! peer web BEHAVIOUR TAG WORDS… URL             a client driver over HTTP
//! peer supervise TAG                            runs a driver that waits for ever
//! ```
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for tests"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use mcp_parley_hosts::{
    Bounds, DriverRun, FileRecord, Link, Play, PlayInput, PlayOutput, Record, drive, serve_stdio, stuck_after,
};
use mcp_parley_negotiation::Time;
use mcp_parley_trace::{Declared, Header, Mode, Origin, SCHEMA, Subject, Transport};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match &words[..] {
        ["mock", .., "--recorder", address, "--token", token] => {
            let link = match Link::connect(address.parse().unwrap(), token).await {
                Ok(link) => link,
                Err(error) => {
                    eprintln!("{error}");
                    std::process::exit(70);
                }
            };
            play(link.persona().to_owned(), Record::Supervisor(link)).await;
        }
        ["file", folder, persona] => {
            let record = FileRecord::create(folder.as_ref(), &header()).unwrap();
            play((*persona).to_owned(), Record::File(Box::new(record))).await;
        }
        ["plain", persona, ..] => play((*persona).to_owned(), Record::Nothing).await,
        ["driver", behaviour, _, "--", server @ ..] => behave(behaviour, server),
        ["web", behaviour, _, words @ ..] => browse(behaviour, words),
        ["supervise", tag] => supervise(tag).await,
        _ => std::process::exit(2),
    }
}

async fn play(persona: String, record: Record) {
    let player = Player { persona, input: Vec::new(), output: Vec::new(), outputs: Vec::new() };
    serve_stdio(player, record).await.leave();
}

/// Plays what one word says.
struct Player {
    persona: String,
    input: Vec<u8>,
    output: Vec<u8>,
    outputs: Vec<PlayOutput>,
}

impl Play for Player {
    fn handle_input(&mut self, now: Time, input: PlayInput<'_>) -> Result<(), String> {
        match input {
            PlayInput::Start => self.start(now),
            PlayInput::Bytes(bytes) => {
                self.input.extend_from_slice(bytes);
                while let Some(at) = self.input.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = self.input.drain(..=at).collect();
                    self.answer(&line)?;
                }
            }
            PlayInput::Eof if self.persona == "stays" => {}
            PlayInput::Eof => self.outputs.push(PlayOutput::Exit(0)),
            PlayInput::Timeout => {
                self.write(&"x".repeat(50_000));
                self.outputs.push(PlayOutput::WakeAt(Some(now)));
            }
        }
        Ok(())
    }

    fn poll_output(&mut self, buf: &mut Vec<u8>) -> Option<PlayOutput> {
        if self.outputs.is_empty() {
            return None;
        }
        Some(match self.outputs.remove(0) {
            PlayOutput::Write(range) => {
                let start = buf.len();
                buf.extend_from_slice(&self.output[range]);
                PlayOutput::Write(start..buf.len())
            }
            other => other,
        })
    }
}

impl Player {
    fn start(&mut self, now: Time) {
        match self.persona.as_str() {
            "flood" => self.outputs.push(PlayOutput::WakeAt(Some(now))),
            "exits" => self.outputs.push(PlayOutput::Exit(3)),
            "closes" => self.outputs.push(PlayOutput::Close),
            _ => {}
        }
    }

    fn write(&mut self, text: &str) {
        let start = self.output.len();
        self.output.extend_from_slice(text.as_bytes());
        self.outputs.push(PlayOutput::Write(start..self.output.len()));
    }

    fn answer(&mut self, line: &[u8]) -> Result<(), String> {
        let request: Value = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        let result = match request["method"].as_str() {
            Some("server/discover") => json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                "ttlMs": 0, "cacheScope": "private"
            }),
            _ => json!({"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private"}),
        };
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        match self.persona.as_str() {
            "silent" => {}
            "panics" => panic!("as its persona says"),
            "fails" => return Err("the player lost its script".into()),
            "dies" => self.outputs.push(PlayOutput::Signal(9)),
            "talks" => {
                eprintln!("I am a server, and {} is what I was told", request["method"]);
                self.write(&format!("{answer}\n"));
            }
            // Two chunks.
            _ => {
                let text = format!("{answer}\n");
                self.write(&text[..10]);
                self.write(&text[10..]);
            }
        }
        Ok(())
    }
}

fn start(server: &[&str]) -> Child {
    let mut command = Command::new(server[0]);
    command.args(&server[1..]).stdin(Stdio::piped()).stdout(Stdio::piped());
    // As some SDKs do: killing the driver's group does not reach it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn().unwrap()
}

fn ask(child: &mut Child) -> String {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover"});
    writeln!(child.stdin.as_ref().unwrap(), "{request}").unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    line
}

fn report(connected: bool, error: Option<&str>) {
    let error = error.map(|message| json!({"stage": "connect", "message": message}));
    let line = json!({
        "schema": 1, "sdk": "peer", "version": "0", "connected": connected, "error": error,
        "era": connected.then_some("modern"), "protocol_version": connected.then_some("2026-07-28"),
        "tools": connected.then_some(0)
    });
    println!("{line}");
}

/// A client driver that behaves as one word says.
fn behave(behaviour: &str, server: &[&str]) {
    match behaviour {
        "unsupported" => std::process::exit(89),
        "crashes" => {
            eprintln!("no such SDK");
            std::process::exit(3)
        }
        "garbage" => return println!("connected!"),
        "never" => {}
        "late" => return report(false, Some("driver time-out after 5 ms")),
        "stranger" => {
            let mut words = server.to_vec();
            words.pop();
            words.push("wrong");
            let status = start(&words).wait().unwrap();
            return report(false, Some(&format!("{:?}", status.code())));
        }
        "many" => {
            let children: Vec<Child> = (0..5).map(|_| start(server)).collect();
            children.into_iter().for_each(|mut child| drop(child.wait()));
        }
        _ => {
            let mut child = start(server);
            let answer = ask(&mut child);
            match behaviour {
                "kills" => child.kill().unwrap(),
                // It reads what there is, and never writes, closes or ends before its standard input ends.
                "hangs" => drop(std::io::stdin().read_to_end(&mut Vec::new())),
                "leaves" => return report(!answer.is_empty(), None),
                "twice" => drop(ask(&mut start(server))),
                "reads" => drop(child.stdout.as_mut().unwrap().read_to_end(&mut Vec::new())),
                _ => {}
            }
            drop(child.stdin.take());
            child.wait().unwrap();
        }
    }
    report(true, None);
}

/// A client driver over HTTP that behaves as one word says.
fn browse(behaviour: &str, words: &[&str]) {
    let url = words.last().unwrap();
    let (address, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let send = |path: &str| {
        let mut stream = TcpStream::connect(address)?;
        let head = format!("POST /{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
        write!(stream, "{head}Content-Length: 4\r\n\r\nping").map(|()| stream)
    };
    let ask = |path: &str| {
        let mut answer = String::new();
        send(path)?.read_to_string(&mut answer).map(|_| answer)
    };
    match behaviour {
        "hangs" => {
            let _open = send(path).unwrap();
            drop(std::io::stdin().read_to_end(&mut Vec::new()));
        }
        "leaves" => {
            let mut open = send(path).unwrap();
            open.read_exact(&mut [0]).unwrap();
        }
        "wanders" => eprintln!("{}", ask("elsewhere").unwrap()),
        "tells" => {
            let variable = |name: &str| std::env::var(name).unwrap_or_default();
            let file = words.iter().find_map(|word| std::fs::read_to_string(word).ok());
            let version = variable("MCP_CONFORMANCE_PROTOCOL_VERSION");
            let said =
                [words.join(" "), variable("MCP_CONFORMANCE_SCENARIO"), version, file.unwrap_or_default()];
            eprintln!("{}", said.join("|"));
        }
        "twice" => {
            ask(path).unwrap();
            // The server has ended by then.
            let refused = ask(path).unwrap_err();
            eprintln!("{:?}", refused.kind());
        }
        _ => eprintln!("{}", ask(path).unwrap()),
    }
    report(true, None);
}

async fn supervise(tag: &str) {
    let this = std::env::current_exe().unwrap().to_string_lossy().into_owned();
    let run = DriverRun {
        command: [&this, "driver", "hangs", tag, "--", "{server}"].map(str::to_owned).to_vec(),
        directory: None,
        environment: std::collections::BTreeMap::new(),
        server: [&this, "mock", tag].map(str::to_owned).to_vec(),
        mode: "auto".into(),
        probe_timeout: Duration::from_secs(1),
        timeout: Duration::from_secs(60),
        stuck_after: stuck_after(None),
        prints_line: true,
        bounds: Bounds::default(),
    };
    let driven = drive(&run, "silent".into(), (), std::future::pending()).await;
    println!("{driven:?}");
}

fn header() -> Header {
    Header {
        schema: SCHEMA.into(),
        tool: "peer".into(),
        revision: "2026-07-28".into(),
        subject: Subject::Client,
        transport: Transport::Stdio,
        origin: Origin::Written,
        declared: Declared {
            mode: Mode::Unknown,
            modern: None,
            legacy: None,
            longest_wait_us: None,
            reports: false,
        },
        client: Value::Null,
        server: Value::Null,
    }
}
