//! Traps that programs of this kind fall into, where no other suite has them: each is a small conversation that looks like
//! something it is not.

use parlor_dialect::Format::{self, ClaudeSession, ClaudeStream, CodexExec, PiSession};
use parlor_model::block::Block;
use parlor_model::session::Phase;
use parlor_model::tool::ToolState;
use parlor_profile::Profile;
use parlor_tests::Talk;
use serde_json::{Value, json};

fn claude(kind: &str, message: Value) -> String {
    json!({"type": kind, "uuid": format!("u-{kind}-{}", message.to_string().len()), "parentUuid": null, "isSidechain": false,
        "sessionId": "s", "cwd": "/w", "timestamp": "2026-01-02T03:04:05.000Z", "message": message})
    .to_string()
}

fn call(id: &str, name: &str, input: Value) -> String {
    let content = json!([{"type": "tool_use", "id": id, "name": name, "input": input}]);
    claude("assistant", json!({"id": format!("m-{id}"), "role": "assistant", "content": content}))
}

fn result(id: &str, text: &str, is_error: bool) -> String {
    let content = json!([{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error}]);
    claude("user", json!({"role": "user", "content": content}))
}

#[test]
fn words_of_failure_in_an_output_fail_nothing_and_words_of_success_save_nothing() {
    let alarming =
        "error: could not compile\nFAILED\nTraceback (most recent call last)\nfatal: exit status 1";
    let talk = Talk::of(
        ClaudeSession,
        &[
            call("t1", "Bash", json!({"command": "cat old.log"})),
            result("t1", alarming, false),
            call("t2", "Bash", json!({"command": "make"})),
            result("t2", "Success. 0 errors, all tests passed", true),
        ],
    );
    assert_eq!((talk.tool("t1").state, talk.tool("t2").state), (ToolState::Done, ToolState::Failed));
    assert!(talk.html().contains("card success") && talk.html().contains("card error"));
    let item = json!({"id": "c1", "type": "command_execution", "command": "cat old.log", "aggregated_output": alarming, "exit_code": 0, "status": "completed"});
    let codex = Talk::of(CodexExec, &[json!({"type": "item.completed", "item": item}).to_string()]);
    assert_eq!(states(&codex), [ToolState::Done]);
    let pi = Talk::of(
        PiSession,
        &[
            json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-02T03:04:05.000Z", "cwd": "/w"}),
            json!({"type": "message", "id": "a", "parentId": null, "timestamp": "2026-01-02T03:04:06.000Z", "message": {"role": "assistant", "content": [{"type": "toolCall", "id": "p1", "name": "bash", "arguments": {"command": "cat old.log"}}]}}),
            json!({"type": "message", "id": "b", "parentId": "a", "timestamp": "2026-01-02T03:04:07.000Z", "message": {"role": "toolResult", "toolCallId": "p1", "toolName": "bash", "content": [{"type": "text", "text": alarming}], "isError": false}}),
        ]
        .map(|line| line.to_string()),
    );
    assert_eq!(states(&pi), [ToolState::Done]);
}

fn states(talk: &Talk) -> Vec<ToolState> {
    let state = |block: &Block| match block {
        Block::Tool(tool) => Some(tool.state),
        _ => None,
    };
    talk.entries().iter().filter_map(|entry| state(&entry.block)).collect()
}

#[test]
fn a_command_in_the_background_is_a_command_and_no_subagent() {
    let system = |subtype: &str, more: Value| {
        let mut line = json!({"type": "system", "subtype": subtype, "session_id": "s", "task_id": "b1", "tool_use_id": "t1", "task_type": "local_bash"});
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line.to_string()
    };
    let said = |kind: &str, message: Value| {
        json!({"type": kind, "session_id": "s", "parent_tool_use_id": null, "message": message}).to_string()
    };
    let use_it = json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make serve", "run_in_background": true}}]);
    let done = json!([{"type": "tool_result", "tool_use_id": "t1", "content": "Command running in background with ID: b1", "is_error": false}]);
    let talk = Talk::of(
        ClaudeStream,
        &[
            said("user", json!({"role": "user", "content": "serve it"})),
            said("assistant", json!({"id": "m1", "role": "assistant", "content": use_it})),
            system("task_started", json!({"description": "make serve"})),
            said("user", json!({"role": "user", "content": done})),
            system("task_progress", json!({"description": "make serve"})),
            said("assistant", json!({"id": "m2", "role": "assistant", "content": [{"type": "text", "text": "It runs."}]})),
            json!({"type": "result", "subtype": "success", "is_error": false, "result": "It runs.", "session_id": "s"}).to_string(),
            system("task_notification", json!({"status": "completed", "summary": "make serve ended"})),
        ],
    );
    let html = talk.html();
    assert!(html.contains("Bash</span>") && html.contains("i-run"), "{html}");
    for part in ["i-agent", "nested", "agent-callback"] {
        assert!(!html.contains(part), "{part} in\n{html}");
    }
    assert_eq!(talk.entries().iter().filter(|entry| entry.parent.is_some()).count(), 0);
    assert_eq!(talk.entries().iter().filter(|entry| matches!(entry.block, Block::Tool(_))).count(), 1);
    assert_eq!(talk.session().phase, Phase::Idle, "its end is news, and starts nothing");
}

#[test]
fn a_system_record_that_nobody_knows_yet_is_nobody_s_message() {
    let strange = |format: Format| match format {
        ClaudeSession => {
            json!({"type": "system", "subtype": "brand_new", "uuid": "n", "parentUuid": null, "isSidechain": false, "sessionId": "s", "content": "internal words"})
        }
        _ => {
            json!({"type": "system", "subtype": "brand_new", "session_id": "s", "content": "internal words"})
        }
    };
    for format in [ClaudeSession, ClaudeStream] {
        let mut talk = Talk::of(
            format,
            &[claude("user", json!({"role": "user", "content": "hello"})), strange(format).to_string()],
        );
        talk.finish();
        for entry in talk.entries() {
            let spoken = matches!(
                entry.block,
                Block::Prompt(_) | Block::Reply(_) | Block::Thought(_) | Block::Tool(_)
            );
            assert!(!spoken || entry.id.as_str() != "n", "{format:?} {entry:?}");
        }
        let spoken =
            |entry: &&parlor_model::entry::Entry| matches!(entry.block, Block::Prompt(_) | Block::Reply(_));
        assert_eq!(talk.entries().iter().filter(spoken).count(), 1, "{format:?}");
        // It is kept and can be looked at, under its own name, and clients that want only messages get none.
        assert!(talk.html().contains("brand_new"), "{format:?}: {}", talk.html());
        for profile in [Profile::Raw, Profile::Elements, Profile::Bridge] {
            let told = serde_json::to_string(talk.told(profile)).unwrap();
            assert!(!told.contains("internal words"), "{format:?} {profile:?}: {told}");
        }
    }
}
