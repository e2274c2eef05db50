//! The Agent Client Protocol, both directions: JSON-RPC whose updates carry the conversation. Messages have no end
//! marker: chunks of one kind that follow each other are one message.

mod message;
mod tool;

use std::collections::{HashMap, HashSet};

use parlor_model::Key;
use parlor_model::block::{Author, Block, Notice, NoticeKind, Prompt, Reply, Thought};
use parlor_model::event::{Ask, End, Event, Fate, Meta, Part, Reading, TitleRank, Turn};
use parlor_model::json::{Json, Kind, Reader};
use parlor_model::line::Line;
use parlor_model::rule::Rule;
use parlor_model::text::Text;
use parlor_model::tool::{Tool, ToolState};
use parlor_model::usage::Usage;

use self::message::{Message, Update, attachment};
use crate::decoder::unknown;
use crate::{Claim, Dialect};

/// Reads what the agent writes, and what the client writes where it is in the same stream.
#[derive(Debug, Default)]
pub(crate) struct Acp {
    model: Option<Key>,
    open: Option<Chunks>,
    segments: u32,
    turns: u32,
    busy: bool,
    /// The prompt of this turn was seen on its way to the agent: an echo of it repeats it.
    prompted: bool,
    tools: HashMap<Key, Tool>,
    /// Calls that the client asked for, by the request's id, with the method.
    requests: HashMap<Key, Key>,
    /// Permissions that the agent waits for, by the request's id.
    asks: HashMap<Key, Question>,
    denied: HashSet<Key>,
    /// Tokens of this turn were told answer by answer: its sum repeats them.
    counted: bool,
}

/// The message whose chunks come in now.
#[derive(Debug)]
struct Chunks {
    kind: Speaker,
    message: Option<Key>,
    key: Key,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    User,
    Agent,
    Thought,
}

/// A permission asked for, and which of its options mean no.
#[derive(Debug)]
struct Question {
    tool: Key,
    refusals: Vec<Text>,
}

impl Dialect for Acp {
    fn read(&mut self, line: &Line, out: &mut Vec<Event>) -> Reading {
        let Some(message) = Message::read(line) else { return unknown(line, "") };
        let id = message.id.map(|span| Key::from(String::from_utf8_lossy(line.word(span))));
        let fate = match (message.method.map(|span| line.key(span)), id) {
            (Some(method), id) => self.call(line, &method, id, &message, out),
            (None, Some(id)) => self.answer(line, &id, &message, out),
            (None, None) => Fate::Unknown(Key::default()),
        };
        match fate {
            Fate::Unknown(kind) => unknown(line, &kind),
            fate => Reading { fate, at: None },
        }
    }
}

impl Acp {
    fn call(
        &mut self,
        line: &Line,
        method: &str,
        id: Option<Key>,
        message: &Message,
        out: &mut Vec<Event>,
    ) -> Fate {
        let params = || message.params.map(|span| line.json(span)).unwrap_or_default();
        match method {
            "session/update" => match &message.update {
                Some(update) => self.update(line, update, out),
                None => Fate::Unknown(method.into()),
            },
            "session/request_permission" => self.ask(id.unwrap_or_default(), &params(), out),
            "session/prompt" => {
                self.requests.insert(id.unwrap_or_default(), method.into());
                self.prompt(&params(), out);
                Fate::Shown
            }
            "session/new" | "session/load" | "session/resume" | "session/fork" => {
                self.requests.insert(id.unwrap_or_default(), method.into());
                let cwd = params().field_text("cwd").map(|path| Meta::Cwd { path });
                let session = params().field_text("sessionId").map(|id| Meta::Id { id: id.as_str().into() });
                out.extend(cwd.into_iter().chain(session).map(|meta| Event::Meta { meta }));
                Fate::Hidden(Rule::Protocol)
            }
            // Whose request this is decides whether an error to it concerns the conversation.
            "initialize" | "authenticate" | "session/set_mode" | "session/set_model" | "session/list" => {
                self.requests.extend(id.map(|id| (id, method.into())));
                Fate::Hidden(Rule::Protocol)
            }
            _ => Fate::Hidden(Rule::Protocol),
        }
    }

