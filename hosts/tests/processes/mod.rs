//! Which processes of a test are left, and what a recording holds of them.

use std::time::{Duration, Instant};

use mcp_parley_trace::{Kind, Node, Recording};

/// A word that stands in the command lines of one test and nowhere else.
pub(crate) fn tag(name: &str) -> String {
    format!("tag-{name}-{}", std::process::id())
}

/// The command lines of running processes that hold the tag.
pub(crate) fn running(tag: &str) -> Vec<String> {
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    processes
        .filter_map(|process| std::fs::read(process.ok()?.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(tag))
        .collect()
}

/// Fails unless all processes with the tag are gone within this time.
pub(crate) fn assert_none_left(tag: &str, within: Duration) {
    let start = Instant::now();
    loop {
        let left = running(tag);
        if left.is_empty() {
            return;
        }
        assert!(start.elapsed() < within, "left running: {left:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub(crate) fn kinds(recording: &Recording, node: Node) -> Vec<Kind> {
    recording.events().iter().filter(|event| event.node == node).map(|event| event.kind).collect()
}
