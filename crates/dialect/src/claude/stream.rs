//! `claude -p --output-format stream-json`, and the bare events of the Anthropic API.

use std::collections::{HashMap, HashSet};

use parlor_model::Key;
use parlor_model::block::{Block, Notice, NoticeKind, Reply, Thought};
use parlor_model::event::{Ask, End, Event, Fate, Meta, Part, Reading, Turn};
use parlor_model::json::{Json, Reader, Span};
use parlor_model::line::Line;
use parlor_model::rule::Rule;
use parlor_model::text::Text;
use parlor_model::tool::Tool;
use parlor_model::usage::Usage;

use super::aside::compact_tokens;
use super::content::{self, BlockKind};
use super::conversation::Conversation;
use super::record::{self, Raw};
use crate::decoder::unknown;
use crate::{Claim, Dialect};

/// Reads a stream.
#[derive(Debug)]
pub(crate) struct ClaudeStream {
    conversation: Conversation,
    /// The message being streamed, per subagent (`None`: the main conversation).
    streams: HashMap<Option<Key>, Streaming>,
    /// Tool calls that wait for an answer, by the request's id.
    asks: HashMap<Key, Key>,
    /// True once usage comes with the events: the lines of complete messages then repeat a stale count.
    has_events: bool,
    /// Tasks that went to the background: only their end is news, the others' result is.
    background: HashSet<Key>,
}

/// A message that streams in.
#[derive(Debug, Default)]
struct Streaming {
    id: Key,
    /// The keys of its blocks by index.
    blocks: HashMap<u64, Key>,
    first: Option<Key>,
    usage: Usage,
}

impl Default for ClaudeStream {
    fn default() -> Self {
        ClaudeStream {
            conversation: Conversation::streamed(),
            streams: HashMap::new(),
            asks: HashMap::new(),
            has_events: false,
            background: HashSet::new(),
        }
    }
}

impl Dialect for ClaudeStream {
    fn read(&mut self, line: &Line, out: &mut Vec<Event>) -> Reading {
        if let Some(reading) = self.server_sent(line, out) {
            return reading;
        }
        let (raw, damage) = record::read(line);
        let kind = raw.kind.map(|span| line.word(span)).unwrap_or_default();
        if damage.is_some() || raw.kind.is_none() {
            return unknown(line, "");
        }
        match self.record(line, &raw, kind, out) {
            Some(fate) => Reading { fate, at: raw.at },
            None => {
                let kind = raw.kind.map_or_else(Key::default, |span| line.key(span));
                let full =
                    raw.subtype.map_or_else(|| kind.to_string(), |span| format!("{kind}/{}", line.key(span)));
                Reading { at: raw.at, ..unknown(line, &full) }
            }
        }
    }
}

impl ClaudeStream {
    /// Lines of a server-sent event stream: `event: x` only names what the `data:` line says itself.
    fn server_sent(&mut self, line: &Line, out: &mut Vec<Event>) -> Option<Reading> {
        let bytes = line.bytes();
        if bytes.starts_with(b"event:") || bytes.starts_with(b":") {
            return Some(Reading::hidden(Rule::Step, None));
        }
        let data = bytes.strip_prefix(b"data:")?;
        let space = data.len() - data.trim_ascii_start().len();
        Some(self.read(&line.tail("data:".len() + space), out))
    }

