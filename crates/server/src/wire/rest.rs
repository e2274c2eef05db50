//! What REST requests and answers hold.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::shape::{Agent, Mode, Row};
use crate::door::Access;

/// The list of sessions.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Sessions {
    /// False while the first look over the disk still goes on.
    pub complete: bool,
    /// The sessions, the one that changed last first.
    pub sessions: Vec<Row>,
}

/// A new session.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Creation {
    /// The agent's name.
    pub agent: String,
    /// Where it works.
    pub cwd: String,
    /// The model, as the agent names it.
    #[serde(default)]
    pub model: Option<String>,
    /// What it may do without asking.
    #[serde(default)]
    pub mode: Mode,
    /// What is said to it at once.
    #[serde(default)]
    pub prompt: Option<String>,
}

/// A session that was made.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CreatedSession {
    /// Its id.
    pub session: String,
}

/// An order that is safely on disk.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OrderedAt {
    /// The order's id.
    pub id: String,
    /// Its record.
    pub seq: u64,
}

/// Entries of a session.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EntryPage {
    /// Changes when the records before are not those that are here now.
    pub epoch: String,
    /// How many entries there are.
    pub total: usize,
    /// The place of the first one here.
    pub from: usize,
    /// The entries: `id`, `seq`, `at`, `rev`, `opens` and the fields of their block.
    pub entries: Vec<Value>,
}

/// Records of a session.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RecordPage {
    /// Changes when the records before are not those that are here now.
    pub epoch: String,
    /// How many records there are.
    pub total: u64,
    /// The seq of the first one here.
    pub from: u64,
    /// The records. There may be fewer than were asked for: go on after the last.
    pub records: Vec<RecordShape>,
}

/// One record, untouched.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RecordShape {
    /// Its place in the session.
    pub seq: u64,
    /// When it arrived, where someone saw it arrive.
    pub at: Option<String>,
    /// `agent`, `stderr`, `user` or `host`.
    pub origin: String,
    /// Its bytes as text.
    pub body: String,
    /// True when the bytes were no UTF-8, and what was not is replaced.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lossy: bool,
}

/// Messages of a profile.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MessagePage {
    /// Changes when the records before are not those that are here now.
    pub epoch: String,
    /// The last record; null when there is none.
    pub seq: Option<u64>,
    /// The messages, in order, each of the profile's own shape.
    pub messages: Vec<Value>,
}

/// What a search found.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Hits {
    /// The hits, the best or newest first.
    pub hits: Vec<HitShape>,
}

/// One place where it was found.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HitShape {
    /// The session.
    pub session: String,
    /// The session's title.
    pub title: Option<String>,
    /// The entry.
    pub entry: String,
    /// When it was said, in ISO 8601.
    pub at: Option<String>,
    /// Some text around it.
    pub snippet: String,
    /// Where the matches are in the snippet: start and end in UTF-16 units.
    pub marks: Vec<(usize, usize)>,
}

/// Which agents there are.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Agents {
    /// All of them.
    pub agents: Vec<Agent>,
}

/// Folders to work in.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Folders {
    /// Their paths, that of the newest session first.
    pub folders: Vec<String>,
}

/// A one-time code.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Admission {
    /// The code of the link, after `#code=`.
    pub code: String,
}

/// What a client may do.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Admitted {
    /// What it may do.
    pub access: Access,
}

/// What a link is for.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct LinkFor {
    /// What whoever opens it may do.
    #[serde(default)]
    pub access: Access,
}

/// A one-time link.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// The link, good once and for five minutes.
    pub url: String,
}

/// Everything was stopped.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StoppedAll {
    /// How many sessions that were.
    pub sessions: usize,
}
