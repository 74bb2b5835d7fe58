//! The client's machine against real servers over HTTP: personas and scripts, hosted in this process.
#![expect(clippy::unwrap_used, reason = "these helpers are part of the tests")]

#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "other tests use all of it"))]
mod site;

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use mcp_parley_hosts::{
    Bounds, Endpoint, PlaySite, ProbeEnd, ProbeReport, SiteBounds, SiteRecord, SiteSocket, UrlProbe,
    probe_url, serve_site,
};
use mcp_parley_mock_servers::{Played, Site, SiteOutput, persona};
use mcp_parley_negotiation::client::{ClientPolicy, Failure};
use mcp_parley_negotiation::http::HttpEnd;
use mcp_parley_negotiation::version::Era;
use mcp_parley_trace::{Kind, Node};
use site::{act, body, events, head, script, whole};

fn run(url: &str) -> UrlProbe {
    let policy =
        ClientPolicy { probe_timeout_us: 300_000, request_timeout_us: 600_000, ..ClientPolicy::default() };
    UrlProbe { policy: Arc::new(policy), ..UrlProbe::new(Endpoint::parse(url).unwrap()) }
}

/// Probes what is hosted. When the probe has returned, no connection is left.
async fn probed(player: impl PlaySite, change: impl FnOnce(&mut UrlProbe)) -> ProbeReport {
    let mut socket = SiteSocket::bind(0, None, SiteBounds::default()).unwrap();
    let mut run = run(&socket.url());
    change(&mut run);
    let mut connections = socket.connections();
    let report = tokio::select! {
        _ = serve_site(player, &mut socket, SiteRecord::nothing(), pending()) => panic!("the site ended"),
        report = async {
            let report = probe_url(&run, pending()).await.unwrap();
            let none_left = connections.wait_for(|open| *open == 0);
            tokio::time::timeout(Duration::from_secs(5), none_left).await.unwrap().unwrap();
            report
        } => report,
    };
    let complete = matches!(report.end, ProbeEnd::Settled | ProbeEnd::Failed(_));
    assert_eq!(report.recording.events().last().unwrap().kind, Kind::End(complete));
    report
}

async fn met(id: &str) -> ProbeReport {
    let played = Played::new(persona(id).unwrap().resolve(&[]).unwrap()).unwrap();
    probed(Site::start(Arc::new(played)), |_| {}).await
}

const EXCHANGE: [&str; 6] = ["WriteHead", "Write", "WriteEnd", "ReadHead", "Read", "ReadEnd"];

#[tokio::test]
async fn correct_servers_are_settled_with_and_called() {
    for (id, era, version) in [
        ("modern", Era::Modern, "2026-07-28"),
        ("dual", Era::Modern, "2026-07-28"),
        ("http-streams", Era::Modern, "2026-07-28"),
        ("slow-writes", Era::Modern, "2026-07-28"),
        ("legacy", Era::Legacy, "2025-11-25"),
        ("legacy-oldest", Era::Legacy, "2024-11-05"),
    ] {
        let report = met(id).await;
        assert_eq!(report.end, ProbeEnd::Settled, "{id}");
        let (settled, name) = report.settled.unwrap();
        assert_eq!((settled, name.as_str(), report.called), (era, version, Some(true)), "{id}");
        assert_eq!((report.trouble, report.spawn_error), (None, None), "{id}");
    }
}

#[tokio::test]
async fn every_exchange_is_recorded_in_its_order() {
    let report = met("modern").await;
    let exchange = |n: u32| EXCHANGE.map(|kind| format!("e{n} {kind}"));
    let own: Vec<String> =
        events(&report.recording, Node::Client).into_iter().filter(|word| word.starts_with('e')).collect();
    assert_eq!(own, [exchange(0), exchange(1)].concat());
    let all = report.recording.events();
    let call = all.iter().rfind(|event| event.kind == Kind::WriteHead).unwrap();
    assert_eq!(all[call.cause.unwrap() as usize].kind, Kind::ReadEnd);
}

#[tokio::test]
async fn legacy_session_is_ended_by_delete() {
    let report = met("legacy").await;
    let heads: Vec<String> = report
        .recording
        .events()
        .iter()
        .filter(|event| event.kind == Kind::WriteHead)
        .map(|event| String::from_utf8_lossy(report.recording.bytes(event)).into_owned())
        .collect();
    let last = heads.iter().rfind(|head| !head.starts_with("GET")).unwrap();
    assert!(last.starts_with("DELETE /") && last.contains("mcp-session-id: session-0-1\r\n"), "{heads:?}");
}

