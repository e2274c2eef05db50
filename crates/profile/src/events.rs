//! The `events` profile: verbs on text, thinking and tools, deltas included.
//!
//! A response is all that an agent says in one turn: `text_done` comes once, at its end, and carries the concatenation
//! of its `text_delta`s. The end of one block of text within it is a `text_segment_done`. A subagent's words are a
//! response of their own, under the call that started it.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use parlor_model::Key;
use parlor_model::block::{Author, Block, Exchange, Notice, NoticeKind, Prompt, Reply, Thought};
use parlor_model::entry::Entry;
use parlor_model::event::{Part, Turn};
use parlor_model::tool::{Output, Tool, ToolState};
use serde_json::{Map, Value, json};

use crate::telling::{Now, Voice};
use crate::watch::{Fit, News};
use crate::{filter, notice};

/// The voice of the `events` profile.
#[derive(Debug, Default)]
pub(crate) struct Events {
    responses: Vec<Response>,
    /// True when an interruption was told and nothing has begun since: agents tell of one interruption several times.
    cancelled: bool,
    /// True when the step showed the mark of an interruption, whose reason may still come.
    marked: bool,
    /// The calls that wait for a person.
    asked: BTreeSet<Key>,
}

/// What an agent says in one turn.
#[derive(Debug, Default)]
struct Response {
    /// The call it happens under.
    parent: Option<Key>,
    id: String,
    /// All deltas.
    text: String,
    /// The texts block by block, and whether an agent replaced one of them in the end.
    segments: Vec<String>,
    index: HashMap<Key, usize>,
    replaced: bool,
    /// True when it holds anything at all.
    used: bool,
}

impl Voice for Events {
    fn tell(&mut self, news: News<'_>, now: &Now<'_>, out: &mut Vec<Value>) {
        match news {
            News::Started => {
                if self.responses.iter().any(|response| response.used) {
                    self.end(now, out);
                }
                self.response(None, now);
            }
            News::Prompt(entry, prompt) => self.prompt(entry, prompt, now, out),
            News::Opened(entry) => self.opened(entry, now, out),
            News::Delta(entry, part, text) => self.delta(entry, part, text, now, out),
            News::Reply(entry, reply, fit) => self.reply(entry, reply, fit, now, out),
            News::Thought(entry, thought) => self.thought(entry, thought, now, out),
            News::Call(entry, tool) => self.call(entry, tool, now, out),
            News::Moved(entry, tool) => self.moved(entry, tool, now, out),
            News::Result(entry, tool) => self.result(entry, tool, now, out),
            News::Notice(entry, notice) => self.notice(entry, notice, now, out),
            News::Unknown(entry, unknown) => {
                let event = json!({"kind": "unknown", "name": unknown.kind, "text": unknown.raw.lossy()});
                push(out, now, entry, "notice", event);
            }
            News::Overtaken(from) => out.push(stamped("overtaken", json!({"from": from}), now)),
            News::Ended(Turn::Interrupted { reason }) => self.cancel(reason, now, out),
            News::Ended(Turn::Start | Turn::Done | Turn::Failed { .. }) => self.end(now, out),
        }
    }

    fn settle(&mut self, now: &Now<'_>, out: &mut Vec<Value>) {
        if std::mem::take(&mut self.marked) {
            self.cancel("user_cancel", now, out);
        }
    }

    fn finish(&mut self, now: &Now<'_>, out: &mut Vec<Value>) {
        // A response without content has nothing to finish; one that was cut off is known by its partial segment.
        self.responses.retain(|response| response.used);
        self.end(now, out);
    }
}

impl Events {
    /// The open response of a speaker, opened if there is none.
    fn response(&mut self, parent: Option<&Key>, now: &Now<'_>) -> &mut Response {
        let found = self.responses.iter().position(|response| response.parent.as_ref() == parent);
        let index = found.unwrap_or_else(|| {
            let id = match parent {
                None => format!("r{}", now.seq),
                Some(parent) => format!("r{}.{parent}", now.seq),
            };
            self.cancelled = false;
            self.responses.push(Response { parent: parent.cloned(), id, ..Response::default() });
            self.responses.len() - 1
        });
        &mut self.responses[index]
    }

    fn used(&mut self, entry: &Entry, now: &Now<'_>) -> &mut Response {
        let response = self.response(entry.parent.as_ref(), now);
        response.used = true;
        response
    }

    fn prompt(&mut self, entry: &Entry, prompt: &Prompt, now: &Now<'_>, out: &mut Vec<Value>) {
        if filter::caveat(prompt).is_some() {
            return;
        }
        let person = prompt.author == Author::Person;
        // A person's next word ends the response where the agent's own records do not tell its end.
        if person && entry.parent.is_none() && !prompt.queued && !prompt.steered {
            self.responses.retain(|response| response.used);
            self.end(now, out);
            self.cancelled = false;
        }
        let mut event = json!({"id": entry.id, "text": prompt.text});
        let kind = match &prompt.author {
            Author::Person => "user_message",
            Author::Peer { name } => {
                event["from"] = name.as_str().into();
                "agent_message"
            }
            Author::Caller => "agent_message",
            Author::Machine => {
                event["kind"] = "injected".into();
                "notice"
            }
        };
        flag(&mut event, "queued", prompt.queued);
        flag(&mut event, "steered", prompt.steered);
        exchange(&mut event, prompt.exchange.as_deref());
        push(out, now, entry, kind, event);
    }

