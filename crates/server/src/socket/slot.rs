//! A subscription's place in the talk on a socket: what it waits for, and whether it has something to say. It must not say it.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use futures_util::StreamExt;
use tokio_stream::wrappers::WatchStream;

use crate::html_sub::WindowAsk;
use crate::socket::work::Sub;

/// A bell that is waited for, again and again.
pub(crate) type Bell = WatchStream<u64>;

/// True when it has rung. It has to be asked again then.
pub(crate) fn poll_bell(bell: &mut Option<Bell>, context: &mut Context<'_>) -> bool {
    let Some(poll) = bell.as_mut().map(|bell| bell.poll_next_unpin(context)) else { return false };
    if let Poll::Ready(None) = poll {
        *bell = None;
    }
    poll.is_ready()
}

/// A subscription, or the place of one that is being worked on.
pub(crate) struct Slot {
    pub(crate) sub: Option<Sub>,
    pub(crate) bell: Option<Bell>,
    pub(crate) dirty: bool,
    pub(crate) rests: bool,
    pub(crate) windows: VecDeque<WindowAsk>,
    /// True while only the end of the session is shown, where places are not those of the whole.
    pub(crate) glanced: bool,
    /// A message subscription takes no windows.
    pub(crate) is_html: bool,
}

impl Slot {
    pub(crate) fn new(is_html: bool) -> Slot {
        let windows = VecDeque::new();
        Slot { sub: None, bell: None, dirty: false, rests: false, windows, glanced: false, is_html }
    }

    /// True when the session's bell has rung. It has to be asked again then.
    pub(crate) fn poll_bell(&mut self, context: &mut Context<'_>) -> bool {
        let rang = poll_bell(&mut self.bell, context);
        self.dirty |= rang;
        rang
    }

    /// False when there is nothing to do for it now.
    pub(crate) fn wants_to_speak(&self) -> bool {
        (self.dirty && !self.rests) || !self.windows.is_empty()
    }
}
