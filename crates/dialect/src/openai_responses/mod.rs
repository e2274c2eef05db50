//! OpenAI's Responses API as a stream of events, or as one whole response. Items are found by their place in the output:
//! gateways change the ids on the way.

mod item;
mod record;

use parlor_model::Key;
use parlor_model::block::{Block, Notice, NoticeKind, Reply, Thought, Unknown};
use parlor_model::event::{Ask, End, Event, Fate, Meta, Part, Reading, Turn};
use parlor_model::json::{Json, Kind, Reader, Span};
use parlor_model::line::Line;
use parlor_model::rule::Rule;
use parlor_model::text::Text;
use parlor_model::time::Time;
use parlor_model::tool::Tool;

use self::item::{input, name, result};
use self::record::Record;
use crate::decoder::{damage, unknown};
use crate::openai_chat::usage;
use crate::sse::Sse;
use crate::{Claim, Dialect};

/// Reads responses one after the other.
#[derive(Debug, Default)]
pub(crate) struct OpenaiResponses {
    model: Option<Key>,
    response: Option<Key>,
    items: Vec<Place>,
    waiting: bool,
    failed: bool,
}

/// An item of the response that is being streamed.
#[derive(Debug)]
struct Place {
    index: Option<u64>,
    id: Key,
    /// The key of its block, or the start of the keys of its parts.
    key: Key,
}

impl Dialect for OpenaiResponses {
    fn read(&mut self, line: &Line, out: &mut Vec<Event>) -> Reading {
        let data = match Sse::of(line) {
            Sse::Data(data) | Sse::Error(data) => data,
            Sse::Done | Sse::Field => return Reading::hidden(Rule::Step, None),
            Sse::Comment => return Reading::hidden(Rule::Status, None),
            Sse::Other => return unknown(line, ""),
        };
        let mut reader = Reader::new(data.bytes());
        let mut record = Record::default();
        let is_object = reader.object(|reader, key| record.field(reader, key));
        if reader.finish().is_some() || !is_object {
            return damage(&data).map_or_else(|| unknown(line, ""), Reading::damaged);
        }
        let events = out.len();
        let (fate, at) = self.record(&data, &record, out);
        let said = out.get(events..).unwrap_or_default();
        let visible =
            |event: &Event| matches!(event, Event::Turn { turn: Turn::Failed { .. } } | Event::Put { .. });
        match fate {
            Fate::Unknown(kind) => Reading { at, ..unknown(&data, &kind) },
            Fate::Hidden(_) if said.iter().any(visible) => Reading::shown(at),
            fate => Reading { fate, at },
        }
    }
}

impl OpenaiResponses {
    fn record(&mut self, line: &Line, record: &Record, out: &mut Vec<Event>) -> (Fate, Option<Time>) {
        let kind = record.kind.map_or(&b""[..], |span| line.word(span));
        let step = (Fate::Hidden(Rule::Step), None);
        match kind {
            b"response.created" | b"response.in_progress" | b"response.queued" => {
                let at = self.begin(&response(line, record), out);
                (Fate::Hidden(Rule::Step), at)
            }
            b"response.completed" | b"response.done" | b"response.incomplete" | b"response.failed" => {
                self.end(&response(line, record), out);
                (Fate::Hidden(Rule::Usage), None)
            }
            b"error" => {
                let error = record.error.map(|span| line.json(span)).unwrap_or_default();
                let words =
                    error.field_text("message").or_else(|| record.message.map(|span| line.text(span)));
                self.fail(words, out);
                step
            }
            b"response.output_item.added" | b"response.output_item.done" => {
                let item = record.item.map(|span| line.json(span)).unwrap_or_default();
                let fate = self.item(record.index, &item, kind.ends_with(b"done"), out);
                (fate, None)
            }
            b"response.output_text.delta" | b"response.refusal.delta" => {
                self.grow(line, record, Part::Reply, out)
            }
            b"response.reasoning_summary_text.delta" | b"response.reasoning_text.delta" => {
                self.grow(line, record, Part::Thought, out)
            }
            b"response.function_call_arguments.delta"
            | b"response.mcp_call_arguments.delta"
            | b"response.custom_tool_call_input.delta" => self.grow(line, record, Part::Input, out),
            b"response.shell_call_output_content.delta" => self.grow(line, record, Part::Output, out),
            b"response.output_text.done" | b"response.refusal.done" => {
                self.complete(line, record, Part::Reply, out)
            }
            b"response.reasoning_summary_text.done" | b"response.reasoning_text.done" => {
                self.complete(line, record, Part::Thought, out)
            }
            _ if kind.starts_with(b"response.") && is_step(kind) => step,
            b"" if record.object.is_some_and(|object| line.word(object) == b"response") => {
                let whole = line.json(Span { start: 0, end: line.bytes().len() });
                let at = self.begin(&whole, out);
                for (index, item) in whole.get("output").unwrap_or_default().items().iter().enumerate() {
                    self.item(Some(index as u64), item, true, out);
                }
                self.end(&whole, out);
                (Fate::Hidden(Rule::Usage), at)
            }
            other => (Fate::Unknown(String::from_utf8_lossy(other).into()), None),
        }
    }

