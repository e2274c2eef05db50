//! legion's `messages.jsonl`: messages with their calls and results in `metadata`, and the SDK's own messages under
//! `_type`, both in one file. Placeholders that stand for calls and results are nobody's words.

use std::collections::{HashMap, HashSet};

use parlor_model::Key;
use parlor_model::block::{Block, Notice, NoticeKind, Thought};
use parlor_model::event::{Ask, End, Event, Meta, Reading, Turn};
use parlor_model::json::{Kind, Reader};
use parlor_model::line::Line;
use parlor_model::rule::Rule;
use parlor_model::text::Text;
use parlor_model::tool::{FilePatch, Output, Tool, ToolState};

use crate::blocks::{Content, Outcome, Place, is_continuation, is_stop, only_caveat, only_text};
use crate::calls::Calls;
use crate::decoder::unknown;
use crate::{Claim, Dialect};

mod record;
#[cfg(test)]
mod tests;

use record::Record;

/// Reads legion's lines.
#[derive(Debug, Default)]
pub(crate) struct Legion {
    count: u64,
    calls: Calls,
    /// Calls that have been told, and whether they have ended.
    told: HashMap<Key, bool>,
    denied: HashSet<Key>,
    /// The last reply, to compare the final result with.
    last: Text,
    /// A compaction that still waits for its summary.
    boundary: Option<Key>,
    session: Option<Key>,
    model: Option<Key>,
    cwd: Option<Key>,
    version: Option<Key>,
}

impl Dialect for Legion {
    fn read(&mut self, line: &Line, out: &mut Vec<Event>) -> Reading {
        let mut reader = Reader::new(line.bytes());
        let mut record = Record::default();
        let object = reader.object(|reader, key| record.take(reader, line, key));
        if !object || reader.finish().is_some() {
            return unknown(line, "");
        }
        let kind = record.kind.clone().unwrap_or_default();
        self.record(&kind, record, out).unwrap_or_else(|| unknown(line, &kind))
    }
}

/// How sure this format is that the line is its own.
pub(crate) fn claim(line: &Line) -> Claim {
    let mut reader = Reader::new(line.bytes());
    let (mut kind, mut data, mut keys, mut foreign, mut flags) = (None, false, 0, false, false);
    let mut wrapped = false;
    reader.object(|reader, key| match key {
        b"_type" => wrapped = reader.kind() == Kind::String,
        b"data" => data = reader.kind() == Kind::Object,
        b"type" => kind = reader.text(),
        b"content" => keys |= 1,
        b"timestamp" => keys |= 2,
        b"session_id" => keys |= 4,
        b"tool_use_id" | b"status" => keys |= 8,
        b"metadata" => {
            reader.object(|_, key| {
                flags |= key.starts_with(b"has_") || key == b"tool_uses" || key == b"subtype"
            });
        }
        b"message" | b"uuid" | b"parentUuid" | b"sessionId" | b"payload" => foreign = true,
        _ => {}
    });
    match kind.map(|span| line.word(span)) {
        _ if wrapped && data => Claim::Yes,
        Some(b"tool_call") if keys & 14 == 14 => Claim::Yes,
        Some(
            b"user" | b"assistant" | b"system" | b"result" | b"permission_request" | b"permission_response",
        ) if !foreign => {
            if flags || keys & 7 == 7 {
                Claim::Yes
            } else {
                Claim::No
            }
        }
        _ => Claim::No,
    }
}

impl Legion {
    fn record(&mut self, kind: &str, record: Record, out: &mut Vec<Event>) -> Option<Reading> {
        // Claude Code's own lines have the same types, and their words in a `message`.
        if !record.has_body {
            return None;
        }
        self.fact(|legion| &mut legion.session, &record.session, |id| Meta::Id { id }, out);
        Some(match kind {
            "assistant" | "AssistantMessage" => self.assistant(record, out),
            "user" | "UserMessage" => self.user(record, out),
            "system" | "SystemMessage" => self.system(record, out),
            "result" | "ResultMessage" => self.result(record, out),
            "tool_call" | "ToolCallUpdate" => self.tool_call(record, out),
            "permission_request" | "PermissionRequestMessage" => self.permission_request(record, out),
            "permission_response" | "PermissionResponseMessage" => self.permission_response(record, out),
            "thinking" | "ThinkingMessage" => {
                let place = self.place(&record);
                let text = only_text(&record.contents).cloned().unwrap_or_default();
                out.push(place.put(0, Block::Thought(Thought { text, ..Thought::default() })));
                Reading::shown(record.at)
            }
            "interrupt" | "InterruptMessage" => {
                out.push(interrupted());
                Reading::shown(record.at)
            }
            "error" => self.notice(NoticeKind::Error, record, out),
            "TaskNotificationMessage" => self.notice(NoticeKind::Task, record, out),
            "TaskStartedMessage" | "TaskProgressMessage" | "TaskUpdatedMessage" => {
                Reading::hidden(Rule::Status, record.at)
            }
            "HookEventMessage" => Reading::hidden(Rule::QuietHook, record.at),
            "StreamEvent" => Reading::hidden(Rule::Step, record.at),
            "RateLimitEvent" => Reading::hidden(Rule::Usage, record.at),
            _ => return None,
        })
    }

