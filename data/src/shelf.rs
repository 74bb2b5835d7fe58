//! The files of one folder, embedded in the program and read once.

use std::sync::OnceLock;

use include_dir::Dir;
use serde::de::DeserializeOwned;

use crate::file::parse;

/// What a file holds has the name of the file.
pub trait Named {
    /// The name, without the file's ending.
    fn id(&self) -> &str;
}

/// The embedded files of one folder.
#[derive(Debug)]
pub struct Shelf<T> {
    folder: Dir<'static>,
    all: OnceLock<Vec<T>>,
}

impl<T: DeserializeOwned + Named> Shelf<T> {
    /// A shelf of this folder.
    pub const fn new(folder: Dir<'static>) -> Self {
        Self { folder, all: OnceLock::new() }
    }

    /// All of them, in the order of their names. A file that cannot be read is left out: see [`Shelf::problems`].
    pub fn all(&self) -> &[T] {
        self.all.get_or_init(|| {
            texts(&self.folder).into_iter().filter_map(|(path, text)| parse(path, text).ok()).collect()
        })
    }

    /// The one of this name.
    pub fn get(&self, id: &str) -> Option<&T> {
        self.all().iter().find(|held| held.id() == id)
    }

    /// What is wrong with the files, one line each. Whoever has a shelf has a test that there is nothing.
    pub fn problems(&self) -> Vec<String> {
        let problem = |(path, text): (&str, &str)| match parse::<T>(path, text) {
            Ok(held) if path.strip_suffix(".toml") == Some(held.id()) => None,
            Ok(held) => Some(format!("{path}: its id is {}", held.id())),
            Err(error) => Some(error.to_string()),
        };
        texts(&self.folder).into_iter().filter_map(problem).collect()
    }
}

/// The embedded files of one folder, in the order of their names: each one's name and text.
pub fn texts<'d>(folder: &'d Dir<'static>) -> Vec<(&'d str, &'d str)> {
    let mut files: Vec<_> =
        folder.files().filter_map(|file| Some((file.path().to_str()?, file.contents_utf8()?))).collect();
    files.sort_unstable();
    files
}