    fn begin(&mut self, response: &Json, out: &mut Vec<Event>) -> Option<Time> {
        let id = response.field_text("id").map(|id| Key::from(id.as_str())).unwrap_or_default();
        if self.response.as_ref() != Some(&id) {
            self.response = Some(id);
            self.items.clear();
            (self.waiting, self.failed) = (false, false);
            out.push(Event::Turn { turn: Turn::Start });
        }
        let model = response.field_text("model").map(|model| Key::from(model.as_str()));
        if model.is_some() && model != self.model {
            self.model = model.clone();
            out.extend(model.map(|name| Event::Meta { meta: Meta::Model { name } }));
        }
        response.get("created_at").and_then(|at| Time::from_number(at.number()?))
    }

    fn end(&mut self, response: &Json, out: &mut Vec<Event>) {
        let key = self.response.clone().unwrap_or_default();
        if let Some(used) = response.get("usage").filter(|used| used.kind() == Kind::Object) {
            out.extend(
                usage(&mut Reader::new(used.bytes()))
                    .map(|usage| Event::Usage { message: key.clone(), usage }),
            );
        }
        let status = response.field_text("status").unwrap_or_default();
        match &*status.as_str() {
            "failed" => self.fail(response.get("error").and_then(|error| error.field_text("message")), out),
            "incomplete" => {
                let reason =
                    response.get("incomplete_details").and_then(|details| details.field_text("reason"));
                let text = match reason.unwrap_or_default().as_str().as_ref() {
                    "content_filter" => "The answer was stopped by a content filter",
                    _ => "The answer was cut off at the token limit",
                };
                let notice = Notice { kind: NoticeKind::Warning, text: text.into() };
                out.push(Event::notice(format!("{key}/stop"), notice));
                out.push(Event::Turn { turn: Turn::Done });
            }
            "cancelled" => out.push(Event::Turn { turn: Turn::Interrupted { reason: "cancelled".into() } }),
            _ if self.waiting || self.failed => {}
            _ => out.push(Event::Turn { turn: Turn::Done }),
        }
        self.response = None;
    }

    fn fail(&mut self, error: Option<Text>, out: &mut Vec<Event>) {
        // An error event is followed by the failed response, which says the same.
        if !std::mem::replace(&mut self.failed, true) {
            out.push(Event::Turn { turn: Turn::Failed { error } });
        }
    }

    fn grow(
        &mut self,
        line: &Line,
        record: &Record,
        part: Part,
        out: &mut Vec<Event>,
    ) -> (Fate, Option<Time>) {
        let mut pieces = record.delta.into_iter().chain(record.pieces.iter().copied()).peekable();
        if pieces.peek().is_none() {
            return (Fate::Hidden(Rule::Step), None);
        }
        let key = self.block(line, record, part);
        for piece in pieces.filter(|piece| piece.start < piece.end) {
            out.push(Event::Grow { key: key.clone(), part, text: line.text(piece) });
        }
        (Fate::Shown, None)
    }

