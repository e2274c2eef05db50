//! Who speaks, by the raw record: the rule that tool calls and results are never taken for a person's or the
//! assistant's words.

use serde::Serialize;

use crate::block::{Author, Block};
use crate::json::{Kind, Reader};
use crate::text::decode;

/// The role under which a message or an entry is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A person's prompt.
    User,
    /// The model's reply.
    Assistant,
    /// The model calls a tool.
    ToolCall,
    /// A tool answers.
    ToolResult,
    /// Anything else, by its own name.
    #[serde(untagged)]
    Other(String),
}

impl Role {
    /// The role of a raw record: a function of its bytes, total. `None` when it has no `type` that is a string.
    ///
    /// The order of priority is `tool_result`, then `tool_use`, then the top-level `type`: every item of
    /// `message.content` is looked at, and a tool block decides whatever the top-level type says.
    pub fn of_record(record: &[u8]) -> Option<Role> {
        let mut kind = None;
        let (mut call, mut result) = (false, false);
        Reader::new(record).object(|reader, key| match key {
            b"type" => kind = reader.text().map(|span| decode(&record[span.start..span.end]).into_owned()),
            b"message" => {
                (call, result) = (false, false);
                reader.object(|reader, key| {
                    if key == b"content" && reader.kind() == Kind::Array {
                        (call, result) = tool_blocks(reader, record);
                    }
                });
            }
            _ => {}
        });
        let kind = kind?;
        Some(match (result, call) {
            (true, _) => Role::ToolResult,
            (false, true) => Role::ToolCall,
            (false, false) => Role::named(&kind),
        })
    }

    /// The role of a block in the transcript, where a call and its result are one entry.
    pub fn of_block(block: &Block) -> Role {
        match block {
            Block::Prompt(prompt) => match prompt.author {
                Author::Person => Role::User,
                Author::Peer { .. } => Role::Other("agent".into()),
                Author::Caller => Role::Other("task".into()),
                Author::Machine => Role::Other("system".into()),
            },
            Block::Reply(_) | Block::Thought(_) => Role::Assistant,
            Block::Tool(tool) if tool.orphan => Role::ToolResult,
            Block::Tool(_) => Role::ToolCall,
            Block::Notice(_) => Role::Other("system".into()),
            Block::Unknown(unknown) => Role::Other(unknown.kind.to_string()),
        }
    }

    /// The role of that name.
    pub fn named(name: &str) -> Role {
        match name {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "tool_call" => Role::ToolCall,
            "tool_result" => Role::ToolResult,
            other => Role::Other(other.to_owned()),
        }
    }

    /// The name that is stored: `user`, `assistant`, `tool_call`, `tool_result`, or any other as it is.
    pub fn name(&self) -> &str {
        match self {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::ToolCall => "tool_call",
            Role::ToolResult => "tool_result",
            Role::Other(name) => name,
        }
    }

    /// The label that people read: "User", "Assistant", "Tool Call", "Tool Result", or the name with its first
    /// letter large.
    pub fn label(&self) -> String {
        match self {
            Role::User => "User".into(),
            Role::Assistant => "Assistant".into(),
            Role::ToolCall => "Tool Call".into(),
            Role::ToolResult => "Tool Result".into(),
            Role::Other(name) => {
                let mut letters = name.chars();
                letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
            }
        }
    }

    /// The icon's name in Apple's symbol set, which clients on that platform show.
    pub fn symbol(&self) -> &'static str {
        match self {
            Role::User => "person.circle.fill",
            Role::Assistant => "cpu",
            Role::ToolCall => "hammer.fill",
            Role::ToolResult => "doc.text.fill",
            Role::Other(_) => "questionmark.circle",
        }
    }

    /// The colour's name.
    pub fn colour(&self) -> &'static str {
        match self {
            Role::User => "blue",
            Role::Assistant => "green",
            Role::ToolCall => "orange",
            Role::ToolResult => "purple",
            Role::Other(_) => "gray",
        }
    }
}

