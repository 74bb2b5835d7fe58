//! `peers/VERDICTS.md` speaks of exactly what `peers/RESULTS.md` shows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// For each id, for each client, the personas.
type Shown = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

fn read(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(name)).unwrap()
}

/// What stands in a column of the tables: 3 for violations, 4 for warnings.
fn in_results(column: usize) -> Shown {
    let text = read("RESULTS.md");
    let mut shown = Shown::new();
    let mut client = String::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            client = heading.split(' ').next().unwrap().to_owned();
        }
        // A bar that is part of a cell is escaped; no id and no name of a persona has one.
        let cells: Vec<&str> = line.split(" | ").map(|cell| cell.trim_matches(['|', ' '])).collect();
        if !line.starts_with("| ") || cells[0] == "persona" {
            continue;
        }
        let ids = cells[cells.len() - 5 + column - 1];
        for id in ids.split(", ").filter(|id| *id != "–") {
            let clients = shown.entry(id.to_owned()).or_default();
            clients.entry(client.clone()).or_default().insert(cells[0].to_owned());
        }
    }
    shown
}

/// The headings below a part of the page, and below each the lines that name a client and its personas.
fn in_verdicts(part: &str) -> Shown {
    let text = read("VERDICTS.md");
    let mut shown = Shown::new();
    let mut inside = false;
    let mut id = String::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            inside = heading == part;
        } else if let Some(heading) = line.strip_prefix("### ").filter(|_| inside) {
            id = heading.to_owned();
            assert!(shown.insert(id.clone(), BTreeMap::new()).is_none(), "{id} has two headings");
        } else if let Some((client, names)) = line.strip_prefix("- ").and_then(|line| line.split_once(": "))
            && inside
            && ["typescript", "python"].contains(&client)
        {
            let names = names.split(", ").map(str::to_owned).collect();
            shown.get_mut(&id).unwrap().insert(client.to_owned(), names);
        }
    }
    shown
}

#[test]
fn every_violation_of_the_results_has_a_verdict_with_its_clients_and_personas_and_no_other_has_one() {
    let shown = in_results(3);
    assert!(shown.len() > 3, "the tables were not read: {shown:?}");
    assert_eq!(in_verdicts("Violations"), shown);
}

#[test]
fn every_warning_of_the_results_has_a_verdict_and_no_other_has_one() {
    let shown = in_results(4);
    assert!(!shown.is_empty(), "the tables were not read");
    assert!(in_verdicts("Warnings").keys().eq(shown.keys()), "{:?}", shown.keys());
}
