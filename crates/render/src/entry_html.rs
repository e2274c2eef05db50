//! One entry, or the run it stands for, as HTML. The same entry in the same context gives the same bytes, live and
//! years later. It must not know pages, sockets or scripts.

use parlor_model::block::{Author, Block, Notice, NoticeKind, Prompt, Reply, Thought, Unknown};
use parlor_model::entry::Entry;
use parlor_model::role::Role;

use crate::attachment_html::attachment;
use crate::card_html;
use crate::clip::{Clip, count_lines, indented, one_line, split_lines};
use crate::context::Context;
use crate::html::Html;
use crate::measure::{clock, compaction, duration, plural, stop_words};
use crate::view::{FileDiff, change_facts};
use crate::{ansi, markdown, patch};

/// Appends the entry at `index`. Entries that are shown within another (`Outline::root_of`) are part of that one's
/// HTML; rendered by themselves, they are a row of their own.
pub fn entry(context: &Context<'_>, index: usize, html: &mut Html) {
    let Some(entry) = context.entries.get(index) else { return };
    if matches!(entry.block, Block::Thought(_)) && !context.options.thinking {
        return;
    }
    open(context, entry, index, html);
    match &entry.block {
        Block::Prompt(prompt) => prompt_body(context, prompt, html),
        Block::Reply(reply) => reply_body(context, reply, html),
        Block::Thought(thought) => thought_body(context, thought, html),
        Block::Tool(tool) => card_html::card(context, index, entry, tool, html),
        Block::Notice(notice) => notice_body(context, notice, html),
        Block::Unknown(unknown) => unknown_body(context, unknown, html),
    }
    html.markup("</article>\n");
}

/// Text that may be long: its first lines, and the rest behind a toggle.
pub(crate) fn folded(text: &str, lines: usize, html: &mut Html, part: impl Fn(&str, &mut Html)) {
    let (first, rest) = split_lines(text, lines);
    if rest.trim().is_empty() {
        part(text.trim_end_matches('\n'), html);
        return;
    }
    part(first.trim_end_matches('\n'), html);
    html.markup("<details class=\"rest\"><summary>+").number(count_lines(rest));
    html.markup(" lines</summary>");
    part(rest.trim_end_matches('\n'), html);
    html.markup("</details>");
}

/// What is left out, as a line of its own.
pub(crate) fn cut(words: &str, html: &mut Html) {
    html.markup("<p class=\"cut\">").text(words).markup("</p>");
}

/// Markdown within the limits.
pub(crate) fn prose(context: &Context<'_>, text: &str, html: &mut Html) {
    let clip = Clip::new(text, context.options.limits.prose_bytes, usize::MAX);
    html.markup("<div class=\"prose\">");
    markdown::to_html(clip.head, html);
    if let Some(missing) = clip.missing {
        cut(&missing.words(), html);
        markdown::to_html(clip.tail, html);
    }
    html.markup("</div>");
}

/// What a program wrote, within the limits.
pub(crate) fn terminal(context: &Context<'_>, text: &str, html: &mut Html) {
    let limits = &context.options.limits;
    let clip = Clip::new(text.trim_end_matches('\n'), limits.bytes, limits.lines);
    html.markup("<pre>");
    ansi::to_html(clip.head, html);
    if let Some(missing) = clip.missing {
        html.markup("</pre>");
        cut(&missing.words(), html);
        html.markup("<pre>");
        ansi::to_html(clip.tail, html);
    }
    html.markup("</pre>");
}

/// The class under which style sheets know a role.
pub(crate) fn role_class(role: &Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::ToolCall => "tool-call",
        Role::ToolResult => "tool-result",
        Role::Other(_) => "other",
    }
}

/// Whose bubble a block lies in: calls are part of what the assistant does.
fn bubble(block: &Block) -> Role {
    match Role::of_block(block) {
        Role::ToolCall => Role::Assistant,
        role => role,
    }
}

fn open(context: &Context<'_>, entry: &Entry, index: usize, html: &mut Html) {
    let role = bubble(&entry.block);
    let headed = entry.opens && !matches!(entry.block, Block::Notice(_) | Block::Unknown(_));
    html.markup("<article class=\"entry ").markup(role_class(&role));
    if matches!(entry.block, Block::Notice(_)) {
        html.markup(" notice");
    }
    if headed {
        html.markup(" opens");
    }
    if entry.overtaken {
        html.markup(" overtaken");
    }
    html.markup("\" id=\"e-").text(&entry.id).markup("\">");
    // A run of rewound entries is marked where it starts.
    let marked =
        entry.overtaken && !index.checked_sub(1).is_some_and(|before| context.entries[before].overtaken);
    if marked || (headed && entry.overtaken) {
        html.markup("<span class=\"tag rewound\">rewound</span>");
    }
    if headed {
        header(context, entry, &role, html);
    }
}