    fn complete(
        &mut self,
        line: &Line,
        record: &Record,
        part: Part,
        out: &mut Vec<Event>,
    ) -> (Fate, Option<Time>) {
        let Some(text) = record.text.map(|span| line.text(span)).filter(|text| !text.is_empty()) else {
            return (Fate::Hidden(Rule::Step), None);
        };
        let key = self.block(line, record, part);
        let block = match part {
            Part::Thought => Block::Thought(Thought { text, ..Thought::default() }),
            _ => Block::Reply(Reply { text, ..Reply::default() }),
        };
        out.push(self.put(key, block));
        (Fate::Shown, None)
    }

    /// The key of the block that an event is about.
    fn block(&mut self, line: &Line, record: &Record, part: Part) -> Key {
        let id = record.item_id.map(|span| line.key(span)).unwrap_or_default();
        let place = self.place(record.index, &id);
        match part {
            Part::Reply | Part::Thought => format!("{}/{}", place.key, record.part).into(),
            Part::Input | Part::Output => place.key.clone(),
        }
    }

    fn place(&mut self, index: Option<u64>, id: &Key) -> &Place {
        let same = |place: &Place| match (index, place.index) {
            (Some(index), Some(other)) => index == other,
            _ => place.id == *id,
        };
        // The item that is being streamed is the last one: searching from the end finds it at once.
        let found = self.items.iter().rposition(same).unwrap_or_else(|| {
            let unnamed =
                || format!("{}/{}", self.response.as_deref().unwrap_or("response"), index.unwrap_or(0));
            let key = if id.is_empty() { unnamed().into() } else { id.clone() };
            self.items.push(Place { index, id: id.clone(), key });
            self.items.len() - 1
        });
        &self.items[found]
    }

    fn put(&self, key: Key, block: Block) -> Event {
        Event::Put { key, under: None, message: self.response.clone(), block }
    }

    /// An item begins or is complete.
    fn item(&mut self, index: Option<u64>, item: &Json, done: bool, out: &mut Vec<Event>) -> Fate {
        let word = |key: &str| {
            item.field_text(key).map(|text| Key::from(text.as_str())).filter(|key| !key.is_empty())
        };
        let kind = word("type").unwrap_or_default();
        let id = word("id").unwrap_or_default();
        let base = self.place(index, &id).key.clone();
        match kind.as_str() {
            "message" | "reasoning" if !done => Fate::Hidden(Rule::Step),
            "message" => {
                for (index, part) in item.get("content").unwrap_or_default().items().iter().enumerate() {
                    let text = part.field_text("text").or_else(|| part.field_text("refusal"));
                    if let Some(text) = text.filter(|text| !text.is_empty()) {
                        out.push(self.put(format!("{base}/{index}").into(), reply(text)));
                    }
                }
                Fate::Hidden(Rule::Step)
            }
            "reasoning" => {
                self.reasoning(&base, item, out);
                Fate::Hidden(Rule::Step)
            }
            "compaction" if done => {
                let kind = NoticeKind::Compaction { before: None, after: None };
                out.push(self.put(base, Block::Notice(Notice { kind, text: Text::default() })));
                Fate::Shown
            }
            "mcp_list_tools" | "tool_search_output" => Fate::Hidden(Rule::Instructions),
            "" | "compaction" => Fate::Hidden(Rule::Step),
            kind => {
                let key = word("call_id").unwrap_or(base);
                if let Some(place) =
                    self.items.iter_mut().rfind(|place| place.index == index && place.id == id)
                {
                    place.key = key.clone();
                }
                self.tool(kind, key, item, done, out)
            }
        }
    }

