//! Opens SQLite files as Parlor wants them, and lends connections to readers. Knows no tables.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::error::StoreError;

/// 16 KB pages write records of a few KB twice as fast as SQLite's 4 KB; 32 KB slows lone durable commits.
pub(crate) const PAGE_BYTES: u32 = 16 * 1024;

/// Older versions can damage a database in write-ahead mode when two connections write and checkpoint at once.
const OLDEST_SQLITE: i32 = 3_051_003;

/// How every SQLite file begins.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Readers kept open between reads; more are opened when more read at once.
const IDLE_READERS: usize = 8;

/// How long a connection waits for another one's lock. Parlor has one writer a file, so only a backup tool holds one.
const BUSY: Duration = Duration::from_secs(10);

/// What makes an older file into a newer one, one step each; their number is the version of the file.
pub(crate) type Migrations = &'static [&'static str];

/// Connections that only read.
pub(crate) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

/// Opens a file for its one writer, creates it if need be, and brings it to the newest version.
pub(crate) fn open(path: &Path, migrations: Migrations) -> Result<Connection, StoreError> {
    if rusqlite::version_number() < OLDEST_SQLITE {
        return Err(StoreError::OldSqlite { found: rusqlite::version().to_owned() });
    }
    refuse_foreign(path)?;
    let sqlite = |error: rusqlite::Error| StoreError::sqlite(path, &error);
    let mut connection = Connection::open(path).map_err(sqlite)?;
    connection.busy_timeout(BUSY).map_err(sqlite)?;
    // The version is asked before anything is set, so that a file which is not ours is left as it is.
    let version = version(&connection, path, migrations)?;
    configure(&connection, path)?;
    migrate(&mut connection, version, migrations).map_err(sqlite)?;
    Ok(connection)
}

impl Readers {
    /// Readers of the file `path`, which must exist when the first one reads.
    pub(crate) fn new(path: &Path) -> Readers {
        Readers { path: path.to_owned(), idle: Mutex::new(Vec::new()) }
    }

    /// Does `work` with a connection that nobody else uses meanwhile.
    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let sqlite = |error: rusqlite::Error| StoreError::sqlite(&self.path, &error);
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.connect().map_err(sqlite)?,
        };
        let result = work(&connection).map_err(sqlite)?;
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_READERS {
            idle.push(connection);
        }
        Ok(result)
    }

    /// Closes the connections that nobody uses.
    pub(crate) fn close(&self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn connect(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(BUSY)?;
        // Otherwise a statement with `LIMIT ?` is prepared anew for every limit that is bound to it.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        Ok(connection)
    }
}

/// SQLite does not look at the file while a write-ahead log beside it has the same pages, and would write over it.
fn refuse_foreign(path: &Path) -> Result<(), StoreError> {
    let mut start = Vec::new();
    match File::open(path).and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut start)) {
        Ok(_) if start.is_empty() || start == MAGIC => Ok(()),
        Ok(_) => {
            let reason = "it is not a database".to_owned();
            Err(StoreError::Damaged { path: path.to_owned(), reason })
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(StoreError::system(path, &error)),
    }
}

/// The version of a file, if this program can read it.
pub(crate) fn version(
    connection: &Connection,
    path: &Path,
    migrations: Migrations,
) -> Result<usize, StoreError> {
    let sqlite = |error: rusqlite::Error| StoreError::sqlite(path, &error);
    let found: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(sqlite)?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(sqlite)?;
    let known = migrations.len() as i64;
    if found > known {
        return Err(StoreError::Newer { path: path.to_owned(), found, known });
    }
    match usize::try_from(found) {
        Ok(0) if tables > 0 => Err(StoreError::Damaged {
            path: path.to_owned(),
            reason: "it is a database of another program".to_owned(),
        }),
        Ok(version) => Ok(version),
        Err(_) => Err(StoreError::Damaged { path: path.to_owned(), reason: format!("version {found}") }),
    }
}

fn configure(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let sqlite = |error: rusqlite::Error| StoreError::sqlite(path, &error);
    connection.pragma_update(None, "page_size", PAGE_BYTES).map_err(sqlite)?;
    let mode: String =
        connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(sqlite)?;
    if mode != "wal" {
        let reason =
            format!("no write-ahead log can be kept here (mode {mode}); a network disk cannot hold it");
        return Err(StoreError::Unwritable { path: path.to_owned(), reason });
    }
    for (pragma, value) in [
        ("synchronous", "NORMAL"),
        // A single huge record must not leave a huge write-ahead log behind.
        ("journal_size_limit", "67108864"),
        ("cache_size", "-8000"),
        ("temp_store", "MEMORY"),
        ("foreign_keys", "OFF"),
    ] {
        connection.pragma_update(None, pragma, value).map_err(sqlite)?;
    }
    Ok(())
}

fn migrate(connection: &mut Connection, version: usize, migrations: Migrations) -> rusqlite::Result<()> {
    for (step, sql) in migrations.iter().enumerate().skip(version) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(sql)?;
        transaction.pragma_update(None, "user_version", step as i64 + 1)?;
        transaction.commit()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Migrations = &["CREATE TABLE a (x)"];
    const TWO: Migrations = &["CREATE TABLE a (x)", "ALTER TABLE a ADD COLUMN y"];

    #[test]
    fn an_older_file_is_brought_forward_and_a_newer_one_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        open(&path, ONE).unwrap().execute_batch("INSERT INTO a VALUES (1)").unwrap();

        let newer = open(&path, TWO).unwrap();
        let row: (i64, Option<i64>) =
            newer.query_row("SELECT x, y FROM a", [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert_eq!(row, (1, None));
        drop(newer);

        let error = open(&path, ONE).unwrap_err();
        assert!(matches!(error, StoreError::Newer { found: 2, known: 1, .. }), "{error}");
        assert!(error.to_string().contains("newer Parlor"), "{error}");
    }

    #[test]
    fn a_failed_step_leaves_the_older_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        drop(open(&path, ONE).unwrap());
        open(&path, &["CREATE TABLE a (x)", "CREATE TABLE b (y); nonsense"]).unwrap_err();
        open(&path, TWO).unwrap().execute_batch("CREATE TABLE b (z)").unwrap();
    }

    #[test]
    fn a_file_of_another_program_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
        let before = std::fs::read(&path).unwrap();
        let error = open(&path, ONE).unwrap_err();
        assert!(error.to_string().contains("another program"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }

    #[test]
    fn the_file_is_as_it_was_measured_to_be_best() {
        assert!(rusqlite::version_number() >= OLDEST_SQLITE);
        let folder = tempfile::tempdir().unwrap();
        let connection = open(&folder.path().join("a.db"), ONE).unwrap();
        let page: u32 = connection.query_row("PRAGMA page_size", [], |row| row.get(0)).unwrap();
        assert_eq!(page, PAGE_BYTES);
    }
}
