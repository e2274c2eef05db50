//! The handle to everything on disk. Checks what it is asked and passes it on; the writing is done in threads of its own.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use bytes::Bytes;
use parlor_model::record::Record;
use parlor_model::time::Time;
use rusqlite::Connection;

use crate::archive::{Archive, Archived};
use crate::block::Piece;
use crate::database::Readers;
use crate::error::StoreError;
use crate::hands::Hands;
use crate::index::{Index, IndexRow, Job};
use crate::lock::Lock;
use crate::log::{Created, Draft, Log, Safety};
use crate::matcher::{Hit, Query};
use crate::queue::{Queue, Refused};
use crate::search;
use crate::ticket::{Answer, Ticket};
use crate::writer::{self, SEQ_BITS, Sessions, Task, Work, Writer, first_place};

/// The longest id of a session, in bytes.
const ID_BYTES: usize = 512;

/// The largest body. SQLite itself ends at a billion bytes.
const BODY_BYTES: usize = 512 * 1024 * 1024;

/// A transaction takes no more than this at once.
const BATCH_BYTES: usize = 8 * 1024 * 1024;

/// How much may wait to be written before appends are refused.
const WAITING_BYTES: usize = 1024 * 1024 * 1024;

/// One read returns no more than this, however many records it may return.
const READ_BYTES: usize = 64 * 1024 * 1024;

/// The log, its indexes and the archive in one folder. Cheap to clone; the last clone that is dropped writes what waits
/// and closes the files.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    folder: PathBuf,
    log_path: PathBuf,
    sessions: Arc<Sessions>,
    log: Readers,
    index: Index,
    archive: Archive,
    queue: Arc<Queue<Work>>,
    hands: Mutex<Vec<JoinHandle<()>>>,
    /// Dropped last: the folder is free for others only when all files are closed.
    _lock: Arc<Lock>,
}

impl Store {
    /// Opens the store in `folder`, and creates both if need be. Fails when another process has it.
    pub fn open(folder: &Path) -> Result<Store, StoreError> {
        Ok(Store::open_with(folder, |_| Ok(()))?.0)
    }

    /// The same, and reads the session list as soon as it can be read. `read` is called while the log is still being opened.
    pub fn open_listed<T: Send>(
        folder: &Path,
        read: impl FnOnce(Vec<IndexRow>) -> T + Send,
    ) -> Result<(Store, T), StoreError> {
        Store::open_with(folder, |index| index.rows().map(read))
    }

    fn open_with<T: Send>(
        folder: &Path,
        with_index: impl FnOnce(&Index) -> Result<T, StoreError> + Send,
    ) -> Result<(Store, T), StoreError> {
        std::fs::create_dir_all(folder).map_err(|error| StoreError::system(folder, &error))?;
        let lock = Arc::new(Lock::take(folder)?);
        let log_path = folder.join("log.db");
        let sessions = Arc::new(Sessions::default());
        let log = Readers::new(&log_path);
        // All at once: most of opening a file is waiting for the system.
        let (writer, index, archive) = std::thread::scope(|scope| {
            let writer = scope.spawn(|| Writer::open(log_path.clone(), sessions.clone()));
            let archive = scope.spawn(|| Archive::open(folder.join("archive.db")));
            let index = Index::open(folder.join("index.db"));
            let index = index.and_then(|index| with_index(&index).map(|read| (index, read)));
            let closed = || StoreError::Closed;
            (writer.join().map_err(|_| closed()), index, archive.join().map_err(|_| closed()))
        });
        let (writer, (index, read), archive) = (writer??, index?, archive??);
        let queue = Arc::new(Queue::new(WAITING_BYTES, BATCH_BYTES));
        let hands = Hands::start(writer, queue.clone(), lock.clone());
        let hands = hands.map_err(|error| StoreError::system(folder, &error))?;
        let inner = Inner {
            folder: folder.to_owned(),
            log_path,
            sessions,
            log,
            index,
            archive,
            queue,
            hands: Mutex::new(hands),
            _lock: lock,
        };
        Ok((Store { inner: Arc::new(inner) }, read))
    }

    /// Where the files are.
    pub fn folder(&self) -> &Path {
        &self.inner.folder
    }

    /// Adds a session without records, durably.
    pub fn create(&self, session: &Created) -> Result<(), StoreError> {
        if session.id.is_empty() || session.id.len() > ID_BYTES {
            let session = session.id.chars().take(64).collect();
            return Err(StoreError::BadId { session, limit: ID_BYTES });
        }
        if self.number(&session.id).is_ok() {
            return Err(StoreError::SessionExists { session: session.id.to_string() });
        }
        self.write(Task::Create(session.clone()), Safety::Durable).wait().map(drop)
    }

