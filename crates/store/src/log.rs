//! What a log is, whatever engine keeps it. Only words and one trait; no I/O.

use bytes::Bytes;
use parlor_model::Key;
use parlor_model::record::{Origin, Record};
use parlor_model::time::Time;
use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::ticket::Ticket;

/// An append-only log of sessions. Another engine stands in SQLite's place by implementing these five.
pub trait Log: Send + Sync {
    /// Adds a session without records.
    fn create(&self, session: &Created) -> Result<(), StoreError>;
    /// All sessions, in the order of their creation.
    fn sessions(&self) -> Result<Vec<Created>, StoreError>;
    /// Adds records at the end of a session, all of them or none, without waiting for the disk. Adding nothing durably
    /// makes durable all that was added before.
    fn append(&self, session: &str, drafts: Vec<Draft>, safety: Safety) -> Ticket;
    /// Records from the position `from` on, in order, at most `limit`; none only at the end.
    fn read(&self, session: &str, from: u64, limit: usize) -> Result<Vec<Record>, StoreError>;
    /// The position that the next record will have.
    fn end(&self, session: &str) -> Result<u64, StoreError>;
}

/// A session as it was created. What became of it is derived from its records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Created {
    /// Its id.
    pub id: Key,
    /// The agent that it is a conversation with.
    pub agent: Key,
    /// The folder in which the agent works.
    pub cwd: String,
    /// When it was created.
    #[serde(deserialize_with = "time")]
    pub at: Time,
}

/// A record that has no place yet.
#[derive(Clone, Debug)]
pub struct Draft {
    /// When it arrived.
    pub at: Time,
    /// Who wrote it.
    pub origin: Origin,
    /// The bytes, without the line end.
    pub body: Bytes,
}

/// When an append counts as done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Safety {
    /// When it is committed: it survives the death of this process, but perhaps not a power cut.
    Soon,
    /// When it is on the disk: it survives a power cut, as does all that was appended before.
    Durable,
}

fn time<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
    let text = String::deserialize(deserializer)?;
    Time::parse(&text).ok_or_else(|| serde::de::Error::custom(format!("`{text}` is not a time")))
}
