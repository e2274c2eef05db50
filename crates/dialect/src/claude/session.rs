//! Claude Code's session file: one record per content block, in the order of writing.

use std::collections::{HashMap, HashSet};

use parlor_model::Key;
use parlor_model::action::delegates;
use parlor_model::block::Block;
use parlor_model::event::{Event, Fate, Meta, Reading, TitleRank};
use parlor_model::json::{Json, Reader, Span};
use parlor_model::line::Line;
use parlor_model::rule::Rule;
use parlor_model::text::Text;

use super::conversation::{Conversation, first_text, hash};
use super::record::{self, Depth, Raw};
use crate::decoder::unknown;
use crate::{Claim, Dialect};

/// Reads a session file.
#[derive(Debug, Default)]
pub(crate) struct ClaudeSession {
    pub(super) conversation: Conversation,
    /// Records already read: a resumed session may hold a copy of its history.
    seen: HashSet<u64>,
    /// Tasks given to subagents, by the prompt they were given: older files hold the subagent's lines too.
    tasks: HashMap<u64, Key>,
    /// The task that a subagent's record belongs to, by the record's uuid.
    sides: HashMap<u64, Key>,
    queue: Vec<Text>,
    started: bool,
}

impl Dialect for ClaudeSession {
    fn read(&mut self, line: &Line, out: &mut Vec<Event>) -> Reading {
        let (raw, damage) = record::read(line);
        let kind = raw.kind.map(|span| line.word(span)).unwrap_or_default();
        if damage.is_some() || raw.kind.is_none() {
            return unknown(line, "");
        }
        let fate = self.record(line, &raw, kind, out);
        match fate {
            Some(fate) => Reading { fate, at: raw.at },
            None => Reading { at: raw.at, ..unknown(line, &full_kind(line, &raw)) },
        }
    }

    fn skim(&mut self, line: &Line, out: &mut Vec<Event>) -> Reading {
        let (raw, damage) = record::read_to(line, Depth::Skim);
        let kind = raw.kind.map(|span| line.word(span)).unwrap_or_default();
        if raw.message.left {
            // A person may have steered the turn: their words then stand beside the result. These bytes cannot occur
            // inside a JSON string, where quotes are escaped.
            let steered = memchr::memmem::find(line.bytes(), b"\"type\":\"text\"").is_some();
            return if steered { self.read(line, out) } else { Reading::shown(raw.at) };
        }
        if damage.is_some() || raw.kind.is_none() {
            return unknown(line, "");
        }
        let fate = match kind {
            b"assistant" => Some(self.skim_assistant(line, &raw, out)),
            _ => self.record(line, &raw, kind, out),
        };
        Reading { fate: fate.unwrap_or(Fate::Hidden(Rule::Bookkeeping)), at: raw.at }
    }
}

impl ClaudeSession {
    /// What an assistant's record tells a list: the model and the usage.
    fn skim_assistant(&mut self, line: &Line, raw: &Raw, out: &mut Vec<Event>) -> Fate {
        if self.is_repeat(line, raw) {
            return Fate::Hidden(Rule::Repeat);
        }
        self.conversation.meta(line, raw, out);
        let main = !raw.sidechain || self.conversation.is_agent_file;
        self.conversation.model(line, raw.message.model.filter(|_| main), out);
        self.usage(line, raw, main, out);
        Fate::Shown
    }

