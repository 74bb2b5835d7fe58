//! LEG: sessions that `initialize` opens.

use mcp_parley_trace::{Era, Kind, Mode};

use super::{met_a_mark, names_itself};
use crate::json::{At, Type};
use crate::known::{INVALID_PARAMS, Method, VERSIONS};
use crate::story::{Answer, Message, NONE, Phase, Shape, Side, Story};
use crate::verdict::Verdict;

fn handshakes<'a>(story: &Story<'a>) -> impl DoubleEndedIterator<Item = &'a Message> + use<'a> {
    story.requests().filter(|request| request.method == Method::Initialize)
}

/// LEG-01
pub(super) fn names_supported(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for request in handshakes(story) {
        let Some(version) = story.string(request.handshake_version) else {
            return Verdict::broken_by(request, &[], "`initialize` names no version");
        };
        match story.accepts() {
            Some(accepts) if !accepts.iter().any(|own| *own == version) => {
                let reason = "`initialize` names a version that the client does not declare";
                return Verdict::broken_by(request, &[], reason);
            }
            Some(_) => kept = request.sent,
            None => {}
        }
    }
    match (kept, story.accepts()) {
        (NONE, None) if handshakes(story).next().is_some() => {
            Verdict::incomplete("the legacy versions of the client are not known")
        }
        _ => Verdict::kept(kept, "no `initialize`"),
    }
}

/// LEG-01b. A preference that the client declares may be its user's, so the version that it likes best will do as well. After
/// an answer to `initialize` another version may be what the server asked for.
pub(super) fn names_newest(story: &Story<'_>) -> Verdict {
    let Some(accepts) = story.accepts() else {
        return Verdict::not_applicable("the legacy versions of the client are not known");
    };
    let age = |version: &str| VERSIONS.iter().position(|(known, _)| *known == version);
    let Some(newest) =
        accepts.iter().max_by_key(|version| age(version)).filter(|newest| age(newest).is_some())
    else {
        return Verdict::not_applicable("the client declares no legacy version");
    };
    let Some(request) = handshakes(story).next() else { return Verdict::not_applicable("no `initialize`") };
    let Some(version) = story.string(request.handshake_version) else {
        return Verdict::not_applicable("`initialize` names no version");
    };
    let liked = accepts.first().is_some_and(|best| *best == version);
    if accepts.iter().any(|own| *own == version) && *newest != version && !liked {
        return Verdict::broken_by(
            request,
            &[],
            "`initialize` names an older version than the client supports",
        );
    }
    Verdict::pass(&[request.sent])
}

/// The server is known, from this run, to serve this legacy version by handshake: it agreed on it, or listed it.
fn serves(story: &Story<'_>, version: &str) -> bool {
    story.answers().any(|(answer, _)| match answer.answer {
        Answer::Handshake => story.is_string(answer.handshake_version, version),
        _ => story.lists(answer, version),
    })
}

/// LEG-02
pub(super) fn echoes_supported(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for (answer, request) in story.answers().filter(|(answer, _)| answer.answer == Answer::Handshake) {
        let Some(asked) = story.string(request.handshake_version) else { continue };
        if story.era(&asked) != Some(Era::Legacy) || !serves(story, &asked) {
            continue;
        }
        if !story.is_string(answer.handshake_version, &asked) {
            let evidence = [request.received.min(answer.sent), answer.sent];
            return Verdict::broken_by(answer, &evidence, "it does not echo a version that it serves");
        }
        kept = answer.sent;
    }
    Verdict::kept(kept, "no handshake at a version that the server is known to serve")
}

