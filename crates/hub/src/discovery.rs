//! Finds the sessions that agents write on this machine, and keeps the list current as they do. What has not changed is not
//! read again, and what is told to have changed is looked at alone. It must not keep conversations.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parlor_found::{Folder, Found, READING, Touched, Tree, arrange, sessions_of, skim};
use parlor_store::IndexRow;
use rayon::prelude::*;

use crate::behind::{Behind, kept_key};
use crate::clock;
use crate::hub::{Hub, Inner};
use crate::row::{Row, Source};
use crate::watch::{News, Watch};

/// Without word from the file system, the folders are looked at this often.
const LOOK: Duration = Duration::from_secs(2);

/// Where the file system tells of every change, they are looked at this often all the same: word may be lost.
const LOOK_WATCHED: Duration = Duration::from_secs(60);

/// A file that changed in the last seconds may have a writer at work.
const FRESH: Duration = Duration::from_secs(20);

/// A core is given no fewer rows than this.
const PIECE: usize = 128;

/// How the keys of found files' rows begin.
const FOUND: &str = "found/";

/// What is known of one file.
pub(crate) struct Known {
    stamp: String,
    pub(crate) row: Option<parlor_found::Row>,
    /// When it was read, and how long that took: a large file that grows is not read all the time.
    read: Option<(Instant, Duration)>,
}

/// All that is known, by file.
pub(crate) type Knowledge = HashMap<PathBuf, Known>;

/// The first look at the folders, which needs nothing of the house.
pub(crate) struct FirstLook(JoinHandle<Tree>);

/// Begins to look, while the house is still being opened.
pub(crate) fn look_first(folders: &[Folder]) -> std::io::Result<FirstLook> {
    let mut tree = Tree::new(folders.to_vec());
    let look = move || {
        tree.look();
        tree
    };
    std::thread::Builder::new().name("first-look".into()).spawn(look).map(FirstLook)
}

/// What the index knows from earlier lives.
pub(crate) fn restore(rows: &[IndexRow]) -> Knowledge {
    let known = |row: &IndexRow| {
        let path = PathBuf::from(row.key.strip_prefix(FOUND)?);
        let body = serde_json::from_str(&row.body).ok()?;
        Some((path, Known { stamp: row.stamp.clone(), row: body, read: None }))
    };
    // On all cores, for somebody waits for the list.
    rows.par_iter().with_min_len(PIECE).filter_map(known).collect()
}

/// Goes on looking. It ends with the house.
pub(crate) fn start(hub: &Hub, first: FirstLook, known: Knowledge) {
    let inner = Arc::downgrade(&hub.inner);
    let folders: Vec<PathBuf> = hub.inner.folders.iter().map(|folder| folder.path.clone()).collect();
    let work = move || {
        let Ok(tree) = first.0.join() else { return };
        let house = inner.clone();
        // Who looks at a session does not wait until changes have been gathered for the list.
        let nudge = move |path: &Path| {
            if let Some(inner) = house.upgrade() {
                inner.nudge(path);
            }
        };
        let mut discovery = Discovery::new(tree, known);
        {
            let Some(inner) = inner.upgrade() else { return };
            discovery.update(&inner, Extent::All);
            inner.list.complete();
        }
        // Only now, since to watch takes a look of its own at every folder; what came in between is seen by another one.
        let mut watch = Watch::new(folders, nudge);
        let mut news = News::default();
        loop {
            let Some(inner) = inner.upgrade().filter(|inner| *inner.is_open.borrow()) else { return };
            let begun = clock::moment();
            if watch.extend() {
                news.all = true;
            }
            discovery.round(&inner, news, watch.tells_all());
            let busy = begun.elapsed();
            discovery.behind.work(&inner, &discovery.known);
            drop(inner);
            give_back();
            let pause = if discovery.behind.is_done() { LOOK } else { Duration::ZERO };
            news = watch.news(pause, busy);
        }
    };
    if let Err(error) = std::thread::Builder::new().name("discovery".into()).spawn(work) {
        tracing::error!("cannot look for sessions: {error}");
    }
}

/// Lets the allocator take in what other threads have freed of this one's memory, and give it back to the system. It does so
/// only when it is asked for a large piece, and who has nothing to do never asks.
fn give_back() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(1 << 20)));
}

/// The file of a session by the agent's own id.
pub(crate) fn file_of(inner: &Inner, session: &str) -> Option<PathBuf> {
    let known = inner.found.lock().unwrap_or_else(PoisonError::into_inner).get(session).cloned();
    let found = known.or_else(|| sessions_of(&inner.folders).into_iter().find(|found| found.id == session));
    found.map(|found| found.file.path)
}

struct Discovery {
    tree: Tree,
    known: Knowledge,
    /// The rows of files that are gone, once they were asked for.
    kept: Option<Vec<Row>>,
    behind: Behind,
    /// When everything was looked at last, and how long that took.
    looked: (Instant, Duration),
    /// Something came or went: a folder that is new may have had files before it was watched.
    again: bool,
    /// Files that changed again too soon to be read again.
    later: BTreeSet<PathBuf>,
    /// Some agent may be at work, as far as its file tells; that changes with time alone.
    fresh: bool,
}

