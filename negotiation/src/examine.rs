//! What every reader of a message does: pick known members, demand types, and note what is wrong by value, not by offset.

use crate::issue::{IssueId, IssueSink};
use crate::json::{self, Kind, Odd, Raw, RawStr};

/// A message and what is wrong with it.
pub(crate) struct Examiner<'s> {
    base: &'s [u8],
    issues: &'s mut IssueSink,
}

impl<'s> Examiner<'s> {
    /// `base` is the message that every value is a slice of.
    pub(crate) fn new(base: &'s [u8], issues: &'s mut IssueSink) -> Self {
        Self { base, issues }
    }

    pub(crate) fn issue(&mut self, id: IssueId, at: Raw<'_>) {
        self.issues.push(id, at.offset_in(self.base));
    }

    /// At the quote before a key.
    pub(crate) fn issue_at_key(&mut self, id: IssueId, key: RawStr<'_>) {
        self.issues.push(id, key.offset_in(self.base).saturating_sub(1));
    }

    /// At the start of the message's value.
    pub(crate) fn issue_at_message(&mut self, id: IssueId) {
        self.issues.push(id, json::start_of_value(self.base));
    }

    /// The members of these names, in one pass; a name that comes twice is an issue.
    pub(crate) fn pick<'a, const N: usize>(
        &mut self,
        object: Raw<'a>,
        names: [&str; N],
    ) -> [Option<Raw<'a>>; N] {
        self.pick_from(object.members(), names)
    }

    /// The same, of members that are known already.
    pub(crate) fn pick_from<'a, const N: usize>(
        &mut self,
        members: impl Iterator<Item = (RawStr<'a>, Raw<'a>)>,
        names: [&str; N],
    ) -> [Option<Raw<'a>>; N] {
        json::pick(members, names, |key, odd| {
            if odd == Odd::Duplicate {
                self.issue_at_key(IssueId::DuplicateKey, key);
            }
        })
    }

    /// The member itself; if there is none, the object has an issue.
    pub(crate) fn required<'a>(
        &mut self,
        member: Option<Raw<'a>>,
        object: Raw<'_>,
        missing: IssueId,
    ) -> Option<Raw<'a>> {
        if member.is_none() {
            self.issue(missing, object);
        }
        member
    }

    /// The value itself, if it is of this type; a value of another type is an issue, none is not.
    pub(crate) fn of_kind<'a>(
        &mut self,
        value: Option<Raw<'a>>,
        kind: Kind,
        wrong: IssueId,
    ) -> Option<Raw<'a>> {
        self.checked(value, |value| value.kind() == kind, wrong)
    }

    /// The value itself, if it is right; a wrong value is an issue, none is not.
    pub(crate) fn checked<'a>(
        &mut self,
        value: Option<Raw<'a>>,
        right: impl Fn(Raw<'a>) -> bool,
        wrong: IssueId,
    ) -> Option<Raw<'a>> {
        let value = value?;
        if right(value) {
            return Some(value);
        }
        self.issue(wrong, value);
        None
    }
}
