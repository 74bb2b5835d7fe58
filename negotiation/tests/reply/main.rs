//! The classifier: it agrees with a second reader on every reply, chooses by our preferences alone, and reads back what we
//! write.

#![expect(clippy::panic, clippy::unwrap_used, reason = "these helpers are part of the tests")]

mod second;

use std::collections::BTreeMap;

use mcp_parley_negotiation::classify::{
    Discovered, Listed, ReplyKind, ResultType, classify_reply, read_initialize_result, read_result_type,
};
use mcp_parley_negotiation::envelope::{Id, Message, Outcome, Request, Response, read_message};
use mcp_parley_negotiation::issue::{IssueId, IssueSink};
use mcp_parley_negotiation::json::{write_id, write_string};
use mcp_parley_negotiation::limits::Limits;
use mcp_parley_negotiation::meta::{is_reserved_prefix, key_is_valid, read_request_meta, write_request_meta};
use mcp_parley_negotiation::version::{Preferences, ProtocolVersion};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

fn preferences(modern: &[&str], legacy: &[&str]) -> Preferences {
    let versions = |names: &[&str]| names.iter().map(|name| ProtocolVersion::new(name)).collect();
    Preferences { modern: versions(modern), legacy: versions(legacy) }
}

/// One text for each member that may come: absent, once or twice, right or wrong, its name with or without escapes.
fn object(members: Vec<(&'static str, BoxedStrategy<String>)>) -> BoxedStrategy<String> {
    let all: Vec<_> = members.into_iter().map(|(name, value)| member(name, value)).collect();
    let text = |groups: Vec<Vec<String>>| format!("{{{}}}", groups.concat().join(","));
    all.prop_shuffle().prop_map(text).boxed()
}

fn member(name: &'static str, value: BoxedStrategy<String>) -> impl Strategy<Value = Vec<String>> + Clone {
    let escaped = format!("\\u{:04x}{}", u32::from(name.as_bytes()[0]), &name[1..]);
    let name = prop_oneof![9 => Just(name.to_owned()), 1 => Just(escaped)];
    let one = (name, value).prop_map(|(name, value)| format!("\"{name}\": {value}"));
    let count = prop_oneof![1 => Just(0_usize), 12 => Just(1), 1 => Just(2)];
    count.prop_flat_map(move |count| prop::collection::vec(one.clone(), count)).boxed()
}

/// The right value often, any other now and then.
fn mostly(right: &'static [&'static str]) -> BoxedStrategy<String> {
    const ODD: &[&str] = &[
        "null",
        "true",
        "\"\"",
        "\"1\"",
        "0",
        "1",
        "1.0",
        "1e0",
        "1.5",
        "-1",
        "-1e400",
        "1e400",
        "-32022.0",
        "[]",
        "{}",
        "9223372036854775807",
        "9223372036854775808",
        "-32022",
        "-32021",
        "-32601",
    ];
    prop_oneof![8 => select(right), 1 => select(ODD)].prop_map(str::to_owned).boxed()
}

fn versions() -> BoxedStrategy<String> {
    let version = prop_oneof![
        10 => select(vec!["2026-07-28", "2025-11-25", "2025-06-18", "x", "y", r"2026-07-2\u0038", "2026-07-28 "])
            .prop_map(|name| format!("\"{name}\"")),
        1 => mostly(&["7"]),
    ];
    let list = prop::collection::vec(version, 0..6).prop_map(|list| format!("[{}]", list.join(" , ")));
    prop_oneof![8 => list, 1 => mostly(&["{}"])].boxed()
}

