//! Messages of the `session/messages` kind become elements, one per block: from the raw envelope to the profile and the
//! page.

use parlor_dialect::Format::Cdev;
use parlor_profile::Profile::{self, Elements};
use parlor_tests::Talk;
use serde_json::{Value, json};

const SESSION: &str = "0f8c1d2e-aaaa-4bbb-8ccc-1234567890ab";

/// One message in its envelope.
fn message(row: u64, role: &str, content: Value) -> String {
    let mut message = json!({"role": role, "content": content});
    if role == "assistant" {
        message["model"] = "claude-x".into();
    }
    json!({"id": 4_200 + row, "session_id": SESSION, "type": role, "uuid": format!("uuid-{row}"),
        "timestamp": format!("2026-02-03T04:05:{:02}.482Z", row), "git_branch": "feature/rose", "message": message})
    .to_string()
}

fn of(contents: &[(&str, Value)]) -> Talk {
    let lines: Vec<String> =
        (1..).zip(contents).map(|(row, (role, content))| message(row, role, content.clone())).collect();
    Talk::of(Cdev, &lines)
}

fn call(id: &str, name: &str, input: Value) -> Value {
    json!([{"type": "tool_use", "id": id, "name": name, "input": input}])
}

fn result(id: &str, text: &str, is_error: bool) -> Value {
    json!([{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error}])
}

#[test]
fn the_envelope_gives_the_session_its_facts_and_the_elements_their_names_and_times() {
    let talk = of(&[
        ("user", json!([{"type": "text", "text": "hi"}])),
        ("assistant", json!([{"type": "text", "text": "yo"}])),
    ]);
    let session = talk.session();
    assert_eq!(session.id.as_deref(), Some(SESSION));
    assert_eq!(session.branch.as_ref().map(ToString::to_string).as_deref(), Some("feature/rose"));
    assert_eq!(session.model.as_deref(), Some("claude-x"), "the model stands in the assistant's message");
    let elements = talk.told(Elements);
    assert_eq!(elements[0]["timestamp"], "2026-02-03T04:05:01.482Z");
    assert!(elements[0]["id"].as_str().unwrap().starts_with("uuid-1"));
    assert_eq!((&elements[0]["role"], &elements[1]["role"]), (&json!("user"), &json!("assistant")));
    let only_user = of(&[("user", json!([{"type": "text", "text": "hi"}]))]);
    assert_eq!(only_user.session().model, None);
    // Without a uuid the row's number names the message.
    let bare = json!({"id": 4_201, "session_id": SESSION, "type": "user", "message": {"role": "user", "content": "x"}});
    assert!(Talk::of(Cdev, &[bare.to_string()]).told(Elements)[0]["id"].as_str().unwrap().contains("4201"));
}

#[test]
fn the_type_and_the_role_of_a_block_decide_its_element() {
    for (role, block, kind) in [
        ("assistant", json!({"type": "text", "text": "words"}), "assistantText"),
        ("user", json!({"type": "text", "text": "words"}), "userInput"),
        ("assistant", json!({"type": "thinking", "thinking": "words", "signature": "c2ln"}), "thinking"),
        (
            "assistant",
            json!({"type": "tool_use", "id": "toolu_01A", "name": "Bash", "input": {"command": "ls"}}),
            "toolCall",
        ),
        (
            "user",
            json!({"type": "tool_result", "tool_use_id": "toolu_01A", "content": "x", "is_error": false}),
            "toolResult",
        ),
        (
            "assistant",
            json!({"type": "tool_use", "id": "toolu_01B", "name": "Edit",
                "input": {"file_path": "/a", "old_string": "x", "new_string": "y"}}),
            "editDiff",
        ),
        (
            "assistant",
            json!({"type": "tool_use", "id": "toolu_01C", "name": "Edit", "input": {"file_path": "/a", "new_string": "y"}}),
            "toolCall",
        ),
    ] {
        let talk = of(&[(role, json!([block]))]);
        assert_eq!(talk.types(Elements), [kind], "{block}");
        assert_eq!(talk.told(Elements)[0]["role"], *role);
    }
}

