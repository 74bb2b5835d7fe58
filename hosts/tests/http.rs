//! A hosted site: what goes over the wire, what is recorded, and how exchanges, processes and sites end.
#![expect(clippy::unwrap_used, reason = "these helpers are part of the tests")]

mod hosted;
mod site;

use std::time::Duration;

use hosted::{Hosted, read, read_until};
use mcp_parley_hosts::{ServeEnd, SiteBounds};
use mcp_parley_mock_servers::SiteOutput;
use mcp_parley_negotiation::Time;
use mcp_parley_trace::{Kind, Node};
use site::{act, body, events, head, whole};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::sleep;

/// Answers with what it was told.
fn echo() -> Hosted {
    Hosted::new(SiteBounds::default(), |told, exchange| {
        if told.starts_with("POST") || told.starts_with("GET") || told.starts_with("HEAD") {
            whole(exchange, told.as_bytes())
        } else {
            Vec::new()
        }
    })
}

#[tokio::test]
async fn request_is_handed_on_and_recorded_as_it_came() {
    let site = echo();
    let mut stream = site.connect().await;
    let request = site.post("X-Two: 1\r\nx-one:2\r\nX-Two: 3\r\n", "hello");
    for piece in request.as_bytes().chunks(7) {
        stream.write_all(piece).await.unwrap();
        stream.flush().await.unwrap();
    }
    let answer = "POST [X-Two x-one X-Two Content-Length] hello";
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 45\r\n\r\n";
    assert_eq!(read_until(&mut stream, "hello").await, format!("{head}{answer}"));

    // The connection stays open, and chunks are taken apart.
    let chunked = format!(
        "POST {}?a=b HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3;x\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
        site.path()
    );
    stream.write_all(chunked.as_bytes()).await.unwrap();
    assert!(read(&mut stream).await.unwrap().ends_with("POST [Transfer-Encoding Connection] hello"));

    let sent_head = request.strip_suffix("hello").unwrap().to_owned();
    let recording = site.stopped().await;
    let find = |kind| recording.events().iter().filter(move |event| event.kind == kind);
    assert_eq!(recording.bytes(find(Kind::ReadHead).next().unwrap()), sent_head.as_bytes());
    let reads: Vec<u8> = find(Kind::Read).flat_map(|event| recording.bytes(event).to_vec()).collect();
    assert_eq!(reads, b"hellohello");
    assert_eq!(recording.bytes(find(Kind::WriteHead).next().unwrap()), head.as_bytes());
    assert_eq!(recording.bytes(find(Kind::Write).next().unwrap()), answer.as_bytes());
    let mut all = events(&recording, Node::Server);
    all.dedup();
    let exchange = |n: u32| {
        ["ReadHead", "Read", "ReadEnd", "WriteHead", "Write", "WriteEnd"].map(|kind| format!("e{n} {kind}"))
    };
    let expected = [
        vec!["p0 Up".to_owned()],
        exchange(0).to_vec(),
        exchange(1).to_vec(),
        vec!["p0 Signal(15)".to_owned()],
    ];
    assert_eq!(all, expected.concat());
    let cause = find(Kind::WriteHead).next().unwrap().cause.unwrap();
    assert_eq!(recording.get(cause).unwrap().kind, Kind::ReadEnd, "what is done names what made it happen");
}

