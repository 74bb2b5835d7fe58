//! Reads what a child process prints, keeps a bounded part of it, and never lets the child wait.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::task::JoinHandle;

/// What a stream has held so far. Reading ends with the stream, or when this is dropped.
#[derive(Debug)]
pub(crate) struct Kept {
    kept: Arc<Mutex<Vec<u8>>>,
    task: JoinHandle<()>,
}

/// Which part of a long stream is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    /// The first bytes, and one more so that it shows.
    First(usize),
    /// The last bytes.
    Last(usize),
}

impl Kept {
    pub(crate) fn read(stream: impl AsyncRead + Unpin + Send + 'static, part: Part) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let task = tokio::spawn(keep(stream, part, Arc::clone(&kept)));
        Self { kept, task }
    }

    /// Waits for the end of the stream.
    pub(crate) async fn ended(&mut self) {
        let _ = (&mut self.task).await;
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn keep(mut stream: impl AsyncRead + Unpin, part: Part, kept: Arc<Mutex<Vec<u8>>>) {
    let mut buffer = vec![0; 8192];
    while let Ok(n @ 1..) = stream.read(&mut buffer).await {
        let chunk = buffer.get(..n).unwrap_or_default();
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        match part {
            Part::First(limit) => {
                let room = (limit + 1).saturating_sub(kept.len());
                kept.extend_from_slice(chunk.get(..room).unwrap_or(chunk));
            }
            Part::Last(limit) => {
                kept.extend_from_slice(chunk);
                let surplus = kept.len().saturating_sub(limit);
                kept.drain(..surplus);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn kept(part: Part) -> Vec<u8> {
        let text: Vec<u8> = (0..100_000_u32).flat_map(|n| n.to_le_bytes()).collect();
        let mut kept = Kept::read(std::io::Cursor::new(text), part);
        kept.ended().await;
        kept.bytes()
    }

    #[tokio::test]
    async fn keeps_the_part_that_is_asked_for() {
        assert_eq!(kept(Part::First(7)).await, [0, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(kept(Part::Last(4)).await, 99_999_u32.to_le_bytes());
    }
}
