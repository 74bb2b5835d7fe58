//! `docs/personas.md`: every block is a persona, and every key of the schema stands in a table and in a block.

use std::collections::BTreeSet;
use std::path::Path;

use mcp_parley_mock_servers::{Draft, Played, load, personas};

use crate::page::Page;

const HEAD: &str = "schema = 1\nid = \"t\"\ntitle = \"t\"\nsource = []\nprofile = \"dual\"\n";

fn page() -> Page {
    Page::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/personas.md"))
}

/// What stands behind a head, as a file of its own.
fn loaded(text: &str) -> Result<Draft, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.toml");
    let head = if text.starts_with("schema") { "" } else { HEAD };
    std::fs::write(&path, format!("{head}{text}")).unwrap();
    load(&path).map_err(|error| error.to_string())
}

fn blocks(page: &Page) -> Vec<(usize, String)> {
    let is_toml = |tag: &str| tag == "toml";
    let toml = page.blocks.iter().filter(|block| is_toml(&block.tag));
    toml.map(|block| (block.line, block.lines.join("\n"))).collect()
}

#[test]
fn every_block_is_a_persona_that_can_be_played() {
    let page = page();
    assert!(blocks(&page).len() > 6);
    for (line, text) in blocks(&page) {
        let draft = loaded(&text).unwrap_or_else(|error| panic!("{}: {error}", page.at(line)));
        Played::new(draft.resolve(&[]).unwrap()).unwrap();
    }
}

/// The keys that a table may have, from the error that names them.
fn keys(table: &str) -> Vec<String> {
    let said = loaded(&table.replace('?', "no_such_key = 1")).unwrap_err();
    let (_, allowed) = said.split_once("expected ").unwrap_or_else(|| panic!("{table}: {said}"));
    let keys: Vec<String> = allowed.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    assert!(!keys.is_empty(), "{said}");
    keys
}

#[test]
fn every_key_of_the_schema_stands_in_a_table_and_in_a_block() {
    let page = page();
    let rows: Vec<&str> = page.prose().filter(|line| line.starts_with("| `")).collect();
    let all: String = blocks(&page).into_iter().map(|(_, text)| text).chain([HEAD.into()]).collect();
    for table in [
        "?\n",
        "[policy]\n?\n",
        "[policy.http]\n?\n",
        "[http]\n?\n",
        "[http.sse]\n?\n",
        "[wire]\n?\n",
        "[[process]]\n?\n",
        "[[quirks]]\n?\n",
        "[[quirks]]\nwhen = { ? }\nact = {}\n",
        "[[quirks]]\nwhen = { value = { ? } }\nact = {}\n",
        "[[quirks]]\nwhen = { header = { ? } }\nact = {}\n",
        "[[quirks]]\nact = { ? }\n",
        "[[quirks]]\nact = { http = { ? } }\n",
        "[[quirks]]\nact = { http = { cut = { ? } } }\n",
        "[[quirks]]\nact = { error = { ? } }\n",
        "[[quirks]]\nact = { set = [{ ? }] }\n",
        "[[quirks]]\nact = { rename = [{ ? }] }\n",
        "[[quirks]]\nact = { retype = [{ ? }] }\n",
        "[[quirks]]\nact = { exit = { ? } }\n",
    ] {
        for key in keys(table) {
            let in_table = rows.iter().any(|row| {
                let mut words = row.split(|c: char| !(c.is_alphanumeric() || c == '_'));
                words.any(|word| word == key)
            });
            assert!(in_table || ["when", "act"].contains(&&*key), "no table of the page has {key} ({table})");
            let used = |after: &str| all.contains(&format!("{key}{after}"));
            assert!(used(" = ") || used("]"), "no block of the page has {key} ({table})");
        }
    }
}

/// The values that a key may have, from the error that names them.
#[test]
fn every_value_of_a_key_stands_on_the_page() {
    let page = page();
    let spans: BTreeSet<&str> = page.spans().map(|(_, span)| span).collect();
    let policies = ["broken_request", "bare_request", "check_order", "nested_types", "legacy_by_meta"];
    let more = ["initialize_with_meta", "era_change", "initialize_code", "unreadable_id"];
    let last = ["unknown_initialize", "removed_method"];
    let mut tables: Vec<String> =
        policies.iter().chain(&more).chain(&last).map(|key| format!("[policy]\n{key} = ?\n")).collect();
    tables.extend(
        [
            "[[process]]\nfrom = 2\nprofile = ?\n",
            "[wire]\nline_end = ?\n",
            "[http.sse]\nline_end = ?\n",
            "[[quirks]]\nact = { http = { hold = ? } }\n",
            "[policy.http]\nheader_order = ?\n",
            "[policy.http]\nanswer_form = ?\n",
            "[[quirks]]\nact = { id = ? }\n",
            "[[quirks]]\nact = { until_order = ? }\n",
            "[[quirks]]\nact = { retype = [{ at = \"/x\", as = ? }] }\n",
        ]
        .map(str::to_owned),
    );
    for table in tables {
        for value in keys(&table.replace('?', "\"?\"").replace("\"?\"", "\"no_such_key = 1\"")) {
            let shown = spans.iter().any(|span| {
                span.split(' ').any(|word| word == value) || span.contains(&format!("{value} ="))
            });
            assert!(shown, "the page does not name {value} ({table})");
        }
    }
}

#[test]
fn every_kind_of_fault_has_a_persona_and_every_persona_names_kinds_of_the_table() {
    let page = page();
    let listed: BTreeSet<String> = page
        .prose()
        .filter_map(|line| line.strip_prefix("| K"))
        .filter_map(|row| row.split(' ').next())
        .map(|number| format!("K{number}"))
        .collect();
    let is_kind = |source: &&str| source.starts_with('K') && source.len() == 3;
    let named =
        |draft: &Draft| draft.source().into_iter().filter(is_kind).map(str::to_owned).collect::<Vec<_>>();
    let shown: BTreeSet<String> = personas().iter().flat_map(named).collect();
    assert_eq!(listed, shown);
    assert_eq!(listed.len(), 26);
}
