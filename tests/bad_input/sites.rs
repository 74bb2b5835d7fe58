//! What clients send to a persona that is served over HTTP: it refuses what is too much, keeps its memory, and serves the next one.
#![cfg(target_os = "linux")]

use std::io::{BufRead as _, BufReader, Read as _, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::LONG;
use super::harness::exe;

/// Measured: 14 to 21 MiB, most of them with a thousand connections. What a site may hold by its bounds is more: 64 MiB of bodies, 16
/// MiB of answers, 256 heads.
const PEAK_KIB: u64 = 64 << 10;

type Feed<'a> = dyn Fn(&mut dyn Write) -> std::io::Result<()> + 'a;

struct Site {
    child: Child,
    address: String,
    path: String,
}

impl Site {
    fn new() -> Self {
        let mut command = Command::new(exe());
        command.args(["serve", "http", "--persona", "modern"]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut url).unwrap();
        let (address, path) = url.trim().strip_prefix("http://").unwrap().split_once('/').unwrap();
        Self { child, address: address.to_owned(), path: format!("/{path}") }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends a head of these lines and what `feed` writes, which may fail when the server has seen enough; what it answers.
    fn ask(&self, lines: &str, feed: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> String {
        let mut stream = self.connect();
        let mut answer = Vec::new();
        write!(stream, "POST {} HTTP/1.1\r\nConnection: close\r\n{lines}", self.path).unwrap();
        let _ = feed(&mut stream);
        // A reset after the answer is none of its fault: it was not read to its end.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    }

    /// A good request is answered, and the whole took no more memory than it may.
    fn holds(mut self) {
        let answer = self.ask("Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", |_| Ok(()));
        assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "the persona's own answer: {answer}");
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let peak: u64 = line.trim().strip_suffix(" kB").unwrap().parse().unwrap();
        assert!(peak < PEAK_KIB, "{peak} KiB");
        assert!(self.child.try_wait().unwrap().is_none());
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_body_of_100_mb() {
    let site = Site::new();
    let refused = site.ask(&format!("Content-Length: {LONG}\r\n\r\n"), |to| pour(to, b"a", LONG));
    assert!(refused.starts_with("HTTP/1.1 413 "), "{refused}");
    let refused = site.ask("Transfer-Encoding: chunked\r\n\r\n", |to| {
        write!(to, "{LONG:x}\r\n")?;
        pour(to, b"a", LONG)
    });
    assert!(refused.starts_with("HTTP/1.1 413 "), "{refused}");
    site.holds();
}

#[test]
fn a_body_in_chunks_of_one_byte() {
    let site = Site::new();
    let mut stream = site.connect();
    let mut answer = [0; 12];
    let head = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    write!(stream, "POST {} HTTP/1.1\r\n{head}", site.path).unwrap();
    pour(&mut stream, b"1\r\na\r\n", 6 * (4 << 20)).unwrap();
    stream.write_all(b"0\r\n\r\n").unwrap();
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 400", "the persona's answer to what is no message");
    site.holds();
}

#[test]
fn heads_without_end() {
    let site = Site::new();
    let header = format!("a: {}\r\n", "x".repeat(1 << 20));
    let floods: [&Feed<'_>; 3] = [
        &|to| pour(to, b"a: b\r\n", 10_000 * 6).and_then(|()| to.write_all(b"\r\n")),
        &|to| to.write_all(header.as_bytes()).and_then(|()| to.write_all(b"\r\n")),
        &|to| pour(to, b"a", 64 << 20),
    ];
    for (number, flood) in floods.iter().enumerate() {
        let refused = site.ask("", flood);
        assert!(refused.starts_with("HTTP/1.1 431 "), "{number}: {refused}");
    }
    site.holds();
}

#[test]
fn a_thousand_slow_connections_that_leave() {
    let site = Site::new();
    let open: Vec<TcpStream> = (0..1000).map(|_| site.connect()).collect();
    for mut stream in &open {
        stream.write_all(b"POST /").unwrap();
    }
    drop(open);
    site.holds();
}

#[test]
#[ignore = "waits half a minute for connections to be late"]
fn a_thousand_slow_connections_that_stay() {
    let site = Site::new();
    let open: Vec<TcpStream> = (0..1000).map(|_| site.connect()).collect();
    for mut stream in &open {
        stream.write_all(b"POST /").unwrap();
    }
    site.holds();
    drop(open);
}

#[test]
fn a_storm_of_resets() {
    let site = Site::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for number in 0..2000 {
            let stream = tokio::net::TcpStream::connect(&site.address).await.unwrap();
            stream.set_zero_linger().unwrap();
            if number % 2 == 0 {
                let request = format!("POST {} HTTP/1.1\r\nContent-Length: 2\r\n\r\n{{}}", site.path);
                let _ = stream.try_write(request.as_bytes());
            }
        }
    });
    site.holds();
}

fn pour(to: &mut dyn Write, piece: &[u8], bytes: usize) -> std::io::Result<()> {
    let many = piece.repeat((64 << 10) / piece.len());
    let (times, rest) = (bytes / many.len(), bytes % many.len());
    for _ in 0..times {
        to.write_all(&many)?;
    }
    to.write_all(&many[..rest - rest % piece.len()])
}
