//! Persona files: what is open in them, and how a mistake is reported.

#![expect(clippy::unwrap_used, reason = "these helpers are part of the tests")]

use std::path::PathBuf;

use mcp_parley_mock_servers::{Draft, LoadError, OpenPoint, load, mutant, mutants};
use mcp_parley_negotiation::gate::GateDeviations;

const HEAD: &str = "schema = 1\nid = \"t\"\ntitle = \"t\"\nsource = [\"BR-001\"]\nprofile = \"dual\"\n";

/// A file of its own for each text: tests run side by side.
fn loaded(name: &str, text: &str) -> Result<Draft, LoadError> {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    load(&path)
}

/// What is said of the head with these lines behind it.
fn refused(name: &str, rest: &str) -> String {
    let said = loaded(&format!("{name}.toml"), &format!("{HEAD}{rest}")).unwrap_err().to_string();
    assert_eq!(said.lines().count(), 1, "{said}");
    let (_, said) = said.split_once(&format!("{name}.toml: ")).unwrap();
    said.to_owned()
}

#[test]
fn the_head_alone_is_a_persona() {
    let draft = loaded("head.toml", HEAD).unwrap();
    assert_eq!(
        (draft.id(), draft.title(), draft.profile(), draft.source()),
        ("t", "t", "dual", vec!["BR-001"])
    );
    assert!(draft.open_points().is_empty());
}

#[test]
fn a_missing_file_is_named() {
    let said = load(&PathBuf::from("no/such/file.toml")).unwrap_err().to_string();
    assert!(said.starts_with("no/such/file.toml: cannot be read: "), "{said}");
}

#[test]
fn an_unknown_key_is_refused_with_its_line_and_what_is_allowed() {
    let said = refused("key", "quirk = 1\n");
    assert!(said.starts_with("line 6: unknown field `quirk`, expected one of `schema`, `id`"), "{said}");
    // The line is that of this key, not of the first one of its name.
    let quirk = "[[quirks]]\nact = { error = { code = 1 } }\n";
    let said = refused("nested", &format!("{quirk}{quirk}when = {{ code = 1 }}\n"));
    assert!(said.starts_with("line 10: unknown field `code`, expected one of `method`"), "{said}");
    let said = refused("policy", "[policy]\nttl_ms = 1\nttl = 1\n");
    assert!(said.starts_with("line 8: in [policy]: unknown field `ttl`, expected one of `modern`"), "{said}");
}

#[test]
fn a_revision_in_the_list_of_the_other_era_is_refused() {
    let said = refused("swapped", "[policy]\nlegacy = [\"2025-11-25\", \"2026-07-28\"]\n");
    assert!(said.contains("in [policy]: `legacy`: 2026-07-28 is of the other era"), "{said}");
    let said = refused("swapped-modern", "[policy]\nmodern = [\"2025-03-26\"]\n");
    assert!(said.contains("in [policy]: `modern`: 2025-03-26 is of the other era"), "{said}");
    loaded("unknown.toml", &format!("{HEAD}[policy]\nlegacy = [\"2099-01-01\"]\n")).unwrap();
}

#[test]
fn a_wrong_value_is_refused_with_its_line() {
    let said = refused("line-end", "\n[wire]\nline_end = \"lf-cr\"\n");
    assert!(said.starts_with("line 8: unknown variant `lf-cr`, expected one of `lf`, `cr-lf`"), "{said}");
    let said = refused("type", "[[quirks]]\nact = { silence = \"yes\" }\n");
    assert!(said.starts_with("line 7: invalid type: string \"yes\", expected a boolean"), "{said}");
    let said = refused("toml", "[wire\n");
    assert!(said.starts_with("line 6: "), "{said}");
    let said = loaded("lacks.toml", &HEAD.replace("title = \"t\"\n", "")).unwrap_err().to_string();
    assert!(said.ends_with("missing field `title`"), "{said}");
}

#[test]
fn a_wrong_choice_of_an_open_value_is_refused_with_its_line() {
    let said =
        refused("choice", "[[quirks]]\n[quirks.act]\nid = { one_of = [\"null\",\n\"missing\",\n\"odd\"] }\n");
    assert!(said.starts_with("line 10: unknown variant `odd`, expected one of `null`, `missing`"), "{said}");
    let said = refused("choice-of-value", "[wire]\nchunk_bytes = { one_of = [1, 0] }\n");
    assert_eq!(said, "line 7: `chunk_bytes`: at least 1");
}

#[test]
fn other_schemas_are_refused() {
    for (name, schema, said) in [
        ("newer", "schema = 2", "line 1: this file has schema 2, this version reads schema 1"),
        ("text", "schema = \"1\"", "line 1: this file has schema \"1\", this version reads schema 1"),
        ("none", "", "line 1: `schema = 1` is missing"),
    ] {
        let error = loaded(&format!("schema-{name}.toml"), &HEAD.replace("schema = 1", schema)).unwrap_err();
        assert!(error.to_string().ends_with(said), "{error}");
    }
}

