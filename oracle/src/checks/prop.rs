//! Properties that any sane side keeps: it ends, it is bounded, it listens to ids, it speaks one era, it lives.

use mcp_parley_trace::{Era, Event, Kind, Node, Subject};

use super::base::client_reports;
use super::neg::era_named;
use super::{goes_on_modern, is_modern_call};
use crate::known::Method;
use crate::story::{Answer, Message, NONE, Phase, Shape, Side, Story, What};
use crate::verdict::Verdict;

/// More probes than this before anything went well are no negotiation any more.
const PROBES: usize = 8;
/// A version may be asked for again this often after it was refused.
const REFUSALS: usize = 3;

/// PROP-BOUND
pub(super) fn bound(story: &Story<'_>) -> Verdict {
    let outcome = story.report(0, |kind| matches!(kind, Kind::Settled(_) | Kind::Failed));
    let outcome = outcome.map_or(NONE, |(seq, ..)| seq);
    if let Some((seq, _)) = story.stuck.filter(|(seq, _)| *seq < outcome) {
        return Verdict::broken(seq, &[seq], "it neither settles nor fails: it waits for ever");
    }
    if story.declared.reports && story.was_cut() && outcome == NONE {
        let (seq, _) = story.last();
        return Verdict::broken(seq, &[seq], "it had neither settled nor failed when the run was cut off");
    }
    Verdict::kept(outcome, "the client reports nothing, and did not get stuck")
}

/// PROP-RETRY
pub(super) fn retry(story: &Story<'_>) -> Verdict {
    let mut probes = 0;
    let mut kept = NONE;
    let good = |from: u32, until: u32| {
        story.answers().any(|(answer, request)| {
            answer.received > from
                && answer.received < until
                && match answer.answer {
                    Answer::Handshake => true,
                    Answer::Typed | Answer::Success => request.method != Method::Discover,
                    _ => false,
                }
        })
    };
    for request in story.requests() {
        if kept != NONE && good(kept, request.sent) {
            probes = 0;
        }
        let is_probe = matches!(request.method, Method::Discover | Method::Initialize);
        probes += usize::from(is_probe);
        if is_probe && probes > PROBES {
            return Verdict::broken_by(request, &[], "it probes for ever");
        }
        if refusals_before(story, request) >= REFUSALS {
            return Verdict::broken_by(request, &[], "it asks again and again at a version that was refused");
        }
        kept = request.sent;
    }
    reconnects(story).unwrap_or_else(|| Verdict::kept(kept, "no request"))
}

/// A client that asks for the stream by GET again and again, each time as soon as the last one has failed or ended.
fn reconnects(story: &Story<'_>) -> Option<Verdict> {
    const TIMES: usize = 20;
    const AT_ONCE_US: u64 = 500_000;
    let (mut times, mut over_us) = (0, None);
    for exchange in story.exchanges().filter(|exchange| exchange.is_get) {
        let at_once = over_us.is_some_and(|over_us: u64| {
            exchange.asked_us >= over_us && exchange.asked_us < over_us.saturating_add(AT_ONCE_US)
        });
        times = if at_once { times + 1 } else { 0 };
        over_us = exchange.over_us().filter(|_| !exchange.says_when);
        if times >= TIMES {
            return Some(Verdict::broken(
                exchange.asked,
                &[exchange.asked],
                "it asks by GET again at once, for ever",
            ));
        }
    }
    None
}

/// How often the server had refused the version that this request names.
fn refusals_before(story: &Story<'_>, request: &Message) -> usize {
    let named = |message: &Message| match message.method {
        Method::Initialize => message.handshake_version,
        _ => message.version,
    };
    let refused = |answer: &Message, asked: &Message| match asked.method {
        Method::Initialize => answer.shape == Shape::Error,
        _ => matches!(answer.answer, Answer::Unsupported | Answer::OddUnsupported),
    };
    story
        .answers()
        .filter(|(answer, asked)| {
            answer.received < request.sent
                && (asked.method == Method::Initialize) == (request.method == Method::Initialize)
                && refused(answer, asked)
                && story.same(named(asked), named(request))
        })
        .count()
}