    fn answer(&mut self, line: &Line, id: &Key, message: &Message, out: &mut Vec<Event>) -> Fate {
        if let Some(error) = message.error {
            let request = self.requests.remove(id);
            let text = line.json(error).field_text("message").unwrap_or_default();
            return self.failed(request, text, out);
        }
        let result = message.result.map(|span| line.json(span)).unwrap_or_default();
        if let Some(outcome) = result.get("outcome") {
            return self.answered(id, &outcome, out);
        }
        let request = self.requests.remove(id);
        if let Some(reason) = result.field_text("stopReason") {
            let usage = result.get("usage").filter(|_| !self.counted).and_then(|used| usage(&used));
            let message: Key = format!("turn-{}", self.turns).into();
            out.extend(usage.map(|usage| Event::Usage { message, usage }));
            return self.stop(&reason.as_str(), out);
        }
        let model = result.get("models").and_then(|models| models.field_text("currentModelId"));
        let id = result.field_text("sessionId").map(|id| Meta::Id { id: id.as_str().into() });
        let version = result.get("agentInfo").and_then(|agent| agent.field_text("version"));
        let version = version.map(|version| Meta::Version { version: version.as_str().into() });
        out.extend(id.into_iter().chain(version).map(|meta| Event::Meta { meta }));
        if let Some(name) =
            model.map(|model| Key::from(model.as_str())).filter(|name| Some(name) != self.model.as_ref())
        {
            self.model = Some(name.clone());
            out.push(Event::Meta { meta: Meta::Model { name } });
        }
        if request.is_some_and(|method| method == "session/load") && self.busy {
            // Loading plays the history: it is no turn of its own.
            self.close(out);
            self.busy = false;
            out.push(Event::Turn { turn: Turn::Done });
        }
        Fate::Hidden(Rule::Protocol)
    }

    fn update(&mut self, line: &Line, update: &Update, out: &mut Vec<Event>) -> Fate {
        let kind = update.kind.map(|span| line.key(span)).unwrap_or_default();
        match kind.as_str() {
            "user_message_chunk" => self.chunk(line, Speaker::User, update, out),
            "agent_message_chunk" => self.chunk(line, Speaker::Agent, update, out),
            "agent_thought_chunk" => self.chunk(line, Speaker::Thought, update, out),
            "tool_call" | "tool_call_update" => {
                let Some(id) = update.tool.map(|span| line.key(span)) else { return Fate::Unknown(kind) };
                self.start(out);
                self.tool(id, &update.json(line), out);
                Fate::Shown
            }
            "plan" => {
                self.start(out);
                self.close(out);
                let entries = update.json(line).get("entries").unwrap_or_default();
                let input = Json::new(format!("{{\"entries\":{}}}", entries.lossy()).into());
                let tool = Tool { state: ToolState::Done, ..Tool::call("plan", input) };
                out.push(Event::put(format!("plan-{}", self.turns), Block::Tool(Box::new(tool))));
                Fate::Shown
            }
            "usage_update" => {
                let update = update.json(line);
                let size = update.get("size").and_then(|size| size.number());
                let cost = update.get("cost").and_then(|cost| cost.get("amount")?.number());
                let size = size.map(|tokens| Meta::ContextWindow { tokens: tokens as u64 });
                let metas = size.into_iter().chain(cost.map(|usd| Meta::Cost { usd }));
                out.extend(metas.map(|meta| Event::Meta { meta }));
                Fate::Hidden(Rule::Usage)
            }
            "session_info_update" => {
                let title = update.json(line).field_text("title").filter(|title| !title.is_blank());
                let rank = TitleRank::Agent;
                out.extend(title.map(|text| Event::Meta { meta: Meta::Title { text, rank } }));
                Fate::Hidden(Rule::Bookkeeping)
            }
            "available_commands_update" | "current_mode_update" | "config_option_update" => {
                Fate::Hidden(Rule::Bookkeeping)
            }
            other => Fate::Unknown(other.into()),
        }
    }

    /// One piece of a message. It continues the message before it when nothing came between.
    fn chunk(&mut self, line: &Line, kind: Speaker, update: &Update, out: &mut Vec<Event>) -> Fate {
        if kind == Speaker::User && self.prompted {
            return Fate::Hidden(Rule::Repeat);
        }
        let text = match update.text {
            Some(text) => line.text(text),
            None => match link(&update.content(line)) {
                Some(text) => text,
                None => return Fate::Unknown("content".into()),
            },
        };
        if let Some(usage) = update.usage.and_then(|span| usage(&line.json(span))) {
            self.counted = true;
            out.push(Event::Usage { message: format!("answer-{}", self.segments).into(), usage });
        }
        if text.is_empty() {
            return Fate::Hidden(Rule::Step);
        }
        let message = update.message.map(|span| line.key(span));
        let same = |open: &Chunks| open.kind == kind && open.message == message;
        if !self.open.as_ref().is_some_and(same) {
            self.close(out);
            if kind != Speaker::User {
                self.start(out);
            }
            self.segments = self.segments.saturating_add(1);
            let key: Key = format!("message-{}", self.segments).into();
            self.open = Some(Chunks { kind, message, key, text: String::new() });
            out.extend(self.open.as_ref().map(|open| open.put(true)));
        }
        if let Some(open) = &mut self.open {
            open.text.push_str(&text.as_str());
            let part = if kind == Speaker::Thought { Part::Thought } else { Part::Reply };
            out.push(match kind {
                Speaker::User => open.put(false),
                Speaker::Agent | Speaker::Thought => Event::Grow { key: open.key.clone(), part, text },
            });
        }
        Fate::Shown
    }

