//! Turns the recording into the lines that Claude Code would write, with fresh names for every turn. It waits for
//! nothing and writes nothing.

use serde::Deserialize;
use serde_json::{Value, json};

/// The first turn, and every later one.
pub(super) const FIRST: &str = include_str!("../../demo/first.jsonl");
pub(super) const LATER: &str = include_str!("../../demo/later.jsonl");
/// How many characters come at once.
const PIECE: usize = 12;
const MODEL: &str = "recording";

/// One step of the recording: how long it took, and what was done.
#[derive(Deserialize)]
pub(super) struct Step {
    ms: u64,
    #[serde(flatten)]
    what: What,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum What {
    Think(String),
    Say(String),
    Call { name: String, input: Value },
    Result { text: String, failed: bool, detail: Value },
}

/// A line, the time before it, and what is begun and not ended when it is said.
pub(super) struct Frame {
    pub(super) ms: f64,
    pub(super) line: Value,
    pub(super) leaves: Open,
}

/// What an interrupt has to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Open {
    Nothing,
    /// Calls without a result.
    Calls(Vec<String>),
}

/// Names everything and knows what is open.
pub(super) struct Voice {
    cwd: String,
    session: String,
    names: u64,
    turns: u64,
    /// The message that is being written, and how many blocks it has.
    message: Option<(String, u64)>,
    calls: Vec<String>,
    /// The words said last: the result repeats them.
    last: String,
}

impl Voice {
    pub(super) fn new(cwd: String) -> Voice {
        let session = uuid::Uuid::now_v7().to_string();
        Voice { cwd, session, names: 0, turns: 0, message: None, calls: Vec::new(), last: String::new() }
    }

    /// The lines of the next turn.
    pub(super) fn turn(&mut self, prompt: &str) -> Vec<Frame> {
        let recording = if self.turns == 0 { FIRST } else { LATER };
        self.turns += 1;
        (self.message, self.calls) = (None, Vec::new());
        let mut frames = Vec::new();
        let init = json!({
            "type": "system", "subtype": "init", "cwd": self.cwd, "session_id": self.session, "model": MODEL,
            "tools": ["Bash", "Edit", "Read", "TodoWrite"], "mcp_servers": [], "permissionMode": "default",
        });
        self.push(0.0, init, &mut frames);
        for step in recording.lines().filter_map(|line| serde_json::from_str::<Step>(line).ok()) {
            self.step(step, prompt, &mut frames);
        }
        self.end_message("end_turn", &mut frames);
        let result = json!({
            "type": "result", "subtype": "success", "is_error": false, "result": self.last, "num_turns": 1,
            "session_id": self.session, "terminal_reason": "completed", "permission_denials": [],
        });
        self.push(0.0, result, &mut frames);
        frames
    }

    /// What Claude says when it is stopped.
    pub(super) fn interrupted(&mut self, open: &Open) -> Vec<Value> {
        let mut lines = Vec::new();
        let mut told = "[Request interrupted by user]";
        let mut reason = "aborted_streaming";
        match open {
            // What is said so far was said: Claude adds nothing to it.
            Open::Nothing => {}
            Open::Calls(calls) => {
                (told, reason) = ("[Request interrupted by user for tool use]", "aborted_tools");
                lines.extend(calls.iter().map(|call| {
                    let content =
                        json!([{ "type": "tool_result", "tool_use_id": call, "content": told, "is_error": true }]);
                    self.user(&content)
                }));
            }
        }
        lines.push(self.user(&json!([{ "type": "text", "text": told }])));
        lines.push(json!({
            "type": "result", "subtype": "error_during_execution", "is_error": true, "num_turns": 1,
            "session_id": self.session, "terminal_reason": reason, "permission_denials": [],
        }));
        lines
    }

    fn step(&mut self, Step { ms, what }: Step, prompt: &str, frames: &mut Vec<Frame>) {
        let ms = ms as f64;
        let fill = |text: String| text.replace("{prompt}", prompt);
        match what {
            What::Think(text) => {
                let block = json!({ "type": "thinking", "thinking": text, "signature": "" });
                self.block(ms, "thinking", "thinking_delta", &text, &block, frames);
            }
            What::Say(text) => {
                let text = fill(text);
                self.block(ms, "text", "text_delta", &text, &json!({ "type": "text", "text": text }), frames);
                self.last = text;
            }
            What::Call { name, input } => {
                let input = self.here(input);
                let id = self.name("toolu_demo");
                let block = json!({ "type": "tool_use", "id": id, "name": name, "input": input });
                self.block(ms, "tool_use", "input_json_delta", &input.to_string(), &block, frames);
                self.calls.push(id);
            }
            What::Result { text, failed, detail } => {
                self.end_message("tool_use", frames);
                if self.calls.is_empty() {
                    return;
                }
                let call = self.calls.remove(0);
                let text = text.replace("{cwd}", &self.cwd);
                let content = json!([{ "type": "tool_result", "tool_use_id": call, "content": text, "is_error": failed }]);
                let mut line = self.user(&content);
                line["tool_use_result"] = self.here(detail);
                self.push(ms, line, frames);
            }
        }
    }

