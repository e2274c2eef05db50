//! One answer as far as it has been streamed: it names the blocks and completes them. It reads no JSON of its own.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use parlor_model::Key;
use parlor_model::block::{Block, Notice, NoticeKind, Reply, Thought};
use parlor_model::event::{Event, Part, Turn};
use parlor_model::json::{Json, Reader};
use parlor_model::line::Line;
use parlor_model::text::Text;
use parlor_model::tool::Tool;

use super::chunk::{CallPart, Choice, TextKind};

/// What has been seen of an answer.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Its name in the conversation.
    pub(crate) key: Key,
    /// The server's id for it, once it gave one.
    pub(crate) id: Option<Key>,
    /// Its first block.
    pub(crate) first: Option<Key>,
    choices: BTreeMap<u64, Progress>,
    ended: bool,
}

/// What has been seen of one choice.
#[derive(Debug, Default)]
struct Progress {
    texts: u32,
    text: Option<Open>,
    calls: Vec<Call>,
}

/// The text that grows now.
#[derive(Debug)]
struct Open {
    key: Key,
    kind: TextKind,
    text: String,
}

/// A tool call whose arguments stream in.
#[derive(Debug)]
struct Call {
    key: Key,
    index: Option<u64>,
    id: Option<Key>,
    name: Key,
    arguments: String,
    complete: bool,
}

/// How often each call id was used: some servers count their calls from zero in every answer.
#[derive(Debug, Default)]
pub(crate) struct Calls(HashMap<Key, u32>);

impl Calls {
    /// The key of the last call of that id.
    pub(crate) fn key(&self, id: &Key) -> Key {
        match self.0.get(id) {
            Some(times) if *times > 1 => format!("{id}~{times}").into(),
            _ => id.clone(),
        }
    }

    fn open(&mut self, id: &Key) -> Key {
        let times = self.0.entry(id.clone()).or_default();
        *times = times.saturating_add(1);
        self.key(id)
    }
}

impl Answer {
    /// An answer of which nothing is known but its name.
    pub(crate) fn new(key: Key) -> Answer {
        Answer { key, id: None, first: None, choices: BTreeMap::new(), ended: false }
    }

    /// Takes what a chunk says of one choice.
    pub(crate) fn choice(&mut self, line: &Line, choice: &Choice, calls: &mut Calls, out: &mut Vec<Event>) {
        let start = out.len();
        self.parts(line, choice, calls, out);
        if self.first.is_none() {
            self.first = out[start..].iter().find_map(|event| match event {
                Event::Put { key, .. } => Some(key.clone()),
                _ => None,
            });
        }
        self.finish(line, choice, out);
    }

    fn parts(&mut self, line: &Line, choice: &Choice, calls: &mut Calls, out: &mut Vec<Event>) {
        let prefix = format!("{}/{}", self.key, choice.index);
        let progress = self.choices.entry(choice.index).or_default();
        for (kind, span) in &choice.texts {
            progress.grow(&self.key, &prefix, *kind, line.text(*span), out);
        }
        for part in &choice.calls {
            progress.complete_text(&self.key, out);
            if let Some(call) = progress.call(&prefix, line, part, calls) {
                call.grow(&self.key, line, part, out);
            }
        }
    }

    fn finish(&mut self, line: &Line, choice: &Choice, out: &mut Vec<Event>) {
        let Some(finish) = choice.finish else { return };
        let progress = self.choices.entry(choice.index).or_default();
        progress.complete(&self.key, out);
        let calls = !progress.calls.is_empty();
        match line.word(finish) {
            b"error" => self.fail(None, out),
            // Servers also say "stop" after tool calls: the turn goes on when there are any.
            _ if calls => {}
            b"length" => self.end("The answer was cut off at the token limit", out),
            b"content_filter" => self.end("The answer was stopped by a content filter", out),
            _ => self.end("", out),
        }
    }

    /// Nothing more will come.
    pub(crate) fn done(&mut self, out: &mut Vec<Event>) {
        for progress in self.choices.values_mut() {
            progress.complete(&self.key, out);
        }
        if self.choices.values().all(|progress| progress.calls.is_empty()) {
            self.end("", out);
        }
    }

    /// The server gave up in the middle.
    pub(crate) fn fail(&mut self, error: Option<Text>, out: &mut Vec<Event>) {
        for progress in self.choices.values_mut() {
            progress.complete(&self.key, out);
        }
        self.ended = true;
        out.push(Event::Turn { turn: Turn::Failed { error } });
    }

    fn end(&mut self, remark: &str, out: &mut Vec<Event>) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        if !remark.is_empty() {
            let notice = Notice { kind: NoticeKind::Warning, text: remark.into() };
            out.push(Event::notice(format!("{}/stop", self.key), notice));
        }
        out.push(Event::Turn { turn: Turn::Done });
    }
}

