//! The log and its indexes: what Parlor keeps on disk. It decodes nothing, reads no clock and starts no program.
//!
//! A folder holds four files. `log.db` is the append-only log, the only truth. `archive.db` keeps copies of session
//! files that other tools wrote and may delete. `index.db` is derived: it may be deleted at any time. `lock` makes
//! sure that one Parlor at a time uses the folder.
//!
//! ```
//! use parlor_model::{record::Origin, time::Time};
//! use parlor_store::{Created, Draft, Safety, Store};
//!
//! let folder = tempfile::tempdir()?;
//! let store = Store::open(folder.path())?;
//! store.create(&Created { id: "s1".into(), agent: "claude".into(), cwd: "/tmp".into(), at: Time(0) })?;
//! let draft = Draft { at: Time(1), origin: Origin::User, body: "hello".into() };
//! assert_eq!(store.append("s1", vec![draft], Safety::Durable).wait()?, 0);
//! assert_eq!(store.read("s1", 0, 10)?[0].body, "hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod archive;
mod block;
mod database;
mod disk;
mod error;
mod hands;
mod index;
mod lock;
mod log;
mod matcher;
mod peek;
mod queue;
mod search;
mod store;
mod text;
mod ticket;
mod writer;

pub use archive::Archived;
pub use block::Piece;
pub use error::StoreError;
pub use index::IndexRow;
pub use log::{Created, Draft, Log, Safety};
pub use matcher::{Hit, Kind, Query};
pub use peek::Peek;
pub use store::Store;
pub use ticket::Ticket;
