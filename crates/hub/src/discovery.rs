//! Finds the sessions that agents write on this machine, and keeps the list current as they do. A second look at what has
//! not changed reads nothing. It must not keep conversations.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use notify::event::{AccessKind, EventKind};
use notify::{RecursiveMode, Watcher};
use parlor_found::{Found, READING, arrange, sessions_of, skim};
use parlor_store::IndexRow;
use rayon::prelude::*;

use crate::clock;
use crate::follow::Follow;
use crate::hub::{Hub, Inner};
use crate::row::{Row, Source};
use crate::{archive, index};

/// Without word from the file system, the folders are looked at this often.
const LOOK: Duration = Duration::from_secs(2);

/// Several changes in a row are one.
const GATHER: Duration = Duration::from_millis(120);

/// A file that changed in the last seconds may have a writer at work.
const FRESH: Duration = Duration::from_secs(20);

/// A file is made searchable when it has been still for this long.
const STILL: Duration = Duration::from_secs(5);

/// How the keys of kept files' rows begin.
const KEPT: &str = "kept/";

/// What is known of one file.
struct Known {
    stamp: String,
    row: Option<parlor_found::Row>,
    /// When it was read, and how long that took: a large file that grows is not read all the time.
    read: Option<(Instant, Duration)>,
}

/// Starts looking. It ends with the house.
pub(crate) fn start(hub: &Hub) {
    let inner = Arc::downgrade(&hub.inner);
    let folders: Vec<PathBuf> = hub.inner.folders.iter().map(|folder| folder.path.clone()).collect();
    let work = move || {
        let (sender, events) = channel();
        let house = inner.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // That a file is opened, as we do ourselves to read it, is no news.
            let Ok(event) = event.map_err(drop) else { return };
            if matches!(event.kind, EventKind::Access(AccessKind::Open(_))) {
                return;
            }
            // Who looks at a session does not wait until changes have been gathered for the list.
            if let Some(inner) = house.upgrade() {
                event.paths.iter().for_each(|path| inner.nudge(path));
            }
            let _ = sender.send(());
        });
        let mut watch = Watch { watcher: watcher.ok(), watched: HashSet::new(), folders };
        let mut known: Option<HashMap<PathBuf, Known>> = None;
        let mut kept = None;
        let mut behind = Behind::default();
        loop {
            let Some(inner) = inner.upgrade().filter(|inner| *inner.is_open.borrow()) else { return };
            let begun = clock::moment();
            let known = known.get_or_insert_with(|| restore(&inner));
            look(&inner, known, &mut kept);
            inner.list.complete();
            // Only now, since it takes a look of its own at every file; what came in between is seen by another one.
            let at_once = watch.extend();
            behind.work(&inner, known);
            let pause = LOOK.max(begun.elapsed() * 20);
            drop(inner);
            gather(&events, if behind.is_done() && !at_once { pause } else { Duration::ZERO });
        }
    };
    if let Err(error) = std::thread::Builder::new().name("discovery".into()).spawn(work) {
        tracing::error!("cannot look for sessions: {error}");
    }
}

/// The file of a session by the agent's own id.
pub(crate) fn file_of(inner: &Inner, session: &str) -> Option<PathBuf> {
    let known = inner.found.lock().unwrap_or_else(PoisonError::into_inner).get(session).cloned();
    let found = known.or_else(|| sessions_of(&inner.folders).into_iter().find(|found| found.id == session));
    found.map(|found| found.file.path)
}

/// The folders that are watched. One that does not exist yet is watched once it does.
struct Watch {
    watcher: Option<notify::RecommendedWatcher>,
    watched: HashSet<PathBuf>,
    folders: Vec<PathBuf>,
}

impl Watch {
    /// Watches the folders that exist. True when some were not watched before.
    fn extend(&mut self) -> bool {
        let Some(watcher) = &mut self.watcher else { return false };
        let before = self.watched.len();
        for folder in &self.folders {
            if !self.watched.contains(folder)
                && folder.is_dir()
                && watcher.watch(folder, RecursiveMode::Recursive).is_ok()
            {
                self.watched.insert(folder.clone());
            }
        }
        self.watched.len() > before
    }
}

/// Waits for changes, and gathers those that come together.
fn gather(events: &Receiver<()>, pause: Duration) {
    match events.recv_timeout(pause) {
        Ok(()) => {}
        Err(RecvTimeoutError::Timeout) => return,
        Err(RecvTimeoutError::Disconnected) => return std::thread::sleep(pause),
    }
    // Not woken by each of them: whoever looks at the session that grows needs the processor now.
    std::thread::sleep(GATHER);
    while events.try_recv().is_ok() {}
}

