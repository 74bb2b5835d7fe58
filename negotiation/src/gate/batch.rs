//! Batches: whoever agreed on 2025-03-26 must take them, in no other revision are they legal (LEG-13, BASE-19).

use super::{Gate, readable};
use crate::codes;
use crate::envelope::{Id, Message};
use crate::json::{self, Kind, Raw};

/// The only revision that has batches.
const REVISION: &str = "2025-03-26";

impl Gate {
    /// The batch in this message, if the session may have one and this one is not refused as a whole.
    pub fn batch<'a>(&mut self, message: &'a [u8]) -> Option<Raw<'a>> {
        let session = self.session.and_then(|place| self.policy().legacy.get(place));
        session.filter(|version| version.as_str() == REVISION)?;
        let batch = json::check(message, &self.limits, &mut self.issues)?;
        let most = self.limits.batch;
        let count = batch.elements().take(most.saturating_add(1)).count();
        (batch.kind() == Kind::Array && (1..=most).contains(&count)).then_some(batch)
    }

    /// Each member is answered by a message of its own.
    pub(super) fn on_batch(&mut self, message: &[u8]) {
        match self.batch(message) {
            Some(batch) => batch.elements().for_each(|member| self.on_member(member.text().as_bytes())),
            None => self.refuse_broken(&Id::Absent, codes::INVALID_REQUEST),
        }
    }

    pub(super) fn on_member(&mut self, text: &[u8]) {
        match self.read(text) {
            // LEG-14.
            Message::Request(request) if request.method.eq_str("initialize") => {
                self.refuse_broken(&readable(request.id), codes::INVALID_REQUEST);
            }
            read => self.on_read(text, &read),
        }
    }
}
