//! The fields of cli-bridge's messages, and what they are wrapped in. It decides nothing.

use parlor_model::Key;
use parlor_model::json::{Json, Kind, Reader, Span};
use parlor_model::line::Line;
use parlor_model::text::Text;
use parlor_model::time::Time;
use parlor_model::tool::Output;
use parlor_model::usage::Usage;

use crate::blocks::{Content, contents, key, output, tokens};

/// What a line holds: an envelope around a message, a list of them, or a message itself.
#[derive(Default)]
pub(super) struct Envelope {
    pub(super) is_item: bool,
    pub(super) outer: Message,
    pub(super) inner: Option<Message>,
    pub(super) list: Option<Vec<Envelope>>,
}

impl Envelope {
    pub(super) fn take(&mut self, reader: &mut Reader<'_>, line: &Line, key: &[u8]) {
        match key {
            b"message" if reader.kind() == Kind::Object => {
                let start = reader.position();
                let mut message = Message::default();
                reader.object(|reader, key| message.take(reader, line, key));
                message.raw = line.json(Span { start, end: reader.position() });
                self.inner = Some(message);
            }
            b"messages" if !self.is_item && reader.kind() == Kind::Array => {
                let list = self.list.get_or_insert_default();
                reader.array(|reader| {
                    reader.kind();
                    let start = reader.position();
                    let mut item = Envelope { is_item: true, ..Envelope::default() };
                    reader.object(|reader, key| item.take(reader, line, key));
                    item.outer.raw = line.json(Span { start, end: reader.position() });
                    list.push(item);
                });
            }
            _ => self.outer.take(reader, line, key),
        }
    }

    /// The message, and the name of the record around it.
    pub(super) fn open(self) -> (Option<Key>, Message) {
        match self.inner {
            Some(mut inner) if matches!(self.outer.kind.as_deref(), None | Some("stream")) => {
                inner.at = inner.at.or(self.outer.at);
                (self.outer.id, inner)
            }
            _ => (None, self.outer),
        }
    }
}

/// The fields of every kind of message.
#[derive(Default)]
pub(super) struct Message {
    pub(super) raw: Json,
    pub(super) kind: Option<Key>,
    pub(super) id: Option<Key>,
    pub(super) at: Option<Time>,
    pub(super) contents: Vec<Content>,
    pub(super) has_content: bool,
    pub(super) delta: Option<bool>,
    pub(super) subtype: Option<Key>,
    pub(super) thinking: Option<Text>,
    pub(super) name: Option<Key>,
    pub(super) tool: Option<Key>,
    pub(super) input: Json,
    pub(super) title: Option<Text>,
    pub(super) result: Option<Output>,
    pub(super) output: Option<Output>,
    pub(super) failed: bool,
    pub(super) state: Option<Key>,
    pub(super) usage: Usage,
    pub(super) cost: Option<f64>,
    pub(super) context: Option<u64>,
    pub(super) window: Option<u64>,
    pub(super) description: Option<Text>,
    pub(super) summary: Option<Text>,
    pub(super) question: Option<Text>,
    pub(super) options: Vec<Text>,
    pub(super) session: Option<Key>,
    pub(super) model: Option<Key>,
    pub(super) words: Option<Text>,
}

