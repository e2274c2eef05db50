//! The conversation as the model gets it, and how it is written in a request. It must not know entries or tools.

use parlor_model::Key;
use parlor_model::order::File;
use serde_json::{Value, json};

/// A picture costs about this many tokens, whatever its bytes.
const PICTURE_TOKENS: u64 = 1_500;
/// What each message costs besides its text.
const FRAME_TOKENS: u64 = 8;

/// One message of the conversation. After an assistant's message with calls come their results, all of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Message {
    /// What the model is told.
    User {
        text: String,
        /// Addresses, mostly `data:` ones.
        pictures: Vec<String>,
    },
    /// What the model said.
    Assistant {
        text: String,
        /// What it thought, for servers that want to have it back while tools are called.
        thought: Option<String>,
        calls: Vec<Call>,
    },
    /// What a call gave back.
    Tool { call: Key, text: String },
}

/// A tool call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    /// The key of its entry, which is unique in the conversation.
    pub(crate) id: Key,
    pub(crate) name: Key,
    /// JSON as the model wrote it, perhaps broken.
    pub(crate) arguments: String,
}

impl Message {
    /// What a person says, with pictures and texts.
    pub(crate) fn prompt(text: &str, files: &[File]) -> Message {
        let (mut text, mut pictures) = (text.to_owned(), Vec::new());
        for file in files {
            if file.media_type.starts_with("image/") {
                pictures.push(format!("data:{};base64,{}", file.media_type, file.data));
            } else {
                text.push_str(&attached(file));
            }
        }
        Message::User { text, pictures }
    }

    /// Words without pictures.
    pub(crate) fn user(text: impl Into<String>) -> Message {
        Message::User { text: text.into(), pictures: Vec::new() }
    }

    /// About how many tokens it is: four bytes are one.
    pub(crate) fn tokens(&self) -> u64 {
        let bytes = match self {
            Message::User { text, .. } | Message::Tool { text, .. } => text.len(),
            Message::Assistant { text, thought, calls } => {
                let calls = calls.iter().map(|call| call.name.len() + call.arguments.len() + 16);
                text.len() + thought.as_ref().map_or(0, String::len) + calls.sum::<usize>()
            }
        };
        let pictures = match self {
            Message::User { pictures, .. } => pictures.len(),
            Message::Assistant { .. } | Message::Tool { .. } => 0,
        };
        bytes as u64 / 4 + pictures as u64 * PICTURE_TOKENS + FRAME_TOKENS
    }

    fn json(&self) -> Value {
        match self {
            Message::User { text, pictures } if pictures.is_empty() => {
                json!({"role": "user", "content": text})
            }
            Message::User { text, pictures } => {
                let text = (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
                let picture = |url: &String| json!({"type": "image_url", "image_url": {"url": url}});
                let parts: Vec<Value> = text.into_iter().chain(pictures.iter().map(picture)).collect();
                json!({"role": "user", "content": parts})
            }
            Message::Assistant { text, thought, calls } => {
                let mut message = json!({"role": "assistant", "content": text});
                if let Some(thought) = thought {
                    message["reasoning_content"] = json!(thought);
                }
                if !calls.is_empty() {
                    message["tool_calls"] = calls.iter().map(Call::json).collect();
                }
                message
            }
            Message::Tool { call, text } => {
                json!({"role": "tool", "tool_call_id": plain_id(call), "content": text})
            }
        }
    }
}

impl Call {
    /// Servers read the arguments again, and some fail on broken ones: the model learns from the result what was wrong.
    fn json(&self) -> Value {
        let is_object = serde_json::from_str::<serde_json::Map<String, Value>>(&self.arguments).is_ok();
        let arguments = if is_object { self.arguments.as_str() } else { "{}" };
        json!({"id": plain_id(&self.id), "type": "function", "function": {"name": self.name, "arguments": arguments}})
    }
}

/// The messages of a request. Words in a row become one message: some models want the roles to alternate.
pub(crate) fn write(system: &str, messages: &[Message]) -> Vec<Value> {
    let mut joined: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages {
        match (joined.last_mut(), message) {
            (
                Some(Message::User { text, pictures }),
                Message::User { text: more, pictures: more_pictures },
            ) => {
                text.push_str("\n\n");
                text.push_str(more);
                pictures.extend_from_slice(more_pictures);
            }
            _ => joined.push(message.clone()),
        }
    }
    let system = json!({"role": "system", "content": system});
    std::iter::once(system).chain(joined.iter().map(Message::json)).collect()
}

/// A document that is text goes into the prompt; of another the model learns that it is there.
fn attached(file: &File) -> String {
    let name = if file.name.is_empty() { "a file" } else { &file.name };
    let is_text = file.media_type.starts_with("text/") || file.media_type == "application/json";
    match is_text.then(|| decode_base64(&file.data)).flatten() {
        Some(bytes) => format!("\n\n{name}:\n{}", String::from_utf8_lossy(&bytes)),
        None => format!("\n\n[{name} ({}) is attached, but this agent cannot read it]", file.media_type),
    }
}

/// Some servers allow only letters, digits, `_` and `-` in the id of a call.
fn plain_id(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

/// The bytes of a text in base64, with or without padding; `None` when it is not one.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut bits, mut count) = (Vec::with_capacity(text.len() / 4 * 3), 0_u32, 0_u32);
    for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=') {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_file_goes_into_the_prompt_and_a_picture_beside_it() {
        let file = |name: &str, media_type: &str, data: &str| File {
            name: name.into(),
            media_type: media_type.into(),
            data: data.into(),
        };
        let files = [
            file("a.txt", "text/plain", "aGVsbG8="),
            file("p.png", "image/png", "AAAA"),
            file("x", "a/b", ""),
        ];
        let Message::User { text, pictures } = Message::prompt("look", &files) else { panic!() };
        assert_eq!(text, "look\n\na.txt:\nhello\n\n[x (a/b) is attached, but this agent cannot read it]");
        assert_eq!(pictures, ["data:image/png;base64,AAAA"]);
    }

    #[test]
    fn broken_arguments_and_odd_ids_never_reach_the_server() {
        let call = Call { id: "a/0/call~2".into(), name: "Bash".into(), arguments: "{\"comm".into() };
        let messages = [
            Message::user("one"),
            Message::user("two"),
            Message::Assistant { text: String::new(), thought: None, calls: vec![call] },
            Message::Tool { call: "a/0/call~2".into(), text: "x".into() },
        ];
        let written = write("s", &messages);
        assert_eq!(written.len(), 4, "words in a row are one message");
        assert_eq!(written[1]["content"], "one\n\ntwo");
        assert_eq!(written[2]["tool_calls"][0]["function"]["arguments"], "{}");
        assert_eq!(written[2]["tool_calls"][0]["id"], "a_0_call_2");
        assert_eq!(written[3]["tool_call_id"], "a_0_call_2");
    }
}
