//! A second reader of replies, on serde visitors: slow, plain, and without a line in common with the first.

use std::fmt;

use mcp_parley_negotiation::version::{Preferences, ProtocolVersion};
use serde::Deserializer as _;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The members of an object in order, if it is one.
fn members(text: &str) -> Option<Vec<(String, &str)>> {
    struct Members;
    impl<'de> Visitor<'de> for Members {
        type Value = Vec<(String, &'de str)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = Vec::new();
            while let Some((key, value)) = map.next_entry::<String, &RawValue>()? {
                members.push((key, value.get()));
            }
            Ok(members)
        }
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let members = reader.deserialize_map(Members).ok()?;
    reader.end().ok().map(|()| members)
}

/// The elements of an array, if it is one.
fn elements(text: &str) -> Option<Vec<&str>> {
    struct Elements;
    impl<'de> Visitor<'de> for Elements {
        type Value = Vec<&'de str>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            let mut elements = Vec::new();
            while let Some(value) = seq.next_element::<&RawValue>()? {
                elements.push(value.get());
            }
            Ok(elements)
        }
    }
    serde_json::Deserializer::from_str(text).deserialize_seq(Elements).ok()
}

fn string(text: &str) -> Option<String> {
    serde_json::from_str(text).ok()
}

/// Exact for the numbers that the tests use: those beyond 2^53 have no fraction and no exponent, or are far beyond 64 bits.
#[derive(PartialEq)]
enum Number {
    Integer(i64),
    Huge(bool),
    Fraction,
}

fn number(text: &str) -> Option<Number> {
    let float: f64 =
        text.parse().ok().filter(|_| !text.starts_with(|first: char| first.is_ascii_alphabetic()))?;
    Some(match text.parse::<i64>() {
        Ok(value) => Number::Integer(value),
        Err(_) if float.abs() >= 9e15 => Number::Huge(float < 0.0),
        Err(_) if float.fract() == 0.0 => Number::Integer(float as i64),
        Err(_) => Number::Fraction,
    })
}

fn last<'a>(members: &[(String, &'a str)], name: &str) -> Option<&'a str> {
    members.iter().rev().find(|(key, _)| key == name).map(|(_, value)| *value)
}

/// What a reply says, as a line of text.
pub(crate) fn classify(bytes: &[u8], preferences: &Preferences) -> String {
    let text = std::str::from_utf8(bytes).ok();
    let Some(reply) = text.and_then(members) else { return "Absent NotAMessage".into() };
    let get = |name| last(&reply, name);
    let id = id(get("id"));
    let method = get("method").and_then(string);
    let (result, error) = (get("result"), get("error"));
    let right = get("jsonrpc").and_then(string).is_some_and(|version| version == "2.0");
    match (get("method"), method) {
        (Some(_), Some(method)) if result.or(error).is_none() => {
            let kind = if get("id").is_some() { "Request" } else { "Notification" };
            return format!("{id} {kind} {method}");
        }
        (Some(_), None) if result.or(error).is_none() => return "Absent NotAMessage".into(),
        // Neither an outcome nor both of the others: nobody means it as a response.
        (None, None) if result.or(error).or(get("id").and(get("jsonrpc"))).is_none() => {
            return "Absent NotAMessage".into();
        }
        (None, _) if right => {}
        _ => return format!("{id} Broken"),
    }
    let kind = match (result, error) {
        (Some(result), None) => members(result).map(|result| discovered(&result, preferences)),
        (None, Some(error)) => members(error).and_then(|error| refused(&error, preferences)),
        _ => None,
    };
    format!("{id} {}", kind.unwrap_or_else(|| "Broken".into()))
}

fn id(id: Option<&str>) -> String {
    let Some(id) = id else { return "Absent".into() };
    match (string(id), number(id)) {
        (Some(text), _) => format!("{text:?}"),
        (_, Some(Number::Integer(value))) => value.to_string(),
        _ if id == "null" => "Null".into(),
        _ => format!("Other({id})"),
    }
}

fn discovered(result: &[(String, &str)], preferences: &Preferences) -> String {
    let get = |name| last(result, name);
    let kind = match (get("resultType"), get("resultType").and_then(string)) {
        (None, _) => "Absent".into(),
        (_, Some(text)) if text == "complete" => "Complete".into(),
        (_, Some(text)) if text == "input_required" => "InputRequired".into(),
        (_, Some(text)) => format!("Unknown({text})"),
        (Some(text), None) => format!("WrongType({text})"),
    };
    let Some(versions) = get("supportedVersions").and_then(elements) else {
        return format!("OtherResult {kind}");
    };
    let (ttl, ttl_fine) = match (get("ttlMs"), get("ttlMs").and_then(number)) {
        (None, _) => (0, true),
        (_, Some(Number::Integer(value))) => (u64::try_from(value).unwrap_or(0), true),
        (_, Some(Number::Huge(negative))) => (if negative { 0 } else { u64::MAX }, true),
        _ => (0, false),
    };
    let scope_fine = match (get("cacheScope"), get("cacheScope").and_then(string)) {
        (None, _) => kind == "InputRequired",
        (_, scope) => scope.is_some_and(|scope| scope == "public" || scope == "private"),
    };
    let capabilities = get("capabilities").filter(|text| members(text).is_some()).unwrap_or("-");
    let fine = ttl_fine && scope_fine;
    format!("Discovered {} {kind} {ttl} {fine} {capabilities}", listed(&versions, preferences))
}

fn refused(error: &[(String, &str)], preferences: &Preferences) -> Option<String> {
    let Some(Number::Integer(code)) = number(last(error, "code")?) else { return None };
    Some(match code {
        -32022 => {
            let data = last(error, "data").and_then(members);
            let versions = data.and_then(|data| last(&data, "supported")).and_then(elements);
            let well = versions
                .as_ref()
                .is_some_and(|list| !list.is_empty() && list.iter().all(|version| string(version).is_some()));
            format!("UnsupportedVersion {} {well}", listed(&versions.unwrap_or_default(), preferences))
        }
        -32021 | -32020 => format!("ModernError {code}"),
        _ => format!("OtherError {code}"),
    })
}

/// The best modern and legacy version, how many strings, and all modern ones.
fn listed(list: &[&str], preferences: &Preferences) -> String {
    let strings: Vec<String> = list.iter().filter_map(|text| string(text)).collect();
    let places = |ours: &[ProtocolVersion]| -> Vec<usize> {
        let is_listed = |at: &usize| strings.iter().any(|version| version == ours[*at].as_str());
        (0..ours.len()).filter(is_listed).collect()
    };
    let (modern, legacy) = (places(&preferences.modern), places(&preferences.legacy));
    format!("{:?} {:?} {} {modern:?}", modern.first(), legacy.first(), strings.len())
}
