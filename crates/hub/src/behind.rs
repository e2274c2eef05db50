//! Work that nobody waits for: sessions that were found are kept and made searchable. It must not decide what is found.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::Duration;

use parlor_found::Found;
use parlor_store::IndexRow;

use crate::discovery::{Knowledge, of_found, stamp};
use crate::follow::read_once;
use crate::hub::Inner;
use crate::{archive, clock, index};

/// A file is made searchable when it has been still for this long.
const STILL: Duration = Duration::from_secs(5);

/// How the keys of kept files' rows begin.
const KEPT: &str = "kept/";

/// So many sessions that were made searchable are worth to put their words together.
const MANY: usize = 64;

/// How far the work is.
#[derive(Default)]
pub(crate) struct Behind {
    /// The stamps up to which files were worked on.
    done: HashMap<PathBuf, String>,
    earlier: Option<Earlier>,
    /// There may be something to do, now or when a file has been still for long enough.
    awake: bool,
    /// There is something to do now.
    left: bool,
    /// Sessions made searchable since their words were put together.
    added: usize,
}

/// The stamps up to which an earlier life has worked.
struct Earlier {
    /// By session.
    searchable: HashMap<String, String>,
    /// By the key of a kept file's row.
    kept: HashMap<String, String>,
}

impl Earlier {
    fn of(inner: &Inner) -> Earlier {
        let rows = inner.store.rows().unwrap_or_default().into_iter();
        Earlier {
            searchable: inner.store.text_stamps().unwrap_or_default(),
            kept: rows.filter(|row| row.key.starts_with(KEPT)).map(|row| (row.key, row.stamp)).collect(),
        }
    }
}

impl Behind {
    /// How long it may work before somebody may want the list brought up to date.
    const SLICE: Duration = Duration::from_millis(200);

    /// True when there is nothing to do now.
    pub(crate) fn is_done(&self) -> bool {
        !self.left
    }

    /// Something was found or has changed.
    pub(crate) fn wake(&mut self) {
        self.awake = true;
    }

    /// Works for a while, newest sessions first.
    pub(crate) fn work(&mut self, inner: &Inner, known: &Knowledge) {
        if !std::mem::take(&mut self.awake) {
            return;
        }
        let begun = clock::moment();
        let mut all: Vec<Found> =
            inner.found.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        all.sort_by_key(|found| std::cmp::Reverse(found.file.modified_ns));
        self.left = false;
        let earlier = self.earlier.get_or_insert_with(|| Earlier::of(inner));
        let mut lengths = None;
        for found in all {
            let stamp = stamp(&found);
            if self.done.get(&found.file.path) == Some(&stamp) {
                continue;
            }
            // A subagent may write for minutes while its session waits.
            let written_ns = found.files().map(|file| file.modified_ns).max().unwrap_or_default();
            let still = clock::now().0.saturating_sub((written_ns / 1_000) as i64);
            if self.done.contains_key(&found.file.path) && still < STILL.as_micros() as i64 {
                self.awake = true;
                continue;
            }
            if begun.elapsed() > Self::SLICE {
                (self.awake, self.left) = (true, true);
                return;
            }
            let Some(row) = known.get(&found.file.path).and_then(|one| one.row.as_ref()) else { continue };
            // Kept before it can be found: what a search shows will not vanish.
            if inner.archive {
                let lengths = lengths.get_or_insert_with(|| archived_lengths(inner));
                // The row alone would not do: the archive may have been taken away since.
                let is_kept = earlier.kept.get(&kept_key(&found.file.path)) == Some(&stamp)
                    && lengths.contains_key(&*found.file.path.to_string_lossy());
                if !is_kept {
                    keep(inner, &found, row, lengths);
                }
            }
            if earlier.searchable.get(&found.id) != Some(&stamp) {
                make_searchable(inner, &found, &stamp);
                self.added += 1;
            }
            self.done.insert(found.file.path.clone(), stamp);
        }
        if self.added >= MANY {
            self.added = 0;
            inner.store.tidy_text();
        }
    }
}

/// How much of each file is kept.
fn archived_lengths(inner: &Inner) -> HashMap<String, u64> {
    let kept = inner.store.archived().unwrap_or_default();
    kept.into_iter().map(|one| (one.path, one.length)).collect()
}

/// The key of a kept file's row in the index.
pub(crate) fn kept_key(path: &Path) -> String {
    format!("{KEPT}{}", path.to_string_lossy())
}

fn make_searchable(inner: &Inner, found: &Found, stamp: &str) {
    if let Ok(view) = read_once(found) {
        inner.store.put_text(&found.id, stamp, index::pieces(&view));
    }
}

fn keep(inner: &Inner, found: &Found, row: &parlor_found::Row, kept: &HashMap<String, u64>) {
    let path = found.file.path.to_string_lossy().into_owned();
    if let Err(error) = archive::keep(inner, found, kept) {
        tracing::warn!("cannot keep `{path}`: {error}");
        return;
    }
    let body = serde_json::to_string(&of_found(row)).unwrap_or_default();
    inner.store.put_rows(vec![IndexRow { key: kept_key(&found.file.path), stamp: stamp(found), body }]);
}
