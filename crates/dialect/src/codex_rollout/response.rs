//! Model items of a rollout: messages, reasoning, calls and what came back.

use bytes::Bytes;
use parlor_model::Key;
use parlor_model::block::{Author, Block, Prompt};
use parlor_model::event::{Event, Fate, Part};
use parlor_model::json::{Json, Kind, Reader};
use parlor_model::rule::Rule;
use parlor_model::tool::{Tool, ToolState};

use super::CodexRollout;
use crate::codex::fields::{Field, Fields};
use crate::codex::item::{self, ItemKind};
use crate::codex::mirror::{Source, Voice};
use crate::codex::output::{Answer, answer};
use crate::codex::{object, prompt};

impl CodexRollout {
    /// Reads a model item. `None` when nobody knows its kind.
    pub(super) fn response_item(&mut self, item: &Fields, out: &mut Vec<Event>) -> Option<Fate> {
        Some(match item.word(Field::Type) {
            b"message" => return self.message(item, out),
            b"" if item.has(Field::Role) => return self.message(item, out),
            b"reasoning" => self.thought(item::thoughts(item), Source::Response, item.key(Field::Id), out),
            b"function_call" => self.call(item, arguments(&item.json(Field::Arguments)), out),
            b"custom_tool_call" => self.call(item, item.json(Field::Input), out),
            b"tool_search_call" => self.call(item, item.json(Field::Arguments), out),
            b"local_shell_call" => self.call(item, item.json(Field::Action), out),
            b"function_call_output" | b"custom_tool_call_output" | b"local_shell_call_output" => {
                self.output(item, out)
            }
            b"tool_search_output" => self.finish(item, Answer::bare(ToolState::Done), out),
            b"web_search_call" => self.search(item, Source::Response, out),
            b"image_generation_call" => {
                let key = self.key(item.key(Field::Id));
                let call = item::tool(ItemKind::Picture, item);
                self.whole_call(key, call, item::answer(ItemKind::Picture, item), out)
            }
            b"agent_message" => self.agent_message(item, out),
            b"compaction" | b"compaction_summary" | b"context_compaction" => {
                self.compaction(Default::default(), out)
            }
            b"additional_tools" => Fate::Hidden(Rule::Instructions),
            b"ghost_snapshot" | b"other" => Fate::Hidden(Rule::Bookkeeping),
            b"token_count" => Fate::Hidden(Rule::Usage),
            _ => return None,
        })
    }

    fn message(&mut self, item: &Fields, out: &mut Vec<Event>) -> Option<Fate> {
        let id = item.key(Field::Id);
        Some(match item.word(Field::Role) {
            b"user" => {
                let said = prompt::read(&item.json(Field::Content), self.author());
                let said = said.filter(|_| !is_foreign(item));
                self.prompt(said, Source::Response, id, out)
            }
            b"assistant" => match item.sub(Field::Function) {
                Some(call) => self.call(&call, arguments(&call.json(Field::Arguments)), out),
                None => self.reply(item::reply(item), Source::Response, id, out),
            },
            b"developer" | b"system" => Fate::Hidden(Rule::Instructions),
            b"function" | b"tool" => {
                let key = self.key(item.key(Field::CallId));
                let name = item.key(Field::Name);
                let Answer { state, output, .. } = answer(&item.json(Field::Content));
                let end = parlor_model::event::End::Result { name, state, output: Box::new(output) };
                out.push(Event::End { key, end });
                Fate::Shown
            }
            _ => return None,
        })
    }

    /// A message between agents.
    fn agent_message(&mut self, item: &Fields, out: &mut Vec<Event>) -> Fate {
        let name = item.text(Field::Author).unwrap_or_default();
        let said: Option<Prompt> = prompt::read(&item.json(Field::Content), Author::Peer { name });
        match said.filter(|said| !said.text.is_blank()) {
            Some(said) => {
                let key = self.key(item.key(Field::Id));
                self.put(key, Block::Prompt(said), out)
            }
            // What agents tell each other may be encrypted.
            None => Fate::Hidden(Rule::Step),
        }
    }

