//! What stands beside the messages in a session file: system records, attachments, progress. It must not read
//! messages itself.

use bytes::Bytes;
use parlor_model::Key;
use parlor_model::block::{Author, Block, Notice, NoticeKind, Prompt};
use parlor_model::event::{Event, Fate, Meta, Turn};
use parlor_model::json::Json;
use parlor_model::line::Line;
use parlor_model::rule::Rule;
use parlor_model::text::Text;

use super::record::{self, Raw};
use super::session::{ClaudeSession, whole};

impl ClaudeSession {
    /// A system record; `None` when nobody knows its subtype.
    pub(super) fn system(&mut self, line: &Line, raw: &Raw, out: &mut Vec<Event>) -> Option<Fate> {
        let text = || raw.content.and_then(|span| line.json(span).text());
        let subtype = raw.subtype.map(|span| line.word(span)).unwrap_or_default();
        match subtype {
            b"turn_duration" => {
                out.push(Event::Turn { turn: Turn::Done });
                Some(Fate::Hidden(Rule::Status))
            }
            b"bridge_status" | b"thinking_tokens" | b"status" => Some(Fate::Hidden(Rule::Status)),
            b"init" => Some(Fate::Hidden(Rule::Init)),
            b"hook_started" | b"hook_progress" | b"hook_response" => Some(Fate::Hidden(Rule::QuietHook)),
            b"stop_hook_summary" => {
                let errors = whole(line).get("hookErrors").map(|errors| errors.items()).unwrap_or_default();
                let texts: Vec<String> = errors
                    .iter()
                    .map(|error| error.text().map_or(error.lossy().into_owned(), |text| text.to_string()))
                    .collect();
                if texts.is_empty() {
                    return Some(Fate::Hidden(Rule::QuietHook));
                }
                self.notice(
                    line,
                    raw,
                    NoticeKind::Hook { name: "Stop".into() },
                    texts.join("\n").into(),
                    out,
                );
                Some(Fate::Shown)
            }
            b"compact_boundary" | b"microcompact_boundary" => {
                let (before, after) = compact_tokens(&whole(line));
                let key = self.conversation.name(line, raw.uuid);
                self.conversation.boundary(key, before, after, out);
                Some(Fate::Shown)
            }
            b"api_error" => {
                let error = whole(line).get("error").unwrap_or_default();
                self.notice(line, raw, NoticeKind::Retry, error_text(&error), out);
                Some(Fate::Shown)
            }
            b"local_command" => {
                let text = text()?;
                Some(self.conversation.words(line, raw, None, &text, &[], out))
            }
            b"informational" | b"away_summary" | b"scheduled_task_fire" | b"notification" => {
                let level = whole(line).field_text("level").unwrap_or_default();
                let kind = match &*level.as_str() {
                    "warning" => NoticeKind::Warning,
                    "error" => NoticeKind::Error,
                    _ => NoticeKind::Info,
                };
                self.notice(line, raw, kind, text()?, out);
                Some(Fate::Shown)
            }
            b"" => {
                self.notice(line, raw, NoticeKind::Info, text()?, out);
                Some(Fate::Shown)
            }
            _ => None,
        }
    }

    fn notice(&mut self, line: &Line, raw: &Raw, kind: NoticeKind, text: Text, out: &mut Vec<Event>) {
        let key = self.conversation.name(line, raw.uuid);
        out.push(Event::notice(key, Notice { kind, text }));
    }

    /// An attachment; `None` when nobody knows its type.
    pub(super) fn attachment(
        &mut self,
        line: &Line,
        raw: &Raw,
        under: Option<&Key>,
        out: &mut Vec<Event>,
    ) -> Option<Fate> {
        let attachment = raw.attachment.map(|span| line.json(span)).unwrap_or_default();
        let kind = attachment.field_text("type").unwrap_or_default();
        let kind = kind.as_str();
        match &*kind {
            "queued_command" => Some(self.queued_command(line, raw, under, &attachment, out)),
            "hook_blocking_error" | "hook_non_blocking_error" | "hook_system_message" => {
                let blocking =
                    attachment.get("blockingError").and_then(|error| error.field_text("blockingError"));
                let told = ["content", "stderr", "stdout"].iter().find_map(|key| attachment.field_text(key));
                let text = blocking.or(told).filter(|text| !text.is_blank());
                let Some(text) = text else { return Some(Fate::Hidden(Rule::QuietHook)) };
                let name = attachment.field_text("hookName").unwrap_or_default();
                self.notice(line, raw, NoticeKind::Hook { name }, text, out);
                Some(Fate::Shown)
            }
            "model" => {
                let model = attachment.get("identity").and_then(|identity| identity.field_text("modelId"));
                if let Some(model) = model.filter(|_| under.is_none()) {
                    out.push(Event::Meta { meta: Meta::Model { name: Key::from(model.as_str()) } });
                }
                Some(Fate::Hidden(Rule::Bookkeeping))
            }
            "hook_success" | "hook_additional_context" | "async_hook_response" => {
                Some(Fate::Hidden(Rule::QuietHook))
            }
            kind if INJECTED.contains(&kind) => Some(Fate::Hidden(Rule::Injected)),
            _ => None,
        }
    }

