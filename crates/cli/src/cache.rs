//! Rows of the list that need not be read again because their files have not changed. It may be thrown away
//! at any time, and it never fails: without it the list is only slower.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use etcetera::BaseStrategy;
use parlor_found::{Found, READING, Row, Stamp};
use serde::{Deserialize, Serialize};

/// What was read from files when they had these stamps.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    known: HashMap<PathBuf, Kept>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    stamps: Vec<Stamp>,
    /// `None`: the file is no session.
    row: Option<Row>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    version: String,
    rows: Vec<Kept>,
}

impl Cache {
    /// Reads the cache; an unreadable one, or one of another version, is empty.
    pub(crate) fn load() -> Cache {
        let content = path().and_then(|path| fs::read(path).ok()).unwrap_or_default();
        let stored =
            serde_json::from_slice::<Stored>(&content).ok().filter(|stored| stored.version == READING);
        let rows = stored.map(|stored| stored.rows).unwrap_or_default();
        let key = |kept: Kept| Some((kept.stamps.first()?.path.clone(), kept));
        Cache { known: rows.into_iter().filter_map(key).collect() }
    }

    /// What is known of a session whose files have not changed.
    pub(crate) fn get(&self, found: &Found) -> Option<Option<Row>> {
        let kept = self.known.get(&found.file.path)?;
        (kept.stamps.iter().eq(stamps(found))).then(|| kept.row.clone())
    }

    /// Keeps what was read, and forgets sessions that are no longer there.
    pub(crate) fn store(read: &[(&Found, Option<Row>)]) {
        // A name that is not Unicode cannot be kept: such a session is read each time.
        let named = read.iter().filter(|(found, _)| stamps(found).all(|stamp| stamp.path.to_str().is_some()));
        let keep = |(found, row): &(&Found, Option<Row>)| Kept {
            stamps: stamps(found).cloned().collect(),
            row: row.clone(),
        };
        let stored = Stored { version: READING.to_owned(), rows: named.map(keep).collect() };
        let Some(path) = path() else { return };
        let Ok(content) = serde_json::to_vec(&stored) else { return };
        // Written beside and moved into place, so that a reader at the same time sees the old one or the new
        // one.
        let new = path.with_extension(format!("{}.tmp", std::process::id()));
        let parent = path.parent().map_or(Ok(()), fs::create_dir_all);
        let done = parent.and_then(|()| fs::write(&new, content)).and_then(|()| fs::rename(&new, &path));
        if done.is_err() {
            let _ = fs::remove_file(&new);
        }
    }
}

/// Where the cache is.
pub(crate) fn path() -> Option<PathBuf> {
    Some(etcetera::choose_base_strategy().ok()?.cache_dir().join("parlor").join("ls.json"))
}

fn stamps(found: &Found) -> impl Iterator<Item = &Stamp> {
    std::iter::once(&found.file).chain(&found.subagents)
}
