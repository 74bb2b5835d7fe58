//! "Did you mean": the known name that is nearest to a mistyped one.

/// ` — did you mean NAME?`, or nothing if no name is near. What stands before a colon is not compared.
pub(crate) fn did_you_mean(typed: &str, known: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let bare = |name: &str| name.rsplit(':').next().unwrap_or_default().to_lowercase();
    let typed = bare(typed);
    let far = 1 + typed.chars().count() / 4;
    let nearest = known
        .into_iter()
        .map(|name| (strsim::osa_distance(&typed, &bare(name.as_ref())), name))
        .min_by_key(|(distance, _)| *distance);
    match nearest {
        Some((distance, name)) if distance <= far => format!(" — did you mean {}?", name.as_ref()),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_near_and_another_word_is_not() {
        let near =
            |typed| did_you_mean(typed, ["late-discover", "mutant:reuses-probe-id", "ERA-04", "ERA-14"]);
        assert_eq!(near("late-discovery"), " — did you mean late-discover?");
        assert_eq!(near("persona:late-dicsover"), " — did you mean late-discover?");
        assert_eq!(near("reuses-probe-id"), " — did you mean mutant:reuses-probe-id?");
        assert_eq!(near("era-04"), " — did you mean ERA-04?");
        assert_eq!(near("ERA-4"), " — did you mean ERA-04?");
        assert_eq!((near("nobody"), near("")), (String::new(), String::new()));
    }
}