    /// A prompt that was put into a running turn has no user record of its own.
    fn queued_command(
        &mut self,
        line: &Line,
        raw: &Raw,
        under: Option<&Key>,
        attachment: &Json,
        out: &mut Vec<Event>,
    ) -> Fate {
        let prompt = attachment.get("prompt").unwrap_or_default();
        let blocks = prompt.items();
        let texts: Vec<String> =
            blocks.iter().filter_map(|block| Some(block.field_text("text")?.to_string())).collect();
        let text = prompt.text().unwrap_or_else(|| texts.join("\n").into());
        let is_task = attachment.field_text("commandMode").is_some_and(|mode| mode == "task-notification");
        if is_task || text.starts_with("<task-notification>") {
            return self.conversation.words(line, raw, under, &text, &[], out);
        }
        let key = self.conversation.name(line, raw.uuid);
        let prompt = Prompt { text, author: Author::Person, steered: true, ..Prompt::default() };
        out.push(Event::Put { key, under: under.cloned(), message: None, block: Block::Prompt(prompt) });
        Fate::Shown
    }

    /// A report of progress; `None` when nobody knows its type.
    pub(super) fn progress(&mut self, line: &Line, raw: &Raw, out: &mut Vec<Event>) -> Option<Fate> {
        let data = raw.data.map(|span| line.json(span)).unwrap_or_default();
        let kind = data.field_text("type").unwrap_or_default();
        match &*kind.as_str() {
            "bash_progress"
            | "mcp_progress"
            | "query_update"
            | "search_results_received"
            | "waiting_for_task" => Some(Fate::Hidden(Rule::Step)),
            "hook_progress" => Some(Fate::Hidden(Rule::QuietHook)),
            "agent_progress" => {
                let under = raw.under.map(|span| line.key(span));
                let inner = Line::new(data.get("message")?.bytes().clone());
                let (message, damage) = record::read(&inner);
                if damage.is_some() {
                    return None;
                }
                Some(match message.kind.map(|span| inner.word(span)) {
                    Some(b"assistant") => self.conversation.assistant(&inner, &message, under.as_ref(), out),
                    Some(b"user") => self.conversation.user(&inner, &message, under.as_ref(), out),
                    _ => Fate::Hidden(Rule::Step),
                })
            }
            _ => None,
        }
    }
}

/// Attachments that Claude Code gives to the model on its own account.
const INJECTED: &[&str] = &[
    "total_tokens_reminder",
    "task_reminder",
    "todo_reminder",
    "skill_listing",
    "deferred_tools_delta",
    "agent_listing_delta",
    "mcp_instructions_delta",
    "auto_mode",
    "plan_mode",
    "plan_mode_exit",
    "ultra_effort_enter",
    "workflow_keyword_request",
    "goal_status",
    "date_change",
    "date",
    "structured_output",
    "command_permissions",
    "edited_text_file",
    "file",
    "already_read_file",
    "compact_file_reference",
    "read_truncation_notice",
    "directory",
    "nested_memory",
    "opened_file_in_ide",
    "selected_lines_in_ide",
    "diagnostics",
    "prompt_snapshot",
    "environment",
    "session_context",
    "remote_session_change",
    "plan_file_reference",
    "critical_system_reminder",
    "output_style",
    "invoked_skills",
    "context_efficiency",
    "task_status",
    "teammate_mailbox",
    "team_context",
];

/// The words of an API error: its message is often the raw body, which has a message of its own.
fn error_text(error: &Json) -> Text {
    let told = ["message", "formatted"].iter().find_map(|key| error.field_text(key));
    let Some(text) = told else { return error.lossy().into_owned().into() };
    let decoded = text.as_str();
    let body = decoded.find('{').map(|start| Json::new(Bytes::copy_from_slice(&decoded.as_bytes()[start..])));
    let inner = body.and_then(|body| body.get("error")?.field_text("message"));
    inner.unwrap_or_else(|| text.clone())
}

/// Tokens before and after a compaction, in either spelling.
pub(super) fn compact_tokens(record: &Json) -> (Option<u64>, Option<u64>) {
    let meta = record.get("compactMetadata").or_else(|| record.get("compact_metadata")).unwrap_or_default();
    let count = |keys: [&str; 2]| keys.iter().find_map(|key| meta.get(key)?.number()).map(|n| n as u64);
    (count(["preTokens", "pre_tokens"]), count(["postTokens", "post_tokens"]))
}
