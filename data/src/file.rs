//! Reads one file: first its schema number, then what the type of the file allows.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use serde::de::DeserializeOwned;
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer, Error as TomlError};

/// The schema number of every kind of file.
pub const SCHEMA: u32 = 1;

/// The largest file that is read from disk, in bytes. One of short values takes some hundred times its size in memory.
const LARGEST: u64 = 256 << 10;

/// How deep the TOML reader goes.
const DEEPEST: usize = 80;

/// A file cannot be used.
#[derive(Debug, Error)]
pub enum LoadError {
    /// It cannot be read.
    #[error("{path}: cannot be read: {source}")]
    Io {
        /// Its path.
        path: String,
        /// Why.
        source: io::Error,
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

/// Reads a file's text from disk.
///
/// # Errors
/// [`LoadError::Io`], also for a file that is too large to be meant; [`LoadError::Malformed`] where it is not UTF-8.
pub fn text_of(path: &Path) -> Result<String, LoadError> {
    let name = path.display().to_string();
    let read = || {
        let mut bytes = Vec::new();
        if File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)? as u64 > LARGEST {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 256 KiB"));
        }
        Ok(bytes)
    };
    let bytes = read().map_err(|source| LoadError::Io { path: name.clone(), source })?;
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes().iter().take(good).filter(|byte| **byte == b'\n').count();
        LoadError::Malformed { path: name, line, text: "this is not UTF-8: save the file as UTF-8".into() }
    })
}

/// Reads a file from disk.
///
/// # Errors
/// [`LoadError`] says which file, where, and what is allowed.
pub fn load<T: DeserializeOwned>(path: &Path) -> Result<T, LoadError> {
    parse(&path.display().to_string(), &text_of(path)?)
}

/// Reads a file from its text; `path` names it in errors.
///
/// # Errors
/// [`LoadError::Schema`] and [`LoadError::Malformed`].
pub fn parse<T: DeserializeOwned>(path: &str, text: &str) -> Result<T, LoadError> {
    let malformed = |at: usize, said: &str| LoadError::Malformed {
        path: path.to_owned(),
        line: line_at(text, at),
        text: said.replace('\n', " "),
    };
    let refuse = |error: &TomlError| {
        let at = error.span().map_or_else(|| deep_key(text), |span| span.start);
        match error.message() {
            "recursion limit" | "cannot recurse further; max recursion depth met" => {
                malformed(at, &format!("nested deeper than {DEEPEST} levels"))
            }
            said => malformed(at, said),
        }
    };
    let table = DeTable::parse(text).map_err(|error| refuse(&error))?;
    match table.get_ref().get("schema") {
        Some(schema) if is_ours(schema.get_ref()) => {}
        Some(other) => {
            let found = text.get(other.span()).unwrap_or_default().to_owned();
            let line = line_at(text, other.span().start);
            return Err(LoadError::Schema { path: path.to_owned(), line, found });
        }
        None => return Err(malformed(0, &format!("`schema = {SCHEMA}` is missing"))),
    }
    if let Some(at) = table.get_ref().values().find_map(beyond_json) {
        return Err(malformed(at, "JSON has no such value: no dates and times, no infinite number"));
    }
    T::deserialize(Deserializer::from(table)).map_err(|error| refuse(&error))
}

fn is_ours(schema: &DeValue<'_>) -> bool {
    schema.as_integer().is_some_and(|number| number.as_str() == SCHEMA.to_string())
}

/// The offset of a value that would quietly become another one in a message.
fn beyond_json(value: &Spanned<DeValue<'_>>) -> Option<usize> {
    match value.get_ref() {
        DeValue::Datetime(_) => Some(value.span().start),
        DeValue::Float(float) => {
            let is_finite = float.as_str().parse::<f64>().is_ok_and(f64::is_finite);
            (!is_finite).then(|| value.span().start)
        }
        DeValue::Array(items) => items.iter().find_map(beyond_json),
        DeValue::Table(table) => table.values().find_map(beyond_json),
        _ => None,
    }
}

/// The offset of a line with a dotted key that is too deep: for this alone the reader does not say where.
fn deep_key(text: &str) -> usize {
    let mut lines = text.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start, line))
    });
    lines.find(|(_, line)| line.matches('.').count() >= DEEPEST).map_or(0, |(start, _)| start)
}

/// The line of a byte, from 1.
pub fn line_at(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}
