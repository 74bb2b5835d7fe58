//! The real hosts against the engine alone.

use std::sync::Arc;
use std::time::Duration;

use mcp_parley_hosts::{PersonaPlayer, Record};
use mcp_parley_mock_servers::{Draft, Site, personas};
use mcp_parley_trace::Transport;
use tokio::task::JoinSet;

use crate::allowed::{Compared, Host};
use crate::pipes::permits;
use crate::scripts::{Script, played, scripts};
use crate::{engine, pipes, sockets};

/// So many conversations at a time.
const AT_ONCE: usize = 96;
/// So many processes at a time.
const PROCESSES: usize = 12;

fn pairs(fits: impl Fn(&Draft) -> bool) -> impl Iterator<Item = (&'static Draft, &'static Script)> {
    let fitting = personas().iter().filter(move |draft| fits(draft));
    fitting.flat_map(|draft| scripts().iter().map(move |script| (draft, script)))
}

/// One script for each persona, another one for each in turn.
fn one_each(fits: impl Fn(&Draft) -> bool) -> impl Iterator<Item = (&'static Draft, &'static Script)> {
    personas().iter().filter(move |draft| fits(draft)).zip(scripts().iter().cycle())
}

fn run<F>(tasks: impl Iterator<Item = F>, at_once: usize)
where
    F: Future<Output = ()> + 'static,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let permits = permits(at_once);
        let mut running = JoinSet::new();
        for task in tasks {
            let permits = Arc::clone(&permits);
            running.spawn_local(async move {
                let _permit = permits.acquire_owned().await.unwrap();
                tokio::time::timeout(Duration::from_secs(120), task).await.unwrap();
            });
        }
        while let Some(ended) = running.join_next().await {
            ended.unwrap();
        }
    });
}

fn finish(compared: Arc<Compared>, host: Host, transport: Transport, at_least: usize) {
    Arc::into_inner(compared).unwrap().finish(host, transport, at_least);
}

#[test]
fn real_pipes_carry_what_the_engine_says() {
    let compared = Arc::new(Compared::default());
    let tasks = pairs(Draft::is_for_stdio).map(|(draft, script)| {
        let compared = Arc::clone(&compared);
        async move {
            let played = played(draft, &[]);
            let mut reference = engine::over_stdio(played.clone(), 0, &script.stdio);
            // It is this test's own, and nobody can tell whose line is whose.
            reference.transcript.seen[1].bytes.clear();
            let player = PersonaPlayer::new(played, 0);
            let other = pipes::hosted(player, Record::Nothing, &script.stdio, &reference.marks).await;
            let of = (Host::Hosted, Transport::Stdio, draft.id(), script.id.as_str());
            compared.compare(of, &reference.transcript, &other);
        }
    });
    run(tasks, AT_ONCE);
    finish(compared, Host::Hosted, Transport::Stdio, 900);
}

#[test]
fn real_sockets_carry_what_the_engine_says() {
    let compared = Arc::new(Compared::default());
    let tasks = pairs(Draft::is_for_http).map(|(draft, script)| {
        let compared = Arc::clone(&compared);
        async move {
            let played = played(draft, &[]);
            let reference = engine::over_http(played.clone(), &script.http);
            let other = sockets::hosted(Site::start(played), &script.http, &reference.marks).await;
            let of = (Host::Hosted, Transport::Http, draft.id(), script.id.as_str());
            compared.compare(of, &reference.transcript, &other);
        }
    });
    run(tasks, AT_ONCE);
    finish(compared, Host::Hosted, Transport::Http, 1000);
}

#[test]
fn the_command_says_what_the_engine_says_over_stdio() {
    let compared = Arc::new(Compared::default());
    let tasks = one_each(Draft::is_for_stdio).map(|(draft, script)| {
        let compared = Arc::clone(&compared);
        async move {
            let reference = engine::over_stdio(played(draft, &[]), 0, &script.stdio);
            let args = ["serve", "stdio", "--persona", draft.id()].map(str::to_owned);
            let other = pipes::process(&args, &script.stdio, &reference.marks).await;
            let of = (Host::Process, Transport::Stdio, draft.id(), script.id.as_str());
            compared.compare(of, &reference.transcript, &other);
        }
    });
    run(tasks, PROCESSES);
    finish(compared, Host::Process, Transport::Stdio, 75);
}

#[test]
fn the_command_says_what_the_engine_says_over_http() {
    let compared = Arc::new(Compared::default());
    let tasks = one_each(Draft::is_for_http).map(|(draft, script)| {
        let compared = Arc::clone(&compared);
        async move {
            let reference = engine::over_http(played(draft, &[]), &script.http);
            let args = ["serve", "http", "--path", "/mcp", "--persona", draft.id()].map(str::to_owned);
            let other = sockets::process(&args, &script.http, &reference.marks).await;
            let of = (Host::Process, Transport::Http, draft.id(), script.id.as_str());
            compared.compare(of, &reference.transcript, &other);
        }
    });
    run(tasks, PROCESSES);
    finish(compared, Host::Process, Transport::Http, 80);
}
