//! Events of a rollout: turns, token counts, the full results of calls, and mirrors of model items.

use parlor_model::Key;
use parlor_model::block::{Block, NoticeKind, Prompt};
use parlor_model::event::{Ask, Event, Fate, Meta, TitleRank, Turn};
use parlor_model::json::Json;
use parlor_model::rule::Rule;
use parlor_model::text::Text;
use parlor_model::tool::{Tool, ToolState};

use super::CodexRollout;
use crate::codex::fields::{Field, Fields};
use crate::codex::item::{self, ItemKind, Place, Progress};
use crate::codex::mirror::Source;
use crate::codex::output::Answer;
use crate::codex::{notice, object, prompt, usage};

impl CodexRollout {
    /// Reads an event. `None` when nobody knows its kind.
    pub(super) fn event_msg(&mut self, event: &Fields, out: &mut Vec<Event>) -> Option<Fate> {
        Some(match event.word(Field::Type) {
            b"user_message" => self.user_message(event, out),
            b"agent_message" => {
                self.reply(event.text(Field::Message).unwrap_or_default(), Source::Event, None, out)
            }
            b"agent_reasoning" | b"agent_reasoning_raw_content" => {
                self.thought(item::thoughts(event), Source::Event, None, out)
            }
            b"token_count" => self.token_count(event, out),
            b"task_started" | b"turn_started" => {
                usage::window(event.number(Field::Window), &mut self.facts.window, out);
                self.turn(Turn::Start, out);
                Fate::Hidden(Rule::Step)
            }
            b"task_complete" | b"turn_complete" => self.task_complete(event, out),
            b"turn_aborted" => {
                self.turn(
                    Turn::Interrupted {
                        reason: event.key(Field::Reason).unwrap_or_else(|| "interrupted".into()),
                    },
                    out,
                );
                Fate::Shown
            }
            b"context_compacted" => self.compaction(Text::default(), out),
            b"thread_rolled_back" => self.roll_back(event, out),
            b"item_started" => return self.item(event, Progress::Started, out),
            b"item_completed" => return self.item(event, Progress::Completed, out),
            b"thread_name_updated" => {
                let text = event.text(Field::ThreadName);
                out.extend(
                    text.map(|text| Event::Meta { meta: Meta::Title { text, rank: TitleRank::Agent } }),
                );
                Fate::Hidden(Rule::Bookkeeping)
            }
            b"thread_settings_applied" => {
                if let Some(settings) = event.sub(Field::Settings) {
                    self.facts.say(&settings, out);
                }
                Fate::Hidden(Rule::Bookkeeping)
            }
            b"session_configured" => {
                self.facts.say(event, out);
                Fate::Hidden(Rule::Init)
            }
            b"web_search_end" => self.search(event, Source::Event, out),
            b"tool_call" => self.call(event, event.json(Field::Input), out),
            kind => return self.call_event(kind, event, out).or_else(|| self.remark(kind, event, out)),
        })
    }

    fn user_message(&mut self, event: &Fields, out: &mut Vec<Event>) -> Fate {
        let text = event.text(Field::Message).unwrap_or_default();
        let attachments = prompt::pictures(&event.json(Field::Images), &event.json(Field::LocalImages));
        let said = !text.is_blank() || !attachments.is_empty();
        let marked = matches!(event.word(Field::Kind), b"environment_context" | b"user_instructions");
        let own = said && !marked && !prompt::is_injected(&text.as_str());
        let said = own.then(|| Prompt { text, author: self.author(), attachments, ..Prompt::default() });
        self.prompt(said, Source::Event, None, out)
    }

    fn token_count(&mut self, event: &Fields, out: &mut Vec<Event>) -> Fate {
        let info = event.json(Field::Info);
        usage::window(info.get("model_context_window").and_then(|n| n.number()), &mut self.facts.window, out);
        if let Some(total) = info.get("total_token_usage") {
            usage::totals(&total, &info.get("last_token_usage").unwrap_or_default(), out);
        }
        Fate::Hidden(Rule::Usage)
    }

    fn task_complete(&mut self, event: &Fields, out: &mut Vec<Event>) -> Fate {
        if !event.has(Field::Error) {
            self.turn(Turn::Done, out);
            return Fate::Hidden(Rule::Step);
        }
        let error = event.json(Field::Error);
        self.turn(Turn::Failed { error: error.field_text("message").or_else(|| error.text()) }, out);
        Fate::Shown
    }

