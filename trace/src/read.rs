//! Reads `trace.jsonl` version 1: line by line, strictly, within bounds.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;
use thiserror::Error;

use crate::wire::EventLine;
use crate::{Footer, Header, Recording, SCHEMA, escape};

/// Longest line of a file, in bytes: 32 MiB.
pub const MAX_LINE_BYTES: usize = 32 << 20;
/// Longest header, in bytes: 4 MiB. What it holds as data takes many times its size in memory.
pub const MAX_HEADER_BYTES: usize = 4 << 20;
/// Most bytes that one event may hold: what fits a line as base64, with room for the other members.
pub const MAX_CHUNK_BYTES: usize = 23 << 20;
/// Most bytes that all events of a file may hold together: 64 MiB.
pub const MAX_DATA_BYTES: usize = 64 << 20;
/// Most events of a file.
pub const MAX_EVENTS: u32 = 1 << 18;

/// A file, read.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceFile {
    /// Its first line.
    pub header: Header,
    /// The events.
    pub recording: Recording,
    /// Its last line. `None` only for a truncated log.
    pub footer: Option<Footer>,
}

/// How to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Take a log without a footer, as a killed process leaves it; a last line that was cut in the middle is dropped.
    pub allow_truncated: bool,
}

/// Why a trace could not be read, and in which line (counted from 1).
#[derive(Debug, Error)]
#[error("{}{problem}", place(.problem, *.line))]
pub struct ReadError {
    /// The line, counted from 1.
    pub line: u64,
    /// What is wrong.
    pub problem: Problem,
}

/// A file that cannot be read has no line that is wrong.
fn place(problem: &Problem, line: u64) -> String {
    if matches!(problem, Problem::Io(_)) { String::new() } else { format!("line {line}: ") }
}

/// What is wrong with a trace.
#[derive(Debug, Error)]
pub enum Problem {
    /// The input cannot be read.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// Nothing in it.
    #[error("the file is empty: a trace begins with a header line")]
    Empty,
    /// No header.
    #[error(
        "this is no trace: its first line must be a JSON object with the member \"schema\": \"{SCHEMA}\""
    )]
    NoTrace,
    /// Another schema.
    #[error(
        "this file has schema \"{0}\", this version reads \"{SCHEMA}\": use the version of the tool that wrote it"
    )]
    OtherSchema(String),
    /// A header that does not follow the schema.
    #[error("bad header: {}", said(.0))]
    Header(serde_json::Error),
    /// Too long a header.
    #[error("the header is longer than {MAX_HEADER_BYTES} bytes: no trace has such a header")]
    HeaderTooLong,
    /// Not UTF-8.
    #[error("not UTF-8 at byte {0} of the line: bytes that are no text are written as {{\"b64\": …}}")]
    NotUtf8(usize),
    /// Too long a line.
    #[error("longer than {MAX_LINE_BYTES} bytes: no trace has such a line")]
    LineTooLong,
    /// Too many bytes.
    #[error("the events hold more than {MAX_DATA_BYTES} bytes together: record a shorter run")]
    TooMuchData,
    /// Too many events.
    #[error("more than {MAX_EVENTS} events: record a shorter run")]
    TooManyEvents,
    /// JSON that is none, or a line that is neither event, note nor footer.
    #[error("{}", said(.0))]
    Line(serde_json::Error),
    /// A JSON object of no known form.
    #[error("neither an event (`seq`), a note (`note`) nor the footer (`rulings`)")]
    UnknownLine,
    /// An event that contradicts itself.
    #[error("bad event: {0}")]
    Event(String),
    /// Events are numbered from 0 without gaps.
    #[error("event {found} where {expected} was due: lines are missing, doubled or out of order")]
    OutOfOrder {
        /// The number that was due.
        expected: u32,
        /// The number that stands there.
        found: u32,
    },
    /// Time never runs back.
    #[error("time runs back from {from} to {to} µs")]
    TimeRunsBack {
        /// The time of the event before.
        from: u64,
        /// The time of this one.
        to: u64,
    },
    /// Something after the footer.
    #[error("the footer must be the last line: two traces in one file?")]
    AfterFooter,
    /// No footer.
    #[error("the log is truncated: its last line is no footer; `show --allow-truncated` shows it up to here")]
    Truncated,
}

/// What a JSON reader says, less the line that it counts: each line of a trace is a text of its own.
fn said(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let what = match text.strip_suffix(&place).unwrap_or(&text) {
        "recursion limit exceeded" => "nested deeper than 127 levels",
        other => other,
    };
    format!("{what}, at byte {} of the line", error.column())
}

/// Why a trace file could not be read.
#[derive(Debug, Error)]
#[error("{}: {source}", path.display())]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// Where and why.
    pub source: ReadError,
}

/// Reads a trace file.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn read_file(path: &Path, options: ReadOptions) -> Result<TraceFile, FileError> {
    let wrap = |source| FileError { path: path.to_owned(), source };
    let file = File::open(path).map_err(|e| wrap(ReadError { line: 1, problem: e.into() }))?;
    read(BufReader::new(file), options).map_err(wrap)
}

