//! cli-bridge: the agent's messages for a phone, live in envelopes, stored, as history, or bare.
//! Partial text is kept as growing text; it is the receiver's business to skip it.

use std::collections::HashMap;

use parlor_model::Key;
use parlor_model::block::{Block, Notice, NoticeKind, Reply, Thought, Unknown};
use parlor_model::event::{Ask, Event, Fate, Meta, Part, Reading, Turn};
use parlor_model::json::{Json, Reader};
use parlor_model::line::Line;
use parlor_model::rule::Rule;
use parlor_model::text::Text;
use parlor_model::tool::{Output, Tool, ToolState};

use crate::Dialect;
use crate::blocks::{Content, Outcome, Place, only_caveat, only_text};
use crate::calls::Calls;
use crate::decoder::unknown;

mod claim;
mod message;
#[cfg(test)]
mod tests;

pub(crate) use claim::claim;
use message::{Envelope, Message};

const GREETING: &str = "Session initialized with model ";

/// Reads cli-bridge's lines.
#[derive(Debug, Default)]
pub(crate) struct Bridge {
    count: u64,
    turns: u64,
    /// Whether the agent works; unknown until it says so.
    busy: Option<bool>,
    /// Text that streams in.
    reply: Option<Stream>,
    thought: Option<Stream>,
    /// The last complete reply, to compare the final result with.
    last: Text,
    calls: Calls,
    /// Blocks that were opened under another name than the record's: streamed text, calls that were asked about first.
    names: HashMap<Key, Key>,
    session: Option<Key>,
    model: Option<Key>,
}

/// A block that grows.
#[derive(Debug)]
struct Stream {
    key: Key,
    text: String,
}

impl Dialect for Bridge {
    fn read(&mut self, line: &Line, out: &mut Vec<Event>) -> Reading {
        let mut reader = Reader::new(line.bytes());
        let mut envelope = Envelope::default();
        let object = reader.object(|reader, key| envelope.take(reader, line, key));
        if !object || reader.finish().is_some() {
            return unknown(line, "");
        }
        if let Some(list) = envelope.list {
            return self.history(list, out);
        }
        let (record, message) = envelope.open();
        let (kind, at) = (message.kind.clone().unwrap_or_default(), message.at);
        match self.message(record, message, out) {
            Some(fate) => Reading { fate, at },
            None => unknown(line, &kind),
        }
    }
}

impl Bridge {
    fn history(&mut self, list: Vec<Envelope>, out: &mut Vec<Event>) -> Reading {
        let mut whole = Reading::hidden(Rule::Protocol, None);
        for (index, envelope) in list.into_iter().enumerate() {
            let (record, message) = envelope.open();
            let (kind, at, raw) = (message.kind.clone(), message.at, message.raw.clone());
            let fate = self.message(record, message, out).unwrap_or_else(|| {
                self.count += 1;
                let unknown = Unknown { kind: kind.unwrap_or(Key::new_static("untyped")), raw };
                out.push(Event::put(format!("n{}", self.count), Block::Unknown(unknown)));
                Fate::Shown
            });
            if index == 0 || fate == Fate::Shown {
                whole.fate = fate;
            }
            whole.at = whole.at.or(at);
        }
        whole
    }

    /// Says what one message says; `None` when nobody knows its kind.
    fn message(&mut self, record: Option<Key>, message: Message, out: &mut Vec<Event>) -> Option<Fate> {
        // Work that nobody announced is work: the next report of being idle is no repetition.
        if self.busy == Some(false)
            && matches!(message.kind.as_deref(), Some("user" | "assistant" | "tool_use"))
        {
            self.busy = None;
        }
        Some(match message.kind.as_deref()? {
            // Other tools' messages have the same types, and their words elsewhere.
            "assistant" | "thinking" | "user" | "system" if !message.has_content => return None,
            "assistant" => self.assistant(record, message, out),
            "thinking" => self.thinking(record, message, out),
            "user" => self.user(record, message, out),
            "system" => self.system(message, out),
            "tool_use" => self.tool_use(message, out),
            "tool_result" => self.tool_result(message, out),
            "progress" => self.progress(message, out),
            "subagent_start" => self.subagent_start(message, out),
            "subagent_complete" => self.subagent_complete(message, out),
            "usage" => self.usage(message, out),
            "state" => self.state(message, out),
            "permission" | "question" => self.permission(message, out),
            "interrupted" => {
                self.close();
                self.busy = Some(false);
                out.push(Event::Turn { turn: Turn::Interrupted { reason: Key::new_static("interrupted") } });
                Fate::Shown
            }
            "connected" => {
                self.facts(&message, out);
                Fate::Hidden(Rule::Init)
            }
            "error" => self.notice(NoticeKind::Error, message.words.unwrap_or_default(), out),
            "permission_mode_changed" => Fate::Hidden(Rule::Status),
            "ping" | "pong" => Fate::Hidden(Rule::Protocol),
            _ => return None,
        })
    }

