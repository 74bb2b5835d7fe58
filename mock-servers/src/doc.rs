//! A document tree that can hold what a JSON value cannot: members in order and twice, numbers and values as raw text.
//!
//! It is taken apart only where an edit goes: the rest of an answer is written as it was read.

use std::borrow::Cow;

use mcp_parley_negotiation::json::{Kind, Raw, write_string};
use serde_json::Value;

use crate::persona::ValueKind;

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doc {
    /// Bytes that are written as they stand: numbers, words, strings with their quotes and escapes, or anything at all.
    Raw(Vec<u8>),
    /// The valid text of an array or object that no edit has gone into, without white space around it.
    Whole(Vec<u8>),
    /// An array.
    Array(Vec<Doc>),
    /// An object: names are the text between the quotes.
    Object(Vec<(String, Doc)>),
}

impl Doc {
    /// From JSON text that is known to be valid.
    pub fn from_raw(raw: Raw<'_>) -> Self {
        match raw.kind() {
            Kind::Array | Kind::Object => Self::Whole(raw.text().into()),
            _ => Self::raw(raw.text()),
        }
    }

    /// Takes the outermost array or object apart.
    fn open(&mut self) {
        let Self::Whole(text) = self else { return };
        let Ok(text) = std::str::from_utf8(text) else { return };
        let raw = Raw::of_valid(text);
        *self = match raw.kind() {
            Kind::Array => Self::Array(raw.elements().map(Self::from_raw).collect()),
            _ => Self::Object(
                raw.members().map(|(name, value)| (name.raw().to_owned(), Self::from_raw(value))).collect(),
            ),
        };
    }

    /// A string.
    pub fn string(text: &str) -> Self {
        let mut out = Vec::new();
        write_string(&mut out, text);
        Self::Raw(out)
    }

    /// Bytes that are written as they stand.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self::Raw(bytes.into())
    }

    /// `null`.
    pub fn null() -> Self {
        Self::raw("null")
    }

    /// Writes it.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Raw(bytes) | Self::Whole(bytes) => out.extend_from_slice(bytes),
            Self::Array(items) => {
                out.push(b'[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    item.write(out);
                }
                out.push(b']');
            }
            Self::Object(members) => {
                out.push(b'{');
                for (at, (name, value)) in members.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    out.push(b'"');
                    out.extend_from_slice(name.as_bytes());
                    out.extend_from_slice(b"\":");
                    value.write(out);
                }
                out.push(b'}');
            }
        }
    }

    /// The node at a JSON pointer; of members that stand twice, the last.
    pub fn at(&mut self, pointer: &str) -> Option<&mut Self> {
        steps(pointer).try_fold(self, |node, step| node.child(&step))
    }

    fn child(&mut self, step: &str) -> Option<&mut Self> {
        self.open();
        match self {
            Self::Object(members) => {
                members.iter_mut().rfind(|(name, _)| name == step).map(|(_, value)| value)
            }
            Self::Array(items) => items.get_mut(step.parse::<usize>().ok()?),
            Self::Raw(_) | Self::Whole(_) => None,
        }
    }

    /// Puts a value at a JSON pointer. Objects that are missing on the way are made; a raw value on the way is replaced.
    pub fn set(&mut self, pointer: &str, value: Self) {
        let mut node = self;
        for step in steps(pointer) {
            node.open();
            if let (Self::Array(items), Ok(at)) = (&*node, step.parse::<usize>())
                && at < items.len()
            {
                let Self::Array(items) = node else { return };
                let Some(item) = items.get_mut(at) else { return };
                node = item;
                continue;
            }
            if !matches!(node, Self::Object(_)) {
                *node = Self::Object(Vec::new());
            }
            let Self::Object(members) = node else { return };
            let at = members.iter().rposition(|(name, _)| **name == *step).unwrap_or_else(|| {
                members.push((step.into_owned(), Self::null()));
                members.len() - 1
            });
            let Some((_, member)) = members.get_mut(at) else { return };
            node = member;
        }
        *node = value;
    }

    /// Takes the value at a JSON pointer out; does nothing if there is none.
    pub fn omit(&mut self, pointer: &str) {
        self.edit_parent(pointer, |parent, step| match parent {
            Self::Object(members) => members.retain(|(name, _)| name != step),
            Self::Array(items) => {
                if let Some(at) = step.parse::<usize>().ok().filter(|at| *at < items.len()) {
                    items.remove(at);
                }
            }
            Self::Raw(_) | Self::Whole(_) => {}
        });
    }

    /// Makes the member at a JSON pointer stand twice.
    pub fn double(&mut self, pointer: &str) {
        self.edit_parent(pointer, |parent, step| {
            if let Self::Object(members) = parent
                && let Some(at) = members.iter().rposition(|(name, _)| name == step)
                && let Some(member) = members.get(at).cloned()
            {
                members.insert(at, member);
            }
        });
    }

    /// Makes the value at a JSON pointer the nearest one of another type; does nothing if there is none.
    pub fn retype(&mut self, pointer: &str, kind: ValueKind) {
        let Some(value) = self.at(pointer) else { return };
        let retyped = match kind {
            ValueKind::Array => Self::Array(vec![value.clone()]),
            ValueKind::Boolean => Self::raw("true"),
            ValueKind::Null => Self::null(),
            ValueKind::Number => value.spelt().unwrap_or_else(|| Self::raw("0")),
            ValueKind::Object => Self::Object(Vec::new()),
            ValueKind::String => Self::string(&value.text()),
        };
        self.set(pointer, retyped);
    }

    /// The JSON text; of a string, what stands between its quotes.
    fn text(&self) -> String {
        let mut bytes = Vec::new();
        self.write(&mut bytes);
        let inner = bytes.strip_prefix(b"\"").and_then(|bytes| bytes.strip_suffix(b"\""));
        String::from_utf8_lossy(inner.unwrap_or(&bytes)).into_owned()
    }

    /// The integer that a string spells.
    fn spelt(&self) -> Option<Self> {
        Some(Self::raw(self.text().parse::<i64>().ok()?.to_string()))
    }

    /// Gives the member at a JSON pointer another name; of members that stand twice, the last.
    pub fn rename(&mut self, pointer: &str, to: &str) {
        self.rename_raw(pointer, &in_quotes(to));
    }

    /// The same, with the name as it is to stand between the quotes.
    pub fn rename_raw(&mut self, pointer: &str, name: &str) {
        self.edit_parent(pointer, |parent, step| {
            if let Self::Object(members) = parent
                && let Some((old, _)) = members.iter_mut().rfind(|(old, _)| old == step)
            {
                name.clone_into(old);
            }
        });
    }

    fn edit_parent(&mut self, pointer: &str, edit: impl FnOnce(&mut Self, &str)) {
        let Some((parent, last)) = pointer.rsplit_once('/') else { return };
        let Some(node) = self.at(parent) else { return };
        node.open();
        edit(node, &in_quotes(&unescaped(last)));
    }
}

