//! PAT, and the halves of it that stdio repeats: which messages go which way.

use crate::known::Method;
use crate::story::{NONE, Phase, Side, Story};
use crate::verdict::Verdict;

/// PAT-01, STDIO-05. Before the server has shown its era on that process, and once `initialize` has reached it, a
/// request may be a legacy one (AMB-32).
pub(super) fn no_server_request(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for message in story.from(Side::Server).filter(|message| message.phase == Phase::Modern) {
        let initialized = story.requests().any(|request| {
            request.method == Method::Initialize
                && request.process == message.process
                && request.received < message.sent
        });
        if message.is_request() && !initialized {
            return Verdict::broken_by(message, &[], "the server sends a request in the modern era");
        }
        kept = message.sent;
    }
    Verdict::kept(kept, "the server sent nothing after it had shown the modern era")
}

/// STDIO-04, PAT-01b. While the era is undecided: AMB-32; in a legacy session responses are right.
pub(super) fn no_client_response(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for message in story.from(Side::Client) {
        let probing = || {
            story.requests().any(|probe| {
                probe.method == Method::Discover
                    && probe.process == message.process
                    && probe.sent < message.sent
                    && story.answered_before(probe, message.sent).is_none()
            })
        };
        let decided = message.phase == Phase::Modern && message.evidence != NONE && !probing();
        if decided && message.is_response() {
            return Verdict::broken_by(message, &[], "the client sends a response in the modern era");
        }
        if decided || message.phase == Phase::Probing {
            kept = message.sent;
        }
    }
    Verdict::kept(kept, "the client sent nothing in the modern era")
}
