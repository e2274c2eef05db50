//! What was folded of a session, as a log has it: the lines of subagents' own files are records there, and the log says whose
//! lines follow. It must not keep anything.

use parlor_model::Key;
use parlor_model::record::{Origin, Record};
use parlor_model::seen::Seen;

use crate::view::Folded;

/// Writes down steps, in order, as records that are numbered anew.
#[derive(Default)]
pub struct Scribe {
    /// The number of the next record.
    end: u64,
    /// The subagent whose lines come, and the call that started it.
    speaker: Option<(Key, Key)>,
}

impl Scribe {
    /// The records of one step.
    pub fn write(&mut self, step: &Folded) -> Vec<Record> {
        let mut records = Vec::with_capacity(1);
        match step {
            Folded::Record(record) => {
                records.extend(self.hear(None));
                records.push(Record { seq: self.next(), ..record.clone() });
            }
            Folded::Nested(line) => {
                records.extend(self.hear(Some((line.agent.clone(), line.call.clone()))));
                let body = line.line.bytes().clone();
                records.push(Record { seq: self.next(), at: None, origin: Origin::Agent, body });
            }
        }
        records
    }

    /// What has to be said before a line of the session's own.
    pub fn finish(&mut self) -> Option<Record> {
        self.hear(None)
    }

    fn hear(&mut self, speaker: Option<(Key, Key)>) -> Option<Record> {
        if self.speaker == speaker {
            return None;
        }
        self.speaker.clone_from(&speaker);
        let seen = match speaker {
            Some((agent, call)) => Seen::Nested { agent, call },
            None => Seen::Main,
        };
        let body = serde_json::to_vec(&seen).unwrap_or_default().into();
        Some(Record { seq: self.next(), at: None, origin: Origin::Host, body })
    }

    fn next(&mut self) -> u64 {
        self.end += 1;
        self.end - 1
    }
}
