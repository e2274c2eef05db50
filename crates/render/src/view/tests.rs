//! What each tool's call shows, row by row.

use super::*;
use crate::sample::{done, ended, tool, tool_of};
use parlor_model::time::Time;
use parlor_model::tool::Hunk;
use serde_json::json;

fn view(entry: &Entry) -> View {
    View::of(entry, tool_of(entry), Some("/p"), 2_000)
}

fn facts(view: &View) -> Vec<&str> {
    view.facts.iter().map(|fact| fact.text.as_str()).collect()
}

#[test]
fn every_tool_has_its_row() {
    let text = "one\ntwo\n";
    for (name, input, icon, verb, argument, result, open) in [
        ("Bash", json!({"command": "ls\ncd"}), "run", "Bash", "ls\ncd", Showing::Terminal, false),
        ("Read", json!({"file_path": "/p/a.rs"}), "read", "Read", "a.rs", Showing::Hidden, false),
        (
            "Grep",
            json!({"pattern": "x", "path": "/p/s"}),
            "search",
            "Grep",
            "\"x\" in s",
            Showing::Hidden,
            false,
        ),
        ("Glob", json!({"pattern": "*.rs"}), "search", "Glob", "*.rs", Showing::Hidden, false),
        ("LS", json!({"path": "/p/src"}), "search", "List", "src", Showing::Hidden, false),
        (
            "Write",
            json!({"file_path": "/p/a", "content": text}),
            "write",
            "Wrote 2 lines to",
            "a",
            Showing::Hidden,
            true,
        ),
        (
            "Edit",
            json!({"file_path": "/p/a", "old_string": "x", "new_string": "y"}),
            "edit",
            "Update",
            "a",
            Showing::Hidden,
            true,
        ),
        ("Edit", json!({"file_path": "/p/a"}), "tool", "Edit", "file_path: \"/p/a\"", Showing::Text, false),
        (
            "WebFetch",
            json!({"url": "https://e.org"}),
            "web",
            "WebFetch",
            "https://e.org",
            Showing::Text,
            false,
        ),
        ("WebSearch", json!({"query": "q"}), "web", "WebSearch", "q", Showing::Text, false),
        ("Task", json!({"description": "d", "prompt": "p"}), "agent", "Task", "d", Showing::Prose, true),
        (
            "TodoWrite",
            json!({"todos": [{"content": "a", "status": "completed"}, {"content": "b"}]}),
            "todo",
            "Todo",
            "1 of 2",
            Showing::Hidden,
            true,
        ),
        (
            "mcp__legion__send_comm",
            json!({"to_minion_name": "fred", "summary": "hi", "content": "c"}),
            "message",
            "Message",
            "to fred · hi",
            Showing::Prose,
            true,
        ),
        (
            "AskUserQuestion",
            json!({"questions": [{"question": "q?"}]}),
            "question",
            "Question",
            "1 question",
            Showing::Text,
            true,
        ),
        ("mcp__git__log", json!({"n": 3}), "mcp", "git - log (MCP)", "n: 3", Showing::Text, false),
        ("Frobnicate", json!({"n": 3}), "tool", "Frobnicate", "n: 3", Showing::Text, false),
    ] {
        let entry = done("t", name, input, text);
        let view = view(&entry);
        assert_eq!(
            (view.icon, &*view.verb, view.argument.as_str(), view.result, view.open),
            (icon, verb, argument, result, open)
        );
    }
}

#[test]
fn an_edit_is_told_by_the_tool_s_own_patch_or_by_its_strings() {
    let input = json!({"file_path": "/p/a", "old_string": "a\nb\n", "new_string": "a\nc\nd\n"});
    let told = view(&done("t", "Edit", input.clone(), "ok"));
    assert_eq!(facts(&told), ["+2", "−1"]);
    assert_eq!(told.change_summary().unwrap(), "Added 2 lines, removed 1 line");

    let hunks =
        vec![Hunk { old_start: 238, new_start: 238, lines: vec!["+x".into(), "+y".into(), "+z".into()] }];
    let patches = vec![FilePatch { path: "/p/a".into(), hunks, ..FilePatch::default() }];
    let told = view(&ended("t", "Edit", input, ToolState::Done, Output { patches, ..Output::default() }));
    assert_eq!(told.change_summary().unwrap(), "Added 3 lines");
    let Body::Diff(files) = &told.body else { panic!() };
    assert_eq!((files[0].path.as_str(), files[0].diff.lines[0].new), ("a", Some(238)));
}

