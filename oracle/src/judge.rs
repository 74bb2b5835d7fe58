//! Runs every check over a run, with memory that is kept from run to run.

use std::borrow::Cow;

use mcp_parley_trace::{Declared, Kind, Outcome, Recording, Subject, Transport};

use crate::catalogue::{self, Role};
use crate::checks::{CHECKS, Check};
use crate::story::{Answer, Buffers, Exchange, Message, NONE, Phase, Shape, Side, Story, What};
use crate::verdict::{Offence, Verdict, Verdicts};

/// A judge and its memory. One a thread; it keeps nothing of a run but the verdicts of the last one.
#[derive(Debug, Default)]
pub struct Judge {
    told: Buffers,
    verdicts: Verdicts,
}

impl Judge {
    /// A judge.
    pub fn new() -> Self {
        Self::default()
    }

    /// Judges one run. Only the subject is judged; what its counterpart did is the condition. Of a proxy nothing is judged
    /// yet: every verdict is *not applicable* and says so.
    pub fn judge(
        &mut self,
        recording: &Recording,
        declared: &Declared,
        subject: Subject,
        transport: Transport,
    ) -> &Verdicts {
        let verdicts = &mut self.verdicts;
        verdicts.offences.clear();
        if subject == Subject::Proxy {
            verdicts.begin(subject, transport, |_| "a proxy is not judged yet");
            return verdicts;
        }
        // What binds the other side, or holds over the other transport, is the same in every run with this subject.
        if verdicts.begun != Some((subject, transport)) {
            let why =
                |check: &Check| if binds(check.subject, subject) { OTHER_TRANSPORT } else { OTHER_SIDE };
            verdicts.begin(subject, transport, why);
        }
        self.told.fill(recording, transport);
        let story = Story::new(recording, declared, subject, &self.told);
        let holds = check_transports();
        let own = |((_, check), holds): &((usize, &Check), &Transports)| {
            binds(check.subject, subject) && holds.over(transport)
        };
        for ((place, check), _) in CHECKS.iter().enumerate().zip(holds).filter(own) {
            let verdict = if story.facts.has_any(check.about) {
                run(check, &story)
            } else {
                debug_assert_eq!((check.run)(&story).outcome, Outcome::NotApplicable, "{}", check.id);
                Verdict::not_applicable(NOTHING)
            };
            let Some(slot) = verdicts.list.get_mut(place) else { continue };
            if verdict.outcome == Outcome::NotApplicable && slot.outcome == Outcome::NotApplicable {
                // Most are, run after run, and differ in nothing else.
                slot.reason = verdict.reason;
                continue;
            }
            if verdict.is_broken() {
                verdicts.offences.push(offence(&story, place, &verdict));
            }
            *slot = verdict;
        }
        verdicts
    }

    /// The verdicts of the last run judged.
    pub fn verdicts(&self) -> &Verdicts {
        &self.verdicts
    }
}

const OTHER_SIDE: &str = "it binds the other side";
const OTHER_TRANSPORT: &str = "it is about another transport";
const NOTHING: &str = "the run has nothing that it is about";

/// Over which transports a check's row holds.
#[derive(Clone, Copy)]
struct Transports {
    stdio: bool,
    http: bool,
}

impl Transports {
    fn over(self, transport: Transport) -> bool {
        match transport {
            Transport::Stdio => self.stdio,
            Transport::Http => self.http,
        }
    }
}

/// The transports of each check, in the order of [`CHECKS`]. A property holds over both, but that of the standard streams.
fn check_transports() -> &'static [Transports] {
    static TRANSPORTS: std::sync::OnceLock<Vec<Transports>> = std::sync::OnceLock::new();
    let of = |check: &Check| {
        let row = catalogue::requirement(check.id).map(|row| &row.transports);
        let row = row.or_else(|| catalogue::contested_row(check.id).map(|row| &row.transports));
        let has =
            |one| row.map_or(one == Transport::Stdio || check.id != "PROP-STDOUT", |all| all.contains(&one));
        Transports { stdio: has(Transport::Stdio), http: has(Transport::Http) }
    };
    TRANSPORTS.get_or_init(|| CHECKS.iter().map(of).collect())
}

fn binds(role: Role, subject: Subject) -> bool {
    match role {
        Role::Both => true,
        Role::Client => subject == Subject::Client,
        Role::Server => subject == Subject::Server,
        Role::Proxy => subject == Subject::Proxy,
    }
}