    fn assistant(&mut self, record: Option<Key>, message: Message, out: &mut Vec<Event>) -> Fate {
        let text = match (only_text(&message.contents), message.delta) {
            (Some(text), _) => text.clone(),
            (None, Some(true)) => return Fate::Hidden(Rule::Step),
            (None, _) => return self.blocks(record, message, out),
        };
        if message.delta == Some(true) {
            return grow(&mut self.reply, &mut self.count, Part::Reply, text, out);
        }
        let key = self.complete(record, Part::Reply, &text);
        self.last = text.clone();
        if text.is_empty() {
            return Fate::Hidden(Rule::Step);
        }
        out.push(Event::put(key, Block::Reply(Reply { text, ..Reply::default() })));
        Fate::Shown
    }

    fn thinking(&mut self, record: Option<Key>, message: Message, out: &mut Vec<Event>) -> Fate {
        let text = message.thinking.or_else(|| only_text(&message.contents).cloned()).unwrap_or_default();
        if message.delta == Some(true) {
            return grow(&mut self.thought, &mut self.count, Part::Thought, text, out);
        }
        let key = self.complete(record, Part::Thought, &text);
        out.push(Event::put(key, Block::Thought(Thought { text, ..Thought::default() })));
        Fate::Shown
    }

    /// A message in the SDK's form: its content is blocks.
    fn blocks(&mut self, record: Option<Key>, message: Message, out: &mut Vec<Event>) -> Fate {
        for content in &message.contents {
            match content {
                Content::Text(text) => self.last = text.clone(),
                Content::Call { id: Some(id), name, input } => self.calls.made(id, name, input),
                Content::Result(outcome) => self.calls.ended(&outcome.id),
                _ => {}
            }
        }
        let place = Place { key: self.fresh(record, "m"), ..Place::default() };
        let said = match message.kind.as_deref() {
            Some("user") => place.ask(message.contents, out),
            _ => place.answer(message.contents, out),
        };
        if said { Fate::Shown } else { Fate::Hidden(Rule::Step) }
    }

    fn user(&mut self, record: Option<Key>, message: Message, out: &mut Vec<Event>) -> Fate {
        self.close();
        if only_caveat(&message.contents) {
            return Fate::Hidden(Rule::Caveat);
        }
        self.blocks(record, message, out)
    }

    fn system(&mut self, message: Message, out: &mut Vec<Event>) -> Fate {
        let text = only_text(&message.contents).cloned().unwrap_or_default();
        match message.subtype.as_deref() {
            Some("init") => {
                let words = text.as_str();
                let model = words.strip_prefix(GREETING).map(|model| Key::from(model.trim()));
                self.facts(&Message { model, ..message }, out);
                Fate::Hidden(Rule::Init)
            }
            Some("result") => {
                let streamed = self.reply.as_ref().map_or("", |stream| stream.text.trim());
                let same = text.is_blank()
                    || *text.as_str().trim() == *self.last.as_str().trim()
                    || *text.as_str().trim() == *streamed;
                if same { Fate::Hidden(Rule::SameResult) } else { self.notice(NoticeKind::Result, text, out) }
            }
            Some(subtype) => self.notice(NoticeKind::Status { name: subtype.into() }, text, out),
            None => self.notice(NoticeKind::Info, text, out),
        }
    }

