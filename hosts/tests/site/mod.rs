//! A small site for tests, hosted on a real port, and a client that is nothing but a socket.

use std::collections::VecDeque;
use std::io;

use mcp_parley_hosts::{FileRecord, PlaySite, ServeEnd, SiteBounds, SiteRecord, SiteSocket, serve_site};
use mcp_parley_mock_servers::{ResponseHead, SiteInput, SiteOutput};
use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::http::Exchange;
use mcp_parley_trace::{
    Channel, Declared, Header, Mode, Node, Origin, ReadOptions, Recording, SCHEMA, Subject, Transport,
    read_file,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// What a player does in answer to what it is told: acts with the bytes that their ranges stand for.
pub(crate) type Acts = Vec<(SiteOutput, Vec<u8>)>;

/// Plays what a function says; the function is told in words.
pub(crate) struct Script<F> {
    play: F,
    due: VecDeque<(SiteOutput, Vec<u8>)>,
}

pub(crate) fn script<F: FnMut(&str, Exchange) -> Acts>(play: F) -> Script<F> {
    Script { play, due: VecDeque::new() }
}

impl<F: FnMut(&str, Exchange) -> Acts> PlaySite for Script<F> {
    fn handle_input(&mut self, _: Time, input: SiteInput<'_>) {
        let (words, exchange) = match input {
            SiteInput::Start => ("start".to_owned(), Exchange(0)),
            SiteInput::Request(exchange, head, body) => {
                let names: Vec<_> =
                    head.headers.iter().map(|(name, _)| String::from_utf8_lossy(name).into_owned()).collect();
                let body = String::from_utf8_lossy(body);
                (format!("{} [{}] {body}", head.verb, names.join(" ")), exchange)
            }
            SiteInput::Gone(exchange) => (format!("gone {}", exchange.0), exchange),
            SiteInput::Timeout => ("timeout".to_owned(), Exchange(0)),
        };
        self.due.extend((self.play)(&words, exchange));
    }

    fn poll_output(&mut self, buf: &mut Vec<u8>) -> Option<SiteOutput> {
        let (output, bytes) = self.due.pop_front()?;
        let range = buf.len()..buf.len() + bytes.len();
        buf.extend(bytes);
        Some(match output {
            SiteOutput::Body(exchange, _) => SiteOutput::Body(exchange, range),
            SiteOutput::Raw(exchange, _) => SiteOutput::Raw(exchange, range),
            other => other,
        })
    }
}

pub(crate) fn head(
    exchange: Exchange,
    status: u16,
    headers: &[(&str, &str)],
    length: Option<usize>,
) -> (SiteOutput, Vec<u8>) {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    (SiteOutput::Head(exchange, ResponseHead { status, headers, length }), Vec::new())
}

pub(crate) fn body(exchange: Exchange, bytes: &[u8]) -> (SiteOutput, Vec<u8>) {
    (SiteOutput::Body(exchange, 0..0), bytes.to_vec())
}

pub(crate) fn act(output: SiteOutput) -> (SiteOutput, Vec<u8>) {
    (output, Vec::new())
}

/// A whole answer of known length.
pub(crate) fn whole(exchange: Exchange, bytes: &[u8]) -> Acts {
    vec![head(exchange, 200, &[], Some(bytes.len())), body(exchange, bytes), act(SiteOutput::End(exchange))]
}

/// A site that is served in the background.
pub(crate) struct Hosted {
    pub(crate) url: String,
    stop: Option<oneshot::Sender<i32>>,
    served: JoinHandle<ServeEnd>,
    folder: tempfile::TempDir,
}

impl Hosted {
    pub(crate) fn new(bounds: SiteBounds, play: impl FnMut(&str, Exchange) -> Acts + Send + 'static) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut socket = SiteSocket::bind(0, None, bounds).unwrap();
        let url = socket.url();
        let record = SiteRecord::file(FileRecord::create(folder.path(), &header()).unwrap());
        let (stop, stopped) = oneshot::channel();
        let stopped = async { stopped.await.unwrap_or(15) };
        let served =
            tokio::spawn(async move { serve_site(script(play), &mut socket, record, stopped).await });
        Self { url, stop: Some(stop), served, folder }
    }

    /// `127.0.0.1:PORT`
    pub(crate) fn address(&self) -> &str {
        self.url.split('/').nth(2).unwrap()
    }

    pub(crate) fn path(&self) -> &str {
        &self.url[self.url.find(self.address()).unwrap() + self.address().len()..]
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address()).await.unwrap()
    }

    /// The request that these lines make, with a body of known length.
    pub(crate) fn post(&self, lines: &str, body: &str) -> String {
        format!("POST {} HTTP/1.1\r\n{lines}Content-Length: {}\r\n\r\n{body}", self.path(), body.len())
    }

    /// Sends it on a connection of its own and reads until the server closes.
    pub(crate) async fn ask(&self, request: &str) -> io::Result<String> {
        let mut stream = self.connect().await;
        stream.write_all(request.as_bytes()).await?;
        read(&mut stream).await
    }

    pub(crate) async fn ended(self) -> (ServeEnd, Recording) {
        let end = self.served.await.unwrap();
        let file = read_file(&self.folder.path().join("http-0.jsonl"), ReadOptions::default()).unwrap();
        (end, file.recording)
    }

    pub(crate) async fn stopped(mut self) -> Recording {
        drop(self.stop.take());
        let (end, recording) = self.ended().await;
        assert_eq!(end, ServeEnd::Stopped(15));
        recording
    }
}

/// Everything up to the end.
pub(crate) async fn read(stream: &mut TcpStream) -> io::Result<String> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads until what came ends in this.
pub(crate) async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(end.as_bytes()) {
        bytes.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(bytes).unwrap()
}

/// One word an event: its channel and its kind.
pub(crate) fn events(recording: &Recording, node: Node) -> Vec<String> {
    let word = |channel: Channel| match channel {
        Channel::None => String::new(),
        Channel::Process(n) => format!("p{n} "),
        Channel::Exchange(n) => format!("e{n} "),
    };
    let events = recording.events().iter().filter(|event| event.node == node);
    events.map(|event| format!("{}{:?}", word(event.channel), event.kind)).collect()
}

fn header() -> Header {
    Header {
        schema: SCHEMA.into(),
        tool: "test".into(),
        revision: "2026-07-28".into(),
        subject: Subject::Client,
        transport: Transport::Http,
        origin: Origin::Written,
        declared: Declared {
            mode: Mode::Unknown,
            modern: None,
            legacy: None,
            longest_wait_us: None,
            reports: false,
        },
        client: serde_json::Value::Null,
        server: serde_json::Value::Null,
    }
}
