//! ERA: how the two eras are told apart, and what the other side's era asks for.

use mcp_parley_trace::{Era, Mode, Outcome, Subject};

use super::neg::era_named;
use super::{is_legacy_list, is_modern_call, may_be_unread, may_have_crossed};
use crate::json::Type;
use crate::known::{INVALID_PARAMS, META_CAPABILITIES, Method, TASKS_EXTENSION, VERSIONS, is_modern_code};
use crate::story::{Answer, Message, NONE, Phase, Shape, Side, Story};
use crate::verdict::Verdict;

/// Judges every `initialize` that was sent when modern evidence of a wanted kind was in force. Evidence is an answer, by
/// its id, to a modern request; it lasts for the run, a later process of the same server included, until the client
/// asks a later process anew. What a DiscoverResult with common legacy versions only allows is contested.
fn no_initialize_after(
    story: &Story<'_>,
    wanted: impl Fn(&Message, &Message) -> bool,
    reason: &'static str,
) -> Verdict {
    let fits = |answer: &Message| {
        story.request_of(answer).is_some_and(|request| wanted(answer, request))
            && !may_have_crossed(story, answer)
            && !is_legacy_list(story, answer)
            && !may_be_unread(story, answer)
    };
    for request in story.requests().filter(|request| request.method == Method::Initialize) {
        if let Some(evidence) = story.message(request.evidence).filter(|evidence| fits(evidence)) {
            let seqs = [evidence.received, request.sent];
            return Verdict::broken_by(request, &seqs, reason);
        }
    }
    let met = story.answers().find(|(answer, _)| answer.received != NONE && fits(answer));
    Verdict::kept(met.map_or(NONE, |(answer, _)| answer.received), "the client met no such evidence")
}

/// ERA-03
pub(super) fn no_initialize_after_discovery(story: &Story<'_>) -> Verdict {
    let wanted = |answer: &Message, _: &Message| answer.answer == Answer::Discovered;
    no_initialize_after(story, wanted, "it sends `initialize` after a DiscoverResult")
}

/// ERA-04
pub(super) fn no_initialize_after_modern_error(story: &Story<'_>) -> Verdict {
    let wanted =
        |answer: &Message, request: &Message| request.method == Method::Discover && is_modern_error(answer);
    no_initialize_after(story, wanted, "it sends `initialize` after a modern error in answer to its probe")
}

/// ERA-02: ERA-04 for any transport and any modern request.
pub(super) fn no_fallback_after_modern_error(story: &Story<'_>) -> Verdict {
    let wanted = |answer: &Message, _: &Message| is_modern_error(answer);
    no_initialize_after(story, wanted, "it falls back after a modern error")
}

fn is_modern_error(answer: &Message) -> bool {
    matches!(answer.answer, Answer::Unsupported | Answer::ModernError)
}

/// ERA-07c, and ERA-07: a client that falls back after such a 400 has not read its body.
pub(super) fn no_fallback_after_bad_request(story: &Story<'_>) -> Verdict {
    let wanted = |answer: &Message, _: &Message| {
        is_modern_error(answer) && story.exchange(answer).is_some_and(|exchange| exchange.status == 400)
    };
    no_initialize_after(story, wanted, "it falls back although the body of the 400 holds a modern error")
}

/// ERA-20: any evidence, a modern success included.
pub(super) fn stays_modern(story: &Story<'_>) -> Verdict {
    no_initialize_after(story, |_, _| true, "it leaves the modern era although it has met a modern server")
}

/// ERA-11, where one run over stdio shows it: a process that has agreed on a legacy version is legacy for as long as it lives.
pub(super) fn remembers_legacy(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for request in story.requests().filter(|request| matches!(request.phase, Phase::Shaken | Phase::Session))
    {
        if request.method == Method::Discover && super::http_legacy::holds_session(story, request) {
            let reason = "it probes a server with which it has agreed on a legacy version";
            return Verdict::broken_by(request, &[], reason);
        }
        kept = request.sent;
    }
    Verdict::kept(kept, "no request after a handshake")
}