/// How much has to be brought up to date.
enum Extent {
    /// Everything that was found.
    All,
    /// Only these sessions, by their index in the tree.
    Some(BTreeSet<usize>),
}

impl Discovery {
    fn new(tree: Tree, known: Knowledge) -> Discovery {
        Discovery {
            tree,
            known,
            kept: None,
            behind: Behind::default(),
            looked: (clock::moment(), Duration::ZERO),
            again: false,
            later: BTreeSet::new(),
            fresh: false,
        }
    }

    /// Looks at what changed, or at everything, and brings the list up to date.
    fn round(&mut self, inner: &Inner, news: News, told: bool) {
        let (at, took) = self.looked;
        let pause = if told && !self.again { LOOK_WATCHED } else { LOOK.max(took * 20) };
        let extent = match news.all || at.elapsed() >= pause {
            true => Extent::All,
            false => self.touch(&news.files),
        };
        if matches!(extent, Extent::All) {
            let begun = clock::moment();
            self.tree.look();
            self.looked = (begun, begun.elapsed());
            self.again = news.all;
        }
        match &extent {
            Extent::Some(sessions) if sessions.is_empty() && !self.fresh => {}
            _ => self.update(inner, extent),
        }
    }

    fn touch(&mut self, files: &BTreeSet<PathBuf>) -> Extent {
        let later = std::mem::take(&mut self.later);
        let mut sessions: BTreeSet<usize> =
            later.iter().filter_map(|path| self.tree.index_of(path)).collect();
        for file in files {
            match self.tree.touch(file) {
                Touched::Same => {}
                Touched::Changed(session) => drop(sessions.insert(session)),
                Touched::Strange => return Extent::All,
            }
        }
        Extent::Some(sessions)
    }

    /// Reads what is new, and brings the list up to date.
    fn update(&mut self, inner: &Inner, extent: Extent) {
        let sessions = self.tree.sessions();
        let candidates: Vec<&Found> = match &extent {
            Extent::All => sessions.iter().collect(),
            Extent::Some(some) => some.iter().map(|index| &sessions[*index]).collect(),
        };
        let rows = read(&mut self.known, &mut self.later, &candidates);
        if !rows.is_empty() {
            inner.store.put_rows(rows);
        }
        if matches!(extent, Extent::All) && forget(inner, &mut self.known, sessions) {
            self.kept = None;
        }
        let kept = self.kept.get_or_insert_with(|| archived(inner, sessions));
        self.fresh = list(inner, &self.known, sessions, kept);
        let mut all = inner.found.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(extent, Extent::All) {
            all.clear();
        }
        for one in candidates {
            match all.get(&one.id) {
                // Of copies of one session, the newest is meant.
                Some(known) if known.file.modified_ns > one.file.modified_ns => {}
                _ => drop(all.insert(one.id.clone(), one.clone())),
            }
        }
        drop(all);
        self.behind.wake();
    }
}

/// Reads those whose files have changed. One that changes all the time is left for `later`.
fn read(known: &mut Knowledge, later: &mut BTreeSet<PathBuf>, candidates: &[&Found]) -> Vec<IndexRow> {
    let mut new = Vec::new();
    for found in candidates {
        match known.get(&found.file.path) {
            Some(one) if one.stamp == stamp(found) => {}
            Some(Known { read: Some((at, took)), .. }) if at.elapsed() <= *took * 10 => {
                later.insert(found.file.path.clone());
            }
            _ => new.push(*found),
        }
    }
    if new.is_empty() {
        return Vec::new();
    }
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
        let stamp = stamp(found);
        rows.push(IndexRow {
            key: format!("{FOUND}{}", found.file.path.to_string_lossy()),
            stamp: stamp.clone(),
            body: serde_json::to_string(&row).unwrap_or_default(),
        });
        known.insert(found.file.path.clone(), Known { stamp, row, read: Some((clock::moment(), took)) });
    }
    rows
}

