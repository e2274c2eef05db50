//! What one client was told last, for all who stand where it stood: thousands may look at one session, and then the same
//! words are made once. It must not know how they are made.

use std::sync::Arc;

use parlor_model::Key;

use crate::wire::Frame;

/// All that the next news of a subscription depend on, besides the versions that the client has of what changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    /// How often the session's bell had rung.
    pub(crate) ring: u64,
    pub(crate) sub: u64,
    pub(crate) offset_s: i32,
    pub(crate) epoch: Key,
    pub(crate) cursor: u64,
    pub(crate) lowest: usize,
    pub(crate) state: Option<Arc<str>>,
}

/// An entry that had changed: its place, the version that the client had, and the one that it has now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) place: usize,
    pub(crate) had: Option<u64>,
    pub(crate) has: Option<u64>,
}

/// News, and what they made of whoever was told them.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) from: Standing,
    pub(crate) sent: Vec<Sent>,
    pub(crate) frames: Vec<Frame>,
    pub(crate) cursor: u64,
    pub(crate) state: Option<Arc<str>>,
}