#[test]
fn one_message_gives_its_elements_in_block_order() {
    let content = json!([
        {"type": "thinking", "thinking": "a", "signature": "s"},
        {"type": "text", "text": "b"},
        {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "/a/b.rs", "offset": 1, "limit": 2}},
    ]);
    assert_eq!(of(&[("assistant", content)]).types(Elements), ["thinking", "assistantText", "toolCall"]);
}

#[test]
fn thinking_is_read_from_its_own_field_folds_under_a_brain_and_keeps_its_signature_to_itself() {
    let talk = of(&[(
        "assistant",
        json!([{"type": "thinking", "thinking": "the thought", "text": "not this", "signature": "c2lnbmF0dXJl"}]),
    )]);
    assert_eq!(talk.told(Elements)[0]["content"], json!({"text": "the thought"}));
    let html = talk.html();
    assert!(
        html.contains("<details class=\"thought\"><summary><i class=\"icon i-brain\"></i>Thought</summary>")
    );
    assert!(html.contains("the thought") && !html.contains("not this"));
    for profile in [Elements, Profile::Events, Profile::Bridge, Profile::Legion] {
        assert!(!format!("{:?}", talk.told(profile)).contains("c2lnbmF0dXJl"), "{}", profile.name());
    }
    for shown in [html, talk.text(), talk.markdown(), talk.terminal()] {
        assert!(!shown.contains("c2lnbmF0dXJl"));
    }
}

#[test]
fn calls_read_as_their_table_says_from_the_raw_message() {
    for (name, input, display) in [
        ("Bash", json!({"command": "ls -l", "description": "list"}), "Bash(ls -l)"),
        ("Read", json!({"file_path": "/a/b.rs", "offset": 1, "limit": 2}), "Read(/a/b.rs)"),
        ("Write", json!({"file_path": "/a/b.rs", "content": "x"}), "Write(/a/b.rs)"),
        ("Glob", json!({"pattern": "*.rs", "path": "/a"}), "Glob(pattern: \"*.rs\")"),
        ("Grep", json!({"pattern": "fn", "path": "/a"}), "Grep(pattern: \"fn\")"),
        ("TodoWrite", json!({"todos": []}), "TodoWrite(...)"),
    ] {
        let talk = of(&[("assistant", call("toolu_9", name, input.clone()))]);
        let content = &talk.told(Elements)[0]["content"];
        let expected = json!({"callId": "toolu_9", "tool": name, "display": display, "input": input});
        assert_eq!(*content, expected);
    }
}

#[test]
fn a_result_folds_shows_the_end_of_its_output_and_says_whether_it_failed() {
    let lines: String = (1..=30).map(|line| format!("line {line}\n")).collect();
    let html = |is_error| {
        of(&[
            ("assistant", call("toolu_1", "Bash", json!({"command": "x"}))),
            ("user", result("toolu_1", &lines, is_error)),
        ])
        .html()
    };
    let (good, bad) = (html(false), html(true));
    assert!(good.contains("<details class=\"card success\"><summary"), "closed, to be opened: {good}");
    assert!(
        good.contains("<span class=\"peek\"><span>line 30</span><small>+29 lines</small></span>"),
        "{good}"
    );
    assert!(good.contains("<section class=\"result\">") && good.contains("line 17"));
    assert!(
        bad.contains("<details class=\"card error\"><summary") && bad.contains("aria-label=\"Failed\""),
        "{bad}"
    );
    assert!(!good.contains("card error"));
    let talk = of(&[("user", result("toolu_1", "x", true))]);
    assert_eq!(talk.told(Elements)[0]["content"]["isError"], true);
}

