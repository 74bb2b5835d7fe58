//! What a client did, in a few words that are the same in every run that goes the same way.

use std::collections::BTreeSet;

use mcp_parley_trace::{Era, Event, Kind, Node, Recording, lines};

use crate::trial::{RESPONSE, process, word};

/// For example: `C0 server/discover 2026-07-28; C1 initialize 2025-11-25, 2 × tools/list; connected legacy 2025-11-25`.
///
/// Responses stand behind what the client asks on its own account: which of the two it writes first is chance.
pub(crate) fn story(recording: &Recording) -> String {
    let mut parts: Vec<(String, Words)> = Vec::new();
    for line in lines(recording).iter().filter(|line| line.from == Node::Client) {
        let process = process(line);
        if parts.last().is_none_or(|(last, _)| *last != process) {
            parts.push((process, Words::default()));
        }
        if let Some((_, words)) = parts.last_mut() {
            words.add(word(&line.bytes(recording)));
        }
    }
    let mut out: Vec<String> =
        parts.iter().map(|(process, words)| format!("{process} {}", words.told())).collect();
    out.extend(verbs(recording));
    out.extend(ending(recording));
    out.join("; ")
}

/// The verbs other than POST. When they come, and how often, may be chance: a stream is asked for beside what the client does.
fn verbs(recording: &Recording) -> Option<String> {
    let verb = |event: &Event| {
        let head = recording.bytes(event);
        let end = head.iter().position(|byte| *byte == b' ').unwrap_or(0);
        String::from_utf8_lossy(head.get(..end).unwrap_or_default()).into_owned()
    };
    let asked = |event: &&Event| event.kind == Kind::ReadHead && event.node == Node::Server;
    let verbs: BTreeSet<String> = recording.events().iter().filter(asked).map(verb).collect();
    let others: Vec<String> = verbs.into_iter().filter(|verb| verb != "POST").collect();
    (!others.is_empty()).then(|| others.join(", "))
}

/// What the client writes to one process, each word with how often it stands there in a row.
#[derive(Default)]
struct Words {
    own: Vec<(usize, String)>,
    responses: usize,
}

impl Words {
    fn add(&mut self, word: String) {
        match self.own.last_mut() {
            _ if word == RESPONSE => self.responses += 1,
            Some((times, last)) if *last == word => *times += 1,
            _ => self.own.push((1, word)),
        }
    }

    fn told(&self) -> String {
        let response = (self.responses > 0).then(|| (self.responses, RESPONSE.to_owned()));
        let words = self.own.iter().chain(&response).map(|(times, word)| match times {
            1 => word.clone(),
            _ => format!("{times} × {word}"),
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

/// What the client says of itself, or that it stood still.
fn ending(recording: &Recording) -> Option<String> {
    recording.events().iter().rev().find_map(|event| match event.kind {
        Kind::Settled(era) => {
            let era = if era == Era::Legacy { "legacy" } else { "modern" };
            Some(format!("connected {era} {}", String::from_utf8_lossy(recording.bytes(event))))
        }
        Kind::Failed => Some("failed".to_owned()),
        Kind::Stuck => Some("stood still".to_owned()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use mcp_parley_trace::Channel;

    use super::*;
    use crate::trial::leading_to;

    #[test]
    fn repetitions_are_counted_and_responses_stand_last() {
        let told = |words: &[&str]| {
            let mut out = Words::default();
            words.iter().for_each(|word| out.add((*word).to_owned()));
            out.told()
        };
        assert_eq!(told(&["a", "b", "b", RESPONSE, "b", "a"]), "a, 3 × b, a, (response)");
        assert_eq!(told(&["a", RESPONSE, RESPONSE, "c"]), told(&[RESPONSE, "a", "c", RESPONSE]));
        assert_eq!(told(&[RESPONSE, RESPONSE]), "2 × (response)");
    }

    #[test]
    fn verbs_stand_behind_the_messages_whenever_they_come() {
        let mut recording = Recording::new();
        let mut read = |number, kind, bytes: &[u8]| {
            recording.push(0, Node::Server, Channel::Exchange(number), kind, None, bytes);
        };
        read(0, Kind::ReadHead, b"GET /mcp HTTP/1.1\r\n\r\n");
        read(1, Kind::ReadHead, b"POST /mcp HTTP/1.1\r\n\r\n");
        read(1, Kind::Read, b"{\"method\":\"ping\"}");
        read(1, Kind::ReadEnd, b"");
        read(2, Kind::ReadHead, b"GET /mcp HTTP/1.1\r\n\r\n");
        read(3, Kind::ReadHead, b"DELETE /mcp HTTP/1.1\r\n\r\n");
        assert_eq!(story(&recording), "C ping; DELETE, GET");
    }

    #[test]
    fn messages_are_told_process_by_process_and_the_ending_last() {
        let mut recording = Recording::new();
        let mut push =
            |node, channel, kind, bytes: &[u8]| recording.push(0, node, channel, kind, None, bytes);
        let (first, second) = (Channel::Process(0), Channel::Process(1));
        push(Node::Server, first, Kind::Read, b"{\"method\":\"server/discover\"}\n");
        push(Node::Server, first, Kind::Write, b"{\"error\":{}}\n");
        push(
            Node::Server,
            second,
            Kind::Read,
            b"{\"method\":\"initialize\",\"params\":{\"protocolVersion\":",
        );
        let at = push(Node::Server, second, Kind::Read, b"\"2025-11-25\"}}\nwhat\n{\"result\":1}\n");
        push(Node::Client, Channel::None, Kind::Settled(Era::Legacy), b"2025-11-25");
        assert_eq!(
            story(&recording),
            "C0 server/discover; C1 initialize 2025-11-25, (no JSON), (response); connected legacy 2025-11-25"
        );
        assert_eq!(
            leading_to(&recording, 1),
            ["C0 ▶ {\"method\":\"server/discover\"}", "C0 ◀ {\"error\":{}}"]
        );
        assert_eq!(leading_to(&recording, at).len(), 4);
    }
}
