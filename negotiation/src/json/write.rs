//! Writing the little JSON that this crate writes itself.

use super::end_of_plain;
use crate::envelope::Id;

/// Appends a JSON string literal. Only what must be escaped is.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    out.push(b'"');
    let mut from = 0;
    loop {
        let to = end_of_plain(bytes, from);
        out.extend_from_slice(bytes.get(from..to).unwrap_or_default());
        match bytes.get(to) {
            None => break,
            Some(byte @ (b'"' | b'\\')) => out.extend_from_slice(&[b'\\', *byte]),
            Some(b'\n') => out.extend_from_slice(b"\\n"),
            Some(b'\r') => out.extend_from_slice(b"\\r"),
            Some(b'\t') => out.extend_from_slice(b"\\t"),
            Some(byte) => {
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', b'0' + (byte >> 4), hex(byte & 15)]);
            }
        }
        from = to + 1;
    }
    out.push(b'"');
}

/// Appends an id as it was read: a string with the escapes that it had, an integer in its shortest form, anything else
/// as its text. [`Id::Absent`] becomes `null`.
pub fn write_id(out: &mut Vec<u8>, id: &Id<'_>) {
    match id {
        Id::String(text) => {
            out.push(b'"');
            out.extend_from_slice(text.raw().as_bytes());
            out.push(b'"');
        }
        Id::Integer(value) => write_integer(out, *value),
        Id::Null | Id::Absent => out.extend_from_slice(b"null"),
        Id::Other(raw) => out.extend_from_slice(raw.text().as_bytes()),
    }
}

/// Without the allocation of `to_string`: every message has an id.
fn write_integer(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    let start = out.len();
    let mut rest = value.unsigned_abs();
    loop {
        out.push(b'0' + u8::try_from(rest % 10).unwrap_or(0));
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if let Some(digits) = out.get_mut(start..) {
        digits.reverse();
    }
}

fn hex(digit: u8) -> u8 {
    if digit < 10 { b'0' + digit } else { b'a' + digit - 10 }
}
