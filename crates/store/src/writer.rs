//! Writes the log, one batch at a time in one transaction. It must not wait for the disk.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use parlor_model::Key;
use parlor_model::record::Origin;
use rusqlite::{Connection, OptionalExtension, params};

use crate::database::{self, Migrations};
use crate::disk::{Committed, Disk};
use crate::error::StoreError;
use crate::log::{Created, Draft, Safety};
use crate::ticket::{Answer, Bell};

/// The tables. A record's `place` is its session's number and its position in one integer: the records of a session lie
/// side by side, a range scan reads them, and no second index has to be kept.
pub(crate) const MIGRATIONS: Migrations = &["
    CREATE TABLE session (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        agent TEXT NOT NULL,
        cwd TEXT NOT NULL,
        at INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE record (
        place INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        origin INTEGER NOT NULL,
        body BLOB NOT NULL
    ) STRICT;
"];

/// Positions take the lower 40 bits of a place, session numbers the 23 above.
pub(crate) const SEQ_BITS: u32 = 40;

/// Pages in the write-ahead log after which it is copied into the database: 16 MB. Once it was that long, it is written
/// over from its beginning instead of growing, which makes lone durable appends a third faster; shorter means more syncs.
const CHECKPOINT_PAGES: i32 = 1000;

/// What the writer is asked to do.
pub(crate) struct Work {
    pub(crate) task: Task,
    pub(crate) safety: Safety,
    pub(crate) answer: Answer,
}

/// The two things that can be written.
pub(crate) enum Task {
    /// Answered with the session's number.
    Create(Created),
    /// Answered with the position of the first.
    Append { number: i64, drafts: Vec<Draft> },
}

/// The numbers of the sessions that are committed. The writer is the only one to add to it, before it answers.
#[derive(Default)]
pub(crate) struct Sessions {
    numbers: RwLock<HashMap<Key, i64>>,
}

/// The writer's own state.
pub(crate) struct Writer {
    path: PathBuf,
    disk: Arc<Disk>,
    connection: Connection,
    sessions: Arc<Sessions>,
    /// The next position of each session that was written to.
    next: HashMap<i64, u64>,
    /// The length of the write-ahead log.
    wal_pages: Arc<AtomicI32>,
}

/// The first place of a session.
pub(crate) fn first_place(number: i64) -> i64 {
    number << SEQ_BITS
}

/// The next free position of a session, as the file has it.
pub(crate) fn next_seq(connection: &Connection, number: i64) -> rusqlite::Result<u64> {
    let last: Option<i64> = connection
        .prepare_cached(
            "SELECT place FROM record WHERE place >= ?1 AND place < ?2 ORDER BY place DESC LIMIT 1",
        )?
        .query_row([first_place(number), first_place(number + 1)], |row| row.get(0))
        .optional()?;
    Ok(last.map_or(0, |place| (place - first_place(number)) as u64 + 1))
}

impl Task {
    /// How much memory the task keeps until it is done, roughly.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Task::Create(_) => 128,
            Task::Append { drafts, .. } => {
                64 + drafts.iter().map(|draft| draft.body.len() + 64).sum::<usize>()
            }
        }
    }
}

impl Sessions {
    /// The number of a session.
    pub(crate) fn number(&self, session: &str) -> Option<i64> {
        self.numbers.read().unwrap_or_else(PoisonError::into_inner).get(session).copied()
    }

    fn add(&self, sessions: impl IntoIterator<Item = (Key, i64)>) {
        self.numbers.write().unwrap_or_else(PoisonError::into_inner).extend(sessions);
    }
}

