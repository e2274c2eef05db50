//! The agent's stream becomes `stream` messages: states, complete replies, calls and renamed results, in order and once.

use parlor_dialect::Format::{self, Bridge as BridgeFormat, ClaudeStream, Legion};
use parlor_model::block::Block;
use parlor_model::session::{Look, Phase};
use parlor_profile::Profile::Bridge;
use parlor_tests::{Talk, sessions};
use serde_json::{Value, json};

fn messages(talk: &Talk) -> Vec<Value> {
    talk.told(Bridge).iter().map(|envelope| envelope["message"].clone()).collect()
}

fn event(event: Value) -> String {
    json!({"type": "stream_event", "event": event, "session_id": "s", "parent_tool_use_id": null}).to_string()
}

fn delta(kind: &str, field: &str, text: &str) -> String {
    let mut delta = json!({"type": kind});
    delta[field] = text.into();
    event(json!({"type": "content_block_delta", "index": 0, "delta": delta}))
}

fn assistant(id: &str, block: Value) -> String {
    json!({"type": "assistant", "session_id": "s", "parent_tool_use_id": null,
        "message": {"id": id, "role": "assistant", "model": "claude-x", "content": [block]}})
    .to_string()
}

fn user(block: Value) -> String {
    json!({"type": "user", "session_id": "s", "parent_tool_use_id": null, "message": {"role": "user", "content": [block]}}).to_string()
}

fn start(id: &str) -> String {
    event(
        json!({"type": "message_start", "message": {"id": id, "role": "assistant", "content": [], "model": "claude-x"}}),
    )
}

/// A question about commits, as the CLI streams it.
fn commits() -> Vec<String> {
    vec![
        json!({"type": "user", "session_id": "s", "message": {"role": "user", "content": "What changed in the last two commits?"}}).to_string(),
        json!({"type": "system", "subtype": "init", "session_id": "s", "cwd": "/w", "model": "claude-x", "tools": []}).to_string(),
        start("m1"),
        event(json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}})),
        delta("thinking_delta", "thinking", "git log"),
        assistant("m1", json!({"type": "thinking", "thinking": "git log", "signature": "x"})),
        start("m2"),
        event(json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})),
        delta("text_delta", "text", "I'll "),
        delta("text_delta", "text", "check."),
        assistant("m2", json!({"type": "text", "text": "I'll check."})),
        assistant("m2", json!({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "git log -2"}})),
        user(json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": "41f fix", "is_error": false})),
        assistant("m3", json!({"type": "text", "text": "Two fixes."})),
        event(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"input_tokens": 14, "output_tokens": 571}})),
        json!({"type": "result", "subtype": "success", "is_error": false, "result": "Two fixes.", "session_id": "s",
            "total_cost_usd": 0.25}).to_string(),
    ]
}

#[test]
fn the_flow_of_a_question_about_commits_is_told_step_by_step() {
    let talk = Talk::of(ClaudeStream, &commits());
    let besides = |message: &Value| message["type"] == "usage" || message["type"] == "thinking";
    let told: Vec<Value> = messages(&talk).into_iter().filter(|message| !besides(message)).collect();
    assert_eq!(
        told,
        [
            json!({"type": "user", "content": "What changed in the last two commits?"}),
            json!({"type": "state", "state": "executing"}),
            json!({"type": "state", "state": "thinking"}),
            json!({"type": "assistant", "content": "I'll check.", "delta": false}),
            json!({"type": "state", "state": "executing", "tool": "Bash"}),
            json!({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "git log -2"}}),
            json!({"type": "tool_result", "id": "toolu_1", "tool": "Bash", "output": "41f fix", "success": true, "isError": false}),
            json!({"type": "state", "state": "thinking"}),
            json!({"type": "assistant", "content": "Two fixes.", "delta": false}),
            json!({"type": "state", "state": "idle"}),
        ]
    );
    assert!(talk.told(Bridge).iter().all(|envelope| envelope["type"] == "stream"));
    let html = talk.html();
    assert!(!html.contains("Session initialized") && html.matches("Two fixes.").count() == 1);
    assert_eq!(html.matches("class=\"card ").count(), 1, "the result is in its call's card");
    assert!(html.contains("<details class=\"card success\"><summary"), "and the card is closed");
}

#[test]
fn the_look_of_the_status_follows_the_flow() {
    let mut talk = Talk::begin(ClaudeStream);
    let mut looks: Vec<Option<&str>> = Vec::new();
    for line in commits() {
        talk.say(&line);
        let look = talk.session().phase.look().map(|look| look.symbol);
        if looks.last() != Some(&look) {
            looks.push(look);
        }
    }
    let brain = Some("brain.head.profile");
    assert_eq!(looks, [Some("hourglass"), brain, Some("terminal"), brain, None]);
    assert_eq!(Phase::Idle.look(), None);
    assert!(matches!(Phase::Preparing.look(), Some(Look { effect: "variableColor", .. })));
}

#[test]
fn a_final_result_is_told_only_when_it_says_something_else() {
    let mut lines = commits();
    assert!(messages(&Talk::of(ClaudeStream, &lines)).iter().all(|message| message["type"] != "system"));
    let last = lines.pop().unwrap().replace("Two fixes.", "Another ending.");
    lines.push(last);
    let talk = Talk::of(ClaudeStream, &lines);
    let results: Vec<Value> =
        messages(&talk).into_iter().filter(|message| message["type"] == "system").collect();
    assert_eq!(results, [json!({"type": "system", "subtype": "result", "content": "Another ending."})]);
    assert!(talk.html().contains("Another ending."));
}