    fn assistant(&mut self, mut record: Record, out: &mut Vec<Event>) -> Reading {
        self.fact(|legion| &mut legion.model, &record.model, |name| Meta::Model { name }, out);
        let place = self.place(&record);
        if let (Some(message), Some(usage)) = (&record.message, record.usage) {
            out.push(Event::Usage { message: message.clone(), usage });
        }
        let before = out.len();
        let thoughts = std::mem::take(&mut record.thinking_blocks);
        let thoughts =
            if thoughts.is_empty() { record.thinking.take().into_iter().collect() } else { thoughts };
        for (index, text) in thoughts.into_iter().filter(|text| !text.is_empty()).enumerate() {
            let thought = Block::Thought(Thought { text, ..Thought::default() });
            out.push(place.put_as(format!("{}/thought{index}", place.key).into(), thought));
        }
        if only_text(&record.contents).is_some_and(|text| is_reply_placeholder(text, &record)) {
            record.contents.clear();
        }
        if place.under.is_none()
            && let Some(text) = record.contents.iter().rev().find_map(as_text)
        {
            self.last = text.clone();
        }
        // Calls stand behind the words, as the model writes them.
        record.contents.append(&mut record.calls);
        for content in &record.contents {
            if let Content::Call { id: Some(id), name, input } = content {
                self.told.entry(id.clone()).or_insert(false);
                self.calls.made(id, name, input);
            }
        }
        place.answer(record.contents, out);
        if out.len() > before { Reading::shown(record.at) } else { Reading::hidden(Rule::Step, record.at) }
    }

    fn user(&mut self, mut record: Record, out: &mut Vec<Event>) -> Reading {
        let at = record.at;
        let text = only_text(&record.contents);
        if text.is_some_and(|text| record.has_tool_results && is_results_placeholder(text)) {
            record.contents.clear();
        } else if text.is_some_and(is_stop) {
            out.push(interrupted());
            return Reading::shown(at);
        } else if text.is_some_and(is_continuation) {
            let text = text.cloned().unwrap_or_default();
            let key = self.boundary.take().unwrap_or_else(|| self.fresh("n"));
            let kind = NoticeKind::Compaction { before: None, after: None };
            out.push(Event::notice(key, Notice { kind, text }));
            return Reading::shown(at);
        } else if only_caveat(&record.contents) {
            return Reading::hidden(Rule::Caveat, at);
        }
        let place = self.place(&record);
        record.contents.append(&mut record.results);
        let mut said = Vec::new();
        place.ask(record.contents, &mut said);
        let results = said.iter().filter(|event| matches!(event, Event::End { .. })).count();
        let reading = if said.is_empty() { Reading::hidden(Rule::Step, at) } else { Reading::shown(at) };
        for mut event in said {
            self.refine(&mut event, &mut record.patches, results);
            out.push(event);
        }
        reading
    }

    /// Gives a result what other records and fields know of it.
    fn refine(&mut self, event: &mut Event, patches: &mut Vec<FilePatch>, results: usize) {
        let Event::End { key, end: End::Result { state, output, .. } } = event else { return };
        if self.denied.contains(key) {
            *state = ToolState::Denied;
        }
        // The structured result says nothing of which call it belongs to.
        if results == 1 {
            output.patches = std::mem::take(patches);
        }
        self.told.insert(key.clone(), true);
        self.calls.ended(key);
    }