/// Whether the content array that comes next holds a call and a result.
fn tool_blocks(reader: &mut Reader<'_>, record: &[u8]) -> (bool, bool) {
    let (mut call, mut result, mut objects) = (false, false, true);
    reader.array(|reader| {
        // An array that is not all objects is no content array.
        objects &= reader.kind() == Kind::Object;
        let mut kind = None;
        reader.object(|reader, key| {
            if key == b"type" {
                kind = reader.text();
            }
        });
        match kind.map(|span| &record[span.start..span.end]) {
            Some(b"tool_use") => call = true,
            Some(b"tool_result") => result = true,
            _ => {}
        }
    });
    (call && objects, result && objects)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(record: &str) -> Option<String> {
        Role::of_record(record.as_bytes()).map(|role| role.name().to_owned())
    }

    #[test]
    fn the_table_of_roles() {
        for (record, expected) in [
            (r#"{"type":"user","message":{"role":"user","content":"Say hello"}}"#, Some("user")),
            (r#"{"type":"user","message":{"content":[{"type":"text","text":"hi"}]}}"#, Some("user")),
            (
                r#"{"type":"user","message":{"content":[{"type":"tool_result","content":"x"}]}}"#,
                Some("tool_result"),
            ),
            (
                r#"{"type":"assistant","message":{"content":[{"type":"text","text":"hi"}]}}"#,
                Some("assistant"),
            ),
            (
                r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash"}]}}"#,
                Some("tool_call"),
            ),
            (
                r#"{"type":"assistant","message":{"content":[{"type":"text"},{"type":"tool_use"}]}}"#,
                Some("tool_call"),
            ),
            (
                r#"{"type":"user","message":{"content":[{"type":"text"},{"type":"tool_result"}]}}"#,
                Some("tool_result"),
            ),
            (
                r#"{"type":"user","message":{"content":[{"type":"tool_use"},{"type":"tool_result"}]}}"#,
                Some("tool_result"),
            ),
            (r#"{"type":"user","message":{"content":[{"type":"tool_use"}]}}"#, Some("tool_call")),
            (r#"{"type":"assistant","message":{"content":[{"type":"tool_result"}]}}"#, Some("tool_result")),
            (r#"{"message":{"content":[{"type":"tool_result"}]}}"#, None),
            (r#"{"type":7,"message":{"content":"x"}}"#, None),
            (r#"{"type":"user"}"#, Some("user")),
            (r#"{"type":"user","message":"text"}"#, Some("user")),
            (r#"{"type":"assistant","message":{"content":[]}}"#, Some("assistant")),
            (r#"{"type":"assistant","message":{"content":null}}"#, Some("assistant")),
            (r#"{"type":"assistant","message":{"content":{"type":"tool_use"}}}"#, Some("assistant")),
            (r#"{"type":"user","message":{"content":["a",{"type":"tool_result"}]}}"#, Some("user")),
            (
                r#"{"type":"user","message":{"content":[{"type":3},{"x":1},{"type":"tool_result"}]}}"#,
                Some("tool_result"),
            ),
            (r#"{"type":"system","content":"x"}"#, Some("system")),
            (r#"{"message":{"content":[{"type":"tool_use"}]},"type":"assistant"}"#, Some("tool_call")),
            ("", None),
            ("[]", None),
            ("not json", None),
        ] {
            assert_eq!(role(record).as_deref(), expected, "{record}");
        }
    }

    #[test]
    fn labels_symbols_and_colours() {
        for (name, label, symbol, colour) in [
            ("user", "User", "person.circle.fill", "blue"),
            ("assistant", "Assistant", "cpu", "green"),
            ("tool_call", "Tool Call", "hammer.fill", "orange"),
            ("tool_result", "Tool Result", "doc.text.fill", "purple"),
            ("system", "System", "questionmark.circle", "gray"),
            ("élan", "Élan", "questionmark.circle", "gray"),
        ] {
            let role = Role::named(name);
            assert_eq!((role.label().as_str(), role.symbol(), role.colour()), (label, symbol, colour));
            assert_eq!(Role::named(role.name()), role);
        }
    }
}