    fn record(&mut self, line: &Line, raw: &Raw, kind: &[u8], out: &mut Vec<Event>) -> Option<Fate> {
        let under = raw.under.filter(|span| span.end > span.start).map(|span| line.key(span));
        match kind {
            b"stream_event" => {
                let event = line.json(raw.event?);
                self.has_events = true;
                let blocks = self.streams.get(&under).map(|stream| &stream.blocks);
                let abandoned = raw.abandoned_from.and_then(|from| blocks?.get(&from).cloned());
                let fate = self.event(&event, under, false, out);
                out.extend(abandoned.map(|from| Event::Overtake { from }));
                fate
            }
            b"message_start"
            | b"content_block_start"
            | b"content_block_delta"
            | b"content_block_stop"
            | b"message_delta"
            | b"message_stop"
            | b"ping"
            | b"error" => {
                self.has_events = true;
                self.event(&Json::new(line.bytes().clone()), under, true, out)
            }
            b"assistant" => {
                self.conversation.meta(line, raw, out);
                let fate = self.conversation.assistant(line, raw, under.as_ref(), out);
                if let (Some(usage), Some(id), false) = (raw.message.usage, raw.message.id, self.has_events) {
                    out.push(Event::Usage { message: line.key(id), usage });
                }
                Some(fate)
            }
            b"user" => {
                let start = out.len();
                let fate = self.conversation.user(line, raw, under.as_ref(), out);
                let stopped = |event: &Event| matches!(event, Event::Turn { turn: Turn::Interrupted { .. } });
                if out[start..].iter().any(stopped) {
                    // What a person stopped is given up too, but it was said: only a retry takes it back.
                    self.streams.remove(&None);
                }
                Some(fate)
            }
            b"system" => {
                self.conversation.meta(line, raw, out);
                self.system(line, raw, out)
            }
            b"result" => Some(self.result(line, out)),
            b"control_request" => Some(self.control_request(line, out)),
            b"control_cancel_request" => {
                let id =
                    Json::new(line.bytes().clone()).field_text("request_id").map(|id| Key::from(id.as_str()));
                if let Some(tool) = id.and_then(|id| self.asks.remove(&id)) {
                    out.push(Event::Ask { key: tool, ask: None });
                }
                Some(Fate::Hidden(Rule::Protocol))
            }
            b"control_response" | b"keep_alive" | b"auth_status" | b"command_lifecycle"
            | b"transcript_mirror" => Some(Fate::Hidden(Rule::Protocol)),
            b"rate_limit_event" => Some(self.rate_limit(line, out)),
            b"tool_progress"
            | b"tool_use_summary"
            | b"prompt_suggestion"
            | b"active_goal"
            | b"conversation_reset" => Some(Fate::Hidden(Rule::Status)),
            _ => None,
        }
    }

    /// One event of the Anthropic API.
    fn event(&mut self, event: &Json, under: Option<Key>, bare: bool, out: &mut Vec<Event>) -> Option<Fate> {
        let kind = event.field_text("type")?;
        let index = event.get("index").and_then(|index| index.number()).map_or(0, |index| index as u64);
        let shown = match &*kind.as_str() {
            "message_start" => {
                self.message_start(event, under, out);
                false
            }
            "content_block_start" => self.block_start(event, index, under, out),
            "content_block_delta" => self.delta(event, index, under, out),
            "content_block_stop" => {
                let key = self.streams.get(&under).and_then(|stream| stream.blocks.get(&index).cloned());
                out.extend(key.map(|key| Event::End { key, end: End::Complete }));
                false
            }
            "message_delta" => {
                self.message_delta(event, under, bare, out);
                false
            }
            "message_stop" => {
                if let Some(stream) = self.streams.get_mut(&under) {
                    stream.first = None;
                }
                false
            }
            "ping" => false,
            "error" => {
                let text =
                    event.get("error").and_then(|error| error.field_text("message")).unwrap_or_default();
                self.notice(NoticeKind::Error, text, out);
                true
            }
            _ => return None,
        };
        Some(if shown { Fate::Shown } else { Fate::Hidden(Rule::Step) })
    }

    fn message_start(&mut self, event: &Json, under: Option<Key>, out: &mut Vec<Event>) {
        let message = event.get("message").unwrap_or_default();
        let inner = Line::new(message.bytes().clone());
        let mut raw = record::Message::default();
        record::message(&mut Reader::new(inner.bytes()), &mut raw);
        // A stream that broke off is tried again from the start: what it had said does not count.
        if let Some(first) = self.streams.get(&under).and_then(|stream| stream.first.clone()) {
            out.push(Event::Overtake { from: first });
        }
        if under.is_none() {
            self.conversation.model(&inner, raw.model, out);
        }
        let id = raw.id.map_or_else(|| self.conversation.name(&inner, None), |span| inner.key(span));
        let usage = raw.usage.unwrap_or_default();
        self.streams.insert(under, Streaming { id, usage, ..Streaming::default() });
    }

