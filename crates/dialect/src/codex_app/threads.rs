//! The threads of one server, and which of them work for which call. It knows nothing of what they say.

use std::collections::{BTreeMap, HashSet, VecDeque};

use parlor_model::Key;
use parlor_model::json::Json;

/// Whose work is whose: one server runs the threads of subagents too.
#[derive(Debug, Default)]
pub(super) struct Threads {
    /// Threads that were started for a person.
    own: HashSet<Key>,
    /// Those of them of which the facts were told.
    told: HashSet<Key>,
    /// Threads of subagents, and the calls that started them.
    calls: BTreeMap<Key, Key>,
    /// Calls that start a subagent of which no thread is known yet.
    pub(super) starting: VecDeque<Key>,
    /// Threads in a turn, and whether the turn has its prompt: the next one steers it.
    pub(super) running: BTreeMap<Key, bool>,
}

impl Threads {
    /// Notes a thread that was started for a person; true when its facts were not told before.
    pub(super) fn tell(&mut self, thread: &Key) -> bool {
        self.own.insert(thread.clone());
        self.told.insert(thread.clone())
    }

    /// A thread that nobody started belongs to the call that is starting one.
    pub(super) fn under(&mut self, thread: Key) -> Option<Key> {
        if let Some(call) = self.calls.get(&thread) {
            return Some(call.clone());
        }
        if self.own.contains(&thread) {
            return None;
        }
        match self.starting.pop_front() {
            Some(call) => {
                self.calls.insert(thread, call.clone());
                Some(call)
            }
            None => {
                self.own.insert(thread);
                None
            }
        }
    }

    /// The call has named the threads it started.
    pub(super) fn started(&mut self, call: &Key, threads: &Json) {
        for thread in threads.items().iter().filter_map(|thread| thread.text()) {
            let thread = Key::from(thread.as_str());
            self.own.remove(&thread);
            self.calls.insert(thread, call.clone());
            self.starting.retain(|starting| starting != call);
        }
    }
}
