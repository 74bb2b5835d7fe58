//! Every check against its files: one trace that breaks the rule, at the marked event, and its nearest legal neighbour.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::support::{Script, Take, View};
use mcp_parley_oracle::{CHECKS, Judge, Severity, Verdicts, compare};
use mcp_parley_trace::Outcome;

fn file(id: &str, kind: &str) -> String {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/traces").join(format!("{id}-{kind}.txt"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn views(script: &Script) -> &'static [View] {
    match script.both_ends_only {
        Some(_) => &[View::Both],
        None => &[View::Both, View::CounterpartOnly],
    }
}

fn judged(judge: &mut Judge, script: &Script, view: View) -> (Take, Verdicts) {
    let take = script.record(view);
    let verdicts = judge.judge(&take.recording, &script.declared, script.subject, script.transport);
    (take, verdicts.clone())
}

fn broken(verdicts: &Verdicts) -> Vec<&'static str> {
    verdicts.iter().filter(|(_, verdict)| verdict.is_broken()).map(|(id, _)| id).collect()
}

fn outcomes(verdicts: &Verdicts) -> Vec<(&'static str, Outcome, &'static str)> {
    verdicts.iter().map(|(id, verdict)| (id, verdict.outcome, verdict.observed)).collect()
}

/// What is wrong with the verdict on a file that breaks a rule, or shows a contested situation.
fn complaint_of_breach(id: &str, script: &Script, take: &Take, verdicts: &Verdicts) -> Option<String> {
    let verdict = verdicts.get(id)?;
    if let Some(observed) = &script.observed {
        let seen = (verdict.outcome, verdict.observed);
        return (seen != (Outcome::Contested, observed))
            .then(|| format!("{seen:?} is not contested {observed}"));
    }
    let wanted = if id.starts_with("PROP-") { Outcome::Defect } else { Outcome::Violation };
    if verdict.outcome != wanted {
        return Some(format!("{verdict:?}; broken instead: {:?}", broken(verdicts)));
    }
    if Some(verdict.at) != take.marked || !verdict.evidence.contains(&verdict.at) {
        return Some(format!("broken at {} and not at {:?}: {verdict:?}", verdict.at, take.marked));
    }
    let name = verdicts.finding_at(Severity::Warning).map(|finding| finding.id);
    let expected = script.finding.as_deref().unwrap_or(id);
    (name != Some(expected))
        .then(|| format!("the finding is {name:?} and not {expected}; broken: {:?}", broken(verdicts)))
}

#[test]
fn each_check_is_broken_by_its_file_and_kept_by_the_neighbour() {
    let mut complaints = String::new();
    let mut judge = Judge::new();
    for check in CHECKS.iter().filter(|check| check.id != "PROP-SAME") {
        let breach = if check.id.starts_with("AMB-") { "contested" } else { "violation" };
        for kind in [breach, "neighbour"] {
            let script = Script::parse(&file(check.id, kind));
            let mut seen: Option<Vec<_>> = None;
            for view in views(&script) {
                let (take, verdicts) = judged(&mut judge, &script, *view);
                let complaint = match kind {
                    kind if kind == breach => complaint_of_breach(check.id, &script, &take, &verdicts),
                    _ if !broken(&verdicts).is_empty() => Some(format!("broken: {:?}", broken(&verdicts))),
                    _ => {
                        let verdict = verdicts.get(check.id).expect("a verdict for each check");
                        let kept = matches!(verdict.outcome, Outcome::Pass | Outcome::NotApplicable);
                        (!kept).then(|| format!("{verdict:?}"))
                    }
                };
                if let Some(complaint) = complaint {
                    writeln!(complaints, "{}-{kind} {view:?}: {complaint}", check.id)
                        .expect("a string takes all");
                }
                let outcomes = outcomes(&verdicts);
                if let Some(other) = seen.replace(outcomes.clone()) {
                    let differing: Vec<_> = other.iter().zip(&outcomes).filter(|(a, b)| a != b).collect();
                    if !differing.is_empty() {
                        writeln!(complaints, "{}-{kind}: the views differ: {differing:?}", check.id)
                            .expect("as above");
                    }
                }
            }
        }
    }
    assert!(complaints.is_empty(), "{complaints}");
}

#[test]
fn a_metamorphic_pair_is_compared_by_meaning() {
    for (kind, expected) in [("violation", Outcome::Defect), ("neighbour", Outcome::Pass)] {
        let text = file("PROP-SAME", kind);
        let (one, two) = text.split_once("=====\n").expect("two runs");
        let (one, two) = (Script::parse(one), Script::parse(two));
        for view in views(&one) {
            let (a, b) = (one.record(*view), two.record(*view));
            let verdict = compare(&a.recording, &b.recording, &one.declared, one.subject);
            assert_eq!(verdict.outcome, expected, "{verdict:?}");
            assert_eq!(Some(verdict.at).filter(|_| verdict.is_broken()), b.marked);
        }
    }
}

#[test]
fn every_file_belongs_to_a_check() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/traces");
    for entry in std::fs::read_dir(folder).expect("the folder of traces") {
        let name = entry.expect("an entry").file_name().into_string().expect("a plain name");
        let (id, _) = name.rsplit_once('-').expect("an id and a kind");
        assert!(CHECKS.iter().any(|check| check.id == id), "{name} belongs to no check");
    }
}
