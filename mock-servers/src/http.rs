//! What a persona does over HTTP, as its file says it: `[http]`, and `http` in an act (K06 to K09, K20 to K23, K26).

use mcp_parley_negotiation::gate::AnswerForm;
use serde::{Deserialize, Serialize};

use crate::text::Text;

/// How it answers over HTTP where no quirk says otherwise. The profile's own mapping is the gate's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Http {
    /// Headers of every answer, instead of those of the same name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<Header>,
    /// How its event streams are written.
    pub sse: Framing,
    /// After its end, the next process has its port so many milliseconds later; never if it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart_ms: Option<u64>,
}

impl Http {
    pub(crate) fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

/// A header, written as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Its name, in whatever case.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// How event streams are written (K20).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Framing {
    /// How a line ends.
    pub line_end: EventLineEnd,
    /// The stream begins with an event that has an id and empty data (LEG-40).
    #[serde(skip_serializing_if = "is_false")]
    pub priming: bool,
    /// A comment line before each event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The name of each event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// Each message is spread over two `data` lines.
    #[serde(skip_serializing_if = "is_false")]
    pub split_data: bool,
    /// No blank before the data.
    #[serde(skip_serializing_if = "is_false")]
    pub tight: bool,
    /// The last event is not ended by a blank line.
    #[serde(skip_serializing_if = "is_false")]
    pub unended: bool,
    /// The stream is not ended after the response.
    #[serde(skip_serializing_if = "is_false")]
    pub keep_open: bool,
    /// Events before the first message, each with this data.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub junk: Vec<Text>,
}

/// How a line of an event stream ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventLineEnd {
    /// A newline.
    #[default]
    Lf,
    /// A carriage return and a newline.
    CrLf,
    /// A carriage return.
    Cr,
}

/// What is done to an answer over HTTP. It changes nothing over stdio.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpAct {
    /// Its status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// These headers, instead of those of the same name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<Header>,
    /// Not the headers of these names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drop_headers: Vec<String>,
    /// The headers of these names stand twice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub double_headers: Vec<String>,
    /// This body instead of a message; an empty one is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Text>,
    /// As one JSON object or as an event stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<AnswerForm>,
    /// How far an answer gets that never comes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
    /// The connection breaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<Cut>,
    /// These bytes instead of all that HTTP would have, then the connection is closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<Text>,
}

/// Two different silences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hold {
    /// Nothing comes, not even a head.
    Head,
    /// The head of an event stream comes, and then nothing.
    Stream,
}

/// Where a connection breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    /// After so many bytes of the body; before the head if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_bytes: Option<u32>,
    /// It is reset, not closed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reset: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_false(flag: &bool) -> bool {
    !flag
}