    fn system(&mut self, record: Record, out: &mut Vec<Event>) -> Reading {
        let at = record.at;
        match record.subtype.as_deref().unwrap_or_default() {
            "init" => {
                self.fact(|legion| &mut legion.model, &record.model, |name| Meta::Model { name }, out);
                self.fact(
                    |legion| &mut legion.cwd,
                    &record.cwd,
                    |path| Meta::Cwd { path: Text::from(path.as_str()) },
                    out,
                );
                self.fact(
                    |legion| &mut legion.version,
                    &record.version,
                    |version| Meta::Version { version },
                    out,
                );
                Reading::hidden(Rule::Init, at)
            }
            "client_launched" => Reading::hidden(Rule::ClientLaunched, at),
            "interrupt" | "interrupted" => {
                out.push(interrupted());
                Reading::shown(at)
            }
            "compact_boundary" => {
                let key = self.fresh("n");
                self.boundary = Some(key.clone());
                let kind = NoticeKind::Compaction { before: record.before, after: record.after };
                out.push(Event::notice(key, Notice { kind, text: Text::default() }));
                Reading::shown(at)
            }
            "status" | "thinking_tokens" | "session_state_changed" | "background_tasks_changed" => {
                Reading::hidden(Rule::Status, at)
            }
            "task_started" | "task_progress" | "task_updated" => Reading::hidden(Rule::Status, at),
            "hook_started" | "hook_progress" => Reading::hidden(Rule::QuietHook, at),
            "hook_response" if record.exit_code.unwrap_or(0) == 0 => Reading::hidden(Rule::QuietHook, at),
            "hook_response" => {
                let name = record.hook.clone().unwrap_or_default();
                self.notice(NoticeKind::Hook { name }, record, out)
            }
            "api_retry" => self.notice(NoticeKind::Retry, record, out),
            "task_notification" => self.notice(NoticeKind::Task, record, out),
            "error" => self.notice(NoticeKind::Error, record, out),
            subtype => {
                let name = Key::from(subtype);
                self.notice(NoticeKind::Status { name }, record, out)
            }
        }
    }

    fn result(&mut self, record: Record, out: &mut Vec<Event>) -> Reading {
        let at = record.at;
        out.extend(record.cost.map(|usd| Event::Meta { meta: Meta::Cost { usd } }));
        if record.terminal.as_deref().is_some_and(|reason| reason.starts_with("aborted")) {
            out.push(interrupted());
            return Reading::shown(at);
        }
        let failed =
            record.is_error || record.subtype.as_deref().is_some_and(|subtype| subtype.starts_with("error"));
        let text = record.result.clone().filter(|text| !text.is_blank());
        if failed {
            let error = text.or(record.errors).or_else(|| only_text(&record.contents).cloned());
            out.push(Event::Turn { turn: Turn::Failed { error } });
            return Reading::shown(at);
        }
        let other = text.filter(|text| text.as_str().trim() != self.last.as_str().trim());
        let shown = other.map(|text| {
            let key = self.fresh("n");
            out.push(Event::notice(key, Notice { kind: NoticeKind::Result, text }));
        });
        out.push(Event::Turn { turn: Turn::Done });
        if shown.is_some() { Reading::shown(at) } else { Reading::hidden(Rule::SameResult, at) }
    }

    /// A call and where it stands, told again each time that changes.
    fn tool_call(&mut self, record: Record, out: &mut Vec<Event>) -> Reading {
        let at = record.at;
        let place = self.place(&record);
        let Some(key) = record.call.clone() else { return self.notice(NoticeKind::Info, record, out) };
        let known = self.told.get(&key).copied();
        let name = record.name.clone().unwrap_or_default();
        if known.is_none() {
            self.told.insert(key.clone(), false);
            self.calls.made(&key, &name, &record.input);
            let tool = Tool::call(name.clone(), record.input.clone());
            out.push(place.put_as(key.clone(), Block::Tool(Box::new(tool))));
        }
        let state = match record.status.as_deref().unwrap_or_default() {
            "awaiting_permission" => {
                self.ask(key, record, out);
                return Reading::shown(at);
            }
            "running" | "executing" => {
                self.calls.answer(record.request.as_ref());
                out.push(Event::Ask { key, ask: None });
                return Reading::shown(at);
            }
            "completed" => ToolState::Done,
            "failed" | "error" => ToolState::Failed,
            "denied" => ToolState::Denied,
            "interrupted" => ToolState::Interrupted,
            _ if known.is_none() => return Reading::shown(at),
            _ => return Reading::hidden(Rule::Repeat, at),
        };
        if state == ToolState::Denied {
            self.denied.insert(key.clone());
        }
        // The result's own record came before and says more than this one.
        if known == Some(true) && matches!(state, ToolState::Done | ToolState::Failed) {
            return Reading::hidden(Rule::Repeat, at);
        }
        self.told.insert(key.clone(), true);
        self.calls.ended(&key);
        let text = record.result.or(record.errors);
        let output = text.map(Output::text).unwrap_or_default();
        out.push(Outcome { id: key, name: Some(name), failed: false, output }.event_as(state));
        Reading::shown(at)
    }

