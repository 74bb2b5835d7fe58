//! CACHE: the hints of a complete DiscoverResult.

use super::disc::discoveries;
use crate::json::{At, Type};
use crate::story::{NONE, Story};
use crate::verdict::Verdict;

fn hints(
    story: &Story<'_>,
    reason: &'static str,
    keeps: impl Fn(&Story<'_>, Option<At>, Option<At>) -> bool,
) -> Verdict {
    let mut kept = NONE;
    for (answer, _) in discoveries(story) {
        let complete = answer.result_type.is_none() || story.is_string(answer.result_type, "complete");
        let Some(result) = answer.result.filter(|_| complete) else { continue };
        if !keeps(story, story.get(result, "ttlMs"), story.get(result, "cacheScope")) {
            return Verdict::broken_by(answer, &[], reason);
        }
        kept = answer.sent;
    }
    Verdict::kept(kept, "no complete DiscoverResult")
}

/// CACHE-01
pub(super) fn has_hints(story: &Story<'_>) -> Verdict {
    hints(story, "the DiscoverResult lacks `ttlMs` or `cacheScope`", |_, ttl, scope| {
        ttl.is_some() && scope.is_some()
    })
}

/// CACHE-02
pub(super) fn not_negative(story: &Story<'_>) -> Verdict {
    hints(story, "`ttlMs` is no number of 0 or more", |story, ttl, _| {
        let (tree, text) = story.tree();
        ttl.is_none_or(|at| tree.number(text, at).is_some_and(|number| !number.negative))
    })
}

/// CACHE-02b
pub(super) fn is_integer(story: &Story<'_>) -> Verdict {
    hints(story, "`ttlMs` is no integer", |story, ttl, _| {
        let (tree, text) = story.tree();
        ttl.is_none_or(|at| tree.number(text, at).is_some_and(|number| number.is_integer()))
    })
}

/// CACHE-03
pub(super) fn known_scope(story: &Story<'_>) -> Verdict {
    hints(story, "`cacheScope` is neither \"public\" nor \"private\"", |story, _, scope| {
        scope.is_none_or(|at| {
            story.kind(at) == Type::String
                && (story.is_string(scope, "public") || story.is_string(scope, "private"))
        })
    })
}
