//! What is known of a session as a whole. All of it is derived.

use serde::Serialize;

use crate::Key;
use crate::action::delegates;
use crate::event::TitleRank;
use crate::order::Mode;
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
    pub queue: Vec<Queued>,
    /// True when the queue waits for a person to let it go on.
    #[serde(skip_serializing_if = "crate::block::is_false")]
    pub held: bool,
    /// The sessions whose agents this one's has talked to, the last first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ties: Vec<Tie>,
    /// The agent's name, where Parlor runs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<Key>,
    /// What the agent may do by itself, where Parlor runs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// How many of what.
    pub counts: Counts,
}

/// A prompt that waits for the agent to be free.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Queued {
    /// The name of its order; empty where only the agent knows the queue.
    pub id: Key,
    /// The words.
    pub text: Text,
    /// How many pictures and documents go with it.
    pub files: u32,
    /// The agent that sent it, where it is not a person's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Text>,
}

/// What a session's agent has to do with another's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tie {
    /// The other session.
    pub session: Key,
    /// Its agent's name.
    pub agent: Key,
    /// Messages to it.
    pub sent: u32,
    /// Messages from it.
    pub received: u32,
    /// Messages of either that have no reply yet.
    pub open: u32,
    /// True while this session's agent waits for its reply.
    pub waits: bool,
}

impl From<Text> for Queued {
    fn from(text: Text) -> Self {
        Queued { text, ..Queued::default() }
    }
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

/// How a phase is shown by clients on Apple's platforms, which have a symbol and a symbol effect for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// The symbol's name.
    pub symbol: &'static str,
    /// The effect's name.
    pub effect: &'static str,
}

impl Phase {
    /// The symbol and effect of a phase; `None` when there is nothing to show.
    pub fn look(&self) -> Option<Look> {
        let (symbol, effect) = match self {
            Phase::Idle => return None,
            Phase::Preparing => ("hourglass", "variableColor"),
            Phase::Thinking | Phase::Replying => ("brain.head.profile", "pulse"),
            Phase::Waiting { .. } => ("hand.raised", "pulse"),
            Phase::Executing { tool } => match tool.as_str() {
                "Bash" | "bash" | "PowerShell" | "shell" | "exec_command" | "commandExecution" => {
                    ("terminal", "variableColor")
                }
                "Read" | "read" | "read_file" => ("doc.text", "pulse"),
                "Write" | "write" | "write_file" => ("pencil", "bounce"),
                "Edit" | "edit" | "MultiEdit" | "apply_patch" | "fileChange" => ("pencil.line", "bounce"),
                "Grep" | "grep" => ("magnifyingglass", "pulse"),
                "Glob" | "glob" | "find" => ("folder.badge.magnifyingglass", "pulse"),
                name if delegates(name) => ("person.2", "variableColor"),
                _ => ("gearshape", "variableColor"),
            },
        };
        Some(Look { symbol, effect })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_at_work_has_a_symbol_and_an_effect() {
        let executing = |tool: &str| Phase::Executing { tool: tool.into() };
        for (phase, symbol, effect) in [
            (Phase::Preparing, "hourglass", "variableColor"),
            (Phase::Thinking, "brain.head.profile", "pulse"),
            (executing("Bash"), "terminal", "variableColor"),
            (executing("Read"), "doc.text", "pulse"),
            (executing("Write"), "pencil", "bounce"),
            (executing("Edit"), "pencil.line", "bounce"),
            (executing("Grep"), "magnifyingglass", "pulse"),
            (executing("Glob"), "folder.badge.magnifyingglass", "pulse"),
            (executing("Task"), "person.2", "variableColor"),
            (executing("WebFetch"), "gearshape", "variableColor"),
            (executing("mcp__a__b"), "gearshape", "variableColor"),
            (executing(""), "gearshape", "variableColor"),
        ] {
            assert_eq!(phase.look(), Some(Look { symbol, effect }), "{phase:?}");
        }
        assert_eq!(Phase::Idle.look(), None);
    }
}
