//! Pi's messages become blocks, named alike whether they were streamed or stored. It knows no envelopes and no turns'
//! true ends: the stream and the file each have their own.

use std::collections::{BTreeMap, HashMap, HashSet};

use parlor_model::Key;
use parlor_model::block::{Author, Block, Notice, NoticeKind, Prompt, Reply, Thought};
use parlor_model::event::{End, Event, Fate, Meta, Turn};
use parlor_model::json::Json;
use parlor_model::line::Line;
use parlor_model::rule::Rule;
use parlor_model::text::Text;
use parlor_model::tool::{Tool, ToolState};

use super::message::{Item, Message, json_text};

/// What is remembered between messages.
#[derive(Debug, Default)]
pub(crate) struct Talk {
    model: Option<Key>,
    cost_usd: f64,
    names: HashMap<Key, u32>,
    calls: HashMap<Key, Call>,
    unanswered: Vec<Key>,
    open: HashSet<Key>,
    failure: Option<(Key, Text)>,
    compactions: u32,
}

/// Where a tool call is.
#[derive(Debug, Clone)]
struct Call {
    key: Key,
    message: Option<Key>,
    path: Option<Text>,
    uses: u32,
}

/// The keys that streamed blocks of a message already have, by their place in the content.
pub(crate) type Opened = BTreeMap<u64, Key>;

impl Talk {
    /// Names a message: by its role and time, which the stream and the file agree on.
    pub(crate) fn name(&mut self, line: &Line, message: &Message) -> Key {
        let role = String::from_utf8_lossy(message.role(line)).into_owned();
        let stamp = message.stamp.map_or("", |span| std::str::from_utf8(line.word(span)).unwrap_or_default());
        self.unique(format!("{role}-{}", stamp.trim_matches('"')).into())
    }

    /// A name that no other message has: what comes again under one name is another one.
    pub(crate) fn unique(&mut self, base: Key) -> Key {
        let times = self.names.entry(base.clone()).or_default();
        *times = times.saturating_add(1);
        if *times == 1 { base } else { format!("{base}~{times}").into() }
    }

    /// Says a complete message. Returns its fate, and the turn it begins or ends.
    pub(crate) fn say(
        &mut self,
        line: &Line,
        message: &Message,
        key: &Key,
        opened: &Opened,
        out: &mut Vec<Event>,
    ) -> (Fate, Option<Turn>) {
        match message.role(line) {
            b"user" => {
                self.failure = None;
                // Pi answers every call before it takes a prompt: what is open now was lost with its process.
                let lost = self.unanswered.drain(..).filter(|key| self.open.remove(key));
                out.extend(lost.map(|key| Event::End { key, end: End::Interrupted }));
                out.push(Event::put(key.clone(), Block::Prompt(prompt(line, message, Author::Person))));
                (Fate::Shown, Some(Turn::Start))
            }
            b"assistant" => self.say_assistant(line, message, key, opened, out),
            b"toolResult" => {
                let id = json_text(line, message.tool_call).unwrap_or_else(|| key.clone());
                self.answer(line, message, &id, out);
                (Fate::Shown, None)
            }
            b"bashExecution" => {
                out.push(Event::notice(key.clone(), command(line, message)));
                (Fate::Shown, None)
            }
            b"custom" | b"hookMessage" if message.hidden => (Fate::Hidden(Rule::Injected), None),
            b"custom" | b"hookMessage" => {
                out.push(Event::put(key.clone(), machine_prompt(line, message)));
                (Fate::Shown, None)
            }
            b"compactionSummary" => {
                self.compacted(line, message, out);
                (Fate::Shown, None)
            }
            b"branchSummary" => {
                out.push(Event::notice(key.clone(), summary(line, message)));
                (Fate::Shown, None)
            }
            b"system" | b"developer" => (Fate::Hidden(Rule::Instructions), None),
            _ => (Fate::Unknown(json_text(line, message.role).unwrap_or_else(|| "message".into())), None),
        }
    }

    /// The key of the call of that id made in `message`. An id that comes again in another message is another call.
    pub(crate) fn call(&mut self, id: &Key, message: Option<&Key>) -> Key {
        match self.calls.get_mut(id) {
            Some(call) if message.is_none() || call.message.is_none() || call.message.as_ref() == message => {
                call.message = call.message.take().or_else(|| message.cloned());
                call.key.clone()
            }
            Some(call) => {
                call.uses = call.uses.saturating_add(1);
                call.key = format!("{id}~{}", call.uses).into();
                call.message = message.cloned();
                call.key.clone()
            }
            None => {
                let call = Call { key: id.clone(), message: message.cloned(), path: None, uses: 1 };
                self.calls.insert(id.clone(), call);
                id.clone()
            }
        }
    }