impl Message {
    pub(super) fn take(&mut self, reader: &mut Reader<'_>, line: &Line, name: &[u8]) {
        let word = |reader: &mut Reader<'_>| key(line, reader.text());
        let text = |reader: &mut Reader<'_>| reader.text().map(|span| line.text(span));
        match name {
            b"type" => self.kind = word(reader),
            b"id" if reader.kind() == Kind::Number => self.id = Some(line.json(reader.raw()).lossy().into()),
            b"id" => self.id = word(reader).or(self.id.take()),
            b"tool_use_id" | b"toolUseId" => self.id = word(reader).or(self.id.take()),
            b"timestamp" => self.at = Time::read(reader, line.bytes()),
            b"content" => self.take_content(reader, line),
            b"delta" => self.delta = reader.bool(),
            b"subtype" => self.subtype = word(reader),
            b"thinking" => {
                self.thinking = text(reader);
                self.has_content = true;
            }
            b"name" => self.name = word(reader),
            b"tool" => self.tool = word(reader),
            b"input" => self.input = line.json(reader.raw()),
            b"inputDescription" => self.title = text(reader),
            b"result" if reader.kind() != Kind::Null => self.take_result(reader, line),
            b"output" => self.output = Some(output(reader, line)),
            b"isError" | b"is_error" => self.failed |= reader.bool() == Some(true),
            b"success" => self.failed |= reader.bool() == Some(false),
            b"state" => self.state = word(reader),
            b"inputTokens" => self.usage.input = tokens(reader),
            b"outputTokens" => self.usage.output = tokens(reader),
            b"cacheReadTokens" => self.usage.cache_read = tokens(reader),
            b"cacheCreateTokens" => self.usage.cache_write = tokens(reader),
            b"totalCost" => self.cost = reader.number(),
            b"contextUsed" => self.context = Some(tokens(reader)),
            b"contextLimit" => self.window = Some(tokens(reader)),
            b"description" => self.description = text(reader),
            b"summary" => self.summary = text(reader),
            b"options" => self.options = options(reader, line),
            b"questions" => self.take_questions(reader, line),
            b"sessionId" => self.session = word(reader),
            b"model" => self.model = word(reader),
            b"message" | b"error" => self.words = text(reader).or(self.words.take()),
            _ => {}
        }
    }

    /// One value that is a message's content or, by the SDK's name for it, a tool's output.
    fn take_content(&mut self, reader: &mut Reader<'_>, line: &Line) {
        let tail = line.tail(reader.position());
        self.output.get_or_insert_with(|| output(&mut Reader::new(tail.bytes()), &tail));
        self.contents = contents(reader, line);
        self.has_content = true;
    }

    /// A stored call with its result inside: the output itself, or an object around it.
    fn take_result(&mut self, reader: &mut Reader<'_>, line: &Line) {
        if reader.kind() != Kind::Object {
            self.result = Some(output(reader, line));
            return;
        }
        let mut result = None;
        let start = reader.position();
        reader.object(|reader, key| match key {
            b"output" | b"content" => result = Some(output(reader, line)),
            b"isError" | b"is_error" => self.failed |= reader.bool() == Some(true),
            b"success" => self.failed |= reader.bool() == Some(false),
            _ => {}
        });
        let whole = line.json(Span { start, end: reader.position() });
        self.result = Some(result.unwrap_or_else(|| Output::text(whole.lossy().into_owned())));
    }

    fn take_questions(&mut self, reader: &mut Reader<'_>, line: &Line) {
        let start = reader.position();
        reader.array(|reader| {
            let (mut question, mut choices) = (None, Vec::new());
            reader.object(|reader, key| match key {
                b"question" => question = reader.text(),
                b"options" => choices = options(reader, line),
                _ => {}
            });
            if self.question.is_none() {
                self.question = question.map(|span| line.text(span));
                self.options = choices;
            }
        });
        let questions = line.json(Span { start, end: reader.position() });
        self.input = Json::new(format!("{{\"questions\":{}}}", questions.lossy()).into());
    }
}

/// The answers that are offered: words, or objects with a label.
fn options(reader: &mut Reader<'_>, line: &Line) -> Vec<Text> {
    let mut options = Vec::new();
    reader.array(|reader| {
        let span = match reader.kind() {
            Kind::Object => {
                let mut label = None;
                reader.object(|reader, key| {
                    if key == b"label" || (key == b"id" && label.is_none()) {
                        label = reader.text();
                    }
                });
                label
            }
            _ => reader.text(),
        };
        options.extend(span.map(|span| line.text(span)));
    });
    options
}