/// What the index knows from earlier lives.
fn restore(inner: &Inner) -> HashMap<PathBuf, Known> {
    let rows = inner.store.rows().unwrap_or_default();
    let known = |row: IndexRow| {
        let path = PathBuf::from(row.key.strip_prefix("found/")?);
        let body = serde_json::from_str(&row.body).ok()?;
        Some((path, Known { stamp: row.stamp, row: body, read: None }))
    };
    rows.into_iter().filter_map(known).collect()
}

/// Looks at all folders, reads what is new, and brings the list up to date.
fn look(inner: &Inner, known: &mut HashMap<PathBuf, Known>, kept: &mut Option<Vec<Row>>) {
    let found = sessions_of(&inner.folders);
    let is_new = |found: &&Found| match known.get(&found.file.path) {
        None => true,
        Some(one) if one.stamp == stamp(found) => false,
        Some(one) => one.read.is_none_or(|(at, took)| at.elapsed() > took * 10),
    };
    let mut new: Vec<&Found> = found.iter().filter(is_new).collect();
    new.sort_by_key(|found| std::cmp::Reverse(found.file.size));
    let read: Vec<(&Found, Option<parlor_found::Row>, Duration)> = new
        .par_iter()
        .map(|found| {
            let begun = clock::moment();
            (*found, skim(found), begun.elapsed())
        })
        .collect();
    let mut rows = Vec::new();
    for (found, row, took) in read {
        rows.push(IndexRow {
            key: format!("found/{}", found.file.path.to_string_lossy()),
            stamp: stamp(found),
            body: serde_json::to_string(&row).unwrap_or_default(),
        });
        let one = Known { stamp: stamp(found), row, read: Some((clock::moment(), took)) };
        known.insert(found.file.path.clone(), one);
    }
    if !rows.is_empty() {
        inner.store.put_rows(rows);
    }
    if forget(inner, known, &found) {
        *kept = None;
    }
    let kept = kept.get_or_insert_with(|| archived(inner, &found));
    list(inner, known, found, kept);
}

/// Drops what is no longer there. True when there was such a thing.
fn forget(inner: &Inner, known: &mut HashMap<PathBuf, Known>, found: &[Found]) -> bool {
    let there: HashSet<&Path> = found.iter().map(|found| found.file.path.as_path()).collect();
    let mut gone: Vec<String> = Vec::new();
    known.retain(|path, _| {
        let keep = there.contains(path.as_path());
        if !keep {
            gone.push(format!("found/{}", path.to_string_lossy()));
        }
        keep
    });
    if gone.is_empty() {
        return false;
    }
    gone.sort();
    inner.store.drop_rows(gone);
    true
}

fn list(inner: &Inner, known: &HashMap<PathBuf, Known>, found: Vec<Found>, kept: &[Row]) {
    let own: HashSet<String> = inner
        .list
        .all()
        .into_iter()
        .filter(|row| row.source == Source::Live)
        .flat_map(|row| [Some(row.id), row.own])
        .flatten()
        .collect();
    let rows = found.iter().filter_map(|found| known.get(&found.file.path)?.row.clone()).collect();
    let mut listed: HashSet<String> = HashSet::new();
    let mut put = Vec::new();
    // The newest comes first: of copies of one session, that one is meant.
    for row in arrange(rows) {
        if !own.contains(&row.id) && listed.insert(row.id.clone()) {
            put.push(of_found(&row));
        }
    }
    for row in kept.iter().filter(|row| !own.contains(&row.id)) {
        if listed.insert(row.id.clone()) {
            put.push(row.clone());
        }
    }
    let gone = inner.list.all().into_iter().filter(|row| row.source != Source::Live);
    for row in gone.filter(|row| !listed.contains(&row.id)) {
        inner.list.remove(&row.id);
    }
    inner.list.put(put);
    let mut all = inner.found.lock().unwrap_or_else(PoisonError::into_inner);
    all.clear();
    for one in found {
        match all.get(&one.id) {
            Some(known) if known.file.modified_ns >= one.file.modified_ns => {}
            _ => {
                all.insert(one.id.clone(), one);
            }
        }
    }
}

