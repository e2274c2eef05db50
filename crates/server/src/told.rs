//! What one client was told last, for all who stand where it stood: thousands may look at one session, and then the same
//! words are made once. It must not know how they are made.

use std::sync::Arc;

use parlor_model::Key;

use crate::limits;
use crate::wire::Frame;

/// Where a subscription stands: all that its next news depend on, besides the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) sub: u64,
    pub(crate) offset_s: i32,
    /// Changes up to here are sent, or pending.
    pub(crate) cursor: u64,
    /// The lowest place that was sent.
    pub(crate) lowest: usize,
    pub(crate) epoch: Key,
    pub(crate) state: Option<Arc<str>>,
    /// The versions that the client has of the newest entries, by place.
    has: Vec<(usize, u64)>,
}

/// News, and where they lead.
#[derive(Debug)]
pub(crate) struct Told {
    /// How often the session's bell had rung.
    pub(crate) ring: u64,
    pub(crate) from: Arc<Standing>,
    pub(crate) to: Arc<Standing>,
    pub(crate) frames: Vec<Frame>,
}

impl Standing {
    pub(crate) fn new(sub: u64, offset_s: i32, epoch: Key) -> Standing {
        Standing { sub, offset_s, cursor: 0, lowest: 0, epoch, state: None, has: Vec::new() }
    }

    /// The version that the client has of an entry, as far as that is known.
    pub(crate) fn has(&self, place: usize) -> Option<u64> {
        self.has.binary_search_by_key(&place, |has| has.0).ok().map(|index| self.has[index].1)
    }

    /// Notes which version of an entry the client has; of old entries it need not be known.
    pub(crate) fn remember(&mut self, place: usize, version: u64) {
        match self.has.binary_search_by_key(&place, |has| has.0) {
            Ok(index) => self.has[index].1 = version,
            Err(index) => self.has.insert(index, (place, version)),
        }
        if self.has.len() > limits::REMEMBERED {
            self.has.remove(0);
        }
    }

    /// The client may have let go of these.
    pub(crate) fn forget(&mut self, mut gone: impl FnMut(usize) -> bool) {
        self.has.retain(|(place, _)| !gone(*place));
    }
}