    fn block_start(&mut self, event: &Json, index: u64, under: Option<Key>, out: &mut Vec<Event>) -> bool {
        let block = event.get("content_block").unwrap_or_default();
        let inner = Line::new(block.bytes().clone());
        let raw = record::block(&mut Reader::new(inner.bytes()));
        let stream = self.streams.entry(under.clone()).or_default();
        let key = Key::from(format!("{}/{index}", stream.id));
        let (key, block) = match raw.kind(&inner) {
            BlockKind::Text => (
                key,
                Block::Reply(Reply { text: text(&inner, raw.text), streaming: true, ..Reply::default() }),
            ),
            BlockKind::Thinking => (
                key,
                Block::Thought(Thought {
                    text: text(&inner, raw.thinking),
                    streaming: true,
                    ..Thought::default()
                }),
            ),
            BlockKind::Call => {
                let (key, block) = content::assistant_block(&inner, &raw, key, false);
                // The input of a call that streams is `{}` until its fragments come.
                let Block::Tool(tool) = block else { return false };
                let input = if tool.input.bytes().as_ref() == b"{}" { Json::default() } else { tool.input };
                (key, Block::Tool(Box::new(Tool { input, ..*tool })))
            }
            BlockKind::Result => {
                out.push(content::tool_result(&inner, &raw, &Raw::default()));
                return true;
            }
            BlockKind::Redacted | BlockKind::Picture | BlockKind::Other => {
                content::assistant_block(&inner, &raw, key, false)
            }
        };
        stream.blocks.insert(index, key.clone());
        stream.first.get_or_insert_with(|| key.clone());
        let message = Some(stream.id.clone());
        out.push(Event::Put { key, under, message, block });
        true
    }

    fn delta(&mut self, event: &Json, index: u64, under: Option<Key>, out: &mut Vec<Event>) -> bool {
        let delta = event.get("delta").unwrap_or_default();
        let kind = delta.field_text("type").unwrap_or_default();
        let (part, field) = match &*kind.as_str() {
            "text_delta" => (Part::Reply, "text"),
            "thinking_delta" => (Part::Thought, "thinking"),
            "input_json_delta" => (Part::Input, "partial_json"),
            _ => return false,
        };
        let Some(text) = delta.field_text(field).filter(|text| !text.is_empty()) else { return false };
        let stream = self.streams.entry(under).or_default();
        let key =
            stream.blocks.entry(index).or_insert_with(|| format!("{}/{index}", stream.id).into()).clone();
        stream.first.get_or_insert_with(|| key.clone());
        out.push(Event::Grow { key, part, text });
        true
    }

    fn message_delta(&mut self, event: &Json, under: Option<Key>, bare: bool, out: &mut Vec<Event>) {
        let usage = event.get("usage").and_then(|usage| record::usage(&mut Reader::new(usage.bytes())));
        let stream = self.streams.entry(under.clone()).or_default();
        stream.usage = stream.usage.max(&usage.unwrap_or_default());
        if stream.usage.total() > 0 {
            if under.is_none() {
                out.push(Event::Meta { meta: Meta::Context { tokens: stream.usage.context() } });
            }
            out.push(Event::Usage { message: stream.id.clone(), usage: stream.usage });
        }
        let stop = event.get("delta").and_then(|delta| delta.field_text("stop_reason"));
        // Inside the CLI's stream the result ends the turn; a bare API stream has nothing else.
        if bare && stop.is_some_and(|stop| stop != "tool_use" && stop != "pause_turn") {
            out.push(Event::Turn { turn: Turn::Done });
        }
    }

