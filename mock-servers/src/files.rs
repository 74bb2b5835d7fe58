//! Reading persona and mutant files: the embedded ones, and those that a user names.

use std::path::Path;
use std::sync::OnceLock;

use include_dir::{Dir, include_dir};
use serde_json::Value;
use thiserror::Error;

use crate::draft::{Draft, OpenPoint, stray_one_of};
use crate::locate::{self, misfit};
use crate::persona::SCHEMA;
use crate::played::{Played, PlayedError};

static PERSONAS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/personas");
static MUTANTS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/mutants");

const STRAY_ONE_OF: &str =
    "`one_of` must be the only key of its table, with a list of choices that are not open themselves";

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

/// The file of the embedded persona of this name, as it was written.
pub fn persona_text(id: &str) -> Option<&'static str> {
    PERSONAS.get_file(format!("{id}.toml"))?.contents_utf8()
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

/// Reads a persona from its text: it must be playable with every choice of every open value.
pub(crate) fn parse(path: &str, text: &str) -> Result<Draft, LoadError> {
    let tree = tree(path, text)?;
    let refuse = |line: usize, reason: String| LoadError::Malformed {
        path: path.to_owned(),
        line,
        text: reason.replace('\n', " "),
    };
    if let Some(stray) = stray_one_of(&tree, &mut String::new()) {
        let line = line_at(text, locate::key(text, &stray, "one_of"));
        return Err(refuse(line, STRAY_ONE_OF.into()));
    }
    let draft = Draft::new(tree);
    let first = OpenPoint { path: String::new(), choices: 1 };
    for (at, point) in std::iter::once((0, &first)).chain(draft.open_points().iter().enumerate()) {
        for choice in 0..point.choices {
            let mut choices = vec![0; at];
            choices.push(choice);
            let persona = draft.resolve(&choices).map_err(|error| {
                let found = misfit(text, &point.path, choice);
                let (line, reason) =
                    found.map_or((1, error), |(offset, reason)| (line_at(text, offset), reason));
                refuse(line, reason)
            })?;
            Played::new(persona).map_err(|error| {
                let reason = error.to_string();
                let within = match &error {
                    PlayedError::Quirk { number, .. } => format!("/quirks/{}", number - 1),
                    PlayedError::Policy(_) => "/policy".into(),
                    PlayedError::Value { .. } | PlayedError::TooManyMethods => String::new(),
                };
                let name = reason.split('`').nth(1).unwrap_or_default();
                refuse(line_at(text, locate::key(text, &within, name)), reason)
            })?;
        }
    }
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
            line: line_at(text, locate::key(text, "", "schema")),
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