    /// True when a call of that id was made.
    pub(crate) fn knows(&self, id: &str) -> bool {
        self.calls.contains_key(id)
    }

    /// Puts a call in its current form.
    pub(crate) fn put_call(&mut self, id: &Key, message: Option<&Key>, tool: Tool, out: &mut Vec<Event>) {
        let key = self.call(id, message);
        if let Some(call) = self.calls.get_mut(id).filter(|_| tool.name == "edit") {
            let path = ["path", "file_path"].iter().find_map(|field| tool.input.field_text(field));
            call.path = path.map(|path| path.detach()).or(call.path.take());
        }
        if !tool.state.is_final() && self.open.insert(key.clone()) {
            self.unanswered.push(key.clone());
        }
        let message = self.calls.get(id).and_then(|call| call.message.clone());
        out.push(Event::Put { key, under: None, message, block: Block::Tool(Box::new(tool)) });
    }

    /// Gives a call its result.
    pub(crate) fn answer(&mut self, line: &Line, result: &Message, id: &Key, out: &mut Vec<Event>) {
        let call = self.calls.get(id);
        let key = call.map_or_else(|| id.clone(), |call| call.key.clone());
        let (state, output) = result.result(line, call.and_then(|call| call.path.as_ref()));
        self.open.remove(&key);
        let name = json_text(line, result.tool_name);
        out.push(Event::End { key, end: End::Result { name, state, output: Box::new(output) } });
    }

    /// The model answers again after an error: the error becomes a remark about the retry.
    pub(crate) fn retried(&mut self, out: &mut Vec<Event>) -> bool {
        let Some((key, text)) = self.failure.take() else { return false };
        out.push(Event::notice(key, Notice { kind: NoticeKind::Retry, text }));
        true
    }

    /// The context was compacted.
    pub(crate) fn compacted(&mut self, line: &Line, message: &Message, out: &mut Vec<Event>) {
        self.compactions = self.compactions.saturating_add(1);
        let text = message.summary.map(|span| line.text(span)).unwrap_or_default();
        let kind = NoticeKind::Compaction { before: message.tokens_before, after: None };
        out.push(Event::notice(format!("compaction-{}", self.compactions), Notice { kind, text }));
    }

    /// Says the model when it is another one.
    pub(crate) fn set_model(&mut self, name: Option<Key>, out: &mut Vec<Event>) {
        if name.is_some() && self.model != name {
            self.model = name.clone();
            out.extend(name.map(|name| Event::Meta { meta: Meta::Model { name } }));
        }
    }

    fn say_assistant(
        &mut self,
        line: &Line,
        message: &Message,
        key: &Key,
        opened: &Opened,
        out: &mut Vec<Event>,
    ) -> (Fate, Option<Turn>) {
        self.retried(out);
        self.set_model(json_text(line, message.model), out);
        let events = out.len();
        let stop = Stop::of(line, message);
        let cut = matches!(stop, Stop::Aborted | Stop::Error);
        for (index, item) in message.content.iter().enumerate() {
            let last = index + 1 == message.content.len();
            let place = Place { line, key, index: index as u64, cut, last: cut && last };
            self.say_item(&place, item, opened, out);
        }
        if let Some(usage) = message.usage {
            out.push(Event::Meta { meta: Meta::Context { tokens: usage.context() } });
            out.push(Event::Usage { message: key.clone(), usage });
        }
        if message.cost > 0.0 {
            self.cost_usd += message.cost;
            out.push(Event::Meta { meta: Meta::Cost { usd: self.cost_usd } });
        }
        let turn = match stop {
            Stop::Aborted => Some(Turn::Interrupted { reason: "aborted".into() }),
            Stop::Error => {
                // The notice is Pi's own block, so that a retry can still change what it says.
                let text =
                    message.error.map_or_else(|| "The model gave an error".into(), |span| line.text(span));
                let notice = Notice { kind: NoticeKind::Error, text: text.clone() };
                let name: Key = format!("{key}/error").into();
                out.push(Event::notice(name.clone(), notice));
                self.failure = Some((name, text));
                Some(Turn::Failed { error: None })
            }
            Stop::Length => {
                let text = "The answer was cut off at the token limit".into();
                out.push(Event::notice(format!("{key}/stop"), Notice { kind: NoticeKind::Warning, text }));
                Some(Turn::Done)
            }
            Stop::Done => Some(Turn::Done),
            Stop::More => None,
        };
        let shown = |event: &Event| matches!(event, Event::Put { .. });
        let visible = out.get(events..).unwrap_or_default().iter().any(shown) || stop == Stop::Aborted;
        (if visible { Fate::Shown } else { Fate::Hidden(Rule::Step) }, turn)
    }

