//! Writes `trace.jsonl` version 1: a header, one line an event, notes, a footer.

use std::io::{self, Write};

use serde::Serialize;
use thiserror::Error;

use crate::wire::{EventLine, NoteLine, channel_members};
use crate::{Assembler, Event, Footer, Header, MAX_CHUNK_BYTES, Recording};

/// Why a trace could not be written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The output refuses.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// One event holds more bytes than a line of a trace can.
    #[error(
        "event {seq} holds {bytes} bytes, and a trace takes {MAX_CHUNK_BYTES} an event: record smaller chunks"
    )]
    ChunkTooLong {
        /// The event's number.
        seq: u32,
        /// Its bytes.
        bytes: usize,
    },
}

/// Writes a whole run. Without a footer the file counts as truncated.
///
/// # Errors
/// When the output refuses, or an event is longer than [`MAX_CHUNK_BYTES`].
pub fn write<W: Write>(
    out: W,
    header: &Header,
    recording: &Recording,
    footer: Option<&Footer>,
) -> Result<(), WriteError> {
    let mut writer = Writer::new(out, header)?;
    for event in recording.events() {
        writer.event(event, recording.bytes(event))?;
    }
    writer.finish(footer)?;
    Ok(())
}

/// Writes a run while it happens, so that the log of a killed process can be read up to its last event.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    assembler: Assembler,
    next_seq: u32,
}

impl<W: Write> Writer<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// When the output refuses.
    pub fn new(out: W, header: &Header) -> Result<Self, WriteError> {
        let mut writer = Self { out, assembler: Assembler::new(), next_seq: 0 };
        writer.line(header)?;
        Ok(writer)
    }

    /// Writes the next event; its number is one more than that of the event before. A note follows it for each of
    /// the first [`MAX_LINES`](crate::MAX_LINES) messages that it completes.
    ///
    /// # Errors
    /// When the output refuses, or the event is longer than [`MAX_CHUNK_BYTES`].
    pub fn event(&mut self, event: &Event, bytes: &[u8]) -> Result<(), WriteError> {
        let seq = self.next_seq;
        if bytes.len() > MAX_CHUNK_BYTES {
            return Err(WriteError::ChunkTooLong { seq, bytes: bytes.len() });
        }
        self.next_seq = seq.saturating_add(1);
        self.line(&EventLine::new(seq, event, bytes))?;
        for line in self.assembler.push(seq, event, bytes) {
            let (process, exchange) = channel_members(line.channel);
            let note = NoteLine { note: "message", from: line.from, process, exchange, chunks: &line.chunks };
            self.line(&note)?;
        }
        Ok(())
    }

    /// Hands everything written so far to the output.
    ///
    /// # Errors
    /// When the output refuses.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        Ok(self.out.flush()?)
    }

    /// Writes the footer, if there is one, and flushes.
    ///
    /// # Errors
    /// When the output refuses.
    pub fn finish(mut self, footer: Option<&Footer>) -> Result<W, WriteError> {
        if let Some(footer) = footer {
            self.line(footer)?;
        }
        self.out.flush()?;
        Ok(self.out)
    }

    fn line(&mut self, line: &impl Serialize) -> Result<(), WriteError> {
        serde_json::to_writer(&mut self.out, line).map_err(io::Error::from)?;
        Ok(self.out.write_all(b"\n")?)
    }
}
