//! A page of the documentation as the tests see it: its fenced blocks, its code spans and its links.

use std::path::{Path, PathBuf};

/// The README and every page of `docs/`.
pub(crate) fn all() -> Vec<Page> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    let entries = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    paths.extend(entries.filter(|path| path.extension().is_some_and(|ending| ending == "md")));
    paths.sort();
    paths.iter().map(|path| Page::read(path)).collect()
}

/// One file.
pub(crate) struct Page {
    pub(crate) path: PathBuf,
    pub(crate) blocks: Vec<Block>,
    /// The text outside of the blocks, line by line.
    prose: Vec<(usize, String)>,
}

/// One fenced block.
pub(crate) struct Block {
    /// Where its first line stands.
    pub(crate) line: usize,
    /// The first word after the fence.
    pub(crate) tag: String,
    /// The word behind it, which says why a test cannot run the block.
    pub(crate) why: String,
    pub(crate) lines: Vec<String>,
}

impl Page {
    pub(crate) fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap();
        let mut page = Self { path: path.to_owned(), blocks: Vec::new(), prose: Vec::new() };
        let mut open = false;
        for (number, line) in (1..).zip(text.lines()) {
            match (line.strip_prefix("```"), open) {
                (Some(info), false) => {
                    let (tag, why) = info.split_once(' ').unwrap_or((info, ""));
                    let (tag, why) = (tag.to_owned(), why.to_owned());
                    page.blocks.push(Block { line: number + 1, tag, why, lines: Vec::new() });
                    open = true;
                }
                (Some(_), true) => open = false,
                (None, true) => page.blocks.last_mut().unwrap().lines.push(line.to_owned()),
                (None, false) => page.prose.push((number, line.to_owned())),
            }
        }
        assert!(!open, "{}: a block is not closed", path.display());
        page
    }

    /// Page and line, as errors name them.
    pub(crate) fn at(&self, line: usize) -> String {
        format!("{}:{line}", self.path.display())
    }

    /// The lines outside of the blocks.
    pub(crate) fn prose(&self) -> impl Iterator<Item = &str> {
        self.prose.iter().map(|(_, line)| line.as_str())
    }

    /// What stands between back-ticks.
    pub(crate) fn spans(&self) -> impl Iterator<Item = (usize, &str)> {
        self.prose
            .iter()
            .flat_map(|(number, line)| line.split('`').skip(1).step_by(2).map(move |span| (*number, span)))
    }

    /// The targets of links to files of this repository.
    pub(crate) fn links(&self) -> impl Iterator<Item = (usize, &str)> {
        self.prose.iter().flat_map(|(number, line)| {
            let targets = line.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
            targets.filter(|to| !to.is_empty() && !to.contains("://")).map(move |to| (*number, to))
        })
    }
}

/// One command of a `console` block.
pub(crate) struct Shown {
    pub(crate) line: usize,
    pub(crate) command: String,
    pub(crate) exit: i32,
    /// What it prints, with `…` for what is left out.
    pub(crate) output: Vec<String>,
}

impl Block {
    /// A line that begins with `$ ` is a command; the lines behind it are what it prints. A comment `# exit code N` at its
    /// end is its exit code.
    pub(crate) fn shown(&self) -> Vec<Shown> {
        let mut all: Vec<Shown> = Vec::new();
        for (number, line) in (self.line..).zip(&self.lines) {
            match line.strip_prefix("$ ") {
                Some(command) => {
                    let (command, exit) = command.split_once("# exit code ").unwrap_or((command, "0"));
                    let (command, exit) = (command.trim().to_owned(), exit.trim().parse().unwrap());
                    all.push(Shown { line: number, command, exit, output: Vec::new() });
                }
                None => all.last_mut().expect("a command comes first").output.push(line.clone()),
            }
        }
        all
    }
}