/// The sessions that were kept and whose files are gone: those that were found are not.
fn archived(inner: &Inner, found: &[Found]) -> Vec<Row> {
    if !inner.archive {
        return Vec::new();
    }
    let there: HashSet<&Path> = found.iter().map(|found| found.file.path.as_path()).collect();
    let kept = inner.store.archived().unwrap_or_default();
    let missing: HashSet<String> = kept
        .into_iter()
        .filter(|one| !there.contains(Path::new(&one.path)) && !Path::new(&one.path).exists())
        .map(|one| kept_key(Path::new(&one.path)))
        .collect();
    if missing.is_empty() {
        return Vec::new();
    }
    let rows = inner.store.rows().unwrap_or_default().into_iter().filter(|row| missing.contains(&row.key));
    let row = |row: IndexRow| serde_json::from_str::<Row>(&row.body).ok();
    rows.filter_map(row)
        .map(|row| Row { source: Source::Archived, phase: "idle".to_owned(), ..row })
        .collect()
}

fn of_found(row: &parlor_found::Row) -> Row {
    let age = row.updated.parse_age();
    Row {
        id: row.id.clone(),
        title: row.title.clone(),
        agent: agent_name(&row.agent).to_owned(),
        model: row.model.clone(),
        cwd: row.project.clone(),
        branch: row.branch.clone(),
        started: row.started.clone(),
        updated: row.updated.clone(),
        size: row.size,
        tokens: row.tokens.total,
        prompts: row.prompts,
        phase: if age.is_some_and(|age| age < FRESH) { "unknown" } else { "idle" }.to_owned(),
        source: Source::Found,
        ..Row::default()
    }
}

/// The name by which agents are started, from the one that people read.
fn agent_name(label: &str) -> &str {
    match label {
        "Claude" => "claude",
        "Codex" => "codex",
        "Pi" => "pi",
        other => other,
    }
}

trait Age {
    fn parse_age(&self) -> Option<Duration>;
}

impl Age for String {
    /// How long ago this time was.
    fn parse_age(&self) -> Option<Duration> {
        let then = parlor_model::time::Time::parse(self)?;
        let micros = clock::now().0.saturating_sub(then.0);
        u64::try_from(micros).ok().map(Duration::from_micros)
    }
}

/// Tells whether a session's files have changed, or how they are read.
fn stamp(found: &Found) -> String {
    let files = std::iter::once(&found.file).chain(&found.subagents);
    let one = |file: &parlor_found::Stamp| format!("{}:{}", file.size, file.modified_ns);
    format!("{READING} {}", files.map(one).collect::<Vec<_>>().join("+"))
}

/// Work that nobody waits for: making sessions searchable and keeping them.
#[derive(Default)]
struct Behind {
    /// The stamps up to which files were worked on.
    done: HashMap<PathBuf, String>,
    earlier: Option<Earlier>,
    left: bool,
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

    fn is_done(&self) -> bool {
        !self.left
    }

    fn work(&mut self, inner: &Inner, known: &HashMap<PathBuf, Known>) {
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
            let changed = clock::now().0.saturating_sub((found.file.modified_ns / 1_000) as i64);
            if self.done.contains_key(&found.file.path) && changed < STILL.as_micros() as i64 {
                continue;
            }
            if begun.elapsed() > Self::SLICE {
                self.left = true;
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
            }
            self.done.insert(found.file.path.clone(), stamp);
        }
    }
}

/// How much of each file is kept.
fn archived_lengths(inner: &Inner) -> HashMap<String, u64> {
    let kept = inner.store.archived().unwrap_or_default();
    kept.into_iter().map(|one| (one.path, one.length)).collect()
}

/// The key of a kept file's row in the index.
fn kept_key(path: &Path) -> String {
    format!("{KEPT}{}", path.to_string_lossy())
}

fn make_searchable(inner: &Inner, found: &Found, stamp: &str) {
    if let Ok((_, view)) = Follow::open(&found.file.path, 0) {
        inner.store.put_text(&found.id, stamp, index::pieces(&view));
    }
}

fn keep(inner: &Inner, found: &Found, row: &parlor_found::Row, kept: &HashMap<String, u64>) {
    let path = found.file.path.to_string_lossy().into_owned();
    if let Err(error) = archive::keep(inner, found, kept.get(&path).copied().unwrap_or(0)) {
        tracing::warn!("cannot keep `{path}`: {error}");
        return;
    }
    let body = serde_json::to_string(&of_found(row)).unwrap_or_default();
    inner.store.put_rows(vec![IndexRow { key: kept_key(&found.file.path), stamp: stamp(found), body }]);
}
