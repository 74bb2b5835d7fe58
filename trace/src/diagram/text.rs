//! The diagram for a terminal: one aligned line a row.

use super::rows::{Place, Row, Rows, cut_words, outcome_word, rows, title};
use crate::escape::width;
use crate::{Channel, Footer, Header, Kind, Node, Recording, Ruling, escape};

/// No line is wider.
const COLUMNS: usize = 110;
const TIME_COLUMNS: usize = 12;
/// Where marks begin: below the messages.
const INDENT: usize = TIME_COLUMNS + 2;

/// The run as plain text, at most 110 columns wide: time in seconds, who, to whom, what; `✗` marks what a violation or
/// defect rests on.
pub fn text(header: &Header, recording: &Recording, footer: Option<&Footer>) -> String {
    let Rows { rows, loose, cut } = rows(recording, footer);
    let rulings = footer.map_or(&[][..], |footer| &footer.rulings);
    let label_columns = rows.iter().map(|row| far_label(row).chars().count()).max().unwrap_or(0);
    let mut out = format!("{}\n", escape(title(header).as_bytes(), COLUMNS));
    for row in &rows {
        let before = format!(
            "{:>TIME_COLUMNS$}  {}  ",
            format!("{}.{:06}", row.t_us / 1_000_000, row.t_us % 1_000_000),
            who(row, label_columns)
        );
        let room = COLUMNS.saturating_sub(before.chars().count());
        line(&mut out, &format!("{before}{}", escape(&row.text, room)));
        for (ruling, is_last) in &row.marks {
            if let Some(ruling) = rulings.get(*ruling) {
                mark(&mut out, ruling, *is_last);
            }
        }
    }
    if cut {
        line(&mut out, &format!("{:INDENT$}{}", "", cut_words()));
    }
    for ruling in loose.iter().filter_map(|at| rulings.get(*at)) {
        mark(&mut out, ruling, true);
    }
    let ended = recording.events().last().is_some_and(|event| matches!(event.kind, Kind::End(_)));
    if footer.is_none() && !ended {
        line(&mut out, &format!("{:INDENT$}(the log is truncated here)", ""));
    }
    out
}

fn line(out: &mut String, text: &str) {
    out.push_str(text.trim_end());
    out.push('\n');
}

fn mark(out: &mut String, ruling: &Ruling, is_last: bool) {
    let id = escape(ruling.id.as_bytes(), 40);
    let word = outcome_word(ruling.outcome);
    if !is_last {
        return line(out, &format!("{:INDENT$}✗ {id} {word}, see below", ""));
    }
    // A reason is wrapped where a message would be cut: it is what the reader came for.
    let reason = escape(ruling.reason.as_bytes(), 20 * COLUMNS);
    let mut current = format!("{:INDENT$}✗ {id} {word}:", "");
    for word in reason.split(' ') {
        // The reason is escaped already, so this only cuts a word that is wider than a line.
        let word = cut(word, COLUMNS - INDENT - 3);
        if columns(&current) + 1 + columns(&word) > COLUMNS {
            line(out, &current);
            current = format!("{:INDENT$} ", "");
        }
        current = format!("{current} {word}");
    }
    line(out, &current);
}

fn columns(text: &str) -> usize {
    text.chars().map(width).sum()
}

fn cut(word: &str, room: usize) -> String {
    if columns(word) <= room {
        return word.to_owned();
    }
    let mut used = 1;
    let fits = |c: &char| {
        used += width(*c);
        used <= room
    };
    word.chars().take_while(fits).collect::<String>() + "…"
}

/// The left side, an arrow, the right side.
fn who(row: &Row, label_columns: usize) -> String {
    let far = far_label(row);
    let (near, arrow) = match row.place {
        Place::Message(Node::Server, _) => ("C", "◀──"),
        Place::Act(Node::Server, _) => ("C", "◀╌╌"),
        Place::Message(node, _) => (near_label(node), "──▶"),
        Place::Act(node, _) => (near_label(node), "╌╌▶"),
        Place::At(Node::Server, _) => (" ", "   "),
        Place::At(node, _) => (near_label(node), "   "),
    };
    format!("{near} {arrow} {far:label_columns$}")
}

fn near_label(node: Node) -> &'static str {
    match node {
        Node::Client | Node::Server => "C",
        Node::Proxy => "P",
        Node::Harness => "═",
    }
}

fn far_label(row: &Row) -> String {
    match row.place {
        // A client has one process to speak to at a time, and many exchanges.
        Place::At(Node::Client, channel @ Channel::Exchange(_)) => label(channel),
        Place::At(Node::Client | Node::Proxy | Node::Harness, _) => String::new(),
        Place::Message(_, channel) | Place::Act(_, channel) | Place::At(_, channel) => label(channel),
    }
}

fn label(channel: Channel) -> String {
    match channel {
        Channel::None => "S".into(),
        Channel::Process(n) => format!("S{n}"),
        Channel::Exchange(n) => format!("E{n}"),
    }
}