    fn tool(&mut self, id: Key, update: &Json, out: &mut Vec<Event>) {
        let fresh = !self.tools.contains_key(&id);
        if fresh {
            self.close(out);
        }
        let tool = self.tools.entry(id.clone()).or_default();
        let changed = tool::apply(tool, update);
        if let Some(text) = tool::terminal_output(update) {
            tool.output.get_or_insert_default().push(&text.as_str());
            if !fresh && !changed {
                out.push(Event::Grow { key: id, part: Part::Output, text });
                return;
            }
        }
        let ended = tool.state.is_final();
        if ended && self.denied.contains(&id) {
            tool.state = ToolState::Denied;
        }
        let under = tool::parent(update);
        let block = Block::Tool(Box::new(tool.clone()));
        out.push(Event::Put { key: id.clone(), under, message: None, block });
        if ended {
            let output = tool.output.clone().unwrap_or_default();
            let end = End::Result { name: Some(tool.name.clone()), state: tool.state, output };
            out.push(Event::End { key: id, end });
        }
    }

    fn ask(&mut self, id: Key, params: &Json, out: &mut Vec<Event>) -> Fate {
        let call = params.get("toolCall").unwrap_or_default();
        let key = call.field_text("toolCallId").map_or_else(|| id.clone(), |key| key.as_str().into());
        self.start(out);
        self.tool(key.clone(), &call, out);
        let options = params.get("options").unwrap_or_default().items();
        let refuses =
            |option: &&Json| option.field_text("kind").is_some_and(|kind| kind.starts_with("reject"));
        let refusals =
            options.iter().filter(refuses).filter_map(|option| option.field_text("optionId")).collect();
        let name = |option: &Json| option.field_text("name").or_else(|| option.field_text("optionId"));
        let options = options.iter().filter_map(name).collect();
        let ask = Ask { id: id.clone(), reason: call.field_text("title"), options };
        self.asks.insert(id, Question { tool: key.clone(), refusals });
        out.push(Event::Ask { key, ask: Some(ask) });
        Fate::Shown
    }

    fn answered(&mut self, id: &Key, outcome: &Json, out: &mut Vec<Event>) -> Fate {
        let Some(question) = self.asks.remove(id) else { return Fate::Hidden(Rule::Protocol) };
        let option = outcome.field_text("optionId");
        if option.is_some_and(|option| question.refusals.contains(&option)) {
            self.denied.insert(question.tool.clone());
        }
        out.push(Event::Ask { key: question.tool, ask: None });
        Fate::Hidden(Rule::Protocol)
    }

    fn prompt(&mut self, params: &Json, out: &mut Vec<Event>) {
        self.close(out);
        self.busy = false;
        self.start(out);
        self.prompted = true;
        let blocks = params.get("prompt").unwrap_or_default().items();
        let texts = blocks.iter().filter_map(|block| Some(block.field_text("text")?.as_str().into_owned()));
        let text = texts.collect::<Vec<_>>().join("\n").into();
        let attachments = blocks.iter().filter_map(attachment).collect();
        let prompt = Prompt { text, author: Author::Person, attachments, ..Prompt::default() };
        out.push(Event::put(format!("prompt-{}", self.turns), Block::Prompt(prompt)));
    }

    /// The agent works, also when its prompt was not seen.
    fn start(&mut self, out: &mut Vec<Event>) {
        if !std::mem::replace(&mut self.busy, true) {
            self.turns = self.turns.saturating_add(1);
            out.push(Event::Turn { turn: Turn::Start });
        }
    }

