//! Codex's rollout files, from the bare records of 2025 to the paginated history of today. The same message stands in
//! them up to three times; it is shown once. It reads one file and knows nothing of the files around it.

mod event;
mod response;
#[cfg(test)]
mod tests;

use std::collections::{HashSet, VecDeque};

use parlor_model::Key;
use parlor_model::block::{Author, Block, NoticeKind, Prompt, Reply, Thought};
use parlor_model::event::{Event, Fate, Meta, Reading, TitleRank, Turn};
use parlor_model::json::{Kind, Reader};
use parlor_model::line::Line;
use parlor_model::rule::Rule;
use parlor_model::text::Text;
use parlor_model::time::Time;

use crate::codex::fields::{Field, Fields};
use crate::codex::mirror::{Mirror, Source, Voice};
use crate::codex::prompt::{asked_in_editor, join};
use crate::codex::{notice, unreadable};
use crate::decoder::unknown;
use crate::{Claim, Dialect};

/// Reads rollout files.
#[derive(Debug, Default)]
pub(crate) struct CodexRollout {
    /// The thread's own id: the first one said. A fork or a subagent copies its parent's records, header included.
    own: Option<Key>,
    subagent: bool,
    /// True while the records are a subagent's copy of its parent's history.
    copying: bool,
    /// Records before this one are a subagent's copy of its parent's history.
    history_start: f64,
    paginated: bool,
    keys: u32,
    mirror: Mirror,
    /// Calls whose block is there.
    open: HashSet<Key>,
    /// Calls whose full result is there: what the model was told of it repeats that.
    ended: HashSet<Key>,
    /// Scripts of the code mode of which no tool has been seen yet.
    scripts: VecDeque<Key>,
    /// The first block of each user turn, for roll-backs.
    turns: Vec<Key>,
    running: bool,
    prompted: bool,
    /// True when the last thing said was that the context was compacted.
    compacted: bool,
    facts: Facts,
}

/// What was last said of the session, so that it is said once.
#[derive(Debug, Default)]
struct Facts {
    model: Option<Key>,
    cwd: Option<Text>,
    window: Option<u64>,
}

impl Dialect for CodexRollout {
    fn read(&mut self, line: &Line, out: &mut Vec<Event>) -> Reading {
        let mut reader = Reader::new(line.bytes());
        let mut bare = Fields::new(line);
        let mut payload = Fields::new(line);
        let (mut at, mut ordinal, mut wrapped) = (None, None, false);
        let is_object = reader.object(|reader, key| match key {
            b"timestamp" => at = Time::read(reader, line.bytes()),
            b"ordinal" => ordinal = reader.number(),
            b"payload" => wrapped = payload.read(reader),
            key => bare.take(reader, key),
        });
        if !is_object || reader.finish().is_some() {
            return unreadable(line);
        }
        if ordinal.is_some_and(|ordinal| ordinal < self.history_start) {
            return Reading::hidden(Rule::Repeat, at);
        }
        let fate = if wrapped {
            self.record(bare.word(Field::Type), &payload, out)
        } else {
            self.bare(&bare, at, out)
        };
        match fate {
            Some(fate) => Reading { fate, at },
            None => Reading { at, ..unknown(line, &kind(&bare, &payload)) },
        }
    }
}

impl CodexRollout {
    /// Reads an event as older builds of `codex exec` printed it, outside of any file.
    pub(crate) fn event(&mut self, message: &Fields, line: &Line, out: &mut Vec<Event>) -> Reading {
        match self.event_msg(message, out) {
            Some(fate) => Reading { fate, at: None },
            None => unknown(line, &String::from_utf8_lossy(message.word(Field::Type))),
        }
    }

    fn record(&mut self, kind: &[u8], payload: &Fields, out: &mut Vec<Event>) -> Option<Fate> {
        if self.copying && !self.begins_own_turn(kind, payload) {
            return Some(Fate::Hidden(Rule::Repeat));
        }
        match kind {
            b"session_meta" => Some(self.session_meta(payload, out)),
            b"turn_context" => {
                self.facts.say(payload, out);
                Some(Fate::Hidden(Rule::Bookkeeping))
            }
            b"response_item" | b"request_item" => self.response_item(payload, out),
            b"event_msg" => self.event_msg(payload, out),
            b"compacted" => Some(self.compaction(payload.text(Field::Message).unwrap_or_default(), out)),
            b"token_usage_record" => Some(Fate::Hidden(Rule::Usage)),
            b"world_state"
            | b"inter_agent_communication"
            | b"inter_agent_communication_metadata"
            | b"security_risk_score" => Some(Fate::Hidden(Rule::Bookkeeping)),
            _ => None,
        }
    }

