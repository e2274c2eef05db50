//! Events become entries: the only reducer.
//!
//! Live, reload, import and export all fold the same events here, one line after the other. It knows no format, no
//! file, no clock and no HTML.

use std::collections::HashMap;

use parlor_model::Key;
use parlor_model::entry::Entry;
use parlor_model::event::{Event, Reading};
use parlor_model::line::Line;
use parlor_model::session::Session;

/// A conversation as far as it has been folded.
#[derive(Debug, Default)]
pub struct Transcript {
    session: Session,
    entries: Vec<Entry>,
    index: HashMap<Key, usize>,
}

impl Transcript {
    /// Folds what one line said. Returns the indexes of the entries it touched, each once, in order.
    pub fn fold(&mut self, _seq: u64, _line: &Line, _reading: &Reading, _events: &[Event]) -> Vec<usize> {
        Vec::new()
    }

    /// All entries, in the order in which they were opened. Entries of subagents stand among them, with a parent.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry of that id.
    pub fn entry(&self, id: &str) -> Option<&Entry> {
        self.index.get(id).map(|index| &self.entries[*index])
    }

    /// What is known of the session as a whole.
    pub fn session(&self) -> &Session {
        &self.session
    }
}
