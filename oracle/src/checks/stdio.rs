//! STDIO: the framing, and how a process ends.

use mcp_parley_trace::{Kind, Subject};

use super::base::is_of_modern_era;
use crate::json::Tree;
use crate::known::Method;
use crate::story::{Message, NONE, Phase, Shape, Side, Story, What, is_kill};
use crate::verdict::Verdict;

/// STDIO-01: text that is no JSON by itself, and is together with the lines after it.
pub(super) fn one_line(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for message in story.own().filter(|message| is_of_modern_era(story, message)) {
        if is_spread(story, message) {
            return Verdict::broken_by(message, &[], "one message is spread over several lines");
        }
        if !message.is_noise() {
            kept = message.sent;
        }
    }
    Verdict::kept(kept, "no message of the modern era")
}

/// The line begins a JSON object that a later line ends.
fn is_spread(story: &Story<'_>, message: &Message) -> bool {
    /// Enough for any message that is printed over several lines.
    const WINDOW: u32 = 1 << 16;
    if message.shape != Shape::Unfinished || !story.line(message).trim_ascii_start().starts_with(b"{") {
        return false;
    }
    let (start, end) = story.rest_of_stream(message);
    let (_, text) = story.tree();
    Tree::default().read_value(text, start, end.min(start.saturating_add(WINDOW))).is_ok()
}

/// STDIO-02 for a server, STDIO-03 for a client.
pub(super) fn messages_only(story: &Story<'_>) -> Verdict {
    lines(story, |message| is_of_modern_era(story, message), Message::is_noise)
}

/// LEG-38b: the same in a legacy session, where a batch may be right (2025-03-26).
pub(super) fn legacy_framing(story: &Story<'_>) -> Verdict {
    let legacy = |message: &Message| match message.from {
        Side::Client => message.phase.is_legacy(),
        Side::Server => message.phase == Phase::Session,
    };
    lines(story, legacy, |message| message.is_noise() && message.shape != Shape::Batch)
}

/// PROP-STDOUT: in any era, what is not even JSON.
pub(super) fn nothing_else(story: &Story<'_>) -> Verdict {
    lines(story, |_| true, |message| matches!(message.shape, Shape::NotJson | Shape::Unfinished))
}

fn lines(
    story: &Story<'_>,
    judged: impl Fn(&Message) -> bool,
    is_wrong: impl Fn(&Message) -> bool,
) -> Verdict {
    let mut kept = NONE;
    for message in story.own().filter(|message| judged(message)) {
        match message.shape {
            Shape::Partial | Shape::Unread => {}
            _ if is_wrong(message) => {
                return Verdict::broken_by(message, &[], "it writes a line that is no message");
            }
            _ => kept = message.sent,
        }
    }
    Verdict::kept(kept, "no line to judge")
}

/// STDIO-07: it had to be killed, or was still there long after its input had ended.
pub(super) fn exits_on_eof(story: &Story<'_>) -> Verdict {
    /// Long enough for any exit that is prompt.
    const PROMPT_US: u64 = 2_000_000;
    let mut kept = NONE;
    for process in story.processes() {
        let Some((closed, closed_us)) = process.closed else { continue };
        let is_late = |t_us: u64| t_us.saturating_sub(closed_us) >= PROMPT_US;
        match process.ended {
            Some((seq, _, _)) if seq < closed => {}
            Some((seq, t_us, Kind::Signal(9 | 15))) if is_late(t_us) => {
                return Verdict::broken(seq, &[closed, seq], "it had to be killed after its input had ended");
            }
            Some((_, _, Kind::Signal(_) | Kind::SpawnFailed)) => {}
            Some((seq, ..)) => kept = seq,
            None if story.is_whole() && story.subject == Subject::Server && has_exits(story) => {
                let (seq, t_us) = story.last();
                if is_late(t_us) {
                    return Verdict::broken(
                        seq,
                        &[closed, seq],
                        "it is still there after its input has ended",
                    );
                }
            }
            None => {}
        }
    }
    Verdict::kept(kept, "no process whose input ended while it ran")
}

/// The recorder sees processes end at all; not every one does.
fn has_exits(story: &Story<'_>) -> bool {
    story.processes().iter().any(|process| process.ended.is_some())
        || story
            .moments()
            .iter()
            .any(|moment| matches!(moment.what, What::Life(event) if event.kind == Kind::Up))
}

/// A signal this soon after the end of the input is no wait for the process to exit, in microseconds.
const NO_WAIT_US: u64 = 100_000;

/// STDIO-10
pub(super) fn closes_first(story: &Story<'_>) -> Verdict {
    waits_for_exit(story, false)
}

/// LEG-29: the same of a process to which the client has sent `initialize`.
pub(super) fn closes_session_first(story: &Story<'_>) -> Verdict {
    waits_for_exit(story, true)
}

/// A signal that ends a process, before the client's end was closed or together with it. What comes after a standstill is
/// the supervisor's doing.
fn waits_for_exit(story: &Story<'_>, in_session: bool) -> Verdict {
    let mut kept = NONE;
    for moment in story.moments() {
        let What::Life(event) = moment.what else { continue };
        match event.kind {
            Kind::Stuck => break,
            Kind::Exit(_) | Kind::Signal(_) => {}
            _ => continue,
        }
        let Some(place) = story.process_of(&event) else { continue };
        let shook = story.requests().any(|request| {
            request.process == place && request.method == Method::Initialize && request.sent < moment.seq
        });
        if shook != in_session {
            continue;
        }
        let closed = story
            .processes()
            .get(place as usize)
            .and_then(|process| process.closed)
            .filter(|(seq, _)| *seq < moment.seq);
        let waited = closed.is_some_and(|(_, t_us)| moment.t_us.saturating_sub(t_us) >= NO_WAIT_US);
        if is_kill(&event) && !waited {
            let reason = "it kills the server without waiting for it to exit";
            return Verdict::broken(moment.seq, &[moment.seq], reason);
        }
        kept = closed.map_or(kept, |(seq, _)| seq);
    }
    Verdict::kept(kept, "the client ended no process")
}
