//! Pi's session file: a tree of entries, of which the last one written is the leaf of the conversation. Branches that
//! were left are marked, never removed.

use std::collections::HashMap;

use parlor_model::Key;
use parlor_model::block::{Block, NoticeKind};
use parlor_model::event::{Event, Fate, Meta, Reading, TitleRank, Turn};
use parlor_model::json::{Kind, Reader, Span};
use parlor_model::line::Line;
use parlor_model::rule::Rule;
use parlor_model::time::Time;

use crate::decoder::unknown;
use crate::pi::{Header, Message, Talk, json_text};
use crate::{Claim, Dialect};

/// Reads versions 1 to 3, and the forks that write more kinds of entries into the same tree.
#[derive(Debug, Default)]
pub(crate) struct PiSession {
    talk: Talk,
    tree: Tree,
}

/// Which blocks came after which entry.
#[derive(Debug, Default)]
struct Tree {
    /// How many blocks were there when an entry had been read.
    entries: HashMap<Key, usize>,
    blocks: Vec<Key>,
    last: Option<Key>,
}

/// A line's fields. The message's fields may stand in the entry itself: custom messages, compactions.
#[derive(Debug, Default)]
struct Entry {
    kind: Option<Span>,
    id: Option<Span>,
    parent: Option<Parent>,
    at: Option<Time>,
    header: Header,
    message: Option<Message>,
    own: Message,
    model: Option<Span>,
    title: Option<Span>,
}

#[derive(Debug, Clone, Copy)]
enum Parent {
    Root,
    Entry(Span),
}

impl Dialect for PiSession {
    fn read(&mut self, line: &Line, out: &mut Vec<Event>) -> Reading {
        let mut reader = Reader::new(line.bytes());
        let mut entry = Entry::default();
        let is_object = reader.object(|reader, key| entry.field(reader, key, line));
        let kind = json_text(line, entry.kind).unwrap_or_default();
        if reader.finish().is_some() || !is_object || kind.is_empty() {
            return unknown(line, "");
        }
        self.tree.branch(line, &entry, out);
        let events = out.len();
        let fate = self.entry(line, &kind, &entry, out);
        self.tree.grow(line, &entry, out.get(events..).unwrap_or_default());
        let at = entry.message.as_ref().and_then(|message| message.at).or(entry.at);
        match fate {
            Fate::Unknown(kind) => Reading { at, ..unknown(line, &kind) },
            fate => Reading { fate, at },
        }
    }
}

impl PiSession {
    fn entry(&mut self, line: &Line, kind: &str, entry: &Entry, out: &mut Vec<Event>) -> Fate {
        let own_key = || json_text(line, entry.id).unwrap_or_else(|| kind.into());
        match kind {
            "session" => {
                entry.header.tell(line, out);
                self.talk.set_model(json_text(line, entry.header.model), out);
                Fate::Hidden(Rule::Init)
            }
            "message" => match &entry.message {
                Some(message) => self.message(line, message, out),
                None => Fate::Unknown("message".into()),
            },
            "model_change" => {
                self.talk.set_model(json_text(line, entry.header.model.or(entry.model)), out);
                Fate::Hidden(Rule::Bookkeeping)
            }
            "compaction" => {
                self.talk.compacted(line, &entry.own, out);
                Fate::Shown
            }
            "branch_summary" => {
                out.push(Event::notice(own_key(), crate::pi::summary(line, &entry.own)));
                Fate::Shown
            }
            "custom_message" if entry.own.hidden => Fate::Hidden(Rule::Injected),
            "custom_message" => {
                out.push(Event::put(own_key(), crate::pi::machine_prompt(line, &entry.own)));
                Fate::Shown
            }
            "session_info" | "title" | "title_change" => {
                let rank = if kind == "session_info" { TitleRank::Person } else { TitleRank::Agent };
                if let Some(text) = entry.title.map(|span| line.text(span)).filter(|text| !text.is_blank()) {
                    out.push(Event::Meta { meta: Meta::Title { text, rank } });
                }
                Fate::Hidden(Rule::Bookkeeping)
            }
            "thinking_level_change" | "context_edit" | "label" | "custom" | "credential_pin" => {
                Fate::Hidden(Rule::Bookkeeping)
            }
            "session_init" => Fate::Hidden(Rule::Instructions),
            "ttsr_injection" => Fate::Hidden(Rule::Injected),
            other => Fate::Unknown(other.into()),
        }
    }

