//! What travels between a mock process and the supervisor of its run.
//!
//! ```text
//! mock:       length u32, token
//! supervisor: process u32, length u32, persona          (or closes: wrong token)
//! mock:       kind u8, detail i32, cause u32, length u32, bytes    ┐ for each event, before
//! supervisor: seq u32                                              ┘ the mock acts on it
//! ```
//!
//! All numbers are little-endian. Each event is acknowledged before the mock goes on, so the order of the trace is the
//! order of the world even across processes: what a client does in answer to bytes is recorded after those bytes.

use std::io;

use mcp_parley_trace::Kind;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Longest token.
pub(crate) const MAX_TOKEN_BYTES: usize = 64;
/// Longest persona.
pub(crate) const MAX_PERSONA_BYTES: usize = 4 << 20;
/// Most bytes of one event.
pub(crate) const MAX_EVENT_BYTES: usize = 256 << 10;

const NO_CAUSE: u32 = u32::MAX;

/// What a mock tells.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    Event(Kind, Option<u32>, Vec<u8>),
    /// The mock itself failed: nothing that its persona asked for.
    Broken(Vec<u8>),
}

pub(crate) fn event_frame(kind: Kind, cause: Option<u32>, bytes: &[u8]) -> Vec<u8> {
    let (code, detail) = match kind {
        Kind::Write => (1, 0),
        Kind::Read => (2, 0),
        Kind::Close => (3, 0),
        Kind::Eof => (4, 0),
        Kind::WriteFailed => (5, 0),
        Kind::Exit(code) => (6, code),
        Kind::Signal(signal) => (7, signal),
        Kind::Stderr => (8, 0),
        // A mock has no others; the supervisor refuses this one.
        _ => (u8::MAX, 0),
    };
    frame(code, detail, cause, bytes)
}

pub(crate) fn broken_frame(why: &str) -> Vec<u8> {
    frame(0, 0, None, why.as_bytes())
}

fn frame(code: u8, detail: i32, cause: Option<u32>, bytes: &[u8]) -> Vec<u8> {
    let bytes = bytes.get(..MAX_EVENT_BYTES).unwrap_or(bytes);
    let mut out = Vec::with_capacity(13 + bytes.len());
    out.push(code);
    out.extend_from_slice(&detail.to_le_bytes());
    out.extend_from_slice(&cause.unwrap_or(NO_CAUSE).to_le_bytes());
    out.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(bytes);
    out
}

pub(crate) async fn read_frame(input: &mut (impl AsyncRead + Unpin)) -> io::Result<Frame> {
    let code = input.read_u8().await?;
    let detail = input.read_i32_le().await?;
    let cause = Some(input.read_u32_le().await?).filter(|cause| *cause != NO_CAUSE);
    let bytes = read_bytes(input, MAX_EVENT_BYTES).await?;
    let kind = match code {
        0 => return Ok(Frame::Broken(bytes)),
        1 => Kind::Write,
        2 => Kind::Read,
        3 => Kind::Close,
        4 => Kind::Eof,
        5 => Kind::WriteFailed,
        6 => Kind::Exit(detail),
        7 => Kind::Signal(detail),
        8 => Kind::Stderr,
        _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "unknown kind of event")),
    };
    Ok(Frame::Event(kind, cause, bytes))
}

/// Reads a length and as many bytes; refuses a length above `limit` before it allocates.
pub(crate) async fn read_bytes(input: &mut (impl AsyncRead + Unpin), limit: usize) -> io::Result<Vec<u8>> {
    let length = input.read_u32_le().await? as usize;
    if length > limit {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "frame too long"));
    }
    let mut bytes = vec![0; length];
    input.read_exact(&mut bytes).await?;
    Ok(bytes)
}

pub(crate) async fn write_bytes(output: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
    let mut out = u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes().to_vec();
    out.extend_from_slice(bytes);
    output.write_all(&out).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_framed_is_read_back() {
        let kinds = [
            Kind::Write,
            Kind::Read,
            Kind::Close,
            Kind::Eof,
            Kind::WriteFailed,
            Kind::Exit(-3),
            Kind::Signal(15),
            Kind::Stderr,
        ];
        for kind in kinds {
            for cause in [None, Some(0), Some(7)] {
                let bytes = event_frame(kind, cause, b"chunk");
                assert_eq!(
                    read_frame(&mut &bytes[..]).await.unwrap(),
                    Frame::Event(kind, cause, b"chunk".to_vec())
                );
            }
        }
        let broken = broken_frame("why");
        assert_eq!(read_frame(&mut &broken[..]).await.unwrap(), Frame::Broken(b"why".to_vec()));
    }

    #[tokio::test]
    async fn what_a_mock_never_says_is_refused() {
        let supervisors_own = event_frame(Kind::Stuck, None, b"");
        assert_eq!(
            read_frame(&mut &supervisors_own[..]).await.unwrap_err().kind(),
            io::ErrorKind::InvalidData
        );
        let mut long = event_frame(Kind::Read, None, b"");
        long[9..13].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(read_frame(&mut &long[..]).await.unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
