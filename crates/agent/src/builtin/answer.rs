//! The model's answer as it streams in, read by the very dialect that will read the log: so the calls have the keys that
//! their entries have. It sends nothing.

use bytes::Bytes;
use parlor_dialect::{Decoder, Format};
use parlor_model::Key;
use parlor_model::block::Block;
use parlor_model::entry::Entry;
use parlor_model::event::{Event, Part, Turn};
use parlor_model::line::Line;
use parlor_model::usage::Usage;
use serde_json::{Value, json};

use super::message::Call;

/// What has been read of an answer.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    blocks: Vec<(Key, Content)>,
    /// What the server said went wrong, with its code where it has one.
    pub(crate) error: Option<(String, Option<u16>)>,
    pub(crate) usage: Option<Usage>,
    /// True when the server said that the answer is whole.
    pub(crate) finished: bool,
    /// True when nothing more will come at all.
    pub(crate) done: bool,
    /// True when the server gives thoughts under the name by which some want them back.
    returns_thoughts: bool,
}

#[derive(Debug)]
enum Content {
    Reply(String),
    Thought(String),
    Call { name: Key, arguments: String },
}

impl Answer {
    /// Reads a line of the stream.
    pub(crate) fn read(&mut self, decoder: &mut Decoder, line: Bytes) {
        self.look(&line);
        let mut events = Vec::new();
        decoder.read(&Line::new(line), &mut events);
        for event in events {
            self.apply(event);
        }
    }

    /// All that was said, in order.
    pub(crate) fn text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|(_, content)| match content {
            Content::Reply(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n\n")
    }

    /// All that was thought, where the server may want it back.
    pub(crate) fn thought(&self) -> Option<String> {
        let texts = self.blocks.iter().filter_map(|(_, content)| match content {
            Content::Thought(text) => Some(text.as_str()),
            _ => None,
        });
        let thought = texts.collect::<Vec<_>>().join("\n");
        (self.returns_thoughts && !thought.is_empty()).then_some(thought)
    }

    /// The calls, in order.
    pub(crate) fn calls(&self) -> Vec<Call> {
        let calls = self.blocks.iter().filter_map(|(key, content)| match content {
            Content::Call { name, arguments } => {
                let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
                Some(Call { id: key.clone(), name: name.clone(), arguments: arguments.to_owned() })
            }
            _ => None,
        });
        calls.collect()
    }

    /// Whether the answer is whole, and with which code it failed: what no event says.
    fn look(&mut self, line: &[u8]) {
        let data = line.strip_prefix(b"data:").or_else(|| line.strip_prefix(b"error:"));
        let data = data.unwrap_or(line).trim_ascii();
        if data == b"[DONE]" {
            self.finished = true;
            self.done = true;
        }
        let Ok(chunk) = serde_json::from_slice::<Value>(data) else { return };
        let choices = chunk["choices"].as_array().map(Vec::as_slice).unwrap_or_default();
        let ends = |choice: &Value| choice["finish_reason"].as_str().is_some_and(|reason| !reason.is_empty());
        self.finished |= choices.iter().any(ends);
        // A server that did not stream has said everything at once.
        self.finished |= choices.iter().any(|choice| choice["message"].is_object());
        self.returns_thoughts |= choices.iter().any(|choice| {
            ["delta", "message"].iter().any(|part| choice[*part]["reasoning_content"].is_string())
        });
        let code = &chunk["error"]["code"];
        let code =
            code.as_u64().or_else(|| code.as_str()?.parse().ok()).and_then(|code| u16::try_from(code).ok());
        if chunk["error"].is_object() || chunk["error"].is_string() {
            self.error = Some((String::new(), code));
        }
    }

    fn apply(&mut self, event: Event) {
        match event {
            Event::Put { key, block, .. } => {
                let content = match block {
                    Block::Reply(reply) => Content::Reply(reply.text.as_str().into_owned()),
                    Block::Thought(thought) => Content::Thought(thought.text.as_str().into_owned()),
                    Block::Tool(tool) => {
                        Content::Call { name: tool.name.clone(), arguments: tool.input.lossy().into_owned() }
                    }
                    Block::Prompt(_) | Block::Notice(_) | Block::Unknown(_) => return,
                };
                match self.blocks.iter_mut().find(|(known, _)| *known == key) {
                    Some((_, known)) => *known = content,
                    None => self.blocks.push((key, content)),
                }
            }
            Event::Grow { key, part, text } => {
                let found = self.blocks.iter_mut().rev().find(|(known, _)| *known == key);
                match (found.map(|(_, content)| content), part) {
                    (Some(Content::Reply(known)), Part::Reply)
                    | (Some(Content::Thought(known)), Part::Thought)
                    | (Some(Content::Call { arguments: known, .. }), Part::Input) => {
                        known.push_str(&text.as_str());
                    }
                    _ => {}
                }
            }
            Event::Usage { usage, .. } => self.usage = Some(usage),
            Event::Turn { turn: Turn::Failed { error } } => {
                let code = self.error.take().and_then(|(_, code)| code);
                let text = error.map(|error| error.as_str().into_owned()).unwrap_or_default();
                self.error = Some((text, code));
            }
            _ => {}
        }
    }
}

/// A reader that has seen what was said before, so that it counts ids that are used again from where the log's reader
/// stands.
pub(crate) fn decoder(history: &[Entry]) -> Decoder {
    let mut decoder = Decoder::new(Format::OpenaiChat);
    let mut ignored = Vec::new();
    let answers = history.iter().filter_map(|entry| entry.message.as_ref());
    for (name, times) in used(answers) {
        for _ in 0..times {
            let chunk = json!({"id": name, "choices": []});
            decoder.read(&Line::new(Bytes::from(chunk.to_string())), &mut ignored);
            decoder.read(&Line::new(Bytes::from_static(b"[DONE]")), &mut ignored);
        }
    }
    let calls = history.iter().filter(|entry| matches!(entry.block, Block::Tool(_))).map(|entry| &entry.id);
    for (id, times) in used(calls) {
        for _ in 0..times {
            let call = json!({"id": id, "function": {"name": "x", "arguments": "{}"}});
            let chunk = json!({"id": "before", "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]});
            decoder.read(&Line::new(Bytes::from(chunk.to_string())), &mut ignored);
            decoder.give_up();
        }
    }
    decoder
}

/// How often each name was used: the second time it is called `name~2`.
fn used<'a>(keys: impl Iterator<Item = &'a Key>) -> Vec<(Key, u32)> {
    let mut used: Vec<(Key, u32)> = Vec::new();
    for key in keys {
        let again = key.rsplit_once('~').and_then(|(name, times)| Some((name, times.parse::<u32>().ok()?)));
        let known = again.and_then(|(name, times)| {
            let index = used.iter().position(|(known, _)| known == name)?;
            Some((index, times))
        });
        match known {
            // The counter stands in the log: what it says is bounded, whatever a server calls its answers.
            Some((index, times)) => used[index].1 = used[index].1.max(times.min(10_000)),
            None if used.iter().any(|(known, _)| known == key) => {}
            None => used.push((key.clone(), 1)),
        }
    }
    used
}
