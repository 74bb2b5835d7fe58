//! Reading JSON without building a tree: raw slices, members in order, offsets.
//!
//! [`check`] walks a message once and refuses what is no JSON; everything after that trusts the text and only skips.

mod check;
mod number;
mod pointer;
mod write;

use std::borrow::Cow;

pub use check::check;
pub(crate) use check::start_of_value;
pub use number::Number;
pub use pointer::pointer_at;
pub use write::{write_id, write_string};

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// A number.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

/// The JSON text of one value, known to be valid. Two are equal if they are written the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raw<'a> {
    text: &'a str,
}

/// The text between the quotes of a JSON string. Two are equal if they stand for the same characters.
#[derive(Clone, Copy, Debug)]
pub struct RawStr<'a> {
    text: &'a str,
    escaped: bool,
}

impl<'a> Raw<'a> {
    /// The text, without white space around it.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The type.
    pub fn kind(&self) -> Kind {
        match self.text.as_bytes().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'n') | None => Kind::Null,
            Some(_) => Kind::Number,
        }
    }

    /// The string, if it is one.
    pub fn as_str(&self) -> Option<RawStr<'a>> {
        let inner = self.text.strip_prefix('"')?.strip_suffix('"')?;
        Some(RawStr { text: inner, escaped: inner.as_bytes().contains(&b'\\') })
    }

    /// The number, if it is one.
    pub fn as_number(&self) -> Option<Number> {
        (self.kind() == Kind::Number).then(|| number::read(self.text))
    }

    /// The number, if it is an integer that fits 64 bits, also when written `1.0` or `1e0`. Decided by the digits: nothing
    /// is rounded.
    pub fn as_integer(&self) -> Option<i64> {
        match self.as_number()? {
            Number::Integer(value) => Some(value),
            Number::Huge { .. } | Number::Fraction { .. } => None,
        }
    }

    /// The members in order, duplicates included; none if it is no object.
    pub fn members(&self) -> Members<'a> {
        Members { scan: self.inside(Kind::Object) }
    }

    /// The elements in order; none if it is no array.
    pub fn elements(&self) -> Elements<'a> {
        Elements { scan: self.inside(Kind::Array) }
    }

    fn inside(&self, kind: Kind) -> Scan<'a> {
        if self.kind() == kind { Scan { text: self.text, at: 1 } } else { Scan { text: "", at: 0 } }
    }

    /// The member of this name, if this is an object that has one. The last of duplicates.
    pub fn get(&self, key: &str) -> Option<Raw<'a>> {
        let mut found = None;
        for (_, value) in self.members().filter(|(name, _)| name.eq_str(key)) {
            keep(&mut found, value);
        }
        found
    }

    /// Where it starts in the message that it was read from, in bytes. 0 for another message.
    pub fn offset_in(&self, base: &[u8]) -> usize {
        offset_in(self.text, base)
    }
}

impl<'a> RawStr<'a> {
    /// The text between the quotes, as it is written.
    pub fn raw(&self) -> &'a str {
        self.text
    }

    /// True if it has escapes.
    pub fn escaped(&self) -> bool {
        self.escaped
    }

    /// True if it stands for this text.
    pub fn eq_str(&self, other: &str) -> bool {
        if !self.escaped || cfg!(planted = "escape") {
            return self.text == other;
        }
        self.chars().eq(other.chars())
    }

    /// What it stands for; half a character becomes U+FFFD.
    pub fn decode(&self) -> Cow<'a, str> {
        if self.escaped { Cow::Owned(self.chars().collect()) } else { Cow::Borrowed(self.text) }
    }

    /// Where its text starts (after the quote) in the message that it was read from, in bytes. 0 for another message.
    pub fn offset_in(&self, base: &[u8]) -> usize {
        offset_in(self.text, base)
    }

    /// What it stands for, character by character.
    pub fn chars(&self) -> impl Iterator<Item = char> + use<'a> {
        Chars { rest: self.text }
    }
}

impl PartialEq for RawStr<'_> {
    fn eq(&self, other: &Self) -> bool {
        if other.escaped { self.chars().eq(other.chars()) } else { self.eq_str(other.text) }
    }
}

impl Eq for RawStr<'_> {}

/// Duplicate members: the last one counts, as in most parsers.
pub(crate) fn keep<'a>(slot: &mut Option<Raw<'a>>, value: Raw<'a>) {
    if slot.is_none() || !cfg!(planted = "duplicate-key") {
        *slot = Some(value);
    }
}

