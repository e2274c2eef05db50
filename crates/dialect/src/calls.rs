//! The calls that are open, to find the one that a question without its id is about. It tells nobody anything.

use std::collections::VecDeque;

use parlor_model::Key;
use parlor_model::json::Json;

/// More calls than any agent runs at once; the oldest is forgotten first.
const OPEN_CALLS: usize = 64;

/// Open calls and open questions.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    open: VecDeque<(Key, Key, Json)>,
    asked: VecDeque<(Key, Key)>,
}

impl Calls {
    /// A call was made.
    pub(crate) fn made(&mut self, key: &Key, name: &Key, input: &Json) {
        self.open.retain(|(open, _, _)| open != key);
        self.open.push_back((key.clone(), name.clone(), input.clone()));
        if self.open.len() > OPEN_CALLS {
            self.open.pop_front();
        }
    }

    /// A call has its result.
    pub(crate) fn ended(&mut self, key: &Key) {
        self.open.retain(|(open, _, _)| open != key);
        self.asked.retain(|(_, call)| call != key);
    }

    /// True when the call is open.
    pub(crate) fn is_open(&self, key: &Key) -> bool {
        self.open.iter().any(|(open, _, _)| open == key)
    }

    /// The last open call with that name and input, whatever the order of its fields.
    pub(crate) fn find(&self, name: &Key, input: &Json) -> Option<Key> {
        let same = |call: &&(Key, Key, Json)| call.1 == *name && call.2.value() == input.value();
        self.open.iter().rev().find(same).map(|(key, _, _)| key.clone())
    }

    /// The same among the calls that a question is open about.
    pub(crate) fn asked_about(&self, name: &Key, input: &Json) -> Option<Key> {
        if self.asked.is_empty() {
            return None;
        }
        self.find(name, input).filter(|key| self.asked.iter().any(|(_, call)| call == key))
    }

    /// A question was asked about a call.
    pub(crate) fn ask(&mut self, request: Key, call: Key) {
        self.asked.retain(|(known, _)| *known != request);
        self.asked.push_back((request, call));
        if self.asked.len() > OPEN_CALLS {
            self.asked.pop_front();
        }
    }

    /// A question was answered: the call that it was about. Without the question's id, the only one there is.
    pub(crate) fn answer(&mut self, request: Option<&Key>) -> Option<Key> {
        let index = match request {
            Some(request) => self.asked.iter().position(|(known, _)| known == request)?,
            None if self.asked.len() == 1 => 0,
            None => return None,
        };
        self.asked.remove(index).map(|(_, call)| call)
    }

    /// The agent went on: all questions are answered.
    pub(crate) fn answer_all(&mut self) -> impl Iterator<Item = Key> + '_ {
        self.asked.drain(..).map(|(_, call)| call)
    }
}