    /// All sessions, in the order of their creation.
    pub fn sessions(&self) -> Result<Vec<Created>, StoreError> {
        let sessions = self.inner.log.read(sessions)?;
        Ok(sessions.into_iter().map(|(_, created)| created).collect())
    }

    /// Adds records at the end of a session, all of them or none, without waiting for the disk. Appends of one thread
    /// keep their order. Appending nothing is answered with the end; done durably, it makes all before it durable.
    pub fn append(&self, session: &str, drafts: Vec<Draft>, safety: Safety) -> Ticket {
        let largest = drafts.iter().map(|draft| draft.body.len()).max().unwrap_or(0);
        if largest > BODY_BYTES {
            let (bytes, limit) = (largest as u64, BODY_BYTES as u64);
            return Answer::known(Err(StoreError::TooLarge { what: "a record", bytes, limit }));
        }
        match self.number(session) {
            Ok(number) => self.write(Task::Append { number, drafts }, safety),
            Err(error) => Answer::known(Err(error)),
        }
    }

    /// Records from position `from` on, in order and without gaps: at most `limit`, and fewer when they are large. None
    /// are returned only at the end.
    pub fn read(&self, session: &str, from: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        let number = self.number(session)?;
        if from >= 1 << SEQ_BITS || limit == 0 {
            return Ok(Vec::new());
        }
        self.inner.log.read(|connection| records(connection, number, from, limit))
    }

    /// The position that the next record will have.
    pub fn end(&self, session: &str) -> Result<u64, StoreError> {
        let number = self.number(session)?;
        self.inner.log.read(|connection| writer::next_seq(connection, number))
    }

    /// Reads the whole log and says what is wrong with it; nothing, if it is sound. Takes as long as reading the file.
    pub fn check(&self) -> Result<Vec<String>, StoreError> {
        let lines: Result<Vec<String>, _> = self.inner.log.read(|connection| {
            connection.prepare("PRAGMA quick_check(100)")?.query_map([], |row| row.get(0))?.collect()
        });
        match lines {
            Ok(lines) => Ok(lines.into_iter().filter(|line| line != "ok").collect()),
            Err(StoreError::Damaged { reason, .. }) => Ok(vec![reason]),
            Err(error) => Err(error),
        }
    }

    /// The session list, in the order of its keys. Empty when the index was lost: it must be put in again.
    pub fn rows(&self) -> Result<Vec<IndexRow>, StoreError> {
        self.inner.index.rows()
    }

    /// Adds rows to the session list, or replaces those with the same key. Done soon; see [`Store::settle`].
    pub fn put_rows(&self, rows: Vec<IndexRow>) {
        self.inner.index.put(Job::PutRows(rows));
    }

    /// Takes rows out of the session list. Their text stays; see [`Store::drop_text`].
    pub fn drop_rows(&self, keys: Vec<String>) {
        self.inner.index.put(Job::DropRows(keys));
    }

    /// Replaces all text of a session that can be searched. Waits only when 64 MB of text wait already.
    pub fn put_text(&self, session: &str, stamp: &str, pieces: Vec<Piece>) {
        self.inner.index.put(Job::PutText { session: session.to_owned(), stamp: stamp.to_owned(), pieces });
    }

    /// Takes all text of sessions out, and their stamps.
    pub fn drop_text(&self, sessions: Vec<String>) {
        self.inner.index.put(Job::DropText(sessions));
    }

    /// The stamps that came with the texts of sessions, by session.
    pub fn text_stamps(&self) -> Result<HashMap<String, String>, StoreError> {
        self.inner.index.text_stamps()
    }

    /// Puts the words of many texts that were added one by one together, so that they are found in one place. Done soon.
    pub fn tidy_text(&self) {
        self.inner.index.put(Job::TidyText);
    }

    /// Waits until all that was put into the index before can be read.
    pub fn settle(&self) -> Result<(), StoreError> {
        let (answer, ticket) = Answer::new(&Arc::default());
        self.inner.index.put(Job::Settle(answer));
        ticket.wait().map(drop)
    }

    /// Searches the text, newest sessions first and in a session the last entries first.
    pub fn search(&self, query: &Query) -> Result<Vec<Hit>, StoreError> {
        self.inner.index.read(|readers| search::search(readers, query))
    }

    /// Archives bytes of a found file. `from` must be the archived length; 0 begins anew and keeps what was archived as
    /// an earlier version.
    pub fn archive(&self, path: &str, from: u64, bytes: &[u8]) -> Result<(), StoreError> {
        self.inner.archive.add(path, from, bytes)
    }

