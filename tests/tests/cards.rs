//! How each tool's call is shown, from the agent's own record to the card in the page.

use parlor_dialect::Format::ClaudeSession;
use parlor_tests::Talk;
use serde_json::{Value, json};

/// A call and, where it has one, its result, with what the CLI knows of it.
fn lines(id: &str, name: &str, input: Value, result: Option<(&str, bool, Value)>) -> Vec<String> {
    let record = |kind: &str, second: u32, message: Value| {
        json!({"type": kind, "uuid": format!("{id}-{kind}"), "parentUuid": null, "isSidechain": false, "sessionId": "s", "cwd": "/w",
            "timestamp": format!("2026-01-02T03:04:{second:02}.000Z"), "message": message})
    };
    let call = json!([{"type": "tool_use", "id": id, "name": name, "input": input}]);
    let mut lines = vec![
        record("assistant", 5, json!({"id": format!("m-{id}"), "role": "assistant", "content": call}))
            .to_string(),
    ];
    if let Some((text, is_error, facts)) = result {
        let content =
            json!([{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error}]);
        let mut line = record("user", 17, json!({"role": "user", "content": content}));
        line["toolUseResult"] = facts;
        lines.push(line.to_string());
    }
    lines
}

fn card(name: &str, input: Value, result: Option<(&str, bool, Value)>) -> String {
    Talk::of(ClaudeSession, &lines("toolu_1", name, input, result)).html()
}

fn has(html: &str, parts: &[&str]) {
    for part in parts {
        assert!(html.contains(part), "{part} in\n{html}");
    }
}

fn lacks(html: &str, parts: &[&str]) {
    for part in parts {
        assert!(!html.contains(part), "{part} in\n{html}");
    }
}

const CLOSED: &str = "<details class=\"card success\"><summary";
const OPEN: &str = "<details class=\"card success\" open><summary";

#[test]
fn a_command_is_visible_its_result_folded_and_its_time_shown() {
    let html = card(
        "Bash",
        json!({"command": "make\n  all"}),
        Some(("compiling\nlinking\nbuilt", false, json!({}))),
    );
    has(
        &html,
        &[
            CLOSED,
            "<code class=\"arg whole\">make\n  all</code>",
            "i-run",
            "Bash</span>",
            "<span>12 s</span>",
        ],
    );
    let (head, rest) = html.split_once("</summary>").unwrap();
    assert!(!head.contains("compiling") && rest.contains("compiling"));
    let open = card("Bash", json!({"command": "make"}), None);
    has(&open, &["data-since=\"2026-01-02T03:04:05.000Z\""]);
}

#[test]
fn an_edit_is_a_diff_in_two_colours_with_numbers_and_counts() {
    let input = json!({"file_path": "/w/a.go", "old_string": "one\ntwo", "new_string": "one\nTWO\nthree"});
    let html = card("Edit", input.clone(), None);
    has(
        &html,
        &[
            "class=\"plus\">+2<",
            "class=\"minus\">−1<",
            "<div class=\"del\"><i>2</i>",
            "<div class=\"add\"><i></i><i>2</i>",
        ],
    );
    assert!(html.find("class=\"del\"").unwrap() < html.find("class=\"add\"").unwrap());
    let patch = json!({"filePath": "/w/a.go", "structuredPatch": [{"oldStart": 237, "oldLines": 2, "newStart": 237, "newLines": 3,
        "lines": [" one", "-two", "+TWO", "+three"]}]});
    let told = card("Edit", input, Some(("done", false, patch)));
    has(&told, &[OPEN, "<div class=\"del\"><i>238</i>", "Update</span>", "class=\"plus\">+2<"]);
    let css = parlor_render::page::STYLE;
    has(css, &[".diff .add { background: var(--add); }", ".diff .del { background: var(--del); }"]);
}

#[test]
fn a_written_file_says_its_lines_and_shows_the_first_eight() {
    let content: String = (1..=20).map(|line| format!("row{line}\n")).collect();
    let html = card(
        "Write",
        json!({"file_path": "/w/notes.txt", "content": content}),
        Some(("ok", false, json!({}))),
    );
    has(
        &html,
        &["Wrote 20 lines to</span><span class=\"arg\">notes.txt</span>", "<summary>+12 lines</summary>"],
    );
    let (first, rest) = html.split_once("<details class=\"rest\">").unwrap();
    assert!(
        first.contains("row8") && !first.contains("row9") && rest.contains("row9") && rest.contains("row20")
    );
    has(parlor_render::page::STYLE, &[".preview:has(.rest:not([open])) > pre { mask: linear-gradient("]);
    let short =
        card("Write", json!({"file_path": "/w/a", "content": "1\n2\n"}), Some(("ok", false, json!({}))));
    lacks(&short, &["class=\"rest\""]);
    has(&short, &["Wrote 2 lines to"]);
}

