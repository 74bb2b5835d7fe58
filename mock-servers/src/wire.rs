//! How bytes are written, whatever they say (K19), and ends that need no message (K01).

use serde::{Deserialize, Serialize};

use crate::text::Text;

/// How bytes are written, whatever they say (K19).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Wire {
    /// All of this holds for the first so many processes only; for every one if it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
    /// Each write is cut into pieces of this many bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk_bytes: Option<u32>,
    /// So many milliseconds lie between one write and the next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap_ms: Option<u64>,
    /// How a line ends.
    pub line_end: LineEnd,
    /// All that one input causes is one write, up to a mebibyte; with `chunk_bytes`, it is cut as a whole.
    #[serde(skip_serializing_if = "is_false")]
    pub together: bool,
    /// A byte-order mark before the first byte.
    pub byte_order_mark: bool,
    /// Lines written before anything is read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub banner: Vec<Text>,
    /// Lines on standard error, before the banner.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stderr: Vec<Text>,
    /// Ends with this code before anything is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_at_start: Option<i32>,
    /// Ends with this code at the first bytes, before they are a line (K01).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_at_first_bytes: Option<i32>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl Wire {
    /// It says what only a pipe can do.
    pub(crate) fn is_of_pipes(&self) -> bool {
        !self.banner.is_empty() || !self.stderr.is_empty() || self.line_end != LineEnd::Lf || self.together
    }

    pub(crate) fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

/// How a line ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LineEnd {
    /// A newline.
    #[default]
    Lf,
    /// A carriage return and a newline.
    CrLf,
    /// Nothing: the next line follows at once, and the last one is never ended.
    None,
    /// Nothing, but a `Content-Length` header stands before the line, as another protocol has it.
    ContentLength,
}
