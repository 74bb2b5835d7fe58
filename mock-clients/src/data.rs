//! Reading the embedded files and those that a user names.

use std::path::Path;

use include_dir::{Dir, include_dir};
use serde::de::DeserializeOwned;
use thiserror::Error;

static OPENINGS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/openings");
static MUTANTS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/mutants");

/// The schema number of both kinds of file.
const SCHEMA: i64 = 1;

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
    /// It is not TOML, or not of this schema; the text says where.
    #[error("{path}: {text}")]
    Malformed {
        /// Its path.
        path: String,
        /// Where and why, in one line.
        text: String,
    },
    /// It is of another schema.
    #[error("{path}: this file has schema {found}, this version reads schema {SCHEMA}")]
    Schema {
        /// Its path.
        path: String,
        /// Its schema.
        found: i64,
    },
}

/// Reads one file's text.
pub(crate) fn parse<T: DeserializeOwned>(path: &str, text: &str) -> Result<T, LoadError> {
    let malformed = |error: &toml::de::Error| {
        let line =
            error.span().map_or(1, |span| 1 + text[..span.start.min(text.len())].matches('\n').count());
        LoadError::Malformed {
            path: path.into(),
            text: format!("line {line}: {}", error.message().replace('\n', " ")),
        }
    };
    let table: toml::Table = toml::from_str(text).map_err(|error| malformed(&error))?;
    match table.get("schema").and_then(toml::Value::as_integer) {
        Some(SCHEMA) => toml::from_str(text).map_err(|error| malformed(&error)),
        Some(found) => Err(LoadError::Schema { path: path.into(), found }),
        None => {
            Err(LoadError::Malformed { path: path.into(), text: "line 1: `schema = 1` is missing".into() })
        }
    }
}

/// Reads a file from disk.
pub(crate) fn load<T: DeserializeOwned>(path: &Path) -> Result<T, LoadError> {
    let name = path.display().to_string();
    let text =
        std::fs::read_to_string(path).map_err(|source| LoadError::Io { path: name.clone(), source })?;
    parse(&name, &text)
}

/// All embedded files of one kind, in the order of their names. A file that cannot be read is left out; a test shows that
/// there is none.
pub(crate) fn embedded<T: DeserializeOwned>(kind: Kind) -> Vec<T> {
    files(kind).into_iter().filter_map(|(path, text)| parse(path, text).ok()).collect()
}

/// The kinds of embedded files.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Openings,
    Mutants,
}

pub(crate) fn files(kind: Kind) -> Vec<(&'static str, &'static str)> {
    let dir = match kind {
        Kind::Openings => &OPENINGS,
        Kind::Mutants => &MUTANTS,
    };
    let mut files: Vec<_> =
        dir.files().filter_map(|file| Some((file.path().to_str()?, file.contents_utf8()?))).collect();
    files.sort_unstable();
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mutant, Opening};

    #[test]
    fn every_embedded_file_is_read() {
        for (path, text) in files(Kind::Openings) {
            let opening: Opening = parse(path, text).unwrap();
            assert_eq!(format!("{}.toml", opening.id), path);
            assert!(!opening.source.is_empty(), "{path} names no report or requirement");
        }
        for (path, text) in files(Kind::Mutants) {
            let mutant: Mutant = parse(path, text).unwrap();
            assert_eq!(format!("{}.toml", mutant.id), path);
        }
        assert!(files(Kind::Openings).len() >= 6 && files(Kind::Mutants).len() >= 10);
    }

    #[test]
    fn a_bad_file_is_refused_with_place_and_reason() {
        let unknown_key =
            parse::<Mutant>("m.toml", "schema = 1\nid = \"a\"\nsise = \"client\"\n").unwrap_err();
        assert!(unknown_key.to_string().starts_with("m.toml: line 3: unknown field `sise`"), "{unknown_key}");
        let schema = parse::<Mutant>("m.toml", "schema = 2\n").unwrap_err();
        assert_eq!(schema.to_string(), "m.toml: this file has schema 2, this version reads schema 1");
        let missing = parse::<Mutant>("m.toml", "id = \"a\"\n").unwrap_err();
        assert!(missing.to_string().contains("`schema = 1` is missing"));
    }
}
