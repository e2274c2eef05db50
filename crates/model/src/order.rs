//! What a person, or a program for one, may ask of a session. An order is logged before it is carried out, so that it
//! survives whatever happens next.

use serde::{Deserialize, Serialize};

use crate::Key;

/// An order with the name that its sender gave it: sent twice, it is carried out once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ordered {
    /// The sender's own name for it.
    pub id: Key,
    /// Who or what device sent it, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// What is wanted.
    #[serde(flatten)]
    pub order: Order,
}

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum Order {
    /// Say this to the agent, now or when it is free.
    Prompt {
        /// The words.
        text: String,
        /// Pictures and documents.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<File>,
        /// Put it into the turn that runs, where the agent can take it.
        #[serde(default, skip_serializing_if = "crate::block::is_false")]
        steer: bool,
    },
    /// Stop what the agent does.
    Interrupt,
    /// Answer what a tool call waits on.
    Answer {
        /// The ask's id.
        ask: Key,
        /// The answer.
        #[serde(flatten)]
        answer: Answer,
    },
    /// Call the session this.
    Rename {
        /// The title; empty gives it back to the agent.
        title: String,
    },
    /// Change a prompt that waits.
    Edit {
        /// The id of its order.
        prompt: Key,
        /// The new words.
        text: String,
    },
    /// Take back a prompt that waits.
    Cancel {
        /// The id of its order.
        prompt: Key,
    },
    /// Put a prompt that waits somewhere else in the queue.
    Move {
        /// The id of its order.
        prompt: Key,
        /// The prompt that then comes after it; none for the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Key>,
    },
    /// Let a held queue go on.
    Release,
    /// Use another model or mode from now on.
    Set {
        /// The model, as the agent names it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// What the agent may do by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<Mode>,
    },
    /// Allow something in the session's folder from now on, or no longer: for an agent that keeps no permits of its own.
    Permit {
        /// What, as it is shown in an ask: `Bash(cargo test *)`.
        permit: String,
        /// Whether it is allowed.
        allowed: bool,
    },
    /// Put the session away, or take it out again.
    Archive {
        /// Whether it is put away.
        archived: bool,
    },
}

/// A picture or document that goes with a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// What it is called.
    #[serde(default)]
    pub name: String,
    /// `image/png`, `text/plain`, …
    pub media_type: String,
    /// Its bytes in base64.
    pub data: String,
}

/// The answer to an ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// What was decided.
    pub choice: Choice,
    /// Why not, or the answer in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The answers to several questions, by the question.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<(String, String)>,
}

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// Yes, this once.
    Allow,
    /// Yes, and the same again in this session.
    AllowSession,
    /// Yes, and the same again from now on.
    AllowAlways,
    /// No.
    Deny,
    /// Neither: it is an answer to a question.
    Reply,
}

/// What an agent may do without asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Look; everything else is asked.
    #[default]
    Ask,
    /// Look, and change files in its folder.
    AcceptEdits,
    /// Everything.
    AllowAll,
}

impl Mode {
    /// The mode's name in orders.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Ask => "ask",
            Mode::AcceptEdits => "accept_edits",
            Mode::AllowAll => "allow_all",
        }
    }
}
