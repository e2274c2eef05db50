//! Sessions of the web UI that keeps calls and results in `metadata`: from its lines to the call map and back.

use std::collections::BTreeMap;

use parlor_dialect::Format::{self, Legion as LegionFormat};
use parlor_model::block::Block;
use parlor_model::event::Fate;
use parlor_model::line::Line;
use parlor_model::rule::Rule;
use parlor_model::time::Time;
use parlor_model::tool::ToolState;
use parlor_profile::Profile::Legion;
use parlor_tests::Talk;
use serde_json::{Value, json};

const SYSTEM_AT: &str = "2025-03-04T05:06:07.228585+00:00";

fn user(text: &str) -> String {
    json!({"type": "user", "content": text, "session_id": "s", "timestamp": "2025-03-04T05:06:50.000000+00:00"}).to_string()
}

fn system(subtype: &str, text: &str) -> String {
    json!({"type": "system", "content": text, "timestamp": SYSTEM_AT, "session_id": "s", "metadata": {"subtype": subtype,
        "session_id": "s", "working_directory": "/w", "permissions": null, "tools": [], "model": null, "system_prompt": null,
        "has_tool_uses": false, "has_thinking": false, "has_tool_results": false}})
    .to_string()
}

fn calls(at: f64, uses: Value) -> String {
    json!({"type": "assistant", "content": "Assistant response", "timestamp": at, "session_id": "s", "metadata": {"tool_uses": uses,
        "has_tool_uses": true, "has_thinking": false, "has_tool_results": false, "model": "sonnet"}})
    .to_string()
}

fn call(id: &str, name: &str, input: Value) -> Value {
    json!([{"id": id, "name": name, "input": input, "timestamp": 1_741_064_198.2}])
}

fn results(at: f64, results: Value) -> String {
    let words = format!("Tool results: {} results", results.as_array().map_or(0, Vec::len));
    json!({"type": "user", "content": words, "timestamp": at, "session_id": "s", "metadata": {"tool_uses": [],
        "tool_results": results, "has_tool_uses": false, "has_tool_results": true, "has_thinking": false}})
    .to_string()
}

fn result(id: &str, content: Value, is_error: Value) -> Value {
    json!([{"tool_use_id": id, "content": content, "is_error": is_error, "timestamp": 1_741_064_199.5}])
}

/// The call map: the last value of each call.
fn map(talk: &Talk) -> BTreeMap<String, Value> {
    let changes = talk.all(Legion, "tool_call");
    changes
        .iter()
        .map(|change| (change["call"]["id"].as_str().unwrap_or_default().to_owned(), change["call"].clone()))
        .collect()
}

fn messages(talk: &Talk) -> Vec<&Value> {
    talk.told(Legion).iter().filter(|message| message["type"] != "tool_call").collect()
}

#[test]
fn both_forms_of_timestamp_are_told_apart_by_value_and_sort_as_one_kind_of_instant() {
    let talk = Talk::of(
        LegionFormat,
        &[
            system("notice", "hello"),
            results(1_741_064_900.125_251_6, result("t", json!("x"), json!(null))),
            user("after"),
        ],
    );
    let times: Vec<Time> = talk.entries().iter().map(|entry| entry.at.unwrap()).collect();
    assert_eq!(times[0], Time(1_741_064_767_228_585));
    assert_eq!(times[1], Time(1_741_064_900_125_252), "a user's message with results has seconds");
    assert!(times[1] > times[0] && times[2] < times[1]);
    let html = talk.html();
    assert!(html.find("hello").unwrap() < html.find("after").unwrap(), "and the order is the file's");
}