#[test]
fn usage_has_tokens_and_cost_and_comes_before_the_one_idle() {
    let told = messages(&Talk::of(ClaudeStream, &commits()));
    let usage = told.iter().find(|message| message["type"] == "usage").unwrap();
    assert_eq!(
        (&usage["inputTokens"], &usage["outputTokens"], &usage["totalCost"]),
        (&json!(14), &json!(571), &json!(0.25))
    );
    let idle = |message: &&Value| message["state"] == "idle";
    assert_eq!(told.iter().filter(idle).count(), 1);
    assert_eq!(told.last().unwrap()["state"], "idle");
    assert_eq!(told[told.len() - 2]["type"], "usage");
}

#[test]
fn every_agent_ends_idle_and_sends_no_deltas() {
    for format in Format::ALL {
        let talk = Talk::of(format, &sessions::lines(format));
        let told = messages(&talk);
        assert!(told.iter().all(|message| message.get("delta") != Some(&json!(true))), "{}", format.name());
        let states: Vec<&Value> = told.iter().filter(|message| message["type"] == "state").collect();
        for pair in states.windows(2) {
            assert_ne!(pair[0], pair[1], "{}", format.name());
        }
        assert_eq!(states.last().map(|state| &state["state"]), Some(&json!("idle")), "{}", format.name());
    }
}

#[test]
fn the_sdk_s_four_messages_and_four_blocks_are_read_without_types() {
    let wrapped = |kind: &str, data: Value| {
        json!({"_type": kind, "session_id": "s", "timestamp": 1_741_064_198.5, "data": data}).to_string()
    };
    let talk = Talk::of(
        Legion,
        &[
            wrapped("SystemMessage", json!({"subtype": "init", "data": {"model": "opus", "cwd": "/w"}})),
            wrapped("UserMessage", json!({"content": [{"text": "Look, please"}]})),
            wrapped(
                "AssistantMessage",
                json!({"model": "opus", "content": [
                    {"thinking": "hm", "signature": "sig"},
                    {"text": "Looking."},
                    {"id": "toolu_1", "name": "Read", "input": {"file_path": "/w/a"}},
                ]}),
            ),
            wrapped(
                "UserMessage",
                json!({"content": [{"tool_use_id": "toolu_1", "content": "words", "is_error": null}]}),
            ),
            wrapped("ResultMessage", json!({"subtype": "success", "is_error": false, "result": "Looking."})),
        ],
    );
    let kinds: Vec<&str> = talk
        .entries()
        .iter()
        .map(|entry| match &entry.block {
            Block::Prompt(_) => "prompt",
            Block::Thought(_) => "thought",
            Block::Reply(_) => "reply",
            Block::Tool(_) => "tool",
            Block::Notice(_) => "notice",
            Block::Unknown(_) => "unknown",
        })
        .collect();
    assert_eq!(kinds, ["prompt", "thought", "reply", "tool"]);
    assert_eq!(talk.session().model.as_deref(), Some("opus"));
    let tool = talk.tool("toolu_1");
    assert_eq!((tool.name.as_str(), tool.output.as_ref().unwrap().joined().as_str()), ("Read", "words"));
}

#[test]
fn states_are_stream_messages_that_are_read_back_too() {
    let stream = |message: Value| json!({"type": "stream", "message": message}).to_string();
    let mut talk = Talk::begin(BridgeFormat);
    for (message, phase) in [
        (json!({"type": "state", "state": "executing"}), Phase::Preparing),
        (
            json!({"type": "tool_use", "id": "t", "name": "Grep", "input": {"pattern": "x"}}),
            Phase::Executing { tool: "Grep".into() },
        ),
        (json!({"type": "tool_result", "id": "t", "output": "a:1", "isError": false}), Phase::Thinking),
        (json!({"type": "state", "state": "idle"}), Phase::Idle),
    ] {
        talk.say(&stream(message));
        assert_eq!(talk.session().phase, phase);
    }
    assert_eq!(talk.tool("t").output.as_ref().unwrap().joined(), "a:1");
}

#[test]
fn results_of_parallel_calls_find_their_own_card() {
    let call = |id: &str, name: &str| {
        assistant(id, json!({"type": "tool_use", "id": id, "name": name, "input": {"x": id}}))
    };
    let result = |id: &str| {
        user(json!({"type": "tool_result", "tool_use_id": id, "content": format!("answer to {id}")}))
    };
    let talk = Talk::of(
        ClaudeStream,
        &[call("a", "Foo"), call("b", "Bar"), call("c", "Baz"), result("c"), result("a"), result("b")],
    );
    for (id, name) in [("a", "Foo"), ("b", "Bar"), ("c", "Baz")] {
        let message = messages(&talk)
            .into_iter()
            .find(|message| message["type"] == "tool_result" && message["id"] == id)
            .unwrap();
        assert_eq!((&message["tool"], &message["output"]), (&json!(name), &json!(format!("answer to {id}"))));
        let card = talk.pieces().into_iter().find(|piece| piece.contains(&format!("id=\"e-{id}\""))).unwrap();
        assert!(card.contains(&format!("answer to {id}")));
    }
}
