//! What the house says on the socket.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::shape::{Agent, Row, State};
use crate::door::Access;
use crate::error::Problem;

/// A frame from the house. Everything in it is state: a value that replaces the one the client had.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Tell {
    /// The first frame.
    Hello {
        /// The protocol's version.
        version: u32,
        /// Parlor's version.
        server: String,
        /// The id of the data folder.
        house: String,
        /// What this client may do.
        access: Access,
        /// Which agents there are.
        agents: Vec<Agent>,
        /// The user's home folder.
        home: String,
    },
    /// Which agents there are, when that was not known yet at the hello.
    Agents {
        /// All of them.
        agents: Vec<Agent>,
    },
    /// All sessions.
    List {
        /// The client's number for its request; absent when the list replaces an older one by itself.
        #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
        reference: Option<u64>,
        /// False while the first look over the disk still goes on.
        complete: bool,
        /// The sessions, the one that changed last first.
        sessions: Vec<Row>,
    },
    /// What changed in the list.
    Rows {
        /// False while the first look over the disk still goes on.
        complete: bool,
        /// Rows that are new or different.
        rows: Vec<Row>,
        /// The ids that are no longer there.
        gone: Vec<String>,
    },
    /// A session is followed from here on. Without `ref`, it says that one was replaced.
    Subscribed {
        /// The client's number for its request.
        #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
        reference: Option<u64>,
        /// The session.
        session: String,
        /// The subscription.
        sub: u64,
        /// Changes when the records before are not those that are here now.
        epoch: String,
        /// Whether the client has missed anything.
        verdict: Verdict,
        /// Why there is a gap.
        why: Option<Why>,
        /// What the client has; null when it has nothing, or must forget it.
        seq: Option<u64>,
    },
    /// What is known of a session as a whole.
    State {
        /// The subscription.
        sub: u64,
        /// The state.
        session: Box<State>,
    },
    /// Entries that are new or different.
    Entries {
        /// The client's number for its request.
        #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
        reference: Option<u64>,
        /// The subscription.
        sub: u64,
        /// The client has everything up to here.
        seq: u64,
        /// History or news.
        kind: Kind,
        /// How many entries stand by themselves.
        total: usize,
        /// The lowest place of which this subscription tells changes.
        first: usize,
        /// The entries, by place.
        entries: Vec<EntryFrame>,
    },
    /// Messages of a profile.
    Messages {
        /// The subscription.
        sub: u64,
        /// The record that the last message came from.
        seq: u64,
        /// History or news.
        kind: Kind,
        /// The messages, in order, each of the profile's own shape.
        messages: Vec<Value>,
    },
    /// An order is safely on disk.
    Ordered {
        /// The client's number for its request.
        #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
        reference: Option<u64>,
        /// The order's id.
        id: String,
        /// Its record.
        seq: u64,
    },
    /// A session was made.
    Created {
        /// The client's number for its request.
        #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
        reference: Option<u64>,
        /// Its id.
        session: String,
    },
    /// Everything was stopped.
    StoppedAll {
        /// The client's number for its request.
        #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
        reference: Option<u64>,
        /// How many sessions that were.
        sessions: usize,
    },
    /// It could not be done; or, without `ref`, a subscription ended.
    Error {
        /// The client's number for its request.
        #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
        reference: Option<u64>,
        /// What went wrong.
        error: Problem,
    },
    /// Yes, somebody is there.
    Pong {},
}

/// Whether a client has missed anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It had nothing.
    Fresh,
    /// Nothing: what it lacks follows.
    Resumed,
    /// It must forget what it has.
    Gap,
}

/// Why a client must forget what it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The file was replaced, or has shrunk.
    Replaced,
    /// The epoch is not known here.
    UnknownEpoch,
    /// The client has more than there is.
    Ahead,
    /// So much has changed that it is shorter to begin again; or the beginning is no longer kept.
    Behind,
    /// Only the end of a large file was shown, and now there is all of it.
    Whole,
}

/// History or news.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// History: nothing is animated, spoken or notified for it.
    Window,
    /// News.
    Live,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Window => "window",
            Kind::Live => "live",
        }
    }
}

/// One rendered entry.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EntryFrame {
    /// Its id.
    pub id: String,
    /// Its place among those that stand by themselves, from 0 without gaps.
    pub n: usize,
    /// Grows with every change.
    pub v: u64,
    /// On the first entry of a day: which day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
    /// How many UTF-16 units of the HTML that the client has stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<usize>,
    /// The HTML, or what comes after the units that stay.
    pub html: String,
}

impl Tell {
    /// The frame as text.
    pub(crate) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
