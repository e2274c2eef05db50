//! `pi --mode json` and `pi --mode rpc`: events, answers, and the commands that went in. Streamed blocks are assembled
//! by their content index; the complete message has the last word.

mod record;

use std::collections::{HashMap, HashSet};

use parlor_model::Key;
use parlor_model::block::{Block, Notice, NoticeKind, Reply, Thought};
use parlor_model::event::{Event, Fate, Meta, Part, Reading, TitleRank, Turn};
use parlor_model::json::{Json, Kind, Reader};
use parlor_model::line::Line;
use parlor_model::rule::Rule;
use parlor_model::text::Text;
use parlor_model::tool::{Output, Tool, ToolState};

use self::record::{Record, Step, is_command};
use crate::decoder::unknown;
use crate::pi::{Message, Opened, Talk, json_text};
use crate::{Claim, Dialect};

/// Reads the old stream, which repeats the whole message with every event, and the new one, which does not.
#[derive(Debug, Default)]
pub(crate) struct PiEvents {
    talk: Talk,
    current: Option<Current>,
    ending: Option<Turn>,
    outputs: HashMap<Key, String>,
    answered: HashSet<Key>,
    remarks: u32,
}

/// The assistant's message that is being streamed.
#[derive(Debug)]
struct Current {
    key: Key,
    opened: Opened,
}

impl Dialect for PiEvents {
    fn read(&mut self, line: &Line, out: &mut Vec<Event>) -> Reading {
        let mut reader = Reader::new(line.bytes());
        let mut record = Record::default();
        let is_object = reader.object(|reader, key| record.field(reader, key, line));
        let kind = json_text(line, record.kind).unwrap_or_default();
        if reader.finish().is_some() || !is_object || kind.is_empty() {
            return unknown(line, "");
        }
        if let Some(result) = &mut record.result {
            result.is_error = record.is_error;
            result.duration_ms = record.duration_ms;
            result.tool_name = record.name;
        }
        let at = record.message.as_ref().and_then(|message| message.at).or(record.header.at);
        match self.record(line, &kind, &record, out) {
            Fate::Unknown(kind) => Reading { at, ..unknown(line, &kind) },
            fate => Reading { fate, at },
        }
    }
}

impl PiEvents {
    fn record(&mut self, line: &Line, kind: &str, record: &Record, out: &mut Vec<Event>) -> Fate {
        match kind {
            "session" => {
                record.header.tell(line, out);
                Fate::Hidden(Rule::Init)
            }
            "agent_start" => {
                self.ending = None;
                out.push(Event::Turn { turn: Turn::Start });
                Fate::Hidden(Rule::Step)
            }
            "message_start" => self.message_start(line, record.message.as_ref()),
            "message_update" => self.step(line, &record.step, out),
            "message_end" => self.message_end(line, record.message.as_ref(), out),
            "tool_execution_start" | "tool_execution_update" | "tool_execution_end" => {
                self.execution(line, kind, record, out)
            }
            "agent_end" | "agent_settled" => {
                // Newer versions say whether they will retry, and settle later; older ones end here.
                if kind == "agent_settled" || record.will_retry.is_none() {
                    self.settle(record.aborted, out);
                }
                Fate::Hidden(Rule::Step)
            }
            "turn_start"
            | "turn_end"
            | "compaction_start"
            | "auto_compaction_start"
            | "bash_execution_update" => Fate::Hidden(Rule::Step),
            "auto_retry_start" => match self.talk.retried(out) {
                true => Fate::Shown,
                false => self.remark(NoticeKind::Retry, record.error.map(|span| line.text(span)), out),
            },
            "compaction_end" | "auto_compaction_end" => self.compaction(line, record, out),
            "queue_update" => {
                out.push(Event::Meta {
                    meta: Meta::Queue {
                        prompts: record.queue.iter().cloned().map(Into::into).collect(),
                        held: false,
                    },
                });
                Fate::Hidden(Rule::Bookkeeping)
            }
            "session_info_changed" => {
                let title = record.name.map(|span| line.text(span)).filter(|text| !text.is_blank());
                let rank = TitleRank::Person;
                out.extend(title.map(|text| Event::Meta { meta: Meta::Title { text, rank } }));
                Fate::Hidden(Rule::Bookkeeping)
            }
            "entry_appended" | "thinking_level_changed" | "model_changed" => Fate::Hidden(Rule::Bookkeeping),
            "auto_retry_end" => Fate::Hidden(Rule::Status),
            _ if kind.starts_with("summarization_retry") => Fate::Hidden(Rule::Status),
            "extension_error" => {
                self.remark(NoticeKind::Error, record.error.map(|span| line.text(span)), out)
            }
            "extension_ui_request" => self.request(line, record, out),
            "response" => {
                self.response(line, record, out);
                Fate::Hidden(Rule::Protocol)
            }
            _ if is_command(kind.as_bytes()) => Fate::Hidden(Rule::Protocol),
            other => Fate::Unknown(other.into()),
        }
    }

