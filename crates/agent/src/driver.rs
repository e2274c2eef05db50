//! What the process runner knows of an agent: how it is started, and a small state machine that turns wishes into lines
//! for the agent and reads just enough of the agent's lines to know how far it is. It must not interpret a conversation.

use std::ffi::OsString;
use std::path::PathBuf;

use parlor_dialect::Format;
use parlor_model::Key;
use parlor_model::order::{Answer, File, Mode};
use parlor_model::seen::{Seen, TurnEnd};
use tokio::sync::oneshot;

use crate::AgentError;

/// How an agent is started, and who talks to it.
pub(crate) struct Spec {
    /// The program.
    pub(crate) program: PathBuf,
    /// Its arguments.
    pub(crate) arguments: Vec<OsString>,
    /// What its environment has besides the user's.
    pub(crate) environment: Vec<(&'static str, OsString)>,
    /// The format of its lines.
    pub(crate) format: Format,
    /// Who talks to it.
    pub(crate) driver: Box<dyn Driver>,
}

/// What is wanted of an agent.
pub(crate) enum Wish<'a> {
    /// It begins to work on this.
    Prompt { text: &'a str, files: &'a [File] },
    /// It takes this into the turn that runs.
    Steer { text: &'a str, files: &'a [File] },
    /// An ask of it is answered.
    Answer { ask: &'a str, answer: &'a Answer },
    /// It works with these from now on.
    Set { model: Option<&'a str>, mode: Option<Mode>, done: Settled },
    /// It stops the turn.
    Interrupt,
    /// It ends.
    End,
}

/// Where the agent's word on a change goes: true when it is made, false when it takes a new start.
pub(crate) type Settled = oneshot::Sender<Result<bool, AgentError>>;

/// What is to be done for a wish, or because of a line.
#[derive(Debug, Default)]
pub(crate) struct Acts {
    /// Lines for the agent, each with its end.
    pub(crate) write: Vec<Vec<u8>>,
    /// Nothing more is written to the agent.
    pub(crate) close: bool,
    /// The agent's own id of the session.
    pub(crate) session: Option<Key>,
    /// What the log is told besides the line.
    pub(crate) seen: Vec<Seen>,
    /// The line is needed even when the turn has said more than is kept.
    pub(crate) matters: bool,
}

/// The state machine of one agent.
pub(crate) trait Driver: Send + Sync {
    /// The agent has just been started.
    fn begin(&mut self, acts: &mut Acts);
    /// Something is wanted of it.
    fn ask(&mut self, wish: Wish<'_>, acts: &mut Acts) -> Result<(), AgentError>;
    /// It has said a line.
    fn saw(&mut self, line: &[u8], acts: &mut Acts);
    /// True from a prompt until the end of its turn.
    fn is_busy(&self) -> bool;
    /// True when words can go into the turn that runs.
    fn can_steer(&self) -> bool;
    /// True while something works on that a stop has to end, though no turn runs.
    fn works_on(&self) -> bool {
        false
    }
}

impl Acts {
    /// Writes a JSON value as a line.
    pub(crate) fn say(&mut self, value: &serde_json::Value) {
        let mut line = value.to_string().into_bytes();
        line.push(b'\n');
        self.write.push(line);
    }

    /// The turn is over although the agent's own lines do not say so.
    pub(crate) fn turn_failed(&mut self, error: String) {
        self.seen.push(Seen::TurnEnded { end: TurnEnd::Failed, error: Some(error) });
    }
}

impl AgentError {
    /// What is said when an agent does not know the ask.
    pub(crate) fn no_such_ask(ask: &str) -> AgentError {
        AgentError(format!("nothing waits for an answer to `{ask}`: it was answered or withdrawn before"))
    }
}
