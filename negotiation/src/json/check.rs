//! Is it JSON, within the limits, and where does it stop being so? One pass, no recursion, no allocation.

use super::{Raw, RawStr, end_of_plain};
use crate::issue::{IssueId, IssueSink};
use crate::limits::Limits;

/// The one value that a message consists of, or `None` with the issue that says why there is none. A byte-order mark, a
/// final carriage return and lone surrogates are issues too, but the message is read all the same (AMB-07).
pub fn check<'a>(bytes: &'a [u8], limits: &Limits, issues: &mut IssueSink) -> Option<Raw<'a>> {
    check_noting(bytes, limits, issues, &mut Noted::default())
}

/// Like [`check`]; also notes where the members of an object are, which saves the reader of a message a second pass.
pub(crate) fn check_noting<'a>(
    bytes: &'a [u8],
    limits: &Limits,
    issues: &mut IssueSink,
    noted: &mut Noted<'a>,
) -> Option<Raw<'a>> {
    if bytes.len() > limits.message_bytes {
        issues.push(IssueId::TooLong, limits.message_bytes);
        return None;
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            issues.push(IssueId::NotUtf8, error.valid_up_to());
            return None;
        }
    };
    if bytes.starts_with(BYTE_ORDER_MARK) {
        issues.push(IssueId::ByteOrderMark, 0);
    }
    if bytes.ends_with(b"\r") {
        issues.push(IssueId::CarriageReturn, bytes.len() - 1);
    }
    let start = start_of_value(bytes);
    noted.text = text;
    let mut checker = Checker { bytes, at: start, depth: 0, objects: [0; WORDS], noted, issues };
    match checker.message(limits.depth.min(Limits::MAX_DEPTH)) {
        Ok(end) => text.get(start..end).map(|text| Raw { text }),
        Err(Stop { id, at }) => {
            issues.push(id, at);
            None
        }
    }
}

/// As many members are noted: a message has no more.
const NOTED: usize = 8;

/// The members of the outermost object in order, unless there are too many.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Noted<'a> {
    text: &'a str,
    spans: [Span; NOTED],
    count: usize,
}

/// From where to where the name and the value of a member are.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    key: (u32, u32),
    value: (u32, u32),
}

impl<'a> Noted<'a> {
    /// `None` if there were too many to note.
    pub(crate) fn members(&self) -> Option<impl Iterator<Item = (RawStr<'a>, Raw<'a>)> + '_> {
        let piece = |(from, to): (u32, u32)| self.text.get(from as usize..to as usize).unwrap_or_default();
        let member = move |span: &Span| (RawStr::of(piece(span.key)), Raw { text: piece(span.value) });
        self.spans.get(..self.count).map(|spans| spans.iter().map(member))
    }

    fn begin(&mut self, key: (usize, usize), value: usize) {
        if let Some(span) = self.spans.get_mut(self.count) {
            let value = to_u32(value);
            *span = Span { key: (to_u32(key.0), to_u32(key.1)), value: (value, value) };
        }
        self.count += 1;
    }

    fn end(&mut self, at: usize) {
        let last = self.count.checked_sub(1).and_then(|last| self.spans.get_mut(last));
        if let Some(span) = last {
            span.value.1 = to_u32(at);
        }
    }
}

fn to_u32(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// After a byte-order mark and blanks.
pub(crate) fn start_of_value(bytes: &[u8]) -> usize {
    let rest = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    let blanks = rest.iter().position(|byte| !is_blank(byte)).unwrap_or(rest.len());
    bytes.len() - rest.len() + blanks
}

/// Why it is no JSON, and where.
struct Stop {
    id: IssueId,
    at: usize,
}

const WORDS: usize = Limits::MAX_DEPTH.div_ceil(64);

struct Checker<'a, 's> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    /// One bit a level: is it an object?
    objects: [u64; WORDS],
    noted: &'s mut Noted<'a>,
    issues: &'s mut IssueSink,
}

impl Checker<'_, '_> {
    /// The offset after the one value.
    fn message(&mut self, max_depth: usize) -> Result<usize, Stop> {
        loop {
            self.skip_blanks();
            let opened = match self.peek() {
                Some(bracket @ (b'{' | b'[')) => self.open(bracket == b'{', max_depth)?,
                Some(first) => self.scalar(first).map(|()| false)?,
                None => return Err(self.stop()),
            };
            if opened {
                continue;
            }
            if let Some(end) = self.behind_value()? {
                return Ok(end);
            }
        }
    }

    /// Opens a container and goes to its first value; false if it has none.
    fn open(&mut self, object: bool, max_depth: usize) -> Result<bool, Stop> {
        let level = self.depth;
        let Some(word) = self.objects.get_mut(level / 64).filter(|_| level < max_depth) else {
            return Err(Stop { id: IssueId::TooDeep, at: self.at });
        };
        *word = *word & !(1 << (level % 64)) | u64::from(object) << (level % 64);
        self.depth += 1;
        self.at += 1;
        self.skip_blanks();
        if self.peek() == Some(if object { b'}' } else { b']' }) {
            self.close();
            return Ok(false);
        }
        if object {
            self.key()?;
        }
        Ok(true)
    }

