//! Bytes as persona data: text, or what text cannot say.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The longest that one text, or the padding of an answer, may be, in bytes.
pub(crate) const LONGEST: usize = 16 << 20;

/// Bytes that are written as they stand: a string, `{ hex = "ff fe" }` or `{ repeat = { text = "x", times = 5000000 } }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Text {
    /// UTF-8.
    Plain(String),
    /// Any bytes, as pairs of hexadecimal digits with or without blanks between them.
    Hex(String),
    /// The same text many times.
    Repeat {
        /// The text.
        text: String,
        /// How often.
        times: u32,
    },
}

/// How what is no string is written.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Table {
    Hex(String),
    Repeat(Repeat),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Repeat {
    text: String,
    times: u32,
}

impl Text {
    /// The bytes; none of what [`Text::check`] refuses.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Plain(text) => text.as_bytes().to_vec(),
            Self::Hex(digits) => unhex(digits).unwrap_or_default(),
            Self::Repeat { text, times } => text.repeat(*times as usize).into_bytes(),
        }
    }

    /// How many bytes it is at the most.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Plain(text) | Self::Hex(text) => text.len(),
            Self::Repeat { text, times } => text.len().saturating_mul(*times as usize),
        }
    }

    /// What is allowed, if it is not.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        match self {
            Self::Hex(digits) if unhex(digits).is_none() => Err("`hex` takes pairs of hexadecimal digits"),
            _ if self.size() > LONGEST => Err("at most 16777216 bytes (16 MiB)"),
            _ => Ok(()),
        }
    }
}

fn unhex(digits: &str) -> Option<Vec<u8>> {
    let mut nibbles = Vec::new();
    for digit in digits.chars().filter(|digit| !digit.is_ascii_whitespace()) {
        nibbles.push(u8::try_from(digit.to_digit(16)?).ok()?);
    }
    let (pairs, rest) = nibbles.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Plain(text) => serializer.serialize_str(text),
            Self::Hex(digits) => Table::Hex(digits.clone()).serialize(serializer),
            Self::Repeat { text, times } => {
                Table::Repeat(Repeat { text: text.clone(), times: *times }).serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // By hand, because an untagged enum cannot say what it expected.
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, a table `hex` or a table `repeat`")
    }

    fn visit_str<E>(self, text: &str) -> Result<Text, E> {
        Ok(Text::Plain(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Text, A::Error> {
        Ok(match Table::deserialize(MapAccessDeserializer::new(map))? {
            Table::Hex(digits) => Text::Hex(digits),
            Table::Repeat(Repeat { text, times }) => Text::Repeat { text, times },
        })
    }
}
