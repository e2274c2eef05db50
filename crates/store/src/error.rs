//! What can go wrong with the files. Only says it; it repairs nothing.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// Why the store could not do what it was asked. Cheap to clone, since one failed commit fails many tickets.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has the folder.
    #[error(
        "{} is already in use by process {pid}: stop that one, or give this one another folder",
        folder.display()
    )]
    Locked {
        /// The folder that is taken.
        folder: PathBuf,
        /// The process that has it, as it wrote it down; `unknown` where it could not be read.
        pid: String,
    },
    /// The file was written by a newer Parlor.
    #[error(
        "{} was written by a newer Parlor (version {found} of the file, this program knows up to {known}): \
         install the newer program, or give this one another folder",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version found in the file.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The file is not what Parlor wrote.
    #[error(
        "{} is damaged ({reason}); nothing was changed: restore it from a backup, or move it away to start with an \
         empty one",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite said of it.
        reason: String,
    },
    /// No room is left.
    #[error("the disk that holds {} is full ({reason}): make room and try again; nothing that was acknowledged is lost", path.display())]
    Full {
        /// The file that could not grow.
        path: PathBuf,
        /// What SQLite said of it.
        reason: String,
    },
    /// The file or its folder cannot be written or opened.
    #[error("cannot write {} ({reason}): check its owner and permissions, or choose another folder", path.display())]
    Unwritable {
        /// The file or folder.
        path: PathBuf,
        /// What the system said of it.
        reason: String,
    },
    /// Any other failure of the disk or of SQLite.
    #[error("{}: {reason}: try again; if it stays, check the disk", path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// What SQLite or the system said of it.
        reason: String,
    },
    /// SQLite is too old to be trusted with a write-ahead log.
    #[error("SQLite {found} can damage a write-ahead log: build Parlor with SQLite 3.51.3 or newer")]
    OldSqlite {
        /// The version that was linked.
        found: String,
    },
    /// The session was never created.
    #[error("there is no session `{session}` in the log: create it first, or list the sessions")]
    NoSession {
        /// The id that was asked for.
        session: String,
    },
    /// The session is there already.
    #[error("there is already a session `{session}` in the log: append to it, or choose another id")]
    SessionExists {
        /// The id that was to be created.
        session: String,
    },
    /// A name that cannot be an id.
    #[error("`{session}` cannot be the id of a session: use 1 to {limit} bytes")]
    BadId {
        /// What was given, cut to a readable length.
        session: String,
        /// The longest id.
        limit: usize,
    },
    /// Something is bigger than the store takes.
    #[error("{what} of {bytes} bytes is more than the {limit} that the store takes: split it")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The disk is slower than what comes in.
    #[error("{waiting} bytes wait to be written to {}: the disk is too slow or stuck; try again later", path.display())]
    Backlog {
        /// The file.
        path: PathBuf,
        /// How many bytes wait.
        waiting: usize,
    },
    /// The store was closed before it could do this.
    #[error("the store was closed before this was written: open it again and repeat")]
    Closed,
    /// A pattern that is none.
    #[error("`{pattern}` is not a regular expression that can be searched for: {reason}")]
    Pattern {
        /// What was given.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A piece of a file that does not follow what is archived.
    #[error(
        "{path} is archived up to byte {expected}, and the piece begins at {given}: continue at {expected}, or begin anew at 0"
    )]
    Gap {
        /// The file that is archived.
        path: String,
        /// Where the next piece must begin.
        expected: u64,
        /// Where it did begin.
        given: u64,
    },
}

impl StoreError {
    /// Translates what SQLite said about the file `path`.
    pub(crate) fn sqlite(path: &Path, error: &rusqlite::Error) -> StoreError {
        let path = path.to_owned();
        let reason = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                StoreError::Damaged { path, reason }
            }
            Some(ErrorCode::DiskFull) => StoreError::Full { path, reason },
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                StoreError::Unwritable { path, reason }
            }
            _ => StoreError::Failed { path, reason },
        }
    }

    /// Translates what the system said about the file or folder `path`.
    pub(crate) fn system(path: &Path, error: &std::io::Error) -> StoreError {
        let path = path.to_owned();
        let reason = error.to_string();
        match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                StoreError::Full { path, reason }
            }
            _ => StoreError::Unwritable { path, reason },
        }
    }
}