#[test]
fn reads_and_searches_are_one_list_of_names_without_contents() {
    let mut all =
        lines("t1", "Read", json!({"file_path": "/w/src/a.rs"}), Some(("secret words", false, json!({}))));
    all.extend(lines(
        "t2",
        "Grep",
        json!({"pattern": "fn main", "path": "/w"}),
        Some(("src/b.rs: fn main()", false, json!({}))),
    ));
    all.extend(lines("t3", "Glob", json!({"pattern": "*.toml"}), Some(("/w/Cargo.toml", false, json!({})))));
    all.extend(lines(
        "t4",
        "Read",
        json!({"file_path": "/w/src/a.rs"}),
        Some(("secret words", false, json!({}))),
    ));
    let talk = Talk::of(ClaudeSession, &all);
    let html = talk.html();
    assert_eq!(html.matches("<details class=\"card").count(), 1, "{html}");
    has(
        &html,
        &["Explored</span><span class=\"arg\">1 file, 2 searches</span>", "src/a.rs", "fn main", "*.toml"],
    );
    lacks(&html, &["secret words", "fn main()"]);
    assert_eq!(html.matches(">src/a.rs<").count(), 1, "a file is named once: {html}");
    lacks(
        &card("Read", json!({"file_path": "/w/x"}), Some(("secret words", false, json!({})))),
        &["secret words"],
    );
    has(
        &card("Read", json!({"file_path": "/w/x"}), Some(("no such file", true, json!({})))),
        &["no such file"],
    );
}

#[test]
fn a_task_shows_the_last_three_calls_and_its_totals() {
    let mut all = lines(
        "task",
        "Task",
        json!({"description": "Look around", "prompt": "Please look.", "subagent_type": "Explore"}),
        None,
    );
    let side = |n: u32, parent: Option<String>, kind: &str, message: Value| {
        json!({"type": kind, "uuid": format!("s{n}"), "parentUuid": parent, "isSidechain": true, "sessionId": "s",
            "timestamp": format!("2026-01-02T03:04:{:02}.000Z", 6 + n), "message": message})
        .to_string()
    };
    all.push(side(0, None, "user", json!({"role": "user", "content": "Please look."})));
    for n in 1..=5 {
        let call = json!([{"type": "tool_use", "id": format!("c{n}"), "name": "Bash", "input": {"command": format!("step-{n}")}}]);
        let parent = Some(format!("s{}", n - 1));
        all.push(side(
            n,
            parent,
            "assistant",
            json!({"id": format!("sm{n}"), "role": "assistant", "content": call}),
        ));
    }
    all.push(lines("task", "Task", json!({}), Some(("Found it.", false, json!({})))).remove(1));
    let talk = Talk::of(ClaudeSession, &all);
    let html = talk.html();
    let shown: Vec<&str> =
        html.split("<div class=\"line ").skip(1).map(|line| line.split("</div>").next().unwrap()).collect();
    assert_eq!(shown.len(), 3, "{html}");
    for (line, n) in shown.iter().zip(3..) {
        assert!(line.contains(&format!("step-{n}")), "{line}");
    }
    has(
        &html,
        &["<div class=\"nested\">", "<footer>5 tools · 12 s</footer>", "Found it.", "Look around", "Explore"],
    );
    assert_eq!(talk.pieces().len(), 1, "a subagent's work is never in the main conversation");
}

#[test]
fn a_fetch_is_a_link_with_size_and_status() {
    let facts = json!({"bytes": 20_480, "code": 200, "codeText": "OK", "result": "text", "durationMs": 900, "url": "https://example.org/a"});
    let html = card(
        "WebFetch",
        json!({"url": "https://example.org/a", "prompt": "what?"}),
        Some(("text", false, facts)),
    );
    has(
        &html,
        &["href=\"https://example.org/a\"", "<span>200</span>", "<span>20 KB</span>", "WebFetch</span>"],
    );
    lacks(&card("WebFetch", json!({"url": "javascript:alert(1)"}), None), &["href=\"javascript"]);
}

#[test]
fn a_web_search_shows_its_query_and_folds_its_results() {
    let html = card("WebSearch", json!({"query": "rust roses"}), Some(("1. rosarium", false, json!({}))));
    has(&html, &[CLOSED, "WebSearch</span><span class=\"arg\">rust roses</span>"]);
    let (head, rest) = html.split_once("</summary>").unwrap();
    assert!(!head.contains("rosarium") && rest.contains("rosarium"));
}

#[test]
fn a_server_s_tool_has_its_title_its_parameters_and_a_folded_result() {
    let html = card(
        "mcp__github__list_issues",
        json!({"repo": "rose", "limit": 3}),
        Some(("ten issues", false, json!({}))),
    );
    has(&html, &[CLOSED, "github - list_issues (MCP)</span>", "repo: &quot;rose&quot;, limit: 3"]);
    let (head, rest) = html.split_once("</summary>").unwrap();
    assert!(!head.contains("ten issues") && rest.contains("ten issues"));
}