    fn opened(&mut self, entry: &Entry, now: &Now<'_>, out: &mut Vec<Value>) {
        let response = self.used(entry, now);
        if let Block::Thought(_) = entry.block {
            let event = json!({"responseId": response.id, "segmentId": entry.id});
            push(out, now, entry, "thinking_start", event);
        }
    }

    fn delta(&mut self, entry: &Entry, part: Part, text: Cow<'_, str>, now: &Now<'_>, out: &mut Vec<Value>) {
        let response = self.used(entry, now);
        match part {
            Part::Reply => {
                response.grow(&entry.id, &text);
                let event = json!({"responseId": response.id, "segmentId": entry.id, "delta": text});
                push(out, now, entry, "text_delta", event);
            }
            Part::Thought => {
                let event = json!({"responseId": response.id, "segmentId": entry.id, "delta": text});
                push(out, now, entry, "thinking_delta", event);
            }
            Part::Output => {
                let name = if let Block::Tool(tool) = &entry.block { tool.name.as_str() } else { "" };
                let event = json!({"callId": entry.id, "toolName": name, "delta": text});
                push(out, now, entry, "tool_output_delta", event);
            }
            Part::Input => {}
        }
    }

    fn reply(&mut self, entry: &Entry, reply: &Reply, fit: Fit, now: &Now<'_>, out: &mut Vec<Value>) {
        let response = self.used(entry, now);
        let mut event = json!({"responseId": response.id, "segmentId": entry.id, "text": reply.text});
        flag(&mut event, "interrupted", reply.interrupted);
        if fit == Fit::Replaced {
            response.replace(&entry.id, reply.text.as_str().into_owned());
            flag(&mut event, "replaced", true);
        }
        push(out, now, entry, "text_segment_done", event);
    }

    fn thought(&mut self, entry: &Entry, thought: &Thought, now: &Now<'_>, out: &mut Vec<Value>) {
        let response = self.used(entry, now);
        let mut event = json!({"responseId": response.id, "segmentId": entry.id, "text": thought.text});
        flag(&mut event, "interrupted", thought.interrupted);
        flag(&mut event, "redacted", thought.redacted);
        push(out, now, entry, "thinking_done", event);
    }

    fn call(&mut self, entry: &Entry, tool: &Tool, now: &Now<'_>, out: &mut Vec<Value>) {
        self.used(entry, now);
        let arguments = if tool.input.is_missing() { "{}".into() } else { tool.input.lossy() };
        let mut event = json!({"callId": entry.id, "toolName": tool.name, "arguments": arguments});
        flag(&mut event, "agentCallback", tool.agent_callback);
        exchange(&mut event, tool.exchange.as_deref());
        push(out, now, entry, "tool_call_start", event);
    }

    /// Tells what a call waits for, and that it no longer does.
    fn moved(&mut self, entry: &Entry, tool: &Tool, now: &Now<'_>, out: &mut Vec<Value>) {
        let mut event = json!({"callId": entry.id, "toolName": tool.name});
        if let Some(ask) = &tool.ask {
            self.asked.insert(entry.id.clone());
            event["askId"] = ask.id.as_str().into();
            event["reason"] = json!(ask.reason);
            event["options"] = json!(ask.options);
            push(out, now, entry, "tool_ask", event);
        } else if self.asked.remove(&entry.id) {
            push(out, now, entry, "tool_ask_done", event);
        }
    }

    fn result(&mut self, entry: &Entry, tool: &Tool, now: &Now<'_>, out: &mut Vec<Value>) {
        self.end_under(&entry.id, now, out);
        self.asked.remove(&entry.id);
        let text = tool.output.as_ref().map(|output| output.joined()).unwrap_or_default();
        let ok = tool.state == ToolState::Done;
        let mut event = json!({"callId": entry.id, "toolName": tool.name, "ok": ok});
        if ok {
            event["result"] = text.as_str().into();
        } else {
            event["error"] = json!({"code": code(tool), "message": text});
        }
        flag(&mut event, "truncated", tool.output.as_ref().is_some_and(|output| output.truncated));
        flag(&mut event, "agentCallback", tool.agent_callback);
        exchange(&mut event, tool.exchange.as_deref());
        push(out, now, entry, "tool_result", event);
        if ok && tool.agent_callback {
            let id = self.used(entry, now).id.clone();
            let mut event = json!({"responseId": id, "callId": entry.id, "result": text});
            exchange(&mut event, tool.exchange.as_deref());
            push(out, now, entry, "agent_callback_result", event);
        }
    }