/// ERA-09. A client that opens with something else may know the era from an earlier connection (ERA-12).
pub(super) fn probes_first(story: &Story<'_>) -> Verdict {
    if story.declared.mode != Mode::Auto {
        return Verdict::not_applicable("only a client that detects the era probes");
    }
    let mut requests = story.requests();
    let Some(first) = requests.next() else { return Verdict::not_applicable("no request") };
    if first.method != Method::Discover {
        let asked_at_once = story.requests().find(|probe| {
            probe.method == Method::Discover
                && probe.process == first.process
                && story.answered_before(first, probe.sent).is_none()
                && probe.sent_us < first.sent_us.saturating_add(1_000_000)
        });
        return match asked_at_once {
            Some(probe) => Verdict::broken(
                first.sent,
                &[first.sent, probe.sent],
                "it sends another request before its probe",
            ),
            None => Verdict::incomplete("it may know the era from an earlier connection"),
        };
    }
    let Some(preferred) = story.offers().and_then(<[String]>::first) else {
        return Verdict::incomplete("the version that the client prefers is not known");
    };
    if story.is(first.version, Type::String) && !story.is_string(first.version, preferred) {
        return Verdict::broken_by(first, &[], "it does not probe at its preferred modern version");
    }
    Verdict::pass(&[first.sent])
}

/// ERA-13
pub(super) fn refusal_names_versions(story: &Story<'_>) -> Verdict {
    let modern_only = story.server_is_modern && !lists_legacy(story) && !story.server_is_legacy;
    if !modern_only || !refuses_legacy(story) {
        return Verdict::not_applicable("the server is not known for one of the modern era only");
    }
    let mut kept = NONE;
    for (answer, request) in story.answers() {
        let Some(error) = answer.error.filter(|_| request.method == Method::Initialize) else { continue };
        if !VERSIONS.iter().any(|(version, era)| *era == Era::Modern && contains(story.raw(error), version))
            && !listed_versions_in(story, error)
        {
            return Verdict::broken_by(
                answer,
                &[],
                "the error to `initialize` names no version that it supports",
            );
        }
        kept = answer.sent;
    }
    Verdict::kept(kept, "no error in answer to `initialize`")
}

fn listed_versions_in(story: &Story<'_>, error: crate::json::At) -> bool {
    story.answers().filter_map(|(answer, _)| answer.list).any(|list| {
        let text = story.raw(error);
        story
            .children(list)
            .any(|at| story.kind(at) == Type::String && contains(text, &story_text(story, at)))
    })
}

fn story_text(story: &Story<'_>, at: crate::json::At) -> String {
    story.string(Some(at)).unwrap_or_default().into_owned()
}

fn contains(text: &[u8], part: &str) -> bool {
    !part.is_empty() && text.windows(part.len()).any(|window| window == part.as_bytes())
}

/// An `initialize` at a legacy version, in which nothing is wrong, was refused as one: a server of both eras would have served it. On one
/// process the request before may have settled the era (AMB-18).
pub(super) fn refuses_legacy(story: &Story<'_>) -> bool {
    let is_first = |request: &Message| {
        let first = story.requests().find(|first| first.process == request.process);
        first.is_some_and(|first| first.place == request.place)
    };
    story.answers().any(|(answer, request)| {
        let version = story.string(request.handshake_version);
        let is_legacy = version.is_some_and(|version| story.era(&version) == Some(Era::Legacy));
        request.is_call(Method::Initialize)
            && request.clean
            && !request.modern_keys
            && is_legacy
            && (story.is_http() || is_first(request))
            && answer.shape == Shape::Error
    })
}

/// The server lists a legacy version somewhere, so it is likely to serve both eras.
pub(super) fn lists_legacy(story: &Story<'_>) -> bool {
    VERSIONS
        .iter()
        .filter(|(_, era)| *era == Era::Legacy)
        .any(|(version, _)| story.answers().any(|(answer, _)| story.lists(answer, version)))
}

