//! Copies of session files that other tools wrote, so that history outlives their clean-up. Knows bytes, not lines.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::database::{self, Migrations, Readers};
use crate::error::StoreError;

const MIGRATIONS: Migrations = &["
    CREATE TABLE file (
        number INTEGER PRIMARY KEY,
        path TEXT NOT NULL,
        version INTEGER NOT NULL,
        length INTEGER NOT NULL,
        UNIQUE (path, version)
    ) STRICT;
    CREATE TABLE chunk (place INTEGER PRIMARY KEY, length INTEGER NOT NULL, body BLOB NOT NULL) STRICT;
"];

/// A chunk is closed at this size.
const CHUNK_BYTES: usize = 1024 * 1024;

/// A chunk that is still smaller than this is packed again together with what follows it: a file that is followed grows
/// line by line, and lines compress badly alone.
const OPEN_BYTES: u64 = 128 * 1024;

/// A chunk's place is its file's number and its index in one integer.
const CHUNK_BITS: u32 = 24;

/// The longest file that is read back at once.
const READ_BYTES: u64 = 8 * 1024 * 1024 * 1024;

/// A file in the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archived {
    /// Where it was found.
    pub path: String,
    /// Which beginning of it this is: 1, and one more each time that it began anew.
    pub version: u32,
    /// How many of its bytes are archived.
    pub length: u64,
}

/// The archive's file.
pub(crate) struct Archive {
    path: PathBuf,
    /// Before the writer, since the connection that is closed last tidies up, and readers cannot.
    readers: Readers,
    writer: Mutex<Connection>,
}

/// What the archive knows of a file.
struct Known {
    number: i64,
    version: u32,
    length: u64,
}

impl Archive {
    /// Opens the archive `path`, or creates it.
    pub(crate) fn open(path: PathBuf) -> Result<Archive, StoreError> {
        let writer = Mutex::new(database::open(&path, MIGRATIONS)?);
        let readers = Readers::new(&path);
        Ok(Archive { path, writer, readers })
    }

    /// Adds bytes to the newest version of a file, or begins a version.
    pub(crate) fn add(&self, path: &str, from: u64, bytes: &[u8]) -> Result<(), StoreError> {
        let sqlite = |error: rusqlite::Error| StoreError::sqlite(&self.path, &error);
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let transaction = writer.transaction().map_err(sqlite)?;
        let newest = newest(&transaction, path).map_err(sqlite)?;
        let length = newest.as_ref().map_or(0, |known| known.length);
        let known = match newest {
            Some(known) if known.length == from => known,
            newest if from == 0 => {
                begin(&transaction, path, newest.map_or(1, |known| known.version + 1)).map_err(sqlite)?
            }
            _ => return Err(StoreError::Gap { path: path.to_owned(), expected: length, given: from }),
        };
        append(&transaction, &known, bytes).map_err(sqlite)?;
        transaction.commit().map_err(sqlite)
    }

    /// The newest version of each file.
    pub(crate) fn list(&self) -> Result<Vec<Archived>, StoreError> {
        self.readers.read(|connection| {
            connection
                .prepare_cached("SELECT path, max(version), length FROM file GROUP BY path ORDER BY path")?
                .query_map([], archived)?
                .collect()
        })
    }

    /// All versions of a file, oldest first.
    pub(crate) fn versions(&self, path: &str) -> Result<Vec<Archived>, StoreError> {
        self.readers.read(|connection| {
            connection
                .prepare_cached("SELECT path, version, length FROM file WHERE path = ?1 ORDER BY version")?
                .query_map([path], archived)?
                .collect()
        })
    }

    /// True when the newest version of a file ends with `bytes`, or its last chunk with their end.
    pub(crate) fn ends_as(&self, path: &str, bytes: &[u8]) -> Result<bool, StoreError> {
        let last = self.readers.read(|connection| match newest(connection, path)? {
            Some(known) => last_chunk(connection, &known),
            None => Ok(None),
        })?;
        let Some((_, length, body)) = last else { return Ok(bytes.is_empty()) };
        let Ok(chunk) = zstd::bulk::decompress(&body, length.clamp(0, CHUNK_BYTES as i64) as usize) else {
            return Ok(false);
        };
        Ok(chunk.ends_with(bytes) || bytes.ends_with(&chunk))
    }

