//! The reader against serde_json, which shares no code with it: the same texts are JSON, with the same values.

#![expect(clippy::panic, clippy::unwrap_used, reason = "these helpers are part of the tests")]

use mcp_parley_negotiation::issue::{IssueId, IssueSink};
use mcp_parley_negotiation::json::{Kind, Number, Raw, check, pointer_at, write_string};
use mcp_parley_negotiation::limits::Limits;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde::de::IgnoredAny;
use serde_json::Value;

fn read(text: &[u8]) -> (Option<Raw<'_>>, IssueSink) {
    let mut issues = IssueSink::new();
    (check(text, &Limits::DEFAULT, &mut issues), issues)
}

fn raw(text: &str) -> Raw<'_> {
    read(text.as_bytes()).0.unwrap_or_else(|| panic!("no JSON: {text}"))
}

fn numbers() -> impl Strategy<Value = String> {
    prop_oneof!["-?(0|[1-9][0-9]{0,20})", "-?(0|[1-9][0-9]{0,3})(\\.[0-9]{1,3})?([eE][+-]?[0-9]{1,3})?"]
}

fn strings() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-e ]{1,3}",
        Just(r"\u0061".to_owned()),
        Just(r"\/".to_owned()),
        Just(r"\n".to_owned()),
        Just(r#"\""#.to_owned()),
        Just(r"\\".to_owned()),
        Just(r"\uD83d\ude00".to_owned()),
        Just("é😀".to_owned()),
    ];
    prop::collection::vec(piece, 0..4).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

/// JSON text with the white space, escapes, duplicates and number forms that a serialiser would not write.
fn texts() -> impl Strategy<Value = String> {
    let blank = || "[ \t\r\n]{0,2}";
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("false".to_owned()),
        numbers(),
        strings(),
    ];
    let nested = leaf.prop_recursive(4, 24, 4, move |inner| {
        let member = (blank(), strings(), blank(), inner.clone(), blank())
            .prop_map(|(a, key, b, value, c)| format!("{a}{key}{b}:{value}{c}"));
        let element = (blank(), inner, blank()).prop_map(|(a, value, b)| format!("{a}{value}{b}"));
        prop_oneof![
            prop::collection::vec(member, 0..4).prop_map(|members| format!("{{{}}}", members.join(","))),
            prop::collection::vec(element, 0..4).prop_map(|elements| format!("[{}]", elements.join(","))),
        ]
    });
    (blank(), nested, blank()).prop_map(|(a, value, b)| format!("{a}{value}{b}"))
}

/// One byte put in, taken out or changed.
fn broken() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop::sample::select(b"\"\\{}[],:0123456789-+.eEtnuNIdD \n\r\x1f\xff".as_slice());
    (texts(), any::<prop::sample::Index>(), byte, 0..3).prop_map(|(text, at, byte, act)| {
        let mut bytes = text.into_bytes();
        let at = at.index(bytes.len());
        match act {
            0 => bytes.insert(at, byte),
            1 => drop(bytes.remove(at)),
            _ => bytes[at] = byte,
        }
        bytes
    })
}

fn assert_same(ours: Raw<'_>, theirs: &Value) {
    match theirs {
        Value::Null => assert_eq!(ours.text(), "null"),
        Value::Bool(value) => assert_eq!(ours.text(), value.to_string()),
        Value::Number(number) => match ours.as_number().unwrap() {
            Number::Integer(value) if number.is_i64() => assert_eq!(Some(value), number.as_i64()),
            Number::Integer(value) => assert_eq!(Some(value as f64), number.as_f64()),
            Number::Huge { negative } => {
                assert!(!number.is_i64() && number.as_f64().unwrap().is_sign_negative() == negative);
            }
            Number::Fraction { .. } => assert!(!number.is_i64() && !number.is_u64()),
        },
        Value::String(text) => {
            let ours = ours.as_str().unwrap();
            assert_eq!(&*ours.decode(), text);
            assert!(ours.eq_str(text) && !ours.eq_str(&format!("{text}x")));
        }
        Value::Array(values) => {
            assert_eq!((ours.kind(), ours.elements().count()), (Kind::Array, values.len()));
            ours.elements().zip(values).for_each(|(ours, theirs)| assert_same(ours, theirs));
        }
        Value::Object(members) => {
            assert_eq!(ours.kind(), Kind::Object);
            assert!(ours.members().all(|(key, _)| members.contains_key(&*key.decode())));
            for (key, theirs) in members {
                assert_same(ours.get(key).unwrap(), theirs);
            }
        }
    }
}