    fn message_start(&mut self, line: &Line, message: Option<&Message>) -> Fate {
        if let Some(message) = message.filter(|message| message.role(line) == b"assistant") {
            self.current = Some(Current { key: self.talk.name(line, message), opened: Opened::new() });
        }
        Fate::Hidden(Rule::Step)
    }

    fn message_end(&mut self, line: &Line, message: Option<&Message>, out: &mut Vec<Event>) -> Fate {
        let Some(message) = message else { return Fate::Unknown("message_end".into()) };
        if message.role(line) == b"toolResult" {
            let id = json_text(line, message.tool_call);
            if id.is_some_and(|id| self.answered.remove(&id)) {
                return Fate::Hidden(Rule::Repeat);
            }
        }
        let current = self.current.take_if(|_| message.role(line) == b"assistant");
        let (key, opened) = match current {
            Some(current) => (current.key, current.opened),
            None => (self.talk.name(line, message), Opened::new()),
        };
        let (fate, turn) = self.talk.say(line, message, &key, &opened, out);
        self.ending = turn.filter(|turn| *turn != Turn::Start);
        fate
    }

    /// One step of the message that is being streamed.
    fn step(&mut self, line: &Line, step: &Step, out: &mut Vec<Event>) -> Fate {
        let kind = step.kind.map_or(&b""[..], |span| line.word(span));
        match kind {
            b"thinking_start" => {
                self.open(step.index, Part::Thought, out);
                Fate::Hidden(Rule::Step)
            }
            b"text_delta" => self.grow(line, step, Part::Reply, out),
            b"thinking_delta" => self.grow(line, step, Part::Thought, out),
            b"toolcall_delta" => self.grow(line, step, Part::Input, out),
            b"text_end" | b"thinking_end" => {
                let Some(text) = step.content.map(|span| line.text(span)).filter(|text| !text.is_empty())
                else {
                    return Fate::Hidden(Rule::Step);
                };
                let block = match kind {
                    b"text_end" => Block::Reply(Reply { text, ..Reply::default() }),
                    _ => Block::Thought(Thought { text, ..Thought::default() }),
                };
                let current = self.current();
                let key = current.name(step.index);
                out.push(Event::Put { key, under: None, message: Some(current.key.clone()), block });
                Fate::Shown
            }
            b"toolcall_start" | b"toolcall_end" => {
                self.put_call(line, step, out);
                Fate::Shown
            }
            _ => Fate::Hidden(Rule::Step),
        }
    }

    fn grow(&mut self, line: &Line, step: &Step, part: Part, out: &mut Vec<Event>) -> Fate {
        let Some(text) = step.delta.map(|span| line.text(span)).filter(|text| !text.is_empty()) else {
            return Fate::Hidden(Rule::Step);
        };
        let key = self.open(step.index, part, out);
        out.push(Event::Grow { key, part, text });
        Fate::Shown
    }

