//! Reading persona and mutant files: the embedded ones, and those that a user names.

use std::path::Path;
use std::sync::OnceLock;

use include_dir::{Dir, include_dir};
use serde_json::Value;
use thiserror::Error;

use crate::draft::Draft;
use crate::persona::SCHEMA;
use crate::played::Played;

static PERSONAS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/personas");
static MUTANTS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/mutants");

/// A file cannot be used.
#[derive(Debug, Error)]
pub enum LoadError {
    /// It cannot be read.
    #[error("{path}: cannot be read: {source}")]
    Io {
        /// Its path.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// It is not TOML, or does not fit the schema.
    #[error("{path}: line {line}: {text}")]
    Malformed {
        /// Its path.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what is allowed.
        text: String,
    },
    /// It is of another schema.
    #[error("{path}: line {line}: this file has schema {found}, this version reads schema {SCHEMA}")]
    Schema {
        /// Its path.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What it says.
        found: String,
    },
}

/// The embedded personas: the healthy modern server first, the others in the order of their names.
pub fn personas() -> &'static [Draft] {
    static ALL: OnceLock<Vec<Draft>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut drafts: Vec<Draft> =
            texts(&PERSONAS).into_iter().filter_map(|(path, text)| parse(path, text).ok()).collect();
        drafts.sort_by(|a, b| (a.id() != "modern", a.id()).cmp(&(b.id() != "modern", b.id())));
        drafts
    })
}

/// The embedded persona of this name.
pub fn persona(id: &str) -> Option<&'static Draft> {
    personas().iter().find(|draft| draft.id() == id)
}

/// Reads a persona from a file.
///
/// # Errors
/// [`LoadError`] says which file, where, and what is allowed.
pub fn load(path: &Path) -> Result<Draft, LoadError> {
    let name = path.display().to_string();
    let text =
        std::fs::read_to_string(path).map_err(|source| LoadError::Io { path: name.clone(), source })?;
    parse(&name, &text)
}

/// The embedded files of one folder, in the order of their names.
fn texts(folder: &'static Dir<'_>) -> Vec<(&'static str, &'static str)> {
    let mut files: Vec<_> =
        folder.files().filter_map(|file| Some((file.path().to_str()?, file.contents_utf8()?))).collect();
    files.sort_unstable();
    files
}

pub(crate) fn mutant_texts() -> Vec<(&'static str, &'static str)> {
    texts(&MUTANTS)
}

/// Reads a persona from its text: it must be playable with the first choice of every open value.
pub(crate) fn parse(path: &str, text: &str) -> Result<Draft, LoadError> {
    let tree = tree(path, text)?;
    let draft = Draft::new(tree);
    let refuse = |reason: &str| LoadError::Malformed {
        path: path.to_owned(),
        line: line_of(text, reason),
        text: reason.replace('\n', " "),
    };
    let persona = draft.resolve(&[]).map_err(|error| refuse(&error))?;
    Played::new(persona).map_err(|error| refuse(&error.to_string()))?;
    Ok(draft)
}

/// Reads TOML and checks its schema number.
pub(crate) fn tree(path: &str, text: &str) -> Result<Value, LoadError> {
    let tree: Value = toml::from_str(text).map_err(|error| LoadError::Malformed {
        path: path.to_owned(),
        line: error.span().map_or(1, |span| line_at(text, span.start)),
        text: error.message().replace('\n', " "),
    })?;
    match tree.get("schema") {
        Some(schema) if schema.as_u64() == Some(u64::from(SCHEMA)) => Ok(tree),
        Some(other) => Err(LoadError::Schema {
            path: path.to_owned(),
            line: line_of(text, "`schema`"),
            found: other.to_string(),
        }),
        None => Err(LoadError::Malformed {
            path: path.to_owned(),
            line: 1,
            text: format!("`schema = {SCHEMA}` is missing"),
        }),
    }
}

fn line_at(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

/// The line of the first name in backquotes that an error message gives, as far as the file has it as a key.
pub(crate) fn line_of(text: &str, message: &str) -> usize {
    let name = message.split('`').nth(1).unwrap_or_default();
    let is_key = |line: &str| {
        line.match_indices(name)
            .any(|(at, _)| line[at + name.len()..].trim_start_matches('"').trim_start().starts_with('='))
    };
    let found = text
        .lines()
        .position(|line| !name.is_empty() && (is_key(line) || line.contains(&format!("\"{name}\""))));
    found.map_or(1, |at| at + 1)
}