#[test]
fn people_and_the_system_are_told_in_iso_and_agents_in_seconds() {
    let reply = json!({"type": "assistant", "content": "Hi", "timestamp": 1_741_064_198.5, "metadata": {"model": "sonnet",
        "has_tool_uses": false, "has_thinking": false, "has_tool_results": false}});
    let talk = Talk::of(
        LegionFormat,
        &[
            user("hi"),
            system("notice", "n"),
            reply.to_string(),
            calls(1_741_064_199.0, call("t", "Bash", json!({}))),
            results(1_741_064_199.5, result("t", json!("x"), json!(false))),
        ],
    );
    let at: Vec<&Value> = messages(&talk).iter().map(|message| &message["timestamp"]).collect();
    assert!(
        at[0].is_string() && at[1].is_string() && at[2].is_number() && at[3].is_number() && at[4].is_number(),
        "{at:?}"
    );
    assert_eq!(at[1], SYSTEM_AT);
}

#[test]
fn system_messages_have_their_fields_and_start_up_is_hidden() {
    let talk = Talk::of(
        LegionFormat,
        &[system("init", "I"), system("client_launched", "L"), system("something", "S")],
    );
    assert_eq!(
        talk.whole.fates(),
        [&Fate::Hidden(Rule::Init), &Fate::Hidden(Rule::ClientLaunched), &Fate::Shown]
    );
    let told = messages(&talk);
    assert_eq!(told.len(), 1);
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(told[0]), ["type", "content", "timestamp", "metadata", "session_id"]);
    assert_eq!(
        keys(&told[0]["metadata"]),
        [
            "subtype",
            "session_id",
            "working_directory",
            "permissions",
            "tools",
            "model",
            "system_prompt",
            "has_tool_uses",
            "has_thinking",
            "has_tool_results"
        ]
    );
    assert_eq!(told[0]["metadata"]["subtype"], "something");
    assert!(talk.html().contains("<div class=\"remark faint\">Something · S</div>"), "a minimal line");
    assert_eq!(talk.session().cwd.as_ref().map(ToString::to_string).as_deref(), Some("/w"));
}

#[test]
fn a_person_s_message_is_plain_and_placeholders_are_nobody_s_words() {
    let talk = Talk::of(
        LegionFormat,
        &[
            user("Send it"),
            calls(1.761e9, call("t", "Bash", json!({"command": "x"}))),
            results(1.761e9, result("t", json!("out"), json!(null))),
        ],
    );
    assert_eq!(
        *messages(&talk)[0],
        json!({"type": "user", "content": "Send it",
        "timestamp": "2025-03-04T05:06:50.000000+00:00", "session_id": "s"})
    );
    assert_eq!(talk.session().counts.prompts, 1);
    for shown in [talk.html(), talk.text(), talk.markdown(), talk.terminal()] {
        assert!(
            !shown.contains("Tool results: 1 results") && !shown.contains("Assistant response"),
            "{shown}"
        );
    }
    // Clients of this kind expect the placeholders where the words would be.
    assert_eq!(messages(&talk)[1]["content"], "Assistant response");
    assert_eq!(messages(&talk)[2]["content"], "Tool results: 1 results");
    let metadata = &messages(&talk)[2]["metadata"];
    assert_eq!(metadata["tool_uses"], json!([]));
    let flags =
        ["has_tool_uses", "has_tool_results", "has_thinking"].map(|flag| metadata[flag].as_bool().unwrap());
    assert_eq!(flags, [false, true, false]);
}

#[test]
fn results_are_strings_and_every_falsy_error_is_success() {
    for (is_error, state) in
        [(json!(null), ToolState::Done), (json!(false), ToolState::Done), (json!(true), ToolState::Failed)]
    {
        let content = json!([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]);
        let talk = Talk::of(
            LegionFormat,
            &[
                calls(1.761e9, call("t", "Bash", json!({}))),
                results(1.761e9 + 2.0, result("t", content, is_error.clone())),
            ],
        );
        assert_eq!(talk.tool("t").state, state, "{is_error}");
        assert_eq!(map(&talk)["t"]["result"], "one\ntwo");
        assert_eq!(map(&talk)["t"]["isError"], state == ToolState::Failed);
        let told = &messages(&talk)[1]["metadata"]["tool_results"][0];
        assert_eq!((&told["tool_use_id"], &told["content"]), (&json!("t"), &json!("one\ntwo")));
        assert!(told["timestamp"].is_number());
    }
    let without = json!([{"tool_use_id": "t", "content": "x"}]);
    let talk =
        Talk::of(LegionFormat, &[calls(1.761e9, call("t", "Bash", json!({}))), results(1.761e9, without)]);
    assert_eq!(talk.tool("t").state, ToolState::Done);
}

