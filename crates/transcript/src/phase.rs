//! What the agent is doing, step by step. It only moves on what the main conversation does: a subagent's work is its
//! tool call's.

use parlor_model::Key;
use parlor_model::session::Phase;

/// The phase, and the calls that are open: the newest one is the one that shows.
#[derive(Debug, Default)]
pub(crate) struct PhaseMachine {
    open: Vec<(Key, Key)>,
}

impl PhaseMachine {
    /// A tool call is made.
    pub(crate) fn call(&mut self, id: &Key, tool: &Key, phase: &mut Phase) {
        if !self.open.iter().any(|(open, _)| open == id) {
            self.open.push((id.clone(), tool.clone()));
        }
        *phase = Phase::Executing { tool: tool.clone() };
    }

    /// A tool call waits for a person.
    pub(crate) fn wait(&mut self, tool: &Key, phase: &mut Phase) {
        *phase = Phase::Waiting { tool: tool.clone() };
    }

    /// A tool call has ended: the newest of those still open shows, else the model is at work again.
    pub(crate) fn returned(&mut self, id: &Key, phase: &mut Phase) {
        let known = self.open.len();
        self.open.retain(|(open, _)| open != id);
        if self.open.len() == known {
            return;
        }
        *phase = match self.open.last() {
            Some((_, tool)) => Phase::Executing { tool: tool.clone() },
            None => Phase::Thinking,
        };
    }

    /// The turn is over, however it ended.
    pub(crate) fn settle(&mut self, phase: &mut Phase) {
        self.open.clear();
        *phase = Phase::Idle;
    }
}
