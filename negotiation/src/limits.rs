//! Bounds on what is read, decided once. Each has a row in `docs/limits.md`, with its case.

/// Bounds on one message and one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest message in bytes; a longer line is skipped to its end and reported once.
    pub message_bytes: usize,
    /// Deepest nesting of arrays and objects that is looked into; a deeper message is malformed. Values above
    /// [`Limits::MAX_DEPTH`] count as that.
    pub depth: usize,
    /// Longest `id` that is kept, in bytes of JSON text; a longer one matches no request.
    pub id_bytes: usize,
    /// Most messages of a batch: a longer one is refused as a whole, so that a line of `[1,1,…]` cannot make the gate write many
    /// times its own length.
    pub batch: usize,
}

impl Limits {
    /// The most that [`Limits::depth`] can be: the reader keeps one bit a level.
    pub const MAX_DEPTH: usize = 1024;
    /// The longest session id that a client sends back over HTTP (LEG-20), in bytes.
    pub const SESSION_ID_BYTES: usize = 8 << 10;
    /// How many exchanges a client has open over HTTP beside the one whose answer it waits for.
    pub const ASIDES: usize = 16;
    /// How long a client lets an event stream stay open after its response (HTTP-22), and waits for the end of its session
    /// (LEG-22), in microseconds.
    pub const LINGER_US: u64 = 1_000_000;
    /// 4 MiB, 128 levels, 1 KiB, 64 messages.
    pub const DEFAULT: Self = Self { message_bytes: 4 << 20, depth: 128, id_bytes: 1024, batch: 64 };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