    /// The last turns no longer count: everything from the first of them on is overtaken.
    fn roll_back(&mut self, event: &Fields, out: &mut Vec<Event>) -> Fate {
        let count = event.number(Field::NumTurns).unwrap_or(0.0).max(0.0) as usize;
        let first = self.turns.len().saturating_sub(count);
        let from = self.turns.drain(first..).next();
        let Some(from) = from else { return Fate::Hidden(Rule::Bookkeeping) };
        out.push(Event::Overtake { from });
        Fate::Shown
    }

    fn item(&mut self, event: &Fields, progress: Progress, out: &mut Vec<Event>) -> Option<Fate> {
        let item = event.sub(Field::Item)?;
        self.paginated = true;
        let id = item.key(Field::Id);
        let done = progress == Progress::Completed;
        match ItemKind::of(item.word(Field::Type)) {
            ItemKind::Prompt if done => {
                let said = prompt::read(&item.json(Field::Content), self.author());
                Some(self.prompt(said, Source::Item, id, out))
            }
            ItemKind::Reply if done => Some(self.reply(item::reply(&item), Source::Item, id, out)),
            ItemKind::Thought if done => Some(self.thought(item::thoughts(&item), Source::Item, id, out)),
            ItemKind::Prompt | ItemKind::Reply | ItemKind::Thought => Some(Fate::Hidden(Rule::Step)),
            ItemKind::Search => Some(self.search(&item, Source::Item, out)),
            ItemKind::Compaction => Some(self.compaction(Text::default(), out)),
            _ => self.call_item(&item, id, progress, out),
        }
    }

    /// A call. What a script of the code mode does has ids of its own; the script's block becomes the first such call,
    /// for a reader wants to see what was done, as the stream shows it.
    fn call_item(
        &mut self,
        item: &Fields,
        id: Option<Key>,
        progress: Progress,
        out: &mut Vec<Event>,
    ) -> Option<Fate> {
        let mut key = self.key(id);
        let mut open = self.open.contains(&key);
        if !open && key.starts_with("exec-") {
            if let Some(script) = self.scripts.pop_front() {
                key = script;
                open = false;
            }
        }
        let fate = item::events(item, progress, Place { key: key.clone(), under: None, open }, out)?;
        if fate == Fate::Shown {
            self.compacted = false;
            self.open.insert(key.clone());
        }
        if progress == Progress::Completed {
            self.ended.insert(key);
        }
        Some(fate)
    }

    /// The beginning or the end of a call, by its own kind of event.
    fn call_event(&mut self, kind: &[u8], event: &Fields, out: &mut Vec<Event>) -> Option<Fate> {
        let (what, done) = match kind {
            b"exec_command_begin" => (ItemKind::Command, false),
            b"exec_command_end" => (ItemKind::Command, true),
            b"patch_apply_begin" => (ItemKind::Files, false),
            b"patch_apply_end" => (ItemKind::Files, true),
            b"mcp_tool_call_begin" => (ItemKind::Mcp, false),
            b"mcp_tool_call_end" => (ItemKind::Mcp, true),
            b"dynamic_tool_call_request" => (ItemKind::Dynamic, false),
            b"dynamic_tool_call_response" => (ItemKind::Dynamic, true),
            b"view_image_tool_call" => (ItemKind::View, true),
            b"collab_agent_spawn_end"
            | b"collab_waiting_end"
            | b"collab_agent_interaction_end"
            | b"collab_close_end"
            | b"collab_resume_end" => (ItemKind::Collab, true),
            _ => return None,
        };
        let Some(key) = event.key(Field::CallId) else { return Some(Fate::Hidden(Rule::Step)) };
        let known = !self.open.insert(key.clone());
        if !known {
            let (name, input) = self.described(what, kind, event);
            let tool = Tool { state: ToolState::Running, ..Tool::call(name, input) };
            self.put(key.clone(), Block::Tool(Box::new(tool)), out);
        }
        if done {
            let mut answer = item::answer(what, event);
            if what == ItemKind::Command && answer.output.parts.is_empty() {
                answer.output.parts = streams(event);
            }
            self.ended.insert(key.clone());
            out.push(Event::End { key, end: answer.end() });
        }
        Some(if done || !known { Fate::Shown } else { Fate::Hidden(Rule::Repeat) })
    }