    /// The key of a streamed block, which is put when it is new.
    fn open(&mut self, index: u64, part: Part, out: &mut Vec<Event>) -> Key {
        let current = self.current();
        if let Some(key) = current.opened.get(&index) {
            return key.clone();
        }
        let key = current.name(index);
        let block = match part {
            Part::Reply => Block::Reply(Reply { streaming: true, ..Reply::default() }),
            Part::Thought => Block::Thought(Thought { streaming: true, ..Thought::default() }),
            Part::Input | Part::Output => Block::Tool(Box::default()),
        };
        out.push(Event::Put { key: key.clone(), under: None, message: Some(current.key.clone()), block });
        key
    }

    fn put_call(&mut self, line: &Line, step: &Step, out: &mut Vec<Event>) {
        let (id, tool) = match &step.call {
            Some(item) => (json_text(line, item.id), item.tool(line)),
            None => step.started(line),
        };
        let message = self.current().key.clone();
        let opened = self.current().opened.get(&step.index).cloned();
        match (id, opened) {
            (Some(id), None) => {
                let key = self.talk.call(&id, Some(&message));
                self.current().opened.insert(step.index, key);
                self.talk.put_call(&id, Some(&message), tool, out);
            }
            (Some(id), Some(_)) if self.talk.knows(&id) => self.talk.put_call(&id, Some(&message), tool, out),
            (_, _) => {
                let key = self.current().name(step.index);
                out.push(Event::Put {
                    key,
                    under: None,
                    message: Some(message),
                    block: Block::Tool(Box::new(tool)),
                });
            }
        }
    }

    /// The message that is being streamed, also when its start was not seen.
    fn current(&mut self) -> &mut Current {
        let remarks = &mut self.remarks;
        self.current.get_or_insert_with(|| {
            *remarks = remarks.saturating_add(1);
            Current { key: format!("assistant-unseen-{remarks}").into(), opened: Opened::new() }
        })
    }

    fn execution(&mut self, line: &Line, kind: &str, record: &Record, out: &mut Vec<Event>) -> Fate {
        let Some(id) = json_text(line, record.id) else { return Fate::Unknown(kind.into()) };
        let known = self.talk.knows(&id);
        let input = record.arguments.map_or_else(Json::default, |span| line.json(span));
        let tool = Tool {
            state: ToolState::Running,
            ..Tool::call(json_text(line, record.name).unwrap_or_else(|| "tool".into()), input)
        };
        match (kind, &record.result) {
            ("tool_execution_start", _) => {
                self.talk.put_call(&id, None, tool, out);
                if known { Fate::Hidden(Rule::Step) } else { Fate::Shown }
            }
            ("tool_execution_update", Some(result)) => {
                let text = result.text(line).as_str().into_owned();
                let before = self.outputs.entry(id.clone()).or_default();
                match text.strip_prefix(before.as_str()) {
                    Some("") => return Fate::Hidden(Rule::Step),
                    Some(more) => {
                        let key = self.talk.call(&id, None);
                        out.push(Event::Grow { key, part: Part::Output, text: more.into() });
                    }
                    // Long output is a window on its end, which moves on: it cannot grow, only be replaced.
                    None => {
                        let output = Some(Box::new(Output::text(text.as_str())));
                        self.talk.put_call(&id, None, Tool { output, ..tool }, out);
                    }
                }
                *before = text;
                Fate::Shown
            }
            ("tool_execution_end", Some(result)) => {
                self.outputs.remove(&id);
                self.talk.answer(line, result, &id, out);
                self.answered.insert(id);
                Fate::Shown
            }
            _ => Fate::Hidden(Rule::Step),
        }
    }

    fn settle(&mut self, aborted: bool, out: &mut Vec<Event>) {
        let stopped = || Turn::Interrupted { reason: "aborted".into() };
        let turn = match self.ending.take() {
            Some(turn) if !aborted || matches!(turn, Turn::Interrupted { .. }) => turn,
            _ if aborted => stopped(),
            _ => Turn::Done,
        };
        out.push(Event::Turn { turn });
    }

    fn compaction(&mut self, line: &Line, record: &Record, out: &mut Vec<Event>) -> Fate {
        match &record.result {
            Some(result) if result.summary.is_some() => {
                self.talk.compacted(line, result, out);
                Fate::Shown
            }
            _ => match record.error {
                Some(error) => self.remark(NoticeKind::Error, Some(line.text(error)), out),
                None => Fate::Hidden(Rule::Status),
            },
        }
    }

