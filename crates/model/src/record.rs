//! What the log stores: one thing that crossed the boundary, untouched.

use bytes::Bytes;

use crate::time::Time;

/// One raw thing in the order it arrived.
#[derive(Clone, Debug)]
pub struct Record {
    /// Position in the session: the only order there is. For a file it is the line's index from 0.
    pub seq: u64,
    /// When it arrived, where someone with a clock saw it arrive.
    pub at: Option<Time>,
    /// Who wrote it.
    pub origin: Origin,
    /// The bytes, without the line end.
    pub body: Bytes,
}

/// Who wrote a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The agent's stdout, its session file, or its HTTP stream.
    Agent,
    /// The agent's stderr.
    Stderr,
    /// A person's order.
    User,
    /// Parlor itself: spawned, exited, lost.
    Host,
}