fn replies() -> impl Strategy<Value = String> {
    let result = object(vec![
        ("resultType", mostly(&["\"complete\"", "\"input_required\"", "\"task\""])),
        ("supportedVersions", versions()),
        ("capabilities", mostly(&["{\"tools\":{}}"])),
        ("ttlMs", mostly(&["0", "60000"])),
        ("cacheScope", mostly(&["\"public\"", "\"private\""])),
        ("unknown", mostly(&["{\"supportedVersions\":[\"x\"]}"])),
    ]);
    let data = object(vec![("supported", versions()), ("requested", mostly(&["\"x\""]))]);
    let error = object(vec![
        ("code", mostly(&["-32022", "-32020", "-32601"])),
        ("message", mostly(&["\"m\""])),
        ("data", prop_oneof![5 => data, 1 => mostly(&["[]"])].boxed()),
    ]);
    let envelope = |more: Vec<(&'static str, BoxedStrategy<String>)>| {
        let common =
            vec![("jsonrpc", mostly(&["\"2.0\"", r#""\u0032.0""#])), ("id", mostly(&["1", "\"a\""]))];
        object([common, more].concat())
    };
    let result = prop_oneof![9 => result, 1 => mostly(&["[]"])].boxed();
    let error = prop_oneof![9 => error, 1 => mostly(&["null"])].boxed();
    prop_oneof![
        4 => envelope(vec![("result", result.clone())]),
        4 => envelope(vec![("error", error.clone())]),
        1 => envelope(vec![("method", mostly(&["\"ping\""])), ("params", mostly(&["{}"]))]),
        1 => envelope(vec![("result", result), ("error", error), ("method", mostly(&["\"x\""]))]),
    ]
}

fn id_text(id: Id<'_>) -> String {
    match id {
        Id::String(text) => format!("{:?}", text.decode()),
        Id::Integer(value) => value.to_string(),
        Id::Null => "Null".into(),
        Id::Absent => "Absent".into(),
        Id::Other(raw) => format!("Other({})", raw.text()),
    }
}

fn listed_text(listed: Listed) -> String {
    let modern: Vec<usize> = (0..64).filter(|at| listed.modern_set >> at & 1 == 1).collect();
    format!("{:?} {:?} {} {modern:?}", listed.modern, listed.legacy, listed.strings)
}

/// What the classifier says, as the second reader writes it.
fn classify(text: &[u8], preferences: &Preferences) -> String {
    let reply = classify_reply(text, preferences, &Limits::DEFAULT, &mut IssueSink::new());
    let type_text = |result_type| match result_type {
        ResultType::Unknown(name) => format!("Unknown({})", name.decode()),
        ResultType::WrongType(raw) => format!("WrongType({})", raw.text()),
        known => format!("{known:?}"),
    };
    let kind = match reply.kind {
        ReplyKind::Discovered(Discovered { listed, result_type, ttl_ms, hints_fine, capabilities }) => {
            format!(
                "Discovered {} {} {ttl_ms} {hints_fine} {}",
                listed_text(listed),
                type_text(result_type),
                capabilities.map_or("-", |raw| raw.text())
            )
        }
        ReplyKind::UnsupportedVersion(said) => {
            format!("UnsupportedVersion {} {}", listed_text(said.listed), said.well_formed)
        }
        ReplyKind::ModernError(code) => format!("ModernError {code}"),
        ReplyKind::OtherError(code) => format!("OtherError {code}"),
        ReplyKind::OtherResult(result_type) => format!("OtherResult {}", type_text(result_type)),
        ReplyKind::Broken => "Broken".into(),
        ReplyKind::Request(method) => format!("Request {}", method.decode()),
        ReplyKind::Notification(method) => format!("Notification {}", method.decode()),
        ReplyKind::NotAMessage => "NotAMessage".into(),
    };
    format!("{} {kind}", id_text(reply.id))
}

/// The classifier on trial.
type Classifier = fn(&[u8], &Preferences) -> String;

fn readers_agree(classify: Classifier, text: &str) -> Result<(), TestCaseError> {
    let ours = preferences(&["x", "2026-07-28"], &["2025-06-18", "2025-11-25"]);
    prop_assert_eq!(classify(text.as_bytes(), &ours), second::classify(text.as_bytes(), &ours), "{}", text);
    Ok(())
}

fn cut_is_no_message(classify: Classifier, text: &str, at: prop::sample::Index) -> Result<(), TestCaseError> {
    let cut = &text.as_bytes()[..at.index(text.len())];
    prop_assert_eq!(classify(cut, &Preferences::all()), "Absent NotAMessage");
    Ok(())
}

/// What the client offers, how many of it are modern, what the server lists, and what else stands in the list.
type Choice = (Vec<&'static str>, usize, Vec<&'static str>, Vec<(prop::sample::Index, &'static str)>);

fn choices() -> impl Strategy<Value = Choice> {
    let junk = select(vec!["null", "1", "[\"a\"]", "{\"a\":0}", "\"A\""]);
    (
        Just(vec!["a", "b", "c", "d", "e"]).prop_shuffle(),
        0..5_usize,
        prop::collection::vec(select(vec!["a", "b", "c", "d", "e", "f"]), 0..8),
        prop::collection::vec((any::<prop::sample::Index>(), junk), 0..3),
    )
}

/// Places of the versions selected, modern and legacy.
type Selector = fn(&[u8], &Preferences) -> (Option<u16>, Option<u16>);

fn selected(text: &[u8], ours: &Preferences) -> (Option<u16>, Option<u16>) {
    let reply = classify_reply(text, ours, &Limits::DEFAULT, &mut IssueSink::new());
    let ReplyKind::Discovered(found) = reply.kind else { panic!("{}", text.escape_ascii()) };
    (found.listed.modern, found.listed.legacy)
}

/// Whatever the server's order, duplicates and junk: the first of our preferences that it lists.
fn order_decides(select: Selector, (ours, split, list, junk): &Choice) -> Result<(), TestCaseError> {
    let (modern, legacy) = ours.split_at(*split);
    let mut members: Vec<String> = list.iter().map(|name| format!("\"{name}\"")).collect();
    for (at, text) in junk {
        members.insert(at.index(members.len() + 1), (*text).into());
    }
    let first = |ours: &[&str]| ours.iter().position(|name| list.contains(name)).map(|at| at as u16);
    let text =
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"supportedVersions":[{}]}}}}"#, members.join(","));
    prop_assert_eq!(select(text.as_bytes(), &preferences(modern, legacy)), (first(modern), first(legacy)));
    Ok(())
}

fn answered(classify: fn(&[u8], &mut IssueSink) -> bool, bytes: &[u8]) -> Result<(), TestCaseError> {
    let mut issues = IssueSink::new();
    let is_message = classify(bytes, &mut issues);
    prop_assert_eq!(is_message, issues.count() == 0);
    Ok(())
}

fn is_message(bytes: &[u8], issues: &mut IssueSink) -> bool {
    classify_reply(bytes, &Preferences::all(), &Limits::DEFAULT, issues).kind != ReplyKind::NotAMessage
}

/// An id as JSON text, a method, a version, and the client's name and version.
type Written = (String, String, Option<String>, (String, String));

fn requests() -> impl Strategy<Value = Written> {
    let text_id = "[a-z]{0,5}(\\\\u00e9|\\\\n)?".prop_map(|id| format!("\"{id}\""));
    let id = prop_oneof![any::<i64>().prop_map(|id| id.to_string()), text_id];
    (id, any::<String>(), proptest::option::of(any::<String>()), (any::<String>(), any::<String>()))
}

type MetaWriter = fn(&mut Vec<u8>, Option<&str>, &str, &str, &str);

fn request_reads_back(
    write_meta: MetaWriter,
    (id, method, version, client): &Written,
) -> Result<(), TestCaseError> {
    let source = format!(r#"{{"jsonrpc":"2.0","method":"","id":{id}}}"#);
    let mut issues = IssueSink::new();
    let Message::Request(read) = read_message(source.as_bytes(), &Limits::DEFAULT, &mut issues) else {
        panic!("{source}")
    };
    let mut out = br#"{"jsonrpc":"2.0","id":"#.to_vec();
    write_id(&mut out, &read.id);
    out.extend_from_slice(b",\"method\":");
    write_string(&mut out, method);
    out.extend_from_slice(b",\"params\":{");
    write_meta(&mut out, version.as_deref(), &client.0, &client.1, r#"{"roots":{}}"#);
    out.extend_from_slice(b"}}");
    let Message::Request(request) = read_message(&out, &Limits::DEFAULT, &mut issues) else {
        panic!("{}", out.escape_ascii())
    };
    let kept = format!("\"id\":{id},");
    prop_assert!(std::str::from_utf8(&out).unwrap().contains(&kept));
    prop_assert_eq!(request.id, read.id);
    prop_assert!(request.method.eq_str(method));
    let meta = read_request_meta(&out, request.params, &mut issues);
    prop_assert_eq!(meta.version.map(|version| version.decode().into_owned()), version.clone());
    let info = |name| meta.client_info.unwrap().get(name).unwrap().as_str().unwrap();
    prop_assert!(info("name").eq_str(&client.0) && info("version").eq_str(&client.1));
    prop_assert_eq!(meta.capabilities.unwrap().text(), r#"{"roots":{}}"#);
    prop_assert!(meta.present && meta.log_level_fine && meta.capabilities_present);
    let expected: &[IssueId] = if version.is_some() { &[] } else { &[IssueId::MetaVersionMissing] };
    prop_assert_eq!(issues.issues().iter().map(|issue| issue.id).collect::<Vec<_>>(), expected);
    Ok(())
}

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..100)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn both_readers_agree(text in replies()) {
        readers_agree(classify, &text)?;
    }

    #[test]
    fn a_cut_reply_is_no_message(text in replies(), at in any::<prop::sample::Index>()) {
        cut_is_no_message(classify, &text, at)?;
    }

    #[test]
    fn our_order_decides(choice in choices()) {
        order_decides(selected, &choice)?;
    }

    #[test]
    fn any_bytes_have_an_answer(bytes in any_bytes()) {
        answered(is_message, &bytes)?;
    }

    #[test]
    fn a_written_request_reads_back(written in requests()) {
        request_reads_back(write_request_meta, &written)?;
    }
}

#[track_caller]
fn fails<S: Strategy>(inputs: S, property: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = ProptestConfig { max_shrink_iters: 0, ..ProptestConfig::default() };
    TestRunner::new(config).run(&inputs, property).unwrap_err();
}

#[test]
fn a_classifier_that_errs_is_noticed_by_every_property() {
    let no_modern_errors: Classifier = |text, ours| classify(text, ours).replace("ModernError", "OtherError");
    fails(replies(), |text| readers_agree(no_modern_errors, &text));
    let completes: Classifier = |text, ours| classify(&[text, b"}"].concat(), ours);
    let cut = (replies(), any::<prop::sample::Index>());
    fails(cut, |(text, at)| cut_is_no_message(completes, &text, at));
    let newest_name: Selector = |text, ours| {
        let sorted = |list: &[ProtocolVersion]| {
            let mut list = list.to_vec();
            list.sort();
            list.into()
        };
        selected(text, &Preferences { modern: sorted(&ours.modern), legacy: sorted(&ours.legacy) })
    };
    fails(choices(), |choice| order_decides(newest_name, &choice));
    fails(any_bytes(), |bytes| answered(|bytes, _| is_message(bytes, &mut IssueSink::new()), &bytes));
    let no_version: MetaWriter =
        |out, _, name, version, all| write_request_meta(out, None, name, version, all);
    fails(requests(), |written| request_reads_back(no_version, &written));
}

#[test]
fn the_replies_above_are_of_every_kind() {
    let mut runner = TestRunner::deterministic();
    let mut seen = BTreeMap::new();
    for _ in 0..2000 {
        let text = replies().new_tree(&mut runner).unwrap().current();
        let said = classify(text.as_bytes(), &Preferences::all());
        let kind = said.split(' ').find(|word| KINDS.contains(word)).unwrap_or_default().to_owned();
        *seen.entry(kind).or_insert(0) += 1;
    }
    assert!(KINDS.iter().all(|kind| seen.get(*kind).is_some_and(|count| *count > 10)), "{seen:?}");
}

const KINDS: [&str; 9] = [
    "Discovered",
    "UnsupportedVersion",
    "ModernError",
    "OtherError",
    "OtherResult",
    "Broken",
    "Request",
    "Notification",
    "NotAMessage",
];

#[test]
fn an_id_is_of_the_type_that_it_was_written_in() {
    let read = |text: &str| {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{text},"result":{{}}}}"#);
        match read_message(text.as_bytes(), &Limits::DEFAULT, &mut IssueSink::new()) {
            Message::Response(Response { id, .. }) => id_text(id),
            other => panic!("{other:?}"),
        }
    };
    let ids = ["1", "1.0", "1e0", "\"1\"", "1.5", "null", "true", "\"\\u0031\""].map(read);
    assert_eq!(ids, ["1", "1", "1", "\"1\"", "Other(1.5)", "Null", "Other(true)", "\"1\""]);
}

#[test]
fn an_id_is_written_as_it_was_read() {
    for (text, written) in [
        (r#""\u0061\/""#, r#""\u0061\/""#),
        ("1.0", "1"),
        ("1.5", "1.5"),
        ("null", "null"),
        ("-9223372036854775808", "-9223372036854775808"),
    ] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{text},"method":"x"}}"#);
        let message = read_message(text.as_bytes(), &Limits::DEFAULT, &mut IssueSink::new());
        let Message::Request(Request { id, .. }) = message else { panic!("{message:?}") };
        let mut out = Vec::new();
        write_id(&mut out, &id);
        assert_eq!(String::from_utf8(out).unwrap(), written);
    }
}

