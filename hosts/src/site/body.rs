//! The body of a request without the framing of its transfer.

use httparse::Status;

use super::request::Framing;

/// A line that gives the size of a chunk, and all trailers together.
const MAX_LINE_BYTES: usize = 1 << 10;
const MAX_TRAILER_BYTES: usize = 8 << 10;

/// Takes a body apart as its bytes come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body {
    state: State,
    /// How many more bytes the body may have.
    room: u64,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// So many bytes to the end.
    Length(u64),
    /// At the line that gives the size of a chunk.
    Size,
    /// So many bytes of a chunk are left.
    Chunk(u64),
    /// At the line end behind a chunk.
    ChunkEnd,
    /// Behind the last chunk; so many bytes of trailers came.
    Trailers(usize),
    Done,
}

/// What the next bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// So many bytes are framing.
    Skip(usize),
    /// So many bytes are of the body.
    Data(usize),
    /// More bytes are needed.
    More,
    /// The body is complete; what follows is another request.
    Done,
    /// It is refused with this status.
    Bad(u16),
}

impl Body {
    /// Refuses a length that is beyond `limit` at once.
    pub(crate) fn new(framing: Framing, limit: usize) -> Result<Self, u16> {
        let room = u64::try_from(limit).unwrap_or(u64::MAX);
        match framing {
            Framing::Length(length) if length > room => Err(413),
            Framing::Length(length) => Ok(Self { state: State::Length(length), room: length }),
            Framing::Chunked => Ok(Self { state: State::Size, room }),
        }
    }

    /// Looks at the next bytes; those of the step are then gone.
    pub(crate) fn step(&mut self, bytes: &[u8]) -> Step {
        match self.state {
            State::Length(0) | State::Done => Step::Done,
            _ if bytes.is_empty() => Step::More,
            State::Length(left) => {
                let taken = self.take(left, bytes);
                self.state = State::Length(left - taken as u64);
                Step::Data(taken)
            }
            State::Size => self.size(bytes),
            State::Chunk(left) => {
                let taken = self.take(left, bytes);
                let left = left - taken as u64;
                self.state = if left == 0 { State::ChunkEnd } else { State::Chunk(left) };
                Step::Data(taken)
            }
            State::ChunkEnd => match bytes {
                [b'\r', b'\n', ..] => self.then(State::Size, 2),
                [b'\n', ..] => self.then(State::Size, 1),
                b"\r" => Step::More,
                _ => Step::Bad(400),
            },
            State::Trailers(seen) => match bytes.iter().position(|byte| *byte == b'\n') {
                _ if seen + bytes.len().min(MAX_LINE_BYTES) > MAX_TRAILER_BYTES => Step::Bad(431),
                Some(at) if bytes.get(..at).is_some_and(|line| matches!(line, b"" | b"\r")) => {
                    self.then(State::Done, at + 1)
                }
                Some(at) => self.then(State::Trailers(seen + at + 1), at + 1),
                None if bytes.len() > MAX_LINE_BYTES => Step::Bad(431),
                None => Step::More,
            },
        }
    }

    fn take(&mut self, left: u64, bytes: &[u8]) -> usize {
        let taken = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        self.room = self.room.saturating_sub(taken as u64);
        taken
    }

    fn then(&mut self, state: State, skip: usize) -> Step {
        self.state = state;
        Step::Skip(skip)
    }

    fn size(&mut self, bytes: &[u8]) -> Step {
        match httparse::parse_chunk_size(bytes) {
            Ok(Status::Complete((length, 0))) => self.then(State::Trailers(0), length),
            Ok(Status::Complete((_, size))) if size > self.room => Step::Bad(413),
            Ok(Status::Complete((length, size))) => self.then(State::Chunk(size), length),
            Ok(Status::Partial) if bytes.len() <= MAX_LINE_BYTES => Step::More,
            _ => Step::Bad(400),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The body of these bytes, fed in pieces of this size, and what is left; or the status that refuses it.
    fn read(framing: Framing, bytes: &[u8], piece: usize) -> Result<(Vec<u8>, usize), u16> {
        let mut body = Body::new(framing, 10)?;
        let (mut data, mut buffer, mut rest) = (Vec::new(), Vec::new(), bytes);
        loop {
            match body.step(&buffer) {
                Step::Skip(n) => drop(buffer.drain(..n)),
                Step::Data(n) => data.extend(buffer.drain(..n)),
                Step::Done => return Ok((data, buffer.len() + rest.len())),
                Step::Bad(status) => return Err(status),
                Step::More if rest.is_empty() => return Err(0),
                Step::More => {
                    let (now, later) = rest.split_at(piece.min(rest.len()));
                    buffer.extend_from_slice(now);
                    rest = later;
                }
            }
        }
    }

    #[test]
    fn any_split_gives_the_same_body() {
        let chunked = b"3;name=x\r\nabc\r\n0002\r\nde\r\n0\r\nTrailer: 1\r\n\r\nGET";
        for piece in 1..chunked.len() {
            assert_eq!(read(Framing::Chunked, chunked, piece), Ok((b"abcde".to_vec(), 3)), "{piece}");
            assert_eq!(read(Framing::Length(5), b"abcdeGET", piece), Ok((b"abcde".to_vec(), 3)), "{piece}");
        }
        assert_eq!(read(Framing::Length(0), b"GET", 3), Ok((Vec::new(), 3)));
    }

    #[test]
    fn body_is_bounded_and_bad_framing_refused() {
        assert_eq!(read(Framing::Length(11), b"", 1), Err(413));
        assert_eq!(read(Framing::Length(10), b"0123456789", 1).unwrap().0.len(), 10);
        assert_eq!(read(Framing::Chunked, b"b\r\n", 9), Err(413));
        assert_eq!(read(Framing::Chunked, b"6\r\nabcdef\r\n6\r\n", 9), Err(413));
        assert_eq!(read(Framing::Chunked, b"ffffffffffffffffff\r\n", 99), Err(400));
        assert_eq!(read(Framing::Chunked, b"x\r\n", 9), Err(400));
        assert_eq!(read(Framing::Chunked, b"1\r\nabc", 9), Err(400));
        let endless = [b"1;".to_vec(), vec![b'x'; 5000]].concat();
        assert_eq!(read(Framing::Chunked, &endless, 100), Err(400));
        let trailers = [b"0\r\n".to_vec(), b"a: b\r\n".repeat(5000)].concat();
        assert_eq!(read(Framing::Chunked, &trailers, 100), Err(431));
        let trailer = [b"0\r\n".to_vec(), vec![b'x'; 5000]].concat();
        assert_eq!(read(Framing::Chunked, &trailer, 100), Err(431));
        assert_eq!(read(Framing::Chunked, b"1\r\na", 9), Err(0), "it is not complete");
    }
}
