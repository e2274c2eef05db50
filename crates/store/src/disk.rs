//! Waits for the disk, so that the writer need not: a slow disk then holds up nobody who does not wait for it, and what is
//! committed meanwhile is made durable together, by the next sync. It must not know what was written.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::error::StoreError;
use crate::queue::{CloseAtEnd, Queue};
use crate::ticket::{Answer, Bell};

/// Work that is committed, and answered once it is on the disk.
pub(crate) struct Committed {
    pub(crate) answers: Vec<(Answer, u64)>,
    pub(crate) bell: Arc<Bell>,
}

/// The disk under a write-ahead log. Dropped, it still answers what waits.
pub(crate) struct Disk {
    shared: Arc<Shared>,
}

type Sync = Box<dyn Fn() -> io::Result<()> + Send + std::marker::Sync>;

struct Shared {
    path: PathBuf,
    sync: Sync,
    queue: Queue<Committed>,
    /// True once a sync has failed: the system may have dropped what it could not write, and would not say so again.
    failed: AtomicBool,
}

impl Disk {
    /// The disk under the write-ahead log `path`.
    pub(crate) fn new(path: &Path) -> Result<Disk, StoreError> {
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

    fn with(path: &Path, sync: Sync) -> Result<Disk, StoreError> {
        let shared = Arc::new(Shared {
            path: path.to_owned(),
            sync,
            queue: Queue::new(usize::MAX),
            failed: AtomicBool::new(false),
        });
        let its = shared.clone();
        let work = move || {
            let _guard = CloseAtEnd(&its.queue);
            while let Some((all, _)) = its.queue.take() {
                its.settle(all);
            }
        };
        let thread = std::thread::Builder::new().name("parlor-disk".to_owned()).spawn(work);
        thread.map_err(|error| StoreError::system(path, &error))?;
        Ok(Disk { shared })
    }

    /// Has what is committed made durable and answered, in the order of the calls.
    pub(crate) fn settle(&self, committed: Committed) {
        // Refused only once nobody will ever sync again: dropped, the answers say that the store is closed.
        let _ = self.shared.queue.push(|_| committed, 0);
    }

    /// True when a sync has failed, so that no later one can be trusted.
    pub(crate) fn has_failed(&self) -> bool {
        self.shared.failed.load(Ordering::Acquire)
    }

    /// All that was committed has become durable by another way.
    pub(crate) fn recovered(&self) {
        self.shared.failed.store(false, Ordering::Release);
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.shared.queue.close();
    }
}

impl Shared {
    fn settle(&self, all: Vec<Committed>) {
        let outcome = self.sync().map_err(|error| StoreError::system(&self.path, &error));
        for Committed { answers, bell } in all {
            for (answer, first) in answers {
                answer.give(outcome.clone().map(|()| first));
            }
            bell.ring();
        }
    }

    fn sync(&self) -> io::Result<()> {
        if self.failed.load(Ordering::Acquire) {
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
        Disk::with(Path::new("wal"), Box::new(sync)).unwrap()
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
        let settle = |number: u64| {
            let bell = Arc::default();
            let (answer, ticket) = Answer::new(&bell);
            let tell = tell.clone();
            ticket.on_done(Box::new(move |outcome| tell.send(outcome.unwrap()).unwrap()));
            disk.settle(Committed { answers: vec![(answer, number)], bell });
        };
        settle(0);
        begin.recv().unwrap();
        (1..10).for_each(settle);
        go.send(()).unwrap();
        begin.recv().unwrap();
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [0]);
        go.send(()).unwrap();
        assert_eq!(told.iter().take(9).collect::<Vec<_>>(), (1..10).collect::<Vec<_>>());
        assert!(begin.try_recv().is_err(), "two syncs are enough for ten");
    }
}