    /// A question about a call: by its id, or by its name and input.
    fn permission_request(&mut self, record: Record, out: &mut Vec<Event>) -> Reading {
        let at = record.at;
        let name = record.tool_name.clone().or_else(|| record.name.clone()).unwrap_or_default();
        let known = record.call.clone().or_else(|| self.calls.find(&name, &record.input));
        let key = known.unwrap_or_else(|| {
            let key = self.fresh("q");
            self.calls.made(&key, &name, &record.input);
            out.push(Event::put(key.clone(), Block::Tool(Box::new(Tool::call(name, record.input.clone())))));
            key
        });
        self.ask(key, record, out);
        Reading::shown(at)
    }

    fn permission_response(&mut self, record: Record, out: &mut Vec<Event>) -> Reading {
        let at = record.at;
        let asked = self.calls.answer(record.request.as_ref());
        let Some(key) = record.call.clone().or(asked) else { return Reading::hidden(Rule::Status, at) };
        if record
            .decision
            .as_deref()
            .is_some_and(|decision| decision.starts_with("deny") || decision == "denied")
        {
            self.denied.insert(key.clone());
            let output = record.result.map(Output::text).unwrap_or_default();
            out.push(
                Outcome { id: key, name: record.tool_name, failed: true, output }.event_as(ToolState::Denied),
            );
        } else {
            out.push(Event::Ask { key, ask: None });
        }
        Reading::shown(at)
    }

    fn ask(&mut self, key: Key, record: Record, out: &mut Vec<Event>) {
        let id = record.request.unwrap_or_else(|| key.clone());
        self.calls.ask(id.clone(), key.clone());
        let reason = record.question.or(record.description);
        out.push(Event::Ask { key, ask: Some(Ask { id, reason, options: Vec::new() }) });
    }

    fn notice(&mut self, kind: NoticeKind, record: Record, out: &mut Vec<Event>) -> Reading {
        let words = record.contents.iter().find_map(as_text).cloned();
        let text = words.or(record.summary).or(record.errors).or(record.description).unwrap_or_default();
        let key = record.record.unwrap_or_else(|| self.fresh("n"));
        out.push(Event::notice(key, Notice { kind, text }));
        Reading::shown(record.at)
    }

    fn place(&mut self, record: &Record) -> Place {
        let key = record.record.clone().or_else(|| record.uuid.clone()).unwrap_or_else(|| self.fresh("m"));
        Place { key, under: record.under.clone(), message: record.message.clone() }
    }

    fn fresh(&mut self, letter: &str) -> Key {
        self.count += 1;
        format!("{letter}{}", self.count).into()
    }

    /// Says a fact about the session when it is new.
    fn fact(
        &mut self,
        known: fn(&mut Legion) -> &mut Option<Key>,
        now: &Option<Key>,
        meta: fn(Key) -> Meta,
        out: &mut Vec<Event>,
    ) {
        let known = known(self);
        if let Some(now) = now.as_ref().filter(|now| known.as_ref() != Some(*now)) {
            *known = Some(now.clone());
            out.push(Event::Meta { meta: meta(now.clone()) });
        }
    }
}

fn interrupted() -> Event {
    Event::Turn { turn: Turn::Interrupted { reason: Key::new_static("user_cancel") } }
}

fn as_text(content: &Content) -> Option<&Text> {
    match content {
        Content::Text(text) if !text.is_empty() => Some(text),
        _ => None,
    }
}

/// The words that stand where a message had only calls or thoughts.
fn is_reply_placeholder(text: &Text, record: &Record) -> bool {
    (record.has_tool_uses || record.has_thinking) && *text == "Assistant response"
}

/// `Tool results: 2 results`: the words that stand where a message had only results.
fn is_results_placeholder(text: &Text) -> bool {
    let text = text.as_str();
    let number = text.strip_prefix("Tool results: ").and_then(|rest| rest.strip_suffix(" results"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}
