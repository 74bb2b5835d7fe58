//! The oracle's own JSON reader: bytes to a flat tree in an arena that is reused from message to message and run to run.
//!
//! It shares nothing with the reader on trial. Duplicate members, their order, and the raw text of numbers and strings
//! are kept; where a value is asked for by name, the last duplicate wins.

mod decimal;
mod memory;
mod read;

use std::borrow::Cow;

pub(crate) use decimal::Decimal;
use memory::Memory;
use read::Reader;
pub(crate) use read::equal;

/// More values in one message are not read, for the same reason.
const VALUES_PER_MESSAGE: usize = 1 << 16;
/// More values in one run are not read.
const VALUES: usize = 1 << 20;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

/// One value. Positions are in the text that was read; those of strings leave the quotes out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) kind: Type,
    escaped: bool,
    key_escaped: bool,
    start: u32,
    end: u32,
    key_start: u32,
    key_end: u32,
    /// The node after this one and all that it holds.
    next: u32,
}

/// A value's place in its [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At(u32);

/// Why a text was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is no JSON text; the offset of the first byte that says so.
    NotJson(u32),
    /// It ends before its value does.
    Unfinished,
    /// It is past a limit of this reader and may well be JSON.
    TooMuch,
}

/// All values of a run.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    memory: Memory,
}

impl Tree {
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
    }

    /// Reads `text[start..end]` as one JSON text with nothing after it.
    pub(crate) fn read(&mut self, text: &[u8], start: u32, end: u32) -> Result<At, Refusal> {
        let line = text.get(start as usize..end as usize).unwrap_or_default();
        let first = self.nodes.len() as u32;
        if self.nodes.len() + memory::VALUES <= VALUES && self.memory.recall(line, start, &mut self.nodes) {
            return Ok(At(first));
        }
        let (root, stop) = self.read_value(text, start, end)?;
        let rest = text.get(stop as usize..end as usize).unwrap_or_default();
        match rest.iter().position(|byte| !is_blank(*byte)) {
            None => {
                let nodes = self.nodes.get(first as usize..).unwrap_or_default();
                self.memory.keep(line, start, nodes, first);
                Ok(root)
            }
            Some(at) => {
                self.nodes.truncate(root.0 as usize);
                Err(Refusal::NotJson(stop + at as u32))
            }
        }
    }

    /// Reads one value from the beginning of `text[start..end]`; also says where it stopped.
    pub(crate) fn read_value(&mut self, text: &[u8], start: u32, end: u32) -> Result<(At, u32), Refusal> {
        let root = self.nodes.len();
        let limit = (root + VALUES_PER_MESSAGE).min(VALUES);
        let line = text.get(..end as usize).unwrap_or_default();
        if let Err(error) = std::str::from_utf8(line.get(start as usize..).unwrap_or_default()) {
            return Err(Refusal::NotJson(start + error.valid_up_to() as u32));
        }
        let mut reader = Reader::new(line, start, &mut self.nodes, limit);
        let result = reader.value();
        let stop = reader.at();
        match result {
            Ok(()) => Ok((At(root as u32), stop)),
            Err(refusal) => {
                self.nodes.truncate(root);
                Err(refusal)
            }
        }
    }

    /// A place is only ever made by this tree; the fallback keeps a stale one harmless.
    fn node(&self, at: At) -> &Node {
        const NOWHERE: Node = Node {
            kind: Type::Null,
            escaped: false,
            key_escaped: false,
            start: 0,
            end: 0,
            key_start: 0,
            key_end: 0,
            next: u32::MAX,
        };
        self.nodes.get(at.0 as usize).unwrap_or(&NOWHERE)
    }

    pub(crate) fn kind(&self, at: At) -> Type {
        self.node(at).kind
    }

    /// The values directly inside an array or object, in order, duplicates included.
    pub(crate) fn children(&self, at: At) -> Children<'_> {
        let node = self.node(at);
        let inside = matches!(node.kind, Type::Array | Type::Object);
        let end = if inside { node.next } else { at.0 };
        Children { tree: self, at: at.0 + u32::from(inside), end }
    }

    /// The member of that name; the last one, if it is there several times.
    pub(crate) fn get(&self, text: &[u8], at: At, name: &str) -> Option<At> {
        if self.kind(at) != Type::Object {
            return None;
        }
        self.children(at).filter(|child| self.is_key(text, *child, name)).last()
    }

    pub(crate) fn is_key(&self, text: &[u8], at: At, name: &str) -> bool {
        let node = self.node(at);
        let raw = slice(text, node.key_start, node.key_end);
        if node.key_escaped { unescape(raw) == name } else { raw == name.as_bytes() }
    }

    /// A member's name, decoded.
    pub(crate) fn key<'t>(&self, text: &'t [u8], at: At) -> Cow<'t, [u8]> {
        let node = self.node(at);
        let raw = slice(text, node.key_start, node.key_end);
        if node.key_escaped { Cow::Owned(unescape(raw).into_bytes()) } else { Cow::Borrowed(raw) }
    }

    /// The raw text of a value; a string's without its quotes.
    pub(crate) fn raw<'t>(&self, text: &'t [u8], at: At) -> &'t [u8] {
        let node = self.node(at);
        slice(text, node.start, node.end)
    }

    /// A string, decoded; `None` for any other value.
    pub(crate) fn string<'t>(&self, text: &'t [u8], at: At) -> Option<Cow<'t, str>> {
        let node = self.node(at);
        (node.kind == Type::String).then(|| decode(slice(text, node.start, node.end), node.escaped))
    }

    pub(crate) fn is_string(&self, text: &[u8], at: At, value: &str) -> bool {
        let node = self.node(at);
        node.kind == Type::String
            && if node.escaped {
                unescape(slice(text, node.start, node.end)) == value
            } else {
                slice(text, node.start, node.end) == value.as_bytes()
            }
    }

    pub(crate) fn number<'t>(&self, text: &'t [u8], at: At) -> Option<Decimal<'t>> {
        let node = self.node(at);
        (node.kind == Type::Number).then(|| Decimal::of(slice(text, node.start, node.end)))
    }

    /// Equal in JSON type and decoded value; numbers by exact numeric value. Arrays and objects are never equal.
    pub(crate) fn same_scalar(&self, text: &[u8], a: At, b: At) -> bool {
        let (left, right) = (self.node(a), self.node(b));
        if left.kind != right.kind {
            return false;
        }
        let (x, y) = (slice(text, left.start, left.end), slice(text, right.start, right.end));
        match left.kind {
            Type::Null => true,
            Type::Bool => x == y,
            Type::Number if is_natural(x) && is_natural(y) => x == y,
            Type::Number => Decimal::of(x) == Decimal::of(y),
            Type::String if left.escaped || right.escaped => {
                decode(x, left.escaped) == decode(y, right.escaped)
            }
            Type::String => x == y,
            Type::Array | Type::Object => false,
        }
    }
}

