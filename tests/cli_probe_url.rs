//! `probe URL`: what it says of a server over HTTP and https, and how it helps where a URL leads nowhere.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "these helpers are part of the tests")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

const EXE: &str = env!("CARGO_BIN_EXE_mcp-parley");

/// A served persona and its URL; it ends with the value.
struct Served(Child, String);

impl Served {
    fn new(persona: &str) -> Self {
        let mut command = Command::new(EXE);
        command.args(["serve", "http", "--persona", persona]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Self(child, line.trim_end().to_owned())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Exit code, standard output, standard error.
fn probe(args: &[&str], environment: &[(&str, &Path)]) -> (i32, String, String) {
    let mut command = Command::new(EXE);
    command.arg("probe").args(args).envs(environment.iter().copied());
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn report_is_that_of_a_server_over_stdio() {
    let served = Served::new("dual");
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("t.jsonl");
    let (exit, said, _) =
        probe(&[&served.1, "--format", "json", "--trace", &trace.display().to_string()], &[]);
    let over_http: Value = serde_json::from_str(&said).unwrap();
    let (_, said, _) = probe(&["--format", "json", "--", EXE, "serve", "stdio", "--persona", "dual"], &[]);
    let mut over_stdio: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((exit, &over_http["era"]), (0, &json!("modern")));
    for timing in ["answers", "took_ms"] {
        over_stdio[timing] = over_http[timing].clone();
    }
    assert_eq!(over_http, over_stdio);
    let asked: Vec<&Value> = over_http["answers"].as_array().unwrap().iter().map(|row| &row["to"]).collect();
    assert_eq!(asked, ["server/discover", "tools/list"]);

    let shown = Command::new(EXE).arg("show").arg(&trace).output().unwrap();
    let text = String::from_utf8(shown.stdout).unwrap();
    assert!(text.contains("C ──▶ E0  POST server/discover id=1"), "{text}");
    assert!(text.contains("C ◀── E0  200 result id=1"), "{text}");
}

#[test]
fn violations_over_http_are_judged_as_such() {
    let served = Served::new("http-modern-error-status");
    let (exit, said, _) = probe(&[&served.1, "--mode", "modern"], &[]);
    assert_eq!(exit, 1, "{said}");
    assert!(said.contains("violation     HTTP-"), "{said}");
}

#[test]
fn the_era_of_a_conformance_scenario_is_taken() {
    let served = Served::new("dual");
    let era = |version: &str| {
        let environment = [("MCP_CONFORMANCE_PROTOCOL_VERSION", Path::new(version))];
        probe(&[&served.1], &environment)
            .1
            .lines()
            .find(|line| line.starts_with("version"))
            .unwrap()
            .to_owned()
    };
    assert_eq!(era("2025-11-25"), "version       2025-11-25");
    assert_eq!(era("2026-07-28"), "version       2026-07-28");
    let asked = [("MCP_CONFORMANCE_PROTOCOL_VERSION", Path::new("2025-11-25"))];
    let (_, said, _) = probe(&[&served.1, "--mode", "modern"], &asked);
    assert!(said.contains("version       2026-07-28"), "--mode comes first: {said}");
}

#[test]
fn urls_that_lead_nowhere_are_explained() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (exit, _, said) = probe(&[&format!("http://{free}/mcp")], &[]);
    assert_eq!(exit, 2);
    assert!(said.contains(&format!("nobody listens on {free}: does the server run")), "{said}");

    let served = Served::new("modern");
    let (exit, said, _) = probe(&[&served.1.replace("/mcp", "/")], &[]);
    assert_eq!(exit, 3);
    assert!(said.contains("is this the URL of the endpoint itself, with its path, such as …/mcp?"), "{said}");

    let (exit, _, said) = probe(&[&served.1.replace("http:", "https:")], &[]);
    assert_eq!(exit, 2);
    assert!(said.contains("does not speak TLS there: is it an http:// URL?"), "{said}");

    let moved = Served::new("http-redirects");
    let (exit, said, _) = probe(&[&moved.1], &[]);
    assert_eq!(exit, 3);
    assert!(said.contains("it redirects to /elsewhere with 307, which is not followed"), "{said}");

    for (args, word) in [
        (&["ftp://x/"][..], "ftp://x/: not a URL of a server: say http://HOST:PORT/PATH, or https://"),
        (&[], "required"),
        (&["http://127.0.0.1:1/", "--", "true"], "cannot be used with"),
    ] {
        let (exit, _, said) = probe(args, &[]);
        assert!(exit == 2 && said.contains(word), "{said}");
    }
}

/// A server with a certificate for `localhost` that it has signed itself, before the server of a persona. Where it listens; its
/// certificate is in the file.
fn secured(behind: SocketAddr, file: &Path) -> SocketAddr {
    let own = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    std::fs::write(file, own.cert.pem()).unwrap();
    let key = PrivateKeyDer::Pkcs8(own.signing_key.serialize_der().into());
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            // A client that does not trust it leaves here.
            let _ = forward(StreamOwned::new(connection, stream.unwrap()), behind);
        }
    });
    address
}

/// One request there and one answer back.
fn forward(
    mut client: StreamOwned<ServerConnection, std::net::TcpStream>,
    behind: SocketAddr,
) -> std::io::Result<()> {
    let mut server = std::net::TcpStream::connect(behind)?;
    let mut request = Vec::new();
    while !is_whole(&request) {
        let mut chunk = [0; 4096];
        let count = client.read(&mut chunk)?;
        if count == 0 {
            return Ok(());
        }
        request.extend_from_slice(&chunk[..count]);
    }
    server.write_all(&request)?;
    let mut answer = Vec::new();
    server.read_to_end(&mut answer)?;
    client.write_all(&answer)?;
    client.conn.send_close_notify();
    client.flush()
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    body.len() >= length.map_or(0, |length| length.parse().unwrap())
}

#[test]
fn a_certificate_must_be_signed_by_somebody_who_is_trusted() {
    let served = Served::new("modern");
    let behind = served.1.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap().parse().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (file, others) = (folder.path().join("own.pem"), folder.path().join("others.pem"));
    let address = secured(behind, &file);
    secured(behind, &others);
    let url = format!("https://localhost:{}/mcp", address.port());

    let trusted = [("SSL_CERT_FILE", file.as_path())];
    let (exit, said, error) = probe(&[&url], &trusted);
    assert_eq!(exit, 0, "{said}{error}");
    assert!(said.contains("era           modern") && said.contains("tools/list    answered"), "{said}");

    let (exit, _, said) = probe(&[&url], &[("SSL_CERT_FILE", others.as_path())]);
    assert_eq!(exit, 2);
    assert!(
        said.contains("nobody whom this machine trusts has signed the certificate of localhost"),
        "{said}"
    );
    assert!(said.contains("or name it in SSL_CERT_FILE"), "{said}");

    let by_number = url.replace("localhost", "127.0.0.1");
    let (exit, _, said) = probe(&[&by_number], &trusted);
    assert_eq!(exit, 2);
    assert!(said.contains("the certificate is not one for 127.0.0.1: use the name that it is for"), "{said}");

    let plain = url.replace("https", "http");
    let (exit, said, _) = probe(&[&plain], &trusted);
    assert_eq!(exit, 3);
    assert!(said.contains("the answer is TLS: is it an https:// URL?"), "{said}");
}
