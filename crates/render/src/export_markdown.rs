//! A conversation as a Markdown document. Whatever an agent printed stands in fences that it cannot close.

use parlor_model::action::TodoStatus;
use parlor_model::block::{Author, Block, Notice, NoticeKind, Prompt};
use parlor_model::entry::Entry;
use parlor_model::role::Role;
use parlor_model::session::Session;
use parlor_model::tool::{Piece, Tool};

use crate::attachment_html::label;
use crate::clip::{Clip, indented, one_line, output_text};
use crate::context::{Context, Options, Outline};
use crate::measure::{clock, compaction, date, day, stop_words};
use crate::page::usage;
use crate::plain::changes;
use crate::run::{Run, calls_under};
use crate::title::title_call;
use crate::view::{Body, Showing, View, totals_line};
use crate::{ansi, highlight, markdown, visible};

/// A whole conversation.
pub fn transcript(session: &Session, entries: &[Entry], options: &Options) -> String {
    let outline = Outline::of(entries);
    let context = Context { session, entries, outline: &outline, options };
    let mut out = String::with_capacity(entries.len().saturating_mul(256));
    let title = session.title.as_ref().map(|title| one_line(&title.as_str(), 200).into_owned());
    out.push_str("# ");
    inline(title.as_deref().unwrap_or("Conversation"), &mut out);
    out.push_str("\n\n");
    let used = usage(session);
    if !used.is_empty() {
        inline(&used, &mut out);
        out.push_str("\n\n");
    }
    let mut today = None;
    for index in outline.roots() {
        if let Some(at) = entries[index].at.filter(|at| today != Some(day(*at, options.offset_s))) {
            today = Some(day(at, options.offset_s));
            out.push_str(&format!("*{}*\n\n", date(at, options.offset_s)));
        }
        entry(&context, index, &mut out);
    }
    out
}

/// Appends one entry, or the run it stands for.
pub fn entry(context: &Context<'_>, index: usize, out: &mut String) {
    let Some(entry) = context.entries.get(index) else { return };
    if matches!(entry.block, Block::Thought(_)) && !context.options.thinking {
        return;
    }
    if entry.opens && !matches!(entry.block, Block::Notice(_) | Block::Unknown(_)) {
        heading(context, entry, out);
    }
    match &entry.block {
        Block::Prompt(prompt) => {
            prose(context, &prompt.text.as_str(), "", out);
            for one in &prompt.attachments {
                out.push('*');
                inline(&label(one), out);
                out.push_str("*\n\n");
            }
        }
        Block::Reply(reply) => {
            prose(context, &reply.text.as_str(), "", out);
            if reply.interrupted {
                out.push_str("*⚠ Interrupted*\n\n");
            }
        }
        Block::Thought(thought) if !thought.redacted && !thought.text.is_blank() => {
            prose(context, &thought.text.as_str(), "> ", out);
        }
        Block::Thought(_) => {}
        Block::Tool(tool) => call(context, entry, index, tool, out),
        Block::Notice(one) => notice(context, one, out),
        Block::Unknown(unknown) => {
            out.push_str("**");
            inline(&one_line(&Role::Other(unknown.kind.to_string()).label(), 80), out);
            out.push_str("**\n\n");
            fence("json", &indented(&unknown.raw, context.options.limits.bytes), out);
        }
    }
}

fn heading(context: &Context<'_>, entry: &Entry, out: &mut String) {
    let role = match Role::of_block(&entry.block) {
        Role::ToolCall => Role::Assistant,
        role => role,
    };
    out.push_str("## ");
    inline(&role.label(), out);
    if let Block::Prompt(Prompt { author: Author::Peer { name }, .. }) = &entry.block {
        out.push(' ');
        inline(&one_line(&name.as_str(), 60), out);
    }
    if let Some(at) = entry.at {
        out.push_str(&format!(" · {}", clock(at, context.options.offset_s)));
    }
    out.push_str(if entry.overtaken { " · rewound\n\n" } else { "\n\n" });
}