#[tokio::test]
async fn answer_is_written_as_it_is_given() {
    let site = Hosted::new(SiteBounds::default(), |told, exchange| {
        let given: &[(&str, &str)] = &[("x-B", "1"), ("Content-Type", "text/event-stream"), ("x-B", "2")];
        let end = act(SiteOutput::End(exchange));
        match told.split(' ').next_back().unwrap() {
            "stream" => vec![
                head(exchange, 200, given, None),
                body(exchange, b"a"),
                body(exchange, b""),
                body(exchange, b"bc"),
                end,
            ],
            "accepted" => vec![head(exchange, 202, &[], Some(0)), end],
            "nothing" => vec![head(exchange, 204, &[], None), body(exchange, b"never sent"), end],
            "interim" => vec![head(exchange, 103, &[], None), head(exchange, 200, &[], Some(0)), end],
            "odd" => {
                vec![head(exchange, 299, &[("Connection", "close")], Some(1)), body(exchange, b"x"), end]
            }
            _ => Vec::new(),
        }
    });
    let mut stream = site.connect().await;
    let expected = [
        (
            "stream",
            "HTTP/1.1 200 OK\r\nx-B: 1\r\nContent-Type: text/event-stream\r\nx-B: 2\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n",
        ),
        ("accepted", "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n"),
        ("nothing", "HTTP/1.1 204 No Content\r\n\r\n"),
        ("interim", "HTTP/1.1 103 \r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
        ("odd", "HTTP/1.1 299 \r\nConnection: close\r\ncontent-length: 1\r\n\r\nx"),
    ];
    for (ask, answer) in expected {
        stream.write_all(site.post("", ask).as_bytes()).await.unwrap();
        let mut got = vec![0; answer.len()];
        stream.read_exact(&mut got).await.unwrap();
        assert_eq!(String::from_utf8(got).unwrap(), answer);
    }
    assert_eq!(read(&mut stream).await.unwrap(), "", "the last one closes");
    // A client of HTTP/1.0 cannot read chunks: the end of the connection is that of the body.
    let old = site.post("", "stream").replace("HTTP/1.1", "HTTP/1.0");
    assert!(site.ask(&old).await.unwrap().ends_with("x-B: 2\r\n\r\nabc"));
    let recording = site.stopped().await;
    let sent = recording.events().iter().filter(|event| event.kind == Kind::Write);
    let sent: Vec<u8> = sent.flat_map(|event| recording.bytes(event).to_vec()).collect();
    assert_eq!(sent, b"abcxabc", "bodies are recorded without their framing");
}

#[tokio::test]
async fn other_paths_are_answered_and_nobodys() {
    let site = echo();
    let wrong = site.post("", "x").replace(site.path(), "/.well-known/oauth-protected-resource");
    assert!(site.ask(&wrong).await.unwrap().starts_with("HTTP/1.1 404 Not Found\r\n"));
    assert!(site.ask("\u{16}\u{3}\u{1}").await.unwrap().starts_with("HTTP/1.1 400 Bad Request\r\n"));
    assert!(site.ask(&site.post("Connection: close\r\n", "x")).await.unwrap().contains("200 OK"));
    let recording = site.stopped().await;
    let heads = ["ReadHead", "WriteHead"];
    assert_eq!(events(&recording, Node::Harness), [&heads[..], &heads[..], &["End(true)"]].concat());
    assert_eq!(events(&recording, Node::Server)[1], "e0 ReadHead", "exchanges are the persona's only");
}

#[tokio::test]
async fn what_the_persona_is_not_asked_is_refused_and_recorded() {
    let bounds = SiteBounds { body_bytes: 10, held_bytes: 15, head_bytes: 400, ..SiteBounds::default() };
    let site = Hosted::new(bounds, |told, _| {
        assert_eq!(told, "start");
        Vec::new()
    });
    let chunked = "Transfer-Encoding: chunked\r\n";
    let post = |lines: &str, body: &str| site.post(lines, body);
    let unframed = |lines: &str, body: &str| {
        post(lines, body).replace(&format!("Content-Length: {}\r\n", body.len()), "")
    };
    let refused = [
        (post("Host: evil.example\r\n", "x"), "403 Forbidden"),
        (post("Origin: http://evil.example\r\n", "x"), "403 Forbidden"),
        (post("no header\r\n", "x"), "400 Bad Request"),
        (post(chunked, "x"), "400 Bad Request"),
        (unframed(chunked, "x"), "400 Bad Request"),
        (post("", "01234567890"), "413 Content Too Large"),
        (unframed(chunked, "b\r\n01234567890"), "413 Content Too Large"),
        (post(&format!("a: {}\r\n", "x".repeat(400)), ""), "431 Request Header Fields Too Large"),
        (post("", "x").replace("HTTP/1.1", "HTTP/3.0"), "505 HTTP Version Not Supported"),
    ];
    for (request, status) in &refused {
        let answer = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        assert_eq!(site.ask(request).await.unwrap(), answer, "{request}");
    }
    // Two bodies of which each is small enough, but not both.
    let mut first = site.connect().await;
    let whole = site.post("", "0123456789");
    first.write_all(&whole.as_bytes()[..whole.len() - 1]).await.unwrap();
    sleep(Duration::from_millis(50)).await;
    assert!(site.ask(&whole).await.unwrap().starts_with("HTTP/1.1 503 "));
    let recording = site.stopped().await;
    assert_eq!(
        events(&recording, Node::Server).iter().filter(|event| event.ends_with("WriteEnd")).count(),
        10
    );
    let first = &events(&recording, Node::Server)[1..4];
    assert_eq!(first, ["e0 ReadHead", "e0 WriteHead", "e0 WriteEnd"]);
}

#[tokio::test]
async fn late_clients_are_refused_and_idle_ones_closed() {
    let time = Duration::from_millis(100);
    let bounds =
        SiteBounds { head_time: time, body_time: time, idle_time: time * 3, ..SiteBounds::default() };
    let site = Hosted::new(bounds, |_, _| Vec::new());
    let request = site.post("", "body");
    for cut in [5, request.len() - 1] {
        let mut stream = site.connect().await;
        stream.write_all(&request.as_bytes()[..cut]).await.unwrap();
        assert!(read(&mut stream).await.unwrap().starts_with("HTTP/1.1 408 Request Timeout\r\n"), "{cut}");
    }
    assert_eq!(read(&mut site.connect().await).await.unwrap(), "");
    // Who waits for an answer is not late.
    let mut stream = site.connect().await;
    stream.write_all(request.as_bytes()).await.unwrap();
    assert!(tokio::time::timeout(time * 5, stream.read_u8()).await.is_err());
}

#[tokio::test]
async fn persona_closes_resets_and_writes_what_it_likes() {
    let site = Hosted::new(SiteBounds::default(), |told, exchange| {
        let raw = (SiteOutput::Raw(exchange, 0..0), b"HTTP/1.1 \0\n".to_vec());
        match told.split(' ').next_back().unwrap() {
            "close" => {
                vec![head(exchange, 200, &[], None), body(exchange, b"a"), act(SiteOutput::Close(exchange))]
            }
            "reset" => vec![head(exchange, 200, &[], None), act(SiteOutput::Reset(exchange))],
            "raw" => vec![raw, act(SiteOutput::Close(exchange))],
            _ => Vec::new(),
        }
    });
    let closed = site.ask(&site.post("", "close")).await.unwrap();
    assert!(closed.ends_with("chunked\r\n\r\n1\r\na\r\n"), "{closed}");
    let reset = site.ask(&site.post("", "reset")).await.unwrap_err();
    assert_eq!(reset.kind(), std::io::ErrorKind::ConnectionReset);
    assert_eq!(site.ask(&site.post("", "raw")).await.unwrap(), "HTTP/1.1 \0\n");
    let recording = site.stopped().await;
    let last = |n: usize| {
        let of = format!("e{n} ");
        let events = events(&recording, Node::Server);
        events.into_iter().rfind(|event| event.starts_with(&of)).unwrap()
    };
    assert_eq!([last(0), last(1), last(2)], ["e0 Close", "e1 Reset", "e2 Close"]);
}

#[tokio::test]
async fn client_that_leaves_is_gone() {
    let site = Hosted::new(SiteBounds::default(), |told, exchange| match told {
        told if told.starts_with("POST") => vec![head(exchange, 200, &[], None), body(exchange, b"a")],
        // Nobody reads this: it is not done.
        "gone 0" => vec![body(exchange, b"b"), act(SiteOutput::End(exchange))],
        "gone 1" => vec![act(SiteOutput::Exit(0))],
        _ => Vec::new(),
    });
    for _ in 0..2 {
        let mut stream = site.connect().await;
        stream.write_all(site.post("", "x").as_bytes()).await.unwrap();
        read_until(&mut stream, "a\r\n").await;
    }
    let (end, recording) = site.ended().await;
    assert_eq!(end, ServeEnd::Exited(0));
    let all = events(&recording, Node::Server);
    let exchange = |n: u32| {
        ["ReadHead", "Read", "ReadEnd", "WriteHead", "Write", "Eof"].map(|kind| format!("e{n} {kind}"))
    };
    let expected =
        [vec!["p0 Up".to_owned()], exchange(0).to_vec(), exchange(1).to_vec(), vec!["p0 Exit(0)".to_owned()]];
    assert_eq!(all, expected.concat());

    let site = Hosted::new(SiteBounds::default(), |told, _| {
        assert_eq!(told, "start", "an incomplete request is nobody's");
        Vec::new()
    });
    let request = site.post("", "body");
    let mut stream = site.connect().await;
    stream.write_all(&request.as_bytes()[..request.len() - 1]).await.unwrap();
    sleep(Duration::from_millis(50)).await;
    drop(stream);
    sleep(Duration::from_millis(50)).await;
    assert_eq!(events(&site.stopped().await, Node::Server)[1..4], ["e0 ReadHead", "e0 Read", "e0 Eof"]);
}

#[tokio::test]
async fn process_ends_and_the_next_one_has_its_port() {
    let site = Hosted::new(SiteBounds::default(), |told, exchange| match told {
        told if told.ends_with("exit") => {
            let wake = act(SiteOutput::WakeAt(Some(Time(400_000))));
            vec![head(exchange, 200, &[], None), body(exchange, b"a"), act(SiteOutput::Exit(7)), wake]
        }
        "timeout" => vec![act(SiteOutput::Up), act(SiteOutput::WakeAt(None))],
        told if told.ends_with("again") => whole(exchange, b"again"),
        told if told.ends_with("end") => vec![act(SiteOutput::Exit(3)), act(SiteOutput::WakeAt(None))],
        _ => Vec::new(),
    });
    let mut idle = site.connect().await;
    sleep(Duration::from_millis(20)).await;
    let cut = site.ask(&site.post("", "exit")).await.unwrap();
    assert!(cut.ends_with("1\r\na\r\n"), "what was written arrives: {cut}");
    assert_eq!(read(&mut idle).await.unwrap(), "", "every connection is closed");
    let refused = tokio::net::TcpStream::connect(site.address()).await.unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    sleep(Duration::from_millis(500)).await;
    assert!(site.ask(&site.post("Connection: close\r\n", "again")).await.unwrap().ends_with("again"));
    assert_eq!(site.ask(&site.post("", "end")).await.unwrap(), "");
    let (end, recording) = site.ended().await;
    assert_eq!(end, ServeEnd::Exited(3));
    let processes = events(&recording, Node::Server).into_iter().filter(|event| event.starts_with('p'));
    assert_eq!(processes.collect::<Vec<_>>(), ["p0 Up", "p0 Exit(7)", "p1 Up", "p1 Exit(3)"]);
}

#[tokio::test]
async fn client_that_does_not_read_is_not_answered_without_bound() {
    let time = Duration::from_millis(300);
    let bounds = SiteBounds { pending_bytes: 1 << 20, write_time: time, ..SiteBounds::default() };
    let site = Hosted::new(bounds, |told, exchange| {
        let pieces = if told.ends_with("much") { 60 } else { 0 };
        let mut acts = vec![head(exchange, 200, &[], None)];
        acts.extend((0..pieces).map(|_| body(exchange, &[b'x'; 1 << 20])));
        acts.push(act(SiteOutput::End(exchange)));
        if told.starts_with("POST") { acts } else { Vec::new() }
    });
    let mut greedy = site.connect().await;
    greedy.write_all(site.post("", "much").as_bytes()).await.unwrap();
    // It counts as gone, and the others are served.
    assert!(site.ask(&site.post("Connection: close\r\n", "x")).await.unwrap().ends_with("0\r\n\r\n"));
    let recording = site.stopped().await;
    let of_greedy = |kind: &str| {
        events(&recording, Node::Server).iter().filter(|event| **event == format!("e0 {kind}")).count()
    };
    assert!(of_greedy("Write") < 60 * 4, "{}", of_greedy("Write"));
    assert_eq!((of_greedy("WriteFailed"), of_greedy("WriteEnd")), (1, 0));
}

#[tokio::test]
async fn client_that_waits_for_leave_to_send_its_body_gets_it() {
    let site = echo();
    let mut stream = site.connect().await;
    let request = site.post("Expect: 100-continue\r\nConnection: close\r\n", "body");
    stream.write_all(request.strip_suffix("body").unwrap().as_bytes()).await.unwrap();
    read_until(&mut stream, "HTTP/1.1 100 Continue\r\n\r\n").await;
    stream.write_all(b"body").await.unwrap();
    assert!(read(&mut stream).await.unwrap().ends_with(" body"));
}

#[tokio::test]
async fn dropped_site_leaves_nothing() {
    let mut socket =
        mcp_parley_hosts::SiteSocket::bind(0, Some("/mcp".into()), SiteBounds::default()).unwrap();
    let url = socket.url();
    assert!(url.ends_with("/mcp"), "{url}");
    let address = url.split('/').nth(2).unwrap().to_owned();
    let player = site::script(|_, _| Vec::new());
    let record = mcp_parley_hosts::SiteRecord::nothing();
    let served = tokio::spawn(async move {
        mcp_parley_hosts::serve_site(player, &mut socket, record, std::future::pending()).await
    });
    let mut open = tokio::net::TcpStream::connect(&address).await.unwrap();
    open.write_all(b"POST /mcp HTTP/1.1\r\n\r\n").await.unwrap();
    sleep(Duration::from_millis(50)).await;
    served.abort();
    assert!(served.await.unwrap_err().is_cancelled());
    assert_eq!(read(&mut open).await.unwrap(), "");
    assert!(tokio::net::TcpStream::connect(&address).await.is_err());
}
