//! The requests of a conversation repeat it from its beginning: only what is new in one is said. Answers are left to
//! the stream that brought them.

use parlor_model::Key;
use parlor_model::block::{Author, Block, Prompt, Reply};
use parlor_model::event::{End, Event, Reading};
use parlor_model::json::{Json, Kind};
use parlor_model::rule::Rule;
use parlor_model::text::Text;
use parlor_model::tool::{Output, Tool, ToolState};

use super::answer::Calls;

/// How much of the conversation has been said.
#[derive(Debug, Default)]
pub(crate) struct Request {
    conversations: u32,
    told: usize,
    answers: u32,
}

impl Request {
    /// An answer was streamed, so that the next request repeats it.
    pub(crate) fn answered(&mut self) {
        self.answers = self.answers.saturating_add(1);
    }

    /// Says what is new in the messages of a request.
    pub(crate) fn read(&mut self, messages: &Json, calls: &Calls, out: &mut Vec<Event>) -> Reading {
        let messages = messages.items();
        if messages.len() < self.told {
            self.conversations = self.conversations.saturating_add(1);
            self.told = 0;
        }
        let events = out.len();
        for (index, message) in messages.iter().enumerate().skip(self.told) {
            let key: Key = format!("request-{}/{index}", self.conversations).into();
            self.message(key, message, calls, out);
        }
        self.told = messages.len();
        if out.len() > events { Reading::shown(None) } else { Reading::hidden(Rule::Repeat, None) }
    }

    fn message(&mut self, key: Key, message: &Json, calls: &Calls, out: &mut Vec<Event>) {
        let role = message.field_text("role").unwrap_or_default();
        let text = text(message.get("content").unwrap_or_default());
        match &*role.as_str() {
            "user" => {
                let prompt = Prompt { text, author: Author::Person, ..Prompt::default() };
                out.push(Event::put(key, Block::Prompt(prompt)));
            }
            "tool" | "function" => {
                let id = ["tool_call_id", "name"].iter().find_map(|field| message.field_text(field));
                let key = id.map_or(key, |id| calls.key(&id.as_str().into()));
                let output = Box::new(Output::text(text));
                out.push(Event::End { key, end: End::Result { name: None, state: ToolState::Done, output } });
            }
            "assistant" if self.answers > 0 => self.answers -= 1,
            "assistant" => {
                if !text.is_empty() {
                    out.push(Event::put(key.clone(), Block::Reply(Reply { text, ..Reply::default() })));
                }
                for (index, call) in message.get("tool_calls").unwrap_or_default().items().iter().enumerate()
                {
                    let function = call.get("function").unwrap_or_default();
                    let name = function.field_text("name").unwrap_or_default();
                    let input = match function.get("arguments") {
                        Some(arguments) if arguments.kind() == Kind::String => {
                            let text = arguments.text().unwrap_or_default();
                            Json::new(text.as_str().into_owned().into())
                        }
                        other => other.unwrap_or_default(),
                    };
                    let id = call.field_text("id").filter(|id| !id.is_empty());
                    let key = id.map_or_else(|| format!("{key}/{index}").into(), |id| Key::from(id.as_str()));
                    out.push(Event::put(
                        key,
                        Block::Tool(Box::new(Tool::call(Key::from(name.as_str()), input))),
                    ));
                }
            }
            _ => {}
        }
    }
}

/// Content is a string, or parts of which the text ones count.
fn text(content: Json) -> Text {
    if let Some(text) = content.text() {
        return text;
    }
    let parts: Vec<String> = content
        .items()
        .iter()
        .filter_map(|part| Some(part.field_text("text")?.as_str().into_owned()))
        .collect();
    parts.join("\n").into()
}
