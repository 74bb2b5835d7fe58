//! The catalogues: readable, whole, consistent, and known to every check.

use std::collections::BTreeSet;

use mcp_parley_oracle::{
    CHECKS, Level, Role, Severity, contested, contested_row, properties, requirement, requirements, severity,
    validate,
};

#[test]
fn the_files_are_of_the_expected_form() {
    validate().unwrap_or_else(|error| panic!("{error}"));
    assert!(requirements().len() > 200, "{} requirements", requirements().len());
    assert_eq!(properties().len(), 9);
    assert_eq!(contested().len(), 41);
}

#[test]
fn every_id_is_there_once() {
    let mut seen = BTreeSet::new();
    let ids = requirements().iter().map(|row| &row.id);
    for id in ids.chain(properties().iter().map(|row| &row.id)).chain(contested().iter().map(|row| &row.id)) {
        assert!(seen.insert(id.clone()), "{id} is there twice");
    }
}

#[test]
fn every_row_says_what_it_is() {
    for row in requirements() {
        assert!(!row.text.is_empty() && !row.sources.is_empty() && !row.transports.is_empty(), "{}", row.id);
        assert_eq!(row.revision, "2026-07-28", "{}", row.id);
        assert!(
            !row.binding || row.level == Level::Prose,
            "{}: only prose needs to be marked binding",
            row.id
        );
    }
    for row in contested() {
        assert_eq!(row.outcomes.keys().collect::<BTreeSet<_>>(), row.allowed.iter().collect(), "{}", row.id);
        assert!(!row.roles.is_empty() && !row.title.is_empty(), "{}", row.id);
        let passages: BTreeSet<_> =
            row.readings.iter().map(|reading| (&reading.page, &reading.lines)).collect();
        assert!(passages.len() >= 2, "{} needs two readings", row.id);
        assert!(
            row.readings.iter().all(|reading| !reading.section.is_empty() && !reading.says.is_empty()),
            "{}",
            row.id
        );
    }
}

#[test]
fn at_most_a_quarter_is_excluded() {
    let excluded = requirements().iter().filter(|row| row.excluded.is_some()).count();
    assert!(excluded * 4 <= requirements().len(), "{excluded} of {}", requirements().len());
}

#[test]
fn every_check_has_its_row() {
    let mut seen = BTreeSet::new();
    for check in CHECKS {
        assert!(seen.insert(check.id), "{} is checked twice", check.id);
        if let Some(row) = requirement(check.id) {
            assert!(row.excluded.is_none(), "{} is excluded and checked", check.id);
            assert!(row.role == Role::Both || row.role == check.subject, "{}: the other side", check.id);
        } else {
            let known =
                contested_row(check.id).is_some() || properties().iter().any(|row| row.id == check.id);
            assert!(known, "{} is in no catalogue", check.id);
        }
    }
    for property in properties() {
        assert!(seen.contains(property.id.as_str()), "{} has no check", property.id);
    }
}

#[test]
fn severity_follows_the_level() {
    assert_eq!(severity("NEG-01"), Severity::Error, "MUST");
    assert_eq!(severity("ERA-06"), Severity::Error, "MUST NOT");
    assert_eq!(severity("NEG-06"), Severity::Error, "schema");
    assert_eq!(severity("ERA-04"), Severity::Error, "binding");
    assert_eq!(severity("PROP-ID"), Severity::Error, "a property");
    assert_eq!(severity("ERA-09"), Severity::Warning, "SHOULD");
    assert_eq!(severity("ERA-22"), Severity::Warning, "other prose");
    assert_eq!(severity("ERA-01"), Severity::Note, "MAY");
    assert_eq!(severity("AMB-05"), Severity::Note, "contested");
}