fn call(context: &Context<'_>, entry: &Entry, index: usize, tool: &Tool, out: &mut String) {
    let members = context.outline.members(index);
    if members.len() > 1 {
        let run = Run::of(context, members);
        out.push_str(&format!("**Explored** {}\n\n", run.title()));
        for row in run.rows.iter().filter(|row| !row.again).take(context.options.limits.items) {
            out.push_str("- ");
            code(&format!("{} {}", row.verb, row.what), out);
            out.push('\n');
        }
        out.push('\n');
        return;
    }
    let cwd = context.cwd();
    let view = View::of(entry, tool, cwd.as_deref(), context.options.limits.lines);
    // A result whose call nobody saw is no call.
    if !tool.orphan {
        out.push_str("**Tool Call** ");
        code(&one_line(&title_call(tool, cwd.as_deref()), 160), out);
        let facts: Vec<&str> = view.facts.iter().map(|fact| fact.text.as_str()).collect();
        if !facts.is_empty() {
            out.push_str(" · ");
            inline(&facts.join(" · "), out);
        }
        out.push_str("\n\n");
        body(context, entry, index, tool, &view, out);
        if !matches!(view.body, Body::Nested { .. }) {
            work(context, index, out);
        }
    }
    let shown = view.result != Showing::Hidden || (context.options.file_contents && tool.action().explores());
    let text = tool.output.as_deref().filter(|_| shown).map(output_text).unwrap_or_default();
    let told = !text.trim().is_empty() || tool.orphan;
    if told {
        out.push_str("**Tool Result**\n\n");
    }
    match view.result {
        _ if !told => {}
        Showing::Prose => prose(context, &text, "", out),
        Showing::Hidden | Showing::Terminal | Showing::Text => {
            fence(
                "",
                &clipped(&ansi::to_plain(&text), context.options.limits.bytes, context.options.limits.lines),
                out,
            );
        }
    }
    extras(context, tool, out);
}

/// Pictures, documents and pieces nobody understands, and what the call waits for.
fn extras(context: &Context<'_>, tool: &Tool, out: &mut String) {
    for piece in tool.output.as_deref().map_or(&[][..], |output| &output.parts) {
        match piece {
            Piece::Attachment { attachment } => remark(&label(attachment), out),
            Piece::Other { raw } => fence("json", &indented(raw, context.options.limits.bytes), out),
            Piece::Text { .. } => {}
        }
    }
    if let Some(ask) = &tool.ask {
        let reason = ask.reason.as_ref().map_or_else(String::new, |reason| format!(": {}", reason.as_str()));
        remark(&format!("Waits for an answer{reason}"), out);
        for option in &ask.options {
            out.push_str("- ");
            inline(&option.as_str(), out);
            out.push('\n');
        }
        out.push_str(if ask.options.is_empty() { "" } else { "\n" });
    }
    if let Some(decision) = &tool.decision {
        remark(&crate::measure::decision(decision, context.options.offset_s), out);
    }
}

/// A line of its own that is nobody's words.
fn remark(text: &str, out: &mut String) {
    out.push('*');
    inline(text, out);
    out.push_str("*\n\n");
}

fn body(context: &Context<'_>, entry: &Entry, index: usize, tool: &Tool, view: &View, out: &mut String) {
    let limits = &context.options.limits;
    match &view.body {
        Body::Nothing if view.icon == "run" && one_line(&view.argument, 120) != view.argument => {
            fence("sh", &clipped(&view.argument, limits.bytes, limits.lines), out);
        }
        Body::Nothing | Body::Files(_) | Body::Link { .. } => {}
        Body::Diff(files) => {
            for file in files {
                let mut text = String::new();
                changes(file, &mut text);
                fence("diff", text.trim_start_matches('\n'), out);
            }
        }
        Body::Preview { path, content } => {
            fence(
                highlight::language_of_path(path),
                &clipped(&content.as_str(), limits.bytes, limits.lines),
                out,
            );
        }
        Body::Todo(todos) => {
            for todo in todos.iter().take(limits.items) {
                out.push_str(if todo.status == TodoStatus::Done { "- [x] " } else { "- [ ] " });
                inline(&one_line(&todo.text.as_str(), 400), out);
                out.push('\n');
            }
            out.push('\n');
        }
        Body::Nested { prompt } => {
            prose(context, &prompt.as_str(), "> ", out);
            let calls = work(context, index, out);
            out.push_str(&format!("*{}*\n\n", totals_line(entry, tool, calls)));
        }
        Body::Message { content } => prose(context, &content.as_str(), "> ", out),
        Body::Questions(questions) => {
            questions.iter().for_each(|question| prose(context, &question.as_str(), "> ", out));
        }
        Body::Input => fence("json", &indented(&tool.input, limits.bytes), out),
    }
}

