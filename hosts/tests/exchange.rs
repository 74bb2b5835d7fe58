//! One exchange as a client: what is sent, what is handed on, and how it ends.
#![expect(clippy::unwrap_used, reason = "these helpers are part of the tests")]

use mcp_parley_hosts::{Endpoint, EndpointError, ExchangeNotice, exchange};
use mcp_parley_negotiation::http::{HttpEnd, HttpRequest};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

fn request() -> HttpRequest {
    HttpRequest { verb: "POST", headers: vec![("X-Two", "1".into()), ("x-one", "2".into())] }
}

/// Asks a server that reads a request and writes these bytes, in pieces of this size; what was sent, and what came.
async fn asked(answer: &[u8], piece: usize, resets: bool) -> (String, Vec<ExchangeNotice>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp?a=b", listener.local_addr().unwrap());
    let endpoint = Endpoint::parse(&url).unwrap();
    let head = endpoint.head(&request(), b"body");
    let (sender, mut notices) = mpsc::channel(1);
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut got = vec![0; head.len() + 4];
        stream.read_exact(&mut got).await.unwrap();
        for piece in answer.chunks(piece) {
            stream.write_all(piece).await.unwrap();
            tokio::task::yield_now().await;
        }
        if resets {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            stream.set_zero_linger().unwrap();
        }
        String::from_utf8(got).unwrap()
    };
    let taken = async {
        let mut all = Vec::new();
        while let Some(notice) = notices.recv().await {
            let is_end = matches!(notice, ExchangeNotice::End(..));
            all.push(notice);
            if is_end {
                break;
            }
        }
        all
    };
    let (sent, (), all) = tokio::join!(server, exchange(&endpoint, &head, b"body", &sender), taken);
    (sent, all)
}

/// Heads, the body in one piece, and the end.
fn joined(notices: &[ExchangeNotice]) -> (Vec<String>, String, HttpEnd) {
    let (mut heads, mut body, mut end) = (Vec::new(), Vec::new(), None);
    for notice in notices {
        match notice {
            ExchangeNotice::Head(bytes) => heads.push(String::from_utf8(bytes.clone()).unwrap()),
            ExchangeNotice::Body(bytes) => body.extend_from_slice(bytes),
            ExchangeNotice::End(how, _) => end = Some(*how),
        }
    }
    (heads, String::from_utf8(body).unwrap(), end.unwrap())
}

#[tokio::test]
async fn heads_go_and_come_as_they_are() {
    let head = "HTTP/1.1 200 OK\r\nX-b: 1\r\nx-A:2\r\nX-b: 3\r\ncontent-length: 5\r\n\r\n";
    let (sent, all) = asked(format!("{head}hello and more").as_bytes(), 9, false).await;
    assert!(sent.starts_with("POST /mcp?a=b HTTP/1.1\r\nHost: 127.0.0.1:"), "{sent}");
    assert!(
        sent.ends_with("\r\nX-Two: 1\r\nx-one: 2\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody"),
        "{sent}"
    );
    assert_eq!(joined(&all), (vec![head.to_owned()], "hello".into(), HttpEnd::Complete));
}

#[tokio::test]
async fn any_framing_and_any_split_gives_the_same_body() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n";
    let closed = "HTTP/1.1 200 OK\r\n\r\nhello";
    for piece in [1, 2, 7, 100] {
        for answer in [chunked, closed] {
            let (_, all) = asked(answer.as_bytes(), piece, false).await;
            assert_eq!((joined(&all).1.as_str(), joined(&all).2), ("hello", HttpEnd::Complete), "{answer}");
        }
    }
    let interim = "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";
    let (heads, body, end) = joined(&asked(interim.as_bytes(), 5, false).await.1);
    assert_eq!((heads.len(), body.as_str(), end), (2, "", HttpEnd::Complete));
}

#[tokio::test]
async fn every_bad_end_is_told_from_a_good_one() {
    let length = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello";
    let (_, body, end) = joined(&asked(length.as_bytes(), 100, false).await.1);
    assert_eq!((body.as_str(), end), ("hello", HttpEnd::Truncated));
    let (_, body, end) = joined(&asked(length.as_bytes(), 100, true).await.1);
    assert_eq!((body.as_str(), end), ("hello", HttpEnd::Reset));
    for answer in
        [&b""[..], b"HTTP/1.1 200", b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n"]
    {
        assert_eq!(joined(&asked(answer, 100, false).await.1).2, HttpEnd::Truncated);
    }
    let endless = [b"HTTP/1.1 200 OK\r\na: ".to_vec(), vec![b'x'; 100_000]].concat();
    let (_, all) = asked(&endless, 1 << 20, false).await;
    assert!(
        matches!(&all[..], [ExchangeNotice::End(HttpEnd::Truncated, Some(why))] if why.contains("does not end")),
        "{all:?}"
    );
}

#[tokio::test]
async fn nobody_there_is_refused_and_dropping_it_closes() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = Endpoint::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let head = endpoint.head(&request(), b"");
    assert!(head.starts_with(b"POST / HTTP/1.1\r\n"));
    let (sender, mut notices) = mpsc::channel(8);
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_exact(&mut vec![0; head.len()]).await.unwrap();
        stream
    };
    let mut stream = tokio::select! {
        () = exchange(&endpoint, &head, b"", &sender) => panic!("nobody answered"),
        stream = server => stream,
    };
    assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
    drop((stream, listener));
    exchange(&endpoint, &head, b"", &sender).await;
    assert!(matches!(notices.recv().await, Some(ExchangeNotice::End(HttpEnd::Refused, Some(_)))));
}

#[test]
fn urls_that_are_none_are_refused() {
    for bad in [
        "example.com",
        "http://",
        "http://:80/",
        "http://a:x/",
        "http://a@b/",
        "http://a/b c",
        "http://a:99999",
    ] {
        assert_eq!(Endpoint::parse(bad).unwrap_err(), EndpointError::Malformed, "{bad}");
    }
    for good in ["http://[::1]:80/mcp", "http://[::1]/mcp", "http://a", "http://a?b#c"] {
        assert!(Endpoint::parse(good).is_ok(), "{good}");
    }
}
