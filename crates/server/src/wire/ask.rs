//! What a client says.

use std::collections::BTreeSet;

use parlor_model::order::{Mode, Ordered};
use parlor_profile::Mask;
use schemars::JsonSchema;
use serde::Deserialize;

use super::shape;

/// A frame from a client. `ref` is its own number for a request, and comes back in the answer.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Ask {
    /// The list of sessions, now and whenever it changes.
    List {
        /// The client's number for this request.
        #[serde(default, rename = "ref")]
        reference: Option<u64>,
    },
    /// Follow a session.
    Subscribe {
        /// The client's number for this request.
        #[serde(default, rename = "ref")]
        reference: Option<u64>,
        /// The session.
        session: String,
        /// `html`, `events`, `elements`, `bridge`, `legion` or `raw`.
        #[serde(default = "html")]
        profile: String,
        /// How many of the last entries are wanted at first; for `html`.
        #[serde(default)]
        window: Option<usize>,
        /// What the client has: the epoch it was told.
        #[serde(default)]
        epoch: Option<String>,
        /// What the client has: the last `seq` it was told.
        #[serde(default)]
        after: Option<u64>,
        /// What the client has: the lowest `n`; for `html`.
        #[serde(default)]
        first: Option<usize>,
        /// Seconds to add to UTC for the clocks in the HTML.
        #[serde(default)]
        offset_s: i32,
        /// Which messages are wanted; for the other profiles.
        #[serde(default)]
        mask: MaskShape,
    },
    /// Follow it no more.
    Unsubscribe {
        /// The subscription.
        sub: u64,
    },
    /// Entries that are not there yet. One of `before`, `from` and `around`.
    Window {
        /// The client's number for this request.
        #[serde(default, rename = "ref")]
        reference: Option<u64>,
        /// The subscription.
        sub: u64,
        /// Those before this place.
        #[serde(default)]
        before: Option<usize>,
        /// Those from this place on.
        #[serde(default)]
        from: Option<usize>,
        /// Those around the entry of this id.
        #[serde(default)]
        around: Option<String>,
        /// How many.
        #[serde(default)]
        count: Option<usize>,
    },
    /// Order something of a session.
    Order {
        /// The client's number for this request.
        #[serde(default, rename = "ref")]
        reference: Option<u64>,
        /// The session.
        session: String,
        /// What is wanted.
        #[schemars(with = "shape::Ordered")]
        order: Ordered,
    },
    /// A new session.
    Create {
        /// The client's number for this request.
        #[serde(default, rename = "ref")]
        reference: Option<u64>,
        /// The agent's name.
        agent: String,
        /// Where it works.
        cwd: String,
        /// The model, as the agent names it.
        #[serde(default)]
        model: Option<String>,
        /// What it may do without asking.
        #[serde(default)]
        #[schemars(with = "shape::Mode")]
        mode: Mode,
    },
    /// Stop every agent that works.
    StopAll {
        /// The client's number for this request.
        #[serde(default, rename = "ref")]
        reference: Option<u64>,
    },
    /// Is anybody there?
    Ping {},
}

/// Which messages of a profile are wanted. An empty set lets all through.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MaskShape {
    /// The types wanted.
    pub types: BTreeSet<String>,
    /// The tools wanted; messages that are about no tool pass.
    pub tools: BTreeSet<String>,
}

impl From<MaskShape> for Mask {
    fn from(mask: MaskShape) -> Self {
        Mask { types: mask.types, tools: mask.tools }
    }
}

impl Ask {
    /// The client's number for this request.
    pub fn reference(&self) -> Option<u64> {
        match self {
            Ask::List { reference }
            | Ask::Subscribe { reference, .. }
            | Ask::Window { reference, .. }
            | Ask::Order { reference, .. }
            | Ask::Create { reference, .. }
            | Ask::StopAll { reference } => *reference,
            Ask::Unsubscribe { .. } | Ask::Ping {} => None,
        }
    }
}

fn html() -> String {
    "html".to_owned()
}
