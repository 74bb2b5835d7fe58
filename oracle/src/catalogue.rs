//! The two catalogues and the contested rows: data that the specification, or common sense, gives to the judge.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use mcp_parley_trace::Transport;
use serde::{Deserialize, Serialize};

/// How much a breach weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// MAY, an example, or contested: something to know.
    Note,
    /// SHOULD, SHOULD NOT, RECOMMENDED and other prose.
    Warning,
    /// MUST, MUST NOT, REQUIRED, the schema, binding decision rows, and properties.
    Error,
}

/// With which word the specification says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Level {
    /// An absolute duty.
    #[serde(rename = "MUST")]
    Must,
    /// An absolute ban.
    #[serde(rename = "MUST NOT")]
    MustNot,
    /// An absolute duty, in other words.
    #[serde(rename = "REQUIRED")]
    Required,
    /// A duty with exceptions.
    #[serde(rename = "SHOULD")]
    Should,
    /// A ban with exceptions.
    #[serde(rename = "SHOULD NOT")]
    ShouldNot,
    /// A duty with exceptions, in other words.
    #[serde(rename = "RECOMMENDED")]
    Recommended,
    /// A permission.
    #[serde(rename = "MAY")]
    May,
    /// The type in the schema says so.
    #[serde(rename = "schema")]
    Schema,
    /// Text that sounds binding and has no keyword.
    #[serde(rename = "prose")]
    Prose,
    /// Shown in an example only.
    #[serde(rename = "example")]
    Example,
}

/// Whom a row binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Clients.
    Client,
    /// Servers.
    Server,
    /// Both sides.
    Both,
    /// What stands between the two and speaks to both.
    Proxy,
}

/// In which era a row holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EraScope {
    /// Requests that carry their version.
    Modern,
    /// Sessions opened by `initialize`.
    Legacy,
    /// Both, or while it is being found out.
    Both,
}

/// Where a row stands in the specification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The page, below the revision's folder unless it names another revision.
    pub page: String,
    /// The section or type.
    pub section: String,
    /// Line numbers in the page's source.
    pub lines: String,
}

/// What the specification asks for; breaking it is a violation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// Its id, such as `NEG-01`.
    pub id: String,
    /// With which word it is said. Exactly one for an id.
    pub level: Level,
    /// Whom it binds.
    pub role: Role,
    /// In which era.
    pub era: EraScope,
    /// Over which transports.
    pub transports: Vec<Transport>,
    /// Where it stands.
    pub sources: Vec<Source>,
    /// In our own words.
    pub text: String,
    /// True for the decision rows that bind without a keyword.
    #[serde(default)]
    pub binding: bool,
    /// Why no trace can show it, if none can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excluded: Option<String>,
    /// The revision whose catalogue it belongs to.
    #[serde(skip_deserializing)]
    pub revision: String,
}

/// What any sane side keeps; breaking it is a defect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Property {
    /// Its id, such as `PROP-BOUND`.
    pub id: String,
    /// Whom it binds.
    pub role: Role,
    /// In our own words.
    pub text: String,
    /// How much a breach weighs.
    pub severity: Severity,
}

/// A passage that bears on an open question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// The page, below the revision's folder unless it names another revision.
    pub page: String,
    /// The section or type.
    pub section: String,
    /// Line numbers in the page's source.
    pub lines: String,
    /// What it says, in our own words.
    pub says: String,
}

/// What the specification leaves open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contested {
    /// Its id, such as `AMB-05`.
    pub id: String,
    /// The question.
    pub title: String,
    /// Why it is open.
    pub text: String,
    /// The rows that turned out to decide it, if it is decided after all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<String>,
    /// The rows that decide a part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partly_settled: Option<String>,
    /// Whose behaviour is open.
    pub roles: Vec<Role>,
    /// Over which transports.
    pub transports: Vec<Transport>,
    /// The policy fields that choose among the outcomes.
    pub policy: Vec<String>,
    /// The outcomes that are allowed.
    pub allowed: Vec<String>,
    /// The passages that can be read one way and the other; at least two.
    pub readings: Vec<Reading>,
    /// What each of them means.
    pub outcomes: BTreeMap<String, String>,
}

impl Requirement {
    /// How much a breach weighs.
    pub fn severity(&self) -> Severity {
        match self.level {
            Level::Must | Level::MustNot | Level::Required | Level::Schema => Severity::Error,
            _ if self.binding => Severity::Error,
            Level::Should | Level::ShouldNot | Level::Recommended | Level::Prose => Severity::Warning,
            Level::May | Level::Example => Severity::Note,
        }
    }
}

