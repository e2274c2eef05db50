//! The agent's own file of a session that the house runs: while the house's agent works, it repeats what the log has; when
//! the agent is used elsewhere, in a terminal, it grows by what the log has not. It must not decode lines.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

use bytes::Bytes;
use parlor_dialect::{Format, Splitter};
use parlor_found::format_of;
use parlor_model::Key;
use parlor_model::record::Origin;
use parlor_model::seen::Seen;
use parlor_model::session::Session;
use parlor_store::Draft;

use crate::clock;
use crate::hub::Inner;
use crate::log::{self, Imported, Ledger};
use crate::view::View;

/// How much is read at once.
const PIECE_BYTES: u64 = 8 << 20;

/// Where the log stands in the agent's file.
#[derive(Debug)]
pub(crate) struct Tail {
    path: PathBuf,
    format: Format,
    session: Key,
    read: u64,
    /// True when the log must first say whose lines follow.
    announce: bool,
}

impl Tail {
    /// Where an earlier run, or the adoption, left off.
    pub(crate) fn of(ledger: &Ledger, session: &Session) -> Option<Tail> {
        let Imported { path, format, from } = ledger.imported.as_ref()?;
        let session = session.id.clone().unwrap_or_default();
        Some(Tail { path: path.into(), format: Format::named(format)?, session, read: *from, announce: true })
    }

    /// After a run: all that the file has now is in the log already.
    pub(crate) fn after_run(inner: &Inner, view: &View, own: Option<&Key>) -> Option<Tail> {
        let session = own.cloned().or_else(|| view.session().id.clone())?;
        let path = crate::discovery::file_of(inner, &session)?;
        let format = format_of(&path)?;
        let read = fs::metadata(&path).ok()?.len();
        Some(Tail { path, format, session, read, announce: true })
    }

    /// All that the file has now is in the log already.
    pub(crate) fn skip(&mut self) {
        self.read = fs::metadata(&self.path).map_or(self.read, |metadata| metadata.len());
    }

    /// The record that says where the log stands in the file.
    pub(crate) fn marker(&self) -> Seen {
        Seen::Imported {
            format: self.format.name().into(),
            path: self.path.to_string_lossy().into_owned(),
            session: self.session.clone(),
            from: self.read,
        }
    }

    /// What the file has that the log has not, whole lines only.
    pub(crate) fn news(&mut self) -> Option<Vec<Draft>> {
        let size = fs::metadata(&self.path).ok()?.len();
        if size <= self.read {
            return None;
        }
        let mut file = File::open(&self.path).ok()?;
        file.seek(SeekFrom::Start(self.read)).ok()?;
        let mut piece = Vec::new();
        file.take(PIECE_BYTES).read_to_end(&mut piece).ok()?;
        let end = piece.iter().rposition(|byte| *byte == b'\n')? + 1;
        piece.truncate(end);
        self.read += end as u64;
        let mut drafts = Vec::new();
        if std::mem::take(&mut self.announce) {
            drafts.push(log::host(&self.marker()));
        }
        for line in Splitter::split(&Bytes::from(piece)) {
            drafts.push(Draft { at: clock::now(), origin: Origin::Agent, body: line.bytes().clone() });
        }
        // Where the log stands now, for the next life.
        drafts.push(log::host(&self.marker()));
        Some(drafts)
    }
}
