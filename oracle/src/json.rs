//! The oracle's own JSON reader: bytes to a flat tree in an arena that is reused from message to message and run to run.
//!
//! It shares nothing with the reader on trial. Duplicate members, their order, and the raw text of numbers and strings
//! are kept; where a value is asked for by name, the last duplicate wins.

use std::borrow::Cow;

/// Deeper nesting is not read: the message is then not judged, rather than judged wrongly.
const DEPTH: usize = 128;
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
}

impl Tree {
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
    }

    /// Reads `text[start..end]` as one JSON text with nothing after it.
    pub(crate) fn read(&mut self, text: &[u8], start: u32, end: u32) -> Result<At, Refusal> {
        let (root, stop) = self.read_value(text, start, end)?;
        let rest = text.get(stop as usize..end as usize).unwrap_or_default();
        match rest.iter().position(|byte| !is_blank(*byte)) {
            None => Ok(root),
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
        let mut reader = Reader { text: line, at: start as usize, nodes: &mut self.nodes, limit };
        let result = reader.value();
        let stop = reader.at as u32;
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
    fn of(raw: &'t [u8]) -> Self {
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

fn slice(text: &[u8], start: u32, end: u32) -> &[u8] {
    text.get(start as usize..end as usize).unwrap_or_default()
}

/// Digits only: no two of these have the same value, since JSON has no leading zeros.
fn is_natural(raw: &[u8]) -> bool {
    raw.iter().all(u8::is_ascii_digit)
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn decode(raw: &[u8], escaped: bool) -> Cow<'_, str> {
    if escaped { Cow::Owned(unescape(raw)) } else { Cow::Borrowed(std::str::from_utf8(raw).unwrap_or_default()) }
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

/// Marks the bytes of a word that are below 0x20, in their highest bits.
fn below_blank(word: u64) -> u64 {
    word.wrapping_sub(EACH * 0x20) & !word & (EACH * 0x80)
}

/// Marks the bytes of a word that have this value.
pub(crate) fn equal(word: u64, byte: u8) -> u64 {
    let differing = word ^ (EACH * u64::from(byte));
    differing.wrapping_sub(EACH) & !differing & (EACH * 0x80)
}

/// A one in each byte.
const EACH: u64 = u64::MAX / 0xff;

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    nodes: &'a mut Vec<Node>,
    limit: usize,
}

impl Reader<'_> {
    /// One value, without recursion: `open` holds the containers around the place that is read.
    fn value(&mut self) -> Result<(), Refusal> {
        let mut open = [0_u32; DEPTH];
        let mut depth = 0;
        let mut key = None;
        loop {
            let container = self.begin(key.take())?;
            if let Some(container) = container {
                *open.get_mut(depth).ok_or(Refusal::TooMuch)? = container;
                depth += 1;
            }
            let mut fresh = container.is_some();
            // Closes what ends here, and stops where the next value begins.
            loop {
                let Some(around) = depth.checked_sub(1).map(|at| open[at] as usize) else { return Ok(()) };
                let is_object = self.nodes[around].kind == Type::Object;
                let byte = self.peek()?;
                if byte == if is_object { b'}' } else { b']' } {
                    self.at += 1;
                    self.nodes[around].end = self.at as u32;
                    self.nodes[around].next = self.nodes.len() as u32;
                    depth -= 1;
                    fresh = false;
                    continue;
                }
                if !fresh {
                    if byte != b',' {
                        return Err(self.wrong());
                    }
                    self.at += 1;
                }
                if is_object {
                    key = Some(self.key()?);
                }
                break;
            }
        }
    }

    /// Reads a scalar, or the opening bracket of a container, whose place it then returns.
    fn begin(&mut self, key: Option<(u32, u32, bool)>) -> Result<Option<u32>, Refusal> {
        if self.nodes.len() >= self.limit {
            return Err(Refusal::TooMuch);
        }
        let byte = self.peek()?;
        let place = self.nodes.len() as u32;
        let mut start = self.at;
        let mut escaped = false;
        let mut end = None;
        let kind = match byte {
            b'{' => Type::Object,
            b'[' => Type::Array,
            b'"' => {
                let (from, to, has_escape) = self.quoted()?;
                (start, end, escaped) = (from as usize, Some(to), has_escape);
                Type::String
            }
            b'-' | b'0'..=b'9' => self.digits().map(|()| Type::Number)?,
            b't' => self.word(b"true", Type::Bool)?,
            b'f' => self.word(b"false", Type::Bool)?,
            b'n' => self.word(b"null", Type::Null)?,
            _ => return Err(self.wrong()),
        };
        let is_container = matches!(kind, Type::Object | Type::Array);
        self.at += usize::from(is_container);
        let (key_start, key_end, key_escaped) = key.unwrap_or_default();
        let end = end.unwrap_or(self.at as u32);
        let start = start as u32;
        self.nodes.push(Node {
            kind,
            escaped,
            key_escaped,
            start,
            end,
            key_start,
            key_end,
            next: place + 1,
        });
        Ok(is_container.then_some(place))
    }

    fn key(&mut self) -> Result<(u32, u32, bool), Refusal> {
        if self.peek()? != b'"' {
            return Err(self.wrong());
        }
        let key = self.quoted()?;
        if self.peek()? != b':' {
            return Err(self.wrong());
        }
        self.at += 1;
        Ok(key)
    }

    /// The place between the quotes, and whether there is an escape in it.
    fn quoted(&mut self) -> Result<(u32, u32, bool), Refusal> {
        self.at += 1;
        let start = self.at;
        let mut escaped = false;
        loop {
            self.skip_plain();
            match self.text.get(self.at).copied() {
                None => return Err(Refusal::Unfinished),
                Some(b'"') => {
                    self.at += 1;
                    return Ok((start as u32, self.at as u32 - 1, escaped));
                }
                Some(b'\\') => {
                    escaped = true;
                    self.at += 1;
                    self.escape()?;
                }
                Some(0..=0x1f) => return Err(self.wrong()),
                Some(_) => self.at += 1,
            }
        }
    }

    /// Passes over bytes that mean nothing in a string, eight at a time.
    fn skip_plain(&mut self) {
        while let Some(block) = self.text.get(self.at..).and_then(<[u8]>::first_chunk) {
            let word = u64::from_le_bytes(*block);
            let found = below_blank(word) | equal(word, b'"') | equal(word, b'\\');
            // The lowest mark is exact; a borrow can only set one above it.
            self.at += found.trailing_zeros() as usize / 8;
            if found != 0 {
                return;
            }
        }
    }

    fn escape(&mut self) -> Result<(), Refusal> {
        match self.text.get(self.at).copied().ok_or(Refusal::Unfinished)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 1,
            b'u' => {
                self.at += 1;
                for _ in 0..4 {
                    match self.text.get(self.at).copied() {
                        None => return Err(Refusal::Unfinished),
                        Some(byte) if byte.is_ascii_hexdigit() => self.at += 1,
                        Some(_) => return Err(self.wrong()),
                    }
                }
            }
            _ => return Err(self.wrong()),
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Refusal> {
        self.at += usize::from(self.here() == Some(b'-'));
        if self.here() == Some(b'0') {
            self.at += 1;
        } else {
            self.run_of_digits()?;
        }
        if self.here() == Some(b'.') {
            self.at += 1;
            self.run_of_digits()?;
        }
        if matches!(self.here(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.here(), Some(b'+' | b'-')));
            self.run_of_digits()?;
        }
        Ok(())
    }

    fn run_of_digits(&mut self) -> Result<(), Refusal> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        match (count, self.here()) {
            (0, None) => Err(Refusal::Unfinished),
            (0, Some(_)) => Err(self.wrong()),
            _ => Ok(()),
        }
    }

    fn word(&mut self, word: &[u8], kind: Type) -> Result<Type, Refusal> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        if rest.starts_with(word) {
            self.at += word.len();
            Ok(kind)
        } else if word.starts_with(rest) {
            Err(Refusal::Unfinished)
        } else {
            Err(self.wrong())
        }
    }

    fn here(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// The next byte that is no blank.
    fn peek(&mut self) -> Result<u8, Refusal> {
        while self.here().is_some_and(is_blank) {
            self.at += 1;
        }
        self.here().ok_or(Refusal::Unfinished)
    }

    fn wrong(&self) -> Refusal {
        Refusal::NotJson(self.at as u32)
    }
}
