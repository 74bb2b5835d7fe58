//! Is it one JSON value within the limits? Done once for each message; everything after it may trust the text.

use serde::de::IgnoredAny;

use super::Raw;
use crate::issue::{IssueId, IssueSink};
use crate::limits::Limits;

/// The value of a message, or `None` with the issue that says why there is none. A byte-order mark before it and a carriage
/// return behind it are reported and skipped; a lone surrogate is reported.
pub fn check<'a>(bytes: &'a [u8], limits: &Limits, issues: &mut IssueSink) -> Option<Raw<'a>> {
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
    let text =
        text.strip_prefix('\u{feff}').inspect(|_| issues.push(IssueId::ByteOrderMark, 0)).unwrap_or(text);
    if text.ends_with('\r') {
        issues.push(IssueId::CarriageReturn, bytes.len() - 1);
    }
    let start = bytes.len() - text.len();
    let text_at = |trimmed: &str| start + (text.len() - trimmed.len());
    let trimmed = text.trim_start_matches(BLANKS);
    let at = text_at(trimmed);
    let trimmed = trimmed.trim_end_matches(BLANKS);
    if let Some(deep) = deeper_than(trimmed, limits.depth) {
        issues.push(IssueId::TooDeep, at + deep);
        return None;
    }
    if let Err(error) = serde_json::from_str::<IgnoredAny>(trimmed) {
        let offset = error_offset(trimmed, &error);
        let word = trimmed.get(offset..).unwrap_or_default();
        let named = ["NaN", "Infinity", "-Infinity"].iter().any(|name| word.starts_with(name));
        // serde_json stops at the byte after a minus sign.
        let minus = offset.checked_sub(1).filter(|_| word.starts_with("Infinity"));
        let minus = minus.filter(|at| trimmed.as_bytes().get(*at) == Some(&b'-'));
        issues.push(if named { IssueId::NotANumber } else { IssueId::NotJson }, at + minus.unwrap_or(offset));
        return None;
    }
    report_surrogates(trimmed, at, issues);
    Some(Raw { text: trimmed })
}

const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];

/// Where nesting passes the limit. Brackets within strings do not count; broken text is left to the real parser.
fn deeper_than(text: &str, limit: usize) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                if depth > limit {
                    return Some(at);
                }
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// The byte offset of the first byte that does not fit: serde_json counts lines and columns from 1.
fn error_offset(text: &str, error: &serde_json::Error) -> usize {
    let line_start = text
        .bytes()
        .enumerate()
        .filter(|(_, byte)| *byte == b'\n')
        .map(|(at, _)| at + 1)
        .nth(error.line().wrapping_sub(2))
        .unwrap_or(0);
    let past_end = error.is_eof();
    let at = line_start + error.column().saturating_sub(usize::from(!past_end));
    at.min(text.len())
}

fn report_surrogates(text: &str, base: usize, issues: &mut IssueSink) {
    let mut from = 0;
    while let Some(found) = text.get(from..).and_then(|rest| rest.find("\\u")) {
        let at = from + found;
        let slashes =
            text.as_bytes().get(..at).unwrap_or_default().iter().rev().take_while(|b| **b == b'\\').count();
        from = at + 2;
        // An even number before it: this backslash begins an escape.
        if slashes % 2 == 0 {
            let code = text.get(at + 2..at + 6).and_then(|hex| u16::from_str_radix(hex, 16).ok());
            match code {
                Some(0xD800..=0xDBFF) if low_half(text.get(at + 6..).unwrap_or_default()) => from = at + 12,
                Some(0xD800..=0xDFFF) => issues.push(IssueId::LoneSurrogate, base + at),
                _ => {}
            }
        }
    }
}

fn low_half(text: &str) -> bool {
    let hex = text.strip_prefix("\\u").and_then(|rest| rest.get(..4));
    hex.and_then(|hex| u16::from_str_radix(hex, 16).ok()).is_some_and(|code| (0xDC00..0xE000).contains(&code))
}
