//! A small site on a real port, and a client that is nothing but a socket.

use std::io;

use mcp_parley_hosts::{FileRecord, ServeEnd, SiteBounds, SiteRecord, SiteSocket, serve_site};
use mcp_parley_negotiation::http::Exchange;
use mcp_parley_trace::{
    Declared, Header, Mode, Origin, ReadOptions, Recording, SCHEMA, Subject, Transport, read_file,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::site::{Acts, script};

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