#[test]
fn a_message_behind_a_mark_or_with_half_a_character_is_read() {
    let text = "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"\\udead\"}}\r";
    let mut issues = IssueSink::new();
    let message = read_message(text.as_bytes(), &Limits::DEFAULT, &mut issues);
    let Message::Response(Response { id: Id::Integer(1), outcome: Outcome::Error(error) }) = message else {
        panic!("{message:?}")
    };
    assert_eq!((error.code, &*error.message.unwrap().decode()), (1, "\u{fffd}"));
    let ids: Vec<_> = issues.issues().iter().map(|issue| (issue.id, issue.offset as usize)).collect();
    let half = text.find("\\udead").unwrap();
    let end = text.len() - 1;
    assert_eq!(
        ids,
        [(IssueId::ByteOrderMark, 0), (IssueId::CarriageReturn, end), (IssueId::LoneSurrogate, half)]
    );
}

#[test]
fn the_answer_to_initialize_and_result_types() {
    let text = br#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-\u00311-25","capabilities":[],"resultType":"x"}}"#;
    let message = read_message(text, &Limits::DEFAULT, &mut IssueSink::new());
    let Message::Response(Response { outcome: Outcome::Result(result), .. }) = message else {
        panic!("{message:?}")
    };
    let read = read_initialize_result(text, result, &mut IssueSink::new());
    assert!(read.version.unwrap().eq_str("2025-11-25"));
    assert_eq!(read.capabilities, None);
    assert!(matches!(read_result_type(result), ResultType::Unknown(name) if name.eq_str("x")));
}

#[test]
fn meta_keys_follow_the_grammar() {
    let valid = [
        "",
        "a",
        "a.b_c-d",
        "traceparent",
        "io.modelcontextprotocol/protocolVersion",
        "a/",
        "a-1.b/x",
        "com.example.mcp/1",
    ];
    let invalid = ["-a", "a.", "a b", "é", "/a", "a./b", "1a/b", "a-/b", "a_b/c", "a/b/c", ".a/b", "a/-"];
    assert_eq!(valid.map(key_is_valid), [true; 8]);
    assert_eq!(invalid.map(key_is_valid), [false; 12]);
    let reserved =
        ["io.modelcontextprotocol/x", "dev.mcp/", "org.modelcontextprotocol.api/x", "com.mcp.tools/x"];
    let free = ["com.example.mcp/x", "mcp/x", "mcp", "io.modelcontextprotocol", "io.MCP/x"];
    assert_eq!(reserved.map(is_reserved_prefix), [true; 4]);
    assert_eq!(free.map(is_reserved_prefix), [false; 5]);
}