impl Progress {
    fn grow(&mut self, message: &Key, prefix: &str, kind: TextKind, text: Text, out: &mut Vec<Event>) {
        if self.text.as_ref().is_some_and(|open| open.kind != kind) {
            self.complete_text(message, out);
        }
        let texts = &mut self.texts;
        let open = self.text.get_or_insert_with(|| {
            let key: Key = format!("{prefix}/{texts}").into();
            *texts = texts.saturating_add(1);
            out.push(put(key.clone(), message, text_block(kind, Text::default(), true)));
            Open { key, kind, text: String::new() }
        });
        open.text.push_str(&text.as_str());
        let part = if kind == TextKind::Thought { Part::Thought } else { Part::Reply };
        out.push(Event::Grow { key: open.key.clone(), part, text });
    }

    /// The call that a part is about, which may be new.
    fn call(&mut self, prefix: &str, line: &Line, part: &CallPart, ids: &mut Calls) -> Option<&mut Call> {
        let id = part.id.map(|span| line.key(span));
        let index = self.find(part.index, id.as_ref(), part.name.is_some()).unwrap_or_else(|| {
            let unnamed = || format!("{prefix}/call-{}", self.calls.len()).into();
            let key = id.as_ref().map_or_else(unnamed, |id| ids.open(id));
            let (name, arguments) = (Key::default(), String::new());
            self.calls.push(Call { key, index: part.index, id, name, arguments, complete: false });
            self.calls.len() - 1
        });
        self.calls.get_mut(index)
    }

    /// The call that a part belongs to. A new id with a name is a new call even at the same index; a new id without a
    /// name is a gateway's noise.
    fn find(&self, index: Option<u64>, id: Option<&Key>, named: bool) -> Option<usize> {
        let same_id = |call: &Call| id.is_some() && call.id.as_ref() == id;
        if let Some(found) = self.calls.iter().rposition(same_id) {
            return Some(found);
        }
        let at = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index)?,
            None => self.calls.len().checked_sub(1)?,
        };
        let call = self.calls.get(at)?;
        let another = named && (id.is_some() && call.id.is_some() || is_object(&call.arguments));
        (!another).then_some(at)
    }

    fn complete(&mut self, message: &Key, out: &mut Vec<Event>) {
        self.complete_text(message, out);
        for call in self.calls.iter_mut().filter(|call| !call.complete) {
            call.complete = true;
            out.push(put(call.key.clone(), message, Block::Tool(Box::new(call.tool()))));
        }
    }

    fn complete_text(&mut self, message: &Key, out: &mut Vec<Event>) {
        if let Some(open) = self.text.take() {
            out.push(put(open.key, message, text_block(open.kind, open.text.into(), false)));
        }
    }
}

impl Call {
    fn grow(&mut self, message: &Key, line: &Line, part: &CallPart, out: &mut Vec<Event>) {
        if let Some(name) = part.name.filter(|_| self.name.is_empty()) {
            self.name = line.key(name);
            out.push(put(self.key.clone(), message, Block::Tool(Box::new(self.tool()))));
        }
        let fragment = match (part.object, part.arguments) {
            (Some(object), _) => Text::plain(line.bytes().slice(object.start..object.end)),
            (None, Some(arguments)) => line.text(arguments),
            (None, None) => return,
        };
        if !fragment.is_empty() {
            self.arguments.push_str(&fragment.as_str());
            self.complete = false;
            out.push(Event::Grow { key: self.key.clone(), part: Part::Input, text: fragment });
        }
    }

    /// The call as far as it is known. No arguments at all are an empty object, but only once it is complete.
    fn tool(&self) -> Tool {
        let input = match (self.complete, self.arguments.trim().is_empty()) {
            (false, true) => Json::default(),
            (true, true) => Json::new(Bytes::from_static(b"{}")),
            (_, false) => Json::new(Bytes::from(self.arguments.clone())),
        };
        Tool::call(self.name.clone(), input)
    }
}

fn text_block(kind: TextKind, text: Text, streaming: bool) -> Block {
    match kind {
        TextKind::Thought => Block::Thought(Thought { text, streaming, ..Thought::default() }),
        TextKind::Reply => Block::Reply(Reply { text, streaming, ..Reply::default() }),
    }
}

fn put(key: Key, message: &Key, block: Block) -> Event {
    Event::Put { key, under: None, message: Some(message.clone()), block }
}

/// True when the fragments so far are a whole JSON object.
fn is_object(arguments: &str) -> bool {
    let mut reader = Reader::new(arguments.as_bytes());
    reader.object(|_, _| {}) && reader.finish().is_none()
}