#[tokio::test]
async fn every_failure_says_what_it_was() {
    let failed = |report: ProbeReport| (report.end, report.settled, report.trouble);
    let silence = Failure::Silence("server/discover");
    assert_eq!(failed(met("silent").await), (ProbeEnd::Failed(silence), None, None));

    let what = "server/discover";
    let (end, _, trouble) = failed(met("http-raw").await);
    assert_eq!(end, ProbeEnd::Failed(Failure::ConnectionLost { end: HttpEnd::Truncated, what }));
    assert!(trouble.unwrap().contains("the head of the answer cannot be read"));

    let (end, ..) = failed(met("http-unauthorized").await);
    assert_eq!(end, ProbeEnd::Failed(Failure::HttpStatus { status: 401, what }));

    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let run = run(&format!("http://{free}/mcp"));
    let (end, _, trouble) = failed(probe_url(&run, pending()).await.unwrap());
    assert_eq!(end, ProbeEnd::Failed(Failure::ConnectionLost { end: HttpEnd::Refused, what }));
    assert!(trouble.unwrap().starts_with(&format!("nobody listens on {free}: ")));
}

#[tokio::test]
async fn a_port_of_https_is_known_by_its_bytes() {
    let play = |told: &str, exchange| match told.starts_with("POST") {
        true => {
            let alert = (SiteOutput::Raw(exchange, 0..0), b"\x15\x03\x03\x00\x02\x02\x46".to_vec());
            vec![alert, act(SiteOutput::End(exchange))]
        }
        false => Vec::new(),
    };
    let report = probed(script(play), |_| {}).await;
    assert_eq!(report.trouble.as_deref(), Some("the answer is TLS: is it an https:// URL?"));
}

#[tokio::test]
async fn flood_and_time_are_bounded_and_a_caller_may_end_it() {
    let flood = |told: &str, exchange| match told.starts_with("POST") {
        true => vec![head(exchange, 200, &[], None), body(exchange, &[b' '; 1 << 16])],
        false => Vec::new(),
    };
    let bounds = Bounds { data_bytes: 10_000, ..Bounds::default() };
    let report = probed(script(flood), |run| run.bounds = bounds).await;
    assert_eq!(report.end, ProbeEnd::Flood("more than 10000 bytes were exchanged".into()));

    let silent = |_: &str, _| Vec::new();
    let report = probed(script(silent), |run| run.timeout = Duration::from_millis(100)).await;
    assert_eq!(report.end, ProbeEnd::OutOfTime);
    let own = events(&report.recording, Node::Client);
    assert_eq!(own, ["e0 WriteHead", "e0 Write", "e0 WriteEnd", "e0 Close"]);

    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let run = run(&format!("http://{}/mcp", free.local_addr().unwrap()));
    assert_eq!(probe_url(&run, async {}).await.unwrap().end, ProbeEnd::Cancelled);
}

#[tokio::test]
async fn a_server_that_asks_without_end_is_stopped() {
    // Every event of the stream wants an answer of its own, and none of them is taken.
    let play = |told: &str, exchange| match told.contains("server/discover") {
        true => {
            let asks: String = (0..100)
                .map(|n| format!("data: {{\"jsonrpc\":\"2.0\",\"id\":\"s{n}\",\"method\":\"ping\"}}\n\n"))
                .collect();
            let stream = [("content-type", "text/event-stream")];
            vec![head(exchange, 200, &stream, None), body(exchange, asks.as_bytes())]
        }
        false => Vec::new(),
    };
    let report = probed(script(play), |_| {}).await;
    let posts = report.recording.events().iter().filter(|event| event.kind == Kind::WriteHead).count();
    assert!(posts <= 64, "{posts}");
    let ended = matches!(&report.end, ProbeEnd::Flood(_) | ProbeEnd::Failed(_));
    assert!(ended, "{:?}", report.end);
}

#[tokio::test]
async fn an_answer_in_an_unknown_form_is_no_failure_of_ours() {
    let play = |told: &str, exchange| match told.starts_with("POST") {
        true => whole(exchange, b"{}"),
        false => Vec::new(),
    };
    let report = probed(script(play), |_| {}).await;
    assert!(matches!(report.end, ProbeEnd::Failed(_)), "{:?}", report.end);
    assert_eq!(report.settled, None);
}
