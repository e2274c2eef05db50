//! The lock on the folder: one Parlor at a time. It dies with its process, so a crash never leaves it behind.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use crate::error::StoreError;

/// Holds the folder until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    /// The open file carries the lock; closing it, or the death of the process, gives it back.
    _file: File,
}

impl Lock {
    /// Takes the lock of `folder`, or says who has it.
    pub(crate) fn take(folder: &Path) -> Result<Lock, StoreError> {
        let path = folder.join("lock");
        let system = |error: std::io::Error| StoreError::system(&path, &error);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(system)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(StoreError::Locked { folder: folder.to_owned(), pid: holder(&mut file) });
            }
            Err(error) => return Err(system(error.into())),
        }
        file.set_len(0).map_err(system)?;
        file.rewind().map_err(system)?;
        writeln!(file, "{}", std::process::id()).map_err(system)?;
        Ok(Lock { _file: file })
    }
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    match file.take(32).read_to_string(&mut text) {
        Ok(_) if !text.trim().is_empty() => text.trim().to_owned(),
        _ => "unknown".to_owned(),
    }
}