    fn system(&mut self, line: &Line, raw: &Raw, out: &mut Vec<Event>) -> Option<Fate> {
        let record = Json::new(line.bytes().clone());
        let told = |key: &str| record.field_text(key).filter(|text| !text.is_blank());
        match raw.subtype.map(|span| line.word(span)).unwrap_or_default() {
            b"init" => {
                let mut model = None;
                Reader::new(line.bytes()).object(|reader, key| {
                    if key == b"model" {
                        model = reader.text();
                    }
                });
                self.conversation.model(line, model, out);
                out.push(Event::Turn { turn: Turn::Start });
                Some(Fate::Hidden(Rule::Init))
            }
            b"compact_boundary" => {
                let (before, after) = compact_tokens(&record);
                let key = self.conversation.name(line, raw.uuid);
                self.conversation.boundary(key, before, after, out);
                Some(Fate::Shown)
            }
            b"api_retry" => {
                let count = |key: &str| record.get(key).and_then(|value| value.number()).unwrap_or_default();
                let error = told("error").map_or_else(|| "error".to_owned(), |error| error.to_string());
                let text = format!("{error}: attempt {} of {}", count("attempt"), count("max_retries"));
                self.notice(NoticeKind::Retry, text.into(), out);
                Some(Fate::Shown)
            }
            b"task_started" => {
                let backgrounded = record.get("is_backgrounded").and_then(|flag| flag.bool()).unwrap_or(true);
                self.background
                    .extend(told("task_id").filter(|_| backgrounded).map(|id| Key::from(id.as_str())));
                Some(Fate::Hidden(Rule::Status))
            }
            b"task_notification" => {
                if told("task_id").is_some_and(|id| !self.background.contains(id.as_str().as_ref())) {
                    return Some(Fate::Hidden(Rule::Repeat));
                }
                let text = told("summary").or_else(|| told("status"))?;
                self.notice(NoticeKind::Task, text, out);
                Some(Fate::Shown)
            }
            b"hook_response" => {
                let failed =
                    record.get("exit_code").and_then(|code| code.number()).is_some_and(|code| code != 0.0);
                let text =
                    told("stderr").or_else(|| told("output")).or_else(|| told("stdout")).filter(|_| failed);
                let Some(text) = text else { return Some(Fate::Hidden(Rule::QuietHook)) };
                self.notice(NoticeKind::Hook { name: told("hook_name").unwrap_or_default() }, text, out);
                Some(Fate::Shown)
            }
            b"hook_started" | b"hook_progress" => Some(Fate::Hidden(Rule::QuietHook)),
            b"informational" | b"notification" | b"local_command_output" | b"model_refusal_fallback" => {
                let text = told("content").or_else(|| told("message")).or_else(|| told("text"))?;
                self.notice(NoticeKind::Info, text, out);
                Some(Fate::Shown)
            }
            b"status"
            | b"thinking_tokens"
            | b"task_progress"
            | b"task_updated"
            | b"background_tasks_changed"
            | b"permission_denied"
            | b"session_state_changed"
            | b"state"
            | b"ui_invalidate"
            | b"files_persisted"
            | b"plugin_install"
            | b"commands_changed"
            | b"elicitation_complete"
            | b"control_request_progress"
            | b"worker_shutting_down"
            | b"mirror_error"
            | b"memory_recall"
            | b"model_refusal_no_fallback" => Some(Fate::Hidden(Rule::Status)),
            _ => None,
        }
    }

    /// The end of a turn. Its text repeats the last reply, or it is news.
    fn result(&mut self, line: &Line, out: &mut Vec<Event>) -> Fate {
        let record = Json::new(line.bytes().clone());
        let text = record.field_text("result").filter(|text| !text.is_blank());
        self.totals(&record, out);
        let reason = record.field_text("terminal_reason").unwrap_or_default();
        let is_error = record.get("is_error").and_then(|flag| flag.bool()).unwrap_or(false);
        let failed =
            is_error || record.field_text("subtype").is_some_and(|subtype| subtype.starts_with("error"));
        let same = text.as_ref().is_none_or(|text| self.conversation.has_replied(text));
        if reason.starts_with("aborted") {
            out.push(Event::Turn { turn: Turn::Interrupted { reason: Key::new_static("user_cancel") } });
            return Fate::Shown;
        }
        if failed {
            let errors = record.get("errors").map(|errors| errors.items()).unwrap_or_default();
            let error = text
                .or_else(|| errors.iter().find_map(|error| error.text()))
                .or_else(|| record.field_text("error"));
            let error = error.or_else(|| record.field_text("subtype"));
            out.push(Event::Turn { turn: Turn::Failed { error } });
            return Fate::Shown;
        }
        if let Some(text) = text.filter(|_| !same) {
            self.notice(NoticeKind::Result, text, out);
        }
        out.push(Event::Turn { turn: Turn::Done });
        if same { Fate::Hidden(Rule::SameResult) } else { Fate::Shown }
    }

