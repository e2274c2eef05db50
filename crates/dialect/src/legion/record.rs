//! The fields of legion's records, whichever of its two forms they come in. It decides nothing.

use parlor_model::Key;
use parlor_model::json::{Json, Kind, Reader};
use parlor_model::line::Line;
use parlor_model::text::Text;
use parlor_model::time::Time;
use parlor_model::tool::FilePatch;
use parlor_model::usage::Usage;

use crate::blocks::{Content, content, contents, key, patches, tokens, usage};

/// All that a record may say. `metadata`, `data` and the SDK's own `data` inside of it are read into the same fields.
#[derive(Default)]
pub(super) struct Record {
    pub(super) kind: Option<Key>,
    pub(super) at: Option<Time>,
    pub(super) session: Option<Key>,
    /// The record's own id.
    pub(super) record: Option<Key>,
    pub(super) uuid: Option<Key>,
    /// The API message's id.
    pub(super) message: Option<Key>,
    /// The task it happened in.
    pub(super) under: Option<Key>,
    pub(super) contents: Vec<Content>,
    /// True when it has a place for words: `content`, `metadata` or `data`.
    pub(super) has_body: bool,
    pub(super) calls: Vec<Content>,
    pub(super) results: Vec<Content>,
    pub(super) thinking: Option<Text>,
    pub(super) thinking_blocks: Vec<Text>,
    pub(super) has_tool_uses: bool,
    pub(super) has_tool_results: bool,
    pub(super) has_thinking: bool,
    pub(super) subtype: Option<Key>,
    pub(super) model: Option<Key>,
    pub(super) cwd: Option<Key>,
    pub(super) version: Option<Key>,
    pub(super) usage: Option<Usage>,
    pub(super) cost: Option<f64>,
    pub(super) is_error: bool,
    pub(super) terminal: Option<Key>,
    pub(super) result: Option<Text>,
    pub(super) errors: Option<Text>,
    pub(super) call: Option<Key>,
    pub(super) name: Option<Key>,
    pub(super) tool_name: Option<Key>,
    pub(super) input: Json,
    pub(super) status: Option<Key>,
    pub(super) request: Option<Key>,
    pub(super) decision: Option<Key>,
    pub(super) question: Option<Text>,
    pub(super) description: Option<Text>,
    pub(super) summary: Option<Text>,
    pub(super) hook: Option<Text>,
    pub(super) exit_code: Option<i64>,
    pub(super) before: Option<u64>,
    pub(super) after: Option<u64>,
    pub(super) patches: Vec<FilePatch>,
}

impl Record {
    /// Takes a field of the record itself.
    pub(super) fn take(&mut self, reader: &mut Reader<'_>, line: &Line, name: &[u8]) {
        self.has_body |= matches!(name, b"content" | b"metadata" | b"data");
        match name {
            b"type" | b"_type" => self.kind = key(line, reader.text()),
            b"timestamp" => self.at = Time::read(reader, line.bytes()),
            b"session_id" => self.session = key(line, reader.text()),
            b"message_id" => self.record = key(line, reader.text()),
            b"metadata" | b"data" => {
                reader.object(|reader, name| self.take_inner(reader, line, name));
            }
            _ => self.take_field(reader, line, name),
        }
    }

    /// Takes a field of `metadata` or `data`, where ids are the SDK's.
    fn take_inner(&mut self, reader: &mut Reader<'_>, line: &Line, name: &[u8]) {
        match name {
            b"message_id" => self.message = key(line, reader.text()),
            b"data" => {
                reader.object(|reader, name| match name {
                    // The SDK repeats the record's fields here; only these are told nowhere else.
                    b"cwd"
                    | b"model"
                    | b"claude_code_version"
                    | b"compact_metadata"
                    | b"exit_code"
                    | b"hook_name" => {
                        self.take_field(reader, line, name);
                    }
                    b"content" | b"output" | b"stderr" | b"error" if self.contents.is_empty() => {
                        let words = reader.text().map(|span| line.text(span)).filter(|text| !text.is_blank());
                        self.contents.extend(words.map(Content::Text));
                    }
                    _ => {}
                });
            }
            _ => self.take_field(reader, line, name),
        }
    }