/// The reader on trial: what it says of a text, and where it stops.
type Reader = fn(&[u8]) -> (Option<Raw<'_>>, IssueSink);

fn same_values(read: Reader, text: &str) -> Result<(), TestCaseError> {
    // serde_json refuses numbers beyond f64, which are JSON.
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        assert_same(read(text.as_bytes()).0.unwrap(), &value);
    }
    Ok(())
}

fn same_texts(read: Reader, bytes: &[u8]) -> Result<(), TestCaseError> {
    let (value, issues) = read(bytes);
    let theirs =
        std::str::from_utf8(bytes).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok());
    prop_assert_eq!(value.is_some(), theirs, "{:?} {:?}", String::from_utf8_lossy(bytes), issues.issues());
    Ok(())
}

/// Up to the reported byte the text can still become JSON; with it, it cannot.
fn first_misfit(read: Reader, bytes: &[u8]) -> Result<(), TestCaseError> {
    let (value, issues) = read(bytes);
    let last = issues.issues().last().copied();
    let Some(issue) = last.filter(|issue| value.is_none() && issue.id == IssueId::NotJson) else {
        return Ok(());
    };
    let at = issue.offset as usize;
    let before = bytes[..at].strip_suffix(b"\r").unwrap_or(&bytes[..at]);
    let ends = |text: &[u8]| serde_json::from_slice::<IgnoredAny>(text).err().is_none_or(|why| why.is_eof());
    // serde_json does not say of a number that its text ends in the middle of it, and of an escape it always does.
    let could = |text: &[u8]| ends(text) || ends(&[text, b"0"].concat());
    let cannot = |text: &[u8]| !ends(&[text, b"    "].concat());
    prop_assert!(could(before), "{:?} at {}", String::from_utf8_lossy(bytes), at);
    if let Some(with) = bytes.get(..at + 1).filter(|with| std::str::from_utf8(with).is_ok()) {
        prop_assert!(cannot(with), "{:?} at {}", String::from_utf8_lossy(bytes), at);
    }
    Ok(())
}

fn pointed_at(pointer_at: fn(&[u8], usize) -> String, text: &str) -> Result<(), TestCaseError> {
    fn walk(pointer_at: fn(&[u8], usize) -> String, base: &[u8], value: Raw<'_>, tree: &Value) {
        let pointer = pointer_at(base, value.offset_in(base));
        assert_same(value, tree.pointer(&pointer).unwrap());
        assert!(base[value.offset_in(base)..].starts_with(value.text().as_bytes()));
        value.elements().for_each(|value| walk(pointer_at, base, value, tree));
        // Of duplicates serde_json knows the last only.
        let last = |key: &str| value.get(key);
        let members = value.members().filter(|(key, value)| last(&key.decode()) == Some(*value));
        members.for_each(|(_, value)| walk(pointer_at, base, value, tree));
    }
    if let Ok(tree) = serde_json::from_str::<Value>(text) {
        walk(pointer_at, text.as_bytes(), raw(text), &tree);
    }
    Ok(())
}

fn answered(read: Reader, bytes: &[u8], offset: usize) -> Result<(), TestCaseError> {
    let (value, issues) = read(bytes);
    prop_assert!(value.is_some() || issues.count() > 0);
    pointer_at(bytes, offset);
    Ok(())
}

fn reads_back(write_string: fn(&mut Vec<u8>, &str), text: &str) -> Result<(), TestCaseError> {
    let mut out = Vec::new();
    write_string(&mut out, text);
    let (value, issues) = read(&out);
    prop_assert_eq!(issues.count(), 0);
    let value = value.unwrap().as_str().unwrap();
    prop_assert_eq!(&*value.decode(), text);
    prop_assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
    Ok(())
}

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..200)
}

