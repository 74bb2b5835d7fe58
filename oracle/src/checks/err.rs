//! ERR: which codes a modern server may send.

use super::base::is_of_modern_era;
use crate::known::is_modern_code;
use crate::story::{NONE, Side, Story};
use crate::verdict::Verdict;

/// ERR-03
pub(super) fn no_undefined_code(story: &Story<'_>) -> Verdict {
    codes(story, "the specification reserves this code and does not define it", |code| {
        (-32099..=-32020).contains(&code) && !is_modern_code(code)
    })
}

/// ERR-04
pub(super) fn no_old_code(story: &Story<'_>) -> Verdict {
    codes(story, "the code belongs to earlier revisions", |code| matches!(code, -32002 | -32042))
}

fn codes(story: &Story<'_>, reason: &'static str, is_wrong: impl Fn(i64) -> bool) -> Verdict {
    let mut kept = NONE;
    for response in story.from(Side::Server).filter(|response| is_of_modern_era(story, response)) {
        match response.code {
            Some(code) if is_wrong(code) => return Verdict::broken_by(response, &[], reason),
            Some(_) => kept = response.sent,
            None => {}
        }
    }
    Verdict::kept(kept, "no error of the modern era")
}
