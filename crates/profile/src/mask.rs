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

/// The tool that a message is about, wherever its profile says so.
fn tool(message: &Value) -> Option<&str> {
    let inner = ["message", "content", "call"].iter().find_map(|key| message.get(*key)).unwrap_or(message);
    let named = ["toolName", "tool"].iter().find_map(|key| message.get(*key).or_else(|| inner.get(*key)));
    let call = inner.get("input").is_some();
    named.or_else(|| inner.get("name").filter(|_| call))?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn an_empty_mask_lets_all_through() {
        assert!(Mask::default().passes(&json!({"type": "x", "toolName": "y"})));
    }

    #[test]
    fn messages_of_every_profile_are_masked_by_type_and_tool() {
        let messages = [
            json!({"type": "tool_result", "toolName": "Bash"}),
            json!({"type": "toolCall", "content": {"tool": "Bash"}}),
            json!({"type": "stream", "message": {"type": "tool_use", "name": "Bash", "input": {}}}),
            json!({"type": "stream", "message": {"type": "tool_result", "tool": "Bash"}}),
            json!({"type": "tool_call", "call": {"name": "Bash", "input": {}}}),
        ];
        for message in messages {
            let only = |tools: &[&str]| Mask { tools: set(tools), ..Mask::default() };
            assert!(only(&["Bash", "Read"]).passes(&message), "{message}");
            assert!(!only(&["Read"]).passes(&message), "{message}");
        }
        let text = json!({"type": "text_delta", "delta": "x"});
        assert!(Mask { tools: set(&["Read"]), ..Mask::default() }.passes(&text));
        assert!(!Mask { types: set(&["text_done"]), ..Mask::default() }.passes(&text));
        let state = json!({"type": "stream", "message": {"type": "state"}});
        assert!(Mask { types: set(&["state"]), ..Mask::default() }.passes(&state));
        let record = json!({"seq": 1, "record": {"type": "user"}});
        assert!(Mask { types: set(&["user"]), ..Mask::default() }.passes(&record));
    }

    #[test]
    fn applying_a_mask_twice_is_applying_it_once() {
        let mask = Mask { types: set(&["a"]), tools: set(&["t"]) };
        let mut once = vec![json!({"type": "a"}), json!({"type": "b"}), json!({"type": "a", "tool": "u"})];
        mask.apply(&mut once);
        let mut twice = once.clone();
        mask.apply(&mut twice);
        assert_eq!((once.len(), &once), (1, &twice));
    }
}
