//! Real hosts over HTTP: in this process on a loopback port, and as a process. The client is nothing but sockets.

use std::io::ErrorKind;
use std::process::Stdio;
use std::time::Duration;

use mcp_parley_hosts::{PlaySite, ServeEnd, SiteBounds, SiteRecord, SiteSocket, serve_site};
use mcp_parley_mock_clients::{Conversation, Said};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout_at};

use crate::engine::Marks;
use crate::pipes::PATIENCE;
use crate::scripts::request;
use crate::transcript::{End, Exit, Seen, Transcript, answer};

/// What must not come has this long to come all the same.
const QUIET: Duration = Duration::from_millis(40);

/// A player on a port of this process.
pub(crate) async fn hosted(player: impl PlaySite, opening: &Conversation, marks: &Marks) -> Transcript {
    let mut socket = SiteSocket::bind(0, Some("/mcp".into()), SiteBounds::default()).unwrap();
    let url = socket.url();
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = async {
        let _ = stopped.await;
        15
    };
    let conversation = async {
        let seen = converse(&url, opening, marks).await;
        drop(stop);
        seen
    };
    let served = serve_site(player, &mut socket, SiteRecord::nothing(), stopped);
    let (end, seen) = tokio::join!(served, conversation);
    let exit = match end {
        ServeEnd::Stopped(_) => None,
        ServeEnd::Exited(code) => Some(Exit::Code(code)),
        other => panic!("{other:?}"),
    };
    Transcript { seen, exit }
}

/// The real command, interrupted at the end.
pub(crate) async fn process(args: &[String], opening: &Conversation, marks: &Marks) -> Transcript {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-parley"));
    command.args(args).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut url).await.unwrap();
    let seen = converse(url.trim_end(), opening, marks).await;
    if let Some(number) = child.id() {
        // It fails where the process has ended by itself.
        let _ = Command::new("kill").args(["-INT", &number.to_string()]).stderr(Stdio::null()).status().await;
    }
    let exit = match child.wait().await.unwrap().code() {
        Some(130) => None,
        code => code.map(Exit::Code),
    };
    Transcript { seen, exit }
}

/// One exchange on a connection of its own.
struct Exchange {
    stream: Option<TcpStream>,
    wire: Vec<u8>,
    end: End,
}

impl Exchange {
    fn seen(&self) -> Seen {
        Seen { end: self.end, ..answer(&self.wire).0 }
    }

    /// Reads until so much of the body has come and the exchange has so ended, or this time has come.
    async fn read(&mut self, length: usize, end: End, until: Instant) {
        while let Some(stream) = &mut self.stream {
            let (seen, complete) = answer(&self.wire);
            if complete && self.end == End::Open {
                self.end = End::Complete;
            }
            if seen.bytes.len() >= length && self.end == end && (length > 0 || end != End::Open) {
                return;
            }
            match timeout_at(until, stream.read_buf(&mut self.wire)).await {
                Ok(Ok(1..)) => {}
                Ok(Ok(0)) => self.close(End::Closed),
                Ok(Err(error)) if error.kind() == ErrorKind::ConnectionReset => self.close(End::Reset),
                Ok(Err(error)) => panic!("{error}"),
                Err(_) => return,
            }
        }
    }

    fn close(&mut self, how: End) {
        self.stream = None;
        if self.end == End::Open {
            self.end = how;
        }
    }
}

async fn converse(url: &str, opening: &Conversation, marks: &Marks) -> Vec<Seen> {
    let mut exchanges: Vec<Exchange> = Vec::new();
    let mut session = None;
    for (step, mark) in opening.steps.iter().zip(marks) {
        let (_, expected) = mark[exchanges.len()];
        exchanges.push(ask(url, step, session.as_deref(), expected == End::Refused).await);
        // An answer that the engine does not give is waited for a little, so that requests are not overtaken.
        let late = Instant::now() + PATIENCE;
        for (exchange, (length, end)) in exchanges.iter_mut().zip(mark) {
            let is_silent = *length == 0 && *end == End::Open;
            exchange.read(*length, *end, if is_silent { Instant::now() + QUIET } else { late }).await;
        }
        for exchange in &exchanges {
            session = session_of(&exchange.seen()).or(session);
        }
    }
    let quiet = Instant::now() + QUIET;
    for exchange in &mut exchanges {
        exchange.read(usize::MAX, End::Open, quiet).await;
    }
    exchanges.iter().map(Exchange::seen).collect()
}

fn session_of(seen: &Seen) -> Option<String> {
    let text = String::from_utf8_lossy(&seen.head).into_owned();
    let values = text.lines().filter_map(|line| line.split_once(": "));
    let mut own = values.filter(|(name, _)| name.eq_ignore_ascii_case("mcp-session-id"));
    own.next().map(|(_, value)| value.to_owned())
}

async fn ask(url: &str, step: &Said, session: Option<&str>, is_refused: bool) -> Exchange {
    let (address, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let (http, headers, body) = request(step, session);
    let mut bytes = format!("{} /{path} HTTP/1.1\r\n", http.verb.word());
    for (name, value) in headers {
        bytes.extend([name, ": ", &value, "\r\n"]);
    }
    bytes.push_str("\r\n");
    let bytes = [bytes.as_bytes(), &body].concat();
    let late = Instant::now() + PATIENCE;
    loop {
        match TcpStream::connect(address).await {
            Ok(mut stream) => {
                stream.write_all(&bytes).await.unwrap();
                return Exchange { stream: Some(stream), wire: Vec::new(), end: End::Open };
            }
            // The next process is on its way.
            Err(_) if !is_refused && Instant::now() < late => sleep(Duration::from_millis(5)).await,
            Err(_) => return Exchange { stream: None, wire: Vec::new(), end: End::Refused },
        }
    }
}
