//! Events and the recording that holds them.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Who did it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Node {
    /// The MCP client.
    Client,
    /// The MCP server.
    Server,
    /// Something between the two that speaks to both.
    Proxy,
    /// The simulator, or the supervisor of a real run.
    Harness,
}

/// On which connection it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Channel {
    /// None: it concerns the run or the node as a whole.
    None,
    /// The pipes of one server process; processes are numbered from 0 in the order in which they were started.
    Process(u32),
    /// One HTTP exchange, numbered from 0 in the order in which they were opened.
    Exchange(u32),
}

/// Legacy opens with `initialize`; modern carries its version in every request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Era {
    /// 2024-11-05 to 2025-11-25.
    Legacy,
    /// 2026-07-28 and later.
    Modern,
}

/// What happened. The comment says which node it is an event of, and what the event's bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Client: it starts a server process.
    Spawn,
    /// Server: the process runs.
    Up,
    /// Client: the process could not be started. Bytes: why.
    SpawnFailed,
    /// Any: it handed these bytes to the channel, in one piece. Of an HTTP exchange: bytes of its message's body, without the
    /// framing of the transfer.
    Write,
    /// Server: it wrote these bytes on its standard error.
    Stderr,
    /// Any: it took these bytes from the channel, in one piece. Of an HTTP exchange: as for [`Kind::Write`].
    Read,
    /// Any, of an HTTP exchange: it sent the head of its message. Bytes: from the request or status line to the empty line, as
    /// they are on the wire.
    WriteHead,
    /// Any, of an HTTP exchange: it received the head of the other's message. Bytes: as for [`Kind::WriteHead`].
    ReadHead,
    /// Any, of an HTTP exchange: its message is complete.
    WriteEnd,
    /// Any, of an HTTP exchange: it has received the other's message to its end.
    ReadEnd,
    /// Client: it closed the server's standard input. Server: it closed its standard output. Of an HTTP exchange: it closed
    /// the connection before the exchange was complete.
    Close,
    /// Server, of an HTTP exchange: it reset the connection.
    Reset,
    /// Client, of an HTTP exchange: nobody accepted the connection. Bytes: why.
    Refused,
    /// Any: it saw that the other side has closed. Of an HTTP exchange: before the exchange was complete; bytes: how, if that is
    /// known (`reset`).
    Eof,
    /// Any: its write failed because the other side was gone.
    WriteFailed,
    /// Server: the process ended by itself with this code.
    Exit(i32),
    /// Server: the process was ended by this signal.
    Signal(i32),
    /// Client, if it says so: it speaks this era from now on. Bytes: the version.
    Settled(Era),
    /// Client, if it says so: it gives up. Bytes: the reason.
    Failed,
    /// Client, if it says so: it steps down to the legacy era. Bytes: the evidence that made it do so.
    Downgraded,
    /// Client, if it says so: the request after settling was answered well (true) or not.
    Called(bool),
    /// Harness: faults are off from here on; what happens now must end well.
    FaultsOff,
    /// Harness: the subject did nothing for so long that it counts as stuck. Bytes: what was waited for.
    Stuck,
    /// Harness: the run is over. True: it was watched to its end. False: it was cut off.
    End(bool),
}

/// One event. Its number is its place in [`Recording::events`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Microseconds since the run began.
    pub t_us: u64,
    /// Who did it.
    pub node: Node,
    /// Where.
    pub channel: Channel,
    /// What.
    pub kind: Kind,
    /// The number of the event that made this one happen, where the recorder knows it.
    pub cause: Option<u32>,
    start: u32,
    end: u32,
}

/// A run in memory. Reusable: [`Recording::clear`] keeps the memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    events: Vec<Event>,
    data: Vec<u8>,
}

impl Recording {
    /// An empty recording.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets all events, keeps the memory.
    pub fn clear(&mut self) {
        self.events.clear();
        self.data.clear();
    }

    /// Adds an event and returns its number. A run holds at most 4 GiB of bytes and 2³² events; what is past that is
    /// cut off, which no bounded run comes near.
    pub fn push(
        &mut self,
        t_us: u64,
        node: Node,
        channel: Channel,
        kind: Kind,
        cause: Option<u32>,
        bytes: &[u8],
    ) -> u32 {
        let start = u32::try_from(self.data.len()).unwrap_or(u32::MAX);
        let room = (u32::MAX - start) as usize;
        self.data.extend_from_slice(&bytes[..bytes.len().min(room)]);
        let end = u32::try_from(self.data.len()).unwrap_or(u32::MAX);
        let seq = u32::try_from(self.events.len()).unwrap_or(u32::MAX);
        self.events.push(Event { t_us, node, channel, kind, cause, start, end });
        seq
    }

    /// All events in order.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The event with this number.
    pub fn get(&self, seq: u32) -> Option<&Event> {
        self.events.get(seq as usize)
    }

    /// The bytes of an event of this recording; empty if it has none.
    pub fn bytes(&self, event: &Event) -> &[u8] {
        self.data.get(event.range()).unwrap_or_default()
    }

    /// The bytes of all events, one after the other.
    pub(crate) fn all_bytes(&self) -> &[u8] {
        &self.data
    }

    /// How many bytes all events hold together.
    pub fn len_bytes(&self) -> usize {
        self.data.len()
    }
}

impl Event {
    fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The number of bytes that the event holds.
    pub fn len(&self) -> usize {
        self.range().len()
    }

    /// True if the event holds no bytes.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }
}