fn header(context: &Context<'_>, entry: &Entry, role: &Role, html: &mut Html) {
    html.markup("<header class=\"role\"><span class=\"who\"><i class=\"icon i-").markup(role_class(role));
    html.markup("\"></i>").text(&role.label());
    if let Block::Prompt(Prompt { author: Author::Peer { name }, .. }) = &entry.block {
        html.markup(" ").text(&one_line(&name.as_str(), 60));
    }
    html.markup("</span>");
    if let Some(at) = entry.at {
        html.markup("<time datetime=\"").text(&at.iso_millis()).markup("\">");
        html.text(&clock(at, context.options.offset_s)).markup("</time>");
    }
    html.markup("</header>");
}

fn prompt_body(context: &Context<'_>, prompt: &Prompt, html: &mut Html) {
    if prompt.queued {
        html.markup("<span class=\"tag\">queued</span>");
    }
    if prompt.steered {
        html.markup("<span class=\"tag\">sent while it worked</span>");
    }
    let text = prompt.text.as_str();
    match prompt.author {
        _ if text.trim().is_empty() => {}
        Author::Person => person_words(context, &text, html),
        Author::Peer { .. } => prose(context, &text, html),
        Author::Caller | Author::Machine => {
            html.markup("<details class=\"quiet\"><summary>")
                .text(&one_line(&text, 140))
                .markup("</summary>");
            prose(context, &text, html);
            html.markup("</details>");
        }
    }
    for one in &prompt.attachments {
        attachment(one, context.options.limits.image_bytes, html);
    }
}

/// A person's words stand as they were typed: what was pasted need not be Markdown.
fn person_words(context: &Context<'_>, text: &str, html: &mut Html) {
    const VISIBLE_LINES: usize = 40;
    let limits = &context.options.limits;
    let clip = Clip::new(text.trim(), limits.prose_bytes, limits.lines);
    let words = |part: &str, html: &mut Html| {
        html.markup("<div class=\"words\">").text(part).markup("</div>");
    };
    folded(clip.head, VISIBLE_LINES, html, words);
    if let Some(missing) = clip.missing {
        cut(&missing.words(), html);
        words(clip.tail, html);
    }
}

fn reply_body(context: &Context<'_>, reply: &Reply, html: &mut Html) {
    prose(context, &reply.text.as_str(), html);
    if reply.streaming {
        html.markup("<span class=\"caret\" aria-label=\"being written\"></span>");
    }
    if reply.interrupted {
        html.markup("<span class=\"tag warn\">⚠ Interrupted</span>");
    }
}

fn thought_body(context: &Context<'_>, thought: &Thought, html: &mut Html) {
    let hidden = thought.redacted || thought.text.is_blank();
    html.markup(if hidden { "<div class=\"thought\">" } else { "<details class=\"thought\"><summary>" });
    html.markup("<i class=\"icon i-brain\"></i>");
    match (thought.streaming, thought.duration_ms) {
        (true, _) => html.markup("Thinking"),
        (false, Some(ms)) => html.markup("Thought for ").text(&duration(ms)),
        (false, None) => html.markup("Thought"),
    };
    if thought.interrupted {
        html.markup(" <span class=\"tag warn\">⚠ Interrupted</span>");
    }
    if hidden {
        html.markup(if thought.redacted { " · kept by the provider</div>" } else { "</div>" });
        return;
    }
    html.markup("</summary>");
    prose(context, &thought.text.as_str(), html);
    html.markup("</details>");
}