#[test]
fn a_tool_run_is_five_elements_with_their_roles() {
    let talk = of(&[
        ("assistant", json!([{"type": "thinking", "thinking": "run the tests", "signature": "s"}])),
        ("assistant", call("toolu_1", "Bash", json!({"command": "go test ./...", "description": "tests"}))),
        ("user", result("toolu_1", "PASS", false)),
        ("assistant", json!([{"type": "thinking", "thinking": "they pass", "signature": "s"}])),
        ("assistant", json!([{"type": "text", "text": "All pass."}])),
    ]);
    let elements = talk.told(Elements);
    let told: Vec<(&str, &str)> = elements
        .iter()
        .map(|element| (element["type"].as_str().unwrap(), element["role"].as_str().unwrap()))
        .collect();
    assert_eq!(
        told,
        [
            ("thinking", "assistant"),
            ("toolCall", "assistant"),
            ("toolResult", "user"),
            ("thinking", "assistant"),
            ("assistantText", "assistant"),
        ]
    );
    assert_eq!(elements[2]["content"]["callId"], "toolu_1");
}

#[test]
fn events_without_a_role_are_elements_too() {
    let event = |name: &str, params: Value| {
        json!({"jsonrpc": "2.0", "method": format!("event/{name}"), "params": params}).to_string()
    };
    let compaction = json!({"id": 3, "session_id": SESSION, "type": "user", "uuid": "c", "is_context_compaction": true,
        "message": {"role": "user", "content": [{"type": "text", "text": "So far: roses."}]}});
    let talk = Talk::of(
        Cdev,
        &[
            event("git_diff", json!({"file": "a", "diff": "@@ -1 +1 @@\n-a\n+b"})),
            compaction.to_string(),
            event("interrupt", json!({"reason": "user_stop"})),
        ],
    );
    assert_eq!(talk.types(Elements), ["diff", "contextCompaction", "interrupted"], "and no userInput");
    assert!(talk.told(Elements).iter().all(|element| element.get("role").is_none()));
    assert_eq!(talk.told(Elements)[1]["content"]["summary"], "So far: roses.");
    let html = talk.html();
    assert!(
        html.contains("Working tree") && html.contains("Context compacted") && html.contains("⚠ Interrupted")
    );
    assert!(!html.contains("entry user"), "a compaction is nobody's prompt");
}

#[test]
fn an_edit_is_a_diff_with_its_header_its_counts_and_numbered_lines() {
    let input =
        json!({"file_path": "/long/way/to/file.go", "old_string": "a\nb\nc", "new_string": "a\nB\nB2\nc"});
    let talk = of(&[("assistant", call("toolu_1", "Edit", input))]);
    let content = &talk.told(Elements)[0]["content"];
    assert_eq!(content["header"], "● Update(.../file.go)");
    assert_eq!(content["summary"], "Added 2 lines, removed 1 line");
    let line = |line: &Value| {
        format!("{} {} {}", line["number"], line["sign"].as_str().unwrap(), line["text"].as_str().unwrap())
    };
    let lines: Vec<String> = content["lines"].as_array().unwrap().iter().map(line).collect();
    assert_eq!(lines, ["1   a", "2 - b", "2 + B", "3 + B2", "4   c"]);
    assert_eq!(content["numbers"], "snippet", "nobody knows the file's own numbers yet");
}

#[test]
fn caveats_are_not_shown_and_what_only_quotes_one_is() {
    let caveat =
        "Caveat: The messages below were generated by the user while running local commands. DO NOT respond.";
    let quote = format!("What does \"{caveat}\" mean?");
    let talk = of(&[
        ("user", json!(caveat)),
        ("user", json!([{"type": "text", "text": caveat}])),
        ("user", json!(quote)),
    ]);
    assert_eq!(talk.types(Elements), ["userInput"]);
    assert_eq!(talk.html().matches("<article").count(), 1);
    assert_eq!(talk.text().matches("[User]").count(), 1);
}
