//! Runs of a client driver against a site that is hosted in this process.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "these helpers are part of the tests")]

mod peer;
mod processes;
mod site;

use std::future::pending;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mcp_parley_hosts::{
    Bounds, DriveError, Driven, DriverRun, RunEnd, conformance_environment, drive, drive_http,
};
use mcp_parley_mock_servers::SiteOutput;
use mcp_parley_negotiation::http::Exchange;
use mcp_parley_trace::{Kind, Node};
use peer::peer;
use processes::{assert_none_left, kinds, tag};
use site::{Acts, act, body, events, head, script, whole};

fn run(behaviour: &str, tag: &str, words: &[&str]) -> DriverRun {
    let command = [&["web", behaviour, tag][..], words].concat();
    DriverRun {
        command: std::iter::once(peer()).chain(command.into_iter().map(str::to_owned)).collect(),
        directory: None,
        environment: conformance_environment("initialize", "modern"),
        server: Vec::new(),
        mode: "auto".into(),
        probe_timeout: Duration::from_secs(1),
        timeout: Duration::from_secs(20),
        stuck_after: Duration::from_millis(700),
        prints_line: true,
        bounds: Bounds::default(),
    }
}

/// Runs it, and sees that nothing is left the moment it returns.
async fn driven(behaviour: &str, words: &[&str], play: fn(&str, Exchange) -> Acts) -> Driven {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let tag = tag(&format!("web-{behaviour}-{}", RUNS.fetch_add(1, Ordering::Relaxed)));
    let driven = drive_http(&run(behaviour, &tag, words), script(play), (), pending()).await.unwrap();
    assert_none_left(&tag, Duration::ZERO);
    assert_eq!(driven.recording.events().last().unwrap().kind, Kind::End(driven.end.is_complete()));
    driven
}

fn answers(told: &str, exchange: Exchange) -> Acts {
    if told.starts_with("POST") { whole(exchange, b"pong") } else { Vec::new() }
}

#[tokio::test]
async fn good_run_is_recorded_in_the_order_in_which_it_happened() {
    let run = driven("asks", &["{url}"], answers).await;
    assert_eq!(run.end, RunEnd::Done);
    let exchange =
        ["ReadHead", "Read", "ReadEnd", "WriteHead", "Write", "WriteEnd"].map(|kind| format!("e0 {kind}"));
    assert_eq!(events(&run.recording, Node::Server), [&["p0 Up".to_owned()], &exchange[..]].concat());
    assert_eq!(kinds(&run.recording, Node::Client).len(), 2, "and then what the driver says");
    assert!(String::from_utf8(run.stderr).unwrap().ends_with("pong\n"));
}

