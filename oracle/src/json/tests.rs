//! The reader against serde_json, and against what it must refuse.

use proptest::prelude::*;
use serde_json::Value;

use super::{At, Refusal, Tree, Type};

fn read(text: &str) -> Result<(Tree, At), Refusal> {
    let mut tree = Tree::default();
    let root = tree.read(text.as_bytes(), 0, text.len() as u32)?;
    Ok((tree, root))
}

/// The tree as a value; the last of several members with one name counts, as there.
fn value(tree: &Tree, text: &[u8], at: At) -> Value {
    match tree.kind(at) {
        Type::Null => Value::Null,
        Type::Bool => Value::Bool(tree.raw(text, at) == b"true"),
        Type::Number => serde_json::from_slice(tree.raw(text, at)).unwrap(),
        Type::String => Value::String(tree.string(text, at).unwrap().into_owned()),
        Type::Array => tree.children(at).map(|child| value(tree, text, child)).collect(),
        Type::Object => {
            let name = |child| String::from_utf8(tree.key(text, child).into_owned()).unwrap();
            Value::Object(tree.children(at).map(|child| (name(child), value(tree, text, child))).collect())
        }
    }
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has finite numbers only", |n| n.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::String),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Another text of the same value: every character escaped that can be.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                out.push(c);
                out.extend(chars.next());
                continue;
            }
            '"' => inside = !inside,
            _ if inside && c.is_alphabetic() => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
                continue;
            }
            _ => {}
        }
        out.push(c);
    }
    out
}

proptest! {
    #[test]
    fn it_agrees_with_serde_json(wanted in json(), pretty in any::<bool>(), escape in any::<bool>()) {
        let plain = if pretty { serde_json::to_string_pretty(&wanted) } else { serde_json::to_string(&wanted) };
        let plain = plain.unwrap();
        let text = if escape { escaped(&plain) } else { plain };
        let (tree, root) = read(&text).unwrap();
        // Numbers are compared as serde_json reads them again: its float parser may be off by one in the last place.
        let again: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(value(&tree, text.as_bytes(), root), again);
    }

    #[test]
    fn a_line_read_again_elsewhere_is_what_it_was(wanted in prop::collection::vec(json(), 1..4), again in prop::collection::vec(any::<prop::sample::Index>(), 1..6)) {
        let mut tree = Tree::default();
        for round in 0..2 {
            tree.clear();
            let mut text = Vec::new();
            for at in &again {
                let wanted = at.get(&wanted).to_string();
                text.resize(text.len() + round * 3, b' ');
                let start = text.len() as u32;
                text.extend_from_slice(wanted.as_bytes());
                let root = tree.read(&text, start, text.len() as u32).unwrap();
                prop_assert_eq!(value(&tree, &text, root), serde_json::from_str::<Value>(&wanted).unwrap());
            }
        }
    }

    #[test]
    fn it_accepts_what_serde_json_accepts(bytes in prop::collection::vec(prop::sample::select(
        b"{}[]:,\"\\u0123aeEtrfn-+. \n".to_vec()), 0..24)) {
        let mut tree = Tree::default();
        let ours = tree.read(&bytes, 0, bytes.len() as u32);
        let theirs = serde_json::from_slice::<Value>(&bytes);
        // A lone surrogate is JSON by its grammar and refused there; a huge exponent is out of range there.
        let excused = theirs.as_ref().is_err_and(|error| {
            let error = error.to_string();
            error.contains("surrogate") || error.contains("hex escape") || error.contains("out of range")
        });
        prop_assert!(ours.is_ok() == theirs.is_ok() || excused, "{:?} {:?}", ours, theirs);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut tree = Tree::default();
        match tree.read(&bytes, 0, bytes.len() as u32) {
            Ok(root) => prop_assert_eq!(root, At(0)),
            Err(Refusal::NotJson(at)) => prop_assert!(at as usize <= bytes.len()),
            Err(_) => {}
        }
    }
}

