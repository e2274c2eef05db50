//! The log of a folder, for someone who only reads. It takes no lock and changes nothing, so that a house may be open
//! there and write meanwhile.

use std::path::Path;

use parlor_model::record::Record;
use rusqlite::OptionalExtension;

use crate::database::{self, Readers};
use crate::error::StoreError;
use crate::log::Created;
use crate::store::{records, sessions};
use crate::writer::{MIGRATIONS, SEQ_BITS, next_seq};

/// The log as it is while one looks.
pub struct Peek {
    log: Readers,
}

impl Peek {
    /// Looks into `folder`; `None` where no log was ever kept.
    pub fn open(folder: &Path) -> Result<Option<Peek>, StoreError> {
        let path = folder.join("log.db");
        if !path.exists() {
            return Ok(None);
        }
        let log = Readers::new(&path);
        log.read(|connection| Ok(database::version(connection, &path, MIGRATIONS)))??;
        Ok(Some(Peek { log }))
    }

    /// All sessions in the order of their creation, each with the position that its next record will have.
    pub fn sessions(&self) -> Result<Vec<(Created, u64)>, StoreError> {
        self.log.read(|connection| {
            let with_end = |(number, created)| Ok((created, next_seq(connection, number)?));
            sessions(connection)?.into_iter().map(with_end).collect()
        })
    }

    /// Records from position `from` on, as [`crate::Store::read`] gives them.
    pub fn read(&self, session: &str, from: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        let found = self.log.read(|connection| {
            let number = "SELECT number FROM session WHERE id = ?1";
            let number: Option<i64> =
                connection.prepare_cached(number)?.query_row([session], |row| row.get(0)).optional()?;
            match number {
                Some(number) if from < 1 << SEQ_BITS && limit > 0 => {
                    records(connection, number, from, limit).map(Some)
                }
                Some(_) => Ok(Some(Vec::new())),
                None => Ok(None),
            }
        })?;
        found.ok_or_else(|| StoreError::NoSession { session: session.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Draft, Safety, Store};
    use parlor_model::record::Origin;
    use parlor_model::time::Time;

    #[test]
    fn a_log_is_read_while_its_writer_has_it_and_after() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Peek::open(folder.path()).unwrap().is_none());
        assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "looking leaves nothing behind");

        let store = Store::open(folder.path()).unwrap();
        let created = Created { id: "s".into(), agent: "claude".into(), cwd: "/w".into(), at: Time(7) };
        store.create(&created).unwrap();
        let draft = |body: &str| Draft { at: Time(8), origin: Origin::User, body: body.to_owned().into() };
        store.append("s", vec![draft("one")], Safety::Durable).wait().unwrap();

        let peek = Peek::open(folder.path()).unwrap().unwrap();
        assert_eq!(peek.sessions().unwrap(), [(created, 1)]);
        store.append("s", vec![draft("two"), draft("three")], Safety::Soon).wait().unwrap();
        let bodies = |from| -> Vec<String> {
            let records = peek.read("s", from, 10).unwrap();
            records.iter().map(|record| String::from_utf8_lossy(&record.body).into_owned()).collect()
        };
        assert_eq!(bodies(1), ["two", "three"]);
        drop(store);
        assert_eq!(bodies(0), ["one", "two", "three"]);
        assert!(matches!(peek.read("x", 0, 1), Err(StoreError::NoSession { .. })));
    }
}