/// Why the embedded catalogue cannot be used. A test keeps this from being shipped.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// A file is no TOML of the expected form.
    #[error("catalogue file {file}: {source}")]
    Toml {
        /// Which file.
        file: &'static str,
        /// What is wrong with it.
        source: Box<toml::de::Error>,
    },
    /// A file has a schema number that this version does not know.
    #[error("catalogue file {file}: schema {schema} is not known; this version reads schema 1")]
    Schema {
        /// Which file.
        file: &'static str,
        /// The number in it.
        schema: u32,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: u32,
    #[serde(default)]
    revision: String,
    #[serde(default)]
    requirement: Vec<Requirement>,
    #[serde(default)]
    property: Vec<Property>,
    #[serde(default)]
    contested: Vec<Contested>,
}

#[derive(Default)]
struct Catalogue {
    requirements: Vec<Requirement>,
    properties: Vec<Property>,
    contested: Vec<Contested>,
}

macro_rules! files {
    ($($name:literal),* $(,)?) => { [$(($name, include_str!(concat!("../catalogue/", $name)))),*] };
}

/// In the order in which rulings stand.
const FILES: [(&str, &str); 18] = files![
    "requirements/neg.toml",
    "requirements/era.toml",
    "requirements/disc.toml",
    "requirements/mrtr.toml",
    "requirements/meta.toml",
    "requirements/base.toml",
    "requirements/err.toml",
    "requirements/pat.toml",
    "requirements/stdio.toml",
    "requirements/canc.toml",
    "requirements/http.toml",
    "requirements/cache.toml",
    "requirements/leg-handshake.toml",
    "requirements/leg-http.toml",
    "requirements/leg-messages.toml",
    "properties.toml",
    "contested/amb-01.toml",
    "contested/amb-21.toml",
];

fn load() -> Result<Catalogue, CatalogueError> {
    let mut all = Catalogue::default();
    for (file, text) in FILES {
        let read: File =
            toml::from_str(text).map_err(|source| CatalogueError::Toml { file, source: Box::new(source) })?;
        if read.schema != 1 {
            return Err(CatalogueError::Schema { file, schema: read.schema });
        }
        all.requirements.extend(
            read.requirement.into_iter().map(|row| Requirement { revision: read.revision.clone(), ..row }),
        );
        all.properties.extend(read.property);
        all.contested.extend(read.contested);
    }
    Ok(all)
}

fn catalogue() -> &'static Catalogue {
    static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
    CATALOGUE.get_or_init(|| load().unwrap_or_default())
}

/// Checks that the embedded files can be read.
///
/// # Errors
/// Says which file is not of the expected form. The other functions here then see an empty catalogue.
pub fn validate() -> Result<(), CatalogueError> {
    load().map(drop)
}

/// Every requirement, in catalogue order.
pub fn requirements() -> &'static [Requirement] {
    &catalogue().requirements
}

/// Every property, in catalogue order.
pub fn properties() -> &'static [Property] {
    &catalogue().properties
}

/// Everything that the specification leaves open, in order.
pub fn contested() -> &'static [Contested] {
    &catalogue().contested
}

/// The requirement with this id.
pub fn requirement(id: &str) -> Option<&'static Requirement> {
    requirements().iter().find(|row| row.id == id)
}

/// The property with this id.
pub fn property(id: &str) -> Option<&'static Property> {
    properties().iter().find(|row| row.id == id)
}

/// The contested row with this id.
pub fn contested_row(id: &str) -> Option<&'static Contested> {
    contested().iter().find(|row| row.id == id)
}

/// How much a breach of this row weighs; a contested row, or an id that nobody knows, is a note.
pub fn severity(id: &str) -> Severity {
    requirement(id)
        .map(Requirement::severity)
        .or_else(|| property(id).map(|row| row.severity))
        .unwrap_or(Severity::Note)
}

/// Every id in catalogue order: requirements, properties, contested rows.
pub(crate) fn ids() -> impl Iterator<Item = &'static str> {
    requirements()
        .iter()
        .map(|row| row.id.as_str())
        .chain(properties().iter().map(|row| row.id.as_str()))
        .chain(contested().iter().map(|row| row.id.as_str()))
}
