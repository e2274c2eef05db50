//! A mask that a client lays over any profile. It leaves messages out; it never changes one.

use std::collections::BTreeSet;

use serde_json::Value;

/// Which messages a client wants, by their type and by the tool they are about. An empty set lets all through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mask {
    /// The types wanted: `text_delta`, `toolCall`, `state`, …
    pub types: BTreeSet<String>,
    /// The tools wanted; messages that are about no tool pass.
    pub tools: BTreeSet<String>,
}

impl Mask {
    /// Whether a message passes.
    pub fn passes(&self, message: &Value) -> bool {
        let passes = |set: &BTreeSet<String>, name: Option<&str>| {
            set.is_empty() || name.is_none_or(|name| set.contains(name))
        };
        passes(&self.types, kind(message)) && passes(&self.tools, tool(message))
    }

    /// Leaves out what does not pass.
    pub fn apply(&self, messages: &mut Vec<Value>) {
        messages.retain(|message| self.passes(message));
    }
}

/// The message's type; inside an envelope, the type of what it carries.
fn kind(message: &Value) -> Option<&str> {
    let inner = message.get("message").or_else(|| message.get("record"));
    inner.and_then(|inner| inner.get("type")).or_else(|| message.get("type"))?.as_str()
}

fn tool(message: &Value) -> Option<&str> {
    let inner = message.get("message").unwrap_or(message);
    ["toolName", "tool"].iter().find_map(|key| inner.get(*key)?.as_str())
}
