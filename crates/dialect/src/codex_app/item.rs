//! Items of the app server: their beginnings and ends, their deltas, and the approvals they wait for.

use parlor_model::Key;
use parlor_model::block::{Author, Block, Reply, Thought};
use parlor_model::event::{Ask, End, Event, Fate, Part};
use parlor_model::json::{Json, Kind};
use parlor_model::rule::Rule;
use parlor_model::text::Text;
use parlor_model::tool::{Output, Tool, ToolState};

use super::CodexApp;
use crate::codex::fields::{Field, Fields};
use crate::codex::item::{self, ItemKind, Place, Progress};
use crate::codex::mirror::Source;
use crate::codex::{command, object, prompt};

impl CodexApp {
    /// A notification or request about an item. `None` when nobody knows the method, or the item's kind.
    pub(super) fn item_call(
        &mut self,
        method: &[u8],
        request: Option<Key>,
        params: &Fields,
        out: &mut Vec<Event>,
    ) -> Option<Fate> {
        Some(match method {
            b"item/started" => return self.item(params, Progress::Started, out),
            b"item/updated" => return self.item(params, Progress::Updated, out),
            b"item/completed" => return self.item(params, Progress::Completed, out),
            b"item/agentMessage/delta" | b"item/plan/delta" => self.delta(params, Part::Reply, out),
            b"item/reasoning/summaryTextDelta" | b"item/reasoning/textDelta" => {
                self.delta(params, Part::Thought, out)
            }
            b"item/reasoning/summaryPartAdded" => self.next_part(params, out),
            b"item/commandExecution/outputDelta" => self.delta(params, Part::Output, out),
            b"item/commandExecution/terminalInteraction"
            | b"item/fileChange/outputDelta"
            | b"item/fileChange/patchUpdated"
            | b"item/mcpToolCall/progress" => Fate::Hidden(Rule::Step),
            b"turn/plan/updated" => self.plan(params, out),
            b"item/commandExecution/requestApproval"
            | b"item/fileChange/requestApproval"
            | b"item/permissions/requestApproval"
            | b"item/tool/requestUserInput"
            | b"mcpServer/elicitation/request"
            | b"execCommandApproval"
            | b"applyPatchApproval" => self.ask(method, request?, params, out),
            _ => return None,
        })
    }

    fn item(&mut self, params: &Fields, progress: Progress, out: &mut Vec<Event>) -> Option<Fate> {
        let item = params.sub(Field::Item)?;
        let under = self.under(params);
        let key = self.key(item.key(Field::Id));
        let kind = ItemKind::of(item.word(Field::Type));
        if kind == ItemKind::Prompt {
            return Some(self.user_message(&item, key, params, out));
        }
        if kind == ItemKind::Collab {
            self.collab(&item, &key, progress);
        }
        let place = Place { key: key.clone(), under, open: self.open.contains(&key) };
        let fate = item::events(&item, progress, place, out)?;
        self.compacted = kind == ItemKind::Compaction;
        if progress == Progress::Completed {
            self.streaming.retain(|(_, written)| *written != key);
        }
        if fate == Fate::Shown {
            self.open.insert(key);
        }
        Some(fate)
    }

    /// A prompt comes as started and as completed, and what the client sent is the same words.
    fn user_message(&mut self, item: &Fields, key: Key, params: &Fields, out: &mut Vec<Event>) -> Fate {
        if !self.open.insert(key.clone()) {
            return Fate::Hidden(Rule::Repeat);
        }
        let author = if self.under(params).is_some() { Author::Caller } else { Author::Person };
        match prompt::read(&item.json(Field::Content), author) {
            Some(said) => self.prompt(said, Source::Item, Some(key), params, out),
            None => Fate::Hidden(Rule::Injected),
        }
    }

    /// A call to a subagent tells which thread works for it, at its end at the latest.
    fn collab(&mut self, item: &Fields, key: &Key, progress: Progress) {
        let spawns = item::collab_name(item.word(Field::Tool)) == "spawn_agent";
        if spawns && progress == Progress::Started && !self.open.contains(key) {
            self.threads.starting.push_back(key.clone());
        }
        if spawns {
            self.threads.started(key, &item.json(Field::Receivers));
        }
        if progress == Progress::Completed {
            self.threads.starting.retain(|starting| starting != key);
        }
    }

