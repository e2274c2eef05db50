//! A session that somebody looks at: its view, and a bell that rings when it changes. Holding it keeps it loaded.

use std::sync::{Arc, RwLock, RwLockReadGuard};

use parlor_model::Key;
use serde::Serialize;
use tokio::sync::watch;

use crate::row::Source;
use crate::view::View;

/// An open session. Clones are the same session.
#[derive(Clone)]
pub struct Open {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) id: Key,
    pub(crate) view: RwLock<View>,
    pub(crate) facts: RwLock<Facts>,
    pub(crate) bell: watch::Sender<u64>,
}

/// What is true of an open session besides what its records say.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Facts {
    /// Where it is kept.
    pub source: Source,
    /// What can be done with it now.
    pub can: Can,
    /// Another process that writes its file.
    pub writer: Option<String>,
    /// True when a person put it away.
    pub archived: bool,
    /// True when the file's writer has been silent in the middle of a turn: nobody knows whether it works.
    pub quiet: bool,
    /// True of a glance at the end of a large file: all of it is being read, and replaces this.
    pub reading: bool,
    /// Why its log cannot be written at the moment. What the agent says waits until it can.
    pub trouble: Option<String>,
}

/// What can be done with a session now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Can {
    /// It takes prompts.
    pub prompt: bool,
    /// There is something to stop.
    pub interrupt: bool,
    /// A prompt can be put into the turn that runs.
    pub steer: bool,
    /// A prompt makes it the house's own.
    pub adopt: bool,
    /// Its asks can be answered here.
    pub answer: bool,
}

impl Open {
    /// The session's id.
    pub fn id(&self) -> &Key {
        &self.shared.id
    }

    /// The session as it is now. Do not hold it across an await, nor for long: records wait for it.
    pub fn view(&self) -> RwLockReadGuard<'_, View> {
        self.shared.view.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// What is true of it besides its records.
    pub fn facts(&self) -> Facts {
        self.shared.facts.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Rings whenever the view or the facts have changed.
    pub fn bell(&self) -> watch::Receiver<u64> {
        self.shared.bell.subscribe()
    }
}

impl Shared {
    /// Rings the bell.
    pub(crate) fn ring(&self) {
        self.bell.send_modify(|count| *count = count.wrapping_add(1));
    }
}
