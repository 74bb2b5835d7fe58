//! Any cut of the same bytes gives the same lines, and nothing is kept beyond the limit and one chunk.

use mcp_parley_negotiation::limits::Limits;
use mcp_parley_negotiation::lines::{Line, Lines};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

const LIMITS: Limits = Limits { message_bytes: 8, ..Limits::DEFAULT };

/// The lines (`None` for one that was too long) and what came after the last newline.
type Read = (Vec<Option<Vec<u8>>>, Vec<u8>);

fn read(bytes: &[u8], cuts: &[usize]) -> Read {
    let (mut lines, mut found) = (Lines::new(), Vec::new());
    let mut start = 0;
    for cut in cuts.iter().copied().chain([bytes.len()]) {
        let end = cut.clamp(start, bytes.len());
        lines.push(&bytes[start..end]);
        assert!(lines.rest().len() <= LIMITS.message_bytes + (end - start));
        while let Some(line) = lines.next(&LIMITS) {
            found.push(match line {
                Line::Whole(line) => Some(line.to_vec()),
                Line::TooLong => None,
            });
        }
        assert!(lines.rest().len() <= LIMITS.message_bytes);
        start = end;
    }
    (found, lines.rest().to_vec())
}

/// The same, from the whole at once.
fn expected(bytes: &[u8]) -> Read {
    let mut parts: Vec<_> = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let rest = parts.pop().unwrap_or_default();
    let fits = |line: &Vec<u8>| line.len() <= LIMITS.message_bytes;
    let mut lines: Vec<_> = parts.into_iter().map(|line| Some(line).filter(fits)).collect();
    if fits(&rest) {
        return (lines, rest);
    }
    lines.push(None);
    (lines, Vec::new())
}

fn inputs() -> impl Strategy<Value = (Vec<u8>, Vec<usize>)> {
    let bytes = prop::collection::vec(prop::sample::select(b"aab\r\n\xff".as_slice()), 0..80);
    let cuts = prop::collection::vec(0..80_usize, 0..10);
    (
        bytes,
        cuts.prop_map(|mut cuts| {
            cuts.sort_unstable();
            cuts
        }),
    )
}

fn cuts_do_not_matter(
    read: impl Fn(&[u8], &[usize]) -> Read,
    (bytes, cuts): &(Vec<u8>, Vec<usize>),
) -> Result<(), TestCaseError> {
    prop_assert_eq!(read(bytes, cuts), expected(bytes));
    let every_byte: Vec<_> = (0..bytes.len()).collect();
    prop_assert_eq!(read(bytes, &every_byte), expected(bytes));
    Ok(())
}

proptest! {
    #[test]
    fn any_cut_gives_the_same_lines(input in inputs()) {
        cuts_do_not_matter(read, &input)?;
    }
}

#[test]
fn a_reader_that_forgets_between_chunks_is_noticed() {
    let forgetful = |bytes: &[u8], cuts: &[usize]| match cuts.first() {
        Some(first) => read(bytes.get(*first..).unwrap_or_default(), &[]),
        None => read(bytes, cuts),
    };
    TestRunner::default().run(&inputs(), |input| cuts_do_not_matter(forgetful, &input)).unwrap_err();
}

#[test]
fn a_long_line_is_reported_once_and_the_next_one_read() {
    let text = b"12345678\n123456789\n\r\nafter";
    let lines = vec![Some(b"12345678".to_vec()), None, Some(b"\r".to_vec())];
    assert_eq!(read(text, &[]), (lines, b"after".to_vec()));
}

#[test]
fn it_is_drained_when_there_is_no_next_line() {
    let mut lines = Lines::new();
    assert!(lines.is_drained());
    for chunk in ["ab", "c\n", "\n\nrest", "123456789", "\nx\n"] {
        lines.push(chunk.as_bytes());
        assert!(!lines.is_drained(), "{chunk:?}");
        while lines.next(&LIMITS).is_some() {}
        assert!(lines.is_drained(), "{chunk:?}");
    }
}

#[test]
fn a_line_without_end_is_not_kept() {
    let mut lines = Lines::new();
    let mut reported = 0;
    for _ in 0..100_000 {
        lines.push(b"xxxx");
        reported += usize::from(lines.next(&LIMITS) == Some(Line::TooLong));
        assert!(lines.rest().len() <= LIMITS.message_bytes);
    }
    assert_eq!(reported, 1);
    lines.push(b"\nok\n");
    assert_eq!(lines.next(&LIMITS), Some(Line::Whole(b"ok")));
    assert_eq!(lines.next(&LIMITS), None);
}