    /// Closes what ends here and goes to the next value; the end of the message, if there is none.
    fn behind_value(&mut self) -> Result<Option<usize>, Stop> {
        while self.depth > 0 {
            if self.depth == 1 {
                self.noted.end(self.at);
            }
            self.skip_blanks();
            let in_object = self.in_object();
            match self.peek() {
                Some(b',') => {
                    self.at += 1;
                    if in_object {
                        self.skip_blanks();
                        self.key()?;
                    }
                    return Ok(None);
                }
                Some(b'}') if in_object => self.close(),
                Some(b']') if !in_object => self.close(),
                _ => return Err(self.stop()),
            }
        }
        let end = self.at;
        self.skip_blanks();
        if self.peek().is_none() { Ok(Some(end)) } else { Err(self.stop()) }
    }

    fn key(&mut self) -> Result<(), Stop> {
        if self.peek() != Some(b'"') {
            return Err(self.stop());
        }
        let start = self.at;
        self.string()?;
        let end = self.at;
        self.skip_blanks();
        self.byte(b':')?;
        if self.depth == 1 {
            self.skip_blanks();
            self.noted.begin((start + 1, end - 1), self.at);
        }
        Ok(())
    }

    fn in_object(&self) -> bool {
        let level = self.depth.saturating_sub(1);
        self.objects.get(level / 64).is_some_and(|word| word >> (level % 64) & 1 == 1)
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.at += 1;
    }

    fn scalar(&mut self, first: u8) -> Result<(), Stop> {
        let start = self.at;
        let read = match first {
            b'"' => return self.string(),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.number(),
        };
        if read.is_err() && is_not_a_number(self.bytes.get(start..).unwrap_or_default()) {
            return Err(Stop { id: IssueId::NotANumber, at: start });
        }
        read
    }

    fn string(&mut self) -> Result<(), Stop> {
        self.at += 1;
        loop {
            self.at = end_of_plain(self.bytes, self.at);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                Some(_) | None => return Err(self.stop()),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Stop> {
        let start = self.at;
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 1;
                return Ok(());
            }
            Some(b'u') => self.at += 1,
            _ => return Err(self.stop()),
        }
        match self.utf16_unit()? {
            0xD800..0xDC00 if self.follows_low_surrogate() => self.at += LOW_SURROGATE_LENGTH,
            0xD800..0xE000 => self.issues.push(IssueId::LoneSurrogate, start),
            _ => {}
        }
        Ok(())
    }

    /// Four hexadecimal digits.
    fn utf16_unit(&mut self) -> Result<u32, Stop> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            unit = unit << 4 | digit.ok_or_else(|| self.stop())?;
            self.at += 1;
        }
        Ok(unit)
    }

    fn follows_low_surrogate(&self) -> bool {
        match self.bytes.get(self.at..self.at + LOW_SURROGATE_LENGTH) {
            Some([b'\\', b'u', b'd' | b'D', b'c'..=b'f' | b'C'..=b'F', third, fourth]) => {
                third.is_ascii_hexdigit() && fourth.is_ascii_hexdigit()
            }
            _ => false,
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Stop> {
        word.iter().try_for_each(|byte| self.byte(*byte))
    }

    /// `-`? (`0` | [1-9] [0-9]*) (`.` [0-9]+)? ([eE] [+-]? [0-9]+)?
    fn number(&mut self) -> Result<(), Stop> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Stop> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start { Err(self.stop()) } else { Ok(()) }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn byte(&mut self, wanted: u8) -> Result<(), Stop> {
        if self.peek() != Some(wanted) {
            return Err(self.stop());
        }
        self.at += 1;
        Ok(())
    }

    fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
    }

    fn stop(&self) -> Stop {
        Stop { id: IssueId::NotJson, at: self.at }
    }
}

/// The length of `\uDC00`.
const LOW_SURROGATE_LENGTH: usize = 6;

/// What JavaScript, Python and C write for a float that JSON has no form for.
fn is_not_a_number(text: &[u8]) -> bool {
    let unsigned = match text {
        [b'+' | b'-', rest @ ..] => rest,
        _ => text,
    };
    let length = unsigned.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(unsigned.len());
    let word = unsigned.get(..length).unwrap_or_default();
    ["NaN", "Infinity", "inf"].iter().any(|name| word.eq_ignore_ascii_case(name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names, with and without escapes, some of them twice, and blanks wherever they may stand.
    fn object(members: usize) -> String {
        let values = ["1", "\"a,}b\"", "{ \"x\" : [1, {}] }", "[]", "null", "\"\\\"\""];
        let names = ["id", "m\\u0065thod", "a", "id", "b\\\"", ""];
        let member =
            |at: usize| format!(" \"{}\" :\t{} ", names[at % names.len()], values[at % values.len()]);
        format!(" {{{}}} ", (0..members).map(member).collect::<Vec<_>>().join(","))
    }

    #[test]
    fn the_members_that_are_noted_are_those_that_a_scan_finds() {
        for count in 0..=NOTED + 3 {
            let text = object(count);
            let mut noted = Noted::default();
            let value = check_noting(text.as_bytes(), &Limits::DEFAULT, &mut IssueSink::new(), &mut noted);
            let scanned: Vec<_> = value.into_iter().flat_map(|value| value.members()).collect();
            assert_eq!(scanned.len(), count, "{text}");
            match noted.members() {
                Some(members) => assert_eq!(members.collect::<Vec<_>>(), scanned, "{text}"),
                None => assert!(count > NOTED, "{text}"),
            }
        }
    }
}