/// LEG-03. A refusal as in the page's example is AMB-31; a second `initialize`, or one after other messages, is AMB-18.
pub(super) fn offers_another(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for (answer, request) in story.answers().filter(|(_, request)| request.method == Method::Initialize) {
        let Some(asked) = story.string(request.handshake_version) else { continue };
        let evidence = [request.received.min(answer.sent), answer.sent];
        if answer.answer == Answer::Handshake {
            let offered = story.string(answer.handshake_version).unwrap_or_default();
            if story.era(&offered) == Some(Era::Modern) {
                return Verdict::broken_by(answer, &evidence, "it offers a version that is not legacy");
            }
            if offered != asked {
                kept = answer.sent;
            }
            continue;
        }
        let first = !story
            .from(Side::Client)
            .any(|other| other.process == request.process && other.place < request.place);
        let refuses = answer.shape == Shape::Error && answer.clean && answer.code != Some(INVALID_PARAMS);
        if refuses && first && story.server_is_legacy && is_sound(story, request) {
            let reason = "it refuses `initialize` with an error instead of an offer";
            return Verdict::broken_by(answer, &evidence, reason);
        }
    }
    Verdict::kept(kept, "no `initialize` at a version that the server does not serve")
}

/// An `initialize` in which a server finds nothing wrong but perhaps its version.
fn is_sound(story: &Story<'_>, request: &Message) -> bool {
    let member = |name| request.params.and_then(|params| story.get(params, name));
    request.clean
        // With modern keys it may be taken for a modern request (AMB-17).
        && !request.modern_keys
        && story.is(request.handshake_version, Type::String)
        && super::http::has_plain_headers(story, request)
        && member("capabilities").is_some_and(|capabilities| has_sound_members(story, capabilities))
        && member("clientInfo").is_some_and(|info| names_itself(story, info))
        // AMB-36: a version header may be refused by itself; and a session that nobody has opened is not found (LEG-21).
        && super::http::head_of(story, request).is_none_or(|(_, head)| {
            !head.has(super::http::VERSION) && !head.has(super::http::SESSION)
        })
}

/// What else it says of a capability that is no object is AMB-15.
fn has_sound_members(story: &Story<'_>, capabilities: At) -> bool {
    let known = ["elicitation", "experimental", "roots", "sampling", "tasks"];
    let mut members = known.iter().filter_map(|name| story.get(capabilities, name));
    story.kind(capabilities) == Type::Object && members.all(|member| story.kind(member) == Type::Object)
}

/// The next message of the client on the same process after it received this.
fn next_on_process<'a>(
    story: &Story<'a>,
    answer: &Message,
    wanted: impl Fn(&Message) -> bool,
) -> Option<&'a Message> {
    story
        .from(Side::Client)
        .find(|next| next.process == answer.process && next.sent > answer.received && wanted(next))
}

/// LEG-04. Asking again at another version is not going on at this one.
pub(super) fn leaves_unsupported(story: &Story<'_>) -> Verdict {
    let Some(accepts) = story.accepts() else {
        return Verdict::not_applicable("the legacy versions of the client are not known");
    };
    let mut kept = NONE;
    for (answer, _) in story.answers().filter(|(answer, _)| answer.answer == Answer::Handshake) {
        let Some(version) = story.string(answer.handshake_version) else { continue };
        if answer.received == NONE || accepts.iter().any(|own| *own == version) {
            continue;
        }
        let goes_on = next_on_process(story, answer, |next| {
            matches!(next.shape, Shape::Request) && next.method != Method::Initialize
                || next.shape == Shape::Notification && next.method == Method::Initialized
        });
        let settled = story.report(answer.received, |kind| {
            matches!(kind, Kind::Settled(Era::Legacy) | Kind::Failed | Kind::Settled(Era::Modern))
        });
        let settled = settled.filter(|(.., event)| event.kind == Kind::Settled(Era::Legacy));
        let reason = "it goes on at a version that it does not declare";
        match (goes_on, settled) {
            (Some(next), settled) if settled.is_none_or(|(seq, ..)| next.sent < seq) => {
                return Verdict::broken_by(next, &[answer.received, next.sent], reason);
            }
            (_, Some((seq, ..))) => return Verdict::broken(seq, &[answer.received, seq], reason),
            _ => kept = answer.received,
        }
    }
    Verdict::kept(kept, "no InitializeResult at a version that the client does not declare")
}

