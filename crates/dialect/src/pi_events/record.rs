//! One line of the stream as spans: an event, an answer, or a command. It says nothing about them.

use parlor_model::Key;
use parlor_model::json::{Json, Kind, Reader, Span};
use parlor_model::line::Line;
use parlor_model::text::Text;
use parlor_model::tool::Tool;

use crate::pi::{Header, Item, Message, json_text};

/// A line's fields, whatever its type.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) kind: Option<Span>,
    pub(super) header: Header,
    pub(super) message: Option<Message>,
    pub(super) step: Step,
    pub(super) result: Option<Message>,
    pub(super) id: Option<Span>,
    pub(super) name: Option<Span>,
    pub(super) arguments: Option<Span>,
    pub(super) will_retry: Option<bool>,
    pub(super) aborted: bool,
    pub(super) is_error: bool,
    pub(super) duration_ms: Option<u64>,
    pub(super) error: Option<Span>,
    pub(super) queue: Vec<Text>,
    pub(super) command: Option<Span>,
    pub(super) data: Option<Span>,
    pub(super) method: Option<Span>,
    pub(super) words: Vec<Text>,
}

/// One `assistantMessageEvent`.
#[derive(Debug, Default)]
pub(super) struct Step {
    pub(super) kind: Option<Span>,
    pub(super) index: u64,
    pub(super) delta: Option<Span>,
    pub(super) content: Option<Span>,
    pub(super) id: Option<Span>,
    pub(super) name: Option<Span>,
    pub(super) call: Option<Item>,
    pub(super) partial: Option<Span>,
}

impl Step {
    pub(super) fn read(reader: &mut Reader<'_>, line: &Line) -> Step {
        let mut step = Step::default();
        reader.object(|reader, key| match key {
            b"type" => step.kind = reader.text(),
            b"contentIndex" => step.index = reader.number().map_or(0, |index| index as u64),
            b"delta" => step.delta = reader.text(),
            b"content" => step.content = reader.text(),
            b"id" => step.id = reader.text(),
            b"toolName" => step.name = reader.text(),
            b"toolCall" => step.call = Some(Item::read(reader, line)),
            b"partial" => step.partial = Some(reader.raw()),
            _ => {}
        });
        step
    }

    /// The id and name of a call that begins: of its own, or, in older versions, in the message so far.
    pub(super) fn started(&self, line: &Line) -> (Option<Key>, Tool) {
        let call = |name: Option<Key>| Tool::call(name.unwrap_or_else(|| "tool".into()), Json::default());
        if self.id.is_some() {
            return (json_text(line, self.id), call(json_text(line, self.name)));
        }
        let content = self.partial.and_then(|span| line.json(span).get("content")).unwrap_or_default();
        let item = usize::try_from(self.index).ok().and_then(|index| content.items().get(index).cloned());
        let word = |key: &str| item.as_ref()?.field_text(key).map(|text| Key::from(text.as_str()));
        (word("id").filter(|id| !id.is_empty()), call(word("name")))
    }
}

impl Record {
    pub(super) fn field(&mut self, reader: &mut Reader<'_>, key: &[u8], line: &Line) {
        match key {
            b"type" => self.kind = reader.text(),
            b"id" | b"cwd" | b"parentSession" | b"timestamp" => self.header.field(reader, key, line),
            b"message"
                if reader.kind() == Kind::Object
                    && self.kind.is_some_and(|kind| line.word(kind) == b"message_update") =>
            {
                reader.skip();
            }
            b"message" if reader.kind() == Kind::Object => self.message = Some(Message::read(reader, line)),
            b"assistantMessageEvent" => self.step = Step::read(reader, line),
            b"result" | b"partialResult" if reader.kind() == Kind::Object => {
                self.result = Some(Message::read(reader, line));
            }
            b"toolCallId" => self.id = reader.text(),
            b"toolName" | b"name" => self.name = reader.text(),
            b"args" => self.arguments = Some(reader.raw()),
            b"willRetry" => self.will_retry = reader.bool(),
            b"aborted" => self.aborted = reader.bool() == Some(true),
            b"isError" => self.is_error = reader.bool() == Some(true),
            b"durationMs" => self.duration_ms = reader.number().map(|number| number as u64),
            b"errorMessage" | b"error" => self.error = reader.text(),
            b"steering" | b"followUp" => {
                reader.array(|reader| self.queue.extend(reader.text().map(|span| line.text(span))));
            }
            b"command" => self.command = reader.text(),
            b"data" => self.data = Some(reader.raw()),
            b"method" => self.method = reader.text(),
            b"title" | b"message" => self.words.extend(reader.text().map(|span| line.text(span))),
            b"options" => {
                reader.array(|reader| self.words.extend(reader.text().map(|span| line.text(span))));
            }
            _ => {}
        }
    }
}

/// The commands that a client writes to `--mode rpc`, and its answers to extensions.
pub(super) fn is_command(kind: &[u8]) -> bool {
    const COMMANDS: [&[u8]; 36] = [
        b"prompt",
        b"steer",
        b"follow_up",
        b"abort",
        b"new_session",
        b"get_state",
        b"get_messages",
        b"set_model",
        b"cycle_model",
        b"get_available_models",
        b"set_thinking_level",
        b"cycle_thinking_level",
        b"set_steering_mode",
        b"set_follow_up_mode",
        b"compact",
        b"set_auto_compaction",
        b"set_auto_retry",
        b"abort_retry",
        b"bash",
        b"abort_bash",
        b"get_session_stats",
        b"export_html",
        b"switch_session",
        b"fork",
        b"clone",
        b"get_fork_messages",
        b"get_entries",
        b"get_tree",
        b"get_last_assistant_text",
        b"set_session_name",
        b"get_commands",
        b"extension_ui_response",
        b"branch",
        b"get_branch_messages",
        b"navigate_tree",
        b"reload",
    ];
    COMMANDS.contains(&kind)
}
