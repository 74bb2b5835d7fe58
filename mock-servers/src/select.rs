//! Which quirks act on a message: what a process has seen, and how often.

use mcp_parley_negotiation::http::{RequestHead, header_values};
use mcp_parley_negotiation::issue::IssueSink;
use mcp_parley_negotiation::json::{self, Raw};
use mcp_parley_negotiation::limits::Limits;

use crate::doc;
use crate::persona::{Act, Quirk, Selector};
use crate::played::Played;

/// What one process remembers of the messages that it received.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    /// Of the process, counted from 1.
    number: u32,
    messages: u32,
    /// How often each quirk's selector fitted.
    fitted: Vec<u32>,
    /// Which watched methods were received, by bit.
    seen: u64,
}

impl Heard {
    pub(crate) fn nothing(played: &Played, number: u32) -> Self {
        Self { number, messages: 0, fitted: vec![0; played.persona().quirks.len()], seen: 0 }
    }

    /// Counts a message: its number in the process, from 1.
    pub(crate) fn count(&mut self) -> u32 {
        self.messages = self.messages.saturating_add(1);
        self.messages
    }

    /// As [`Heard::nothing`], in the memory of before.
    pub(crate) fn renew(&mut self, played: &Played, number: u32) {
        let mut fitted = std::mem::take(&mut self.fitted);
        fitted.clear();
        fitted.resize(played.persona().quirks.len(), 0);
        *self = Self { number, messages: 0, fitted, seen: 0 };
    }

    pub(crate) fn see(&mut self, bit: u64) {
        self.seen |= bit;
    }

    /// The acts whose selectors fit this message, in the order of the file; over HTTP it has a head.
    pub(crate) fn fitting<'p>(
        &mut self,
        played: &'p Played,
        head: Option<&RequestHead<'_>>,
        message: &[u8],
        method: &str,
    ) -> Vec<&'p Act> {
        let mut read = None;
        let mut acts = Vec::new();
        for (at, Quirk { when, act }) in played.persona().quirks.iter().enumerate() {
            if !self.fits(played, when, method) || !has_head(when, head) || !holds(when, message, &mut read) {
                continue;
            }
            let Some(count) = self.fitted.get_mut(at) else { continue };
            *count = count.saturating_add(1);
            if when.nth.is_none_or(|nth| nth == *count)
                && when.first.is_none_or(|first| *count <= first)
                && when.every.is_none_or(|every| count.is_multiple_of(every))
            {
                acts.push(act);
            }
        }
        acts
    }

    /// What needs no look into the message.
    fn fits(&self, played: &Played, when: &Selector, method: &str) -> bool {
        let seen = |name: &str| self.seen & played.bit(name) != 0;
        (when.method.is_empty() || when.method.iter().any(|name| name == method))
            && when.process.is_none_or(|process| process == self.number)
            && when.from_process.is_none_or(|process| process <= self.number)
            && when.after.as_deref().is_none_or(seen)
            && !when.before.as_deref().is_some_and(seen)
    }
}

fn has_head(when: &Selector, head: Option<&RequestHead<'_>>) -> bool {
    let Some(head) = head else {
        return when.verb.is_empty() && when.header.is_none() && when.lacks_header.is_none();
    };
    let named = if when.verb.is_empty() {
        head.verb == "POST"
    } else {
        when.verb.iter().any(|verb| verb == head.verb)
    };
    named
        && when.header.as_ref().is_none_or(|wanted| {
            header_values(head.headers, &wanted.name)
                .any(|value| wanted.value.as_ref().is_none_or(|wanted| wanted.as_bytes() == value))
        })
        && when.lacks_header.as_ref().is_none_or(|name| header_values(head.headers, name).next().is_none())
}

/// What the message itself must have. `read` is the message, once it was needed.
fn holds<'a>(when: &Selector, message: &'a [u8], read: &mut Option<Option<Raw<'a>>>) -> bool {
    if when.has.is_none() && when.lacks.is_none() && when.value.is_none() {
        return true;
    }
    let Some(message) =
        *read.get_or_insert_with(|| json::check(message, &Limits::DEFAULT, &mut IssueSink::new()))
    else {
        return false;
    };
    when.has.as_ref().is_none_or(|at| doc::find(message, at).is_some())
        && when.lacks.as_ref().is_none_or(|at| doc::find(message, at).is_none())
        && when.value.as_ref().is_none_or(|value| {
            doc::find(message, &value.at).is_some_and(|found| doc::equals(found, &value.equals))
        })
}