#[test]
fn a_to_do_list_is_a_checklist() {
    let todos = json!([{"content": "dig", "status": "completed"}, {"content": "plant", "status": "in_progress"}, {"content": "water", "status": "pending"}]);
    let html = card("TodoWrite", json!({"todos": todos}), Some(("ok", false, json!({}))));
    has(
        &html,
        &[
            OPEN,
            "<li class=\"done\"><b>☑</b> dig</li>",
            "<li class=\"active\"><b>▸</b> plant</li>",
            "<li><b>☐</b> water</li>",
            "1 of 3",
        ],
    );
}

#[test]
fn a_message_to_another_agent_shows_whom_to_and_its_words() {
    let input = json!({"to_minion_name": "fred", "summary": "Q1", "content": "Any **news**?", "comm_type": "question"});
    let html = card("mcp__legion__send_comm", input, Some(("sent", false, json!({}))));
    has(&html, &["to fred · Q1", "<strong>news</strong>", "agent-callback"]);
}

#[test]
fn every_named_tool_has_a_card_of_its_own_and_any_other_a_plain_one() {
    for (name, input, icon) in [
        ("Read", json!({"file_path": "/w/a"}), "i-read"),
        ("Edit", json!({"file_path": "/w/a", "old_string": "x", "new_string": "y"}), "i-edit"),
        ("Write", json!({"file_path": "/w/a", "content": "x"}), "i-write"),
        ("Bash", json!({"command": "ls"}), "i-run"),
        ("TodoWrite", json!({"todos": []}), "i-todo"),
        ("Grep", json!({"pattern": "x"}), "i-search"),
        ("Glob", json!({"pattern": "x"}), "i-search"),
        ("WebFetch", json!({"url": "https://a.b"}), "i-web"),
        ("Task", json!({"description": "d", "prompt": "p"}), "i-agent"),
        ("mcp__legion__send_comm", json!({"to_minion_name": "fred", "content": "c"}), "i-message"),
        ("Telescope", json!({"star": "Vega"}), "i-tool\""),
    ] {
        has(&card(name, input, None), &[&format!("icon {icon}"), &format!("title=\"Tool Call · {name}\"")]);
    }
    let other =
        card("Telescope", json!({"star": "Vega", "lens": {"mm": 80}}), Some(("seen", false, json!({}))));
    has(&other, &["Telescope</span>", "star: &quot;Vega&quot;", "seen", "&quot;mm&quot;: 80"]);
}

#[test]
fn calls_in_a_row_stand_in_one_bubble() {
    let mut all = lines("t1", "Bash", json!({"command": "a"}), Some(("x", false, json!({}))));
    all.extend(lines("t2", "Bash", json!({"command": "b"}), Some(("y", false, json!({})))));
    all.extend(lines("t3", "WebSearch", json!({"query": "q"}), None));
    let talk = Talk::of(ClaudeSession, &all);
    assert_eq!(talk.html().matches("<header class=\"role\">").count(), 1);
    assert_eq!(talk.entries().iter().filter(|entry| entry.opens).count(), 1);
}

#[test]
fn every_state_of_a_call_has_its_class_and_its_mark() {
    let css = parlor_render::page::STYLE;
    let rejected = json!("Error: x");
    for (result, class) in [
        (None, "pending"),
        (Some(("ok", false, json!({}))), "success"),
        (Some(("bad", true, rejected)), "error"),
        (Some(("[Request interrupted by user for tool use]", true, json!({}))), "interrupted"),
        (Some(("<persisted-output>x</persisted-output>", false, json!({}))), "success truncated"),
    ] {
        has(&card("Bash", json!({"command": "x"}), result), &[&format!("class=\"card {class}\"")]);
    }
    let both = card(
        "mcp__legion__send_comm",
        json!({"to_minion_name": "f", "content": "c"}),
        Some(("<persisted-output>x</persisted-output>", false, json!({}))),
    );
    has(&both, &["class=\"card success truncated agent-callback\"", "⚠ truncated"]);
    let cut = card(
        "Bash",
        json!({"command": "x"}),
        Some(("[Request interrupted by user for tool use]", true, json!({}))),
    );
    has(&cut, &["⚠ Interrupted", "aria-label=\"Interrupted\""]);
    has(
        css,
        &[
            ".card.pending { border-color: var(--faint); animation: pulse-border",
            "@keyframes pulse-border",
            ".success > .head > .state::before { content: \"✓\"; color: var(--assistant); }",
            ".error > .head > .state::before { content: \"!\"; color: var(--bad); }",
            ".card.interrupted { border: 1px dashed var(--warn);",
            ".card.agent-callback { border-color: color-mix(in srgb, var(--gold)",
        ],
    );
}
