//! Lines that were read before. Most lines of a run have been in many runs before it: what a client opens with, and what
//! a persona answers. Reading one costs several times what it costs to see that it is the same, byte for byte.

use xxhash_rust::xxh3::xxh3_64;

use super::Node;

/// Lines that are kept, one a slot: the newest one with that hash.
const SLOTS: usize = 1 << 10;
/// Longer lines, and lines of more values, are not kept. Together these bound what a judge keeps to some megabytes.
const BYTES: usize = 1 << 10;
pub(super) const VALUES: usize = 1 << 6;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Memory {
    slots: Vec<Line>,
}

/// A line and its values, with positions from its beginning.
#[derive(Clone, Debug, Default)]
struct Line {
    bytes: Vec<u8>,
    nodes: Vec<Node>,
}

impl Memory {
    /// Appends the values of this line, which begins at `start` of the text, if it was read before.
    pub(super) fn recall(&mut self, bytes: &[u8], start: u32, nodes: &mut Vec<Node>) -> bool {
        let kept = |line: &&mut Line| line.bytes == bytes && !line.nodes.is_empty();
        let Some(line) = self.slot(bytes).filter(kept) else { return false };
        let first = nodes.len() as u32;
        nodes.extend(line.nodes.iter().map(|node| node.moved(start, first)));
        true
    }

    /// Keeps the values of this line, which begins at `start` of the text; the first of them is at `first` of the tree.
    pub(super) fn keep(&mut self, bytes: &[u8], start: u32, nodes: &[Node], first: u32) {
        if nodes.len() > VALUES {
            return;
        }
        let Some(line) = self.slot(bytes) else { return };
        line.bytes.clear();
        line.bytes.extend_from_slice(bytes);
        line.nodes.clear();
        let (back, first) = (start.wrapping_neg(), first.wrapping_neg());
        line.nodes.extend(nodes.iter().map(|node| node.moved(back, first)));
    }

    fn slot(&mut self, bytes: &[u8]) -> Option<&mut Line> {
        if bytes.len() > BYTES {
            return None;
        }
        if self.slots.is_empty() {
            self.slots.resize(SLOTS, Line::default());
        }
        self.slots.get_mut(xxh3_64(bytes) as usize % SLOTS)
    }
}

impl Node {
    fn moved(&self, bytes: u32, places: u32) -> Self {
        Self {
            start: self.start.wrapping_add(bytes),
            end: self.end.wrapping_add(bytes),
            key_start: self.key_start.wrapping_add(bytes),
            key_end: self.key_end.wrapping_add(bytes),
            next: self.next.wrapping_add(places),
            ..*self
        }
    }
}
