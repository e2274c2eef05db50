//! The fields of cdev's messages, events and elements. It decides nothing.

use parlor_model::Key;
use parlor_model::json::{Json, Kind, Reader, Span};
use parlor_model::line::Line;
use parlor_model::text::Text;
use parlor_model::time::Time;

use crate::blocks::{Content, contents, key};

/// The outermost object: a notification, an answer, an event, a page, or a message.
#[derive(Default)]
pub(super) struct Envelope {
    pub(super) name: Option<Span>,
    pub(super) answer: bool,
    pub(super) page: Option<Vec<Record>>,
    pub(super) record: Record,
}

impl Envelope {
    pub(super) fn take(&mut self, reader: &mut Reader<'_>, line: &Line, key: &[u8]) {
        match key {
            b"method" | b"event" => self.name = reader.text(),
            b"params" | b"payload" => {
                reader.object(|reader, key| self.record.take(reader, line, key));
            }
            b"result" if reader.kind() == Kind::Object => {
                self.answer = true;
                reader.object(|reader, key| self.list(reader, line, key));
            }
            b"result" | b"jsonrpc" => self.answer = true,
            b"messages" | b"elements" => self.list(reader, line, key),
            _ => self.record.take(reader, line, key),
        }
    }

    fn list(&mut self, reader: &mut Reader<'_>, line: &Line, key: &[u8]) {
        let is_element = match key {
            b"messages" => false,
            b"elements" => true,
            _ => return,
        };
        let page = self.page.get_or_insert_default();
        reader.array(|reader| {
            reader.kind();
            let start = reader.position();
            let mut record = Record { is_element, ..Record::default() };
            reader.object(|reader, key| record.take(reader, line, key));
            record.raw = line.json(Span { start, end: reader.position() });
            page.push(record);
        });
    }
}

/// The fields of a message and of every event, which share their names.
#[derive(Default)]
pub(super) struct Record {
    pub(super) is_element: bool,
    pub(super) raw: Json,
    pub(super) row: Option<i64>,
    pub(super) id: Option<Key>,
    pub(super) uuid: Option<Key>,
    pub(super) kind: Option<Key>,
    pub(super) role: Option<Key>,
    pub(super) session: Option<Key>,
    pub(super) at: Option<Time>,
    pub(super) branch: Option<Key>,
    pub(super) model: Option<Key>,
    pub(super) version: Option<Key>,
    pub(super) stop: Option<Key>,
    pub(super) contents: Vec<Content>,
    pub(super) has_content: bool,
    pub(super) is_compaction: bool,
    pub(super) is_meta: bool,
    pub(super) failed: bool,
    pub(super) state: Option<Key>,
    pub(super) error: Option<Text>,
    pub(super) diff: Option<Text>,
    pub(super) file: Option<Text>,
    pub(super) log: Option<Text>,
    pub(super) stream: Option<Key>,
    pub(super) parsed: bool,
    pub(super) call: Option<Key>,
    pub(super) tool_id: Option<Key>,
    pub(super) tool: Option<Key>,
    pub(super) input: Json,
    pub(super) description: Option<Text>,
    pub(super) reason: Option<Key>,
    pub(super) words: Option<Text>,
}

impl Record {
    /// True when it is a row of cdev's own table.
    pub(super) fn has_row(&self) -> bool {
        self.row.is_some() || self.id.is_some()
    }