    /// The bytes of a version of a file.
    pub(crate) fn read(&self, path: &str, version: Option<u32>) -> Result<Option<Bytes>, StoreError> {
        let found = self.readers.read(|connection| match version {
            Some(version) => one_version(connection, path, version),
            None => newest(connection, path),
        })?;
        let Some(known) = found else { return Ok(None) };
        if known.length > READ_BYTES {
            let bytes = known.length;
            return Err(StoreError::TooLarge { what: "an archived file", bytes, limit: READ_BYTES });
        }
        let content = self.readers.read(|connection| content(connection, &known))?;
        match content {
            Some(content) => Ok(Some(content.into())),
            None => {
                let reason = format!("what it has of {path} cannot be unpacked");
                Err(StoreError::Damaged { path: self.path.clone(), reason })
            }
        }
    }
}

fn newest(connection: &Connection, path: &str) -> rusqlite::Result<Option<Known>> {
    connection
        .prepare_cached(
            "SELECT number, version, length FROM file WHERE path = ?1 ORDER BY version DESC LIMIT 1",
        )?
        .query_row([path], known)
        .optional()
}

fn one_version(connection: &Connection, path: &str, version: u32) -> rusqlite::Result<Option<Known>> {
    connection
        .prepare_cached("SELECT number, version, length FROM file WHERE path = ?1 AND version = ?2")?
        .query_row(params![path, version], known)
        .optional()
}

fn begin(transaction: &Transaction<'_>, path: &str, version: u32) -> rusqlite::Result<Known> {
    let number = transaction
        .prepare_cached("INSERT INTO file (path, version, length) VALUES (?1, ?2, 0)")?
        .insert(params![path, version])?;
    Ok(Known { number, version, length: 0 })
}

fn append(transaction: &Transaction<'_>, known: &Known, bytes: &[u8]) -> rusqlite::Result<()> {
    let first = known.number << CHUNK_BITS;
    let (mut place, mut open) = match last_chunk(transaction, known)? {
        None => (first, Vec::new()),
        Some((place, length, body)) if (length as u64) < OPEN_BYTES => {
            (place, zstd::bulk::decompress(&body, length as usize).map_err(unpackable)?)
        }
        Some((place, ..)) => (place + 1, Vec::new()),
    };
    open.extend_from_slice(bytes);
    let mut insert = transaction
        .prepare_cached("INSERT OR REPLACE INTO chunk (place, length, body) VALUES (?1, ?2, ?3)")?;
    for chunk in open.chunks(CHUNK_BYTES) {
        let body = zstd::bulk::compress(chunk, 3).map_err(unpackable)?;
        insert.execute(params![place, chunk.len() as i64, body])?;
        place += 1;
    }
    let length = known.length + bytes.len() as u64;
    transaction
        .prepare_cached("UPDATE file SET length = ?2 WHERE number = ?1")?
        .execute(params![known.number, length as i64])?;
    Ok(())
}

/// The place, the length and the packed bytes of a file's last chunk.
fn last_chunk(connection: &Connection, known: &Known) -> rusqlite::Result<Option<(i64, i64, Vec<u8>)>> {
    let (first, end) = (known.number << CHUNK_BITS, (known.number + 1) << CHUNK_BITS);
    connection
        .prepare_cached(
            "SELECT place, length, body FROM chunk WHERE place >= ?1 AND place < ?2 ORDER BY place DESC LIMIT 1",
        )?
        .query_row([first, end], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()
}

/// All bytes of a file; `None` if they are not what they should be.
fn content(connection: &Connection, known: &Known) -> rusqlite::Result<Option<Vec<u8>>> {
    let mut statement = connection
        .prepare_cached("SELECT length, body FROM chunk WHERE place >= ?1 AND place < ?2 ORDER BY place")?;
    let mut rows = statement.query([known.number << CHUNK_BITS, (known.number + 1) << CHUNK_BITS])?;
    let mut content = Vec::with_capacity(known.length as usize);
    while let Some(row) = rows.next()?
        && (content.len() as u64) < known.length
    {
        let length: i64 = row.get(0)?;
        match zstd::bulk::decompress(row.get_ref(1)?.as_blob()?, length.clamp(0, CHUNK_BYTES as i64) as usize)
        {
            Ok(chunk) => content.extend_from_slice(&chunk),
            Err(_) => return Ok(None),
        }
    }
    // More may have been added since the length was asked.
    if (content.len() as u64) < known.length {
        return Ok(None);
    }
    content.truncate(known.length as usize);
    Ok(Some(content))
}

fn known(row: &rusqlite::Row<'_>) -> rusqlite::Result<Known> {
    Ok(Known { number: row.get(0)?, version: row.get(1)?, length: row.get::<_, i64>(2)? as u64 })
}

fn archived(row: &rusqlite::Row<'_>) -> rusqlite::Result<Archived> {
    Ok(Archived { path: row.get(0)?, version: row.get(1)?, length: row.get::<_, i64>(2)? as u64 })
}

fn unpackable(error: std::io::Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(error.into())
}
