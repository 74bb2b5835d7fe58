//! A small site for tests: it plays what a function says.

use std::collections::VecDeque;

use mcp_parley_hosts::PlaySite;
use mcp_parley_mock_servers::{ResponseHead, SiteInput, SiteOutput};
use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::http::Exchange;
use mcp_parley_trace::{Channel, Node, Recording};

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