    /// The file says nothing of turns: prompts begin them and the model's last message ends them.
    fn message(&mut self, line: &Line, message: &Message, out: &mut Vec<Event>) -> Fate {
        let again = message.role(line) == b"assistant" && self.talk.retried(out);
        if again || message.role(line) == b"user" {
            out.push(Event::Turn { turn: Turn::Start });
        }
        let key = self.talk.name(line, message);
        let (fate, turn) = self.talk.say(line, message, &key, &Default::default(), out);
        out.extend(turn.filter(|turn| *turn != Turn::Start).map(|turn| Event::Turn { turn }));
        fate
    }
}

impl Tree {
    /// A parent that is not the entry before means that everything after that parent was left.
    fn branch(&self, line: &Line, entry: &Entry, out: &mut Vec<Event>) {
        let kept = match entry.parent {
            Some(Parent::Entry(parent)) => {
                let parent = line.key(parent);
                if self.last.as_ref() == Some(&parent) {
                    return;
                }
                self.entries.get(&parent).copied()
            }
            Some(Parent::Root) if self.last.is_some() => Some(0),
            _ => None,
        };
        let first = kept.and_then(|kept| self.blocks.get(kept));
        out.extend(first.map(|from| Event::Overtake { from: from.clone() }));
    }

    fn grow(&mut self, line: &Line, entry: &Entry, events: &[Event]) {
        for event in events {
            match event {
                // The remark about a retry takes the place of an error that an earlier entry holds.
                Event::Put { block: Block::Notice(notice), .. } if notice.kind == NoticeKind::Retry => {}
                Event::Put { key, .. } => self.blocks.push(key.clone()),
                _ => {}
            }
        }
        if let Some(id) = json_text(line, entry.id).filter(|_| entry.parent.is_some()) {
            self.entries.insert(id.clone(), self.blocks.len());
            self.last = Some(id);
        }
    }
}

impl Entry {
    fn field(&mut self, reader: &mut Reader<'_>, key: &[u8], line: &Line) {
        match key {
            b"type" => self.kind = reader.text(),
            b"parentId" => {
                self.parent = match reader.kind() {
                    Kind::String => reader.text().map(Parent::Entry),
                    Kind::Null => Some(Parent::Root),
                    _ => None,
                }
            }
            b"id" => {
                self.id = reader.text();
                self.header.id = self.id;
            }
            b"timestamp" => {
                self.at = Time::read(reader, line.bytes());
                self.header.at = self.at;
            }
            b"message" if reader.kind() == Kind::Object => self.message = Some(Message::read(reader, line)),
            b"model" => self.model = reader.text(),
            b"name" | b"title" => self.title = reader.text(),
            b"cwd" | b"parentSession" | b"modelId" => self.header.field(reader, key, line),
            _ => self.own.field(reader, key, line),
        }
    }
}

/// How sure this format is that the line is its own.
pub(crate) fn claim(line: &Line) -> Claim {
    let mut reader = Reader::new(line.bytes());
    let (mut kind, mut parent, mut id, mut cwd, mut message) = (None, false, false, false, false);
    reader.object(|reader, key| match key {
        b"type" => kind = reader.text(),
        b"parentId" => parent = true,
        b"id" => id = true,
        b"cwd" => cwd = true,
        b"message" => message = reader.kind() == Kind::Object,
        b"uuid" | b"parentUuid" | b"sessionId" => {
            kind = None;
            reader.leave();
        }
        _ => {}
    });
    match kind.map(|kind| line.word(kind)) {
        Some(b"session") if id && cwd => Claim::Yes,
        Some(b"message") if message && parent => Claim::Yes,
        // The first version has no ids; nobody else is known to write a bare message.
        Some(b"message") if message => Claim::Maybe,
        Some(
            b"model_change"
            | b"thinking_level_change"
            | b"compaction"
            | b"branch_summary"
            | b"custom"
            | b"context_edit"
            | b"custom_message"
            | b"label"
            | b"session_info"
            | b"session_init"
            | b"title_change",
        ) if parent => Claim::Yes,
        Some(b"model_change" | b"thinking_level_change" | b"compaction" | b"title") => Claim::Maybe,
        Some(_) if parent && id => Claim::Maybe,
        _ => Claim::No,
    }
}
