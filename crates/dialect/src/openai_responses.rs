//! OpenAI's Responses API as a stream of events, or as one whole response. Items are found by their place in the output:
//! gateways change the ids on the way.

use bytes::Bytes;
use parlor_model::Key;
use parlor_model::block::{Attachment, Block, Notice, NoticeKind, Reply, Source, Thought, Unknown};
use parlor_model::event::{Ask, End, Event, Fate, Meta, Part, Reading, Turn};
use parlor_model::json::{Json, Kind, Reader, Span};
use parlor_model::line::Line;
use parlor_model::rule::Rule;
use parlor_model::text::Text;
use parlor_model::time::Time;
use parlor_model::tool::{Output, Piece, Tool, ToolState};

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

/// An event's fields, whatever its type.
#[derive(Debug, Default)]
struct Record {
    kind: Option<Span>,
    index: Option<u64>,
    item_id: Option<Span>,
    part: u64,
    delta: Option<Span>,
    pieces: Vec<Span>,
    text: Option<Span>,
    item: Option<Span>,
    response: Option<Span>,
    error: Option<Span>,
    message: Option<Span>,
    object: Option<Span>,
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
        let visible = |event: &Event| matches!(event, Event::Turn { turn: Turn::Failed { .. } } | Event::Put { .. });
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
                let words = error.field_text("message").or_else(|| record.message.map(|span| line.text(span)));
                self.fail(words, out);
                step
            }
            b"response.output_item.added" | b"response.output_item.done" => {
                let item = record.item.map(|span| line.json(span)).unwrap_or_default();
                let fate = self.item(record.index, &item, kind.ends_with(b"done"), out);
                (fate, None)
            }
            b"response.output_text.delta" | b"response.refusal.delta" => self.grow(line, record, Part::Reply, out),
            b"response.reasoning_summary_text.delta" | b"response.reasoning_text.delta" => {
                self.grow(line, record, Part::Thought, out)
            }
            b"response.function_call_arguments.delta" | b"response.mcp_call_arguments.delta"
            | b"response.custom_tool_call_input.delta" => self.grow(line, record, Part::Input, out),
            b"response.shell_call_output_content.delta" => self.grow(line, record, Part::Output, out),
            b"response.output_text.done" | b"response.refusal.done" => self.complete(line, record, Part::Reply, out),
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
            out.extend(usage(&mut Reader::new(used.bytes())).map(|usage| Event::Usage { message: key.clone(), usage }));
        }
        let status = response.field_text("status").unwrap_or_default();
        match &*status.as_str() {
            "failed" => self.fail(response.get("error").and_then(|error| error.field_text("message")), out),
            "incomplete" => {
                let reason = response.get("incomplete_details").and_then(|details| details.field_text("reason"));
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

    fn grow(&mut self, line: &Line, record: &Record, part: Part, out: &mut Vec<Event>) -> (Fate, Option<Time>) {
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

    fn complete(&mut self, line: &Line, record: &Record, part: Part, out: &mut Vec<Event>) -> (Fate, Option<Time>) {
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
            let unnamed = || format!("{}/{}", self.response.as_deref().unwrap_or("response"), index.unwrap_or(0));
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
        let word = |key: &str| item.field_text(key).map(|text| Key::from(text.as_str())).filter(|key| !key.is_empty());
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
                if let Some(place) = self.items.iter_mut().rfind(|place| place.index == index && place.id == id) {
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
                out.push(Event::End { key, end: End::Result { name: None, state, output: Box::new(output) } });
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
            "web_search_call" | "file_search_call" | "code_interpreter_call" | "image_generation_call" | "mcp_call" => {
                let (state, output) = result(item);
                out.push(Event::End { key, end: End::Result { name: None, state, output: Box::new(output) } });
            }
            // The rest is for the client to run: the turn goes on with the next response.
            _ => self.waiting = true,
        }
        Fate::Shown
    }
}

impl Record {
    fn field(&mut self, reader: &mut Reader<'_>, key: &[u8]) {
        match key {
            b"type" => self.kind = reader.text(),
            b"output_index" => self.index = reader.number().map(|index| index as u64),
            b"item_id" => self.item_id = reader.text(),
            b"content_index" | b"summary_index" => self.part = reader.number().map_or(0, |index| index as u64),
            b"delta" if reader.kind() == Kind::Object => {
                reader.object(|reader, _| self.pieces.extend(reader.text()));
            }
            b"delta" => self.delta = reader.text(),
            b"text" | b"refusal" => self.text = reader.text(),
            b"item" => self.item = Some(reader.raw()),
            b"response" => self.response = Some(reader.raw()),
            b"error" => self.error = Some(reader.raw()),
            b"message" => self.message = reader.text(),
            b"object" => self.object = reader.text(),
            _ => {}
        }
    }
}

/// Steps without text of their own: the item that ends has it all.
fn is_step(kind: &[u8]) -> bool {
    let parts: [&[u8]; 6] = [b"_call", b"content_part.", b"summary_part.", b"annotation", b"mcp_list_tools", b"audio"];
    parts.iter().any(|part| kind.windows(part.len()).any(|window| window == *part))
}

fn response(line: &Line, record: &Record) -> Json {
    record.response.map(|span| line.json(span)).unwrap_or_default()
}

fn reply(text: Text) -> Block {
    Block::Reply(Reply { text, ..Reply::default() })
}

fn name(kind: &str, item: &Json) -> Key {
    let text = |key: &str| item.field_text(key).map(|text| text.as_str().into_owned()).unwrap_or_default();
    match kind {
        "mcp_call" | "mcp_approval_request" => format!("mcp__{}__{}", text("server_label"), text("name")).into(),
        _ => Some(text("name")).filter(|name| !name.is_empty()).map_or_else(|| kind.into(), Key::from),
    }
}

/// What a call was given: arguments are JSON in a string, the rest are values of their own.
fn input(item: &Json) -> Json {
    if let Some(arguments) = item.get("arguments") {
        return match arguments.text() {
            Some(text) if text.is_blank() => Json::new(Bytes::from_static(b"{}")),
            Some(text) => Json::new(text.as_str().into_owned().into()),
            None => arguments,
        };
    }
    if let Some(value) = item.get("input").or_else(|| item.get("operation")) {
        return value;
    }
    // A search names what it looks for inside its action; a shell's action is its input.
    let kind = item.field_text("type").unwrap_or_default();
    match item.get("action") {
        Some(action) if kind != "web_search_call" => action,
        _ => {
            let kept = ["action", "code", "queries", "prompt"];
            let fields = kept.iter().filter_map(|key| Some(format!("\"{key}\":{}", item.get(key)?.lossy())));
            Json::new(format!("{{{}}}", fields.collect::<Vec<_>>().join(",")).into())
        }
    }
}

/// What a call gave back.
fn result(item: &Json) -> (ToolState, Output) {
    let text = |key: &str| item.field_text(key).filter(|text| !text.is_empty());
    let mut output = Output::default();
    output.parts.extend(text("output").or_else(|| text("error")).map(|text| Piece::Text { text }));
    for part in [item.get("output"), item.get("outputs")].into_iter().flatten().flat_map(|list| list.items()) {
        let texts = ["text", "logs", "stdout", "stderr"].iter().filter_map(|key| part.field_text(key));
        output.parts.extend(texts.filter(|text| !text.is_empty()).map(|text| Piece::Text { text }));
        let code = part.get("outcome").and_then(|outcome| outcome.get("exit_code")?.number());
        output.exit_code = code.map(|code| code as i64).or(output.exit_code);
    }
    if let Some(result) = text("result") {
        let is_image = text("type").is_some_and(|kind| kind == "image_generation_call");
        let source = Source::Base64(result.clone());
        output.parts.push(match is_image {
            true => Piece::Attachment { attachment: Attachment { media_type: "image/png".into(), name: None, source } },
            false => Piece::Text { text: result },
        });
    }
    let files = item.get("results").unwrap_or_default().items();
    output.files = files.iter().filter_map(|file| file.field_text("filename")).collect();
    let failed = text("error").is_some() || item.get("error").is_some_and(|error| error.kind() == Kind::Object);
    let state = match text("status").unwrap_or_default().as_str().as_ref() {
        "failed" => ToolState::Failed,
        "incomplete" => ToolState::Interrupted,
        _ if failed || output.exit_code.is_some_and(|code| code != 0) => ToolState::Failed,
        _ => ToolState::Done,
    };
    (state, output)
}

/// How sure this format is that the line is its own.
pub(crate) fn claim(line: &Line) -> Claim {
    if line.bytes().strip_prefix(b"event:").is_some_and(|name| name.trim_ascii_start().starts_with(b"response.")) {
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
    let is = |span: Option<Span>, test: &dyn Fn(&[u8]) -> bool| span.is_some_and(|span| test(data.word(span)));
    match is(kind, &|kind| kind.starts_with(b"response.")) || is(object, &|object| object == b"response") {
        true if !foreign => Claim::Yes,
        _ => Claim::No,
    }
}

#[cfg(test)]
mod tests {
    use crate::Format::OpenaiResponses as Responses;
    use crate::telling::tell;

    const CREATED: &str = r#"data: {"type":"response.created","response":{"id":"r","model":"m"}}"#;

    fn item(index: u64, item: &str) -> String {
        format!(r#"data: {{"type":"response.output_item.done","output_index":{index},"item":{item}}}"#)
    }

    #[test]
    fn text_belongs_to_its_place_even_when_ids_change() {
        let told = tell(
            Responses,
            &[
                "event: response.created",
                CREATED,
                r#"data: {"type":"response.output_item.added","output_index":0,"item":{"id":"m1","type":"message"}}"#,
                r#"data: {"type":"response.output_text.delta","output_index":0,"item_id":"m2","content_index":0,"delta":"x"}"#,
                &item(0, r#"{"id":"m3","type":"message","content":[{"type":"output_text","text":"x"}]}"#),
                r#"data: {"type":"response.completed","response":{"id":"r","status":"completed","usage":{"input_tokens":5,"output_tokens":1,"input_tokens_details":{"cached_tokens":2}}}}"#,
            ],
        );
        assert_eq!(told, ["start", "m1/0 + x", "m1/0 reply x", "r usage 3+2+1", "done"]);
    }

    #[test]
    fn calls_are_named_by_their_call_id_and_keep_the_turn_open() {
        let told = tell(
            Responses,
            &[
                CREATED,
                r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"f1","type":"function_call","call_id":"c","name":"f","arguments":""}}"#,
                r#"{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"f1","delta":"{}"}"#,
                &item(0, r#"{"id":"f1","type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#),
                r#"{"type":"response.completed","response":{"id":"r","status":"completed"}}"#,
            ],
        );
        assert_eq!(told, ["start", "c tool f  Pending", "c + {}", "c tool f {} Pending"]);
    }

    #[test]
    fn tools_of_the_server_come_with_their_result() {
        let told = tell(
            Responses,
            &[
                CREATED,
                &item(0, r#"{"id":"w","type":"web_search_call","status":"completed","action":{"type":"search","query":"q"}}"#),
                &item(1, r#"{"id":"m","type":"mcp_call","name":"n","server_label":"s","arguments":"{}","error":"bad"}"#),
                &item(2, r#"{"id":"o","type":"shell_call_output","call_id":"c","output":[{"stdout":"out","outcome":{"exit_code":0}}]}"#),
                &item(3, r#"{"id":"n","type":"novelty"}"#),
            ],
        );
        assert_eq!(
            told,
            [
                "start",
                r#"w tool web_search_call {"action":{"type":"search","query":"q"}} Pending"#,
                "w = Done ",
                "m tool mcp__s__n {} Pending",
                "m = Failed bad",
                "c = Done out",
                "n unknown novelty",
            ]
        );
    }

    #[test]
    fn sealed_reasoning_is_a_hidden_thought_and_an_error_is_said_once() {
        let told = tell(
            Responses,
            &[
                CREATED,
                &item(0, r#"{"id":"t","type":"reasoning","summary":[],"encrypted_content":"x"}"#),
                r#"data: {"type":"error","error":{"message":"no"}}"#,
                r#"data: {"type":"response.failed","response":{"id":"r","status":"failed","error":{"message":"no"}}}"#,
            ],
        );
        assert_eq!(told, ["start", "t/0 thought# ", "failed no"]);
    }
}