    /// What becomes of a record; `None` when nobody knows its kind.
    fn record(&mut self, line: &Line, raw: &Raw, kind: &[u8], out: &mut Vec<Event>) -> Option<Fate> {
        if self.is_repeat(line, raw) {
            return Some(Fate::Hidden(Rule::Repeat));
        }
        match kind {
            b"user" | b"assistant" | b"system" | b"attachment" | b"progress" => {
                self.chained(line, raw, kind, out)
            }
            b"summary" => {
                let own = raw.leaf.is_none_or(|leaf| self.seen.contains(&hash(line.word(leaf))));
                self.title(line, raw, if own { TitleRank::Summary } else { TitleRank::Hint }, out);
                Some(Fate::Hidden(Rule::Summary))
            }
            b"ai-title" => {
                self.title(line, raw, TitleRank::Agent, out);
                Some(Fate::Hidden(Rule::Bookkeeping))
            }
            b"custom-title" => {
                self.title(line, raw, TitleRank::Person, out);
                Some(Fate::Hidden(Rule::Bookkeeping))
            }
            b"queue-operation" => {
                self.queue_operation(line, raw, out);
                Some(Fate::Hidden(Rule::Bookkeeping))
            }
            b"cost-state" => {
                if let Some(usd) = whole(line).get("totalCostUSD").and_then(|cost| cost.number()) {
                    out.push(Event::Meta { meta: Meta::Cost { usd } });
                }
                Some(Fate::Hidden(Rule::Usage))
            }
            b"last-prompt"
            | b"mode"
            | b"permission-mode"
            | b"file-history-snapshot"
            | b"file-history-delta"
            | b"pr-link"
            | b"agent-name"
            | b"agent-color"
            | b"agent-setting"
            | b"bridge-session"
            | b"atis-latch"
            | b"relocated"
            | b"worktree-state"
            | b"frame-link"
            | b"tag"
            | b"tools-used"
            | b"session_start"
            | b"speculation-accept"
            | b"content-replacement"
            | b"marble-origami-commit"
            | b"task-summary" => Some(Fate::Hidden(Rule::Bookkeeping)),
            b"api-request" | b"api-request-shape" | b"api-request-blob" => {
                Some(Fate::Hidden(Rule::Instructions))
            }
            _ => None,
        }
    }

    /// True when a record of the chain was read before. Remembers it.
    fn is_repeat(&mut self, line: &Line, raw: &Raw) -> bool {
        let uuid = raw.uuid.filter(|_| raw.has_sidechain);
        uuid.is_some_and(|uuid| !self.seen.insert(hash(line.word(uuid))))
    }

    /// A record of the conversation's chain.
    fn chained(&mut self, line: &Line, raw: &Raw, kind: &[u8], out: &mut Vec<Event>) -> Option<Fate> {
        if !self.started {
            self.started = true;
            self.conversation.is_agent_file = raw.sidechain && raw.agent_id.is_some();
        }
        self.conversation.meta(line, raw, out);
        let under = match self.place(line, raw) {
            Place::Main => None,
            Place::Under(task) => Some(task),
            Place::Nowhere => return Some(Fate::Hidden(Rule::Sidechain)),
        };
        let fate = match kind {
            b"assistant" => {
                let start = out.len();
                let fate = self.conversation.assistant(line, raw, under.as_ref(), out);
                self.usage(line, raw, under.is_none(), out);
                self.remember_tasks(&out[start..]);
                fate
            }
            b"user" => self.conversation.user(line, raw, under.as_ref(), out),
            b"system" => return self.system(line, raw, out),
            b"attachment" => return self.attachment(line, raw, under.as_ref(), out),
            _ => return self.progress(line, raw, out),
        };
        Some(fate)
    }

    /// Where a record stands: in the conversation, under a task, or nowhere (warm-ups).
    fn place(&mut self, line: &Line, raw: &Raw) -> Place {
        if !raw.sidechain || self.conversation.is_agent_file {
            return Place::Main;
        }
        let parent = raw.parent_uuid.and_then(|span| self.sides.get(&hash(line.word(span))));
        let task = parent.cloned().or_else(|| {
            let prompt = first_text(line, &raw.message.content)?;
            self.tasks.get(&hash(prompt.as_str().trim().as_bytes())).cloned()
        });
        match (task, raw.uuid) {
            (Some(task), Some(uuid)) => {
                self.sides.insert(hash(line.word(uuid)), task.clone());
                Place::Under(task)
            }
            (Some(task), None) => Place::Under(task),
            (None, _) => Place::Nowhere,
        }
    }

