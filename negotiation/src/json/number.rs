//! What a JSON number is, decided by its digits: `1.0` and `10e-1` are the integer 1, nothing is rounded.

/// What a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// An integer that fits 64 bits.
    Integer(i64),
    /// An integer that does not.
    Huge {
        /// It is below zero.
        negative: bool,
    },
    /// No integer.
    Fraction {
        /// It is below zero.
        negative: bool,
    },
}

/// Reads the text of a valid JSON number.
pub(super) fn read(text: &str) -> Number {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // The point stands after this many digits of `whole` and `fraction` together; there may be fewer, or it stands before them.
    let point = exponent_of(exponent).saturating_add(i64::try_from(whole.len()).unwrap_or(i64::MAX));
    let before = usize::try_from(point.max(0)).unwrap_or(usize::MAX);
    let digits = || whole.bytes().chain(fraction.bytes());
    if digits().skip(before).any(|digit| digit != b'0') && !cfg!(planted = "number") {
        return Number::Fraction { negative };
    }
    let mut value = Some(0_i64);
    for digit in digits().take(before) {
        value = append(value, i64::from(digit.saturating_sub(b'0')), negative);
    }
    let zeros = before.saturating_sub(whole.len() + fraction.len());
    if value != Some(0) {
        // More zeros than this are too many for any integer of 64 bits.
        for _ in 0..zeros.min(20) {
            value = append(value, 0, negative);
        }
    }
    value.map_or(Number::Huge { negative }, Number::Integer)
}

fn append(value: Option<i64>, digit: i64, negative: bool) -> Option<i64> {
    let value = value?.checked_mul(10)?;
    if negative { value.checked_sub(digit) } else { value.checked_add(digit) }
}

/// Large enough to outweigh any number of digits, small enough to add them.
const FAR: i64 = 1 << 60;

fn exponent_of(text: &str) -> i64 {
    let (negative, digits) = match text.as_bytes() {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let mut value = 0_i64;
    for digit in digits {
        value = value.saturating_mul(10).saturating_add(i64::from(digit.saturating_sub(b'0'))).min(FAR);
    }
    if negative { -value } else { value }
}