/// The steps of a JSON pointer, as names stand between quotes.
fn steps(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    pointer.split('/').skip(1).map(|step| match unescaped(step) {
        Cow::Borrowed(step) => in_quotes(step),
        Cow::Owned(step) => Cow::Owned(in_quotes(&step).into_owned()),
    })
}

/// A step of a JSON pointer without the escapes of pointers.
fn unescaped(step: &str) -> Cow<'_, str> {
    if step.contains('~') {
        Cow::Owned(step.replace("~1", "/").replace("~0", "~"))
    } else {
        Cow::Borrowed(step)
    }
}

/// A name as it stands between quotes.
fn in_quotes(name: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
    if name.bytes().all(is_plain) {
        return Cow::Borrowed(name);
    }
    let mut out = Vec::new();
    write_string(&mut out, name);
    let text = String::from_utf8(out).unwrap_or_default();
    Cow::Owned(text.get(1..text.len().saturating_sub(1)).unwrap_or_default().to_owned())
}

/// True if a raw value of a message equals a value of persona data; numbers as integers where they are some.
pub(crate) fn equals(raw: Raw<'_>, value: &Value) -> bool {
    match value {
        Value::String(text) => raw.as_str().is_some_and(|own| own.eq_str(text)),
        Value::Number(number) if number.as_i64().is_some() => raw.as_integer() == number.as_i64(),
        other => serde_json::from_str::<Value>(raw.text()).is_ok_and(|own| own == *other),
    }
}

/// The value of a message at a JSON pointer.
pub(crate) fn find<'a>(message: Raw<'a>, pointer: &str) -> Option<Raw<'a>> {
    let mut node = message;
    for step in pointer.split('/').skip(1) {
        let step = unescaped(step);
        node = match node.kind() {
            Kind::Object => node.get(&step)?,
            Kind::Array => node.elements().nth(step.parse().ok()?)?,
            _ => return None,
        };
    }
    Some(node)
}
