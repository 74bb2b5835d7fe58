//! What the judge says: one verdict a check, the rulings for a file, and the one finding of a run.

use std::borrow::Cow;

use arrayvec::ArrayVec;
use mcp_parley_trace::{Outcome, Ruling, Subject, Transport};

use crate::catalogue::{self, Severity};
use crate::checks::{CHECKS, Check};
use crate::story::{Message, NONE};

/// At most this many events are named as evidence.
pub const EVIDENCE: usize = 8;

/// What one check says of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Kept, broken, open, or not shown.
    pub outcome: Outcome,
    /// For a violation or a defect: the number of the event that broke it.
    pub at: u32,
    /// Numbers of the events that show it, in order.
    pub evidence: ArrayVec<u32, EVIDENCE>,
    /// Why, in one sentence; empty where the requirement's text says enough.
    pub reason: Cow<'static, str>,
    /// For a contested row: which of the allowed outcomes was seen.
    pub observed: &'static str,
    /// The place of the message that broke it, if it was a message.
    pub(crate) place: u32,
}

impl Verdict {
    fn new(outcome: Outcome, at: u32, evidence: &[u32], reason: Cow<'static, str>) -> Self {
        let mut kept = ArrayVec::new();
        // What does not fit is left out.
        let _ = kept.try_extend_from_slice(evidence.get(..EVIDENCE).unwrap_or(evidence));
        if evidence.len() > 1 {
            kept.sort_unstable();
        }
        Self { outcome, at, evidence: kept, reason, observed: "", place: NONE }
    }

    pub(crate) fn pass(evidence: &[u32]) -> Self {
        Self::new(Outcome::Pass, 0, evidence, Cow::Borrowed(""))
    }

    /// Broken by the event `at`; a property's check makes a defect of it in [`crate::Judge::judge`].
    pub(crate) fn broken(at: u32, evidence: &[u32], reason: impl Into<Cow<'static, str>>) -> Self {
        let mut this = Self::new(Outcome::Violation, at, evidence, reason.into());
        if !this.evidence.contains(&at) && !this.evidence.is_full() {
            this.evidence.push(at);
            this.evidence.sort_unstable();
        }
        this
    }

    /// Broken by this message.
    pub(crate) fn broken_by(
        message: &Message,
        evidence: &[u32],
        reason: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { place: message.place, ..Self::broken(message.sent, evidence, reason) }
    }

    /// Kept by what `seq` shows, or not applicable if there was nothing.
    pub(crate) fn kept(seq: u32, otherwise: &'static str) -> Self {
        if seq == NONE { Self::not_applicable(otherwise) } else { Self::pass(&[seq]) }
    }

    pub(crate) fn contested(observed: &'static str, evidence: &[u32]) -> Self {
        Self { observed, ..Self::new(Outcome::Contested, 0, evidence, Cow::Borrowed("")) }
    }

    pub(crate) fn incomplete(why: &'static str) -> Self {
        Self::new(Outcome::Incomplete, 0, &[], Cow::Borrowed(why))
    }

    pub(crate) fn not_applicable(why: &'static str) -> Self {
        Self {
            outcome: Outcome::NotApplicable,
            at: 0,
            evidence: ArrayVec::new_const(),
            reason: Cow::Borrowed(why),
            observed: "",
            place: NONE,
        }
    }

    /// True for a violation or a defect.
    pub fn is_broken(&self) -> bool {
        matches!(self.outcome, Outcome::Violation | Outcome::Defect)
    }
}

/// What was going on at the event that broke something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offence {
    /// The check's place in [`CHECKS`].
    pub(crate) check: usize,
    pub(crate) message_kind: Cow<'static, str>,
    pub(crate) state: &'static str,
}

/// All verdicts of one run.
#[derive(Clone, Debug)]
pub struct Verdicts {
    pub(crate) subject: Subject,
    /// For which runs `list` says why the checks that are not made do not apply.
    pub(crate) begun: Option<(Subject, Transport)>,
    /// In the order of [`CHECKS`].
    pub(crate) list: Vec<Verdict>,
    pub(crate) offences: Vec<Offence>,
}