#[test]
fn an_assistant_s_message_keeps_model_flags_thinking_and_calls() {
    let thinking = json!({"type": "assistant", "content": "So.", "timestamp": 1_741_064_198.5, "metadata": {"model": "sonnet",
        "thinking_content": "A B", "thinking_blocks": [{"content": "A", "timestamp": 1.0}, {"content": "B", "timestamp": 2.0}],
        "has_thinking": true, "has_tool_uses": false, "has_tool_results": false}});
    let uses = call("toolu_01", "mcp__legion__send_comm", json!({"to_minion_name": "fred", "content": "c"}));
    let talk = Talk::of(LegionFormat, &[thinking.to_string(), calls(1_741_064_199.25, uses)]);
    let told = messages(&talk);
    let metadata = &told[0]["metadata"];
    assert_eq!(
        (&metadata["model"], &metadata["has_thinking"], &metadata["has_tool_uses"]),
        (&json!("sonnet"), &json!(true), &json!(false))
    );
    let blocks: Vec<&str> = metadata["thinking_blocks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block["content"].as_str().unwrap())
        .collect();
    assert_eq!((blocks, &metadata["thinking_content"]), (vec!["A", "B"], &json!("A\nB")));
    assert_eq!(talk.html().matches("<details class=\"thought\">").count(), 2, "each folds by itself");
    let call = &told[1]["metadata"]["tool_uses"][0];
    assert_eq!(
        *call,
        json!({"id": "toolu_01", "name": "mcp__legion__send_comm", "timestamp": 1_741_064_199.25,
        "input": {"to_minion_name": "fred", "content": "c"}})
    );
}

#[test]
fn a_call_goes_from_pending_over_executing_to_its_end_in_one_map_entry() {
    let update = |status: &str| {
        json!({"_type": "ToolCallUpdate", "session_id": "s", "timestamp": 1_741_064_199.0,
            "data": {"tool_use_id": "t", "name": "Bash", "input": {"command": "x"}, "status": status}})
        .to_string()
    };
    let steps = [
        (calls(1_741_064_198.0, call("t", "Bash", json!({"command": "x"}))), "pending"),
        (update("awaiting_permission"), "pending"),
        (update("running"), "executing"),
        (results(1_741_064_200.5, result("t", json!("done"), json!(null))), "completed"),
    ];
    let mut talk = Talk::begin(LegionFormat);
    for (line, status) in steps {
        talk.say(&line);
        let calls = map(&talk);
        assert_eq!(calls.len(), 1);
        let call = &calls["t"];
        assert_eq!(call["status"], status, "{line}");
        let ended = status == "completed";
        assert_eq!((call["result"].is_null(), call["resultTimestamp"].is_null()), (!ended, !ended));
    }
    assert_eq!(
        map(&talk)["t"],
        json!({"id": "t", "name": "Bash", "status": "completed", "input": {"command": "x"}, "result": "done",
            "isError": false, "timestamp": 1_741_064_198.0, "resultTimestamp": 1_741_064_200.5})
    );
    let failed = Talk::of(
        LegionFormat,
        &[
            calls(1.761e9, call("t", "Bash", json!({}))),
            results(1.761e9, result("t", json!("x"), json!(true))),
        ],
    );
    assert_eq!(map(&failed)["t"]["status"], "error");
}

#[test]
fn results_find_their_calls_and_repeated_records_change_nothing() {
    let two = json!([{"id": "a", "name": "Bash", "input": {}}, {"id": "b", "name": "Read", "input": {}}]);
    let answers = json!([{"tool_use_id": "b", "content": "for b"}, {"tool_use_id": "a", "content": "for a"}]);
    let lines = [calls(1.761e9, two), results(1.761e9, answers)];
    let once = Talk::of(LegionFormat, &lines);
    assert_eq!((&map(&once)["a"]["result"], &map(&once)["b"]["result"]), (&json!("for a"), &json!("for b")));
    let again = Talk::of(LegionFormat, &[&lines[..], &lines[..]].concat());
    assert_eq!(map(&once), map(&again));
    assert_eq!(again.entries().len(), 2);
    assert_eq!(again.session().counts.tools, 2);
    assert_eq!(again.html().matches("class=\"card ").count(), 2);
}

#[test]
fn odd_records_are_answered_and_never_break_what_follows() {
    let sound = user("still here");
    for line in [
        r#"{"type":"assistant","content":"no metadata","timestamp":1761073198.5}"#,
        r#"{"type":"assistant","content":"x","timestamp":1.7e9,"session_id":"s","metadata":null}"#,
        r#"{"type":"assistant","timestamp":1.7e9,"session_id":"s","metadata":{"tool_uses":[],"has_tool_uses":true}}"#,
        r#"{"type":"user","content":null,"session_id":"s","timestamp":1.7e9,"metadata":{"tool_results":[],"has_tool_results":true}}"#,
        r#"{"type":"user","content":7,"session_id":"s","timestamp":"soon","metadata":"x"}"#,
        r#"{"type":"user","content":{"a":1},"session_id":"s","timestamp":1.7e9}"#,
        r#"{"content":"no type","session_id":"s","timestamp":1.7e9}"#,
        r#"{"type":"assistant","content":"x","session_id":"s","timestamp":1.7e9,"metadata":{"tool_uses":[7,null,{}],"has_tool_uses":true}}"#,
        r#"{"type":"user","content":"y","session_id":"s","timestamp":1.7e9,"metadata":{"tool_results":[7,null,{}],"has_tool_results":true}}"#,
    ] {
        let talk = Talk::of(LegionFormat, &[line, sound.as_str()]);
        assert!(talk.html().contains("still here") && talk.text().contains("still here"), "{line}");
        let known = !matches!(talk.whole.fates()[0], Fate::Damaged(_));
        assert!(known, "{line}");
    }
    let typeless = Talk::of(LegionFormat, &[r#"{"content":"no type","session_id":"s","timestamp":1.7e9}"#]);
    assert!(matches!(typeless.whole.fates()[0], Fate::Unknown(_)));
    let empty = Talk::of(
        LegionFormat,
        &[r#"{"type":"system","session_id":"s","timestamp":1.7e9,"metadata":{"subtype":"odd"}}"#],
    );
    assert_eq!(messages(&empty)[0]["content"], "", "what is not there is empty");
    let nothing = Talk::of(LegionFormat, &[calls(1.761e9, json!([])), results(1.761e9, json!([]))]);
    assert_eq!((nothing.entries().len(), nothing.told(Legion).len()), (0, 0));
}

#[test]
fn a_result_without_a_call_is_shown_and_counted_and_an_unknown_tool_has_a_card() {
    let talk = Talk::of(LegionFormat, &[results(1.761e9, result("lost", json!("found words"), json!(null)))]);
    assert!(talk.tool("lost").orphan);
    assert_eq!(map(&talk)["lost"]["result"], "found words");
    assert!(talk.html().contains("found words") && talk.html().contains("Tool Result"));
    let odd = Talk::of(LegionFormat, &[calls(1.761e9, call("t", "FluxCapacitor", json!({"power": 1.21})))]);
    assert!(odd.html().contains("FluxCapacitor</span>") && odd.html().contains("power: 1.21"));
    assert!(matches!(&odd.entries()[0].block, Block::Tool(tool) if tool.name == "FluxCapacitor"));
}

#[test]
fn the_file_is_known_by_its_lines() {
    let lines: Vec<Line> = [user("hi"), calls(1.761e9, call("t", "Bash", json!({})))]
        .into_iter()
        .map(|line| Line::new(line.into()))
        .collect();
    assert_eq!(Format::detect(&lines), Some(Format::Legion));
}