    fn stop(&mut self, reason: &str, out: &mut Vec<Event>) -> Fate {
        self.close(out);
        (self.busy, self.prompted, self.counted) = (false, false, false);
        let remark = match reason {
            "max_tokens" => "The answer was cut off at the token limit",
            "max_turn_requests" => "The agent stopped at its limit of requests",
            "refusal" => "The agent refused to go on",
            _ => "",
        };
        if !remark.is_empty() {
            let notice = Notice { kind: NoticeKind::Warning, text: remark.into() };
            out.push(Event::notice(format!("stop-{}", self.turns), notice));
        }
        let turn = match reason {
            "cancelled" => Turn::Interrupted { reason: "cancelled".into() },
            _ => Turn::Done,
        };
        out.push(Event::Turn { turn });
        if remark.is_empty() { Fate::Hidden(Rule::Step) } else { Fate::Shown }
    }

    fn failed(&mut self, request: Option<Key>, error: Text, out: &mut Vec<Event>) -> Fate {
        match request.as_deref() {
            Some("session/prompt") => {
                self.close(out);
                (self.busy, self.prompted) = (false, false);
                out.push(Event::Turn { turn: Turn::Failed { error: Some(error) } });
                Fate::Shown
            }
            Some(method) => {
                self.segments = self.segments.saturating_add(1);
                let notice = Notice { kind: NoticeKind::Error, text: format!("{method}: {error}").into() };
                out.push(Event::notice(format!("error-{}", self.segments), notice));
                Fate::Shown
            }
            // The client's answer to something the agent asked for, or a request that was not seen.
            None => Fate::Hidden(Rule::Protocol),
        }
    }

    fn close(&mut self, out: &mut Vec<Event>) {
        out.extend(self.open.take().map(|open| open.put(false)));
    }
}

impl Chunks {
    fn put(&self, streaming: bool) -> Event {
        let text = Text::from(self.text.as_str());
        let block = match self.kind {
            Speaker::User => Block::Prompt(Prompt { text, ..Prompt::default() }),
            Speaker::Agent => Block::Reply(Reply { text, streaming, ..Reply::default() }),
            Speaker::Thought => Block::Thought(Thought { text, streaming, ..Thought::default() }),
        };
        Event::Put { key: self.key.clone(), under: None, message: self.message.clone(), block }
    }
}

/// A link to a resource, or the text of one, inside a message.
fn link(content: &Json) -> Option<Text> {
    if let Some(resource) = content.get("resource") {
        return resource.field_text("text").or_else(|| resource.field_text("uri"));
    }
    let uri = content.field_text("uri")?;
    let name = content.field_text("name").unwrap_or_else(|| uri.clone());
    Some(format!("[{name}]({uri})").into())
}

/// Tokens. Some agents count cached input as input: their total shows it.
fn usage(used: &Json) -> Option<Usage> {
    let count = |key: &str| used.get(key).and_then(|count| count.number()).map_or(0, |count| count as u64);
    let (input, output) = (count("inputTokens"), count("outputTokens"));
    let (cache_read, cache_write) = (count("cachedReadTokens"), count("cachedWriteTokens"));
    let included = cache_read > 0 && count("totalTokens") == input.saturating_add(output);
    let input = if included { input.saturating_sub(cache_read) } else { input };
    let usage = Usage { input, output, cache_read, cache_write, reasoning: count("thoughtTokens") };
    (usage.total() > 0).then_some(usage)
}

/// How sure this format is that the line is its own.
pub(crate) fn claim(line: &Line) -> Claim {
    let (mut rpc, mut method, mut own) = (false, None, false);
    Reader::new(line.bytes()).object(|reader, key| match key {
        b"jsonrpc" => rpc = true,
        b"method" => method = reader.text(),
        b"result" if reader.kind() == Kind::Object => {
            reader.object(|reader, key| {
                own |= matches!(key, b"stopReason" | b"agentCapabilities" | b"outcome" | b"authMethods");
                reader.skip();
            });
        }
        b"params" if reader.kind() == Kind::Object => {
            reader.object(|reader, key| {
                own |= matches!(
                    key,
                    b"update" | b"clientCapabilities" | b"prompt" | b"mcpServers" | b"toolCall"
                );
                reader.skip();
            });
        }
        _ => {}
    });
    match method.map(|span| line.word(span)) {
        _ if !rpc => Claim::No,
        Some(
            b"session/update"
            | b"session/prompt"
            | b"session/new"
            | b"session/load"
            | b"session/request_permission",
        ) if own => Claim::Yes,
        Some(b"initialize") if own => Claim::Maybe,
        Some(b"session/cancel" | b"session/set_mode" | b"session/set_model") => Claim::Yes,
        None if own => Claim::Yes,
        None => Claim::Maybe,
        Some(_) => Claim::No,
    }
}

#[cfg(test)]
mod tests;