/// LEG-04b. Going on at that version is LEG-04's. Over HTTP there is no connection to end: sending nothing more is all.
pub(super) fn disconnects(story: &Story<'_>) -> Verdict {
    if story.is_http() {
        return Verdict::not_applicable("over HTTP it is enough to send nothing more");
    }
    let Some(accepts) = story.accepts() else {
        return Verdict::not_applicable("the legacy versions of the client are not known");
    };
    let mut kept = NONE;
    for (answer, _) in story.answers().filter(|(answer, _)| answer.answer == Answer::Handshake) {
        let version = story.string(answer.handshake_version).unwrap_or_default();
        if answer.received == NONE || accepts.iter().any(|own| *own == version) {
            continue;
        }
        let ended =
            story.process(answer).is_some_and(|process| process.closed.is_some() || process.gone.is_some());
        if ended || next_on_process(story, answer, |_| true).is_some() {
            kept = answer.received;
        } else if story.is_whole() {
            let (seq, _) = story.last();
            let reason = "it keeps a connection that it can use at no version";
            return Verdict::broken(seq, &[answer.received, seq], reason);
        }
    }
    Verdict::kept(kept, "no InitializeResult at a version that the client does not declare")
}

/// LEG-07. In which order, is judged where the client is known for a legacy one: by its mode, or because its probe has
/// failed by a legacy error and it goes on without modern keys.
pub(super) fn opens_with_initialize(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for message in story.from(Side::Client) {
        if message.is_call(Method::Initialize) {
            if !is_whole(story, message) {
                let reason = "`initialize` lacks version, capabilities or clientInfo";
                return Verdict::broken_by(message, &[], reason);
            }
            kept = message.sent;
            continue;
        }
        let early = matches!(message.phase, Phase::Opening | Phase::Probing)
            && matches!(message.shape, Shape::Request | Shape::Notification)
            && message.method != Method::Ping
            && !handshakes(story).any(|sent| sent.process == message.process && sent.place < message.place);
        let after_failed_probe = || {
            story.declared.mode == Mode::Auto
                && message.is_request()
                && message.method != Method::Discover
                && !message.modern_keys
                && story.answers().any(|(answer, request)| {
                    request.method == Method::Discover
                        && answer.answer == Answer::OtherError
                        && answer.received < message.sent
                })
        };
        if early && (story.is_legacy_only() || after_failed_probe()) {
            return Verdict::broken_by(message, &[], "it sends something else before `initialize`");
        }
    }
    Verdict::kept(kept, "no `initialize`")
}

/// All members are there, and version apart of the right type; the version has LEG-01.
fn is_whole(story: &Story<'_>, request: &Message) -> bool {
    let member = |name| request.params.and_then(|params| story.get(params, name));
    request.handshake_version.is_some()
        && member("capabilities").is_some_and(|capabilities| has_sound_members(story, capabilities))
        && member("clientInfo").is_some_and(|info| names_itself(story, info))
}

/// LEG-08
pub(super) fn result_members(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for (answer, request) in story.answers() {
        let Some(result) = answer.result.filter(|_| answer.shape == Shape::Result) else { continue };
        if request.method != Method::Initialize {
            continue;
        }
        let member = |name| story.get(result, name);
        let wrong = match () {
            () if !story.is(answer.handshake_version, Type::String) => "it has no string `protocolVersion`",
            () if !story.is(member("capabilities"), Type::Object) => "it has no object `capabilities`",
            () if !member("serverInfo").is_some_and(|info| names_itself(story, info)) => {
                "it has no `serverInfo` with name and version"
            }
            () if member("instructions").is_some_and(|at| story.kind(at) != Type::String) => {
                "its `instructions` are no string"
            }
            () => {
                kept = answer.sent;
                continue;
            }
        };
        return Verdict::broken_by(answer, &[], format!("the InitializeResult is not whole: {wrong}"));
    }
    Verdict::kept(kept, "no InitializeResult")
}