    /// An extension asks the person, or tells something. Dialogs are answered over the protocol.
    fn request(&mut self, line: &Line, record: &Record, out: &mut Vec<Event>) -> Fate {
        let words: Vec<String> = record.words.iter().map(|text| text.as_str().into_owned()).collect();
        let text = (!words.is_empty()).then(|| Text::from(words.join("\n")));
        match record.method.map_or(&b""[..], |span| line.word(span)) {
            b"select" | b"confirm" | b"input" | b"editor" => self.remark(NoticeKind::Warning, text, out),
            b"notify" => self.remark(NoticeKind::Info, text, out),
            _ => Fate::Hidden(Rule::Status),
        }
    }

    fn response(&mut self, line: &Line, record: &Record, out: &mut Vec<Event>) {
        if record.command.is_none_or(|command| line.word(command) != b"get_state") {
            return;
        }
        let data = record.data.map(|span| line.json(span)).unwrap_or_default();
        let id = data.field_text("sessionId").map(|id| Meta::Id { id: id.as_str().into() });
        let model = data.get("model").unwrap_or_default();
        let window = model.get("contextWindow").and_then(|window| window.number());
        let window = window.map(|tokens| Meta::ContextWindow { tokens: tokens as u64 });
        out.extend(id.into_iter().chain(window).map(|meta| Event::Meta { meta }));
        self.talk.set_model(model.field_text("id").map(|name| name.as_str().into()), out);
    }

    fn remark(&mut self, kind: NoticeKind, text: Option<Text>, out: &mut Vec<Event>) -> Fate {
        let Some(text) = text else { return Fate::Hidden(Rule::Status) };
        self.remarks = self.remarks.saturating_add(1);
        out.push(Event::notice(format!("pi-{}", self.remarks), Notice { kind, text }));
        Fate::Shown
    }
}

impl Current {
    /// The key of the block at `index`; asking for it opens it.
    fn name(&mut self, index: u64) -> Key {
        let key = &self.key;
        self.opened.entry(index).or_insert_with(|| format!("{key}/{index}").into()).clone()
    }
}

/// How sure this format is that the line is its own.
pub(crate) fn claim(line: &Line) -> Claim {
    let mut reader = Reader::new(line.bytes());
    let (mut kind, mut foreign, mut command, mut text) = (None, false, false, false);
    reader.object(|reader, key| match key {
        b"type" => kind = reader.text(),
        b"command" => command = true,
        b"message" if reader.kind() == Kind::Object => {
            // A message of the Anthropic API has a type and an id; Pi's has neither.
            reader.object(|reader, key| {
                foreign |= key == b"type" || key == b"id";
                reader.skip();
            });
        }
        b"message" => text = reader.text().is_some(),
        b"uuid" | b"session_id" | b"sessionId" | b"parent_tool_use_id" | b"jsonrpc" => {
            foreign = true;
            reader.leave();
        }
        _ => {}
    });
    let Some(kind) = kind.map(|kind| line.word(kind)).filter(|_| !foreign) else { return Claim::No };
    match kind {
        b"agent_start"
        | b"agent_end"
        | b"agent_settled"
        | b"turn_start"
        | b"turn_end"
        | b"message_update"
        | b"message_end"
        | b"tool_execution_start"
        | b"tool_execution_update"
        | b"tool_execution_end"
        | b"queue_update"
        | b"auto_retry_start"
        | b"auto_retry_end"
        | b"compaction_end"
        | b"auto_compaction_end"
        | b"compaction_start"
        | b"auto_compaction_start"
        | b"extension_ui_request"
        | b"extension_error"
        | b"entry_appended" => Claim::Yes,
        b"message_start" => Claim::Yes,
        b"response" if command => Claim::Yes,
        b"prompt" | b"steer" | b"follow_up" if text => Claim::Maybe,
        b"session" => Claim::Maybe,
        b"prompt" => Claim::No,
        _ if is_command(kind) => Claim::Maybe,
        _ => Claim::No,
    }
}