fn notice_body(context: &Context<'_>, notice: &Notice, html: &mut Html) {
    let text = notice.text.as_str();
    match &notice.kind {
        NoticeKind::Interrupted => {
            html.markup("<div class=\"mark interrupted\">⚠ Interrupted");
            let words = one_line(stop_words(&text), 120);
            html.text(if words.is_empty() { "" } else { " · " }).text(&words);
            html.markup("</div>");
        }
        NoticeKind::Compaction { before, after } => {
            html.markup("<div class=\"mark\">").text(&compaction(*before, *after)).markup("</div>");
            toggled_prose(context, "Summary", &text, html);
        }
        NoticeKind::Command { command } => {
            html.markup("<div class=\"command\"><code>").text(&command.as_str()).markup("</code>");
            if !text.trim().is_empty() {
                folded(&text, 6, html, |part, html| terminal(context, part, html));
            }
            html.markup("</div>");
        }
        NoticeKind::Diff => working_tree(context, &text, html),
        NoticeKind::Result => {
            html.markup("<div class=\"label\">Result</div>");
            prose(context, &text, html);
        }
        NoticeKind::Error => remark("<div class=\"remark bad\">", "! ", &text, html),
        NoticeKind::Warning => remark("<div class=\"remark warn\">", "⚠ ", &text, html),
        NoticeKind::Retry => remark("<div class=\"remark\">", "↻ ", &text, html),
        NoticeKind::Info => remark("<div class=\"remark\">", "", &text, html),
        NoticeKind::Task => remark("<div class=\"remark\">", "Task · ", &text, html),
        NoticeKind::Hook { name } => {
            remark("<div class=\"remark\">", &format!("Hook {} · ", name.as_str()), &text, html)
        }
        NoticeKind::Status { name } => {
            remark("<div class=\"remark faint\">", &format!("{} · ", Role::named(name).label()), &text, html);
        }
    }
}

fn toggled_prose(context: &Context<'_>, title: &'static str, text: &str, html: &mut Html) {
    if !text.trim().is_empty() {
        html.markup("<details class=\"quiet\"><summary>").markup(title).markup("</summary>");
        prose(context, text, html);
        html.markup("</details>");
    }
}

/// A remark is a line; what does not fit is behind a toggle.
fn remark(markup: &'static str, prefix: &str, text: &str, html: &mut Html) {
    const LINE: usize = 300;
    let text = text.trim();
    let line = one_line(text, LINE);
    html.markup(markup);
    if line == text {
        html.text(prefix.trim_end_matches(if text.is_empty() { " · " } else { "" }))
            .text(text)
            .markup("</div>");
        return;
    }
    html.markup("<details><summary>").text(prefix).text(&line).markup("</summary><div class=\"words\">");
    let clip = Clip::new(text, 16 << 10, 400);
    html.text(clip.head);
    if let Some(missing) = clip.missing {
        cut(&missing.words(), html);
        html.text(clip.tail);
    }
    html.markup("</div></details></div>");
}

fn working_tree(context: &Context<'_>, text: &str, html: &mut Html) {
    html.markup("<details class=\"card\"><summary class=\"head\"><span class=\"state\"></span>");
    html.markup("<span class=\"name\"><i class=\"icon i-edit\"></i>Working tree</span><span class=\"arg\">");
    let mut files: Vec<FileDiff> =
        patch::files(text).iter().map(|file| FileDiff::of_patch(file, None)).collect();
    files.iter_mut().for_each(|file| file.shorten(context.options.limits.lines));
    html.text(&plural(files.len() as u64, "file")).markup("</span>");
    card_html::facts(&change_facts(&files), html);
    html.markup("</summary>");
    card_html::diffs(&files, false, html);
    html.markup("</details>");
}

