//! What the agent is doing, step by step. It only moves on what the main conversation does: a subagent's work is its
//! tool call's.

use std::collections::BTreeMap;

use parlor_model::Key;
use parlor_model::session::Phase;

/// The calls that are open, by the place of their entry: the newest one is the one that shows.
#[derive(Debug, Default)]
pub(crate) struct PhaseMachine {
    open: BTreeMap<usize, Key>,
}

impl PhaseMachine {
    /// A tool call is made.
    pub(crate) fn call(&mut self, index: usize, tool: &Key, phase: &mut Phase) {
        self.open.insert(index, tool.clone());
        *phase = Phase::Executing { tool: tool.clone() };
    }

    /// A tool call waits for a person.
    pub(crate) fn wait(&mut self, index: usize, tool: &Key, phase: &mut Phase) {
        self.open.insert(index, tool.clone());
        *phase = Phase::Waiting { tool: tool.clone() };
    }

    /// A tool call has ended: the newest of those still open shows, else the model is at work again.
    pub(crate) fn returned(&mut self, index: usize, phase: &mut Phase) {
        if self.open.remove(&index).is_none() {
            return;
        }
        *phase = match self.open.last_key_value() {
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