    /// Records of 2025 stand in the line without an envelope.
    fn bare(&mut self, record: &Fields, at: Option<Time>, out: &mut Vec<Event>) -> Option<Fate> {
        if record.has(Field::RecordType) {
            return Some(Fate::Hidden(Rule::Bookkeeping));
        }
        match record.word(Field::Type) {
            b"" if record.has(Field::Id) && at.is_some() => Some(self.session_meta(record, out)),
            b"" => None,
            _ => self.response_item(record, out),
        }
    }

    /// Ids of threads and turns grow with time: a turn younger than the thread is its own.
    fn begins_own_turn(&mut self, kind: &[u8], payload: &Fields) -> bool {
        let starts =
            kind == b"event_msg" && matches!(payload.word(Field::Type), b"task_started" | b"turn_started");
        if starts && payload.key(Field::TurnId) >= self.own {
            self.copying = false;
        }
        !self.copying
    }

    fn session_meta(&mut self, meta: &Fields, out: &mut Vec<Event>) -> Fate {
        let id = meta.key(Field::Id);
        if self.own.is_some() {
            self.copying = self.subagent && id != self.own;
            return Fate::Hidden(Rule::Repeat);
        }
        let source = meta.json(Field::Source);
        let subagent = source.get("subagent");
        let spawned_by =
            subagent.as_ref().and_then(|by| by.get("thread_spawn")?.field_text("parent_thread_id"));
        let parent = meta.key(Field::ForkedFrom).or_else(|| meta.key(Field::Parent));
        let parent = parent.or_else(|| spawned_by.map(|id| id.as_str().into()));
        self.subagent = subagent.is_some() || meta.word(Field::ThreadSource) == b"subagent";
        self.paginated |= meta.word(Field::HistoryMode) == b"paginated";
        self.history_start = meta.number(Field::HistoryStart).unwrap_or(0.0);
        let metas = [
            id.clone().map(|id| Meta::Id { id }),
            parent.map(|id| Meta::Parent { id }),
            meta.key(Field::Version).map(|version| Meta::Version { version }),
            meta.json(Field::Git).field_text("branch").map(|name| Meta::Branch { name }),
        ];
        out.extend(metas.into_iter().flatten().map(|meta| Event::Meta { meta }));
        self.facts.say(meta, out);
        self.own = id;
        Fate::Hidden(Rule::Init)
    }

    /// A prompt, unless it is the mirror of one.
    fn prompt(
        &mut self,
        prompt: Option<Prompt>,
        source: Source,
        id: Option<Key>,
        out: &mut Vec<Event>,
    ) -> Fate {
        let Some(mut prompt) = prompt else { return Fate::Hidden(Rule::Injected) };
        let key = self.key(id);
        if self.mirror.repeats(Voice::Prompt, source, &prompt.text.as_str(), &key).is_some() {
            return Fate::Hidden(Rule::Repeat);
        }
        if let Some(asked) = asked_in_editor(&prompt.text.as_str()) {
            out.push(Event::Meta { meta: Meta::Title { text: asked.into(), rank: TitleRank::Prompt } });
        }
        prompt.steered = self.running && self.prompted;
        self.prompted = true;
        self.turns.push(key.clone());
        self.put(key, Block::Prompt(prompt), out)
    }

    /// A reply, unless it is the mirror of one.
    fn reply(&mut self, text: Text, source: Source, id: Option<Key>, out: &mut Vec<Event>) -> Fate {
        if text.is_empty() {
            return Fate::Hidden(Rule::Step);
        }
        let key = self.key(id);
        if self.mirror.repeats(Voice::Reply, source, &text.as_str(), &key).is_some() {
            return Fate::Hidden(Rule::Repeat);
        }
        self.put(key, Block::Reply(Reply { text, ..Reply::default() }), out)
    }