#[test]
fn what_could_never_act_is_refused() {
    let pointer = "a JSON pointer such as /result/capabilities, with ~0 for ~ and ~1 for / in a name";
    for (at, (rest, said)) in [
        ("when = { has = \"params\" }\nact = {}", format!("line 7: in quirk 1: `has`: {pointer}")),
        ("when = { lacks = \"/a~2\" }\nact = {}", format!("line 7: in quirk 1: `lacks`: {pointer}")),
        ("when = { value = { at = \"x\", equals = 1 } }\nact = {}", format!("line 7: in quirk 1: `at`: {pointer}")),
        ("when = { nth = 0 }\nact = {}", "line 7: in quirk 1: `nth`: at least 1".into()),
        ("when = { process = 0 }\nact = {}", "line 7: in quirk 1: `process`: at least 1".into()),
        ("when = { from_process = 0 }\nact = {}", "line 7: in quirk 1: `from_process`: at least 1".into()),
        ("act = { omit = [\"result\"] }", format!("line 7: in quirk 1: `omit`: {pointer}")),
        (
            "act = { double = [\"\"] }",
            "line 7: in quirk 1: `double`: a JSON pointer to a member: the whole message has no name".into(),
        ),
        ("act = { rename = [{ at = \"x\", to = \"y\" }] }", format!("line 7: in quirk 1: `at`: {pointer}")),
        (
            "act = { set = [{ at = \"/x\" }] }",
            "line 7: in quirk 1: `set`: give either `to` (a value) or `raw` (JSON text; null is raw = \"null\")".into(),
        ),
        (
            "act = { set = [{ at = \"/x\", to = 1, raw = \"1\" }] }",
            "line 7: in quirk 1: `set`: give either `to` (a value) or `raw` (JSON text; null is raw = \"null\")".into(),
        ),
        ("when = { first = 0 }\nact = {}", "line 7: in quirk 1: `first`: at least 1".into()),
        ("when = { every = 0 }\nact = {}", "line 7: in quirk 1: `every`: at least 1".into()),
        (
            "act = { rename = [{ at = \"/x\" }] }",
            "line 7: in quirk 1: `rename`: give either `to` (a name) or `raw` (what stands between its quotes)".into(),
        ),
        ("act = { line = { hex = \"f\" } }", "line 7: in quirk 1: `line`: `hex` takes pairs of hexadecimal digits".into()),
        ("act = { set = [{ at = \"\", raw = { hex = \"x\" } }] }", "line 7: in quirk 1: `raw`: `hex` takes pairs of hexadecimal digits".into()),
        (
            "act = { before = [{ repeat = { text = \"ab\", times = 8388609 } }] }",
            "line 7: in quirk 1: `before`: at most 16777216 bytes (16 MiB)".into(),
        ),
        ("act = { retype = [{ at = \"x\", as = \"null\" }] }", format!("line 7: in quirk 1: `at`: {pointer}")),
        ("act = { pad_bytes = 16777217 }", "line 7: in quirk 1: `pad_bytes`: at most 16777216 (16 MiB)".into()),
        ("act = { exit = { signal = 65 } }", "line 7: in quirk 1: `signal`: from 1 to 64".into()),
        ("act = {}\n[wire]\nprocesses = 0", "line 9: `processes`: at least 1".into()),
        ("act = {}\n[wire]\nbanner = [{ hex = \"1\" }]", "line 9: `banner`: `hex` takes pairs of hexadecimal digits".into()),
        ("act = {}\n[[process]]\nfrom = 1\nprofile = \"legacy\"", "line 9: `from`: at least 2".into()),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(refused(&format!("never-{at}"), &format!("[[quirks]]\n{rest}\n")), said);
    }
    // The line is that of this quirk.
    let first = "[[quirks]]\nwhen = { nth = 1 }\nact = {}\n";
    assert_eq!(
        refused("second", &format!("{first}{}", first.replace('1', "0"))),
        "line 10: in quirk 2: `nth`: at least 1"
    );
    let least = "when = { has = \"\", nth = 1, process = 1, from_process = 1 }\nact = { omit = [\"/a~0~1\"], exit = { signal = 64 }, pad_bytes = 0 }";
    loaded(
        "least.toml",
        &format!("{HEAD}[[quirks]]\n{least}\n[[process]]\nfrom = 2\nprofile = \"silent\"\n"),
    )
    .unwrap();
}

