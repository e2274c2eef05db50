//! The list of all sessions, kept current, and told in changes. It must not read sessions.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use crate::row::Row;

/// The list. Every change has a number, so that a client that fell behind is told only what it missed.
pub(crate) struct List {
    rows: Mutex<Rows>,
    version: watch::Sender<u64>,
}

#[derive(Default)]
struct Rows {
    version: u64,
    complete: bool,
    rows: HashMap<String, (u64, Arc<Row>)>,
    gone: BTreeMap<u64, String>,
}

/// How many removals are remembered. A client that missed more receives the whole list.
const GONE: usize = 4_096;

/// What changed in the list.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// The number of the last change.
    pub version: u64,
    /// True when these are all rows: the client forgets what it had.
    pub whole: bool,
    /// True when the first look over the disk is done.
    pub complete: bool,
    /// The rows that are new or different, newest first.
    pub rows: Vec<Arc<Row>>,
    /// The ids that are no longer there.
    pub gone: Vec<String>,
}

impl List {
    pub(crate) fn new() -> List {
        List { rows: Mutex::default(), version: watch::Sender::new(0) }
    }

    /// Puts rows in; those that did not change are no news.
    pub(crate) fn put(&self, rows: impl IntoIterator<Item = Row>) {
        self.change(|all| {
            let mut changed = false;
            for row in rows {
                if all.rows.get(&row.id).is_some_and(|(_, known)| **known == row) {
                    continue;
                }
                all.version += 1;
                all.rows.insert(row.id.clone(), (all.version, Arc::new(row)));
                changed = true;
            }
            changed
        });
    }

    /// Takes a row out.
    pub(crate) fn remove(&self, id: &str) {
        self.change(|all| {
            let known = all.rows.remove(id).is_some();
            if known {
                all.version += 1;
                all.gone.insert(all.version, id.to_owned());
                while all.gone.len() > GONE {
                    all.gone.pop_first();
                }
            }
            known
        });
    }

    /// The first look over the disk is done.
    pub(crate) fn complete(&self) {
        self.change(|all| {
            all.version += 1;
            !std::mem::replace(&mut all.complete, true)
        });
    }

    pub(crate) fn get(&self, id: &str) -> Option<Arc<Row>> {
        self.lock().rows.get(id).map(|(_, row)| row.clone())
    }

    pub(crate) fn all(&self) -> Vec<Arc<Row>> {
        self.lock().rows.values().map(|(_, row)| row.clone()).collect()
    }

    /// What changed after `version`; everything for 0.
    pub(crate) fn since(&self, version: u64) -> Changes {
        let all = self.lock();
        let forgotten = all.gone.first_key_value().is_some_and(|(first, _)| *first > version + 1)
            && all.gone.len() >= GONE;
        let whole = version == 0 || forgotten;
        let after = if whole { 0 } else { version };
        let mut rows: Vec<Arc<Row>> =
            all.rows.values().filter(|(changed, _)| *changed > after).map(|(_, row)| row.clone()).collect();
        rows.sort_by(|a, b| b.updated.cmp(&a.updated).then_with(|| a.id.cmp(&b.id)));
        let gone = all.gone.range(after + 1..).map(|(_, id)| id.clone());
        let gone = if whole { Vec::new() } else { gone.filter(|id| !all.rows.contains_key(id)).collect() };
        Changes { version: all.version, whole, complete: all.complete, rows, gone }
    }

    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    fn change(&self, change: impl FnOnce(&mut Rows) -> bool) {
        let mut all = self.lock();
        if change(&mut all) {
            let version = all.version;
            drop(all);
            self.version.send_replace(version);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, updated: &str) -> Row {
        Row { id: id.into(), updated: updated.into(), ..Row::default() }
    }

    #[test]
    fn a_client_is_told_what_it_missed_and_nothing_else() {
        let list = List::new();
        list.put([row("a", "1"), row("b", "2")]);
        let first = list.since(0);
        assert!(first.whole);
        assert_eq!(first.rows.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["b", "a"]);
        list.put([row("a", "1")]);
        assert_eq!(list.since(first.version).rows.len(), 0, "the same row is no news");
        list.put([row("a", "3")]);
        list.remove("b");
        let second = list.since(first.version);
        assert_eq!((second.rows.len(), second.gone), (1, vec!["b".to_owned()]));
        assert!(!second.whole);
    }
}
