//! News of the file system: which files of sessions have changed. Where a folder sends none, everything in it has to be looked
//! at from time to time. It must not look itself.

use std::collections::{BTreeSet, HashMap};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, CreateKind, EventKind, ModifyKind, RemoveKind};
use notify::{RecursiveMode, Watcher};
use parlor_found::holds_records;

/// Several changes in a row are one.
const GATHER: Duration = Duration::from_millis(120);

/// What has changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct News {
    /// Files that were written to.
    pub(crate) files: BTreeSet<PathBuf>,
    /// True when something came or went, so that all must be looked at.
    pub(crate) all: bool,
}

/// The folders that are watched. One that does not exist yet is watched once it does.
pub(crate) struct Watch {
    watcher: Option<notify::RecommendedWatcher>,
    news: Receiver<News>,
    folders: Vec<PathBuf>,
    watched: HashMap<PathBuf, Identity>,
}

/// Tells a folder from another one that came into its place.
type Identity = (u64, u64);

impl Watch {
    /// Of these folders, none of which is watched yet. Each file that changes is told to `nudge` at once.
    pub(crate) fn new(folders: Vec<PathBuf>, nudge: impl Fn(&Path) + Send + 'static) -> Watch {
        let (sender, news) = channel();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let Ok(event) = event else { return };
            let Some(news) = News::of(event) else { return };
            news.files.iter().for_each(|path| nudge(path));
            let _ = sender.send(news);
        });
        Watch { watcher: watcher.ok(), news, folders, watched: HashMap::new() }
    }

    /// Watches the folders that exist. True when some were not watched before, so that a change may have been missed.
    pub(crate) fn extend(&mut self) -> bool {
        let Some(watcher) = &mut self.watcher else { return false };
        let mut more = false;
        for folder in &self.folders {
            let now = identity(folder);
            if now.as_ref() == self.watched.get(folder) {
                continue;
            }
            if self.watched.remove(folder).is_some() {
                // It was taken away, and the watch with it.
                let _ = watcher.unwatch(folder);
            }
            if let Some(now) = now
                && watcher.watch(folder, RecursiveMode::Recursive).is_ok()
            {
                self.watched.insert(folder.clone(), now);
                more = true;
            }
        }
        more
    }

    /// True when every folder that exists tells of its changes.
    pub(crate) fn tells_all(&self) -> bool {
        let tells = |folder: &PathBuf| self.watched.contains_key(folder) && is_local(folder);
        self.folders.iter().all(|folder| tells(folder) || !folder.exists())
    }

    /// Waits for news, at most for `pause`. What comes together is told together: not before `busy` times nine has passed, so
    /// that looking never takes more than a tenth of a processor.
    pub(crate) fn news(&self, pause: Duration, busy: Duration) -> News {
        let mut all = match self.news.recv_timeout(pause) {
            Ok(news) => news,
            Err(RecvTimeoutError::Timeout) => return News::default(),
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(pause);
                return News::default();
            }
        };
        // Not woken by each of them: whoever looks at the session that grows needs the processor now.
        std::thread::sleep(GATHER.max(busy * 9));
        while let Ok(news) = self.news.try_recv() {
            all.all |= news.all;
            all.files.extend(news.files);
        }
        all
    }
}

impl News {
    /// What an event means; `None` when nothing changed.
    fn of(event: notify::Event) -> Option<News> {
        let all = News { all: true, ..News::default() };
        if event.need_rescan() {
            return Some(all);
        }
        let records = || event.paths.iter().filter(|path| holds_records(path));
        match event.kind {
            EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Metadata(_) | ModifyKind::Any)
            | EventKind::Access(AccessKind::Close(AccessMode::Write)) => {
                let files: BTreeSet<PathBuf> = records().cloned().collect();
                (!files.is_empty()).then_some(News { files, all: false })
            }
            // That a file is opened or read, as we do ourselves, is no news.
            EventKind::Access(_) => None,
            // Notes and the like, which agents keep beside their sessions.
            EventKind::Create(CreateKind::File) | EventKind::Remove(RemoveKind::File) => {
                let files: BTreeSet<PathBuf> = records().cloned().collect();
                (!files.is_empty()).then_some(News { files, all: true })
            }
            _ => Some(News { files: records().cloned().collect(), ..all }),
        }
    }
}

fn identity(folder: &Path) -> Option<Identity> {
    std::fs::metadata(folder).ok().filter(std::fs::Metadata::is_dir).map(|it| (it.dev(), it.ino()))
}

/// True for disks of this machine. What another machine writes to a network disk is not told here.
#[cfg(target_os = "linux")]
fn is_local(folder: &Path) -> bool {
    // NFS, SMB (three numbers), FUSE, 9P, Ceph, AFS, VirtualBox: from `man 2 statfs` and the kernel's `magic.h`.
    const REMOTE: [u32; 9] = [
        0x6969,
        0x517b,
        0xff53_4d42,
        0xfe53_4d42,
        0x6573_5546,
        0x0102_1997,
        0x00c3_6400,
        0x5346_414f,
        0x786f_4256,
    ];
    rustix::fs::statfs(folder).is_ok_and(|about| !REMOTE.contains(&(about.f_type as u32)))
}

/// Elsewhere the numbers mean something else: everything is looked at as if nothing were told.
#[cfg(not(target_os = "linux"))]
fn is_local(_folder: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use notify::Event;
    use notify::event::{DataChange, Flag, RenameMode};

    use super::*;

    fn news(kind: EventKind, path: &str) -> Option<(usize, bool)> {
        News::of(Event::new(kind).add_path(path.into())).map(|news| (news.files.len(), news.all))
    }

    #[test]
    fn only_what_may_change_a_session_is_news() {
        let written = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        assert_eq!(news(written, "/p/a.jsonl"), Some((1, false)));
        assert_eq!(news(written, "/p/memory.md"), None);
        assert_eq!(news(EventKind::Access(AccessKind::Open(AccessMode::Any)), "/p/a.jsonl"), None);
        assert_eq!(news(EventKind::Create(CreateKind::File), "/p/a.jsonl"), Some((1, true)));
        assert_eq!(news(EventKind::Create(CreateKind::File), "/p/memory.md"), None);
        assert_eq!(news(EventKind::Create(CreateKind::Folder), "/p/new"), Some((0, true)));
        assert_eq!(news(EventKind::Remove(RemoveKind::Folder), "/p/old"), Some((0, true)));
        assert_eq!(news(EventKind::Modify(ModifyKind::Name(RenameMode::Any)), "/p/b"), Some((0, true)));
        let lost = Event::new(EventKind::Other).set_flag(Flag::Rescan);
        assert_eq!(News::of(lost).map(|news| news.all), Some(true));
    }

    #[test]
    fn a_folder_that_is_made_anew_is_watched_anew() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("projects");
        let mut watch = Watch::new(vec![folder.clone()], |_| {});
        assert!(!watch.extend(), "there is nothing to watch yet");
        for _ in 0..2 {
            std::fs::create_dir(&folder).unwrap();
            assert!(watch.extend());
            assert!(!watch.extend());
            std::fs::write(folder.join("a.jsonl"), "{}\n").unwrap();
            let news = std::iter::repeat_with(|| watch.news(Duration::from_secs(20), Duration::ZERO));
            assert!(news.take(5).any(|news| news.files.contains(&folder.join("a.jsonl"))));
            // A file system may give the same number to the next one.
            std::fs::rename(&folder, home.path().join("away")).unwrap();
            assert!(!watch.extend());
            std::fs::remove_dir_all(home.path().join("away")).unwrap();
        }
    }
}
