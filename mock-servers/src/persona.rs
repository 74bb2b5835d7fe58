//! The persona schema, version 1.

use mcp_parley_negotiation::gate::GatePolicy;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The schema that this version reads and writes.
pub const SCHEMA: u32 = 1;

/// A concrete persona: no open values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Persona {
    /// Always [`SCHEMA`].
    pub schema: u32,
    /// Its name; that of its file.
    pub id: String,
    /// What it does, in one line.
    pub title: String,
    /// The reports and requirements that it is for.
    pub source: Vec<String>,
    /// What it is where no quirk says otherwise.
    pub profile: Profile,
    /// What it legally chooses. The version lists default to the profile's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicyTable>,
    /// How its bytes are written.
    #[serde(default, skip_serializing_if = "Wire::is_plain")]
    pub wire: Wire,
    /// Later processes that are of another profile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub process: Vec<ProcessOverride>,
    /// What it does otherwise, in order: every quirk that a request fits acts on its answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quirks: Vec<Quirk>,
}

/// The fields of [`GatePolicy`] that differ from the profile's defaults.
pub type PolicyTable = serde_json::Map<String, Value>;

/// Five kinds of server. Unmodified, the first three are correct.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Serves modern versions only.
    Modern,
    /// Serves legacy versions only.
    Legacy,
    /// Serves both.
    Dual,
    /// Reads, and answers nothing.
    Silent,
    /// A legacy server that ends at the first request that it does not know.
    Exiting,
}

impl Profile {
    /// The policy of an unmodified server of this kind.
    pub fn policy(self) -> GatePolicy {
        let all = mcp_parley_negotiation::version::Preferences::all();
        let (modern, legacy) = match self {
            Self::Modern => (all.modern.to_vec(), Vec::new()),
            Self::Legacy | Self::Silent | Self::Exiting => (Vec::new(), all.legacy.to_vec()),
            Self::Dual => (all.modern.to_vec(), all.legacy.to_vec()),
        };
        GatePolicy { modern, legacy, ..GatePolicy::default() }
    }
}

/// A process that is of another profile than the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessOverride {
    /// From this start on, counted from 1.
    pub from: u32,
    /// What it then is.
    pub profile: Profile,
}

/// How bytes are written, whatever they say (K19).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Wire {
    /// Each write is cut into pieces of this many bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk_bytes: Option<u32>,
    /// How a line ends.
    pub line_end: LineEnd,
    /// All that one input causes is one write; with `chunk_bytes`, it is cut as a whole.
    #[serde(skip_serializing_if = "is_false")]
    pub together: bool,
    /// A byte-order mark before the first byte.
    pub byte_order_mark: bool,
    /// Lines written before anything is read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub banner: Vec<String>,
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

/// When a quirk acts, and what it does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quirk {
    /// When. Everything said must hold.
    #[serde(default)]
    pub when: Selector,
    /// What. Applied in the order of the fields of [`Act`].
    pub act: Act,
}

/// Selects messages from the client by content.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Selector {
    /// The method is one of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub method: Vec<String>,
    /// The request has a value at this JSON pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has: Option<String>,
    /// The request has no value at this JSON pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lacks: Option<String>,
    /// The request has this value there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<ValueSelector>,
    /// Only the n-th message that fits, counted from 1 in each process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nth: Option<u32>,
    /// Only in the n-th process, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
    /// Only in the n-th process and those after it, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_process: Option<u32>,
    /// Only after this method was received by the same process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Only as long as this method was not received by the same process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

/// A value at a place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValueSelector {
    /// A JSON pointer.
    pub at: String,
    /// What stands there.
    pub equals: Value,
}

/// What is done instead of, to, or with the answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Act {
    /// The answer is this error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorAct>,
    /// The answer is this result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// The answer is this line, as it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// The answer is a line of these bytes, which need not be UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_bytes: Option<Vec<u8>>,
    /// These places are taken out of the answer (JSON pointers).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub omit: Vec<String>,
    /// These places get these values; a place that is not there is made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<SetAct>,
    /// These members get other names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rename: Vec<RenameAct>,
    /// These members stand twice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub double: Vec<String>,
    /// The answer's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<IdForm>,
    /// The answer is longer by so many blanks before its last byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pad_bytes: Option<u32>,
    /// Lines before the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
    /// Lines behind it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<String>,
    /// The answer is written twice.
    pub twice: bool,
    /// No answer.
    pub silence: bool,
    /// The answer comes so many milliseconds later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// The answer comes only when this method arrives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// With `until`: before or after that method's own answer.
    pub until_order: Moment,
    /// The process closes its standard output.
    pub close: bool,
    /// The process ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<ExitAct>,
}

/// An error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorAct {
    /// Its code, of whatever JSON type.
    pub code: Value,
    /// Its message.
    #[serde(default = "default_message")]
    pub message: Value,
    /// Its data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

fn default_message() -> Value {
    Value::from("refused")
}

/// Another name for a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RenameAct {
    /// A JSON pointer.
    pub at: String,
    /// The name.
    pub to: String,
}

/// A value for a place: either `to` or `raw`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetAct {
    /// A JSON pointer.
    pub at: String,
    /// The value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Value>,
    /// The JSON text, as it stands, valid or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

/// The id of an answer (K05, K17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IdForm {
    /// `null`.
    Null,
    /// None at all.
    Missing,
    /// One that the client never used.
    Foreign,
    /// The same digits as the other JSON type.
    OtherType,
    /// This one.
    Constant(Value),
}

/// Before or after an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Moment {
    /// Before it.
    #[default]
    Before,
    /// After it.
    After,
}

/// The end of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExitAct {
    /// With this code.
    #[serde(default)]
    pub code: i32,
    /// By this signal instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Before or after the answer.
    #[serde(default)]
    pub moment: Moment,
}