    /// The newest version of each archived file.
    pub fn archived(&self) -> Result<Vec<Archived>, StoreError> {
        self.inner.archive.list()
    }

    /// The newest version of an archived file.
    pub fn read_archive(&self, path: &str) -> Result<Option<Bytes>, StoreError> {
        self.inner.archive.read(path, None)
    }

    /// True when the newest version of an archived file ends with these bytes, or with the end of them as far as its last part
    /// goes.
    pub fn archive_ends_as(&self, path: &str, bytes: &[u8]) -> Result<bool, StoreError> {
        self.inner.archive.ends_as(path, bytes)
    }

    /// All versions of an archived file, oldest first.
    pub fn archived_versions(&self, path: &str) -> Result<Vec<Archived>, StoreError> {
        self.inner.archive.versions(path)
    }

    /// One version of an archived file.
    pub fn read_archive_version(&self, path: &str, version: u32) -> Result<Option<Bytes>, StoreError> {
        self.inner.archive.read(path, Some(version))
    }

    fn number(&self, session: &str) -> Result<i64, StoreError> {
        let number = self.inner.sessions.number(session);
        number.ok_or_else(|| StoreError::NoSession { session: session.to_owned() })
    }

    fn write(&self, task: Task, safety: Safety) -> Ticket {
        let bytes = task.bytes();
        let mut given = None;
        let make = |bell: &Arc<_>| {
            let (answer, ticket) = Answer::new(bell);
            given = Some(ticket);
            Work { task, safety, answer }
        };
        let refused = self.inner.queue.push(make, bytes).err();
        match (given, refused) {
            (Some(ticket), _) => ticket,
            (None, Some(Refused::Full(waiting))) => {
                Answer::known(Err(StoreError::Backlog { path: self.inner.log_path.clone(), waiting }))
            }
            (None, _) => Answer::known(Err(StoreError::Closed)),
        }
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Store").field("folder", &self.inner.folder).finish_non_exhaustive()
    }
}

impl Log for Store {
    fn create(&self, session: &Created) -> Result<(), StoreError> {
        Store::create(self, session)
    }

    fn sessions(&self) -> Result<Vec<Created>, StoreError> {
        Store::sessions(self)
    }

    fn append(&self, session: &str, drafts: Vec<Draft>, safety: Safety) -> Ticket {
        Store::append(self, session, drafts, safety)
    }

    fn read(&self, session: &str, from: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        Store::read(self, session, from, limit)
    }

    fn end(&self, session: &str) -> Result<u64, StoreError> {
        Store::end(self, session)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Before the writer, since the connection that is closed last tidies up, and readers cannot.
        self.log.close();
        self.queue.close();
        for hand in self.hands.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // A callback may hold the last handle; a thread cannot wait for itself.
            if hand.thread().id() != std::thread::current().id() && hand.join().is_err() {
                tracing::error!("a writer of {} panicked", self.log_path.display());
            }
        }
    }
}

/// All sessions with their numbers, in the order of their creation.
pub(crate) fn sessions(connection: &Connection) -> rusqlite::Result<Vec<(i64, Created)>> {
    connection
        .prepare_cached("SELECT number, id, agent, cwd, at FROM session ORDER BY number")?
        .query_map([], |row| {
            let created = Created {
                id: row.get_ref(1)?.as_str()?.into(),
                agent: row.get_ref(2)?.as_str()?.into(),
                cwd: row.get(3)?,
                at: Time(row.get(4)?),
            };
            Ok((row.get(0)?, created))
        })?
        .collect()
}

/// Records of a session from a position on, as many as one read returns.
pub(crate) fn records(
    connection: &Connection,
    number: i64,
    from: u64,
    limit: usize,
) -> rusqlite::Result<Vec<Record>> {
    let mut statement = connection.prepare_cached(
        "SELECT place, at, origin, body FROM record WHERE place >= ?1 AND place < ?2 ORDER BY place",
    )?;
    let mut rows = statement.query([first_place(number) + from as i64, first_place(number + 1)])?;
    let mut records = Vec::with_capacity(limit.min(1024));
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        let place: i64 = row.get(0)?;
        let body = row.get_ref(3)?.as_blob()?;
        bytes += body.len();
        if bytes > READ_BYTES && !records.is_empty() {
            break;
        }
        let number_of_origin: i64 = row.get(2)?;
        records.push(Record {
            seq: (place - first_place(number)) as u64,
            at: Some(Time(row.get(1)?)),
            origin: writer::origin(number_of_origin)
                .ok_or(rusqlite::Error::IntegralValueOutOfRange(2, number_of_origin))?,
            body: Bytes::copy_from_slice(body),
        });
        if records.len() == limit {
            break;
        }
    }
    Ok(records)
}
