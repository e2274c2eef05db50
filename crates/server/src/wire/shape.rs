//! The shapes of values that other crates make: the list's rows, a session's state, orders, agents. They exist for
//! schemas, and tests hold them against the real values.

use parlor_model::session::Counts as ModelCounts;
use parlor_model::usage::Usage as ModelUsage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A session in the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Its id.
    pub id: String,
    /// The best title.
    pub title: Option<String>,
    /// The agent's name.
    pub agent: String,
    /// The model that answered last.
    pub model: Option<String>,
    /// Where the agent works.
    pub cwd: Option<String>,
    /// The git branch.
    pub branch: Option<String>,
    /// When it began, in ISO 8601.
    pub started: Option<String>,
    /// When it changed last, in ISO 8601.
    pub updated: String,
    /// Bytes.
    pub size: u64,
    /// All tokens.
    pub tokens: u64,
    /// Money spent, in US dollars, by the agent's own account.
    pub cost: Option<f64>,
    /// How often a person spoke.
    pub prompts: u64,
    /// Tool calls.
    pub tools: u64,
    /// `idle`, `preparing`, `thinking`, `replying`, `executing`, `waiting` or `unknown`.
    pub phase: String,
    /// True when it waits for a person.
    pub waiting: bool,
    /// Where it is kept.
    pub source: Source,
    /// True when a person put it away.
    pub archived: bool,
    /// How many prompts wait.
    pub queue: usize,
    /// How many of its messages to other agents have no reply yet.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub exchanges: usize,
    /// What was allowed in it for good, for its folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permits: Vec<String>,
    /// The session it was forked or spawned from.
    pub parent: Option<String>,
    /// The agent's own id of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<String>,
    /// The run that has not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Where a session is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// In the house's own log.
    Live,
    /// In a file of the agent's.
    Found,
    /// The agent's file is gone; the house has kept it.
    Archived,
}

/// What is known of a session as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Its id.
    pub id: String,
    /// The best title.
    pub title: Option<String>,
    /// The agent's name.
    pub agent: Option<String>,
    /// The model that answered last.
    pub model: Option<String>,
    /// What the agent may do without asking, where Parlor runs it.
    pub mode: Option<Mode>,
    /// Where the agent works.
    pub cwd: Option<String>,
    /// The git branch.
    pub branch: Option<String>,
    /// The agent program's version.
    pub version: Option<String>,
    /// What the agent is doing.
    pub phase: Phase,
    /// When that began, in ISO 8601.
    pub since: Option<String>,
    /// All tokens.
    pub usage: Usage,
    /// Tokens in the model's context after the last message.
    pub context: u64,
    /// The size of the model's context window.
    pub context_window: Option<u64>,
    /// Money spent, by the agent's own account.
    pub cost_usd: Option<f64>,
    /// Prompts that wait.
    pub queue: Vec<Queued>,
    /// True when the queue waits for a person to let it go on.
    pub held: bool,
    /// The sessions whose agents this one's has talked to, the last first; at most 50.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ties: Vec<Tie>,
    /// How many of what.
    pub counts: Counts,
    /// Where it is kept.
    pub source: Source,
    /// What can be done with it now.
    pub can: Can,
    /// Another process that writes its file.
    pub writer: Option<String>,
    /// What waits for a person.
    pub asks: Vec<OpenAsk>,
    /// True when a person put it away.
    pub archived: bool,
    /// True while only the end of a large file has been read: what follows the rest replaces all of this.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reading: bool,
    /// Why its log cannot be written at the moment; what the agent says waits until it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// What the agent is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// `idle`, `preparing`, `thinking`, `replying`, `executing`, `waiting`, or `unknown` for a file whose writer nobody sees.
    pub phase: String,
    /// The tool that runs or waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
}

/// Tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Input that was not cached.
    pub input: u64,
    /// Output, thinking included.
    pub output: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Input written to the cache.
    pub cache_write: u64,
    /// Thinking, where it is told apart; part of `output`.
    pub reasoning: u64,
}

impl From<&ModelUsage> for Usage {
    fn from(usage: &ModelUsage) -> Self {
        let ModelUsage { input, output, cache_read, cache_write, reasoning } = *usage;
        Usage { input, output, cache_read, cache_write, reasoning }
    }
}

/// How many of what a session holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
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

impl From<&ModelCounts> for Counts {
    fn from(counts: &ModelCounts) -> Self {
        let ModelCounts { prompts, replies, tools, failed, unknown } = *counts;
        Counts { prompts, replies, tools, failed, unknown }
    }
}

/// A prompt that waits for the agent to be free.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Queued {
    /// The name of its order; empty where only the agent knows the queue.
    pub id: String,
    /// The words.
    pub text: String,
    /// How many pictures and documents go with it.
    pub files: u32,
    /// The agent that sent it, where it is not a person's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