    fn tool_use(&mut self, message: Message, out: &mut Vec<Event>) -> Fate {
        let name = message.name.or(message.tool).unwrap_or_default();
        let key = match message.id {
            Some(id) => match self.calls.asked_about(&name, &message.input).filter(is_request) {
                // The question came first, under its own id: this is the call that it was about.
                Some(asked) if !self.names.contains_key(&id) => {
                    self.names.insert(id, asked.clone());
                    asked
                }
                _ => self.named(id),
            },
            None => self.fresh(None, "t"),
        };
        self.calls.made(&key, &name, &message.input);
        let tool = Tool { title: message.title, ..Tool::call(name, message.input) };
        out.push(Event::put(key.clone(), Block::Tool(Box::new(tool))));
        if let Some(output) = message.result {
            self.calls.ended(&key);
            out.push(Outcome { id: key, name: None, failed: message.failed, output }.event());
        }
        Fate::Shown
    }

    fn tool_result(&mut self, message: Message, out: &mut Vec<Event>) -> Fate {
        let key = match message.id {
            Some(id) => self.named(id),
            None => self.fresh(None, "t"),
        };
        self.calls.ended(&key);
        let output = message.output.unwrap_or_default();
        out.push(
            Outcome { id: key, name: message.tool.or(message.name), failed: message.failed, output }.event(),
        );
        Fate::Shown
    }

    /// A call that takes long: it runs. How long is for whoever has a clock.
    fn progress(&mut self, message: Message, out: &mut Vec<Event>) -> Fate {
        let Some(key) = message.id.map(|id| self.named(id)) else { return Fate::Hidden(Rule::Status) };
        if self.calls.is_open(&key) {
            out.push(Event::Ask { key, ask: None });
        }
        Fate::Hidden(Rule::Status)
    }

    fn subagent_start(&mut self, message: Message, out: &mut Vec<Event>) -> Fate {
        let Some(id) = message.id else {
            return self.notice(NoticeKind::Task, message.description.unwrap_or_default(), out);
        };
        let key = self.named(id);
        if self.calls.is_open(&key) {
            return Fate::Hidden(Rule::Step);
        }
        let description = message.description.unwrap_or_default();
        let input = Json::from(serde_json::json!({ "description": description.as_str() }));
        let name = Key::new_static("Task");
        self.calls.made(&key, &name, &input);
        // Named by the subagent's own id, so that its end finds the task that its start opened.
        self.names.insert(format!("subagent {key}").into(), key.clone());
        let tool = Tool { state: ToolState::Running, ..Tool::call(name, input) };
        out.push(Event::put(key, Block::Tool(Box::new(tool))));
        Fate::Shown
    }

    fn subagent_complete(&mut self, message: Message, out: &mut Vec<Event>) -> Fate {
        let summary = message.summary.unwrap_or_default();
        let Some(id) = message.id else { return self.notice(NoticeKind::Task, summary, out) };
        let key = self.named(id);
        if self.names.remove(format!("subagent {key}").as_str()).is_none() && self.calls.is_open(&key) {
            // The task's own result follows and says the same.
            return Fate::Hidden(Rule::Step);
        }
        self.calls.ended(&key);
        let output = if summary.is_empty() { Output::default() } else { Output::text(summary) };
        out.push(Outcome { id: key, name: Some("Task".into()), failed: false, output }.event());
        Fate::Shown
    }

    fn usage(&mut self, message: Message, out: &mut Vec<Event>) -> Fate {
        let turn = format!("turn{}", self.turns).into();
        out.push(Event::Usage { message: turn, usage: message.usage });
        let facts = [
            message.cost.map(|usd| Meta::Cost { usd }),
            message.context.map(|tokens| Meta::Context { tokens }),
            message.window.map(|tokens| Meta::ContextWindow { tokens }),
        ];
        out.extend(facts.into_iter().flatten().map(|meta| Event::Meta { meta }));
        Fate::Hidden(Rule::Usage)
    }

