//! Entries as HTML, as far as readers and style sheets rely on it.

use super::*;
use crate::context::{Limits, Options, Outline};
use crate::sample::{done, ended, entry as sample_entry, notice, prompt, reply, thought, tool};
use parlor_model::block::{Attachment, NoticeKind, Source};
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
fn a_message_of_another_agent_leads_to_its_session() {
    let mut message = prompt("x", "a", Author::Peer { name: "codex".into() });
    if let Block::Prompt(prompt) = &mut message.block {
        let session = "01a-b\"><script>".into();
        prompt.exchange = Some(Box::new(parlor_model::block::Exchange { id: "e".into(), session }));
    }
    let html = html_of(&[message]);
    assert!(html.contains("Agent <a href=\"#/s/01a-bscript\">codex</a></span>"), "{html}");
    assert!(html.starts_with("<article class=\"entry other opens\""), "it is no person's: {html}");
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
    let failed =
        ended("b", "Read", json!({"file_path": "two.rs"}), ToolState::Failed, Output::text("no such file"));
    let mut entries = vec![
        done("a", "Read", json!({"file_path": "one.rs"}), "x"),
        failed,
        tool("c", "Read", json!({"file_path": "/etc/x"})),
    ];
    if let Block::Tool(tool) = &mut entries[2].block {
        tool.ask = Some(Box::new(Ask { id: "q".into(), reason: None, options: Vec::new() }));
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
    let totals = Some(Box::new(Totals { tools: Some(5), ..Totals::default() }));
    let output = Output { totals, duration_ms: Some(52_000), ..Output::text("One **gap**.") };
    let mut entries =
        vec![ended("t", "Task", json!({"description": "Review", "prompt": "Look"}), ToolState::Done, output)];
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
    let html = html_of(&[done("x", "Write", json!({"file_path": "/p/notes.txt", "content": content}), "ok")]);
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
        html.contains("<details class=\"thought\"><summary><i class=\"icon i-brain\"></i>Thought</summary>")
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
    let ask =
        Ask { id: "q1".into(), reason: Some("Network".into()), options: vec!["Allow".into(), "Deny".into()] };
    let state = ToolState::Waiting;
    let tool =
        Tool { state, ask: Some(Box::new(ask)), ..Tool::call("Bash", json!({"command": "git push"}).into()) };
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
        output.parts.push(Piece::attachment(attachment.clone()));
        output.parts.push(Piece::Other { raw: json!({bad: bad}).into() });
        for state in [ToolState::Done, ToolState::Failed] {
            let mut entry =
                ended(&format!("{bad}{}", entries.len()), name, input.clone(), state, output.clone());
            if let Block::Tool(tool) = &mut entry.block {
                tool.title = Some(bad.into());
                tool.ask = Some(Box::new(Ask {
                    id: bad.into(),
                    reason: Some(bad.into()),
                    options: vec![bad.into()],
                }));
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
