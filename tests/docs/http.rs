//! The page of one-liners: each block starts a server, and what `curl` says of it is what the page shows.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::commands::{EXE, is_like, run};
use crate::page::{Block, Page};

/// The port on the page; a test takes a free one.
const PORT: &str = "8080";

/// The server of one block; it ends with the value.
struct Served(Child, String);

impl Served {
    fn start(command: &str, at: &str) -> Self {
        let words = command.strip_prefix("mcp-parley serve http ").expect("a block begins with its server");
        let words = words.replace(&format!("--port {PORT}"), "--port 0");
        let mut process = Command::new(EXE)
            .args(["serve", "http"])
            .args(words.split(' '))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port =
            line.trim_end().strip_prefix("http://127.0.0.1:").and_then(|rest| rest.strip_suffix("/mcp"));
        let port = port.unwrap_or_else(|| panic!("{at}: {command} does not listen")).to_owned();
        Self(process, port)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn every_one_liner_prints_what_the_page_shows() {
    let has_curl = Command::new("curl").arg("--version").output().is_ok_and(|output| output.status.success());
    assert!(has_curl, "curl is missing: this test runs what the page shows");
    let page = Page::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/http.md"));
    let folder = tempfile::tempdir().unwrap();
    for block in page.blocks.iter().filter(|block| block.tag == "sh") {
        run(folder.path(), &block.lines.join("\n"), 0, &page.at(block.line));
    }
    let blocks: Vec<&Block> = page.blocks.iter().filter(|block| block.why == "http").collect();
    assert!(blocks.len() >= 10, "ten one-liners");
    std::thread::scope(|scope| {
        for block in blocks {
            scope.spawn(|| check(&page, block, folder.path()));
        }
    });
}

fn check(page: &Page, block: &Block, folder: &Path) {
    let all = block.shown();
    let (server, commands) = all.split_first().unwrap();
    assert!(!commands.is_empty() && server.output.is_empty(), "{}", page.at(server.line));
    let served = Served::start(&server.command, &page.at(server.line));
    for shown in commands {
        let at = page.at(shown.line);
        let command = shown.command.replace(&format!(":{PORT}/"), &format!(":{}/", served.1));
        let said = run(folder, &command, shown.exit, &at);
        is_shown(&said, &shown.output, &at);
    }
}

/// Line for line, and `…` alone for any number of lines.
fn is_shown(said: &str, shown: &[String], at: &str) {
    let mut rest = said.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let mut skips = false;
    for line in shown.iter().filter(|line| !line.is_empty()) {
        if line == "…" {
            skips = true;
            continue;
        }
        let next = if skips { rest.find(|said| is_like(said, line)) } else { rest.next() };
        assert!(
            next.is_some_and(|said| is_like(said, line)),
            "{at}: no line {line:?} in its place in\n{said}"
        );
        skips = false;
    }
    assert!(skips || rest.next().is_none(), "{at}: it says more:\n{said}");
}
