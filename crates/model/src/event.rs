//! What a dialect says about a line: a few verbs on blocks.

use serde::Serialize;

use crate::Key;
use crate::block::{Block, Notice};
use crate::order::{Choice, Mode};
use crate::rule::Rule;
use crate::session::{Queued, Tie};
use crate::text::Text;
use crate::time::Time;
use crate::tool::{Output, ToolState};
use crate::usage::Usage;

/// One step of a conversation. Blocks are named by the agent's own keys, so that a block that is streamed, completed
/// and repeated is one block.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A fact about the session.
    Meta {
        /// The fact.
        meta: Meta,
    },
    /// A turn begins or ends.
    Turn {
        /// Which of it.
        turn: Turn,
    },
    /// A block is there, in this form. Said again of the same key it replaces the form, never the place.
    Put {
        /// The block's name.
        key: Key,
        /// The tool call it happened in: a subagent's work lies under its `Task`.
        #[serde(skip_serializing_if = "Option::is_none")]
        under: Option<Key>,
        /// The API message it belongs to.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<Key>,
        /// The block.
        block: Block,
    },
    /// A block's text grows. For a key not yet put, the part says what kind of block opens.
    Grow {
        /// The block's name.
        key: Key,
        /// Which of its texts.
        part: Part,
        /// What is added.
        text: Text,
    },
    /// A block ends.
    End {
        /// The block's name.
        key: Key,
        /// How.
        end: End,
    },
    /// A tool call waits for a person.
    Ask {
        /// The tool call's name.
        key: Key,
        /// What is asked; `None` withdraws it.
        ask: Option<Ask>,
    },
    /// A person answered what a tool call waited on.
    Decide {
        /// The tool call's name.
        key: Key,
        /// The answer.
        decision: Decision,
    },
    /// Tokens used by one API message. Said again of the same message it replaces.
    Usage {
        /// The message (or another unit that is counted once).
        message: Key,
        /// The count.
        usage: Usage,
    },
    /// Everything from these blocks on was rewound, rolled back or abandoned: it is marked, never removed.
    Overtake {
        /// The first block that is no longer part of the conversation.
        from: Key,
    },
}

/// Which text of a block grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// A reply's text.
    Reply,
    /// A thought's text.
    Thought,
    /// A tool call's input: fragments of JSON.
    Input,
    /// A tool call's output.
    Output,
}

/// How a block ends.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum End {
    /// Its text is complete.
    Complete,
    /// It was cut off.
    Interrupted,
    /// A tool call has its result. An unknown key opens an orphan.
    Result {
        /// The tool's name where the result carries it (for orphans).
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<Key>,
        /// Done, Failed, Denied or Interrupted.
        state: ToolState,
        /// What came back.
        output: Box<Output>,
    },
}

/// A fact about the session. The last one said wins, but for titles, which have a rank.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "meta", rename_all = "snake_case")]
pub enum Meta {
    /// The agent's own id for the session.
    Id {
        /// The id.
        id: Key,
    },
    /// The session this one was forked or spawned from.
    Parent {
        /// Its id.
        id: Key,
    },
    /// A title.
    Title {
        /// The text.
        text: Text,
        /// How good it is.
        rank: TitleRank,
    },
    /// The model that answers.
    Model {
        /// Its name.
        name: Key,
    },
    /// The working directory.
    Cwd {
        /// The path.
        path: Text,
    },
    /// The git branch.
    Branch {
        /// Its name.
        name: Text,
    },
    /// The agent program's version.
    Version {
        /// As it says itself.
        version: Key,
    },
    /// The size of the model's context window in tokens.
    ContextWindow {
        /// Tokens.
        tokens: u64,
    },
    /// Tokens in the model's context now.
    Context {
        /// Tokens.
        tokens: u64,
    },
    /// Money spent so far by the agent's own account.
    Cost {
        /// United States dollars, for the whole session so far.
        usd: f64,
    },
    /// What is in the queue, all of it: prompts typed while the agent was busy.
    Queue {
        /// The waiting prompts, first to be delivered first.
        prompts: Vec<Queued>,
        /// True when they wait for a person to let them go on.
        held: bool,
    },
    /// Whom the agent has talked to, all of them.
    Ties {
        /// The last first.
        ties: Vec<Tie>,
    },
    /// The agent's name, where the log says it.
    Agent {
        /// `claude`, `codex`, …
        name: Key,
    },
    /// What the agent may do by itself.
    Mode {
        /// The mode.
        mode: Mode,
    },
}

/// How good a title is: a better rank is never replaced by a lesser one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TitleRank {
    /// Perhaps about another conversation: better than none.
    Hint,
    /// The first prompt, shortened.
    Prompt,
    /// Written by the agent about an earlier part of the conversation.
    Summary,
    /// Written by the agent as the title.
    Agent,
    /// Given by a person.
    Person,
}

/// A turn begins or ends.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "turn", rename_all = "snake_case")]
pub enum Turn {
    /// The agent starts working.
    Start,
    /// The agent is done.
    Done,
    /// The agent gave up, with the reason where there is one.
    Failed {
        /// What it said.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<Text>,
    },
    /// A person stopped it. Open text and open tool calls are interrupted by it.
    Interrupted {
        /// Why, in the agent's or host's word: `user_cancel`, `shutdown`, …
        reason: Key,
    },
}

/// A question that a tool call waits on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ask {
    /// The request's id, for the answer.
    pub id: Key,
    /// What is wanted, in words, where the agent gives them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text>,
    /// The answers it offers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Text>,
}

/// What a person said to an ask.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Decision {
    /// What was decided.
    pub choice: Choice,
    /// Why, or the answer in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text>,
    /// Who said it, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Text>,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
}

/// What became of a line: exactly one of these, so that every line is accounted for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is part of what a reader sees.
    Shown,
    /// The same, from a subagent's own file: it may come long after the records that stand around its call, and moves no time
    /// of theirs.
    Nested,
    /// A named rule hides it.
    Hidden(Rule),
    /// Nobody knows this kind of record: kept, visible, counted by its kind.
    Unknown(Key),
    /// It cannot be read; the reason says why.
    Damaged(&'static str),
    /// An empty line.
    Blank,
}

/// What a dialect found in a line besides events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// What became of it.
    pub fate: Fate,
    /// The record's own timestamp.
    pub at: Option<Time>,
}

impl Reading {
    /// Hidden by `rule`.
    pub fn hidden(rule: Rule, at: Option<Time>) -> Self {
        Reading { fate: Fate::Hidden(rule), at }
    }

    /// Shown.
    pub fn shown(at: Option<Time>) -> Self {
        Reading { fate: Fate::Shown, at }
    }

    /// Unknown by `kind`.
    pub fn unknown(kind: impl Into<Key>, at: Option<Time>) -> Self {
        Reading { fate: Fate::Unknown(kind.into()), at }
    }

    /// Damaged because of `why`.
    pub fn damaged(why: &'static str) -> Self {
        Reading { fate: Fate::Damaged(why), at: None }
    }
}

impl Event {
    /// A block outside of any subagent.
    pub fn put(key: impl Into<Key>, block: Block) -> Event {
        Event::Put { key: key.into(), under: None, message: None, block }
    }

    /// A remark about the session.
    pub fn notice(key: impl Into<Key>, notice: Notice) -> Event {
        Event::put(key, Block::Notice(notice))
    }
}