/// The calls made under a call, as a list; tells how many there are.
fn work(context: &Context<'_>, index: usize, out: &mut String) -> u64 {
    let calls = calls_under(context, context.outline.children(index));
    let cwd = context.cwd();
    for call in calls.iter().filter_map(|call| context.entries.get(*call)).take(context.options.limits.items)
    {
        if let Block::Tool(tool) = &call.block {
            out.push_str("- ");
            code(&one_line(&title_call(tool, cwd.as_deref()), 160), out);
            out.push('\n');
        }
    }
    out.push_str(if calls.is_empty() { "" } else { "\n" });
    calls.len() as u64
}

fn notice(context: &Context<'_>, notice: &Notice, out: &mut String) {
    let limits = &context.options.limits;
    let whole = notice.text.as_str();
    let text = if notice.kind == NoticeKind::Interrupted { stop_words(&whole) } else { &whole };
    let title = match &notice.kind {
        NoticeKind::Interrupted => "⚠ Interrupted".to_owned(),
        NoticeKind::Compaction { before, after } => compaction(*before, *after),
        NoticeKind::Command { command } => one_line(&command.as_str(), 200).into_owned(),
        NoticeKind::Hook { name } => format!("Hook {}", name.as_str()),
        NoticeKind::Status { name } => Role::named(name).label(),
        NoticeKind::Info => "Info".to_owned(),
        NoticeKind::Warning => "Warning".to_owned(),
        NoticeKind::Error => "Error".to_owned(),
        NoticeKind::Retry => "Retry".to_owned(),
        NoticeKind::Task => "Task".to_owned(),
        NoticeKind::Diff => "Working tree".to_owned(),
        NoticeKind::Result => "Result".to_owned(),
    };
    remark(&one_line(&title, 200), out);
    match &notice.kind {
        NoticeKind::Compaction { .. } | NoticeKind::Result => prose(context, text, "> ", out),
        NoticeKind::Diff => fence("diff", &clipped(text, limits.bytes, limits.lines), out),
        _ if text.trim().is_empty() => {}
        _ => fence("", &clipped(&ansi::to_plain(text), limits.bytes, limits.lines), out),
    }
}

/// Markdown of others as it is but for raw HTML, line by line under `margin`.
fn prose(context: &Context<'_>, text: &str, margin: &str, out: &mut String) {
    let mut text = clipped(text.trim(), context.options.limits.prose_bytes, usize::MAX);
    // A fence that was cut off would swallow the rest of the document.
    if let Some(open) = open_fence(&text) {
        text.push_str(if text.ends_with('\n') { "" } else { "\n" });
        text.push_str(&open);
    }
    let mut block = String::with_capacity(text.len() + 64);
    for line in text.lines() {
        block.push_str(if line.is_empty() { margin.trim_end() } else { margin });
        visible::push(line, &mut block);
        block.push('\n');
    }
    // With its margin, because parsers see HTML in some quotes where there is none without.
    out.push_str(&markdown::without_html(block));
    out.push('\n');
}

/// The fence that is still open at the end of a text.
fn open_fence(text: &str) -> Option<String> {
    let mut open: Option<(char, usize)> = None;
    for line in text.lines() {
        let line = line.trim_start();
        let Some(sign) = line.chars().next().filter(|sign| matches!(sign, '`' | '~')) else { continue };
        let length = line.chars().take_while(|c| *c == sign).count();
        let rest = &line[length..];
        open = match open {
            None if length >= 3 && !(sign == '`' && rest.contains('`')) => Some((sign, length)),
            Some((opened, most)) if opened == sign && length >= most && rest.trim().is_empty() => None,
            open => open,
        };
    }
    open.map(|(sign, length)| sign.to_string().repeat(length))
}

