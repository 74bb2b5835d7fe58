//! Reading JSON without building a tree: raw slices, members in order, offsets.
//!
//! [`check`] walks a message once and refuses what is no JSON; everything after that trusts the text and only skips.

mod check;
mod number;
mod pointer;
mod write;

use std::borrow::Cow;

pub use check::check;
pub(crate) use check::{Noted, check_noting, start_of_value};
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

/// Why a key is worth a look: see [`Raw::pick`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Odd {
    Unknown,
    Duplicate,
}

impl<'a> Raw<'a> {
    /// From text that is known to be one valid value without white space around it: of any other text, the parts are
    /// nonsense. [`check`] finds out.
    pub fn of_valid(text: &'a str) -> Self {
        Self { text }
    }

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
        let text = self.text.strip_prefix('"')?.strip_suffix('"')?;
        Some(RawStr::of(text))
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
    pub fn get(&self, name: &str) -> Option<Raw<'a>> {
        let [value] = self.pick([name], |_, _| {});
        value
    }

    /// The members of these names, in one pass. The last of duplicates counts, as in most parsers. `visit` gets every key
    /// that is none of these names, and every one that is for the second time.
    pub(crate) fn pick<const N: usize>(
        &self,
        names: [&str; N],
        visit: impl FnMut(RawStr<'a>, Odd),
    ) -> [Option<Raw<'a>>; N] {
        pick(self.members(), names, visit)
    }

    /// Where it starts in the message that it was read from, in bytes. 0 for another message.
    pub fn offset_in(&self, base: &[u8]) -> usize {
        offset_in(self.text, base)
    }
}

/// See [`Raw::pick`].
pub(crate) fn pick<'a, const N: usize>(
    members: impl Iterator<Item = (RawStr<'a>, Raw<'a>)>,
    names: [&str; N],
    mut visit: impl FnMut(RawStr<'a>, Odd),
) -> [Option<Raw<'a>>; N] {
    let mut slots = [None; N];
    for (key, value) in members {
        let place = names.iter().position(|name| key.eq_str(name));
        let Some(slot) = place.and_then(|at| slots.get_mut(at)) else {
            visit(key, Odd::Unknown);
            continue;
        };
        if slot.is_some() {
            visit(key, Odd::Duplicate);
        }
        if slot.is_none() || !cfg!(planted = "duplicate-key") {
            *slot = Some(value);
        }
    }
    slots
}

impl<'a> RawStr<'a> {
    /// From the text between the quotes.
    fn of(text: &'a str) -> Self {
        Self { text, escaped: text.as_bytes().contains(&b'\\') }
    }

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
            // The first byte tells most names of one length apart, without a call.
            return self.text.as_bytes().first() == other.as_bytes().first() && self.text == other;
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
        Some((self.scan.key()?, self.scan.value()?))
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
    /// The next key; `None` at the end of the object.
    fn key(&mut self) -> Option<RawStr<'a>> {
        let bytes = self.text.as_bytes();
        let start = self.skip_to_token();
        if bytes.get(start) != Some(&b'"') {
            return None;
        }
        let (end, escaped) = end_of_string(bytes, start);
        self.at = end;
        self.text.get(start + 1..end.saturating_sub(1)).map(|text| RawStr { text, escaped })
    }

    /// The next value; `None` at the end of the container.
    fn value(&mut self) -> Option<Raw<'a>> {
        let bytes = self.text.as_bytes();
        let start = self.skip_to_token();
        self.at = match bytes.get(start)? {
            b'"' => end_of_string(bytes, start).0,
            b'{' | b'[' => end_of_container(bytes, start),
            b'}' | b']' => return None,
            _ => end_of_word(bytes, start),
        };
        self.text.get(start..self.at).map(|text| Raw { text })
    }

    fn skip_to_token(&mut self) -> usize {
        while let Some(b' ' | b'\t' | b'\r' | b'\n' | b',' | b':') = self.text.as_bytes().get(self.at) {
            self.at += 1;
        }
        self.at
    }
}

/// The offset after the string that starts here, and whether it has escapes.
fn end_of_string(bytes: &[u8], start: usize) -> (usize, bool) {
    let (mut at, mut escaped) = (start + 1, false);
    loop {
        // The text is valid: there are no control characters to look for.
        at = find(bytes, at, |word| is(word, b'"') | is(word, b'\\'), |byte| matches!(byte, b'"' | b'\\'));
        match bytes.get(at) {
            Some(b'\\') => (at, escaped) = (at + 2, true),
            Some(_) => return (at + 1, escaped),
            None => return (bytes.len(), escaped),
        }
    }
}

/// The offset of the next quote, backslash or control character, or the end.
fn end_of_plain(bytes: &[u8], start: usize) -> usize {
    let control = |word: u64| word.wrapping_sub(EACH * 0x20) & !word;
    let words = |word| is(word, b'"') | is(word, b'\\') | control(word);
    find(bytes, start, words, |byte| matches!(byte, b'"' | b'\\' | 0..0x20))
}

/// A one in each byte.
const EACH: u64 = u64::from_ne_bytes([1; 8]);

/// Sets the high bit of each byte that has this value; perhaps also of bytes above the lowest of these.
fn is(word: u64, byte: u8) -> u64 {
    let zero_where = word ^ (EACH * u64::from(byte));
    zero_where.wrapping_sub(EACH) & !zero_where
}

/// The offset of the first byte that is looked for, or the end. Eight bytes a step: most of a message is strings.
#[inline(always)]
fn find(bytes: &[u8], start: usize, marks: impl Fn(u64) -> u64, wanted: impl Fn(u8) -> bool) -> usize {
    let mut at = start;
    while let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        // The lowest mark is exact.
        let found = marks(u64::from_le_bytes(*word)) & (EACH * 0x80);
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let tail = bytes.get(at..).unwrap_or_default();
    tail.iter().position(|byte| wanted(*byte)).map_or(bytes.len(), |found| at + found)
}

/// The offset after the array or object that starts here.
fn end_of_container(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0_usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                (at, _) = end_of_string(bytes, at);
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

#[cfg(test)]
mod tests {
    use super::end_of_plain;

    #[test]
    fn eight_bytes_a_step_see_what_one_byte_a_step_sees() {
        let ends = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
        for length in 0..20 {
            for (place, byte) in (0..length).flat_map(|place| (0..=u8::MAX).map(move |byte| (place, byte))) {
                for around in [b' ', b'!', b'#', b'[', b']', 0x7f, 0x80, 0xff] {
                    let mut bytes = vec![around; length];
                    bytes[place] = byte;
                    for start in [0, 1, place, length, length + 1] {
                        let expected = (start..length).find(|at| ends(bytes[*at])).unwrap_or(length);
                        assert_eq!(end_of_plain(&bytes, start), expected, "{bytes:?} from {start}");
                    }
                }
            }
        }
    }
}