/// ERA-14, where one trace shows it: what `initialize` has opened is not judged by modern rules.
pub(super) fn legacy_session_by_legacy_rules(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for (answer, request) in story.answers() {
        let bare = !request.modern_keys && request.clean && request.method != Method::Discover;
        let other = answer.phase != Phase::Session || request.method == Method::Initialize;
        if other || !bare || !super::http_legacy::is_of_session(story, request) {
            continue;
        }
        let without_parameters =
            request.params.is_none_or(|params| story.children(params).all(|at| story.is_key(at, "_meta")));
        let knows = matches!(request.method, Method::Ping | Method::ToolsList);
        let by_modern_rules = answer.code.is_some_and(|code| {
            is_modern_code(code) || (code == INVALID_PARAMS && without_parameters && knows)
        });
        if by_modern_rules {
            let evidence = [request.received.min(answer.sent), answer.sent];
            return Verdict::broken_by(
                answer,
                &evidence,
                "it judges a request of a legacy session by modern rules",
            );
        }
        kept = answer.sent;
    }
    Verdict::kept(kept, "no request without modern keys was answered in a legacy session")
}

/// ERA-17. Silence shows by order, where a later request was answered, or by a wait that nobody would call an answer.
pub(super) fn answers_initialize(story: &Story<'_>) -> Verdict {
    const LONG_US: u64 = 10_000_000;
    let refused = if story.is_http() {
        super::http_server::refuses_initialize(story)
    } else {
        Verdict::not_applicable("")
    };
    if refused.outcome != Outcome::NotApplicable {
        return refused;
    }
    if !story.server_is_modern || story.server_is_legacy {
        return Verdict::not_applicable("the server is not known for one of the modern era only");
    }
    let mut kept = NONE;
    for request in story.requests().filter(|request| request.method == Method::Initialize && request.clean) {
        if let Some(answer) = story.answer_of(request) {
            kept = answer.sent;
            continue;
        }
        let process = story.process(request);
        let alive_to = process.and_then(|process| process.closed.or(process.gone)).unwrap_or(story.last());
        let later = story
            .answers()
            .find(|(_, other)| other.process == request.process && other.received > request.received)
            .filter(|_| !story.is_http());
        let alive_to = story
            .exchange(request)
            .and_then(|exchange| exchange.closed.or(exchange.gone))
            .unwrap_or(alive_to);
        let refused = story.exchange(request).is_some_and(|exchange| exchange.status != 0);
        let waited = alive_to.1 >= request.received_us.saturating_add(LONG_US);
        match later {
            _ if request.received == NONE || !story.is_whole() || refused => {}
            Some((answer, _)) => {
                let reason = "it answers a later request, and `initialize` never";
                return Verdict::broken_by(answer, &[request.received, answer.sent], reason);
            }
            None if waited => {
                let seqs = [request.received, alive_to.0];
                return Verdict::broken(alive_to.0, &seqs, "it never answers `initialize`");
            }
            None => {}
        }
    }
    Verdict::kept(kept, "no `initialize` that the run shows to be answered or not")
}

/// ERA-22
pub(super) fn handshake_is_legacy(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for message in story.own() {
        let is_ours = match story.subject {
            Subject::Server => message.answer == Answer::Handshake,
            _ => message.is_call(Method::Initialize),
        };
        let Some(version) = story.string(message.handshake_version).filter(|_| is_ours) else { continue };
        if story.era(&version) == Some(Era::Modern) {
            let reason = match message.from {
                Side::Client => "`initialize` asks for a modern version",
                Side::Server => "the InitializeResult agrees on a modern version",
            };
            return Verdict::broken_by(message, &[], reason);
        }
        kept = message.sent;
    }
    Verdict::kept(kept, "no handshake")
}

/// ERA-23. An extension may bring the methods of tasks back.
pub(super) fn no_removed_method(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for message in story.from(Side::Client) {
        let modern = match message.shape {
            Shape::Request => {
                is_modern_call(story, message) && era_named(story, message) != Some(Era::Legacy)
            }
            Shape::Notification => message.phase == Phase::Modern,
            _ => false,
        };
        if !modern {
            continue;
        }
        if message.method.is_removed() && !(message.method.is_task() && has_tasks_extension(story, message)) {
            return Verdict::broken_by(message, &[], "the modern era no longer has this method");
        }
        kept = message.sent;
    }
    Verdict::kept(kept, "no modern message")
}

fn has_tasks_extension(story: &Story<'_>, message: &Message) -> bool {
    message
        .meta
        .and_then(|meta| story.get(meta, META_CAPABILITIES))
        .and_then(|capabilities| story.get(capabilities, "extensions"))
        .is_some_and(|extensions| story.get(extensions, TASKS_EXTENSION).is_some())
}
