//! One pass over the bytes of one JSON text, without recursion.

use super::{Node, Refusal, Type, is_blank};

/// Deeper nesting is not read: the message is then not judged, rather than judged wrongly.
const DEPTH: usize = 128;

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

pub(super) struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    nodes: &'a mut Vec<Node>,
    limit: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a [u8], start: u32, nodes: &'a mut Vec<Node>, limit: usize) -> Self {
        Self { text, at: start as usize, nodes, limit }
    }

    pub(super) fn at(&self) -> u32 {
        self.at as u32
    }

    /// One value, without recursion: `open` holds the containers around the place that is read.
    pub(super) fn value(&mut self) -> Result<(), Refusal> {
        let mut open = [(0_u32, false); DEPTH];
        let mut depth = 0;
        let mut key = None;
        loop {
            let container = self.begin(key.take())?;
            if let Some(container) = container {
                let is_object =
                    self.nodes.get(container as usize).is_some_and(|node| node.kind == Type::Object);
                *open.get_mut(depth).ok_or(Refusal::TooMuch)? = (container, is_object);
                depth += 1;
            }
            let mut fresh = container.is_some();
            // Closes what ends here, and stops where the next value begins.
            loop {
                let around = depth.checked_sub(1).and_then(|at| open.get(at));
                let Some((around, is_object)) = around.copied() else { return Ok(()) };
                let byte = self.peek()?;
                if byte == if is_object { b'}' } else { b']' } {
                    self.at += 1;
                    let next = self.nodes.len() as u32;
                    if let Some(node) = self.nodes.get_mut(around as usize) {
                        (node.end, node.next) = (self.at as u32, next);
                    }
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
        self.nodes.push(Node { kind, escaped, key_escaped, start, end, key_start, key_end, next: place + 1 });
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
    #[inline]
    fn peek(&mut self) -> Result<u8, Refusal> {
        match self.here() {
            Some(byte) if byte > b' ' => return Ok(byte),
            _ => {}
        }
        while self.here().is_some_and(is_blank) {
            self.at += 1;
        }
        self.here().ok_or(Refusal::Unfinished)
    }

    fn wrong(&self) -> Refusal {
        Refusal::NotJson(self.at as u32)
    }
}