    fn state(&mut self, message: Message, out: &mut Vec<Event>) -> Fate {
        match message.state.as_deref() {
            Some("idle") if self.busy == Some(false) => return Fate::Hidden(Rule::SameIdle),
            Some("idle") => {
                self.close();
                self.busy = Some(false);
                self.turns += 1;
                out.push(Event::Turn { turn: Turn::Done });
            }
            Some("thinking" | "executing") => {
                out.extend(self.calls.answer_all().map(|key| Event::Ask { key, ask: None }));
                if self.busy != Some(true) {
                    out.push(Event::Turn { turn: Turn::Start });
                }
                self.busy = Some(true);
            }
            _ => {}
        }
        Fate::Hidden(Rule::Status)
    }

    /// An approval or a question, tied to its call: by the call's id, or by its name and input.
    fn permission(&mut self, message: Message, out: &mut Vec<Event>) -> Fate {
        let name = message.tool.or(message.name).unwrap_or(Key::new_static("AskUserQuestion"));
        let id = message.id.unwrap_or_else(|| self.fresh(None, "q"));
        let key = self.named(id.clone());
        let key = if self.calls.is_open(&key) {
            key
        } else {
            self.calls.find(&name, &message.input).unwrap_or_else(|| request(&id))
        };
        if !self.calls.is_open(&key) {
            self.calls.made(&key, &name, &message.input);
            out.push(Event::put(key.clone(), Block::Tool(Box::new(Tool::call(name, message.input)))));
        }
        self.calls.ask(id.clone(), key.clone());
        out.push(Event::Ask {
            key,
            ask: Some(Ask { id, reason: message.question, options: message.options }),
        });
        Fate::Shown
    }

    /// The block that a complete text belongs to: the one that streamed it, or one of its own.
    fn complete(&mut self, record: Option<Key>, part: Part, text: &Text) -> Key {
        let stream = if part == Part::Thought { &mut self.thought } else { &mut self.reply };
        // A stream whose text is no part of this one was never completed: it stays as it is.
        let same = stream.take().filter(|stream| text.as_str().contains(stream.text.trim()));
        match (same, record) {
            (Some(stream), Some(record)) => {
                self.names.insert(record, stream.key.clone());
                stream.key
            }
            (Some(stream), None) => stream.key,
            (None, Some(record)) => self.named(record),
            (None, None) => self.fresh(None, "m"),
        }
    }

    /// No more text comes for what was streamed.
    fn close(&mut self) {
        self.reply = None;
        self.thought = None;
    }

    fn named(&self, id: Key) -> Key {
        self.names.get(&id).cloned().unwrap_or(id)
    }

    fn fresh(&mut self, record: Option<Key>, letter: &str) -> Key {
        record.unwrap_or_else(|| {
            self.count += 1;
            format!("{letter}{}", self.count).into()
        })
    }

    fn notice(&mut self, kind: NoticeKind, text: Text, out: &mut Vec<Event>) -> Fate {
        self.count += 1;
        out.push(Event::notice(format!("n{}", self.count), Notice { kind, text }));
        Fate::Shown
    }

    fn facts(&mut self, message: &Message, out: &mut Vec<Event>) {
        if let Some(id) = message.session.clone().filter(|id| self.session.as_ref() != Some(id)) {
            self.session = Some(id.clone());
            out.push(Event::Meta { meta: Meta::Id { id } });
        }
        if let Some(name) = message.model.clone().filter(|name| self.model.as_ref() != Some(name)) {
            self.model = Some(name.clone());
            out.push(Event::Meta { meta: Meta::Model { name } });
        }
    }
}

/// The block of a question whose call has not been told.
fn request(id: &Key) -> Key {
    format!("request {id}").into()
}

fn is_request(key: &Key) -> bool {
    key.starts_with("request ")
}

fn grow(stream: &mut Option<Stream>, count: &mut u64, part: Part, text: Text, out: &mut Vec<Event>) -> Fate {
    let stream = stream.get_or_insert_with(|| {
        *count += 1;
        Stream { key: format!("m{count}").into(), text: String::new() }
    });
    if text.is_empty() {
        return Fate::Hidden(Rule::Step);
    }
    stream.text.push_str(&text.as_str());
    out.push(Event::Grow { key: stream.key.clone(), part, text });
    Fate::Shown
}
