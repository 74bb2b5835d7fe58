//! Where a hosted site tells what it does.

use std::sync::Arc;

use mcp_parley_trace::{Channel, Kind, Node};

use crate::log::Log;
use crate::record::{FileRecord, RecordError};

/// Where a hosted site tells what it does: into a file, or nowhere.
#[derive(Debug)]
pub struct SiteRecord(Target);

#[derive(Debug)]
enum Target {
    Nothing { next_seq: u32 },
    File(Box<FileRecord>),
    Log(Arc<Log>),
}

impl SiteRecord {
    /// Nowhere.
    pub fn nothing() -> Self {
        Self(Target::Nothing { next_seq: 0 })
    }

    /// Into a file.
    pub fn file(file: FileRecord) -> Self {
        Self(Target::File(Box::new(file)))
    }

    /// Into the recording of a run in this process.
    pub(crate) fn log(log: Arc<Log>) -> Self {
        Self(Target::Log(log))
    }

    /// Records that a process of this number runs.
    pub(crate) fn up(&mut self, process: u32) -> Result<(), RecordError> {
        match &mut self.0 {
            // The run counts its processes.
            Target::Log(log) => log.admit().map(|_| ()).ok_or(RecordError::Lost),
            _ => self.server(Channel::Process(process), Kind::Up, None, b"").map(|_| ()),
        }
    }

    /// Records what the server did or saw; returns the event's number.
    pub(crate) fn server(
        &mut self,
        channel: Channel,
        kind: Kind,
        cause: Option<u32>,
        bytes: &[u8],
    ) -> Result<u32, RecordError> {
        if let (Target::Log(log), Kind::ReadHead) = (&self.0, kind) {
            log.meet();
        }
        self.event(Node::Server, channel, kind, cause, bytes)
    }

    /// Records a request that is not for the persona, or what it was answered: an event of nobody who is judged.
    pub(crate) fn stranger(&mut self, kind: Kind, bytes: &[u8]) -> Result<(), RecordError> {
        if let (Target::Log(log), Kind::ReadHead) = (&self.0, kind) {
            log.stranger();
        }
        self.event(Node::Harness, Channel::None, kind, None, bytes).map(|_| ())
    }

    fn event(
        &mut self,
        node: Node,
        channel: Channel,
        kind: Kind,
        cause: Option<u32>,
        bytes: &[u8],
    ) -> Result<u32, RecordError> {
        match &mut self.0 {
            Target::Nothing { next_seq } => {
                *next_seq = next_seq.wrapping_add(1);
                Ok(next_seq.wrapping_sub(1))
            }
            Target::File(file) => file.event(node, channel, kind, cause, bytes),
            Target::Log(log) => log.push(node, channel, kind, cause, bytes).ok_or(RecordError::Lost),
        }
    }

    pub(crate) fn finish(self, complete: bool) -> Result<(), RecordError> {
        match self.0 {
            Target::File(file) => file.finish(complete),
            Target::Nothing { .. } | Target::Log(_) => Ok(()),
        }
    }
}
