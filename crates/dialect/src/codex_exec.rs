//! `codex exec --json`: one event a line, items whole, no timestamps. Also its older forms, with `item_type` and with
//! `{"id":"0","msg":{…}}`. The prompt is not in this stream, and it does not invent one.

use std::collections::HashSet;

use parlor_model::Key;
use parlor_model::block::{Author, Block, NoticeKind};
use parlor_model::event::{Event, Fate, Meta, Reading, Turn};
use parlor_model::json::{Kind, Reader};
use parlor_model::line::Line;
use parlor_model::rule::Rule;
use parlor_model::text::Text;

use crate::codex::fields::{Field, Fields};
use crate::codex::item::{self, ItemKind, Place, Progress};
use crate::codex::{notice, prompt, unreadable, usage};
use crate::codex_rollout::CodexRollout;
use crate::decoder::unknown;
use crate::{Claim, Dialect};

/// Reads `codex exec --json`.
#[derive(Debug, Default)]
pub(crate) struct CodexExec {
    /// How many processes have written so far: item ids start again at `item_0` in each.
    runs: u32,
    notices: u32,
    open: HashSet<Key>,
    /// The error shown last: the failed turn repeats it.
    error: Option<Text>,
    /// The oldest form writes the events that rollouts keep.
    events: CodexRollout,
}

impl Dialect for CodexExec {
    fn read(&mut self, line: &Line, out: &mut Vec<Event>) -> Reading {
        let mut reader = Reader::new(line.bytes());
        let mut fields = Fields::new(line);
        let mut message = Fields::new(line);
        let mut old = false;
        let is_object = reader.object(|reader, key| match key {
            b"msg" => old = message.read(reader),
            key => fields.take(reader, key),
        });
        if !is_object || reader.finish().is_some() {
            return unreadable(line);
        }
        if old {
            return self.events.event(&message, line, out);
        }
        match self.event(&fields, out) {
            Some(fate) => Reading { fate, at: None },
            None => unknown(line, &kind(&fields)),
        }
    }
}

impl CodexExec {
    fn event(&mut self, fields: &Fields, out: &mut Vec<Event>) -> Option<Fate> {
        let (turn, fate) = match fields.word(Field::Type) {
            b"thread.started" => return Some(self.start(fields, out)),
            b"turn.started" => (Turn::Start, Fate::Hidden(Rule::Step)),
            b"turn.completed" => {
                if fields.has(Field::Usage) {
                    let usage = usage::read(&fields.json(Field::Usage));
                    out.push(Event::Usage { message: Key::new_static("total"), usage });
                }
                (Turn::Done, Fate::Hidden(Rule::Usage))
            }
            b"turn.failed" => {
                let error = fields.json(Field::Error);
                let error = error.field_text("message").or_else(|| error.text());
                let repeated = error.is_some() && error == self.error.take();
                (Turn::Failed { error: error.filter(|_| !repeated) }, Fate::Shown)
            }
            b"item.started" => return self.item(fields, Progress::Started, out),
            b"item.updated" => return self.item(fields, Progress::Updated, out),
            b"item.completed" => return self.item(fields, Progress::Completed, out),
            b"error" => {
                let text = fields.text(Field::Message)?;
                let kind =
                    if text.starts_with("Reconnecting...") { NoticeKind::Retry } else { NoticeKind::Error };
                self.error = Some(text.clone());
                out.push(notice(self.next_notice(), None, kind, text));
                return Some(Fate::Shown);
            }
            b"" => return self.preamble(fields, out),
            _ => return None,
        };
        out.push(Event::Turn { turn });
        Some(fate)
    }

    fn start(&mut self, fields: &Fields, out: &mut Vec<Event>) -> Fate {
        self.runs = self.runs.saturating_add(1);
        self.open.clear();
        let metas = [
            fields.key(Field::ThreadId).map(|id| Meta::Id { id }),
            fields.key(Field::Model).map(|name| Meta::Model { name }),
            fields.text(Field::Cwd).map(|path| Meta::Cwd { path }),
            fields.key(Field::Version).map(|version| Meta::Version { version }),
        ];
        out.extend(metas.into_iter().flatten().map(|meta| Event::Meta { meta }));
        Fate::Hidden(Rule::Init)
    }

    fn item(&mut self, fields: &Fields, progress: Progress, out: &mut Vec<Event>) -> Option<Fate> {
        let item = fields.sub(Field::Item)?;
        let key = self.key(&item);
        if ItemKind::of(item.word(Field::Type)) == ItemKind::Prompt {
            let prompt = prompt::read(&item.json(Field::Content), Author::Person);
            let shown = prompt.is_some();
            out.extend(prompt.map(|prompt| Event::put(key, Block::Prompt(prompt))));
            return Some(if shown { Fate::Shown } else { Fate::Hidden(Rule::Injected) });
        }
        let place = Place { key: key.clone(), under: None, open: self.open.contains(&key) };
        let fate = item::events(&item, progress, place, out)?;
        if fate == Fate::Shown {
            self.open.insert(key);
        }
        Some(fate)
    }

    /// The item's id, told apart from the same id of an earlier process.
    fn key(&mut self, item: &Fields) -> Key {
        match (item.key(Field::Id), self.runs) {
            (Some(id), 0 | 1) => id,
            (Some(id), run) => format!("{run}/{id}").into(),
            (None, _) => self.next_notice(),
        }
    }

    /// The oldest form begins with a report of its settings and with the prompt, both without a type.
    fn preamble(&mut self, fields: &Fields, out: &mut Vec<Event>) -> Option<Fate> {
        if let Some(text) = fields.text(Field::Prompt) {
            let prompt = parlor_model::block::Prompt { text, ..Default::default() };
            out.push(Event::put(self.next_notice(), Block::Prompt(prompt)));
            return Some(Fate::Shown);
        }
        (fields.has(Field::Cwd) && fields.has(Field::Model)).then(|| self.start(fields, out))
    }

    fn next_notice(&mut self) -> Key {
        self.notices = self.notices.saturating_add(1);
        format!("n{}", self.notices).into()
    }
}

/// What an event that nobody knows calls itself.
fn kind(fields: &Fields) -> String {
    let event = String::from_utf8_lossy(fields.word(Field::Type)).into_owned();
    match fields.sub(Field::Item) {
        Some(item) => format!("{event}/{}", String::from_utf8_lossy(item.word(Field::Type))),
        None => event,
    }
}

/// How sure this format is that the line is its own.
pub(crate) fn claim(line: &Line) -> Claim {
    let mut claim = Claim::No;
    let (mut message, mut id) = (false, false);
    let mut reader = Reader::new(line.bytes());
    if reader.kind() != Kind::Object {
        return Claim::No;
    }
    reader.object(|reader, key| match key {
        b"type" => {
            claim = reader.text().map_or(Claim::No, |kind| match line.word(kind) {
                b"thread.started" | b"turn.started" | b"turn.completed" | b"turn.failed"
                | b"item.started" | b"item.updated" | b"item.completed" => Claim::Yes,
                b"error" => Claim::Maybe,
                _ => Claim::No,
            });
            if claim == Claim::Yes {
                reader.leave();
            }
        }
        b"id" => id = reader.kind() == Kind::String,
        b"msg" => message = reader.kind() == Kind::Object,
        _ => {}
    });
    if message && id { Claim::Yes } else { claim }
}