/// Many more lines than are remembered, so that some take the place of others.
#[test]
fn a_line_is_never_taken_for_another() {
    let mut tree = Tree::default();
    for number in (0..4000).chain(0..4000) {
        tree.clear();
        let text = format!("{{\"number\":{number}}}");
        let root = tree.read(text.as_bytes(), 0, text.len() as u32).unwrap();
        assert_eq!(value(&tree, text.as_bytes(), root), serde_json::json!({ "number": number }));
    }
}

#[test]
fn what_is_no_json_is_refused_at_its_first_wrong_byte() {
    for (text, at) in [
        ("NaN", 0),
        ("{\"a\":01}", 6),
        ("[1,]", 3),
        ("{} {}", 3),
        ("{\"a\" 1}", 5),
        ("\u{feff}{}", 0),
        ("{'a':1}", 1),
        ("[1 2]", 3),
        ("\"\t\"", 1),
        ("tru3", 0),
    ] {
        assert_eq!(read(text).err(), Some(Refusal::NotJson(at)), "{text}");
    }
    for text in ["", " ", "{", "[1,", "\"a", "\"\\u00", "-", "1.", "1e", "tr", "{\"a\":"] {
        assert_eq!(read(text).err(), Some(Refusal::Unfinished), "{text}");
    }
    let mut tree = Tree::default();
    assert_eq!(tree.read(b"[\"\xff\"]", 0, 5), Err(Refusal::NotJson(2)), "no UTF-8");
}

#[test]
fn nesting_and_size_are_bounded() {
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(read(&deep(128)).is_ok());
    assert_eq!(read(&deep(129)).err(), Some(Refusal::TooMuch));
    assert_eq!(read(&deep(100_000)).err(), Some(Refusal::TooMuch));
    let wide = format!("[{}1]", "1,".repeat(1 << 16));
    assert_eq!(read(&wide).err(), Some(Refusal::TooMuch));
}

#[test]
fn the_last_duplicate_wins_and_all_are_kept() {
    let text = r#"{"a":1,"\u0061":2,"b":3,"a":[4]}"#;
    let (tree, root) = read(text).unwrap();
    assert_eq!(tree.children(root).count(), 4);
    let last = tree.get(text.as_bytes(), root, "a").unwrap();
    assert_eq!(tree.raw(text.as_bytes(), last), b"[4]");
}

#[test]
fn numbers_are_compared_by_value_and_strings_decoded() {
    let same = |a: &str, b: &str| {
        let text = format!("[{a},{b}]");
        let (tree, root) = read(&text).unwrap();
        let items: Vec<At> = tree.children(root).collect();
        tree.same_scalar(text.as_bytes(), items[0], items[1])
    };
    for (a, b) in [
        ("1", "1.0"),
        ("1", "1e0"),
        ("10e-1", "1"),
        ("0", "-0.0"),
        ("120", "1.2e2"),
        ("\"a\"", "\"\\u0061\""),
    ] {
        assert!(same(a, b), "{a} {b}");
    }
    for (a, b) in [
        ("1", "\"1\""),
        ("1", "1.5"),
        ("1", "-1"),
        ("9007199254740993", "9007199254740992"),
        ("1", "10"),
        ("null", "0"),
        ("{}", "{}"),
    ] {
        assert!(!same(a, b), "{a} {b}");
    }
}

#[test]
fn integers_are_told_from_fractions() {
    let integer = |text: &str| {
        let (tree, root) = read(text).unwrap();
        let number = tree.number(text.as_bytes(), root).unwrap();
        (number.is_integer(), number.small_integer())
    };
    assert_eq!(integer("-32022"), (true, Some(-32022)));
    assert_eq!(integer("1e3"), (true, Some(1000)));
    assert_eq!(integer("1.50e1"), (true, Some(15)));
    assert_eq!(integer("1.5"), (false, None));
    assert_eq!(integer("0e9999999999999999999999"), (true, Some(0)));
    assert_eq!(integer("1e9999999999999999999999"), (true, None));
    assert_eq!(integer("1e-9999999999999999999999"), (false, None));
    assert_eq!(integer("123456789012345678901234567890"), (true, None));
}