impl Writer {
    /// Opens the log `path` for writing, and makes its sessions known.
    pub(crate) fn open(path: PathBuf, sessions: Arc<Sessions>) -> Result<Writer, StoreError> {
        let mut connection = database::open(&path, MIGRATIONS)?;
        sessions.add(numbers(&connection).map_err(|error| StoreError::sqlite(&path, &error))?);
        let wal_pages = Arc::new(AtomicI32::new(0));
        let pages = wal_pages.clone();
        // Replaces SQLite's own checkpoint inside the commit: who waits is answered first.
        connection
            .wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, length| {
                pages.store(length, Ordering::Relaxed);
                Ok(())
            }))
            .map_err(|error| StoreError::sqlite(&path, &error))?;
        let disk = Arc::new(Disk::new(&wal_of(&path)));
        Ok(Writer { path, disk, connection, sessions, next: HashMap::new(), wal_pages })
    }

    /// What its commits wait for.
    pub(crate) fn disk(&self) -> Arc<Disk> {
        self.disk.clone()
    }

    /// Writes a batch. Who need not wait for the disk is answered; who must waits there.
    pub(crate) fn write(&mut self, batch: Vec<Work>, bell: &Arc<Bell>) {
        let mut answers = Vec::new();
        self.commit(batch, &mut answers);
        bell.ring();
        if !answers.is_empty() {
            self.disk.add(Committed { answers, bell: bell.clone() });
        }
    }

    /// True when the write-ahead log should be copied into the database.
    pub(crate) fn is_long(&self) -> bool {
        self.wal_pages.load(Ordering::Relaxed) >= CHECKPOINT_PAGES
    }

    /// Copies as much of the write-ahead log as nobody reads.
    pub(crate) fn shorten(&self) {
        if let Err(error) = self.checkpoint("PASSIVE") {
            let path = self.path.display();
            tracing::warn!(
                "the write-ahead log of {path} could not be copied into it and keeps growing: {error}"
            );
        }
    }

    /// Writes a batch in one transaction, and answers those who need not wait for the disk; the others are added to
    /// `durable`. If that fails, each part has a try of its own, so that none fails for another.
    fn commit(&mut self, mut batch: Vec<Work>, durable: &mut Vec<(Answer, u64)>) {
        match self.transact(&batch) {
            Ok(outcomes) => {
                for (work, outcome) in batch.into_iter().zip(outcomes) {
                    if let Task::Create(session) = &work.task {
                        self.sessions.add([(session.id.clone(), outcome as i64)]);
                    }
                    match work.safety {
                        Safety::Soon => work.answer.give(Ok(outcome)),
                        Safety::Durable => durable.push((work.answer, outcome)),
                    }
                }
            }
            Err(error) if batch.len() == 1 => {
                if let Some(work) = batch.pop() {
                    work.answer.give(Err(self.explain(&work.task, &error)));
                }
            }
            Err(_) => {
                for work in batch {
                    self.commit(vec![work], durable);
                }
            }
        }
    }

    fn transact(&mut self, batch: &[Work]) -> rusqlite::Result<Vec<u64>> {
        let result = self.try_transact(batch);
        if result.is_err() {
            // Positions that were given out inside the failed transaction are free again.
            self.next.clear();
            if !self.connection.is_autocommit() {
                self.connection.execute_batch("ROLLBACK")?;
            }
        }
        result
    }

    fn try_transact(&mut self, batch: &[Work]) -> rusqlite::Result<Vec<u64>> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        if self.disk.has_failed() {
            // Copied into the database and synced there, it is durable without the write-ahead log.
            self.checkpoint("TRUNCATE")?;
            self.disk.recovered();
        }
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let mut outcomes = Vec::with_capacity(batch.len());
        for work in batch {
            outcomes.push(match &work.task {
                Task::Create(session) => self.create(session)?,
                Task::Append { number, drafts } => self.append(*number, drafts)?,
            });
        }
        self.connection.prepare_cached("COMMIT")?.execute([])?;
        Ok(outcomes)
    }

    fn create(&self, session: &Created) -> rusqlite::Result<u64> {
        self.connection
            .prepare_cached("INSERT INTO session (id, agent, cwd, at) VALUES (?1, ?2, ?3, ?4)")?
            .insert(params![session.id.as_str(), session.agent.as_str(), session.cwd, session.at.0])
            .map(|number| number as u64)
    }

    fn append(&mut self, number: i64, drafts: &[Draft]) -> rusqlite::Result<u64> {
        let first = match self.next.get(&number) {
            Some(next) => *next,
            None => next_seq(&self.connection, number)?,
        };
        let mut insert = self
            .connection
            .prepare_cached("INSERT INTO record (place, at, origin, body) VALUES (?1, ?2, ?3, ?4)")?;
        for (place, draft) in (first_place(number) + first as i64..).zip(drafts) {
            insert.execute(params![place, draft.at.0, origin_number(draft.origin), &draft.body[..]])?;
        }
        self.next.insert(number, first + drafts.len() as u64);
        Ok(first)
    }

    /// Copies the write-ahead log into the database, and syncs both: `PASSIVE` as much as nobody reads, `TRUNCATE` all of it.
    fn checkpoint(&self, mode: &str) -> rusqlite::Result<()> {
        let busy: bool =
            self.connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| row.get(0))?;
        match busy {
            true => Err(rusqlite::Error::SqliteFailure(
                rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY),
                None,
            )),
            false => Ok(()),
        }
    }

    fn explain(&self, task: &Task, error: &rusqlite::Error) -> StoreError {
        match (task, error.sqlite_error_code()) {
            (Task::Create(session), Some(rusqlite::ErrorCode::ConstraintViolation)) => {
                StoreError::SessionExists { session: session.id.to_string() }
            }
            _ => StoreError::sqlite(&self.path, error),
        }
    }
}

