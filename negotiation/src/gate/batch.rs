//! Batches: whoever agreed on 2025-03-26 must take them, in no other revision are they legal (LEG-13, BASE-19).

use super::{Gate, readable};
use crate::codes;
use crate::envelope::{Id, Message};
use crate::json;

/// The only revision that has batches.
const REVISION: &str = "2025-03-26";

impl Gate {
    /// Each member is answered by a message of its own.
    pub(super) fn on_batch(&mut self, message: &[u8]) {
        let session = self.session.and_then(|place| self.policy().legacy.get(place));
        let legal = session.is_some_and(|version| version.as_str() == REVISION);
        let most = self.limits.batch;
        let batch = json::check(message, &self.limits, &mut self.issues)
            .filter(|_| legal)
            .filter(|batch| (1..=most).contains(&batch.elements().take(most.saturating_add(1)).count()));
        let Some(batch) = batch else { return self.refuse_broken(&Id::Absent, codes::INVALID_REQUEST) };
        for member in batch.elements() {
            let text = member.text().as_bytes();
            match self.read(text) {
                // LEG-14.
                Message::Request(request) if request.method.eq_str("initialize") => {
                    self.refuse_broken(&readable(request.id), codes::INVALID_REQUEST);
                }
                read => self.on_read(text, &read),
            }
        }
    }
}
