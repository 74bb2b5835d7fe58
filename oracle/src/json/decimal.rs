//! Numbers by their digits, because ids and codes are compared exactly, whatever their size.

/// A number by its digits: exact, however long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decimal<'t> {
    pub(crate) negative: bool,
    whole: &'t [u8],
    fraction: &'t [u8],
    /// Among the digits of `whole` and `fraction` together: those from the first to the last that is not 0.
    first: usize,
    count: usize,
    /// The power of ten of the last of those digits.
    power: i64,
}

impl<'t> Decimal<'t> {
    pub(super) fn of(raw: &'t [u8]) -> Self {
        let negative = raw.first() == Some(&b'-');
        let body = raw.get(usize::from(negative)..).unwrap_or_default();
        let mantissa_end = body.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(body.len());
        let (mantissa, exponent) = body.split_at(mantissa_end);
        let point = mantissa.iter().position(|byte| *byte == b'.').unwrap_or(mantissa.len());
        let (whole, fraction) = (&mantissa[..point], mantissa.get(point + 1..).unwrap_or_default());
        let digits = whole.len() + fraction.len();
        let mut this = Self { negative, whole, fraction, first: 0, count: 0, power: 0 };
        let first = this.all().position(|digit| digit != b'0');
        let last = this.all().rposition(|digit| digit != b'0');
        match (first, last) {
            (Some(first), Some(last)) => {
                this.first = first;
                this.count = last + 1 - first;
                this.power = exponent_of(exponent) - fraction.len() as i64 + (digits - 1 - last) as i64;
            }
            _ => this.negative = false,
        }
        this
    }

    fn all(&self) -> impl DoubleEndedIterator<Item = u8> + ExactSizeIterator + use<'t> {
        let (whole, fraction) = (self.whole, self.fraction);
        (0..whole.len() + fraction.len()).map(move |at| match whole.get(at) {
            Some(digit) => *digit,
            None => fraction[at - whole.len()],
        })
    }

    fn significant(&self) -> impl Iterator<Item = u8> {
        self.all().skip(self.first).take(self.count)
    }

    /// 1, 1.0 and 1e0 are integers; 1.5 is none.
    pub(crate) fn is_integer(&self) -> bool {
        self.count == 0 || self.power >= 0
    }

    /// The value, if it is an integer of at most 18 digits.
    pub(crate) fn small_integer(&self) -> Option<i64> {
        if self.count == 0 {
            return Some(0);
        }
        let power = u32::try_from(self.power).ok()?;
        if self.count as u64 + u64::from(power) > 18 {
            return None;
        }
        let value = self.significant().fold(0_i64, |value, digit| value * 10 + i64::from(digit - b'0'));
        let value = value * 10_i64.pow(power);
        Some(if self.negative { -value } else { value })
    }
}

impl PartialEq for Decimal<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.negative == other.negative
            && self.count == other.count
            && (self.count == 0 || self.power == other.power)
            && self.significant().eq(other.significant())
    }
}

fn exponent_of(text: &[u8]) -> i64 {
    // No number that anybody compares has such an exponent; it is held there so that the sum above cannot overflow.
    const FAR: i64 = 1 << 60;
    let negative = text.get(1) == Some(&b'-');
    let value = text.iter().filter(|byte| byte.is_ascii_digit()).fold(0_i64, |value, digit| {
        value.saturating_mul(10).saturating_add(i64::from(digit - b'0')).min(FAR)
    });
    if negative { -value } else { value }
}