    /// A block of the message, in pieces and then whole.
    fn block(
        &mut self,
        ms: f64,
        kind: &str,
        delta: &str,
        text: &str,
        block: &Value,
        frames: &mut Vec<Frame>,
    ) {
        let (message, index) = self.begin_message(frames);
        let mut empty = block.clone();
        let (field, part) = match kind {
            "thinking" => ("thinking", "thinking"),
            "text" => ("text", "text"),
            _ => ("input", "partial_json"),
        };
        empty[field] = if kind == "tool_use" { json!({}) } else { json!("") };
        let start = json!({ "type": "content_block_start", "index": index, "content_block": empty });
        self.event(0.0, &start, frames);
        let pieces = pieces(text);
        let pause = ms / pieces.len().max(1) as f64;
        for piece in pieces {
            let delta = json!({ "type": delta, part: piece });
            self.event(
                pause,
                &json!({ "type": "content_block_delta", "index": index, "delta": delta }),
                frames,
            );
        }
        let line = self.assistant(&message, &json!([block]));
        self.push(if text.is_empty() { ms } else { 0.0 }, line, frames);
        self.event(0.0, &json!({ "type": "content_block_stop", "index": index }), frames);
    }

    fn begin_message(&mut self, frames: &mut Vec<Frame>) -> (String, u64) {
        if let Some((message, blocks)) = &mut self.message {
            *blocks += 1;
            return (message.clone(), *blocks);
        }
        let id = self.name("msg_demo");
        self.message = Some((id.clone(), 0));
        let message = json!({ "id": id, "type": "message", "role": "assistant", "model": MODEL, "content": [], "usage": usage() });
        self.event(0.0, &json!({ "type": "message_start", "message": message }), frames);
        (id, 0)
    }

    fn end_message(&mut self, reason: &str, frames: &mut Vec<Frame>) {
        if self.message.take().is_some() {
            let delta = json!({ "stop_reason": reason, "stop_sequence": null });
            self.event(0.0, &json!({ "type": "message_delta", "delta": delta, "usage": usage() }), frames);
            self.event(0.0, &json!({ "type": "message_stop" }), frames);
        }
    }

    fn event(&mut self, ms: f64, event: &Value, frames: &mut Vec<Frame>) {
        let line = json!({
            "type": "stream_event", "event": event, "session_id": self.session, "parent_tool_use_id": null,
            "uuid": self.name("demo"),
        });
        self.push(ms, line, frames);
    }

    fn push(&self, ms: f64, line: Value, frames: &mut Vec<Frame>) {
        let leaves = if self.calls.is_empty() { Open::Nothing } else { Open::Calls(self.calls.clone()) };
        frames.push(Frame { ms, line, leaves });
    }

    fn assistant(&mut self, message: &str, content: &Value) -> Value {
        let message = json!({
            "id": message, "type": "message", "role": "assistant", "model": MODEL, "content": content,
            "stop_reason": null, "usage": usage(),
        });
        json!({
            "type": "assistant", "message": message, "parent_tool_use_id": null, "session_id": self.session,
            "uuid": self.name("demo"),
        })
    }

    fn user(&mut self, content: &Value) -> Value {
        json!({
            "type": "user", "message": { "role": "user", "content": content }, "parent_tool_use_id": null,
            "session_id": self.session, "uuid": self.name("demo"),
        })
    }

    fn name(&mut self, kind: &str) -> String {
        self.names += 1;
        // The session makes it unique among all that were ever played.
        format!("{kind}_{}_{}", self.session, self.names)
    }

    /// Puts the recording into the folder of this session.
    fn here(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(text.replace("{cwd}", &self.cwd)),
            Value::Array(values) => values.into_iter().map(|value| self.here(value)).collect(),
            Value::Object(fields) => {
                fields.into_iter().map(|(name, value)| (name, self.here(value))).collect()
            }
            value => value,
        }
    }
}

fn usage() -> Value {
    json!({ "input_tokens": 0, "output_tokens": 0 })
}

/// Cuts words into pieces as a model would say them, never inside a character.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.char_indices().nth(PIECE).map_or(rest.len(), |(end, _)| end);
        pieces.push(&rest[..end]);
        rest = &rest[end..];
    }
    pieces
}