proptest! {
    #[test]
    fn generated_json_has_the_values_that_serde_json_finds(text in texts()) {
        same_values(read, &text)?;
    }

    #[test]
    fn the_same_texts_are_json(bytes in broken()) {
        same_texts(read, &bytes)?;
    }

    #[test]
    fn the_first_byte_that_does_not_fit(bytes in broken()) {
        first_misfit(read, &bytes)?;
    }

    #[test]
    fn every_value_is_where_its_pointer_says(text in texts()) {
        pointed_at(pointer_at, &text)?;
    }

    #[test]
    fn any_bytes_have_an_answer(bytes in any_bytes(), offset in 0..300_usize) {
        answered(read, &bytes, offset)?;
    }

    #[test]
    fn a_written_string_reads_back(text in any::<String>()) {
        reads_back(write_string, &text)?;
    }
}

#[track_caller]
fn fails<S: Strategy>(inputs: S, property: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = ProptestConfig { max_shrink_iters: 0, ..ProptestConfig::default() };
    TestRunner::new(config).run(&inputs, property).unwrap_err();
}

#[test]
fn a_reader_that_errs_is_noticed_by_every_property() {
    let one_value_less: Reader = |text| {
        let (value, issues) = read(text);
        (value.map(|value| value.elements().next().unwrap_or(value)), issues)
    };
    fails(texts(), |text| same_values(one_value_less, &text));
    let lenient: Reader = |text| match read(text) {
        (None, _) => read(text.split_last().map_or(text, |(_, rest)| rest)),
        read => read,
    };
    fails(broken(), |bytes| same_texts(lenient, &bytes));
    fn at(text: &[u8], offset: usize) -> (Option<Raw<'_>>, IssueSink) {
        let mut issues = IssueSink::new();
        let value = read(text).0;
        if value.is_none() {
            issues.push(IssueId::NotJson, offset);
        }
        (value, issues)
    }
    fails(broken(), |bytes| first_misfit(|text| at(text, 0), &bytes));
    fails(broken(), |bytes| first_misfit(|text| at(text, text.len()), &bytes));
    fails(texts(), |text| pointed_at(|_, _| String::new(), &text));
    let silent: Reader = |text| (read(text).0, IssueSink::new());
    fails(any_bytes(), |bytes| answered(silent, &bytes, 0));
    let unescaped = |out: &mut Vec<u8>, text: &str| out.extend(format!("\"{text}\"").bytes());
    fails(any::<String>(), |text| reads_back(unescaped, &text));
}

#[test]
fn numbers_are_decided_by_their_digits() {
    use Number::{Fraction, Huge, Integer};
    let cases = [
        ("0", Integer(0)),
        ("-0", Integer(0)),
        ("-0.0", Integer(0)),
        ("1.0", Integer(1)),
        ("1e0", Integer(1)),
        ("10E-1", Integer(1)),
        ("0.001e+3", Integer(1)),
        ("-1.50e1", Integer(-15)),
        ("1.5", Fraction { negative: false }),
        ("-1e-1", Fraction { negative: true }),
        ("15e-1", Fraction { negative: false }),
        ("1.0000000000000000000000001", Fraction { negative: false }),
        ("9007199254740993", Integer(9_007_199_254_740_993)),
        ("9223372036854775807", Integer(i64::MAX)),
        ("9223372036854775808", Huge { negative: false }),
        ("-9223372036854775808", Integer(i64::MIN)),
        ("-9223372036854775809", Huge { negative: true }),
        ("922337203685477580.7e1", Integer(i64::MAX)),
        ("1e18", Integer(1_000_000_000_000_000_000)),
        ("1e19", Huge { negative: false }),
        ("0e99999999999999999999", Integer(0)),
        ("0.1e99999999999999999999", Huge { negative: false }),
        ("1e-99999999999999999999", Fraction { negative: false }),
    ];
    for (text, expected) in cases {
        assert_eq!(raw(text).as_number(), Some(expected), "{text}");
        let integer = if let Integer(value) = expected { Some(value) } else { None };
        assert_eq!(raw(text).as_integer(), integer, "{text}");
    }
    let zeros = "0".repeat(10_000);
    assert_eq!(raw(&format!("1.{zeros}")).as_integer(), Some(1));
    assert_eq!(raw(&format!("1{zeros}e-10000")).as_integer(), Some(1));
    assert_eq!(raw(&format!("1.{zeros}1")).as_number(), Some(Fraction { negative: false }));
    assert_eq!(raw("\"1\"").as_number(), None);
}

