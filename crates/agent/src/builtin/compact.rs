//! Makes the conversation shorter when the model's memory is nearly full: what the model is asked, and what stands there
//! afterwards. It sends nothing.

use serde_json::{Value, json};

use super::message::{Message, write};
use super::tool::RESULT_BYTES;

/// How much of one result the summary is made from.
const RESULT_CHARS: usize = 2_000;

const SYSTEM: &str = "You write the notes by which a coding agent goes on with a conversation that it will not see again. Write \
everything it needs and nothing else, in this order: what the person wants, with every wish and restriction; what was found out; \
what was done, with the paths of the files and what was changed in them; what failed and why; what is left to do, and the very next \
step. Quote names, paths, commands and errors exactly. Do not answer the person and do not call tools.";

/// The request for a summary of these messages, in at most about `tokens` tokens.
pub(crate) fn request(model: &str, messages: &[Message], tokens: u64) -> Value {
    let limit = usize::try_from(tokens.saturating_mul(3)).unwrap_or(usize::MAX).max(RESULT_BYTES);
    let conversation = told(messages);
    let conversation = match conversation.len() > limit {
        true => {
            let head = &conversation[..conversation.floor_char_boundary(limit / 3)];
            let tail = &conversation[conversation.ceil_char_boundary(conversation.len() - limit / 3 * 2)..];
            format!("{head}\n[… a part is left out …]\n{tail}")
        }
        false => conversation,
    };
    let ask = Message::user(format!("The conversation:\n\n{conversation}\n\nWrite the notes."));
    json!({"model": model, "messages": write(SYSTEM, &[ask]), "stream": true})
}

/// What the model is told instead of everything before.
pub(crate) fn notes(summary: &str, messages: &[Message]) -> String {
    let last = messages.iter().rev().find_map(|message| match message {
        Message::User { text, .. } => Some(text.as_str()),
        Message::Assistant { .. } | Message::Tool { .. } => None,
    });
    let last: String = last.unwrap_or_default().chars().take(RESULT_BYTES / 4).collect();
    format!(
        "The conversation so far was too long and is replaced by these notes of yours:\n\n{}\n\nThe person's last words were:\n\n{last}",
        summary.trim()
    )
}

/// The conversation as one text: servers want no calls in a request that offers no tools.
fn told(messages: &[Message]) -> String {
    let mut text = String::new();
    for message in messages {
        match message {
            Message::User { text: words, pictures } => {
                text.push_str(&format!("PERSON: {words}\n"));
                if !pictures.is_empty() {
                    text.push_str(&format!("[{} pictures]\n", pictures.len()));
                }
            }
            Message::Assistant { text: words, calls, .. } => {
                if !words.is_empty() {
                    text.push_str(&format!("AGENT: {words}\n"));
                }
                for call in calls {
                    text.push_str(&format!("CALL {}: {}\n", call.name, short(&call.arguments)));
                }
            }
            Message::Tool { text: words, .. } => text.push_str(&format!("RESULT: {}\n", short(words))),
        }
    }
    text
}

fn short(text: &str) -> String {
    let short: String = text.chars().take(RESULT_CHARS).collect();
    if short.len() < text.len() { short + " […]" } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_is_bounded_and_the_notes_keep_the_last_words() {
        let messages = [
            Message::user("old wish"),
            Message::Tool { call: "c".into(), text: "x".repeat(100_000) },
            Message::user("y".repeat(300_000)),
            Message::Assistant { text: "done".into(), thought: None, calls: Vec::new() },
            Message::user("last wish"),
        ];
        let request = request("m", &messages, 20_000).to_string();
        assert!(request.len() < 70_000 && request.contains("old wish") && request.contains("last wish"));
        assert!(request.contains("a part is left out"));
        let notes = notes("all is well", &messages);
        assert!(notes.contains("all is well") && notes.ends_with("last wish"));
    }
}
