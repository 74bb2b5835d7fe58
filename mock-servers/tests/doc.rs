//! The document tree: what it writes is what it read, and an edit touches what it names only.

#![expect(clippy::unwrap_used, reason = "these helpers are part of the tests")]

use mcp_parley_mock_servers::Doc;
use mcp_parley_negotiation::issue::IssueSink;
use mcp_parley_negotiation::json;
use mcp_parley_negotiation::limits::Limits;
use proptest::prelude::*;
use serde_json::Value;

fn read(text: &str) -> Doc {
    Doc::from_raw(json::check(text.as_bytes(), &Limits::DEFAULT, &mut IssueSink::new()).unwrap())
}

fn written(doc: &Doc) -> String {
    let mut out = Vec::new();
    doc.write(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn it_keeps_what_a_value_cannot() {
    for text in [
        r#"{"b":1,"a":2,"b":3}"#,
        r#"[1.0,1e0,-0,99999999999999999999,0.1000]"#,
        r#"{"\u0061\/":"\ud800"}"#,
        r#""""#,
    ] {
        assert_eq!(written(&read(text)), text);
    }
    let blanks = "{ \"a\" : [ 1 , { } ] , \"b\":\t{ \"c\" : 2 } }";
    let mut doc = read(&format!(" {blanks} "));
    assert_eq!(written(&doc), blanks);
    doc.omit("/b/c");
    assert_eq!(written(&doc), r#"{"a":[ 1 , { } ],"b":{}}"#);
    let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
    assert_eq!(written(&read(&deep)), deep);
}

#[test]
fn of_members_that_stand_twice_the_last_is_meant() {
    let mut doc = read(r#"{"a":1,"a":2}"#);
    assert_eq!(doc.at("/a"), Some(&mut Doc::raw("2")));
    doc.set("/a", Doc::string("x"));
    doc.rename("/a", "b");
    assert_eq!(written(&doc), r#"{"a":1,"b":"x"}"#);
    doc.double("/a");
    assert_eq!(written(&doc), r#"{"a":1,"a":1,"b":"x"}"#);
    doc.omit("/a");
    assert_eq!(written(&doc), r#"{"b":"x"}"#);
}

#[test]
fn places_that_are_not_there() {
    let text = r#"{"a":[1],"b":2}"#;
    for place in ["/c", "/a/1", "/a/x", "/b/c", "/c/d", ""] {
        let mut doc = read(text);
        assert_eq!(doc.at(place).is_some(), place.is_empty(), "{place}");
        doc.omit(place);
        doc.double(place);
        doc.rename(place, "x");
        assert_eq!(written(&doc), text, "{place}");
    }
    let mut doc = read(text);
    doc.set("/b/c", Doc::null());
    doc.set("/d~1/e~0", Doc::null());
    assert_eq!(written(&doc), r#"{"a":[1],"b":{"c":null},"d/":{"e~":null}}"#);
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has no other", |number| number.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn pointer(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

proptest! {
    #[test]
    fn what_is_written_is_what_was_read(value in value()) {
        let text = value.to_string();
        let doc = read(&text);
        prop_assert_eq!(&written(&doc), &text);
        let mut opened = doc.clone();
        prop_assert!(opened.at("/no such/place").is_none());
        prop_assert_eq!(&written(&opened), &text);
    }

    #[test]
    fn an_edit_touches_one_member(
        members in proptest::collection::btree_map(any::<String>(), any::<i64>(), 1..6),
        at in any::<prop::sample::Index>(),
        name in any::<String>(),
    ) {
        let all = Value::Object(members.iter().map(|(name, value)| (name.clone(), Value::from(*value))).collect());
        let (chosen, _) = members.iter().nth(at.index(members.len())).unwrap();
        let edited = |edit: &dyn Fn(&mut Doc)| {
            let mut doc = read(&all.to_string());
            edit(&mut doc);
            serde_json::from_str::<Value>(&written(&doc)).unwrap()
        };
        let mut expected = all.clone();
        expected[chosen] = Value::from("x");
        prop_assert_eq!(edited(&|doc| doc.set(&pointer(chosen), Doc::string("x"))), expected.clone());
        let value = expected.as_object_mut().unwrap().remove(chosen).unwrap();
        prop_assert_eq!(edited(&|doc| doc.omit(&pointer(chosen))), expected.clone());
        prop_assert_eq!(edited(&|doc| doc.double(&pointer(chosen))), all.clone());
        if !members.contains_key(&name) {
            expected[&name] = all[chosen].clone();
            prop_assert_eq!(edited(&|doc| doc.rename(&pointer(chosen), &name)), expected);
        }
        drop(value);
    }
}