    /// A thought, without the parts that are mirrors: events tell each part of a summary apart.
    fn thought(
        &mut self,
        mut parts: Vec<Text>,
        source: Source,
        id: Option<Key>,
        out: &mut Vec<Event>,
    ) -> Fate {
        if parts.is_empty() {
            return Fate::Hidden(Rule::Step);
        }
        let key = self.key(id);
        parts.retain(|part| self.mirror.repeats(Voice::Thought, source, &part.as_str(), &key).is_none());
        if parts.is_empty() {
            return Fate::Hidden(Rule::Repeat);
        }
        self.put(key, Block::Thought(Thought { text: join(parts), ..Thought::default() }), out)
    }

    /// The context was compacted: said by a record and once more by an event.
    fn compaction(&mut self, text: Text, out: &mut Vec<Event>) -> Fate {
        if std::mem::replace(&mut self.compacted, true) {
            return Fate::Hidden(Rule::Repeat);
        }
        let kind = NoticeKind::Compaction { before: None, after: None };
        out.push(notice(self.key(None), None, kind, text));
        Fate::Shown
    }

    fn put(&mut self, key: Key, block: Block, out: &mut Vec<Event>) -> Fate {
        self.compacted = false;
        out.push(Event::put(key, block));
        Fate::Shown
    }

    fn turn(&mut self, turn: Turn, out: &mut Vec<Event>) {
        self.running = turn == Turn::Start;
        self.prompted = false;
        out.push(Event::Turn { turn });
    }

    /// Who speaks to the agent of this file.
    fn author(&self) -> Author {
        if self.subagent { Author::Caller } else { Author::Person }
    }

    /// The record's own id, or a name by its number.
    fn key(&mut self, id: Option<Key>) -> Key {
        id.unwrap_or_else(|| {
            self.keys = self.keys.saturating_add(1);
            format!("n{}", self.keys).into()
        })
    }
}

impl Facts {
    /// Says the model and the working directory when they are others than before.
    fn say(&mut self, fields: &Fields, out: &mut Vec<Event>) {
        if let Some(name) = fields.key(Field::Model).filter(|name| self.model.as_ref() != Some(name)) {
            out.push(Event::Meta { meta: Meta::Model { name: name.clone() } });
            self.model = Some(name);
        }
        if let Some(path) = fields.text(Field::Cwd).filter(|path| self.cwd.as_ref() != Some(path)) {
            out.push(Event::Meta { meta: Meta::Cwd { path: path.clone() } });
            self.cwd = Some(path.detach());
        }
    }
}

/// What a record that nobody knows calls itself.
fn kind(bare: &Fields, payload: &Fields) -> String {
    let item = payload.sub(Field::Item);
    let words = [Some(bare), Some(payload), item.as_ref()]
        .into_iter()
        .flatten()
        .map(|fields| fields.word(Field::Type));
    let words: Vec<_> = words.filter(|word| !word.is_empty()).map(String::from_utf8_lossy).collect();
    words.join("/")
}

/// How sure this format is that the line is its own.
pub(crate) fn claim(line: &Line) -> Claim {
    let mut reader = Reader::new(line.bytes());
    if reader.kind() != Kind::Object {
        return Claim::No;
    }
    let (mut kind, mut payload, mut record_type, mut time, mut old, mut call, mut role) =
        (None, false, false, false, false, false, false);
    reader.object(|reader, key| match key {
        b"type" => kind = reader.text(),
        b"payload" => payload = reader.kind() == Kind::Object,
        b"record_type" => record_type = true,
        b"timestamp" => time = true,
        b"instructions" => old = true,
        b"call_id" => call = true,
        b"role" => role = true,
        _ => {}
    });
    match kind.map_or(&b""[..], |kind| line.word(kind)) {
        b"session_meta"
        | b"turn_context"
        | b"response_item"
        | b"event_msg"
        | b"compacted"
        | b"world_state"
        | b"token_usage_record"
        | b"inter_agent_communication"
        | b"inter_agent_communication_metadata"
            if payload =>
        {
            Claim::Yes
        }
        b"request_item" if payload => Claim::Maybe,
        b"function_call" | b"function_call_output" | b"local_shell_call" if call => Claim::Yes,
        b"message" if role => Claim::Maybe,
        b"reasoning" => Claim::Maybe,
        b"" if record_type || time && old => Claim::Yes,
        _ => Claim::No,
    }
}