/// Drops what is no longer there. True when there was such a thing.
fn forget(inner: &Inner, known: &mut Knowledge, found: &[Found]) -> bool {
    let there: HashSet<&Path> = found.iter().map(|found| found.file.path.as_path()).collect();
    let mut gone: Vec<String> = Vec::new();
    known.retain(|path, _| {
        let keep = there.contains(path.as_path());
        if !keep {
            gone.push(format!("{FOUND}{}", path.to_string_lossy()));
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

/// Brings the list up to date. True when some session may be at work.
fn list(inner: &Inner, known: &Knowledge, found: &[Found], kept: &[Row]) -> bool {
    let before = inner.list.all();
    let live = || before.iter().filter(|row| row.source == Source::Live);
    let own: HashSet<&str> =
        live().flat_map(|row| [Some(row.id.as_str()), row.own.as_deref()]).flatten().collect();
    let row = |found: &Found| known.get(&found.file.path)?.row.as_ref();
    let rows = found.iter().filter_map(row).map(Cow::Borrowed).collect();
    let mut listed: HashSet<String> = HashSet::new();
    let mut put = Vec::new();
    // The newest comes first: of copies of one session, that one is meant.
    for row in arrange(rows) {
        if !own.contains(row.id.as_str()) && listed.insert(row.id.clone()) {
            put.push(of_found(&row));
        }
    }
    for row in kept.iter().filter(|row| !own.contains(row.id.as_str())) {
        if listed.insert(row.id.clone()) {
            put.push(row.clone());
        }
    }
    for row in before.iter().filter(|row| row.source != Source::Live && !listed.contains(&row.id)) {
        inner.list.remove(&row.id);
    }
    let fresh = put.iter().any(|row| row.phase == MAYBE);
    inner.list.put(put);
    fresh
}

/// The sessions that were kept and whose files are gone: those that were found are not.
fn archived(inner: &Inner, found: &[Found]) -> Vec<Row> {
    if !inner.archive {
        return Vec::new();
    }
    let there: HashSet<&Path> = found.iter().flat_map(Found::files).map(|file| file.path.as_path()).collect();
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

/// The phase of a session whose file was written to a moment ago.
const MAYBE: &str = "unknown";

/// The row of a file.
pub(crate) fn of_found(row: &parlor_found::Row) -> Row {
    let age = row.updated.parse_age();
    Row {
        agent: agent_name(&row.agent).to_owned(),
        phase: if age.is_some_and(|age| age < FRESH) { MAYBE } else { "idle" }.to_owned(),
        source: Source::Found,
        id: row.id.clone(),
        title: row.title.clone(),
        model: row.model.clone(),
        cwd: row.project.clone(),
        branch: row.branch.clone(),
        started: row.started.clone(),
        updated: row.updated.clone(),
        size: row.size,
        tokens: row.tokens.total,
        prompts: row.prompts,
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
pub(crate) fn stamp(found: &Found) -> String {
    let mut stamp = format!("{READING} ");
    for (number, file) in found.files().enumerate() {
        let plus = if number > 0 { "+" } else { "" };
        let _ = write!(stamp, "{plus}{}:{}", file.size, file.modified_ns);
    }
    stamp
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use parlor_agent::Settings;
    use parlor_dialect::Agent;

    use super::*;
    use crate::Options;

    fn write(folder: &Path, id: &str) -> PathBuf {
        let line = format!(
            r#"{{"type":"user","uuid":"u","sessionId":"{id}","message":{{"role":"user","content":"Hi"}}}}"#
        );
        let path = folder.join(format!("{id}.jsonl"));
        std::fs::write(&path, format!("{line}\n")).unwrap();
        path
    }

    /// A network disk tells nothing of what others write to it: then everything is looked at every two seconds; where all is
    /// told, only what is named.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_folder_that_tells_nothing_is_looked_at_and_one_that_tells_is_not() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("projects");
        std::fs::create_dir_all(&folder).unwrap();
        // The house's own look is at nothing: what it finds is not this one's.
        let settings = Settings::from_variables(BTreeMap::new());
        let options =
            Options { data: home.path().join("data"), archive: false, settings, folders: Some(Vec::new()) };
        let hub = Hub::start(options).await.unwrap();
        let mut bell = hub.watch_list();
        while !hub.changes(0).complete {
            bell.changed().await.unwrap();
        }
        let folders = vec![Folder { agent: Agent::Claude, path: folder.clone() }];
        let mut discovery = Discovery::new(Tree::new(folders), Knowledge::new());
        let listed = |id: &str| hub.row(id).is_some();
        let mut round = |news: News, told: bool, ago: Duration| {
            discovery.looked = (clock::moment().checked_sub(ago).unwrap(), Duration::ZERO);
            discovery.round(&hub.inner, news, told);
        };

        write(&folder, "one");
        round(News::default(), false, LOOK / 2);
        assert!(!listed("one"), "not all the time");
        round(News::default(), true, LOOK * 2);
        assert!(!listed("one"), "it would have been told");
        round(News::default(), false, LOOK);
        assert!(listed("one"));

        let two = write(&folder, "two");
        round(News { files: [two].into(), all: false }, true, Duration::ZERO);
        assert!(listed("two"), "a file that nobody knows has all looked at");
        write(&folder, "three");
        round(News::default(), true, LOOK_WATCHED);
        assert!(listed("three"), "word may be lost");

        let path = write(&folder, "four");
        round(News { files: [path.clone()].into(), all: false }, true, Duration::ZERO);
        let size = || hub.row("four").unwrap().size;
        let before = size();
        // As if it had taken long to read.
        discovery.known.get_mut(&path).unwrap().read = Some((clock::moment(), LOOK_WATCHED));
        std::fs::write(&path, std::fs::read(&path).unwrap().repeat(2)).unwrap();
        discovery.round(&hub.inner, News { files: [path.clone()].into(), all: false }, true);
        assert_eq!(size(), before, "it is not read all the time");
        discovery.known.get_mut(&path).unwrap().read = Some((clock::moment(), Duration::ZERO));
        discovery.round(&hub.inner, News::default(), true);
        assert_eq!(size(), 2 * before, "but it is read in the end, though nothing more is told");
        hub.shutdown().await;
    }
}