#[tokio::test]
async fn client_is_told_where_the_server_is() {
    let told = |driven: Driven| String::from_utf8(driven.stderr).unwrap();
    let said =
        told(driven("tells", &["{mode}", "--at={url}", "{mcp-json}", "http://x/{url}"], answers).await);
    let words: Vec<&str> = said.trim().split(['|', ' ']).collect();
    let url = words[1].strip_prefix("--at=").unwrap();
    assert!(url.starts_with("http://127.0.0.1:") && url.ends_with("/mcp") && url.len() > 50, "{url}");
    assert_eq!([words[0], words[4], words[5]], ["auto", "initialize", "2026-07-28"]);
    assert_eq!(words[6], format!(r#"{{"mcpServers":{{"parley":{{"type":"http","url":"{url}"}}}}}}"#));
    assert!(!std::path::Path::new(words[2]).exists(), "the file goes with the run");
    // A command that does not say where the URL belongs is given it behind everything else.
    let said = told(driven("tells", &["auto"], answers).await);
    assert!(said.starts_with("auto http://127.0.0.1:"), "{said}");
    let modes = ["auto", "legacy", "pin:2025-06-18"].map(|mode| conformance_environment("x", mode));
    let versions = modes.map(|mut all| all.remove("MCP_CONFORMANCE_PROTOCOL_VERSION").unwrap_or_default());
    assert_eq!(versions, ["", "2025-11-25", "2025-06-18"]);
}

#[tokio::test]
async fn over_stdio_the_file_has_the_command() {
    let (tag, mut run) = (tag("mcp-json"), run("tells", "x", &["{mcp-json}", "http://x/"]));
    run.server = vec![peer(), "mock".into(), tag];
    let driven = drive(&run, String::new(), (), pending()).await.unwrap();
    let said = String::from_utf8(driven.stderr).unwrap();
    let file = said.trim().rsplit('|').next().unwrap();
    let json: serde_json::Value = serde_json::from_str(file).unwrap();
    let server = &json["mcpServers"]["parley"];
    assert_eq!((server["type"].as_str(), server["command"].as_str()), (Some("stdio"), Some(peer().as_str())));
    assert_eq!((server["args"][0].as_str(), server["args"].as_array().unwrap().len()), (Some("mock"), 6));
}

#[tokio::test]
async fn command_that_cannot_work_is_refused() {
    let refused = |words: &[&str]| run("asks", "x", words);
    let error = drive_http(&refused(&["{server}"]), script(answers), (), pending()).await.unwrap_err();
    assert!(matches!(error, DriveError::ServerOverHttp), "{error}");
    let error = drive(&refused(&["{url}"]), String::new(), (), pending()).await.unwrap_err();
    assert!(matches!(error, DriveError::NoServer), "{error}");
}

#[tokio::test]
async fn client_that_asks_elsewhere_has_not_met_its_server() {
    let tag = tag("web-wanders");
    let mut wanders = run("wanders", &tag, &["{url}"]);
    wanders.prints_line = false;
    let run = drive_http(&wanders, script(answers), (), pending()).await.unwrap();
    assert_eq!((run.end, run.strangers), (RunEnd::NeverConnected, 1));
    assert_eq!(events(&run.recording, Node::Server), ["p0 Up"]);
    assert_eq!(events(&run.recording, Node::Harness)[..2], ["ReadHead", "WriteHead"]);
}

#[tokio::test]
async fn silence_counts_as_stuck_and_every_end_is_seen() {
    let silent = |_: &str, _: Exchange| Vec::new();
    let run = driven("hangs", &["{url}"], silent).await;
    assert_eq!(run.end, RunEnd::Stuck);
    assert!(kinds(&run.recording, Node::Harness).contains(&Kind::Stuck));

    let held = |told: &str, exchange: Exchange| {
        if told.starts_with("POST") { vec![head(exchange, 200, &[], None)] } else { Vec::new() }
    };
    let run = driven("leaves", &["{url}"], held).await;
    assert_eq!(run.end, RunEnd::Done);
    let seen = events(&run.recording, Node::Server);
    assert_eq!(seen.last().unwrap(), "e0 Eof", "what the client does by ending is seen as well: {seen:?}");
}

#[tokio::test]
async fn server_that_has_ended_refuses_and_the_run_goes_on() {
    let run = driven("twice", &["{url}"], |told, exchange| {
        let exit = [act(SiteOutput::Exit(1)), act(SiteOutput::WakeAt(None))];
        if told.starts_with("POST") { [whole(exchange, b"pong"), exit.to_vec()].concat() } else { Vec::new() }
    });
    let run = run.await;
    assert_eq!(
        (run.end, String::from_utf8(run.stderr).unwrap()),
        (RunEnd::Done, "ConnectionRefused\n".into())
    );
    assert_eq!(events(&run.recording, Node::Server).last().unwrap(), "p0 Exit(1)");
}

#[tokio::test]
async fn flood_ends_the_run() {
    let run = driven("asks", &["{url}"], |told, exchange| {
        let mut acts = vec![head(exchange, 200, &[], None)];
        acts.extend((0..20).map(|_| body(exchange, &[b'x'; 1 << 20])));
        if told.starts_with("POST") { acts } else { Vec::new() }
    })
    .await;
    assert_eq!(run.end, RunEnd::Flood("more than 16777216 bytes were exchanged".into()));
}
