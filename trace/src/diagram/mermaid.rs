//! The diagram as Mermaid source, for pages and issues that render it.

use super::rows::{Place, Rows, cut_words, outcome_word, rows, title};
use crate::escape::Escaper;
use crate::{Channel, Footer, Header, Node, Recording, Ruling};

/// Longest text of one arrow or note; Mermaid makes its boxes as wide as their text.
const COLUMNS: usize = 100;

/// The run as a Mermaid `sequenceDiagram`.
pub fn mermaid(header: &Header, recording: &Recording, footer: Option<&Footer>) -> String {
    let Rows { rows, loose, cut } = rows(recording, footer);
    let rulings = footer.map_or(&[][..], |footer| &footer.rulings);
    let mut out = String::from("sequenceDiagram\n    participant C as client\n");
    let mut servers: Vec<Channel> = rows.iter().map(|row| place_of(&row.place).1).collect();
    servers.sort_unstable();
    servers.dedup();
    for channel in servers {
        let name = match channel {
            Channel::None => continue,
            Channel::Process(n) => format!("server process {n}"),
            Channel::Exchange(n) => format!("server, exchange {n}"),
        };
        out += &format!("    participant {} as {name}\n", server_id(channel));
    }
    if rows.iter().any(|row| place_of(&row.place).0 == Node::Proxy) {
        out += "    participant P as proxy\n";
    }
    out += &format!("    Note over C: {}\n", safe(title(header).as_bytes()));
    for row in &rows {
        let (node, channel) = place_of(&row.place);
        let (from, to) = match node {
            Node::Server => (server_id(channel), "C".into()),
            Node::Proxy => ("P".into(), server_id(channel)),
            Node::Client | Node::Harness => ("C".into(), server_id(channel)),
        };
        let text = safe(&row.text);
        out += &match row.place {
            Place::Message(..) => format!("    {from}->>{to}: {text}\n"),
            Place::Act(..) => format!("    {from}-->>{to}: {text}\n"),
            Place::At(..) => format!("    Note over {from}: {text}\n"),
        };
        let marks = row.marks.iter().filter(|(_, is_last)| *is_last).filter_map(|(at, _)| rulings.get(*at));
        marks.for_each(|ruling| mark(&mut out, &from, ruling));
    }
    if cut {
        out += &format!("    Note over C: {}\n", safe(cut_words().as_bytes()));
    }
    loose.iter().filter_map(|at| rulings.get(*at)).for_each(|ruling| mark(&mut out, "C", ruling));
    out
}

fn mark(out: &mut String, over: &str, ruling: &Ruling) {
    let text = format!("✗ {} {}: {}", ruling.id, outcome_word(ruling.outcome), ruling.reason);
    let text = Escaper { columns: 4 * COLUMNS, also: MEANINGFUL }.escape(text.as_bytes());
    *out += &format!("    Note over {over}: {text}\n");
}

/// What ends a statement, begins a comment, an entity or a tag.
const MEANINGFUL: &str = ";#%&<>";

/// Mermaid's own `#59;` entities are undone by some of its pre-processing steps, so our escapes are used for its
/// characters as well.
fn safe(text: &[u8]) -> String {
    Escaper { columns: COLUMNS, also: MEANINGFUL }.escape(text)
}

fn place_of(place: &Place) -> (Node, Channel) {
    match *place {
        Place::Message(node, channel) | Place::Act(node, channel) | Place::At(node, channel) => {
            (node, channel)
        }
    }
}

fn server_id(channel: Channel) -> String {
    match channel {
        Channel::None => "C".into(),
        Channel::Process(n) => format!("S{n}"),
        Channel::Exchange(n) => format!("E{n}"),
    }
}