    fn say_item(&mut self, place: &Place<'_>, item: &Item, opened: &Opened, out: &mut Vec<Event>) {
        let Place { line, key, index, .. } = *place;
        let name = || opened.get(&index).cloned().unwrap_or_else(|| format!("{key}/{index}").into());
        let put = |name: Key, block: Block| Event::Put {
            key: name,
            under: None,
            message: Some(key.clone()),
            block,
        };
        match item.kind.map(|kind| line.word(kind)) {
            Some(b"text") | None if item.text.is_some_and(|text| text.start < text.end) => {
                let text = item.text.map(|span| line.text(span)).unwrap_or_default();
                out.push(put(
                    name(),
                    Block::Reply(Reply { text, streaming: false, interrupted: place.last }),
                ));
            }
            Some(b"text") | None => {}
            Some(b"thinking") => {
                let text = item.thinking.map(|span| line.text(span)).unwrap_or_default();
                let thought =
                    Thought { text, redacted: item.redacted, interrupted: place.last, ..Thought::default() };
                out.push(put(name(), Block::Thought(thought)));
            }
            Some(b"toolCall") => {
                let id = json_text(line, item.id).unwrap_or_else(name);
                if let Some(key) = opened.get(&index).filter(|key| **key != id && !self.knows(&id)) {
                    // It was streamed before its id was known: the id now names that block.
                    let call =
                        Call { key: key.clone(), message: Some(place.key.clone()), path: None, uses: 1 };
                    self.calls.insert(id.clone(), call);
                }
                // Pi does not run the calls of a message that was cut off.
                let state = if place.cut { ToolState::Interrupted } else { ToolState::Pending };
                self.put_call(&id, Some(key), Tool { state, ..item.tool(line) }, out);
            }
            Some(kind) => {
                let kind = String::from_utf8_lossy(kind).into();
                let unknown = parlor_model::block::Unknown { kind, raw: line.json(item.raw) };
                out.push(put(name(), Block::Unknown(unknown)));
            }
        }
    }
}

impl Item {
    /// The call this is.
    pub(crate) fn tool(&self, line: &Line) -> Tool {
        let input = self.arguments.map_or_else(Json::default, |span| line.json(span));
        Tool::call(json_text(line, self.name).unwrap_or_else(|| "tool".into()), input)
    }
}

/// Where an item stands in its message.
struct Place<'a> {
    line: &'a Line,
    key: &'a Key,
    index: u64,
    /// The message was cut off.
    cut: bool,
    /// It was cut off in this item.
    last: bool,
}

/// Why the model stopped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    Done,
    Length,
    Error,
    Aborted,
    More,
}

impl Stop {
    fn of(line: &Line, message: &Message) -> Stop {
        let error = message.error.map_or(&b""[..], |span| line.word(span));
        match message.stop.map(|span| line.word(span)) {
            Some(b"aborted") => Stop::Aborted,
            // An abort between two model calls is reported as the failure of the second one.
            Some(b"error") if error == b"This operation was aborted" => Stop::Aborted,
            Some(b"error") => Stop::Error,
            Some(b"length") => Stop::Length,
            Some(b"toolUse" | b"pending") => Stop::More,
            Some(_) => Stop::Done,
            None if message.content.iter().any(|item| item.arguments.is_some()) => Stop::More,
            None => Stop::Done,
        }
    }
}

/// The summary of a branch that was left.
pub(crate) fn summary(line: &Line, message: &Message) -> Notice {
    let text = message.summary.map(|span| line.text(span)).unwrap_or_default();
    Notice { kind: NoticeKind::Info, text }
}

/// What an extension told the model and shows to the person.
pub(crate) fn machine_prompt(line: &Line, message: &Message) -> Block {
    Block::Prompt(prompt(line, message, Author::Machine))
}

fn prompt(line: &Line, message: &Message, author: Author) -> Prompt {
    Prompt { text: message.text(line), author, attachments: message.attachments(line), ..Prompt::default() }
}

/// A command that the person ran with `!`.
fn command(line: &Line, message: &Message) -> Notice {
    let command = message.command.map(|span| line.text(span)).unwrap_or_default();
    let mut text = message.output.map(|span| line.text(span)).unwrap_or_default();
    if message.cancelled {
        text.push("\n(cancelled)");
    } else if let Some(code) = message.exit_code.filter(|code| *code != 0) {
        text.push(&format!("\n(exit code {code})"));
    }
    Notice { kind: NoticeKind::Command { command: format!("!{command}").into() }, text }
}
