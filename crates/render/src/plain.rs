//! Plain text: every message under a header line with the label of its role. A call and its result are two messages
//! here. It writes no escapes and no markup.

use parlor_model::block::{Block, NoticeKind};
use parlor_model::entry::Entry;
use parlor_model::role::Role;
use parlor_model::session::Session;
use parlor_model::tool::{Output, Piece, Tool};

use crate::attachment_html::label;
use crate::clip::{Clip, count_lines, indented, output_text};
use crate::context::{Context, Options, Outline};
use crate::diff::Sign;
use crate::measure::{compaction, plural, stop_words};
use crate::title::title_call;
use crate::view::{Body, FileDiff, Showing, View};
use crate::{ansi, visible};

/// A whole conversation.
pub fn transcript(session: &Session, entries: &[Entry], options: &Options) -> String {
    let outline = Outline::of(entries);
    let context = Context { session, entries, outline: &outline, options };
    let mut out = String::with_capacity(entries.len().saturating_mul(256));
    for (index, one) in entries.iter().enumerate() {
        // A subagent's messages are not part of the conversation between a person and the agent.
        if one.parent.is_none() || outline.root_of(index) == index {
            entry(&context, index, &mut out);
        }
    }
    out
}

/// Appends one entry as one or two messages, each followed by an empty line.
pub fn entry(context: &Context<'_>, index: usize, out: &mut String) {
    let Some(entry) = context.entries.get(index) else { return };
    let role = Role::of_block(&entry.block);
    match &entry.block {
        Block::Prompt(prompt) => {
            let mut text = clipped(context, &prompt.text.as_str());
            for one in &prompt.attachments {
                text.push_str(&format!("\n[{}]", label(one)));
            }
            message(&role, &text, out);
        }
        Block::Reply(reply) => {
            let mark = if reply.interrupted { "\n⚠ Interrupted" } else { "" };
            message(&role, &format!("{}{mark}", clipped(context, &reply.text.as_str())), out);
        }
        Block::Thought(thought) => {
            if context.options.thinking && !thought.redacted && !thought.text.is_blank() {
                message(&Role::Other("thinking".into()), &clipped(context, &thought.text.as_str()), out);
            }
        }
        Block::Tool(tool) => {
            let cwd = context.cwd();
            let view = View::of(entry, tool, cwd.as_deref(), context.options.limits.lines);
            if !tool.orphan {
                message(&Role::ToolCall, &call(context, tool, &view, cwd.as_deref()), out);
            }
            if let Some(text) = tool.output.as_deref().map(|output| result(context, output, &view)) {
                message(&Role::ToolResult, &text, out);
            }
        }
        Block::Notice(notice) => {
            let text = notice.text.as_str();
            let text = match &notice.kind {
                NoticeKind::Interrupted => format!("⚠ Interrupted\n{}", stop_words(&text)),
                NoticeKind::Compaction { before, after } => {
                    format!("{}\n{text}", compaction(*before, *after))
                }
                NoticeKind::Command { command } => format!("{}\n{text}", command.as_str()),
                _ => text.into_owned(),
            };
            message(&role, &clipped(context, &text), out);
        }
        Block::Unknown(unknown) => message(&role, &indented(&unknown.raw, context.options.limits.bytes), out),
    }
}

/// A message: `[Label]`, then its text. A label is one line whatever the agent called it.
fn message(role: &Role, text: &str, out: &mut String) {
    out.push('[');
    visible::push(&role.label().replace(['\n', '\r'], " "), out);
    out.push_str("]\n");
    out.push_str(ansi::to_plain(text).trim_end());
    out.push_str("\n\n");
}

fn call(context: &Context<'_>, tool: &Tool, view: &View, cwd: Option<&str>) -> String {
    let mut text = clipped(context, &title_call(tool, cwd));
    match &view.body {
        Body::Diff(files) => {
            if let Some(summary) = view.change_summary() {
                text.push_str(&format!("\n{summary}"));
            }
            files.iter().for_each(|file| changes(file, &mut text));
        }
        Body::Preview { content, .. } | Body::Message { content } | Body::Nested { prompt: content } => {
            text.push_str(&format!("\n{}", clipped(context, &content.as_str())));
        }
        Body::Todo(todos) => {
            for todo in todos {
                text.push_str(&format!("\n[{}] {}", todo_sign(todo.status), todo.text.as_str()));
            }
        }
        Body::Questions(questions) => {
            questions.iter().for_each(|question| text.push_str(&format!("\n{}", question.as_str())))
        }
        Body::Input => text.push_str(&format!("\n{}", indented(&tool.input, context.options.limits.bytes))),
        Body::Nothing | Body::Files(_) | Body::Link { .. } => {}
    }
    text
}