    pub(super) fn take(&mut self, reader: &mut Reader<'_>, line: &Line, name: &[u8]) {
        let word = |reader: &mut Reader<'_>| key(line, reader.text());
        let text = |reader: &mut Reader<'_>| reader.text().map(|span| line.text(span));
        match name {
            b"id" if reader.kind() == Kind::Number => self.row = reader.integer(),
            b"id" => self.id = word(reader),
            b"uuid" => self.uuid = word(reader),
            b"type" => self.kind = word(reader),
            b"role" => self.role = word(reader),
            b"session_id" => self.session = word(reader).or(self.session.take()),
            b"timestamp" => self.at = Time::read(reader, line.bytes()).or(self.at),
            b"git_branch" => self.branch = word(reader),
            b"model" => self.model = word(reader),
            b"version" => self.version = word(reader),
            b"stop_reason" => self.stop = word(reader),
            b"is_context_compaction" => self.is_compaction = reader.bool() == Some(true),
            b"is_meta" => self.is_meta = reader.bool() == Some(true),
            b"is_error" => self.failed = reader.bool() == Some(true),
            b"message" if reader.kind() == Kind::Object => {
                self.has_content = true;
                reader.object(|reader, key| match key {
                    b"role" | b"model" | b"content" | b"stop_reason" => self.take(reader, line, key),
                    _ => {}
                });
            }
            b"content" if self.is_element => {
                reader.object(|reader, key| self.take_element(reader, line, key));
            }
            b"content" => {
                self.contents = contents(reader, line);
                self.has_content = true;
            }
            b"error" if reader.kind() == Kind::Object => {
                reader.object(|reader, key| {
                    if key == b"message" {
                        self.error = text(reader);
                    }
                });
            }
            b"error" => self.error = text(reader),
            b"state" => self.state = word(reader),
            b"diff" => self.diff = text(reader),
            b"file" => self.file = text(reader),
            b"line" => self.log = text(reader),
            b"stream" => self.stream = word(reader),
            b"parsed" => self.parsed = reader.kind() == Kind::Object,
            b"tool_use_id" => self.call = word(reader),
            b"tool_name" => self.tool = word(reader),
            b"input" => self.input = input(reader, line),
            b"description" => self.description = text(reader),
            b"reason" => self.reason = word(reader),
            b"message" => self.words = text(reader),
            _ => {}
        }
    }

    fn take_element(&mut self, reader: &mut Reader<'_>, line: &Line, name: &[u8]) {
        let word = |reader: &mut Reader<'_>| key(line, reader.text());
        match name {
            // A result's `summary` is its shortened first line; a diff's is an object.
            b"text" | b"full_content" => self.words = reader.text().map(|span| line.text(span)),
            b"summary" if reader.kind() == Kind::String && self.words.is_none() => {
                self.words = reader.text().map(|span| line.text(span));
            }
            b"tool" | b"tool_name" => self.tool = word(reader),
            b"tool_id" => self.tool_id = word(reader),
            b"params" => self.input = line.json(reader.raw()),
            b"tool_call_id" => self.call = word(reader),
            b"is_error" => self.failed = reader.bool() == Some(true),
            b"hunks" => self.words = Some(hunks(reader, line)),
            _ => {}
        }
    }
}

/// An input as a string of JSON, or as JSON.
fn input(reader: &mut Reader<'_>, line: &Line) -> Json {
    if reader.kind() != Kind::String {
        return line.json(reader.raw());
    }
    let text = reader.text().map(|span| line.text(span)).unwrap_or_default();
    Json::new(text.as_str().into_owned().into())
}

/// The hunks of a diff element as a unified diff.
fn hunks(reader: &mut Reader<'_>, line: &Line) -> Text {
    let mut diff = String::new();
    reader.array(|reader| {
        let (mut header, mut body) = (None, String::new());
        reader.object(|reader, key| match key {
            b"header" => header = reader.text(),
            b"lines" => {
                reader.array(|reader| {
                    let (mut kind, mut content) = (None, None);
                    reader.object(|reader, key| match key {
                        b"type" => kind = reader.text(),
                        b"content" => content = reader.text(),
                        _ => {}
                    });
                    body.push(match kind.map(|span| line.word(span)) {
                        Some(b"added") => '+',
                        Some(b"removed") => '-',
                        _ => ' ',
                    });
                    body.push_str(&content.map(|span| line.text(span)).unwrap_or_default().as_str());
                    body.push('\n');
                });
            }
            _ => {}
        });
        diff.push_str(&header.map(|span| line.text(span)).unwrap_or_else(|| "@@".into()).as_str());
        diff.push('\n');
        diff.push_str(&body);
    });
    diff.into()
}
