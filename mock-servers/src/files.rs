//! Reading persona files: the embedded ones, and those that a user names.

use std::path::Path;
use std::sync::OnceLock;

use include_dir::{Dir, include_dir};
use mcp_parley_data::{self as data, LoadError, line_at};
use serde_json::Value;

use crate::draft::{Draft, OpenPoint, stray_one_of};
use crate::locate::{self, misfit};
use crate::played::{Played, PlayedError};

static FOLDER: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/personas");

const STRAY_ONE_OF: &str =
    "`one_of` must be the only key of its table, with a list of choices that are not open themselves";

/// Every choice is tried when a file is read, and every one is a run of its own for a real client.
const CHOICES_MOST: u32 = 256;
const TOO_MANY_CHOICES: &str =
    "more than 256 choices in one file: give each open value fewer, or make two files";

/// The embedded personas: the healthy modern server first, the others in the order of their names.
pub fn personas() -> &'static [Draft] {
    static ALL: OnceLock<Vec<Draft>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut drafts: Vec<Draft> =
            data::texts(&FOLDER).into_iter().filter_map(|(path, text)| parse(path, text).ok()).collect();
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
    FOLDER.get_file(format!("{id}.toml"))?.contents_utf8()
}

/// Reads a persona from a file.
///
/// # Errors
/// [`LoadError`] says which file, where, and what is allowed.
pub fn load(path: &Path) -> Result<Draft, LoadError> {
    parse(&path.display().to_string(), &data::text_of(path)?)
}

/// Reads a persona from its text: it must be playable with every choice of every open value.
pub(crate) fn parse(path: &str, text: &str) -> Result<Draft, LoadError> {
    let tree: Value = data::parse(path, text)?;
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
    let mut choices = 0_u32;
    for point in draft.open_points() {
        choices = choices.saturating_add(point.choices);
        if choices > CHOICES_MOST {
            return Err(refuse(
                line_at(text, locate::key(text, &point.path, "one_of")),
                TOO_MANY_CHOICES.into(),
            ));
        }
    }
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