#[test]
fn the_last_duplicate_counts() {
    let value = raw(r#"{"a":1,"b":2,"\u0061":3}"#);
    assert_eq!(value.get("a").unwrap().text(), "3");
    assert_eq!(value.get("b").unwrap().text(), "2");
    assert_eq!(value.get("c"), None);
    let keys: Vec<_> =
        value.members().map(|(key, value)| (key.decode().into_owned(), value.text())).collect();
    assert_eq!(keys, [("a".into(), "1"), ("b".into(), "2"), ("a".into(), "3")]);
}

#[test]
fn strings_compare_by_what_they_stand_for() {
    let text = |text| raw(text).as_str().unwrap();
    assert!(text(r#""\u0032026-07-28""#).eq_str("2026-07-28"));
    assert!(!text(r#""\\u0032026-07-28""#).eq_str("2026-07-28"));
    assert!(!text(r#""2026-07-28 ""#).eq_str("2026-07-28"));
    assert_eq!(text(r#""\/\ud83D\ude00""#), text("\"/😀\""));
    assert_ne!(text(r#""\n""#), text(r#""n""#));
    assert_eq!(text(r#""\ud800x\udc00""#).decode(), "\u{fffd}x\u{fffd}");
    assert_eq!(text(r#""\ud800\ud800\udc00""#).decode(), "\u{fffd}\u{10000}");
}

#[test]
fn nesting_is_bounded_and_takes_no_stack() {
    for (open, close, step) in [("[", "]", 1), (r#"{"a":"#, "}", 5)] {
        let nested = |levels: usize| format!("{}0{}", open.repeat(levels), close.repeat(levels));
        assert_eq!(read(nested(128).as_bytes()).1.count(), 0);
        for levels in [129, 100_000] {
            let text = nested(levels);
            let (value, issues) = read(text.as_bytes());
            assert_eq!(value, None);
            assert_eq!((issues.issues()[0].id, issues.issues()[0].offset), (IssueId::TooDeep, 128 * step));
            assert_eq!(pointer_at(text.as_bytes(), open.len() * levels).matches('/').count(), 128);
        }
        let limits = Limits { depth: usize::MAX, ..Limits::DEFAULT };
        let mut issues = IssueSink::new();
        assert!(check(nested(1024).as_bytes(), &limits, &mut issues).is_some());
        assert!(check(nested(1025).as_bytes(), &limits, &mut issues).is_none());
        // Each level knows what it is: a wrong bracket is seen at any depth.
        let wrong = nested(1024).replacen("0", if close == "]" { "0}" } else { "0]" }, 1);
        issues.clear();
        assert!(check(wrong.as_bytes(), &limits, &mut issues).is_none());
        assert_eq!(issues.issues()[0].offset as usize, 1024 * open.len() + 1);
    }
}

#[test]
fn pointers_name_keys_values_and_what_is_between() {
    let text = r#" {"a/b":[10, {"~":null}], "c" : NaN"#;
    let cases = [
        ("{", ""),
        (r#""a/b""#, "/a~1b"),
        ("[", "/a~1b"),
        ("10", "/a~1b/0"),
        (", {", "/a~1b"),
        (r#""~""#, "/a~1b/1/~0"),
        ("null", "/a~1b/1/~0"),
        (", \"c", ""),
        ("NaN", "/c"),
    ];
    for (at, pointer) in cases {
        assert_eq!(pointer_at(text.as_bytes(), text.find(at).unwrap()), pointer, "{at}");
    }
    assert_eq!(pointer_at(text.as_bytes(), text.len()), "");
    assert_eq!(pointer_at("\u{feff}[1]".as_bytes(), 4), "/0");
}