/// The write-ahead log beside a database.
fn wal_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

fn numbers(connection: &Connection) -> rusqlite::Result<Vec<(Key, i64)>> {
    connection
        .prepare("SELECT id, number FROM session")?
        .query_map([], |row| Ok((row.get_ref(0)?.as_str()?.into(), row.get(1)?)))?
        .collect()
}

/// The number that stands for an origin in the file. Never change one: old files have them.
fn origin_number(origin: Origin) -> i64 {
    match origin {
        Origin::Agent => 0,
        Origin::Stderr => 1,
        Origin::User => 2,
        Origin::Host => 3,
    }
}

/// The origin that a number in the file stands for.
pub(crate) fn origin(number: i64) -> Option<Origin> {
    [Origin::Agent, Origin::Stderr, Origin::User, Origin::Host]
        .into_iter()
        .find(|origin| origin_number(*origin) == number)
}

#[cfg(test)]
pub(crate) mod tests {
    use parlor_model::time::Time;

    use super::*;
    use crate::disk::tests::disk;

    fn writer(folder: &tempfile::TempDir) -> Writer {
        Writer::open(folder.path().join("log.db"), Arc::default()).unwrap()
    }

    /// A writer whose syncs are told to `sync`.
    pub(crate) fn writer_with(
        folder: &tempfile::TempDir,
        sync: impl Fn() -> std::io::Result<()> + Send + Sync + 'static,
    ) -> Writer {
        Writer { disk: Arc::new(disk(sync)), ..writer(folder) }
    }

    /// Work for the session of number 1.
    pub(crate) fn append(drafts: usize, safety: Safety) -> Work {
        let draft = Draft { at: Time(0), origin: Origin::Host, body: vec![b'x'; 100].into() };
        let task = Task::Append { number: 1, drafts: vec![draft; drafts] };
        Work { task, safety, answer: Answer::new(&Arc::default()).0 }
    }

    fn settle(writer: &Writer) {
        writer.disk.turn().into_iter().for_each(|turn| writer.disk.settle(turn));
    }