    fn remember_tasks(&mut self, events: &[Event]) {
        for event in events {
            if let Event::Put { key, block: Block::Tool(tool), .. } = event
                && delegates(&tool.name)
                && let Some(prompt) = tool.input.field_text("prompt")
            {
                self.tasks.insert(hash(prompt.as_str().trim().as_bytes()), key.clone());
            }
        }
    }

    fn usage(&mut self, line: &Line, raw: &Raw, main: bool, out: &mut Vec<Event>) {
        let (Some(usage), Some(id)) = (raw.message.usage, raw.message.id) else { return };
        if usage.total() == 0 {
            return;
        }
        if main {
            out.push(Event::Meta { meta: Meta::Context { tokens: usage.context() } });
        }
        out.push(Event::Usage { message: line.key(id), usage });
    }

    fn title(&mut self, line: &Line, raw: &Raw, rank: TitleRank, out: &mut Vec<Event>) {
        if let Some(text) = raw.summary.map(|span| line.text(span)) {
            out.push(Event::Meta { meta: Meta::Title { text, rank } });
        }
    }

    fn queue_operation(&mut self, line: &Line, raw: &Raw, out: &mut Vec<Event>) {
        let operation = whole(line).field_text("operation").unwrap_or_default();
        let content = raw.content.and_then(|span| line.json(span).text());
        let before = self.queue.len();
        match (&*operation.as_str(), content) {
            ("enqueue", Some(content)) => self.queue.push(content),
            ("dequeue", _) if before > 0 => {
                self.queue.remove(0);
            }
            ("remove", Some(content)) => self.queue.retain(|queued| *queued != content),
            ("popAll", _) => self.queue.clear(),
            _ => {}
        }
        if self.queue.len() != before {
            out.push(Event::Meta {
                meta: Meta::Queue {
                    prompts: self.queue.iter().cloned().map(Into::into).collect(),
                    held: false,
                },
            });
        }
    }
}

enum Place {
    Main,
    Under(Key),
    Nowhere,
}

/// The whole record, read again: for kinds that are rare.
pub(super) fn whole(line: &Line) -> Json {
    Json::new(line.bytes().clone())
}

/// A record's kind with what tells it apart: `system/x`, `attachment/y`, `progress/z`.
fn full_kind(line: &Line, raw: &Raw) -> String {
    let kind = raw.kind.map_or_else(Key::default, |span| line.key(span));
    let inner = |span: Option<Span>| span.and_then(|span| line.json(span).field_text("type"));
    let second =
        raw.subtype.map(|span| line.text(span)).or_else(|| inner(raw.attachment)).or_else(|| inner(raw.data));
    second.map_or_else(|| kind.to_string(), |second| format!("{kind}/{second}"))
}

/// A session file's own lines have `parentUuid` and `isSidechain`, or are side records with a `sessionId`.
pub(crate) fn claim(line: &Line) -> Claim {
    let bytes = line.bytes();
    let (mut kind, mut chained, mut session, mut message) = (None, false, false, false);
    Reader::new(bytes).object(|reader, key| match key {
        b"type" => kind = reader.text(),
        b"parentUuid" | b"isSidechain" | b"leafUuid" => chained = true,
        b"sessionId" => session = true,
        b"message" => message = true,
        _ => {}
    });
    match kind.map(|span| line.word(span)) {
        Some(b"user" | b"assistant" | b"system" | b"attachment" | b"progress" | b"summary") if chained => {
            Claim::Yes
        }
        Some(
            b"queue-operation"
            | b"file-history-snapshot"
            | b"last-prompt"
            | b"ai-title"
            | b"custom-title"
            | b"permission-mode"
            | b"mode"
            | b"atis-latch"
            | b"api-request"
            | b"api-request-blob"
            | b"api-request-shape"
            | b"cost-state"
            | b"pr-link"
            | b"agent-name"
            | b"bridge-session"
            | b"file-history-delta"
            | b"agent-setting"
            | b"tools-used"
            | b"worktree-state",
        ) => Claim::Yes,
        Some(b"summary") => Claim::Yes,
        Some(b"user" | b"assistant") if message || session => Claim::Maybe,
        _ => Claim::No,
    }
}