fn run(check: &Check, story: &Story<'_>) -> Verdict {
    let mut verdict = (check.run)(story);
    if verdict.is_broken() && verdict.at > story.judged_until() {
        return Verdict::incomplete("the run has more messages than are judged");
    }
    if verdict.outcome == Outcome::Violation && check.id.starts_with("PROP-") {
        verdict.outcome = Outcome::Defect;
    }
    verdict
}

fn offence(story: &Story<'_>, check: usize, verdict: &Verdict) -> Offence {
    let message = story.message(verdict.place);
    let last = || story.own().take_while(|own| own.sent <= verdict.at).last();
    Offence {
        check,
        message_kind: message
            .map_or_else(|| Cow::Borrowed(event_kind(story, verdict.at)), |own| message_kind(story, own)),
        state: message.or_else(last).map_or("before its first message", |own| state(story, own)),
    }
}

fn message_kind(story: &Story<'_>, message: &Message) -> Cow<'static, str> {
    let method = message.method.name();
    let about = || story.request_of(message).map_or("an unknown request", |request| request.method.name());
    match message.shape {
        Shape::Request => Cow::Owned(format!("{method} request")),
        Shape::Notification => Cow::Owned(format!("{method} notification")),
        Shape::Result | Shape::Both => Cow::Owned(format!("result of {}", about())),
        Shape::Error => Cow::Owned(format!("error in answer to {}", about())),
        Shape::Blank => Cow::Borrowed("blank line"),
        Shape::Batch => Cow::Borrowed("batch"),
        Shape::NotJson | Shape::Unfinished => Cow::Borrowed("line that is no JSON"),
        Shape::NotMessage | Shape::Neither => Cow::Borrowed("JSON that is no message"),
        Shape::Text => Cow::Borrowed("body that is no message"),
        Shape::Partial | Shape::Unread => Cow::Borrowed("unread line"),
    }
}

fn event_kind(story: &Story<'_>, seq: u32) -> &'static str {
    let kind = story.moments().iter().find_map(|moment| match moment.what {
        What::Life(event) if moment.seq == seq => Some(event.kind),
        _ => None,
    });
    if let Some(what) = story.exchanges().find_map(|exchange| exchange_part(exchange, seq)) {
        return what;
    }
    match kind {
        Some(Kind::Settled(_)) => "report of settling",
        Some(Kind::Failed) => "report of failure",
        Some(Kind::Downgraded) => "report of stepping down",
        Some(Kind::Called(_)) => "report of a call",
        Some(Kind::Exit(_)) => "exit",
        Some(Kind::Signal(_)) => "signal",
        Some(Kind::Close | Kind::Eof) => "end of a stream",
        Some(Kind::Reset) => "reset of a connection",
        Some(Kind::Stuck) => "standstill",
        Some(Kind::End(_)) => "end of the run",
        _ => "event",
    }
}

fn exchange_part(exchange: &Exchange, seq: u32) -> Option<&'static str> {
    match seq {
        _ if exchange.request_head == seq || exchange.asked == seq => Some("HTTP request"),
        _ if exchange.answer_head == seq || exchange.answered == seq => Some("HTTP answer"),
        _ => None,
    }
}

fn state(story: &Story<'_>, message: &Message) -> &'static str {
    if message.from == Side::Server {
        return match message.phase {
            Phase::Opening | Phase::Probing => "before it has shown an era",
            Phase::Modern => "in the modern era",
            Phase::Shaking | Phase::Shaken => "during the handshake",
            Phase::Session => "in a legacy session",
        };
    }
    let evidence = story.message(message.evidence).map(|answer| answer.answer);
    match (message.phase, evidence) {
        (Phase::Shaking, _) => "during the handshake",
        (Phase::Shaken, _) => "after the answer to initialize",
        (Phase::Session, _) => "in a legacy session",
        (_, Some(Answer::Discovered)) => "after a DiscoverResult",
        (_, Some(Answer::Unsupported)) => "after -32022",
        (_, Some(Answer::ModernError)) => "after another modern error",
        (Phase::Modern, _) => "in the modern era",
        (Phase::Probing, _) => "with its probe open",
        (Phase::Opening, _) if message.place == 0 || message.place == NONE => "at its first message",
        (Phase::Opening, _) => "before the era was decided",
    }
}