/// The sign of a task in text: `x` when done, `>` when being done.
pub(crate) fn todo_sign(status: parlor_model::action::TodoStatus) -> char {
    match status {
        parlor_model::action::TodoStatus::Done => 'x',
        parlor_model::action::TodoStatus::Active => '>',
        parlor_model::action::TodoStatus::Pending => ' ',
    }
}

/// The lines of a diff with their signs, without numbers.
pub(crate) fn changes(file: &FileDiff, text: &mut String) {
    for line in &file.diff.lines {
        text.push('\n');
        text.push_str(match line.sign {
            Sign::Same => " ",
            Sign::Added => "+",
            Sign::Removed => "-",
            Sign::Gap => "…",
        });
        line.parts.iter().for_each(|(_, part)| text.push_str(part));
    }
    if file.missing > 0 {
        text.push_str(&format!("\n… {} lines not shown", file.missing));
    }
}

fn result(context: &Context<'_>, output: &Output, view: &View) -> String {
    let whole = output_text(output);
    let file = matches!(view.icon, "read" | "search") && view.result == Showing::Hidden;
    let mut text = match count_lines(&whole) {
        0 => "(no output)".to_owned(),
        lines if file && !context.options.file_contents => format!("({} not shown)", plural(lines, "line")),
        _ => clipped(context, &whole),
    };
    for piece in &output.parts {
        match piece {
            Piece::Attachment { attachment } => text.push_str(&format!("\n[{}]", label(attachment))),
            Piece::Other { raw } => {
                text.push_str(&format!("\n{}", indented(raw, context.options.limits.bytes)))
            }
            Piece::Text { .. } => {}
        }
    }
    text
}

fn clipped(context: &Context<'_>, text: &str) -> String {
    let limits = &context.options.limits;
    let clip = Clip::new(text, limits.prose_bytes, limits.lines);
    match clip.missing {
        None => clip.head.to_owned(),
        Some(missing) => format!("{}\n{}\n{}", clip.head, missing.words(), clip.tail),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{done, entry as sample_entry, notice, prompt, reply, tool};
    use parlor_model::block::{Author, Unknown};
    use serde_json::json;

    fn text(entries: &[Entry]) -> String {
        transcript(&Session::default(), entries, &Options::default())
    }

    #[test]
    fn every_message_starts_with_its_label() {
        let unknown = Block::Unknown(Unknown { kind: "marble".into(), raw: json!(1).into() });
        let entries = [
            prompt("p", "Hi", Author::Person),
            reply("r", "Hello."),
            done("t", "Bash", json!({"command": "ls"}), "a\nb\n"),
            tool("o", "Bash", json!({"command": "sleep 9"})),
            prompt("m", "Go on", Author::Machine),
            notice("n", NoticeKind::Interrupted, ""),
            sample_entry("u", unknown),
        ];
        assert_eq!(
            text(&entries),
            "[User]\nHi\n\n[Assistant]\nHello.\n\n[Tool Call]\nBash(ls)\n\n[Tool Result]\na\nb\n\n\
             [Tool Call]\nBash(sleep 9)\n\n[System]\nGo on\n\n[System]\n⚠ Interrupted\n\n[Marble]\n1\n\n"
        );
    }

    #[test]
    fn files_that_were_read_are_counted_and_changes_are_shown() {
        let entries = [
            done("a", "Read", json!({"file_path": "a"}), "1\n2\n"),
            done("b", "Edit", json!({"file_path": "a", "old_string": "x", "new_string": "y"}), "ok"),
        ];
        assert_eq!(
            text(&entries),
            "[Tool Call]\nRead(a)\n\n[Tool Result]\n(2 lines not shown)\n\n\
             [Tool Call]\nUpdate(a)\nAdded 1 line, removed 1 line\n-x\n+y\n\n[Tool Result]\nok\n\n"
        );
    }

    #[test]
    fn a_subagent_s_messages_are_left_out_and_escapes_are_dropped() {
        let mut inner = reply("r", "inner");
        inner.parent = Some("t".into());
        let entries = [done("t", "Task", json!({"description": "d"}), "\u{1b}[31mred\u{1b}[0m"), inner];
        assert_eq!(text(&entries), "[Tool Call]\nTask(d)\n\n[Tool Result]\nred\n\n");
    }
}