    fn reasoning(&self, base: &Key, item: &Json, out: &mut Vec<Event>) {
        let parts = |key: &str| item.get(key).unwrap_or_default().items();
        let summary = parts("summary");
        let texts = if summary.is_empty() { parts("content") } else { summary };
        let texts: Vec<Text> = texts.iter().filter_map(|part| part.field_text("text")).collect();
        let sealed = item.field_text("encrypted_content").is_some_and(|text| !text.is_empty());
        if texts.is_empty() && sealed {
            let thought = Thought { redacted: true, ..Thought::default() };
            out.push(self.put(format!("{base}/0").into(), Block::Thought(thought)));
        }
        for (index, text) in texts.into_iter().enumerate() {
            let thought = Thought { text, ..Thought::default() };
            out.push(self.put(format!("{base}/{index}").into(), Block::Thought(thought)));
        }
    }

    fn tool(&mut self, kind: &str, key: Key, item: &Json, done: bool, out: &mut Vec<Event>) -> Fate {
        if kind.ends_with("_output") {
            if done {
                let (state, output) = result(item);
                out.push(Event::End {
                    key,
                    end: End::Result { name: None, state, output: Box::new(output) },
                });
            }
            return if done { Fate::Shown } else { Fate::Hidden(Rule::Step) };
        }
        let known = kind.ends_with("_call") || matches!(kind, "program" | "mcp_approval_request");
        if !known {
            if done {
                let unknown = Unknown { kind: kind.into(), raw: item.clone() };
                out.push(self.put(key, Block::Unknown(unknown)));
            }
            return Fate::Shown;
        }
        let input = if done { input(item) } else { Json::default() };
        out.push(self.put(key.clone(), Block::Tool(Box::new(Tool::call(name(kind, item), input)))));
        match kind {
            _ if !done => {}
            "mcp_approval_request" => {
                let ask = Ask { id: key.clone(), reason: None, options: Vec::new() };
                out.push(Event::Ask { key, ask: Some(ask) });
                self.waiting = true;
            }
            "web_search_call"
            | "file_search_call"
            | "code_interpreter_call"
            | "image_generation_call"
            | "mcp_call" => {
                let (state, output) = result(item);
                out.push(Event::End {
                    key,
                    end: End::Result { name: None, state, output: Box::new(output) },
                });
            }
            // The rest is for the client to run: the turn goes on with the next response.
            _ => self.waiting = true,
        }
        Fate::Shown
    }
}

/// Steps without text of their own: the item that ends has it all.
fn is_step(kind: &[u8]) -> bool {
    let parts: [&[u8]; 6] =
        [b"_call", b"content_part.", b"summary_part.", b"annotation", b"mcp_list_tools", b"audio"];
    parts.iter().any(|part| kind.windows(part.len()).any(|window| window == *part))
}

fn response(line: &Line, record: &Record) -> Json {
    record.response.map(|span| line.json(span)).unwrap_or_default()
}

fn reply(text: Text) -> Block {
    Block::Reply(Reply { text, ..Reply::default() })
}

/// How sure this format is that the line is its own.
pub(crate) fn claim(line: &Line) -> Claim {
    if line
        .bytes()
        .strip_prefix(b"event:")
        .is_some_and(|name| name.trim_ascii_start().starts_with(b"response."))
    {
        return Claim::Yes;
    }
    let Sse::Data(data) = Sse::of(line) else { return Claim::No };
    let (mut kind, mut object, mut foreign) = (None, None, false);
    Reader::new(data.bytes()).object(|reader, key| match key {
        b"type" => kind = reader.text(),
        b"object" => object = reader.text(),
        b"timestamp" | b"payload" | b"jsonrpc" => foreign = true,
        _ => {}
    });
    let is =
        |span: Option<Span>, test: &dyn Fn(&[u8]) -> bool| span.is_some_and(|span| test(data.word(span)));
    match is(kind, &|kind| kind.starts_with(b"response.")) || is(object, &|object| object == b"response") {
        true if !foreign => Claim::Yes,
        _ => Claim::No,
    }
}

#[cfg(test)]
mod tests;