/// A fenced block, with a fence longer than any run of backticks inside.
fn fence(language: &str, text: &str, out: &mut String) {
    let ticks = "`".repeat(longest_run(text).max(2) + 1);
    out.push_str(&ticks);
    out.push_str(language);
    out.push('\n');
    visible::push(text.trim_end_matches('\n'), out);
    out.push('\n');
    out.push_str(&ticks);
    out.push_str("\n\n");
}

/// A code span, with more backticks around it than inside. It is one line: an empty one would end it.
fn code(text: &str, out: &mut String) {
    let text = &text.replace('\n', " ");
    let ticks = "`".repeat(longest_run(text) + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    out.push_str(&ticks);
    out.push_str(space);
    visible::push(text, out);
    out.push_str(space);
    out.push_str(&ticks);
}

fn longest_run(text: &str) -> usize {
    let (mut longest, mut run) = (0, 0);
    for byte in text.bytes() {
        run = if byte == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// Words inside a line: what Markdown would take for markup is escaped, and a line end is a space.
fn inline(text: &str, out: &mut String) {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|') {
            escaped.push('\\');
        }
        escaped.push(if c == '\n' { ' ' } else { c });
    }
    visible::push(&escaped, out);
}

fn clipped(text: &str, bytes: usize, lines: usize) -> String {
    let clip = Clip::new(text, bytes, lines);
    match clip.missing {
        None => clip.head.to_owned(),
        Some(missing) => format!("{}\n{}\n{}", clip.head, missing.words(), clip.tail),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{done, prompt, reply, thought};
    use parlor_model::session::Counts;
    use serde_json::json;

    #[test]
    fn a_conversation_in_full() {
        let mut entries = vec![
            prompt("p", "Hi", Author::Person),
            done("t", "Bash", json!({"command": "ls `x`"}), "a\n```\nb"),
            reply("r", "```rust\nfn cut_off("),
            prompt("q", "Next", Author::Person),
        ];
        entries[2].opens = false;
        let counts = Counts { prompts: 2, tools: 1, ..Counts::default() };
        let session = Session { title: Some("A *title*".into()), counts, ..Session::default() };
        assert_eq!(
            transcript(&session, &entries, &Options::default()),
            "# A \\*title\\*\n\n2 prompts · 1 tool call\n\n*15 November 2026*\n\n## User · 14:02\n\nHi\n\n\
             ## Assistant · 14:02\n\n**Tool Call** ``Bash(ls `x`)``\n\n**Tool Result**\n\n````\na\n```\nb\n````\n\n\
             ```rust\nfn cut_off(\n```\n\n## User · 14:02\n\nNext\n\n"
        );
    }

    #[test]
    fn words_inside_a_line_stay_there() {
        let mut out = String::new();
        code("a\n\n<b> `c`", &mut out);
        inline(" d\n\n~~~\n<e>", &mut out);
        assert_eq!(out, "`` a  <b> `c` `` d  ~~~ \\<e\\>");
    }

    #[test]
    fn html_in_prose_is_text() {
        let entries = [reply("r", "<b>x</b> `<i>`\n\n<div>\n```\n</div>\n\n```\n<script>\n```")];
        let text = transcript(&Session::default(), &entries, &Options::default());
        let thought = [thought("t", "a <!i- no\n---te")];
        let quoted = transcript(&Session::default(), &thought, &Options::default());
        assert!(quoted.contains("> a \\<!i- no\n> ---te\n"), "{quoted}");
        assert!(text.contains("\\<b>x\\</b> `<i>`\n\n\\<div>\n```\n\\</div>\n\n```\n\\<script>\n"), "{text}");
    }

    #[test]
    fn a_fence_cannot_be_closed_from_inside() {
        for ticks in 0..8 {
            let mut out = String::new();
            fence("", &"`".repeat(ticks), &mut out);
            let length = out.chars().take_while(|c| *c == '`').count();
            assert!(length > ticks && length >= 3, "{out}");
        }
    }

    #[test]
    fn an_open_fence_is_found() {
        for (text, open) in [
            ("```\na\n```", None),
            ("```\na", Some("```")),
            ("~~~~\n```\n~~~", Some("~~~~")),
            ("a ``` b", None),
            ("```a`b\n", None),
        ] {
            assert_eq!(open_fence(text).as_deref(), open, "{text}");
        }
    }
}
