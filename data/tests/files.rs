//! Files as users write them: what is wrong is said in one line, with the file, the line and what is allowed.

#![expect(clippy::unwrap_used, reason = "these helpers are part of the tests")]

use mcp_parley_data::{LoadError, Mutant, load, parse};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Faults {
    forgets: bool,
}

const MUTANT: &str = "schema = 1\nid = \"m\"\nside = \"client\"\nkilled_by = \"X-1\"\ntitle = \"t\"\n[deviations]\nforgets = true\n";

fn refused(text: &str) -> String {
    parse::<Mutant<Faults>>("m.toml", text).unwrap_err().to_string()
}

#[test]
fn a_mutant_is_read_and_written_as_it_stands() {
    let mutant: Mutant<Faults> = parse("m.toml", MUTANT).unwrap();
    assert!(mutant.deviations.forgets);
    assert_eq!(
        serde_json::to_value(&mutant).unwrap(),
        json!({"schema": 1, "id": "m", "side": "client", "killed_by": "X-1", "title": "t", "deviations": {"forgets": true}})
    );
    let based = MUTANT.replace("[deviations]", "[base]\nsize = 1\n[deviations]");
    let mutant: Mutant<Faults, Value> = parse("m.toml", &based).unwrap();
    assert_eq!(serde_json::to_value(&mutant).unwrap()["base"], json!({"size": 1}));
    // Where there is nothing to say, a base is a mistake.
    assert!(refused(&based).starts_with("m.toml: line 6: "), "{}", refused(&based));
}

#[test]
fn an_unknown_key_is_refused_with_its_line_and_what_is_allowed() {
    let said = refused(&MUTANT.replace("side", "sise"));
    assert_eq!(
        said,
        "m.toml: line 3: unknown field `sise`, expected one of `schema`, `id`, `side`, `killed_by`, `title`, `over`, `base`, `deviations`"
    );
    let said = refused(&MUTANT.replace("forgets", "forgot"));
    assert_eq!(said, "m.toml: line 7: unknown field `forgot`, expected `forgets`");
    assert!(refused("schema = 1\nid = [\n").starts_with("m.toml: line 2: "));
}

#[test]
fn deep_nesting_is_refused_with_its_line() {
    for nested in [
        format!("side = {}{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("side = {}", "{a=".repeat(100_000)),
        format!("side{} = 1", ".a".repeat(100_000)),
        format!("[side{}]", ".a".repeat(100_000)),
    ] {
        let text = MUTANT.replace("side = \"client\"", &nested);
        assert_eq!(refused(&text), "m.toml: line 3: nested deeper than 80 levels");
    }
}

#[test]
fn the_schema_number_comes_first() {
    for (text, said) in [
        ("id = 1\nschema = 2\n", "m.toml: line 2: this file has schema 2, this version reads schema 1"),
        ("schema = \"1\"\n", "m.toml: line 1: this file has schema \"1\", this version reads schema 1"),
        ("id = 1\n", "m.toml: line 1: `schema = 1` is missing"),
    ] {
        assert_eq!(refused(text), said);
    }
}

#[test]
fn what_json_cannot_say_is_refused_instead_of_changed() {
    let whole = |value: &str| parse::<Value>("m.toml", &format!("schema = 1\na = [{{\nb = {value} }}]\n"));
    for value in ["inf", "-inf", "nan", "1e400", "2026-07-28", "10:00:00"] {
        let said = whole(value).unwrap_err().to_string();
        assert_eq!(said, "m.toml: line 3: JSON has no such value: no dates and times, no infinite number");
    }
    assert_eq!(whole("1_000.5").unwrap()["a"][0]["b"], json!(1000.5));
    assert_eq!(whole("1.7976931348623157e308").unwrap()["a"][0]["b"], json!(f64::MAX));
}

#[test]
fn numbers_are_the_same_after_any_number_of_writings() {
    // Without exact parsing, a float in a trace is another one when the trace is read back, and so is the run.
    for text in ["2.638344616030823e-256", "9.355889910236506e-30", "-1.5687900729185823e111", "0.1"] {
        let value: Value = parse("m.toml", &format!("schema = 1\nx = {text}\n")).unwrap();
        let mut written = value["x"].to_string();
        assert_eq!(value["x"].as_f64(), text.parse().ok());
        for _ in 0..3 {
            let again: Value = serde_json::from_str(&written).unwrap();
            assert_eq!(again, value["x"]);
            written = again.to_string();
        }
    }
}

#[test]
fn a_file_that_is_absent_or_too_large_or_no_text_is_named() {
    let absent = load::<Value>("no/such/file.toml".as_ref()).unwrap_err();
    assert!(matches!(absent, LoadError::Io { .. }));
    assert!(absent.to_string().starts_with("no/such/file.toml: cannot be read: "), "{absent}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.toml");
    let head = "schema = 1\n#";
    std::fs::write(&path, format!("{head}{}", " ".repeat((256 << 10) - head.len()))).unwrap();
    load::<Value>(&path).unwrap();
    std::fs::write(&path, " ".repeat((256 << 10) + 1)).unwrap();
    let said = load::<Value>(&path).unwrap_err().to_string();
    assert!(said.ends_with("large.toml: cannot be read: it is larger than 256 KiB"), "{said}");
    std::fs::write(&path, b"schema = 1\n\n# caf\xe9\n").unwrap();
    let said = load::<Value>(&path).unwrap_err().to_string();
    assert!(said.ends_with("large.toml: line 3: this is not UTF-8: save the file as UTF-8"), "{said}");
}

#[test]
fn a_shelf_says_what_is_wrong_with_its_files() {
    use include_dir::{Dir, DirEntry, File};
    const FILES: &[DirEntry<'static>] = &[
        DirEntry::File(File::new("b.toml", b"schema = 1\nid = \"a\"\n")),
        DirEntry::File(File::new("a.toml", b"schema = 1\nid = \"a\"\n")),
        DirEntry::File(File::new("c.toml", b"schema = 1\nid = 1\n")),
    ];
    #[derive(Deserialize)]
    struct Held {
        id: String,
    }
    impl mcp_parley_data::Named for Held {
        fn id(&self) -> &str {
            &self.id
        }
    }
    let shelf = mcp_parley_data::Shelf::<Held>::new(Dir::new("", FILES));
    assert_eq!((shelf.all().len(), shelf.get("a").is_some(), shelf.get("b").is_some()), (2, true, false));
    let problems = shelf.problems();
    assert_eq!(problems[0], "b.toml: its id is a");
    assert!(problems[1].starts_with("c.toml: line 2: ") && problems.len() == 2, "{problems:?}");
}
