//! Messages in the words of the results.

use mcp_parley_trace::{Channel, Line, Node, Recording, escape, lines};
use serde_json::Value;

/// At most this much of a message is shown.
const MESSAGE_COLUMNS: usize = 300;
/// A longer message is not read: what it holds may take many times its size in memory.
const READ_BYTES: usize = 1 << 20;
/// At most so many messages are shown before the one that broke something.
const BEFORE: usize = 3;
/// The word for a response.
pub(crate) const RESPONSE: &str = "(response)";

/// The messages that lead to the event `at`, that one included where it is a message: `C0 ▶ {…}` from the client,
/// `C0 ◀ {…}` from the server.
pub(crate) fn leading_to(recording: &Recording, at: u32) -> Vec<String> {
    let shown: Vec<String> = lines(recording)
        .iter()
        .filter(|line| line.chunks.last().is_some_and(|seq| *seq <= at))
        .map(|line| {
            let arrow = if line.from == Node::Client { '▶' } else { '◀' };
            format!("{} {arrow} {}", process(line), escape(&line.bytes(recording), MESSAGE_COLUMNS))
        })
        .collect();
    shown.get(shown.len().saturating_sub(BEFORE + 1)..).unwrap_or_default().to_vec()
}

/// Results name the connection that a process is for the client: the first that it started is `C0`.
pub(crate) fn process(line: &Line) -> String {
    match line.channel {
        Channel::Process(number) => format!("C{number}"),
        _ => "C".to_owned(),
    }
}

/// A message in a word or two.
pub(crate) fn word(bytes: &[u8]) -> String {
    if bytes.len() > READ_BYTES {
        return format!("({} bytes)", bytes.len());
    }
    let Ok(message) = serde_json::from_slice::<Value>(bytes) else { return "(no JSON)".into() };
    let Some(method) = message["method"].as_str() else { return RESPONSE.into() };
    let version = message["params"]["protocolVersion"].as_str();
    let version =
        version.or_else(|| message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str());
    version.map_or_else(|| method.to_owned(), |version| format!("{method} {version}"))
}