/// What a session's agent has to do with another's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tie {
    /// The other session.
    pub session: String,
    /// Its agent's name.
    pub agent: String,
    /// Messages to it.
    pub sent: u32,
    /// Messages from it.
    pub received: u32,
    /// Messages of either that have no reply yet.
    pub open: u32,
    /// True while this session's agent waits for its reply.
    pub waits: bool,
}

/// What can be done with a session now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Can {
    /// It takes prompts.
    pub prompt: bool,
    /// There is something to stop.
    pub interrupt: bool,
    /// A prompt can be put into the turn that runs.
    pub steer: bool,
    /// A prompt makes it the house's own.
    pub adopt: bool,
    /// Its asks can be answered here.
    pub answer: bool,
}

/// A question that a tool call waits on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenAsk {
    /// The ask's id, for the answer.
    pub id: String,
    /// The tool call's entry.
    pub entry: String,
}

/// An agent that may or may not be there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// Its name in orders.
    pub name: String,
    /// Its name as people read it.
    pub label: String,
    /// What it says its version is.
    pub version: Option<String>,
    /// True when it can be used.
    pub available: bool,
    /// Models it is known to take; any other may be named too.
    pub models: Vec<String>,
    /// Why it cannot be used, and what to do.
    pub problem: Option<String>,
}

/// An order with the name that its sender gave it: sent twice, it is carried out once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ordered {
    /// The sender's own name for it, such as a UUID.
    pub id: String,
    /// Who or what device sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// What is wanted.
    #[serde(flatten)]
    pub order: Order,
}

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        steer: bool,
    },
    /// Stop what the agent does.
    Interrupt {},
    /// Answer what a tool call waits on.
    Answer {
        /// The ask's id.
        ask: String,
        /// What was decided.
        choice: Choice,
        /// Why not, or the answer in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The answers to several questions, by the question.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        answers: Vec<(String, String)>,
    },
    /// Call the session this.
    Rename {
        /// The title; empty gives it back to the agent.
        title: String,
    },
    /// Change a prompt that waits.
    Edit {
        /// The id of its order.
        prompt: String,
        /// The new words.
        text: String,
    },
    /// Take back a prompt that waits.
    Cancel {
        /// The id of its order.
        prompt: String,
    },
    /// Put a prompt that waits somewhere else in the queue.
    Move {
        /// The id of its order.
        prompt: String,
        /// The prompt that then comes after it; none for the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<String>,
    },
    /// Let a held queue go on.
    Release {},
    /// Use another model or mode from now on.
    Set {
        /// The model, as the agent names it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// What the agent may do without asking.
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct File {
    /// What it is called.
    #[serde(default)]
    pub name: String,
    /// `image/png`, `text/plain`, …
    pub media_type: String,
    /// Its bytes in base64.
    pub data: String,
}

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

#[cfg(test)]
mod tests {
    use super::*;
    use parlor_model::order as model;
    use serde_json::json;

    #[test]
    fn the_shape_of_an_order_is_that_of_orders() {
        for order in [
            json!({"order": "prompt", "text": "x", "files": [{"name": "a", "media_type": "image/png", "data": "AA=="}], "steer": true}),
            json!({"order": "prompt", "text": "x"}),
            json!({"order": "interrupt"}),
            json!({"order": "answer", "ask": "q", "choice": "allow_session", "reason": "r", "answers": [["q", "a"]]}),
            json!({"order": "rename", "title": "t"}),
            json!({"order": "edit", "prompt": "p", "text": "t"}),
            json!({"order": "cancel", "prompt": "p"}),
            json!({"order": "move", "prompt": "p", "before": "q"}),
            json!({"order": "release"}),
            json!({"order": "set", "model": "m", "mode": "accept_edits"}),
            json!({"order": "permit", "permit": "Bash(ls *)", "allowed": false}),
            json!({"order": "archive", "archived": true}),
        ] {
            let mut order = order;
            order["id"] = "o1".into();
            order["by"] = "phone".into();
            let real: model::Ordered = serde_json::from_value(order.clone()).unwrap();
            let real = serde_json::to_value(&real).unwrap();
            let shape: Ordered = serde_json::from_value(order.clone()).unwrap();
            assert_eq!(serde_json::to_value(&shape).unwrap(), real);
            assert_eq!(real, order, "nothing of it is lost");
        }
    }

    #[test]
    fn the_shape_of_a_row_is_that_of_rows() {
        let full = parlor_hub::Row {
            own: Some("o".into()),
            run: Some("r".into()),
            permits: vec!["p".into()],
            ..Default::default()
        };
        for row in [full, parlor_hub::Row::default()] {
            let real = serde_json::to_value(&row).unwrap();
            let shape: Row = serde_json::from_value(real.clone()).unwrap();
            assert_eq!(serde_json::to_value(shape).unwrap(), real);
        }
    }
}