/// PROP-ID: what the client does next needs an answer that it never got, and a response with another id would be one.
pub(super) fn foreign_id(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for stray in story.from(Side::Server) {
        let foreign = stray.is_response() && stray.pair == NONE && !stray.repeats && stray.received != NONE;
        if !foreign {
            continue;
        }
        let adopted = adoption(story, stray);
        match adopted {
            Some(Adoption { seq, message }) => {
                let evidence = [stray.received, seq];
                let reason = "it takes a response with another id for its answer";
                return match message {
                    Some(message) => Verdict::broken_by(message, &evidence, reason),
                    None => Verdict::broken(seq, &evidence, reason),
                };
            }
            None => kept = stray.received,
        }
    }
    Verdict::kept(kept, "no response with an id that nobody waits for")
}

struct Adoption<'a> {
    seq: u32,
    message: Option<&'a Message>,
}

fn adoption<'a>(story: &Story<'a>, stray: &Message) -> Option<Adoption<'a>> {
    let report = |wanted: Kind| story.report(stray.received, |kind| kind == wanted).map(|(seq, ..)| seq);
    let open = |request: &&Message| {
        request.process == stray.process
            && request.exchange == stray.exchange
            && request.sent < stray.received
    };
    let first = |report: Option<u32>, message: Option<&'a Message>| match (report, message) {
        (Some(seq), Some(message)) if message.sent > seq => Some(Adoption { seq, message: None }),
        (_, Some(message)) => Some(Adoption { seq: message.sent, message: Some(message) }),
        (Some(seq), None) => Some(Adoption { seq, message: None }),
        (None, None) => None,
    };
    let last = story.requests().rfind(open)?;
    if story.answered_before(last, stray.received).is_some() {
        return None;
    }
    let proven = |seq: u32| {
        story.answers().any(|(answer, _)| {
            answer.received < seq && answer.answer != Answer::OtherError && answer.answer != Answer::Broken
        })
    };
    match last.method {
        Method::Discover if stray.list.is_some() && stray.result.is_some() => {
            let next = super::neg::first_going_on(story, stray.received);
            first(report(Kind::Settled(Era::Modern)), next)
                .filter(|adoption| !proven(adoption.seq) && is_prompt(story, stray, adoption.seq))
        }
        Method::Initialize if stray.handshake_version.is_some() && stray.result.is_some() => {
            let next = story.from(Side::Client).find(|next| {
                next.sent > stray.received
                    && next.shape == Shape::Notification
                    && next.method == Method::Initialized
            });
            first(report(Kind::Settled(Era::Legacy)), next)
                .filter(|adoption| story.answered_before(last, adoption.seq).is_none())
        }
        Method::Discover | Method::Initialize => None,
        _ if stray.shape == Shape::Result => report(Kind::Called(true))
            .filter(|seq| story.answered_before(last, *seq).is_none())
            .map(|seq| Adoption { seq, message: None }),
        _ => None,
    }
}

/// A client that needs no probe may go on when the probe has timed out; then the stray response is not the reason.
fn is_prompt(story: &Story<'_>, stray: &Message, seq: u32) -> bool {
    const PROMPT_US: u64 = 100_000;
    let t_us = story.moments().iter().find(|moment| moment.seq == seq).map_or(u64::MAX, |moment| moment.t_us);
    !story.is_modern_only() || t_us <= stray.received_us.saturating_add(PROMPT_US)
}

