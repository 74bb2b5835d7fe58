//! The conversations, and who is to have them.

use std::sync::{Arc, LazyLock};

use mcp_parley_mock_clients::{Conversation, OverHttp, Said};
use mcp_parley_mock_servers::{Draft, Persona, Played};
use serde::Deserialize;

#[derive(Deserialize)]
struct File {
    scripts: Vec<Conversation>,
}

/// What a client does over one of the transports.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) id: String,
    /// Over stdio: the steps that have something to say.
    pub(crate) stdio: Arc<Conversation>,
    pub(crate) http: Arc<Conversation>,
}

static SCRIPTS: LazyLock<Vec<Script>> = LazyLock::new(|| {
    let file: File = toml::from_str(include_str!("scripts.toml")).unwrap();
    let both = file.scripts.into_iter().map(|script| {
        let says = |step: &Said| step.send.is_some() || step.line.is_some();
        let mut stdio = script.clone();
        stdio.steps.retain(says);
        Script { id: script.id.clone(), stdio: Arc::new(stdio), http: Arc::new(script) }
    });
    both.collect()
});

pub(crate) fn scripts() -> &'static [Script] {
    &SCRIPTS
}

/// The bytes that a step writes on a pipe.
pub(crate) fn line(step: &Said) -> Vec<u8> {
    let mut bytes = Vec::new();
    step.write(&mut bytes);
    bytes
}

/// A request without its first line: headers in order, and the body. Over HTTP no message ends in a newline.
pub(crate) fn request(
    step: &Said,
    session: Option<&str>,
) -> (OverHttp, Vec<(&'static str, String)>, Vec<u8>) {
    let mut body = line(step);
    body.pop();
    let http = step.http.clone().unwrap_or_default();
    let mut headers = vec![("host", "localhost".to_owned())];
    headers.extend(http.all_headers(session));
    if http.verb.word() == "POST" {
        headers.push(("content-length", body.len().to_string()));
    }
    (http, headers, body)
}

pub(crate) fn waits(step: &Said) -> bool {
    step.until_quiet
}

/// One concrete persona: of each file, these choices.
pub(crate) fn persona(draft: &Draft, choices: &[u32]) -> Persona {
    draft.resolve(choices).unwrap()
}

pub(crate) fn played(draft: &Draft, choices: &[u32]) -> Arc<Played> {
    Arc::new(Played::new(persona(draft, choices)).unwrap())
}

/// The choices of a draft, one open value at a time: the first of all, then each other value of each with the first of the others.
pub(crate) fn choices(draft: &Draft) -> Vec<Vec<u32>> {
    let points = draft.open_points();
    let first = vec![0; points.len()];
    let others = points.iter().enumerate().flat_map(|(at, point)| {
        let first = &first;
        (1..point.choices).map(move |choice| {
            let mut choices = first.clone();
            choices[at] = choice;
            choices
        })
    });
    std::iter::once(first.clone()).chain(others).collect()
}
