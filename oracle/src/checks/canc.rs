//! CANC: which request a cancellation names. LEG-06 is the one that it must not.

use crate::known::Method;
use crate::story::{Message, NONE, Phase, Shape, Side, Story};
use crate::verdict::Verdict;

/// The client's cancellations, each with the newest request of that process that it names.
fn cancellations<'a>(story: &Story<'a>) -> impl Iterator<Item = (&'a Message, Option<&'a Message>)> {
    story
        .from(Side::Client)
        .filter(|message| message.shape == Shape::Notification && message.method == Method::Cancelled)
        .map(|message| {
            let id = message.params.and_then(|params| story.get(params, "requestId"));
            let named = story.requests().rfind(|request| {
                request.place < message.place
                    && request.process == message.process
                    && story.same(request.id, id)
            });
            (message, named)
        })
}

/// CANC-09, outside legacy sessions. The cancellation of a probe that timed out is right (CANC-02).
pub(super) fn names_open_request(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for (message, named) in cancellations(story).filter(|(message, _)| !message.phase.is_legacy()) {
        let Some(request) = named else {
            return Verdict::broken_by(message, &[], "the cancellation names no request of the client");
        };
        // AMB-04: a client may drop a broken answer, and then believes the request to be open.
        if let Some(answer) = story.answered_before(request, message.sent)
            && answer.clean
            && super::was_received(story, answer, message.sent)
            && story.sees(Side::Client)
        {
            let seqs = [request.sent, answer.received, message.sent];
            return Verdict::broken_by(message, &seqs, "the cancelled request had been answered");
        }
        kept = message.sent;
    }
    Verdict::kept(kept, "no cancellation outside a legacy session")
}

/// CANC-06b over HTTP: a client that says that it has given a request up, and leaves its response stream open. The notification
/// alone is not expected there, and forbidden nowhere.
pub(super) fn closes_stream(story: &Story<'_>) -> Verdict {
    /// Time enough to close it.
    const SOON_US: u64 = 1_000_000;
    let mut kept = NONE;
    for (message, named) in cancellations(story).filter(|(message, _)| !message.phase.is_legacy()) {
        let Some(exchange) = named.and_then(|request| story.exchange(request)) else { continue };
        let over = exchange.complete != NONE || exchange.closed.is_some() || exchange.gone.is_some();
        let (last, last_us) = story.last();
        if !over && story.is_whole() && last_us >= message.sent_us.saturating_add(SOON_US) {
            let reason = "it cancels a request by a notification, and leaves its response stream open";
            return Verdict::broken_by(message, &[exchange.asked, message.sent, last], reason);
        }
        kept = message.sent;
    }
    Verdict::kept(kept, "no cancellation outside a legacy session")
}

/// LEG-06
pub(super) fn not_initialize(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for (message, named) in cancellations(story) {
        if let Some(request) = named.filter(|request| request.method == Method::Initialize) {
            return Verdict::broken_by(message, &[request.sent, message.sent], "it cancels `initialize`");
        }
        if message.phase != Phase::Modern {
            kept = message.sent;
        }
    }
    Verdict::kept(kept, "no cancellation that could name `initialize`")
}
