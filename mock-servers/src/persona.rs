//! The persona schema, version 1.

use mcp_parley_negotiation::gate::GatePolicy;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::http::{Http, HttpAct};
use crate::literal::Literal;
use crate::text::Text;
use crate::wire::Wire;

/// A concrete persona: no open values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Persona {
    /// Always [`SCHEMA`](mcp_parley_data::SCHEMA).
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
    /// How it answers over HTTP.
    #[serde(default, skip_serializing_if = "Http::is_plain")]
    pub http: Http,
    /// Why it cannot be played over HTTP, if it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_over_http: Option<String>,
    /// Why it cannot be played over stdio, if it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_over_stdio: Option<String>,
    /// Later processes that are of another profile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub process: Vec<ProcessOverride>,
    /// What it does otherwise, in order: every quirk that a request fits acts on its answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quirks: Vec<Quirk>,
}

impl Persona {
    /// A correct server of this kind.
    pub fn unmodified(id: &str, title: &str, profile: Profile) -> Self {
        Self {
            schema: mcp_parley_data::SCHEMA,
            id: id.to_owned(),
            title: title.to_owned(),
            source: Vec::new(),
            profile,
            policy: None,
            wire: Wire::default(),
            http: Http::default(),
            not_over_http: None,
            not_over_stdio: None,
            process: Vec::new(),
            quirks: Vec::new(),
        }
    }

    /// Why it cannot be played over HTTP, if it cannot.
    pub fn refuses_http(&self) -> Option<&str> {
        let of_pipes = "its [wire] has banner, stderr, line_end or together, which only a pipe has";
        self.not_over_http.as_deref().or_else(|| self.wire.is_of_pipes().then_some(of_pipes))
    }

    /// Why it cannot be played over stdio, if it cannot.
    pub fn refuses_stdio(&self) -> Option<&str> {
        self.not_over_stdio.as_deref()
    }
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
    /// It serves modern versions.
    pub fn has_modern(self) -> bool {
        matches!(self, Self::Modern | Self::Dual)
    }

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
    /// Over HTTP, the verb is one of these; `POST` if none is named. A quirk that names one does not act over stdio.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verb: Vec<String>,
    /// Over HTTP, the request has this header. A quirk that says so does not act over stdio.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<HeaderSelector>,
    /// Over HTTP, the request has no header of this name. A quirk that says so does not act over stdio.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lacks_header: Option<String>,
    /// Only the n-th message that fits, counted from 1 in each process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nth: Option<u32>,
    /// Only the first so many messages that fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<u32>,
    /// Only every so many-th message that fits: 2 for the second, the fourth, the sixth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<u32>,
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

/// A header of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderSelector {
    /// Its name, in whatever case.
    pub name: String,
    /// Its value, if that counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
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
    pub result: Option<Literal>,
    /// The answer is this line. In all texts of an act, `$id` stands for the request's id, `null` where it has none, and
    /// `$number` for the number of the message in its process, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<Text>,
    /// These places are taken out of the answer (JSON pointers).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub omit: Vec<String>,
    /// These places get these values; a place that is not there is made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<SetAct>,
    /// These members get other names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rename: Vec<RenameAct>,
    /// These values become the nearest ones of another type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub retype: Vec<RetypeAct>,
    /// These members stand twice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub double: Vec<String>,
    /// The answer's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<IdForm>,
    /// The answer is longer by so many blanks before its last byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pad_bytes: Option<u32>,
    /// Lines on standard error, first of all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stderr: Vec<Text>,
    /// Lines before the answer, at once even if the answer waits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<Text>,
    /// Lines behind it, which wait with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<Text>,
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
    /// The process closes its standard output. Over HTTP: the connection, without an answer.
    pub close: bool,
    /// What is done besides over HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpAct>,
    /// The process ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<ExitAct>,
}

/// An error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorAct {
    /// Its code, of whatever JSON type.
    pub code: Literal,
    /// Its message.
    #[serde(default = "default_message")]
    pub message: Literal,
    /// Its data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Literal>,
}

fn default_message() -> Literal {
    Value::from("refused").into()
}

/// Another name for a member: either `to` or `raw`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RenameAct {
    /// A JSON pointer.
    pub at: String,
    /// The name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// What stands between the quotes, as it stands: escapes of one's own choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

/// A value for a place: either `to` or `raw`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetAct {
    /// A JSON pointer.
    pub at: String,
    /// The value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Literal>,
    /// The JSON text, as it stands, valid or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Text>,
}

/// A type for a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetypeAct {
    /// A JSON pointer.
    pub at: String,
    /// The type that it gets.
    #[serde(rename = "as")]
    pub kind: ValueKind,
}

/// A JSON type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueKind {
    /// An array with the value in it.
    Array,
    /// `true`.
    Boolean,
    /// `null`.
    Null,
    /// The number that a string spells, or 0.
    Number,
    /// An empty object.
    Object,
    /// A string with the value's text.
    String,
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
    /// The same number as a fraction, `7.0` for `7`; any other id is left as it is.
    Fraction,
    /// The same number with an exponent, `7e0` for `7`; any other id is left as it is.
    Exponent,
    /// This one.
    Constant(Literal),
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
