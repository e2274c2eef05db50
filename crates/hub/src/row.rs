//! What a list says of a session, wherever the session is kept.

use parlor_model::session::{Phase, Session};
use parlor_model::text::Text;
use parlor_model::time::Time;
use serde::{Deserialize, Serialize};

/// A session in the list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Money spent, by the agent's own account.
    pub cost: Option<f64>,
    /// How often a person spoke.
    pub prompts: u64,
    /// Tool calls.
    pub tools: u64,
    /// What the agent is doing: `idle`, `thinking`, …, or `unknown`.
    pub phase: String,
    /// True when it waits for a person.
    pub waiting: bool,
    /// Where it is kept.
    pub source: Source,
    /// True when a person put it away.
    #[serde(default)]
    pub archived: bool,
    /// How many prompts wait.
    #[serde(default)]
    pub queue: usize,
    /// How many of its messages to other agents have no reply yet.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub exchanges: usize,
    /// What was allowed in it for good, for its folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permits: Vec<String>,
    /// The session it was forked or spawned from.
    #[serde(default)]
    pub parent: Option<String>,
    /// The agent's own id, which names its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<String>,
    /// The run that has not ended, as far as the log says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// Where a session is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// In the house's own log.
    #[default]
    Live,
    /// In a file of the agent's.
    Found,
    /// The agent's file is gone; the house has kept it.
    Archived,
}

impl Row {
    /// The row of a session that was folded.
    pub fn of(id: &str, session: &Session) -> Row {
        let text = |text: &Text| text.as_str().into_owned();
        Row {
            id: id.to_owned(),
            title: session.title.as_ref().map(text),
            agent: session.agent.as_ref().map(ToString::to_string).unwrap_or_default(),
            model: session.model.as_ref().map(ToString::to_string),
            cwd: session.cwd.as_ref().map(text),
            branch: session.branch.as_ref().map(text),
            started: session.started.map(Time::iso_millis),
            updated: session.updated.map(Time::iso_millis).unwrap_or_default(),
            tokens: session.usage.total(),
            cost: session.cost_usd,
            prompts: session.counts.prompts,
            tools: session.counts.tools,
            phase: phase_name(&session.phase).to_owned(),
            waiting: matches!(session.phase, Phase::Waiting { .. }),
            queue: session.queue.len(),
            parent: session.parent.as_ref().map(ToString::to_string),
            own: session.id.as_ref().map(ToString::to_string),
            ..Row::default()
        }
    }
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// A phase in one word.
fn phase_name(phase: &Phase) -> &'static str {
    match phase {
        Phase::Idle => "idle",
        Phase::Preparing => "preparing",
        Phase::Thinking => "thinking",
        Phase::Replying => "replying",
        Phase::Executing { .. } => "executing",
        Phase::Waiting { .. } => "waiting",
    }
}
