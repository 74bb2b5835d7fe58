//! From a byte offset to a JSON pointer, for people.

use super::{Kind, Raw, RawStr, Scan, start_of_value};
use crate::limits::Limits;

/// The JSON pointer (RFC 6901) of the innermost value at this byte offset of a message, down to the default depth limit. A
/// key belongs to its value; what stands between values belongs to the container. In a broken message it goes as far as
/// the text can be followed.
pub fn pointer_at(bytes: &[u8], offset: usize) -> String {
    let mut pointer = String::new();
    let Some(mut value) = root(bytes) else { return pointer };
    for _ in 0..Limits::DEFAULT.depth {
        let inner = match value.kind() {
            Kind::Object => member_at(bytes, value, offset, &mut pointer),
            Kind::Array => element_at(bytes, value, offset, &mut pointer),
            _ => None,
        };
        match inner {
            Some(inner) => value = inner,
            None => break,
        }
    }
    pointer
}

/// The message's value, as far as it is UTF-8.
fn root(bytes: &[u8]) -> Option<Raw<'_>> {
    let valid = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => bytes.get(..error.valid_up_to()).and_then(|valid| std::str::from_utf8(valid).ok())?,
    };
    let text = valid.get(start_of_value(valid.as_bytes())..)?;
    Scan { text, at: 0 }.value()
}

/// Names the member that has this offset in its key or value; gives its value, if the offset is in that.
fn member_at<'a>(bytes: &[u8], object: Raw<'a>, offset: usize, pointer: &mut String) -> Option<Raw<'a>> {
    let has = |(key, value): &(RawStr<'a>, Raw<'a>)| {
        (key.offset_in(bytes).saturating_sub(1)..end_in(value, bytes)).contains(&offset)
    };
    let (key, value) = object.members().find(has)?;
    pointer.push('/');
    for char in key.chars() {
        match char {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            _ => pointer.push(char),
        }
    }
    (offset >= value.offset_in(bytes)).then_some(value)
}

fn element_at<'a>(bytes: &[u8], array: Raw<'a>, offset: usize, pointer: &mut String) -> Option<Raw<'a>> {
    let has = |value: &Raw<'_>| (value.offset_in(bytes)..end_in(value, bytes)).contains(&offset);
    let (index, value) = array.elements().enumerate().find(|(_, value)| has(value))?;
    pointer.push('/');
    pointer.push_str(&index.to_string());
    Some(value)
}

fn end_in(value: &Raw<'_>, bytes: &[u8]) -> usize {
    value.offset_in(bytes) + value.text.len()
}