/// LEG-09
pub(super) fn sends_initialized(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for (answer, _) in story.answers().filter(|(answer, _)| answer.answer == Answer::Handshake) {
        if answer.received == NONE {
            continue;
        }
        let version = story.string(answer.handshake_version).unwrap_or_default();
        if story.accepts().is_some_and(|accepts| !accepts.iter().any(|own| *own == version)) {
            continue;
        }
        let next = next_on_process(story, answer, |next| {
            next.shape == Shape::Notification && next.method == Method::Initialized
                || next.is_request() && !matches!(next.method, Method::Ping | Method::Initialize)
        });
        match next {
            Some(next) if next.shape == Shape::Notification || overtakes(story, next) => kept = next.sent,
            Some(next) => {
                let reason = "it goes on without `notifications/initialized`";
                return Verdict::broken_by(next, &[answer.received, next.sent], reason);
            }
            None => {
                let settled = story.report(answer.received, |kind| kind == Kind::Settled(Era::Legacy));
                let alive = story.process(answer).is_some_and(|process| {
                    process
                        .gone
                        .is_none_or(|(gone, _)| process.closed.is_some_and(|(closed, _)| closed < gone))
                });
                let later = handshakes(story).any(|next| next.sent > answer.received);
                if settled.is_some() && alive && story.is_whole() && !later {
                    let (seq, _) = story.last();
                    let reason = "it settles and never sends `notifications/initialized`";
                    return Verdict::broken(seq, &[answer.received, seq], reason);
                }
            }
        }
    }
    Verdict::kept(kept, "no good answer to `initialize` that the client went on from")
}

/// POSTs that are on their way together arrive in any order: the notification may have been sent first.
fn overtakes(story: &Story<'_>, request: &Message) -> bool {
    const TOGETHER_US: u64 = 1_000_000;
    let initialized = story.from(Side::Client).find(|message| {
        message.sent > request.sent
            && message.shape == Shape::Notification
            && message.method == Method::Initialized
    });
    story.is_http()
        && !story.sees(Side::Client)
        && initialized.is_some_and(|message| message.sent_us <= request.sent_us.saturating_add(TOGETHER_US))
}

/// LEG-10
pub(super) fn waits_for_answer(story: &Story<'_>) -> Verdict {
    let mut kept = NONE;
    for request in story.requests() {
        let exempt = matches!(request.method, Method::Ping | Method::Initialize);
        let waits = || {
            let asked = handshakes(story).rfind(|asked| asked.place < request.place);
            asked.is_some_and(|asked| !story.is_http() || story.is_waiting(asked, request.sent))
        };
        if request.phase == Phase::Shaking && !exempt && waits() && !met_a_mark(story, request) {
            let reason = "it sends a request before `initialize` is answered";
            return Verdict::broken_by(request, &[], reason);
        }
        if request.method == Method::Initialize {
            kept = request.sent;
        }
    }
    Verdict::kept(kept, "no `initialize`")
}

/// Over HTTP a session may end and another one begin; the ids begin anew.
fn is_later_session(story: &Story<'_>, earlier: &Message, request: &Message) -> bool {
    story.is_http() && handshakes(story).any(|next| next.sent > earlier.sent && next.sent <= request.sent)
}

/// LEG-26
pub(super) fn no_id_twice(story: &Story<'_>) -> Verdict {
    let in_session = |message: &&Message| {
        message.is_request()
            && (matches!(message.phase, Phase::Shaken | Phase::Session)
                || message.from == Side::Client
                    && story.answer_of(message).is_some_and(|answer| answer.answer == Answer::Handshake))
    };
    let mut kept = NONE;
    for request in story.own().filter(in_session) {
        let earlier = story.own().filter(in_session).find(|earlier| {
            earlier.place < request.place
                && earlier.process == request.process
                && story.same(earlier.id, request.id)
                && !is_later_session(story, earlier, request)
        });
        if let Some(earlier) = earlier {
            let evidence = [earlier.sent, request.sent];
            return Verdict::broken_by(request, &evidence, "it uses an id twice in one session");
        }
        kept = request.sent;
    }
    Verdict::kept(kept, "no request in a legacy session")
}
