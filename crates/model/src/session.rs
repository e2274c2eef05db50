//! What is known of a session as a whole. All of it is derived.

use serde::Serialize;

use crate::Key;
use crate::event::TitleRank;
use crate::text::Text;
use crate::time::Time;
use crate::usage::Usage;

/// A session, as its records tell it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Session {
    /// The agent's own id.
    pub id: Option<Key>,
    /// The session it was forked or spawned from.
    pub parent: Option<Key>,
    /// The best title so far.
    pub title: Option<Text>,
    /// How good the title is.
    #[serde(skip)]
    pub title_rank: Option<TitleRank>,
    /// The model that answered last.
    pub model: Option<Key>,
    /// The working directory.
    pub cwd: Option<Text>,
    /// The git branch.
    pub branch: Option<Text>,
    /// The agent program's version.
    pub version: Option<Key>,
    /// The first timestamp.
    pub started: Option<Time>,
    /// The last timestamp.
    pub updated: Option<Time>,
    /// What the agent is doing.
    pub phase: Phase,
    /// All tokens, each message counted once.
    pub usage: Usage,
    /// Tokens in the model's context after the last message.
    pub context: u64,
    /// The size of the model's context window.
    pub context_window: Option<u64>,
    /// Money spent by the agent's own account.
    pub cost_usd: Option<f64>,
    /// Prompts waiting to be delivered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queue: Vec<Text>,
    /// How many of what.
    pub counts: Counts,
}

/// How many of what a session holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Prompts by people.
    pub prompts: u64,
    /// Replies.
    pub replies: u64,
    /// Tool calls.
    pub tools: u64,
    /// Tool calls that failed.
    pub failed: u64,
    /// Records nobody understands.
    pub unknown: u64,
}

/// What the agent is doing. Idle comes once per turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    /// Nothing: ready for input.
    #[default]
    Idle,
    /// It has a prompt and nothing has come back yet.
    Preparing,
    /// It thinks.
    Thinking,
    /// It writes a reply.
    Replying,
    /// It runs a tool: of several, the one that was started last.
    Executing {
        /// The tool's name.
        tool: Key,
    },
    /// It waits for a person.
    Waiting {
        /// The tool that waits.
        tool: Key,
    },
}
