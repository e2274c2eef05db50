//! Reads a subagent's own file: what it did lies under the call that started it, and what it says of its session and turns is
//! not the main conversation's. It must not know where the file is.

use parlor_model::Key;
use parlor_model::block::{Block, Unknown};
use parlor_model::event::{Event, Fate, Reading};
use parlor_model::json::Json;
use parlor_model::line::Line;
use parlor_model::time::Time;

use crate::{Decoder, Format};

/// A reader for the file of one subagent.
pub struct Subagent {
    agent: Key,
    call: Key,
    decoder: Decoder,
    /// How many lines were read.
    lines: u64,
    /// What a line without a time inherits.
    at: Option<Time>,
}

impl Subagent {
    /// A reader for what `agent` did under `call`.
    pub fn new(agent: Key, call: Key) -> Self {
        // Only Claude Code keeps such files.
        Subagent { agent, call, decoder: Decoder::new(Format::ClaudeSession), lines: 0, at: None }
    }

    /// The subagent.
    pub fn agent(&self) -> &Key {
        &self.agent
    }

    /// The call that started it.
    pub fn call(&self) -> &Key {
        &self.call
    }

    /// How many lines were read.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Reads the next line.
    pub fn read(&mut self, line: &Line, out: &mut Vec<Event>) -> Reading {
        let (start, number) = (out.len(), self.lines);
        self.lines += 1;
        let Reading { fate, at } = self.decoder.read(line, out);
        self.at = at.or(self.at);
        let events = out.split_off(start);
        out.extend(events.into_iter().filter_map(|event| nest(event, &self.call)));
        let unknown = match fate {
            Fate::Unknown(kind) => Some(kind),
            Fate::Damaged(_) => Some(Key::new_static("damaged")),
            Fate::Shown | Fate::Nested | Fate::Hidden(_) | Fate::Blank => None,
        };
        // The reducer would show it in the conversation itself. It is named by its file, whose place among the others depends
        // on when it came.
        out.extend(unknown.map(|kind| Event::Put {
            key: format!("unknown/{}/{number}", self.agent).into(),
            under: Some(self.call.clone()),
            message: None,
            block: Block::Unknown(Unknown { kind, raw: Json::new(line.bytes().clone()) }),
        }));
        Reading { fate: Fate::Nested, at: self.at }
    }
}

/// An event of a subagent's file as the main conversation sees it.
fn nest(event: Event, task: &Key) -> Option<Event> {
    match event {
        Event::Put { key, under, message, block } => {
            Some(Event::Put { key, under: under.or_else(|| Some(task.clone())), message, block })
        }
        Event::Meta { .. } | Event::Turn { .. } | Event::Overtake { .. } => None,
        Event::Grow { .. }
        | Event::End { .. }
        | Event::Ask { .. }
        | Event::Decide { .. }
        | Event::Usage { .. } => Some(event),
    }
}