    /// Money, the size of the context window, and the turn's usage where no event told it.
    fn totals(&mut self, record: &Json, out: &mut Vec<Event>) {
        if let Some(usd) = record.get("total_cost_usd").and_then(|cost| cost.number()) {
            out.push(Event::Meta { meta: Meta::Cost { usd } });
        }
        let models = record.get("modelUsage").map(|models| models.fields()).unwrap_or_default();
        let window = models
            .iter()
            .filter_map(|(_, model)| model.get("contextWindow")?.number())
            .map(|n| n as u64)
            .max();
        if let Some(tokens) = window.filter(|tokens| *tokens > 0) {
            out.push(Event::Meta { meta: Meta::ContextWindow { tokens } });
        }
    }

    fn control_request(&mut self, line: &Line, out: &mut Vec<Event>) -> Fate {
        let record = Json::new(line.bytes().clone());
        let request = record.get("request").unwrap_or_default();
        let word = |json: &Json, key: &str| json.field_text(key).map(|text| Key::from(text.as_str()));
        if word(&request, "subtype").as_deref() != Some("can_use_tool") {
            return Fate::Hidden(Rule::Protocol);
        }
        let (Some(id), Some(tool)) = (word(&record, "request_id"), word(&request, "tool_use_id")) else {
            return Fate::Hidden(Rule::Protocol);
        };
        // The question may come before its call: it says enough to open it.
        let call = Tool::call(
            word(&request, "tool_name").unwrap_or_default(),
            request.get("input").unwrap_or_default(),
        );
        out.push(Event::put(tool.clone(), Block::Tool(Box::new(call))));
        self.asks.insert(id.clone(), tool.clone());
        let reason = request.field_text("decision_reason").or_else(|| request.field_text("title"));
        out.push(Event::Ask { key: tool, ask: Some(Ask { id, reason, options: Vec::new() }) });
        Fate::Shown
    }

    fn rate_limit(&mut self, line: &Line, out: &mut Vec<Event>) -> Fate {
        let info = Json::new(line.bytes().clone()).get("rate_limit_info").unwrap_or_default();
        if info.field_text("status").is_some_and(|status| status == "rejected") {
            self.notice(NoticeKind::Warning, "Rate limit reached".into(), out);
            return Fate::Shown;
        }
        Fate::Hidden(Rule::Usage)
    }

    fn notice(&mut self, kind: NoticeKind, text: Text, out: &mut Vec<Event>) {
        let key = self.conversation.name(&Line::new(Default::default()), None);
        out.push(Event::notice(key, Notice { kind, text }));
    }
}

fn text(line: &Line, span: Option<Span>) -> Text {
    span.map_or_else(Text::default, |span| line.text(span))
}

/// A stream's own lines: the start-up report, wrapped events, results, and messages with `parent_tool_use_id`.
pub(crate) fn claim(line: &Line) -> Claim {
    let bytes = line.bytes();
    if bytes.starts_with(b"event: message_start") || bytes.starts_with(b"event: content_block") {
        return Claim::Yes;
    }
    let tail = bytes.strip_prefix(b"data:").map_or(line.clone(), |_| line.tail(5));
    let (mut kind, mut subtype, mut parent, mut session, mut camel) = (None, None, false, false, false);
    Reader::new(tail.bytes()).object(|reader, key| match key {
        b"type" => kind = reader.text(),
        b"subtype" => subtype = reader.text(),
        b"parent_tool_use_id" => parent = true,
        b"session_id" => session = true,
        b"sessionId" | b"parentUuid" | b"isSidechain" => camel = true,
        _ => {}
    });
    match kind.map(|span| tail.word(span)) {
        Some(
            b"stream_event"
            | b"control_request"
            | b"control_response"
            | b"control_cancel_request"
            | b"message_start"
            | b"content_block_start"
            | b"content_block_delta"
            | b"content_block_stop"
            | b"message_delta"
            | b"rate_limit_event",
        ) => Claim::Yes,
        Some(b"system") if session && subtype.is_some() && !camel => Claim::Yes,
        Some(b"result") if subtype.is_some() => Claim::Yes,
        Some(b"user" | b"assistant") if parent && !camel => Claim::Yes,
        Some(b"user" | b"assistant") if session && !camel => Claim::Maybe,
        _ => Claim::No,
    }
}