    fn delta(&mut self, params: &Fields, part: Part, out: &mut Vec<Event>) -> Fate {
        let Some(key) = params.key(Field::ItemId) else { return Fate::Hidden(Rule::Step) };
        match params.text(Field::Delta).filter(|text| !text.is_empty()) {
            Some(text) => self.grow(key, part, text, params, out),
            None => Fate::Hidden(Rule::Step),
        }
    }

    /// A summary has several parts; the complete item joins them in the same way.
    fn next_part(&mut self, params: &Fields, out: &mut Vec<Event>) -> Fate {
        let first = params.number(Field::SummaryIndex).is_none_or(|index| index < 1.0);
        match params.key(Field::ItemId).filter(|_| !first) {
            Some(key) => self.grow(key, Part::Thought, "\n\n".into(), params, out),
            None => Fate::Hidden(Rule::Step),
        }
    }

    /// Text is added. A block under a subagent's call must be put there before it grows.
    fn grow(&mut self, key: Key, part: Part, text: Text, params: &Fields, out: &mut Vec<Event>) -> Fate {
        let under = self.under(params);
        let first = self.open.insert(key.clone());
        if first && part != Part::Output {
            self.streaming.push((params.key(Field::ThreadId), key.clone()));
        }
        if first && under.is_some() {
            let block = match part {
                Part::Reply => Block::Reply(Reply { streaming: true, ..Reply::default() }),
                Part::Thought => Block::Thought(Thought { streaming: true, ..Thought::default() }),
                Part::Input | Part::Output => Block::Tool(Box::new(Tool::call("shell", Json::default()))),
            };
            out.push(Event::Put { key: key.clone(), under, message: None, block });
        }
        out.push(Event::Grow { key, part, text });
        Fate::Shown
    }

    /// The to-do list: each update is a call of the agent's, and whole.
    fn plan(&mut self, params: &Fields, out: &mut Vec<Event>) -> Fate {
        let key = self.key(None);
        let under = self.under(params);
        let tool = Tool::call("update_plan", object(&[("plan", &params.json(Field::Plan))]));
        out.push(Event::Put { key: key.clone(), under, message: None, block: Block::Tool(Box::new(tool)) });
        let end = End::Result { name: None, state: ToolState::Done, output: Box::new(Output::default()) };
        out.push(Event::End { key, end });
        Fate::Shown
    }

    /// A request to the person, on the call that waits for it.
    fn ask(&mut self, method: &[u8], request: Key, params: &Fields, out: &mut Vec<Event>) -> Fate {
        let named = params.key(Field::ItemId).or_else(|| params.key(Field::CallId));
        let key = named.unwrap_or_else(|| format!("ask/{request}").into());
        if self.open.insert(key.clone()) {
            let under = self.under(params);
            let (name, input) = asking(method, params);
            let tool = Block::Tool(Box::new(Tool::call(name, input)));
            out.push(Event::Put { key: key.clone(), under, message: None, block: tool });
        }
        let reason = params.text(Field::Reason).or_else(|| params.text(Field::Message));
        let options = params.json(Field::Decisions).items().iter().filter_map(decision).collect();
        self.asks.insert(request.clone(), key.clone());
        out.push(Event::Ask { key, ask: Some(Ask { id: request, reason, options }) });
        Fate::Shown
    }
}

/// The call that a request is about, where the request comes first.
fn asking(method: &[u8], params: &Fields) -> (&'static str, Json) {
    match method {
        b"item/fileChange/requestApproval" | b"applyPatchApproval" => {
            ("apply_patch", object(&[("changes", &params.json(Field::Changes))]))
        }
        b"item/tool/requestUserInput" => {
            ("request_user_input", object(&[("questions", &params.json(Field::Questions))]))
        }
        b"mcpServer/elicitation/request" => {
            ("elicitation", object(&[("message", &params.json(Field::Message))]))
        }
        b"item/permissions/requestApproval" => ("request_permissions", object(&[])),
        _ => ("shell", command::input(&params.json(Field::Command))),
    }
}

/// A decision on offer: a word, or an object named by its only key.
fn decision(decision: &Json) -> Option<Text> {
    match decision.kind() {
        Kind::Object => decision.fields().into_iter().next().map(|(name, _)| name.into()),
        _ => decision.text(),
    }
}