/// Reads a trace.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn read(input: impl BufRead, options: ReadOptions) -> Result<TraceFile, ReadError> {
    let mut lines = LineReader { input, buffer: Vec::new(), number: 0 };
    read_lines(&mut lines, options).map_err(|problem| ReadError { line: lines.number.max(1), problem })
}

fn read_lines(lines: &mut LineReader<impl BufRead>, options: ReadOptions) -> Result<TraceFile, Problem> {
    if lines.advance()?.is_none() {
        return Err(Problem::Empty);
    }
    if lines.buffer.len() > MAX_HEADER_BYTES {
        return Err(Problem::HeaderTooLong);
    }
    let header = read_header(lines.text()?)?;
    let mut recording = Recording::new();
    while let Some(ended) = lines.advance()? {
        match lines.text().and_then(|text| read_line(text, &mut recording)) {
            Ok(None) => {}
            Ok(Some(footer)) => {
                return match lines.advance()? {
                    None => Ok(TraceFile { header, recording, footer: Some(footer) }),
                    Some(_) => Err(Problem::AfterFooter),
                };
            }
            // The writer was killed in the middle of this line.
            Err(Problem::Line(_) | Problem::NotUtf8(_)) if !ended => break,
            Err(problem) => return Err(problem),
        }
    }
    if options.allow_truncated {
        return Ok(TraceFile { header, recording, footer: None });
    }
    Err(Problem::Truncated)
}

fn read_header(text: &str) -> Result<Header, Problem> {
    #[derive(Deserialize)]
    struct Peek {
        schema: String,
    }
    let peek: Peek = serde_json::from_str(text).map_err(|_| Problem::NoTrace)?;
    if peek.schema != SCHEMA {
        return Err(Problem::OtherSchema(escape(peek.schema.as_bytes(), 80)));
    }
    serde_json::from_str(text).map_err(Problem::Header)
}

#[derive(Deserialize)]
struct LineShape {
    seq: Option<IgnoredAny>,
    note: Option<IgnoredAny>,
    rulings: Option<IgnoredAny>,
}

fn read_line(text: &str, recording: &mut Recording) -> Result<Option<Footer>, Problem> {
    let shape: LineShape = serde_json::from_str(text).map_err(Problem::Line)?;
    match (shape.seq, shape.note, shape.rulings) {
        (Some(_), None, None) => {
            let line = serde_json::from_str(text).map_err(Problem::Line)?;
            read_event(&line, recording)?;
            Ok(None)
        }
        // Notes only help people: what they say follows from the events.
        (None, Some(_), None) => Ok(None),
        (None, None, Some(_)) => serde_json::from_str(text).map(Some).map_err(Problem::Line),
        _ => Err(Problem::UnknownLine),
    }
}

fn read_event(line: &EventLine<'_>, recording: &mut Recording) -> Result<(), Problem> {
    let expected = u32::try_from(recording.events().len()).unwrap_or(u32::MAX);
    if line.seq != expected {
        return Err(Problem::OutOfOrder { expected, found: line.seq });
    }
    if expected >= MAX_EVENTS {
        return Err(Problem::TooManyEvents);
    }
    let from = recording.events().last().map_or(0, |event| event.t_us);
    if line.t_us < from {
        return Err(Problem::TimeRunsBack { from, to: line.t_us });
    }
    let channel = line.channel().map_err(Problem::Event)?;
    let kind = line.kind().map_err(Problem::Event)?;
    if line.cause().is_some_and(|cause| cause >= line.seq) {
        return Err(Problem::Event("`cause_seq` must name an earlier event".into()));
    }
    let bytes = line.bytes().map_err(Problem::Event)?;
    if recording.len_bytes() + bytes.len() > MAX_DATA_BYTES {
        return Err(Problem::TooMuchData);
    }
    recording.push(line.t_us, line.node(), channel, kind, line.cause(), &bytes);
    Ok(())
}

/// `read_until` without a bound would take a line of any length into memory.
struct LineReader<R> {
    input: R,
    buffer: Vec<u8>,
    number: u64,
}

impl<R: BufRead> LineReader<R> {
    /// Takes the next line into the buffer. `None` at the end, else whether the line ended with a newline.
    fn advance(&mut self) -> Result<Option<bool>, Problem> {
        self.buffer.clear();
        loop {
            let available = match self.input.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    self.number += u64::from(self.buffer.is_empty());
                    return Err(error.into());
                }
            };
            if available.is_empty() {
                return Ok((!self.buffer.is_empty()).then_some(false));
            }
            self.number += u64::from(self.buffer.is_empty());
            let newline = available.iter().position(|byte| *byte == b'\n');
            let taken = newline.map_or(available.len(), |at| at + 1);
            if self.buffer.len() + taken > MAX_LINE_BYTES {
                return Err(Problem::LineTooLong);
            }
            self.buffer.extend_from_slice(available.get(..taken).unwrap_or_default());
            self.input.consume(taken);
            if newline.is_some() {
                return Ok(Some(true));
            }
        }
    }

    fn text(&self) -> Result<&str, Problem> {
        std::str::from_utf8(&self.buffer).map_err(|error| Problem::NotUtf8(error.valid_up_to()))
    }
}