/// The one thing to say of a run: the first that broke, and what broke with it or after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The requirement or property.
    pub id: &'static str,
    /// Who broke it.
    pub subject: Subject,
    /// The highest severity of what broke at the same event.
    pub severity: Severity,
    /// [`Outcome::Violation`] or [`Outcome::Defect`].
    pub outcome: Outcome,
    /// The number of the event that broke it.
    pub seq: u32,
    /// The kind of the message that broke it, such as "initialize request", or of the event if it is no message.
    pub message_kind: Cow<'static, str>,
    /// What the subject was doing then, such as "after modern evidence".
    pub state: &'static str,
    /// Why, in one sentence.
    pub reason: Cow<'static, str>,
    /// Numbers of the events that show it, in order.
    pub evidence: ArrayVec<u32, EVIDENCE>,
    /// What else broke, in order.
    pub follows: Vec<&'static str>,
}

impl Default for Verdicts {
    fn default() -> Self {
        Self { subject: Subject::Client, begun: None, list: Vec::new(), offences: Vec::new() }
    }
}

impl Verdicts {
    /// No check applies so far, for these reasons.
    pub(crate) fn begin(
        &mut self,
        subject: Subject,
        transport: Transport,
        why: impl Fn(&Check) -> &'static str,
    ) {
        self.subject = subject;
        self.begun = Some((subject, transport)).filter(|_| subject != Subject::Proxy);
        self.list.clear();
        self.list.extend(CHECKS.iter().map(|check| Verdict::not_applicable(why(check))));
    }

    /// Each check's id and verdict, in the order of the checks, those not applicable included.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Verdict)> {
        CHECKS.iter().map(|check| check.id).zip(&self.list)
    }

    /// The verdict of one check.
    pub fn get(&self, id: &str) -> Option<&Verdict> {
        self.iter().find(|(name, _)| *name == id).map(|(_, verdict)| verdict)
    }

    /// How many checks applied.
    pub fn applied(&self) -> usize {
        self.list.iter().filter(|verdict| verdict.outcome != Outcome::NotApplicable).count()
    }

    /// What stands in a trace file: catalogue order, those not applicable left out.
    pub fn rulings(&self) -> Vec<Ruling> {
        catalogue::ids()
            .filter_map(|id| self.get(id).map(|verdict| (id, verdict)))
            .filter(|(_, verdict)| verdict.outcome != Outcome::NotApplicable)
            .map(|(id, verdict)| Ruling {
                id: id.to_owned(),
                outcome: verdict.outcome,
                evidence: verdict.evidence.to_vec(),
                reason: match verdict.outcome {
                    Outcome::Contested => verdict.observed.to_owned(),
                    _ => verdict.reason.clone().into_owned(),
                },
                allowed: catalogue::contested_row(id).map(|row| row.allowed.clone()).unwrap_or_default(),
            })
            .collect()
    }

    /// The finding at severity *error*, which is what fails a run by default. See [`Verdicts::finding_at`].
    pub fn finding(&self) -> Option<Finding> {
        self.finding_at(Severity::Error)
    }

    /// The earliest event that broke something of at least this severity. Of all that broke at that event, whatever
    /// its severity, the first in the order of the checks gives the finding its name: a specific row comes before the
    /// general one that says the same, and that one may well have the stronger keyword.
    pub fn finding_at(&self, fail_on: Severity) -> Option<Finding> {
        let severities = check_severities();
        let weight = |offence: &Offence| severities.get(offence.check).copied().unwrap_or(Severity::Note);
        let place = |offence: &Offence| self.list.get(offence.check).map_or(u32::MAX, |verdict| verdict.at);
        let seq = self.offences.iter().filter(|offence| weight(offence) >= fail_on).map(place).min()?;
        let mut ordered: Vec<&Offence> = self.offences.iter().filter(|o| place(o) >= seq).collect();
        ordered.sort_by_key(|offence| (place(offence), offence.check));
        let (first, rest) = ordered.split_first()?;
        let verdict = self.list.get(first.check)?;
        Some(Finding {
            id: CHECKS.get(first.check)?.id,
            subject: self.subject,
            severity: ordered
                .iter()
                .filter(|o| place(o) == seq)
                .map(|o| weight(o))
                .max()
                .unwrap_or(Severity::Note),
            outcome: verdict.outcome,
            seq,
            message_kind: first.message_kind.clone(),
            state: first.state,
            reason: verdict.reason.clone(),
            evidence: verdict.evidence.clone(),
            follows: rest.iter().filter_map(|offence| CHECKS.get(offence.check)).map(|c| c.id).collect(),
        })
    }
}

/// The severity of each check, in the order of [`CHECKS`].
fn check_severities() -> &'static [Severity] {
    static SEVERITIES: std::sync::OnceLock<Vec<Severity>> = std::sync::OnceLock::new();
    SEVERITIES.get_or_init(|| CHECKS.iter().map(|check| catalogue::severity(check.id)).collect())
}