    /// The call that an event belongs to, where the call itself is not in the file.
    fn described(&self, what: ItemKind, kind: &[u8], event: &Fields) -> (Key, Json) {
        match (what, kind) {
            (ItemKind::Mcp, _) => {
                let invocation = event.sub(Field::Invocation);
                item::tool(what, invocation.as_ref().unwrap_or(event))
            }
            (ItemKind::Collab, _) => {
                let name = match kind {
                    b"collab_agent_spawn_end" => "spawn_agent",
                    b"collab_waiting_end" => "wait_agent",
                    b"collab_agent_interaction_end" => "send_input",
                    b"collab_close_end" => "close_agent",
                    _ => "resume_agent",
                };
                let fields =
                    [("prompt", &event.json(Field::Prompt)), ("target", &event.json(Field::Receiver))];
                (name.into(), object(&fields))
            }
            _ => item::tool(what, event),
        }
    }

    /// Events that are about the session, or of which nothing is shown.
    fn remark(&mut self, kind: &[u8], event: &Fields, out: &mut Vec<Event>) -> Option<Fate> {
        let shown = match kind {
            b"error" => NoticeKind::Error,
            b"stream_error" => NoticeKind::Retry,
            b"warning" | b"guardian_warning" => NoticeKind::Warning,
            b"entered_review_mode" | b"exited_review_mode" | b"model_reroute" => NoticeKind::Info,
            b"exec_approval_request" | b"apply_patch_approval_request" => return Some(ask(event, out)),
            b"plan_update" => {
                let key = self.key(None);
                let call = ("update_plan".into(), object(&[("plan", &event.json(Field::Plan))]));
                return Some(self.whole_call(key, call, Answer::bare(ToolState::Done), out));
            }
            b"turn_diff" | b"raw_response_item" => return Some(Fate::Hidden(Rule::Repeat)),
            b"agent_message_delta"
            | b"agent_message_content_delta"
            | b"agent_reasoning_delta"
            | b"agent_reasoning_section_break"
            | b"agent_reasoning_raw_content_delta"
            | b"reasoning_content_delta"
            | b"reasoning_raw_content_delta"
            | b"exec_command_output_delta"
            | b"web_search_begin"
            | b"collab_agent_spawn_begin"
            | b"collab_waiting_begin"
            | b"collab_agent_interaction_begin"
            | b"collab_close_begin"
            | b"collab_resume_begin" => return Some(Fate::Hidden(Rule::Step)),
            b"sub_agent_activity"
            | b"background_event"
            | b"mcp_startup_update"
            | b"mcp_startup_complete"
            | b"shutdown_complete"
            | b"deprecation_notice"
            | b"thread_goal_updated"
            | b"terminal_interaction"
            | b"hook_started"
            | b"hook_completed"
            | b"undo_started"
            | b"undo_completed"
            | b"skills_update_available" => {
                return Some(Fate::Hidden(Rule::Status));
            }
            _ => return None,
        };
        let review = event.json(Field::Review);
        let text = event.text(Field::Message).or_else(|| review.text());
        let text = text.or_else(|| review.field_text("overall_explanation"));
        out.push(notice(self.key(None), None, shown, text.unwrap_or_default()));
        Some(Fate::Shown)
    }
}

/// A request for approval, on the call it is about.
fn ask(event: &Fields, out: &mut Vec<Event>) -> Fate {
    let Some(key) = event.key(Field::CallId) else { return Fate::Hidden(Rule::Protocol) };
    let ask = Ask { id: key.clone(), reason: event.text(Field::Reason), options: Vec::new() };
    out.push(Event::Ask { key, ask: Some(ask) });
    Fate::Shown
}

/// The two streams of a command of which no common one was kept.
fn streams(event: &Fields) -> Vec<parlor_model::tool::Piece> {
    let texts = [Field::Stdout, Field::Stderr].into_iter().filter_map(|field| event.text(field));
    texts.filter(|text| !text.is_empty()).map(|text| parlor_model::tool::Piece::Text { text }).collect()
}