#[test]
fn open_values_are_found_and_chosen() {
    let rest = "[[quirks]]\nact = { error = { code = { one_of = [-1, -2] }, data = { \"a/b~\" = { one_of = [\"x\", [1], {}] } } } }\n";
    let draft = loaded("open.toml", &format!("{HEAD}{rest}")).unwrap();
    let point = |path: &str, choices| OpenPoint { path: path.into(), choices };
    assert_eq!(
        draft.open_points(),
        [point("/quirks/0/act/error/code", 2), point("/quirks/0/act/error/data/a~1b~0", 3)]
    );
    let chosen = |choices: &[u32]| {
        let error = draft.resolve(choices).unwrap().quirks.remove(0).act.error.unwrap();
        format!("{} {}", serde_json::Value::from(error.code), serde_json::Value::from(error.data.unwrap()))
    };
    assert_eq!(chosen(&[]), r#"-1 {"a/b~":"x"}"#);
    assert_eq!(chosen(&[1]), r#"-2 {"a/b~":"x"}"#);
    assert_eq!(chosen(&[0, 2]), r#"-1 {"a/b~":{}}"#);
    assert_eq!(chosen(&[9, 1, 5]), r#"-1 {"a/b~":[1]}"#, "what is too large or too much counts as the first");
}

#[test]
fn one_of_stands_alone() {
    let said =
        "`one_of` must be the only key of its table, with a list of choices that are not open themselves";
    for (at, data) in [
        "{ one_of = [] }",
        "{ one_of = 1 }",
        "{ one_of = [1], x = 1 }",
        "{ one_of = [{ one_of = [1] }] }",
        "{ one_of = [[{ x = { one_of = [1] } }]] }",
    ]
    .iter()
    .enumerate()
    {
        let rest = format!("[[quirks]]\nact = {{ result = {data} }}\n");
        assert_eq!(refused(&format!("stray-{at}"), &rest), format!("line 7: {said}"), "{data}");
    }
}

#[test]
fn the_stray_one_of_is_found_among_others() {
    let quirk = |data: &str| format!("[[quirks]]\nact = {{ result = {data} }}\n");
    let rest = [quirk("{ one_of = [1] }"), quirk("{ x = [{ one_of = 1 }] }"), quirk("{ one_of = [] }")];
    assert!(refused("among", &rest.concat()).starts_with("line 9: `one_of` must be"));
}

#[test]
fn deep_files_are_refused() {
    let deep = format!("[[quirks]]\nact = {{ result = {}{} }}\n", "[".repeat(100_000), "]".repeat(100_000));
    assert!(refused("deep", &deep).starts_with("line "));
}

#[test]
fn the_mutants_are_those_asked_for() {
    let killers: Vec<(&str, &str)> =
        mutants().iter().map(|m| (m.id.as_str(), m.killed_by.as_str())).collect();
    assert_eq!(
        killers,
        [
            ("ignores-headers", "HTTP-08"),
            ("omits-requested", "NEG-06"),
            ("omits-result-type", "BASE-08"),
            ("other-id-type", "BASE-04"),
            ("other-status-for-notifications", "HTTP-05"),
            ("serves-incomplete", "META-02"),
            ("serves-unlisted", "NEG-02"),
            ("wrong-code-for-version", "NEG-02"),
        ]
    );
    for mutant in mutants() {
        assert_eq!(mutant.side, "server");
        let text = serde_json::to_string(mutant).unwrap();
        assert_eq!(serde_json::from_str::<mcp_parley_mock_servers::Mutant>(&text).unwrap(), *mutant);
        assert_ne!(mutant.deviations, GateDeviations::default());
    }
    assert!(mutant("omits-requested").unwrap().deviations.omit_requested && mutant("nobody").is_none());
}

#[test]
fn a_pointer_too_deep_to_follow_is_refused() {
    let set = |steps: usize| {
        format!("[[quirks]]\nact = {{ set = [{{ at = \"{}\", to = 1 }}] }}\n", "/a".repeat(steps))
    };
    assert!(loaded("deep-enough.toml", &format!("{HEAD}{}", set(32))).is_ok());
    // The one of 100 000 steps overflowed the stack when it was played.
    for steps in [33, 100_000] {
        let said = refused("too-deep", &set(steps));
        assert!(said.ends_with("`at`: a JSON pointer of at most 32 steps"), "{said}");
    }
}

#[test]
fn a_persona_of_another_schema_is_not_played_wherever_it_comes_from() {
    let mut persona = loaded("schema.toml", HEAD).unwrap().resolve(&[]).unwrap();
    assert!(mcp_parley_mock_servers::Played::new(persona.clone()).is_ok());
    persona.schema = 7;
    let said = mcp_parley_mock_servers::Played::new(persona).unwrap_err().to_string();
    assert_eq!(said, "`schema`: 1 is what this version plays");
}
