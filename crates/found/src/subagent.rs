//! The work of subagents that Claude Code keeps in files of their own: found, and laid under the calls that
//! started it. It must not decode records but through a decoder.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use parlor_dialect::{Decoder, Format, Splitter};
use parlor_model::Key;
use parlor_model::block::{Block, Unknown};
use parlor_model::event::{Event, Fate, Reading};
use parlor_model::json::Json;
use parlor_model::line::Line;

use crate::{Source, find};

/// Subagents that start subagents, this deep at most: files could name each other.
const DEPTH: u8 = 8;

/// Lines of the n-th subagent are numbered from n times this, so that no two lines have the same place.
/// Thousands of files fit into the whole numbers that JavaScript knows.
const PLACES: u64 = 1 << 40;

/// Takes one line of a subagent: its place, the line, what it is, and what it says.
pub type Fold<'a> = dyn FnMut(u64, &Line, &Reading, Vec<Event>) + 'a;

/// Subagents that wait for the call that starts them.
#[derive(Debug, Default)]
pub struct Subagents {
    waiting: HashMap<Key, Vec<PathBuf>>,
    started: u64,
}

impl Subagents {
    /// The subagents of the session in the file at `path`, whose bytes, or the part that matters, are
    /// `bytes`.
    pub fn of(path: Option<&Path>, format: Format, bytes: &Bytes) -> Subagents {
        let mut subagents = Subagents::default();
        let Some(path) = path.filter(|_| format == Format::ClaudeSession) else { return subagents };
        let files = find::subagents_of(path);
        let calls = if files.is_empty() { HashMap::new() } else { calls_by_agent(bytes) };
        for file in files {
            let call = call_in_meta(&file.path).or_else(|| calls.get(agent_of(&file.path)?).cloned());
            if let Some(call) = call {
                subagents.waiting.entry(call).or_default().push(file.path);
            }
        }
        subagents
    }

    /// The calls among these events that started subagents.
    pub fn calls_in(&self, events: &[Event]) -> Vec<Key> {
        let call = |event: &Event| match event {
            Event::Put { key, block: Block::Tool(_), .. } if self.waiting.contains_key(key) => {
                Some(key.clone())
            }
            _ => None,
        };
        if self.waiting.is_empty() { Vec::new() } else { events.iter().filter_map(call).collect() }
    }

    /// Tells the work of those that these calls started, line by line, to be folded right after the line that made the
    /// calls.
    pub fn tell_under(&mut self, calls: &[Key], fold: &mut Fold<'_>) {
        self.tell_deep(calls, fold, DEPTH);
    }

    fn tell_deep(&mut self, calls: &[Key], fold: &mut Fold<'_>, depth: u8) {
        let Some(depth) = depth.checked_sub(1) else { return };
        for call in calls {
            for path in self.waiting.remove(call).unwrap_or_default() {
                self.started += 1;
                self.tell_file(&path, call, fold, depth);
            }
        }
    }

    fn tell_file(&mut self, path: &Path, call: &Key, fold: &mut Fold<'_>, depth: u8) {
        let Ok(source) = Source::file(path) else { return };
        let first = self.started.saturating_mul(PLACES);
        let mut decoder = Decoder::nested(Format::ClaudeSession, call.clone());
        let mut events = Vec::new();
        for (seq, line) in (first..).zip(source.lines()) {
            let Reading { fate, at } = decoder.read(&line, &mut events);
            let unknown = match fate {
                Fate::Unknown(kind) => Some(kind),
                Fate::Damaged(_) => Some(Key::new_static("damaged")),
                Fate::Shown | Fate::Hidden(_) | Fate::Blank => None,
            };
            // The reducer would show it in the conversation itself.
            events.extend(unknown.map(|kind| {
                let block = Block::Unknown(Unknown { kind, raw: Json::new(line.bytes().clone()) });
                Event::Put {
                    key: format!("unknown/{seq}").into(),
                    under: Some(call.clone()),
                    message: None,
                    block,
                }
            }));
            let calls = self.calls_in(&events);
            fold(seq, &line, &Reading { fate: Fate::Shown, at }, std::mem::take(&mut events));
            self.tell_deep(&calls, fold, depth);
        }
    }
}

/// The `<id>` of `agent-<id>.jsonl`.
fn agent_of(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()?.strip_prefix("agent-")?.split('.').next()
}

/// The call that started a subagent, as the note beside its file has it.
fn call_in_meta(path: &Path) -> Option<Key> {
    let note = path.with_file_name(format!("agent-{}.meta.json", agent_of(path)?));
    let note = Json::new(Bytes::from(fs::read(note).ok()?));
    let call = ["toolUseId", "tool_use_id", "toolUseID"].iter().find_map(|key| note.field_text(key))?;
    Some(Key::from(call.as_str()))
}

/// The call of each agent, by the results in the session: they name the agent that did the work.
fn calls_by_agent(bytes: &Bytes) -> HashMap<String, Key> {
    let mut calls = HashMap::new();
    for line in Splitter::split(bytes) {
        let bytes = line.bytes();
        if memchr::memmem::find(bytes, b"\"agentId\"").is_none()
            || memchr::memmem::find(bytes, b"\"toolUseResult\"").is_none()
        {
            continue;
        }
        let record = Json::new(bytes.clone());
        let Some(agent) = record.get("toolUseResult").and_then(|result| result.field_text("agentId")) else {
            continue;
        };
        let content = record.get("message").and_then(|message| message.get("content")).unwrap_or_default();
        if let Some(call) = content.items().iter().find_map(|block| block.field_text("tool_use_id")) {
            calls.insert(agent.as_str().into_owned(), Key::from(call.as_str()));
        }
    }
    calls
}