fn offset_in(text: &str, base: &[u8]) -> usize {
    let distance = text.as_ptr().addr().wrapping_sub(base.as_ptr().addr());
    if distance <= base.len() { distance } else { 0 }
}

/// See [`Raw::members`].
#[derive(Clone, Debug)]
pub struct Members<'a> {
    scan: Scan<'a>,
}

impl<'a> Iterator for Members<'a> {
    type Item = (RawStr<'a>, Raw<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let key = self.scan.value()?.as_str()?;
        let value = self.scan.value()?;
        Some((key, value))
    }
}

/// See [`Raw::elements`].
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    scan: Scan<'a>,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Raw<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.scan.value()
    }
}

/// Cuts valid text into values. Total on any text, but only valid text gives valid values.
#[derive(Clone, Debug)]
struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    /// The next value, keys included; `None` at the end of the container.
    fn value(&mut self) -> Option<Raw<'a>> {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\t' | b'\r' | b'\n' | b',' | b':') = bytes.get(self.at) {
            self.at += 1;
        }
        let start = self.at;
        self.at = match bytes.get(start)? {
            b'"' => end_of_string(bytes, start),
            b'{' | b'[' => end_of_container(bytes, start),
            b'}' | b']' => return None,
            _ => end_of_word(bytes, start),
        };
        self.text.get(start..self.at).map(|text| Raw { text })
    }
}

/// The offset after the string that starts here.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    loop {
        at = end_of_plain(bytes, at);
        match bytes.get(at) {
            Some(b'"') => return at + 1,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
            None => return bytes.len(),
        }
    }
}

/// The offset of the next quote, backslash or control character, or the end. Eight bytes a step: most of a message is strings.
fn end_of_plain(bytes: &[u8], start: usize) -> usize {
    const LOW: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    let rest = bytes.get(start..).unwrap_or_default();
    let (words, tail) = rest.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // The high bit of each byte that is zero, or below 0x20; the lowest one set is exact.
        let zero = |word: u64| word.wrapping_sub(LOW) & !word;
        let control = word.wrapping_sub(LOW * 0x20) & !word;
        let found = (zero(word ^ LOW * u64::from(b'"')) | zero(word ^ LOW * u64::from(b'\\')) | control) & HIGH;
        if found != 0 {
            return start + index * 8 + found.trailing_zeros() as usize / 8;
        }
    }
    let is_plain = |byte: &u8| !matches!(byte, b'"' | b'\\' | 0..0x20);
    bytes.len() - tail.len() + tail.iter().position(|byte| !is_plain(byte)).unwrap_or(tail.len())
}

/// The offset after the array or object that starts here.
fn end_of_container(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0_usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = end_of_string(bytes, at);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth <= 1 => return at + 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// The offset after the number or word that starts here.
fn end_of_word(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    let ends = |byte: &u8| {
        matches!(byte, b',' | b':' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'{' | b'[')
    };
    rest.iter().position(ends).map_or(bytes.len(), |length| start + length)
}

/// Decodes escapes; half a character becomes U+FFFD.
#[derive(Clone)]
struct Chars<'a> {
    rest: &'a str,
}

impl Iterator for Chars<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let first = chars.next()?;
        self.rest = chars.as_str();
        if first != '\\' {
            return Some(first);
        }
        let escape = chars.next()?;
        self.rest = chars.as_str();
        Some(match escape {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => self.code_point(),
            other => other,
        })
    }
}

impl Chars<'_> {
    /// After `\u`.
    fn code_point(&mut self) -> char {
        let Some((unit, rest)) = utf16_unit(self.rest) else { return char::REPLACEMENT_CHARACTER };
        self.rest = rest;
        let low = rest.strip_prefix("\\u").and_then(utf16_unit);
        if let (0xD800..0xDC00, Some((low @ 0xDC00..0xE000, rest))) = (unit, low) {
            self.rest = rest;
            let code = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
            return char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        }
        char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER)
    }
}

/// Four hexadecimal digits, and what follows them.
fn utf16_unit(text: &str) -> Option<(u32, &str)> {
    let (digits, rest) = text.split_at_checked(4)?;
    let mut unit = 0;
    for digit in digits.chars() {
        unit = unit << 4 | digit.to_digit(16)?;
    }
    Some((unit, rest))
}
