//! The file of indexes: the session list and the text that can be searched. All of it is derived, so a damaged file is
//! thrown away, and whoever asks for stamps sees that everything has to be put in again. It holds no truth.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;

use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

use crate::block::Piece;
use crate::database::{self, Migrations, Readers};
use crate::error::StoreError;
use crate::queue::Queue;
use crate::text;
use crate::ticket::Answer;

/// The tables. A change that old tables cannot follow needs a second step that drops them.
const MIGRATIONS: Migrations = &["
    CREATE TABLE list (key TEXT PRIMARY KEY, stamp TEXT NOT NULL, body TEXT NOT NULL) STRICT;
    CREATE TABLE text (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        session TEXT NOT NULL UNIQUE,
        stamp TEXT NOT NULL,
        newest INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX text_newest ON text (newest DESC, number DESC);
    CREATE TABLE block (place INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
    CREATE TABLE gram (
        place INTEGER PRIMARY KEY,
        pieces INTEGER NOT NULL,
        raw INTEGER NOT NULL,
        bits BLOB NOT NULL
    ) STRICT;
    CREATE VIRTUAL TABLE word USING fts5 (
        text, content = '', contentless_delete = 1, detail = none, tokenize = 'unicode61 remove_diacritics 2'
    );
    INSERT INTO word (word, rank) VALUES ('hashsize', 8388608);
"];

/// How much may wait for the index before who puts it in has to wait.
const WAITING_BYTES: usize = 64 * 1024 * 1024;

/// A transaction takes no more text than this.
const BATCH_BYTES: usize = 32 * 1024 * 1024;

/// One row of the session list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexRow {
    /// What the row is about.
    pub key: String,
    /// What it was made from; when that has another stamp now, the row is no longer true.
    pub stamp: String,
    /// The row itself, as JSON.
    pub body: String,
}

/// The index and the thread that writes it.
pub(crate) struct Index {
    file: Arc<IndexFile>,
    queue: Arc<Queue<Job>>,
    thread: Option<JoinHandle<()>>,
}

/// What is to be written.
pub(crate) enum Job {
    PutRows(Vec<IndexRow>),
    DropRows(Vec<String>),
    PutText { session: String, stamp: String, pieces: Vec<Piece> },
    DropText(Vec<String>),
    TidyText,
    Settle(Answer),
}

/// The file itself, which can be replaced by an empty one under everybody's feet.
struct IndexFile {
    path: PathBuf,
    open: RwLock<Option<Open>>,
}

struct Open {
    /// Device and inode, to notice that the file was deleted.
    identity: (u64, u64),
    /// Before the writer, since the connection that is closed last tidies up, and readers cannot.
    readers: Readers,
    writer: Mutex<Connection>,
}

impl Index {
    /// Opens the index `path`, or an empty one in its place, and starts its thread.
    pub(crate) fn open(path: PathBuf) -> Result<Index, StoreError> {
        let open = Open::new(&path)?;
        let file = Arc::new(IndexFile { path, open: RwLock::new(Some(open)) });
        let queue = Arc::new(Queue::new(WAITING_BYTES, BATCH_BYTES));
        let (its_file, its_queue) = (file.clone(), queue.clone());
        let thread = std::thread::Builder::new()
            .name("parlor-index".to_owned())
            .spawn(move || run(&its_file, &its_queue))
            .map_err(|error| StoreError::system(&file.path, &error))?;
        Ok(Index { file, queue, thread: Some(thread) })
    }

    /// Has a job done later; waits only when very much waits already.
    pub(crate) fn put(&self, job: Job) {
        let bytes = job.bytes();
        // A closed queue means that the store is going away, and the index can be made again.
        let _ = self.queue.push_patiently(job, bytes);
    }

    /// Reads with any number of connections. A damaged file is replaced, and then there is nothing to be found.
    pub(crate) fn read<T>(&self, work: impl Fn(&Readers) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.file.with(|open| work(&open.readers))
    }

    /// All rows of the session list.
    pub(crate) fn rows(&self) -> Result<Vec<IndexRow>, StoreError> {
        let rows = |connection: &Connection| -> rusqlite::Result<Vec<IndexRow>> {
            connection
                .prepare_cached("SELECT key, stamp, body FROM list")?
                .query_map([], |row| {
                    Ok(IndexRow { key: row.get(0)?, stamp: row.get(1)?, body: row.get(2)? })
                })?
                .collect()
        };
        self.file.with(|open| match open.writer.try_lock() {
            // While the house is being opened nobody writes, and another connection would cost half as much again.
            Ok(writer) => rows(&writer).map_err(|error| StoreError::sqlite(&self.file.path, &error)),
            Err(_) => open.readers.read(rows),
        })
    }

    /// The stamps of the texts of all sessions, by session.
    pub(crate) fn text_stamps(&self) -> Result<HashMap<String, String>, StoreError> {
        self.read(|readers| {
            readers.read(|connection| {
                connection
                    .prepare_cached("SELECT session, stamp FROM text")?
                    .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
                    .collect()
            })
        })
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
            && thread.join().is_err()
        {
            tracing::error!("the writer of {} panicked", self.file.path.display());
        }
    }
}

impl Job {
    fn bytes(&self) -> usize {
        match self {
            Job::PutRows(rows) => {
                rows.iter().map(|row| row.key.len() + row.stamp.len() + row.body.len() + 72).sum()
            }
            Job::DropRows(keys) | Job::DropText(keys) => keys.iter().map(|key| key.len() + 24).sum(),
            Job::PutText { pieces, .. } => pieces.iter().map(|piece| piece.text.len() + 64).sum(),
            Job::TidyText | Job::Settle(_) => 1,
        }
    }

    fn write(&self, connection: &Connection) -> rusqlite::Result<()> {
        match self {
            Job::PutRows(rows) => {
                let mut insert =
                    connection.prepare_cached("INSERT OR REPLACE INTO list VALUES (?1, ?2, ?3)")?;
                for row in rows {
                    insert.execute(params![row.key, row.stamp, row.body])?;
                }
                Ok(())
            }
            Job::DropRows(keys) => {
                let mut delete = connection.prepare_cached("DELETE FROM list WHERE key = ?1")?;
                for key in keys {
                    delete.execute([key])?;
                }
                Ok(())
            }
            Job::PutText { session, stamp, pieces } => {
                text::drop_session(connection, session)?;
                text::add(connection, session, stamp, pieces)
            }
            Job::DropText(sessions) => {
                sessions.iter().try_for_each(|session| text::drop_session(connection, session))
            }
            Job::TidyText => connection.execute("INSERT INTO word (word) VALUES ('optimize')", []).map(drop),
            Job::Settle(_) => Ok(()),
        }
    }
}

impl IndexFile {
    fn with<T>(&self, work: impl Fn(&Open) -> Result<T, StoreError>) -> Result<T, StoreError> {
        match self.attempt(&work) {
            Some(Ok(value)) => Ok(value),
            Some(Err(error)) if !is_damage(&error) && self.is_there() => Err(error),
            _ => {
                self.replace()?;
                self.attempt(&work).unwrap_or(Err(StoreError::Closed))
            }
        }
    }

    /// `None` if the file is not open or no longer where it was.
    fn attempt<T>(&self, work: impl Fn(&Open) -> Result<T, StoreError>) -> Option<Result<T, StoreError>> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        let open = open.as_ref()?;
        (identity(&self.path) == Some(open.identity)).then(|| work(open))
    }

    fn is_there(&self) -> bool {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        open.as_ref().is_some_and(|open| identity(&self.path) == Some(open.identity))
    }

    /// Throws the file away and begins with an empty one.
    fn replace(&self) -> Result<(), StoreError> {
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        tracing::warn!("the index {} is damaged or gone and is made anew", self.path.display());
        *open = None;
        remove(&self.path)?;
        *open = Some(Open::new(&self.path)?);
        Ok(())
    }
}

impl Open {
    fn new(path: &Path) -> Result<Open, StoreError> {
        let connection = match database::open(path, MIGRATIONS) {
            Ok(connection) => connection,
            Err(error @ (StoreError::Full { .. } | StoreError::Unwritable { .. })) => return Err(error),
            Err(error) => {
                tracing::warn!("the index is thrown away and made anew: {error}");
                remove(path)?;
                database::open(path, MIGRATIONS)?
            }
        };
        let identity = identity(path).ok_or(StoreError::Closed)?;
        Ok(Open { identity, writer: Mutex::new(connection), readers: Readers::new(path) })
    }

    fn writer(&self) -> MutexGuard<'_, Connection> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn run(file: &IndexFile, queue: &Queue<Job>) {
    let mut last = None;
    while let Some(mut turn) = queue.take(last) {
        write(file, std::mem::take(&mut turn.items));
        last = Some(turn);
    }
}

/// Writes a batch in one transaction. What fails is left out, with a warning: its stamp is then missing, and it will be
/// put in again.
fn write(file: &IndexFile, batch: Vec<Job>) {
    let result = file.with(|open| {
        let mut connection = open.writer();
        let write = |connection: &mut Connection| {
            let transaction = connection.transaction()?;
            batch.iter().try_for_each(|job| job.write(&transaction))?;
            transaction.commit()
        };
        write(&mut connection).map_err(|error| StoreError::sqlite(&file.path, &error))
    });
    if let Err(error) = &result {
        tracing::warn!("a part of the index was not written: {error}");
    }
    for job in batch {
        if let Job::Settle(answer) = job {
            answer.settle(result.clone().map(|()| 0));
        }
    }
}

fn is_damage(error: &StoreError) -> bool {
    matches!(error, StoreError::Damaged { .. })
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

fn remove(path: &Path) -> Result<(), StoreError> {
    for suffix in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        match std::fs::remove_file(&name) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(StoreError::system(Path::new(&name), &error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// An empty index without its thread.
#[cfg(test)]
pub(crate) fn open_for_test(path: &Path) -> Connection {
    database::open(path, MIGRATIONS).unwrap()
}