#[test]
fn a_long_diff_says_how_much_is_missing_and_still_counts_all() {
    let new: String = (0..100).map(|n| format!("{n}\n")).collect();
    let entry = done("t", "Edit", json!({"file_path": "a", "old_string": "", "new_string": new}), "ok");
    let view = View::of(&entry, tool_of(&entry), None, 10);
    let Body::Diff(files) = &view.body else { panic!() };
    assert_eq!((files[0].diff.lines.len(), files[0].missing), (10, 90));
    assert_eq!(facts(&view), ["+100"]);
}

#[test]
fn what_fails_says_why_and_is_closed() {
    for (name, input) in [
        ("Read", json!({"file_path": "a"})),
        ("Edit", json!({"file_path": "a", "old_string": "x", "new_string": "y"})),
        ("Write", json!({"file_path": "a", "content": "x"})),
    ] {
        let view = view(&ended("t", name, input, ToolState::Failed, Output::text("no such file")));
        assert_eq!((view.result, view.open), (Showing::Text, false), "{name}");
    }
}

#[test]
fn states_and_properties_combine() {
    let states = [
        (ToolState::Pending, "pending"),
        (ToolState::Waiting, "pending waiting"),
        (ToolState::Running, "pending running"),
        (ToolState::Done, "success"),
        (ToolState::Failed, "error"),
        (ToolState::Denied, "error denied"),
        (ToolState::Interrupted, "interrupted"),
    ];
    for (state, classes) in states {
        for truncated in [false, true] {
            for agent_callback in [false, true] {
                let output = Some(Box::new(Output { truncated, ..Output::default() }));
                let tool = Tool {
                    state,
                    output,
                    agent_callback,
                    ..Tool::call("Bash", json!({"command": "x"}).into())
                };
                let entry = crate::sample::entry("t", parlor_model::block::Block::Tool(Box::new(tool)));
                let flags = [(truncated, " truncated"), (agent_callback, " agent-callback")];
                let flags: String = flags.iter().filter(|(on, _)| *on).map(|(_, class)| *class).collect();
                assert_eq!(view(&entry).classes.join(" "), format!("{classes}{flags}"));
            }
        }
    }
}

#[test]
fn facts_are_few_and_in_order() {
    let output =
        Output { exit_code: Some(101), truncated: true, duration_ms: Some(8_400), ..Output::text("x") };
    let entry = ended("t", "Bash", json!({"command": "x"}), ToolState::Failed, output);
    assert_eq!(facts(&view(&entry)), ["exit 101", "⚠ truncated", "8.4 s"]);

    let output = Output { http_status: Some(404), bytes: Some(48_213), ..Output::text("x") };
    let entry = ended("t", "WebFetch", json!({"url": "https://e.org"}), ToolState::Done, output);
    assert_eq!(facts(&view(&entry)), ["404", "48 KB"]);

    let mut entry = tool("t", "Bash", json!({"command": "x"}));
    assert!(facts(&view(&entry)).is_empty());
    entry.ended = entry.at.map(|at| Time(at.0 + 31_000_000));
    assert_eq!(facts(&view(&entry)), ["31 s"]);
    entry.ended = Some(Time(i64::MIN));
    assert!(facts(&view(&entry)).is_empty());

    let entry = done("t", "Read", json!({"file_path": "a", "offset": 10, "limit": 5}), "x");
    assert_eq!(facts(&view(&entry)), ["lines 10–14"]);
}

#[test]
fn a_subagent_is_summed_up_by_its_own_account_first() {
    let totals = Some(Box::new(Totals {
        tools: Some(5),
        tokens: Some(18_200),
        duration_ms: Some(52_000),
        agent_id: None,
    }));
    let output = Output { totals, ..Output::default() };
    let entry = ended("t", "Task", json!({"description": "d"}), ToolState::Done, output);
    assert_eq!(totals_line(&entry, tool_of(&entry), 2), "5 tools · 18k tokens · 52 s");
    let entry = tool("t", "Task", json!({"description": "d"}));
    assert_eq!(totals_line(&entry, tool_of(&entry), 1), "1 tool");
}