/// What nobody understands is shown under its own name, with every byte behind a toggle.
fn unknown_body(context: &Context<'_>, unknown: &Unknown, html: &mut Html) {
    let role = Role::Other(unknown.kind.to_string());
    html.markup("<details class=\"unknown\"><summary><i class=\"icon i-other\"></i>")
        .text(&one_line(&role.label(), 80));
    html.markup("</summary><pre>").text(&indented(&unknown.raw, context.options.limits.bytes));
    html.markup("</pre></details>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{Limits, Options, Outline};
    use crate::sample::{done, ended, entry as sample_entry, notice, prompt, reply, thought, tool};
    use parlor_model::block::{Attachment, Source};
    use parlor_model::event::Ask;
    use parlor_model::session::Session;
    use parlor_model::tool::{Output, Piece, Tool, ToolState, Totals};
    use serde_json::json;

    fn html_with(entries: &[Entry], options: &Options) -> String {
        let (session, outline) = (Session::default(), Outline::of(entries));
        let context = Context { session: &session, entries, outline: &outline, options };
        let mut html = Html::default();
        outline.roots().for_each(|index| entry(&context, index, &mut html));
        html.into_string()
    }

    /// Every element that opens closes, in order.
    fn assert_balanced(html: &str) {
        let mut open: Vec<&str> = Vec::new();
        for tag in html.split('<').skip(1) {
            let name = tag.split(|c: char| !c.is_ascii_alphanumeric() && c != '/').next().unwrap();
            match name.strip_prefix('/') {
                Some(name) => assert_eq!(open.pop(), Some(name), "{tag}"),
                None if matches!(name, "img" | "input" | "br" | "hr") => {}
                None => open.push(name),
            }
        }
        assert!(open.is_empty(), "{open:?}");
    }

    fn html_of(entries: &[Entry]) -> String {
        html_with(entries, &Options::default())
    }

    #[test]
    fn a_prompt_and_a_command_in_full() {
        let mut call = done("c", "Bash", json!({"command": "ls <dir>"}), "a\nb & c\n");
        call.opens = false;
        assert_eq!(
            html_of(&[prompt("p", "List <it>", Author::Person), call]),
            "<article class=\"entry user opens\" id=\"e-p\"><header class=\"role\"><span class=\"who\">\
             <i class=\"icon i-user\"></i>User</span><time datetime=\"2026-11-15T14:02:00.000Z\">14:02</time></header>\
             <div class=\"words\">List &lt;it&gt;</div></article>\n\
             <article class=\"entry assistant\" id=\"e-c\"><details class=\"card success\"><summary class=\"head\">\
             <span class=\"state\" role=\"img\" aria-label=\"Done\"></span>\
             <span class=\"name\" title=\"Tool Call · Bash\"><i class=\"icon i-run\"></i>Bash</span>\
             <code class=\"arg whole\">ls &lt;dir&gt;</code><span class=\"facts\"></span>\
             <span class=\"peek\"><span>b &amp; c</span><small>+1 line</small></span></summary>\
             <section class=\"result\"><div class=\"label\"><i class=\"icon i-tool-result\"></i>Tool Result</div>\
             <pre>a\nb &amp; c</pre></section></details></article>\n"
        );
    }

    #[test]
    fn each_role_has_its_class_label_and_icon() {
        let orphan = Tool { orphan: true, output: Some(Box::new(Output::text("x"))), ..Tool::default() };
        for (entry, class, label) in [
            (prompt("x", "a", Author::Person), "user", "User"),
            (reply("x", "a"), "assistant", "Assistant"),
            (prompt("x", "a", Author::Machine), "other", "System"),
            (prompt("x", "a", Author::Peer { name: "Codex".into() }), "other", "Agent Codex"),
            (sample_entry("x", Block::Tool(Box::new(orphan))), "tool-result", "Tool Result"),
        ] {
            let html = html_of(&[entry]);
            assert!(html.starts_with(&format!("<article class=\"entry {class} opens\"")), "{html}");
            assert!(html.contains(&format!("<i class=\"icon i-{class}\"></i>{label}</span>")), "{html}");
        }
        let html = html_of(&[tool("x", "Bash", json!({"command": "ls"}))]);
        assert!(html.contains("title=\"Tool Call · Bash\""), "{html}");
    }

    #[test]
    fn the_contents_of_files_are_hidden_unless_wanted() {
        let entries = [
            done("a", "Read", json!({"file_path": "a.rs"}), "SECRET"),
            done("b", "Grep", json!({"pattern": "x"}), "SECRET"),
            done("c", "Glob", json!({"pattern": "x"}), "SECRET"),
        ];
        assert!(!html_of(&entries).contains("SECRET"));
        let shown = html_with(&entries, &Options { file_contents: true, ..Options::default() });
        assert_eq!(shown.matches("SECRET").count(), 3);
        let failed =
            ended("a", "Read", json!({"file_path": "a.rs"}), ToolState::Failed, Output::text("no such file"));
        assert!(html_of(&[failed]).contains("no such file"));
    }

    #[test]
    fn a_run_of_reads_and_searches_is_one_card_with_each_file_once() {
        let mut entries = vec![
            done("a", "Read", json!({"file_path": "one.rs"}), "x"),
            done("b", "Read", json!({"file_path": "two.rs"}), "x"),
            done("c", "Read", json!({"file_path": "one.rs"}), "x"),
            done("d", "Grep", json!({"pattern": "budget"}), "x"),
        ];
        entries.iter_mut().for_each(|entry| entry.group = Some("a".into()));
        let html = html_of(&entries);
        assert_eq!(html.matches("<article").count(), 1);
        assert!(html.contains(">Explored</span><span class=\"arg\">2 files, 1 search</span>"), "{html}");
        assert_eq!(html.matches("one.rs").count(), 1);
        for id in ["a", "b", "c", "d"] {
            assert_eq!(html.matches(&format!("id=\"e-{id}\"")).count(), 1, "{id}");
        }
    }

    #[test]
    fn a_run_says_why_a_read_failed_and_still_asks() {
        let failed = ended(
            "b",
            "Read",
            json!({"file_path": "two.rs"}),
            ToolState::Failed,
            Output::text("no such file"),
        );
        let mut entries = vec![
            done("a", "Read", json!({"file_path": "one.rs"}), "x"),
            failed,
            tool("c", "Read", json!({"file_path": "/etc/x"})),
        ];
        if let Block::Tool(tool) = &mut entries[2].block {
            tool.ask = Some(Ask { id: "q".into(), reason: None, options: Vec::new() });
        }
        entries.iter_mut().for_each(|entry| entry.group = Some("a".into()));
        let html = html_of(&entries);
        assert!(
            html.contains("<li id=\"e-b\" class=\"error\">two.rs <small>no such file</small></li>"),
            "{html}"
        );
        assert!(html.contains("data-ask=\"q\""), "{html}");
        assert!(html.contains("<details class=\"card pending\" open>"), "{html}");
    }

    #[test]
    fn a_subagent_shows_its_last_three_calls_its_answer_and_its_totals() {
        let totals = Some(Totals { tools: Some(5), ..Totals::default() });
        let output = Output { totals, duration_ms: Some(52_000), ..Output::text("One **gap**.") };
        let mut entries = vec![ended(
            "t",
            "Task",
            json!({"description": "Review", "prompt": "Look"}),
            ToolState::Done,
            output,
        )];
        entries.extend(
            (1..=5).map(|n| done(&format!("n{n}"), "Bash", json!({"command": format!("step {n}")}), "x")),
        );
        entries.iter_mut().skip(1).for_each(|entry| entry.parent = Some("t".into()));
        let html = html_of(&entries);
        let lines: Vec<&str> = html.split("<div class=\"line success\">").skip(1).collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("<b>Bash</b> step 3</div>"), "{}", lines[0]);
        assert!(html.contains("<summary>5 steps</summary>") && html.contains("id=\"e-n1\""));
        assert!(html.contains("One <strong>gap</strong>."));
        assert!(html.contains("<footer>5 tools · 52 s</footer>"));
    }

    #[test]
    fn long_things_keep_head_and_tail_and_say_what_is_missing() {
        let long: String = (0..9_000).map(|n| format!("line {n}\n")).collect();
        for entry in [
            done("x", "Bash", json!({"command": "x"}), &long),
            done("x", "Frobnicate", json!({}), &long),
            prompt("x", &long, Author::Person),
            notice("x", NoticeKind::Command { command: "/x".into() }, &long),
        ] {
            let html = html_of(&[entry]);
            assert!(html.contains("lines not shown") && html.len() < 100_000, "{}", html.len());
            assert!(html.contains("line 8999"));
        }
        let written = html_of(&[done("x", "Write", json!({"file_path": "a", "content": long}), "ok")]);
        assert!(written.contains("lines not shown") && written.len() < 100_000);
        let whole = Options { limits: Limits::none(), ..Options::default() };
        let html = html_with(&[done("x", "Bash", json!({"command": "x"}), &long)], &whole);
        assert!(html.contains("line 4500\n") && !html.contains("not shown"));
    }

    #[test]
    fn a_new_file_shows_eight_lines_and_the_number_of_the_rest() {
        let content: String = (1..=100).map(|n| format!("row {n}\n")).collect();
        let html =
            html_of(&[done("x", "Write", json!({"file_path": "/p/notes.txt", "content": content}), "ok")]);
        assert!(html.contains("Wrote 100 lines to</span><span class=\"arg\">/p/notes.txt"));
        let (shown, rest) = html.split_once("<details class=\"rest\"><summary>+92 lines</summary>").unwrap();
        assert!(shown.ends_with("row 8</pre>") && rest.starts_with("<pre>row 9"));
    }

    #[test]
    fn thoughts_can_be_hidden_and_a_kept_one_is_a_line() {
        let entries = [
            thought("a", "Hm."),
            sample_entry("b", Block::Thought(Thought { redacted: true, ..Thought::default() })),
        ];
        let html = html_of(&entries);
        assert!(
            html.contains(
                "<details class=\"thought\"><summary><i class=\"icon i-brain\"></i>Thought</summary>"
            )
        );
        assert!(html.contains("Thought · kept by the provider</div>"));
        assert_eq!(html_with(&entries, &Options { thinking: false, ..Options::default() }), "");
    }

    #[test]
    fn what_nobody_understands_is_gray_named_and_whole() {
        let unknown = Unknown { kind: "marble".into(), raw: json!({"weight": 3}).into() };
        let html = html_of(&[sample_entry("u", Block::Unknown(unknown))]);
        assert!(html.starts_with("<article class=\"entry other\""), "{html}");
        assert!(html.contains("</i>Marble</summary><pre>{\n  &quot;weight&quot;: 3\n}</pre>"), "{html}");
    }

    #[test]
    fn rewound_entries_are_marked_once_a_run() {
        let mut entries = vec![reply("a", "x"), reply("b", "y"), reply("c", "z")];
        entries.iter_mut().for_each(|entry| entry.opens = false);
        (entries[1].overtaken, entries[2].overtaken) = (true, true);
        let html = html_of(&entries);
        assert_eq!(html.matches("overtaken\"").count(), 2);
        assert_eq!(html.matches(">rewound<").count(), 1);
    }

    #[test]
    fn an_ask_names_what_is_wanted_and_its_answers() {
        let ask = Ask {
            id: "q1".into(),
            reason: Some("Network".into()),
            options: vec!["Allow".into(), "Deny".into()],
        };
        let state = ToolState::Waiting;
        let tool =
            Tool { state, ask: Some(ask), ..Tool::call("Bash", json!({"command": "git push"}).into()) };
        let html = html_of(&[sample_entry("x", Block::Tool(Box::new(tool)))]);
        assert!(
            html.contains("data-ask=\"q1\"><b>Wants to use Bash</b> <code>git push</code><p>Network</p>"),
            "{html}"
        );
        assert!(html.contains("<li>Allow</li><li>Deny</li>"));
        assert!(html.contains("data-since=\"2026-11-15T14:02:00.000Z\""));
    }

    #[test]
    fn nothing_an_agent_writes_becomes_markup() {
        let bad = "\"'><script>alert(1)</script><img src=x onerror=y>";
        let input = json!({bad: bad, "command": bad, "file_path": bad, "content": bad, "pattern": bad, "url": bad,
            "query": bad, "description": bad, "prompt": bad, "old_string": bad, "new_string": "x", "to": bad,
            "todos": [{"content": bad}], "questions": [{"question": bad}]});
        let attachment =
            Attachment { media_type: bad.into(), name: Some(bad.into()), source: Source::Url(bad.into()) };
        let mut entries = Vec::new();
        for name in [
            "Bash",
            "Read",
            "Write",
            "Edit",
            "Grep",
            "Glob",
            "WebFetch",
            "WebSearch",
            "Task",
            "TodoWrite",
            "SendMessage",
            "AskUserQuestion",
            "mcp__a__b",
            bad,
        ] {
            let mut output = Output { files: vec![bad.into()], ..Output::text(bad) };
            output.parts.push(Piece::Attachment { attachment: attachment.clone() });
            output.parts.push(Piece::Other { raw: json!({bad: bad}).into() });
            for state in [ToolState::Done, ToolState::Failed] {
                let mut entry =
                    ended(&format!("{bad}{}", entries.len()), name, input.clone(), state, output.clone());
                if let Block::Tool(tool) = &mut entry.block {
                    tool.title = Some(bad.into());
                    tool.ask =
                        Some(Ask { id: bad.into(), reason: Some(bad.into()), options: vec![bad.into()] });
                }
                entries.push(entry);
            }
        }
        for kind in [
            NoticeKind::Info,
            NoticeKind::Error,
            NoticeKind::Diff,
            NoticeKind::Result,
            NoticeKind::Interrupted,
            NoticeKind::Command { command: bad.into() },
            NoticeKind::Hook { name: bad.into() },
            NoticeKind::Status { name: bad.into() },
            NoticeKind::Compaction { before: None, after: None },
        ] {
            entries.push(notice("n", kind, bad));
        }
        entries.push(prompt("p", bad, Author::Peer { name: bad.into() }));
        entries.extend([thought("t", bad), reply("r", bad), prompt("q", bad, Author::Machine)]);
        entries.push(sample_entry("u", Block::Unknown(Unknown { kind: bad.into(), raw: json!(bad).into() })));
        let html = html_of(&entries);
        assert_balanced(&html);
        assert!(html.contains("&lt;script&gt;"));
        for never in ["<script", "<img src=x", "\"'>", "'><"] {
            assert!(!html.contains(never), "{never}");
        }
    }
}