    #[test]
    fn only_a_durable_commit_is_synced() {
        let folder = tempfile::tempdir().unwrap();
        let synced = Arc::new(AtomicI32::new(0));
        let count = synced.clone();
        let mut writer = writer_with(&folder, move || {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
        let mut write = |batch: Vec<Safety>| {
            let bell: Arc<Bell> = Arc::default();
            let with_ticket = |safety| {
                let (answer, ticket) = Answer::new(&bell);
                (Work { answer, ..append(1, safety) }, ticket)
            };
            let (batch, tickets): (Vec<_>, Vec<_>) = batch.into_iter().map(with_ticket).unzip();
            writer.write(batch, &bell);
            settle(&writer);
            for ticket in tickets {
                ticket.wait().unwrap();
            }
            synced.load(Ordering::Relaxed)
        };
        for (batch, expected) in [
            (vec![Safety::Soon, Safety::Soon], 0),
            (vec![Safety::Soon, Safety::Durable, Safety::Durable], 1),
            (vec![Safety::Durable], 2),
            (vec![Safety::Soon], 2),
        ] {
            assert_eq!(write(batch), expected);
        }
    }

    #[test]
    fn after_a_sync_that_failed_all_is_copied_into_the_database_before_anything_else_is_durable() {
        let folder = tempfile::tempdir().unwrap();
        let healthy = Arc::new(AtomicI32::new(0));
        let now = healthy.clone();
        let mut writer = writer_with(&folder, move || match now.load(Ordering::Relaxed) {
            0 => Err(std::io::Error::other("on purpose")),
            _ => Ok(()),
        });
        let mut write = |safety| {
            let bell: Arc<Bell> = Arc::default();
            let (answer, ticket) = Answer::new(&bell);
            writer.write(vec![Work { answer, ..append(1, safety) }], &bell);
            settle(&writer);
            ticket.wait()
        };
        assert_eq!(write(Safety::Soon).unwrap(), 0);
        assert!(write(Safety::Durable).unwrap_err().to_string().contains("on purpose"));
        healthy.store(1, Ordering::Relaxed);
        assert_eq!(
            write(Safety::Durable).unwrap(),
            2,
            "what was committed has its place, whoever heard of it"
        );
        let wal = std::fs::metadata(wal_of(&writer.path)).unwrap().len();
        assert!(wal < 3 * u64::from(database::PAGE_BYTES), "it was emptied, and has one commit again: {wal}");
    }

    #[test]
    fn positions_of_a_failed_commit_are_given_out_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = writer(&folder);
        assert_eq!(writer.transact(&[append(2, Safety::Soon)]).unwrap(), [0]);
        let pages: i64 = writer.connection.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
        writer.connection.pragma_update(None, "max_page_count", pages).unwrap();
        let error = writer.transact(&[append(1, Safety::Soon), append(1000, Safety::Durable)]).unwrap_err();
        assert!(matches!(StoreError::sqlite(&writer.path, &error), StoreError::Full { .. }), "{error}");
        writer.connection.pragma_update(None, "max_page_count", 1_000_000).unwrap();
        assert_eq!(writer.transact(&[append(1, Safety::Soon), append(1000, Safety::Soon)]).unwrap(), [2, 3]);
        assert_eq!(next_seq(&writer.connection, 1).unwrap(), 1003);
    }

    #[test]
    fn one_that_fails_does_not_fail_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = writer(&folder);
        writer.transact(&[append(1, Safety::Soon)]).unwrap();
        let pages: i64 = writer.connection.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
        writer.connection.pragma_update(None, "max_page_count", pages).unwrap();
        let bell: Arc<Bell> = Arc::default();
        let (batch, tickets): (Vec<_>, Vec<_>) = [1, 1000, 1]
            .into_iter()
            .map(|drafts| {
                let (answer, ticket) = Answer::new(&bell);
                (Work { answer, ..append(drafts, Safety::Soon) }, ticket)
            })
            .unzip();
        writer.write(batch, &bell);
        let outcomes: Vec<_> = tickets.into_iter().map(|ticket| ticket.wait().ok()).collect();
        assert_eq!(outcomes, [Some(1), None, Some(2)]);
    }
}