    pub(super) fn call(&mut self, item: &Fields, input: Json, out: &mut Vec<Event>) -> Fate {
        let name = name(item);
        let key = self.key(item.key(Field::CallId).or_else(|| item.key(Field::Id)));
        if self.paginated && name == "exec" {
            self.scripts.push_back(key.clone());
        }
        self.open.insert(key.clone());
        self.put(key, Block::Tool(Box::new(Tool::call(name, input))), out)
    }

    /// What the model was told. Where the full result is already there, that one stays.
    fn output(&mut self, item: &Fields, out: &mut Vec<Event>) -> Fate {
        let answer = answer(&item.json(Field::Output));
        let Some(key) = item.key(Field::CallId).filter(|_| answer.running && self.paginated) else {
            return self.finish(item, answer, out);
        };
        // The process runs on, and its item will complete: until then this is output so far.
        let text = answer.output.joined();
        if text.is_empty() {
            return Fate::Hidden(Rule::Step);
        }
        out.push(Event::Grow { key, part: Part::Output, text: text.into() });
        Fate::Shown
    }

    fn finish(&mut self, item: &Fields, answer: Answer, out: &mut Vec<Event>) -> Fate {
        let Some(key) = item.key(Field::CallId) else { return Fate::Hidden(Rule::Bookkeeping) };
        self.scripts.retain(|script| *script != key);
        if self.ended.contains(&key) {
            return Fate::Hidden(Rule::Repeat);
        }
        out.push(Event::End { key, end: answer.end() });
        Fate::Shown
    }

    /// A web search: the call carries no result, and an event repeats it.
    pub(super) fn search(&mut self, item: &Fields, source: Source, out: &mut Vec<Event>) -> Fate {
        let key = self.key(item.key(Field::CallId).or_else(|| item.key(Field::Id)));
        let (name, input) = item::tool(ItemKind::Search, item);
        let query = input.field_text("query").unwrap_or_default();
        if self.mirror.repeats(Voice::Search, source, &query.as_str(), &key).is_some() {
            return Fate::Hidden(Rule::Repeat);
        }
        self.whole_call(key, (name, input), item::answer(ItemKind::Search, item), out)
    }

    pub(super) fn whole_call(
        &mut self,
        key: Key,
        call: (Key, Json),
        answer: Answer,
        out: &mut Vec<Event>,
    ) -> Fate {
        self.open.insert(key.clone());
        self.ended.insert(key.clone());
        self.put(key.clone(), Block::Tool(Box::new(Tool::call(call.0, call.1))), out);
        out.push(Event::End { key, end: answer.end() });
        Fate::Shown
    }
}

/// The tool's name as the model calls it: tools of MCP servers have their server as the namespace.
fn name(item: &Fields) -> Key {
    let name = item.key(Field::Name).unwrap_or_else(|| match item.word(Field::Type) {
        b"local_shell_call" => "local_shell".into(),
        b"tool_search_call" => "tool_search".into(),
        _ => "unknown".into(),
    });
    match item.key(Field::Namespace) {
        Some(space) if space.starts_with("mcp__") => {
            format!("{}__{name}", space.trim_end_matches('_')).into()
        }
        _ => name,
    }
}

/// The arguments of a call: a string that holds JSON. What does not stays the string it is.
fn arguments(arguments: &Json) -> Json {
    let Some(text) = arguments.text() else {
        let is_object = arguments.kind() == Kind::Object;
        return if is_object { arguments.clone() } else { object(&[]) };
    };
    let json = Json::new(Bytes::from(text.as_str().into_owned()));
    let mut reader = Reader::new(json.bytes());
    let is_object = reader.kind() == Kind::Object;
    reader.skip();
    if is_object && reader.finish().is_none() { json } else { arguments.clone() }
}

/// Whether the record says that no person wrote any part of the message.
fn is_foreign(item: &Fields) -> bool {
    let parts =
        item.json(Field::Provenance).get("content_item_metadata").map_or(vec![], |parts| parts.items());
    let authors: Vec<_> =
        parts.iter().filter_map(|part| part.get("provenance")?.field_text("type")).collect();
    !authors.is_empty() && authors.iter().all(|author| *author != "user")
}
