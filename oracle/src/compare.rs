//! PROP-SAME: two runs whose inputs differ in nothing that has meaning must have the same outcome.

use mcp_parley_trace::{Declared, Event, Kind, Node, Outcome, Recording, Subject, Transport};

use crate::json::{At, Tree, Type};
use crate::story::{Buffers, Message, Story, What};
use crate::verdict::Verdict;

/// Compares a metamorphic pair of runs over stdio: the subject must send equal messages in the same order, and report
/// the same outcome. Chunking, blanks and the order of members do not count. The defect's event numbers are those of `b`.
pub fn compare(a: &Recording, b: &Recording, declared: &Declared, subject: Subject) -> Verdict {
    let (mut first, mut second) = (Buffers::default(), Buffers::default());
    first.fill(a, Transport::Stdio);
    second.fill(b, Transport::Stdio);
    let (one, two) = (Story::new(a, declared, subject, &first), Story::new(b, declared, subject, &second));
    let (mut left, mut right) = (one.own(), two.own());
    let mut last = 0;
    loop {
        match (left.next(), right.next()) {
            (Some(x), Some(y)) if same_message(&one, x, &two, y) => last = y.sent,
            (_, Some(y)) => return defect(y.sent, "it sends another message than in the other run"),
            (Some(_), None) => {
                return defect(two.last().0, "a message of the other run is missing");
            }
            (None, None) => break,
        }
    }
    let (mut left, mut right) = (reports(&one), reports(&two));
    loop {
        match (left.next(), right.next()) {
            (Some((_, x)), Some((seq, y))) if x.kind == y.kind => last = last.max(seq),
            (_, Some((seq, _))) => return defect(seq, "it reports another outcome than in the other run"),
            (Some(_), None) => return defect(two.last().0, "a report of the other run is missing"),
            (None, None) => return Verdict::pass(&[last]),
        }
    }
}

fn defect(at: u32, reason: &'static str) -> Verdict {
    Verdict { outcome: Outcome::Defect, ..Verdict::broken(at, &[at], reason) }
}

fn reports<'a>(story: &Story<'a>) -> impl Iterator<Item = (u32, Event)> + use<'a> {
    let wanted = if story.subject == Subject::Client { Node::Client } else { Node::Server };
    story.moments().iter().filter_map(move |moment| match moment.what {
        What::Life(event) if event.node == wanted && is_report(event.kind) => Some((moment.seq, event)),
        _ => None,
    })
}

fn is_report(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Settled(_)
            | Kind::Failed
            | Kind::Downgraded
            | Kind::Called(_)
            | Kind::Exit(_)
            | Kind::Signal(_)
    )
}

fn same_message(one: &Story<'_>, x: &Message, two: &Story<'_>, y: &Message) -> bool {
    let same_place = x.process == y.process && x.from == y.from && x.shape == y.shape;
    same_place
        && match (x.root, y.root) {
            (Some(a), Some(b)) => same_value(one.tree(), a, two.tree(), b),
            (None, None) => one.line(x) == two.line(y),
            _ => false,
        }
}

/// Equal as JSON values, whatever the order of members; the depth is bounded by the reader.
fn same_value(one: (&Tree, &[u8]), a: At, two: (&Tree, &[u8]), b: At) -> bool {
    let ((left, left_text), (right, right_text)) = (one, two);
    if left.kind(a) != right.kind(b) {
        return false;
    }
    match left.kind(a) {
        Type::Null => true,
        Type::Bool => left.raw(left_text, a) == right.raw(right_text, b),
        Type::Number => left.number(left_text, a) == right.number(right_text, b),
        Type::String => left.string(left_text, a) == right.string(right_text, b),
        Type::Array => {
            let (mut xs, mut ys) = (left.children(a), right.children(b));
            loop {
                match (xs.next(), ys.next()) {
                    (Some(x), Some(y)) if same_value(one, x, two, y) => {}
                    (None, None) => return true,
                    _ => return false,
                }
            }
        }
        Type::Object => {
            left.children(a).count() == right.children(b).count()
                && left.children(a).all(|member| {
                    let key = left.key(left_text, member);
                    let key = std::str::from_utf8(&key).unwrap_or_default();
                    let (mine, theirs) = (left.get(left_text, a, key), right.get(right_text, b, key));
                    matches!((mine, theirs), (Some(x), Some(y)) if same_value(one, x, two, y))
                })
        }
    }
}
