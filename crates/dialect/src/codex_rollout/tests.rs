//! Quirks of rollout files, one test each.

use super::*;
use crate::codex::testing::{assert_total, events, reads};

/// A record of today's form around a payload.
fn record(kind: &str, payload: &str) -> String {
    format!(r#"{{"timestamp":"2026-01-02T03:04:05.678Z","type":"{kind}","payload":{{{payload}}}}}"#)
}

fn item(payload: &str) -> String {
    record("response_item", payload)
}

fn event(payload: &str) -> String {
    record("event_msg", payload)
}

fn completed(item: &str) -> String {
    event(&format!(r#""type":"item_completed","item":{{{item}}}"#))
}

fn said(lines: &[String]) -> Vec<String> {
    events(&mut CodexRollout::default(), &lines.iter().map(String::as_str).collect::<Vec<_>>())
}

fn fates(lines: &[String], expected: &str) {
    reads(&mut CodexRollout::default(), &lines.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}

#[test]
fn a_message_that_is_written_three_times_is_shown_once() {
    let user = |text: &str| {
        item(&format!(
            r#""type":"message","role":"user","content":[{{"type":"input_text","text":"{text}"}}]"#
        ))
    };
    let assistant = item(
        r#""type":"message","role":"assistant","id":"m","content":[{"type":"output_text","text":"yes"}]"#,
    );
    let lines = [
        user("do"),
        event(r#""type":"user_message","message":"do","images":[]"#),
        completed(r#""type":"UserMessage","id":"u","content":[{"type":"text","text":"do"}]"#),
        completed(r#""type":"AgentMessage","id":"m","content":[{"type":"Text","text":"yes"}]"#),
        assistant.clone(),
        event(r#""type":"agent_message","message":"yes""#),
        event(r#""type":"agent_message","message":"yes""#),
        assistant,
    ];
    assert_eq!(said(&lines), ["prompt n1 Person do", "reply m yes", "reply n4 yes"]);
    fates(
        &lines,
        "shown, hidden repeat, hidden repeat, shown, hidden repeat, hidden repeat, shown, hidden repeat",
    );
}

#[test]
fn each_part_of_a_summary_is_mirrored_alone() {
    let reasoning = item(
        r#""type":"reasoning","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}],"content":null"#,
    );
    let part = |text: &str| event(&format!(r#""type":"agent_reasoning","text":"{text}""#));
    assert_eq!(said(&[part("a"), part("b"), reasoning.clone()]), ["thought n1 a", "thought n2 b"]);
    assert_eq!(said(&[reasoning, part("a"), part("b")]), ["thought n1 a\n\nb"]);
    fates(&[item(r#""type":"reasoning","summary":[],"encrypted_content":"x""#)], "hidden step");
}

#[test]
fn what_codex_says_in_the_person_s_name_is_hidden() {
    let user = |text: &str, more: &str| {
        item(&format!(
            r#""type":"message","role":"user","content":[{{"type":"input_text","text":"{text}"}}]{more}"#
        ))
    };
    let by = |who: &str| {
        format!(
            r#","internal_chat_message_metadata_passthrough":{{"content_item_metadata":[{{"provenance":{{"type":"{who}"}}}}]}}"#
        )
    };
    let lines = [
        user("<environment_context>x", ""),
        user("new kind of context", &by("harness")),
        user("mine", &by("user")),
        item(r#""type":"message","role":"developer","content":[]"#),
    ];
    fates(&lines, "hidden injected, hidden injected, shown, hidden instructions");
}

#[test]
fn the_full_result_of_a_call_wins_over_what_the_model_was_told() {
    let lines = [
        item(r#""type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"ls\"}","call_id":"c""#),
        completed(
            r#""type":"CommandExecution","id":"c","command":["bash","-lc","ls"],"status":"completed","aggregated_output":"all","exit_code":0,"duration":{"secs":1,"nanos":5000000}"#,
        ),
        item(
            r#""type":"function_call_output","call_id":"c","output":"Chunk ID: a\nProcess exited with code 0\nOutput:\nal""#,
        ),
    ];
    assert_eq!(said(&lines), [r#"tool c exec_command {"cmd":"ls"} Pending"#, r#"end c Done 0 "all""#]);
    fates(&lines, "shown, shown, hidden repeat");
}

#[test]
fn a_patch_has_the_change_as_it_was_made() {
    let lines = [
        item(
            r#""type":"custom_tool_call","name":"apply_patch","call_id":"p","input":"*** Begin Patch\n*** End Patch""#,
        ),
        event(
            r#""type":"patch_apply_end","call_id":"p","success":true,"stdout":"Success.","changes":{"/a":{"type":"update","unified_diff":"@@ -1 +1 @@\n-a\n+b\n"}}"#,
        ),
        event(
            r#""type":"patch_apply_end","call_id":"q","success":false,"stderr":"no such file","changes":{}"#,
        ),
    ];
    let expected = [
        r#"tool p apply_patch "*** Begin Patch\n*** End Patch" Pending"#,
        r#"end p Done - "" /a:Update"#,
        r#"tool q apply_patch {"changes":{}} Running"#,
        r#"end q Failed - "no such file""#,
    ];
    assert_eq!(said(&lines), expected);
}

#[test]
fn a_script_s_block_becomes_the_first_thing_it_does() {
    let lines = [
        record("session_meta", r#""id":"t","history_mode":"paginated""#),
        item(
            r#""type":"custom_tool_call","name":"exec","namespace":"functions","call_id":"s","input":"await tools.x()""#,
        ),
        completed(
            r#""type":"CommandExecution","id":"exec-1","command":["bash","-lc","ls"],"status":"completed","aggregated_output":"a","exit_code":0"#,
        ),
        completed(
            r#""type":"CommandExecution","id":"exec-2","command":["bash","-lc","pwd"],"status":"completed","aggregated_output":"b","exit_code":0"#,
        ),
        item(
            r#""type":"custom_tool_call_output","call_id":"s","output":[{"type":"input_text","text":"Script completed\nWall time 0.1 seconds\nOutput:\n"}]"#,
        ),
    ];
    let expected = [
        "id t",
        r#"tool s exec "await tools.x()" Pending"#,
        r#"tool s shell {"command":["bash","-lc","ls"]} Running"#,
        r#"end s Done 0 "a""#,
        r#"tool exec-2 shell {"command":["bash","-lc","pwd"]} Running"#,
        r#"end exec-2 Done 0 "b""#,
    ];
    assert_eq!(said(&lines), expected);
}

#[test]
fn a_roll_back_overtakes_the_last_turns() {
    let user = |text: &str| event(&format!(r#""type":"user_message","message":"{text}""#));
    let back = |turns: &str| event(&format!(r#""type":"thread_rolled_back","num_turns":{turns}"#));
    let lines =
        [user("a"), user("b"), user("c"), back("2"), user("d"), back("1"), back("99"), back("1"), back("-1")];
    let overtakes: Vec<_> = said(&lines).into_iter().filter(|line| line.starts_with("overtake")).collect();
    assert_eq!(overtakes, ["overtake n2", "overtake n4", "overtake n1"]);
}

#[test]
fn a_subagent_s_copy_of_its_parent_s_history_is_hidden() {
    let lines = [
        record(
            "session_meta",
            r#""id":"0b","source":{"subagent":{"thread_spawn":{"parent_thread_id":"0a","depth":1}}}"#,
        ),
        record("session_meta", r#""id":"0a","source":"cli""#),
        event(r#""type":"task_started","turn_id":"0a1""#),
        event(r#""type":"user_message","message":"for the parent""#),
        event(r#""type":"task_started","turn_id":"0b1""#),
        event(r#""type":"user_message","message":"for me""#),
    ];
    let expected = ["id 0b", r#"meta Parent { id: "0a" }"#, "turn Start", "prompt n1 Caller for me"];
    assert_eq!(said(&lines), expected);
    fates(&lines, "hidden init, hidden repeat, hidden repeat, hidden repeat, hidden step, shown");
}

#[test]
fn a_fork_shows_the_history_it_copied() {
    let lines = [
        record("session_meta", r#""id":"b","forked_from_id":"a","source":"cli""#),
        record("session_meta", r#""id":"a","source":"cli""#),
        event(r#""type":"user_message","message":"old""#),
    ];
    assert_eq!(said(&lines), ["id b", r#"meta Parent { id: "a" }"#, "prompt n1 Person old"]);
}

#[test]
fn turns_end_well_badly_or_by_a_person() {
    let lines = [
        event(r#""type":"turn_started","model_context_window":100"#),
        event(r#""type":"turn_complete","last_agent_message":null,"error":null"#),
        event(r#""type":"task_complete","error":{"message":"busy"}"#),
        event(r#""type":"turn_aborted","reason":"replaced""#),
    ];
    let expected = [
        "meta ContextWindow { tokens: 100 }",
        "turn Start",
        "turn Done",
        r#"turn Failed { error: Some("busy") }"#,
        r#"turn Interrupted { reason: "replaced" }"#,
    ];
    assert_eq!(said(&lines), expected);
}

#[test]
fn a_second_prompt_in_a_turn_steers_it() {
    let user = |text: &str| event(&format!(r#""type":"user_message","message":"{text}""#));
    let start = event(r#""type":"task_started""#);
    assert_eq!(
        said(&[start, user("a"), user("b")])[1..],
        ["prompt n1 Person a", "prompt n2 Person steered b"]
    );
}

#[test]
fn cumulative_counts_replace_each_other_and_may_be_null() {
    let usage = |total: u32, last: u32| {
        event(&format!(
            r#""type":"token_count","info":{{"total_token_usage":{{"input_tokens":{total},"cached_input_tokens":10,"output_tokens":5}},"last_token_usage":{{"input_tokens":{last},"output_tokens":2}},"model_context_window":null}}"#
        ))
    };
    let lines = [event(r#""type":"token_count","info":null"#), usage(100, 40), usage(120, 20)];
    // One key for the whole thread: a newer total takes the place of the older one.
    let expected = [
        "usage total 90+10+5",
        "meta Context { tokens: 42 }",
        "usage total 110+10+5",
        "meta Context { tokens: 22 }",
    ];
    assert_eq!(said(&lines), expected);
}

#[test]
fn a_compaction_is_said_once() {
    let record = record("compacted", r#""message":"so far","replacement_history":[]"#);
    let event = event(r#""type":"context_compacted""#);
    let expected = ["notice n1 Compaction { before: None, after: None } so far"];
    assert_eq!(said(&[record.clone(), event.clone()]), expected);
    fates(&[record, event], "shown, hidden repeat");
}

#[test]
fn records_of_2025_have_no_envelope() {
    let lines = [
        r#"{"id":"s","timestamp":"2025-05-01T00:00:00Z","instructions":null,"git":{"branch":"main"}}"#.to_owned(),
        r#"{"record_type":"state"}"#.to_owned(),
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}"#.to_owned(),
        r#"{"type":"function_call","id":"f","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"c"}"#.to_owned(),
        r#"{"type":"function_call_output","call_id":"c","output":"{\"output\":\"x\",\"metadata\":{\"exit_code\":0,\"duration_seconds\":0.1}}"}"#.to_owned(),
    ];
    let expected = [
        "id s",
        r#"meta Branch { name: "main" }"#,
        "prompt n1 Person hi",
        r#"tool c shell {"command":["ls"]} Pending"#,
        r#"end c Done 0 "x""#,
    ];
    assert_eq!(said(&lines), expected);
    let claims: Vec<Claim> = lines.iter().map(|line| claim(&Line::new(line.clone().into()))).collect();
    assert_eq!(claims, [Claim::Yes, Claim::Yes, Claim::Maybe, Claim::Yes, Claim::Yes]);
}

#[test]
fn arguments_that_are_not_what_they_should_be_are_kept() {
    for (arguments, input) in [
        (r#""arguments":"{\"a\":1}""#, r#"{"a":1}"#),
        (r#""arguments":{"a":1}"#, r#"{"a":1}"#),
        (r#""arguments":"{\"a\":""#, r#""{\"a\":""#),
        (r#""arguments":"null""#, r#""null""#),
        (r#""arguments":null"#, "{}"),
        (r#""x":1"#, "{}"),
    ] {
        let call = item(&format!(r#""type":"function_call","name":"f","call_id":"c",{arguments}"#));
        assert_eq!(said(&[call]), [format!("tool c f {input} Pending")]);
    }
}

#[test]
fn tools_of_servers_searches_and_agents_have_their_names() {
    for (payload, expected) in [
        (
            r#""type":"function_call","name":"echo","namespace":"mcp__s","arguments":"{}","call_id":"c""#,
            "tool c mcp__s__echo {} Pending",
        ),
        (
            r#""type":"function_call","name":"spawn_agent","namespace":"multi_agent_v1","arguments":"{}","call_id":"c""#,
            "tool c spawn_agent {} Pending",
        ),
        (
            r#""type":"web_search_call","id":"w","status":"completed","action":{"type":"open_page","url":"u"}"#,
            r#"tool w web_search {"query":"u"} Pending"#,
        ),
        (
            r#""type":"local_shell_call","call_id":"c","action":{"type":"exec","command":["ls"]}"#,
            r#"tool c local_shell {"type":"exec","command":["ls"]} Pending"#,
        ),
    ] {
        assert_eq!(said(&[item(payload)])[0], expected);
    }
    let twice = [
        event(r#""type":"web_search_end","call_id":"w","query":"q","action":{"type":"search","query":"q"}"#),
        item(r#""type":"web_search_call","status":"completed","action":{"type":"search","query":"q"}"#),
    ];
    fates(&twice, "shown, hidden repeat");
}

#[test]
fn a_result_before_its_call_and_one_without_id_are_no_trouble() {
    let lines = [
        item(r#""type":"function_call_output","call_id":"c","output":"early""#),
        item(r#""type":"function_call_output","output":"whose""#),
        record("from_tomorrow", r#""type":"x""#),
        event(r#""type":"from_tomorrow""#),
        "{}".into(),
    ];
    assert_eq!(said(&lines), [r#"end c Done - "early""#]);
    fates(
        &lines,
        "shown, hidden bookkeeping, unknown from_tomorrow/x, unknown event_msg/from_tomorrow, unknown untyped",
    );
}

#[test]
fn no_input_is_too_odd() {
    let lines = [
        record(
            "session_meta",
            r#""id":"b","forked_from_id":"a","source":{"subagent":{"thread_spawn":{"parent_thread_id":"a"}}},"git":{"branch":"m"}"#,
        ),
        item(
            r#""type":"message","role":"user","content":[{"type":"input_text","text":"é"},{"type":"input_image","image_url":"data:image/png;base64,QQ=="}]"#,
        ),
        item(
            r#""type":"custom_tool_call_output","call_id":"s","output":[{"type":"input_text","text":"Script completed\nOutput:\nx"}]"#,
        ),
        event(
            r#""type":"token_count","info":{"total_token_usage":{"input_tokens":1},"last_token_usage":{}}"#,
        ),
        event(
            r#""type":"mcp_tool_call_end","call_id":"c","invocation":{"server":"s","tool":"t"},"result":{"Ok":{"content":[]}},"duration":{"secs":1,"nanos":2}"#,
        ),
        event(r#""type":"collab_waiting_end","call_id":"c","agent_statuses":[{"status":{"completed":"x"}}]"#),
        event(r#""type":"thread_rolled_back","num_turns":1"#),
        completed(
            r#""type":"FileChange","id":"c","changes":{"/a":{"type":"update","unified_diff":"@@\n-a"}},"status":"completed""#,
        ),
    ];
    assert_total(CodexRollout::default, &lines.iter().map(String::as_str).collect::<Vec<_>>());
}