/// See [`Tree::children`].
pub(crate) struct Children<'t> {
    tree: &'t Tree,
    at: u32,
    end: u32,
}

impl Iterator for Children<'_> {
    type Item = At;

    fn next(&mut self) -> Option<At> {
        let at = At(self.at);
        (self.at < self.end).then(|| {
            self.at = self.tree.node(at).next;
            at
        })
    }
}

fn slice(text: &[u8], start: u32, end: u32) -> &[u8] {
    text.get(start as usize..end as usize).unwrap_or_default()
}

/// Digits only: no two of these have the same value, since JSON has no leading zeros.
pub(crate) fn is_natural(raw: &[u8]) -> bool {
    raw.iter().all(u8::is_ascii_digit)
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn decode(raw: &[u8], escaped: bool) -> Cow<'_, str> {
    if escaped {
        Cow::Owned(unescape(raw))
    } else {
        Cow::Borrowed(std::str::from_utf8(raw).unwrap_or_default())
    }
}

/// A lone surrogate has no character; it becomes U+FFFD.
fn unescape(raw: &[u8]) -> String {
    let text = String::from_utf8_lossy(raw);
    let mut out = String::with_capacity(text.len());
    let mut units: Vec<u16> = Vec::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let unit = if c == '\\' {
            match chars.next() {
                Some('u') => {
                    let hex: String = chars.by_ref().take(4).collect();
                    u16::from_str_radix(&hex, 16).ok()
                }
                Some(short) => {
                    flush(&mut units, &mut out);
                    out.push(short_escape(short));
                    continue;
                }
                None => None,
            }
        } else {
            None
        };
        match unit {
            Some(unit) => units.push(unit),
            None => {
                flush(&mut units, &mut out);
                out.push(c);
            }
        }
    }
    flush(&mut units, &mut out);
    out
}

fn flush(units: &mut Vec<u16>, out: &mut String) {
    out.push_str(&String::from_utf16_lossy(units));
    units.clear();
}

fn short_escape(c: char) -> char {
    match c {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        other => other,
    }
}

#[cfg(test)]
mod tests;
