//! `serve http`: a persona on a real port, found by its URL, ended by a signal, and the trace that it leaves.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "these helpers are part of the tests")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};

const EXE: &str = env!("CARGO_BIN_EXE_mcp-parley");

/// A served persona and its URL.
struct Served(Child, String);

impl Served {
    fn new(args: &[&str]) -> Self {
        let mut command = Command::new(EXE);
        command.args(["serve", "http"]).args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Self(child, line.trim_end().to_owned())
    }

    /// Sends a POST and reads all of the answer.
    fn ask(&self, headers: &str, body: &str) -> String {
        let (address, path) = self.1.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        let head = format!("POST /{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}");
        write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn interrupted(self) -> Output {
        let number = self.0.id().to_string();
        assert!(Command::new("kill").args(["-INT", &number]).status().unwrap().success());
        self.0.wait_with_output().unwrap()
    }
}

const PROBE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
const HEADERS: &str = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: server/discover\r\n";

#[test]
fn a_persona_is_served_until_it_is_told_to_stop_and_its_trace_can_be_shown() {
    let folder = tempfile::tempdir().unwrap();
    let traces = folder.path().display().to_string();
    let served = Served::new(&["--persona", "dual", "--path", "/x/mcp", "--trace", &traces]);
    assert!(served.1.starts_with("http://127.0.0.1:") && served.1.ends_with("/x/mcp"), "{}", served.1);
    let answer = served.ask(HEADERS, PROBE);
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("supportedVersions"), "{answer}");
    let url = served.1.clone();
    let output = served.interrupted();
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(output.stdout, b"", "the URL is all that it prints");
    assert!(String::from_utf8(output.stderr).unwrap().contains(&format!("dual listens on {url}")));
    let shown = Command::new(EXE).args(["show", &format!("{traces}/http-0.jsonl")]).output().unwrap();
    let text = String::from_utf8(shown.stdout).unwrap();
    assert!(text.contains("server/discover id=1") && text.contains("is ended by signal 2"), "{text}");
}

#[test]
fn a_persona_that_ends_ends_the_process_with_its_code() {
    let served = Served::new(&["--persona", "exiting"]);
    assert_eq!(served.ask("Content-Type: application/json\r\n", PROBE), "");
    assert_eq!(served.0.wait_with_output().unwrap().status.code(), Some(1));
}

#[test]
fn what_cannot_be_served_is_said_in_one_line() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let refused: [(&[&str], &str); 4] = [
        (&["--persona", "nobody"], "no persona named nobody"),
        (&["--persona", "noise"], "persona noise cannot be played over HTTP: "),
        (&["--persona", "modern", "--path", "mcp"], "--path mcp: say a path such as /mcp"),
        (&["--persona", "modern", "--port", &port], "--port "),
    ];
    for (args, word) in refused {
        let output = Command::new(EXE).args(["serve", "http"]).args(args).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.lines().count() == 1 && said.contains(word), "{said}");
        assert_eq!(output.stdout, b"");
    }
}