    fn notice(&mut self, entry: &Entry, notice: &Notice, now: &Now<'_>, out: &mut Vec<Value>) {
        let mut event = json!({"kind": notice::word(&notice.kind), "text": notice.text});
        match &notice.kind {
            // The interruption itself is told when the turn ends, with its reason.
            NoticeKind::Interrupted => {
                self.marked = true;
                return;
            }
            NoticeKind::Compaction { before, after } => {
                let event = json!({"text": notice.text, "tokensBefore": before, "tokensAfter": after});
                return push(out, now, entry, "context_compaction", event);
            }
            NoticeKind::Command { command } => event["command"] = command.as_str().into(),
            NoticeKind::Hook { name } => event["name"] = name.as_str().into(),
            NoticeKind::Status { .. } if filter::start_up(&notice.kind).is_some() => return,
            NoticeKind::Info
            | NoticeKind::Warning
            | NoticeKind::Error
            | NoticeKind::Retry
            | NoticeKind::Task
            | NoticeKind::Diff
            | NoticeKind::Result
            | NoticeKind::Status { .. } => {}
        }
        push(out, now, entry, "notice", event);
    }

    /// Ends all responses, a subagent's before its caller's.
    fn end(&mut self, now: &Now<'_>, out: &mut Vec<Value>) {
        while let Some(response) = self.responses.pop() {
            out.push(response.done(now));
        }
    }

    /// Ends the response of the subagent that a call started.
    fn end_under(&mut self, call: &Key, now: &Now<'_>, out: &mut Vec<Value>) {
        let found = self.responses.iter().position(|response| response.parent.as_ref() == Some(call));
        if let Some(index) = found {
            out.push(self.responses.remove(index).done(now));
        }
    }

    /// Tells of an interruption: what is kept for later, and its live form. The response ends with it.
    fn cancel(&mut self, reason: &str, now: &Now<'_>, out: &mut Vec<Value>) {
        if std::mem::replace(&mut self.cancelled, true) {
            return;
        }
        out.push(stamped("interrupt", json!({"payload": {"reason": reason}}), now));
        let mut event = json!({});
        if let Some(response) = self.responses.iter().find(|response| response.parent.is_none()) {
            event["responseId"] = response.id.as_str().into();
        }
        self.responses.clear();
        out.push(stamped("output_cancelled", event, now));
    }
}

impl Response {
    fn grow(&mut self, key: &Key, delta: &str) {
        self.text.push_str(delta);
        self.segment(key).push_str(delta);
    }

    fn replace(&mut self, key: &Key, text: String) {
        self.replaced = true;
        *self.segment(key) = text;
    }

    fn segment(&mut self, key: &Key) -> &mut String {
        let index = *self.index.entry(key.clone()).or_insert(self.segments.len());
        if index == self.segments.len() {
            self.segments.push(String::new());
        }
        &mut self.segments[index]
    }

    fn done(self, now: &Now<'_>) -> Value {
        let text = match self.replaced {
            true => self.segments.concat(),
            false => self.text,
        };
        let mut event = json!({"responseId": self.id, "text": text});
        flag(&mut event, "replaced", self.replaced);
        if let Some(parent) = self.parent {
            event["parentCallId"] = parent.as_str().into();
        }
        stamped("text_done", event, now)
    }
}

/// The code of a call that did not end well. It comes from what the tool says in its own fields, never from words in
/// its output.
fn code(tool: &Tool) -> &'static str {
    let limited = |output: &Output| {
        let told = serde_json::from_str::<Value>(&output.joined()).unwrap_or_default();
        let code = told.get("error").unwrap_or(&told).get("code").and_then(Value::as_str);
        output.http_status == Some(429) || code == Some("rate_limit_tools")
    };
    match tool.state {
        ToolState::Interrupted => "tool_interrupted",
        ToolState::Denied => "tool_denied",
        ToolState::Failed if tool.output.as_deref().is_some_and(limited) => "rate_limit_tools",
        ToolState::Failed
        | ToolState::Done
        | ToolState::Pending
        | ToolState::Waiting
        | ToolState::Running => "tool_error",
    }
}

fn flag(event: &mut Value, name: &str, value: bool) {
    if value {
        event[name] = true.into();
    }
}

/// Ties what belongs to one exchange between agents, in both sessions.
fn exchange(event: &mut Value, exchange: Option<&Exchange>) {
    if let Some(Exchange { id, session }) = exchange {
        event["agentExchangeId"] = id.as_str().into();
        event["agentSession"] = session.as_str().into();
    }
}

fn push(out: &mut Vec<Value>, now: &Now<'_>, entry: &Entry, kind: &str, mut event: Value) {
    if let Some(parent) = &entry.parent {
        event["parentCallId"] = parent.as_str().into();
    }
    out.push(stamped(kind, event, now));
}

/// An event with its type first and its time last.
fn stamped(kind: &str, fields: Value, now: &Now<'_>) -> Value {
    let mut event = Map::new();
    event.insert("type".into(), kind.into());
    if let Value::Object(fields) = fields {
        event.extend(fields);
    }
    if let Some(at) = now.at {
        event.insert("timestamp".into(), at.iso_millis().into());
    }
    Value::Object(event)
}

#[cfg(test)]
mod tests;