/// PROP-ONE-ERA. In a legacy session the client may leave modern keys in its requests (AMB-17), so a modern request is
/// one that only the modern era has, or one at a modern version by a client that says that it has settled on that era
/// since the handshake.
pub(super) fn one_era(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for request in story.requests().filter(|request| request.phase == Phase::Session) {
        let opened = story.from(Side::Client).rfind(|message| {
            message.process == request.process
                && message.sent < request.sent
                && message.phase != Phase::Session
        });
        let modern_again = || {
            era_named(story, request) == Some(Era::Modern)
                && client_reports(story).any(|(seq, _, event)| {
                    event.kind == Kind::Settled(Era::Modern)
                        && seq < request.sent
                        && opened.is_some_and(|opened| seq > opened.sent)
                })
        };
        let modern = request.method == Method::Discover || modern_again();
        if modern && super::http_legacy::is_in_session(story, request) {
            let reason = "it speaks modern to a server with which it has a legacy session";
            let from = opened.map_or(request.sent, |opened| opened.sent);
            return Verdict::broken_by(request, &[from, request.sent], reason);
        }
        kept = request.sent;
    }
    let modern = story.requests().rfind(|request| goes_on_modern(story, request));
    let other = modern.filter(|modern| is_modern_call(story, modern)).map_or(NONE, |modern| modern.sent);
    Verdict::kept(if kept == NONE { other } else { kept }, "the client chose no era")
}

/// PROP-SAME
pub(super) fn same(_: &Story<'_>) -> Verdict {
    Verdict::not_applicable("it takes two runs to compare")
}

/// PROP-ALIVE. A client's hang is PROP-BOUND's while it negotiates.
pub(super) fn alive(story: &Story<'_>) -> Verdict {
    let mut seen = NONE;
    for moment in story.moments() {
        let What::Life(event) = moment.what else { continue };
        if let Some(reason) = death(story, moment.seq, &event) {
            return Verdict::broken(moment.seq, &[moment.seq], reason);
        }
        seen = moment.seq;
    }
    let spoke = story.own().last().map_or(NONE, |message| message.sent);
    Verdict::kept(if spoke == NONE { seen } else { spoke }, "the subject did nothing")
}

fn death(story: &Story<'_>, seq: u32, event: &Event) -> Option<&'static str> {
    let own = match story.subject {
        Subject::Server => Node::Server,
        _ => Node::Client,
    };
    let listening = || {
        if story.is_http() {
            let is_later = |head: u32| head != NONE && head > seq;
            return story
                .exchanges()
                .any(|exchange| exchange.is_open(seq) || is_later(exchange.request_head));
        }
        let process = story.process_of(event).and_then(|place| story.processes().get(place as usize));
        process.is_some_and(|process| process.closed.is_none_or(|(closed, _)| closed > seq))
    };
    match event.kind {
        Kind::Signal(signal) if event.node == own && is_crash(signal) => Some("it crashes"),
        Kind::Exit(code) if event.node == own && (code == 101 || is_crash(code - 128)) => Some("it crashes"),
        Kind::Exit(code) if event.node == own && own == Node::Server && code != 0 && listening() => {
            Some("it exits with an error while its client still speaks to it")
        }
        // A server may end the connection by itself (STDIO-11), but not in the face of a question.
        Kind::Exit(0) if event.node == own && own == Node::Server && listening() && owes(story, event) => {
            Some("it exits while its client waits for an answer")
        }
        Kind::Stuck if own == Node::Server => Some("it hangs"),
        _ => None,
    }
}

/// A request to this process never got an answer, and the process did not see the end of its input, which ends it by right (STDIO-07).
fn owes(story: &Story<'_>, event: &Event) -> bool {
    let place = story.process_of(event);
    let saw_end = |moment: &crate::story::Moment| {
        matches!(moment.what, What::Life(own) if own.kind == Kind::Eof && own.node == Node::Server
            && own.channel == event.channel)
    };
    if story.moments().iter().any(saw_end) {
        return false;
    }
    let here = |request: &Message| story.is_http() || Some(request.process) == place;
    story.requests().any(|request| here(request) && request.clean && story.answer_of(request).is_none())
}

/// SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS.
fn is_crash(signal: i32) -> bool {
    matches!(signal, 4 | 5 | 6 | 7 | 8 | 11 | 31)
}
