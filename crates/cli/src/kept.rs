//! The sessions of the house's own log, for commands that only read. It opens no house, and one that is open is not
//! disturbed. It must not decide how a session is shown.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Result;
use parlor_dialect::{Agent, House};
use parlor_found::{Found, Row, Stamp, Tokens};
use parlor_model::record::Record;
use parlor_model::text::Text;
use parlor_model::time::Time;
use parlor_store::{Peek, StoreError};
use parlor_transcript::Transcript;

use crate::conversation::Conversation;

/// How many records are read at once.
const CHUNK: usize = 4_096;

/// What `parlor ls --json` calls the format of a session that the house keeps.
const FORMAT: &str = "house";

/// The house's log, as far as it was written when one looked.
pub(crate) struct Kept {
    folder: PathBuf,
    log: Peek,
}

impl Kept {
    /// Looks into a data folder; `None` where nothing was ever kept.
    pub(crate) fn look(folder: &Path) -> Result<Option<Kept>> {
        let log = Peek::open(folder)?;
        Ok(log.map(|log| Kept { folder: folder.to_owned(), log }))
    }

    /// Its sessions, as a list looks at files: one whose stamp is the same has not changed.
    pub(crate) fn sessions(&self) -> Result<Vec<Found>> {
        let found = |(created, end): (parlor_store::Created, u64)| {
            let file = Stamp { path: self.folder.join(created.id.as_str()), size: end, modified_ns: 0 };
            Found { agent: None, id: created.id.to_string(), file, subagents: Vec::new() }
        };
        // One without records was being made when the house was left: nothing was said in it.
        Ok(self.log.sessions()?.into_iter().filter(|(_, end)| *end > 0).map(found).collect())
    }

    /// The ids that start so.
    pub(crate) fn starting_with(&self, id: &str) -> Result<BTreeSet<String>> {
        let ids = self.sessions()?.into_iter().map(|found| found.id);
        Ok(ids.filter(|known| known.starts_with(id)).collect())
    }

    /// What a list says of a session. `None` where it is not one of these, or cannot be read.
    pub(crate) fn row(&self, found: &Found) -> Option<Row> {
        if found.file.path.parent() != Some(&self.folder) {
            return None;
        }
        let mut size = 0;
        let transcript = self.fold(&found.id, |record| size += record.body.len() as u64).ok()?;
        let session = transcript.session();
        let text = |text: &Text| text.as_str().into_owned();
        Some(Row {
            id: found.id.clone(),
            title: session.title.as_ref().map(text),
            agent: as_in_files(session.agent.as_deref().unwrap_or_default()).to_owned(),
            format: FORMAT.to_owned(),
            project: session.cwd.as_ref().map(text),
            branch: session.branch.as_ref().map(text),
            model: session.model.as_ref().map(ToString::to_string),
            started: session.started.map(Time::iso_millis),
            updated: session.updated.map(Time::iso_millis).unwrap_or_default(),
            prompts: session.counts.prompts,
            tokens: Tokens::of(&session.usage),
            subagents: 0,
            size,
            path: self.folder.join("log.db").to_string_lossy().into_owned(),
            subagent_of: None,
            own: Some(session.id.as_ref().map_or_else(|| found.id.clone(), ToString::to_string)),
        })
    }

    /// The whole conversation.
    pub(crate) fn conversation(&self, id: &str) -> Result<Conversation> {
        let (session, entries) = self.fold(id, |_| {})?.into_parts();
        Ok(Conversation { session, entries })
    }

    /// The records as they were written, a line each.
    pub(crate) fn raw(&self, id: &str) -> Result<Vec<u8>> {
        let mut lines = Vec::new();
        self.each(id, |record| {
            lines.extend_from_slice(&record.body);
            lines.push(b'\n');
        })?;
        Ok(lines)
    }

    fn fold(&self, id: &str, mut saw: impl FnMut(&Record)) -> Result<Transcript, StoreError> {
        let (mut house, mut transcript) = (House::new(None), Transcript::default());
        let mut events = Vec::new();
        self.each(id, |record| {
            saw(record);
            let (line, reading) = house.read(record, &mut events);
            transcript.fold(record.seq, &line, &reading, events.drain(..));
        })?;
        Ok(transcript)
    }

    /// Reads all records in order, some at a time: a session may be larger than memory should hold.
    fn each(&self, id: &str, mut saw: impl FnMut(&Record)) -> Result<(), StoreError> {
        let mut end = 0;
        loop {
            let records = self.log.read(id, end, CHUNK)?;
            let Some(last) = records.last() else { return Ok(()) };
            end = last.seq + 1;
            records.iter().for_each(&mut saw);
        }
    }
}

/// An agent's name as the rows of files have it.
fn as_in_files(agent: &str) -> &str {
    match agent {
        "claude" => Agent::Claude.name(),
        "codex" => Agent::Codex.name(),
        "pi" => Agent::Pi.name(),
        other => other,
    }
}
