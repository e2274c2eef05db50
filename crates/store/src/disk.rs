//! What is committed and still has to reach the disk. Whoever waits for the disk writes nothing meanwhile, so that a slow one
//! holds up nobody else; what is committed meanwhile is made durable together, by the next sync. It must not know what was
//! written.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::error::StoreError;
use crate::queue::{Queue, Turn};
use crate::ticket::{Answer, Bell};

/// Work that is committed, and answered once it is on the disk.
pub(crate) struct Committed {
    pub(crate) answers: Vec<(Answer, u64)>,
    pub(crate) bell: Arc<Bell>,
}

/// The disk under a write-ahead log.
pub(crate) struct Disk {
    path: PathBuf,
    sync: Sync,
    queue: Queue<Committed>,
    /// How many wait to be answered.
    waiting: AtomicUsize,
    /// True once a sync has failed: the system may have dropped what it could not write, and would not say so again.
    failed: AtomicBool,
}

type Sync = Box<dyn Fn() -> io::Result<()> + Send + std::marker::Sync>;

impl Disk {
    /// The disk under the write-ahead log `path`.
    pub(crate) fn new(path: &Path) -> Disk {
        let (file, name) = (OnceLock::new(), path.to_owned());
        // SQLite locks other files than this one, so that opening it once more disturbs no lock.
        let sync = move || match file.get() {
            Some(file) => File::sync_data(file),
            None => {
                let opened = File::open(&name)?;
                opened.sync_data()?;
                // The file may be new, and its name must be on the disk too.
                name.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())?;
                let _ = file.set(opened);
                Ok(())
            }
        };
        Disk::with(path, Box::new(sync))
    }

    fn with(path: &Path, sync: Sync) -> Disk {
        let queue = Queue::new(usize::MAX, usize::MAX);
        let (waiting, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        Disk { path: path.to_owned(), sync, queue, waiting, failed }
    }

    /// Adds what was committed, in the order of the commits. It waits until somebody settles it.
    pub(crate) fn add(&self, committed: Committed) {
        self.waiting.fetch_add(committed.answers.len(), Ordering::Relaxed);
        // Refused only when somebody panicked here: dropped, the answers say that the store is closed.
        let _ = self.queue.push(|_| committed, 0);
    }

    /// How many wait for the disk.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// The turn to wait for the disk, when something has to reach it and nobody waits for that yet.
    pub(crate) fn turn(&self) -> Option<Turn<'_, Committed>> {
        self.queue.try_take(None)
    }

    /// Makes what waits durable and answers it, and what is added meanwhile.
    pub(crate) fn settle<'a>(&'a self, turn: Turn<'a, Committed>) {
        let mut next = Some(turn);
        while let Some(mut turn) = next {
            let outcome = self.sync().map_err(|error| StoreError::system(&self.path, &error));
            for Committed { answers, bell } in std::mem::take(&mut turn.items) {
                self.waiting.fetch_sub(answers.len(), Ordering::Relaxed);
                for (answer, first) in answers {
                    answer.give(outcome.clone().map(|()| first));
                }
                bell.ring();
            }
            next = self.queue.try_take(Some(turn));
        }
    }

    /// True when a sync has failed, so that no later one can be trusted.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// All that was committed has become durable by another way.
    pub(crate) fn recovered(&self) {
        self.failed.store(false, Ordering::Release);
    }

    fn sync(&self) -> io::Result<()> {
        if self.has_failed() {
            return Err(io::Error::other("an earlier write did not reach the disk"));
        }
        let outcome = (self.sync)();
        if outcome.is_err() {
            self.failed.store(true, Ordering::Release);
        }
        outcome
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A disk whose syncs are told to `sync`.
    pub(crate) fn disk(sync: impl Fn() -> io::Result<()> + Send + std::marker::Sync + 'static) -> Disk {
        Disk::with(Path::new("wal"), Box::new(sync))
    }

    #[test]
    fn what_comes_while_the_disk_works_is_made_durable_together_and_in_order() {
        let (begun, begin) = std::sync::mpsc::channel();
        let (go, gone) = std::sync::mpsc::channel();
        let gone = std::sync::Mutex::new(gone);
        let disk = disk(move || {
            begun.send(()).unwrap();
            gone.lock().unwrap().recv().map_err(io::Error::other)
        });
        let (tell, told) = std::sync::mpsc::channel();
        let add = |number: u64| {
            let bell = Arc::default();
            let (answer, ticket) = Answer::new(&bell);
            let tell = tell.clone();
            ticket.on_done(Box::new(move |outcome| tell.send(outcome.unwrap()).unwrap()));
            disk.add(Committed { answers: vec![(answer, number)], bell });
        };
        std::thread::scope(|scope| {
            add(0);
            let turn = disk.turn().unwrap();
            scope.spawn(|| disk.settle(turn));
            begin.recv().unwrap();
            (1..10).for_each(add);
            assert!(disk.turn().is_none(), "one waits for the disk already, for all of them");
            go.send(()).unwrap();
            begin.recv().unwrap();
            assert_eq!(told.try_iter().collect::<Vec<_>>(), [0]);
            go.send(()).unwrap();
            assert_eq!(told.iter().take(9).collect::<Vec<_>>(), (1..10).collect::<Vec<_>>());
        });
        assert!(begin.try_recv().is_err(), "two syncs are enough for ten");
    }
}