    fn take_field(&mut self, reader: &mut Reader<'_>, line: &Line, name: &[u8]) {
        let word = |reader: &mut Reader<'_>| key(line, reader.text());
        let text = |reader: &mut Reader<'_>| reader.text().map(|span| line.text(span));
        let flag = |reader: &mut Reader<'_>| reader.bool() == Some(true);
        match name {
            b"uuid" => self.uuid = word(reader),
            b"parent_tool_use_id" => self.under = word(reader),
            b"content" => self.contents = contents(reader, line),
            b"tool_uses" => self.calls = list(reader, line),
            b"tool_results" => self.results = list(reader, line),
            b"thinking_content" => self.thinking = text(reader),
            b"thinking_blocks" => self.take_thoughts(reader, line),
            b"has_tool_uses" => self.has_tool_uses = flag(reader),
            b"has_tool_results" => self.has_tool_results = flag(reader),
            b"has_thinking" => self.has_thinking = flag(reader),
            b"subtype" => self.subtype = word(reader).or(self.subtype.take()),
            b"model" => self.model = word(reader),
            b"cwd" | b"working_directory" => self.cwd = word(reader).or(self.cwd.take()),
            b"claude_code_version" => self.version = word(reader),
            b"usage" => self.usage = usage(reader),
            b"total_cost_usd" => self.cost = reader.number(),
            b"is_error" => self.is_error = flag(reader),
            b"terminal_reason" => self.terminal = word(reader),
            b"result" => self.result = text(reader),
            b"error" | b"error_details" => self.errors = text(reader).or(self.errors.take()),
            b"errors" => self.take_errors(reader, line),
            b"tool_use_id" => self.call = word(reader),
            b"name" => self.name = word(reader),
            b"tool_name" => self.tool_name = word(reader),
            b"input" | b"input_params" => self.input = line.json(reader.raw()),
            b"status" => self.status = word(reader),
            b"request_id" => self.request = word(reader),
            b"decision" | b"behavior" => self.decision = word(reader),
            b"permission" => self.take_permission(reader, line),
            b"description" => self.description = text(reader),
            b"summary" => self.summary = text(reader),
            b"hook_name" => self.hook = text(reader),
            b"exit_code" => self.exit_code = reader.integer(),
            b"compact_metadata" => self.take_compaction(reader),
            b"tool_use_result" => self.patches = patches(reader, line),
            b"_triggering_message" => self.take_trigger(reader, line),
            _ => {}
        }
    }

    fn take_thoughts(&mut self, reader: &mut Reader<'_>, line: &Line) {
        reader.array(|reader| {
            let span = match reader.kind() {
                Kind::Object => {
                    let mut span = None;
                    reader.object(|reader, name| {
                        if name == b"content" || name == b"thinking" {
                            span = reader.text();
                        }
                    });
                    span
                }
                _ => reader.text(),
            };
            self.thinking_blocks.extend(span.map(|span| line.text(span)));
        });
    }

    fn take_errors(&mut self, reader: &mut Reader<'_>, line: &Line) {
        reader.array(|reader| {
            let error = reader.text().map(|span| line.text(span));
            if self.errors.is_none() {
                self.errors = error;
            }
        });
    }

    fn take_permission(&mut self, reader: &mut Reader<'_>, line: &Line) {
        reader.object(|reader, name| {
            if name == b"message" {
                self.question = reader.text().map(|span| line.text(span));
            }
        });
    }

    fn take_compaction(&mut self, reader: &mut Reader<'_>) {
        reader.object(|reader, name| match name {
            b"pre_tokens" | b"preTokens" => self.before = Some(tokens(reader)),
            b"post_tokens" | b"postTokens" => self.after = Some(tokens(reader)),
            _ => {}
        });
    }

    /// The request that made a call wait: its id is what an answer needs.
    fn take_trigger(&mut self, reader: &mut Reader<'_>, line: &Line) {
        reader.object(|reader, name| match name {
            b"request_id" => self.request = key(line, reader.text()),
            b"data" => {
                reader.object(|reader, name| {
                    if name == b"request_id" {
                        self.request = key(line, reader.text());
                    }
                });
            }
            _ => {}
        });
    }
}

/// The calls or results in `metadata`, which have no `type`. What is no object is nothing.
fn list(reader: &mut Reader<'_>, line: &Line) -> Vec<Content> {
    let mut list = Vec::new();
    reader.array(|reader| {
        if reader.kind() == Kind::Object {
            list.push(content(reader, line));
        }
    });
    list
}
