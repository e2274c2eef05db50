//! The verbs of the `events` profile, one promise a test.

use super::*;
use crate::Profile;
use crate::testing::*;
use parlor_model::block::Unknown;
use parlor_model::event::{End, Event};

fn bench() -> Bench {
    let mut bench = Bench::new(Profile::Events);
    bench.at = None;
    bench
}

fn streaming_call(key: &str, name: &str) -> Event {
    Event::put(key, Block::Tool(Box::new(Tool { name: name.into(), ..Tool::default() })))
}

fn complete(key: &str) -> Event {
    Event::End { key: key.into(), end: End::Complete }
}

fn concat(events: &[Value], kind: &str) -> String {
    events.iter().filter(|event| event["type"] == kind).filter_map(|event| event["delta"].as_str()).collect()
}

fn last<'a>(events: &'a [Value], kind: &str) -> &'a Value {
    events.iter().rfind(|event| event["type"] == kind).unwrap()
}

#[test]
fn streamed_text_is_deltas_and_one_text_done_with_the_same_bytes() {
    let mut bench = bench();
    let mut all = bench.say(&[turn(Turn::Start)]);
    for piece in ["Hel", "lo", " ", "\n\n", "  wörld\t", ""] {
        all.extend(bench.say(&[grow("m/0", Part::Reply, piece)]));
    }
    all.extend(bench.say(&[reply("m/0", "Hello \n\n  wörld\t")]));
    all.extend(bench.say(&[complete("m/0")]));
    assert!(!types(&all).contains(&"text_done"), "the response has not ended");
    all.extend(bench.say(&[turn(Turn::Done)]));
    let delta = json!({"type": "text_delta", "responseId": "r0", "segmentId": "m/0", "delta": "Hel"});
    assert_eq!(all[0], delta);
    let done = json!({"type": "text_done", "responseId": "r0", "text": "Hello \n\n  wörld\t"});
    assert_eq!(all.last(), Some(&done));
    assert_eq!(concat(&all, "text_delta"), "Hello \n\n  wörld\t");
    assert_eq!(types(&all).iter().filter(|kind| **kind == "text_done").count(), 1);
}

#[test]
fn text_that_comes_whole_is_one_delta_and_text_done() {
    let mut bench = bench();
    let mut all = bench.say(&[turn(Turn::Start)]);
    all.extend(bench.say(&[reply("item_0", " All at once. ")]));
    all.extend(bench.say(&[turn(Turn::Done)]));
    assert_eq!(types(&all), ["text_delta", "text_segment_done", "text_done"]);
    assert_eq!(all[0]["delta"], " All at once. ");
    assert_eq!(all[2]["text"], " All at once. ");
}

#[test]
fn text_done_is_the_end_of_the_response_and_not_of_a_block() {
    let mut bench = bench();
    let mut all = bench.say(&[turn(Turn::Start)]);
    all.extend(bench.say(&[reply("a", "I look. ")]));
    all.extend(bench.say(&[call("t1", "Bash", json!({"command": "ls"}))]));
    all.extend(bench.say(&[result("t1", ToolState::Done, "x")]));
    all.extend(bench.say(&[reply("b", "It is x.")]));
    all.extend(bench.say(&[turn(Turn::Done)]));
    all.extend(bench.say(&[turn(Turn::Done)]));
    assert_eq!(
        types(&all),
        [
            "text_delta",
            "text_segment_done",
            "tool_call_start",
            "tool_result",
            "text_delta",
            "text_segment_done",
            "text_done"
        ]
    );
    assert_eq!(last(&all, "text_done")["text"], "I look. It is x.");
    assert_eq!(concat(&all, "text_delta"), "I look. It is x.");
}

#[test]
fn a_final_form_that_the_deltas_do_not_make_up_wins_and_says_so() {
    let mut bench = bench();
    let mut all = bench.say(&[grow("a", Part::Reply, "wrong")]);
    all.extend(bench.say(&[reply("a", "right")]));
    all.extend(bench.say(&[turn(Turn::Done)]));
    assert_eq!(last(&all, "text_segment_done")["replaced"], true);
    let done = last(&all, "text_done");
    assert_eq!((&done["text"], &done["replaced"]), (&json!("right"), &json!(true)));
}

#[test]
fn a_snapshot_that_goes_on_from_the_deltas_tells_only_what_is_new() {
    let mut bench = bench();
    let mut all = bench.say(&[grow("a", Part::Reply, "ab")]);
    let block = Block::Reply(Reply { text: "abc".into(), streaming: true, ..Reply::default() });
    all.extend(bench.say(&[Event::put("a", block)]));
    all.extend(bench.say(&[reply("a", "abcd")]));
    all.extend(bench.say(&[reply("a", "abcd")]));
    assert_eq!(concat(&all, "text_delta"), "abcd");
    assert_eq!(types(&all), ["text_delta", "text_delta", "text_delta", "text_segment_done"]);
}

#[test]
fn thinking_starts_grows_and_is_done_with_its_full_text() {
    let mut bench = bench();
    let mut all = bench.say(&[turn(Turn::Start)]);
    all.extend(bench.say(&[grow("m/0", Part::Thought, "Let me ")]));
    all.extend(bench.say(&[grow("m/0", Part::Thought, "see.")]));
    all.extend(bench.say(&[thought("m/0", "Let me see.")]));
    let ids = |kind: &str, rest: Value| {
        let mut event = json!({"type": kind, "responseId": "r0", "segmentId": "m/0"});
        event.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        event
    };
    assert_eq!(
        all,
        [
            ids("thinking_start", json!({})),
            ids("thinking_delta", json!({"delta": "Let me "})),
            ids("thinking_delta", json!({"delta": "see."})),
            ids("thinking_done", json!({"text": "Let me see."})),
        ]
    );
}

#[test]
fn a_block_that_turns_out_to_be_a_thought_starts_anew() {
    let mut bench = bench();
    bench.say(&[grow("a", Part::Reply, "hm")]);
    let all = bench.say(&[thought("a", "hm!")]);
    assert_eq!(types(&all), ["thinking_start", "thinking_delta", "thinking_done"]);
    assert_eq!(all[1]["delta"], "hm!");
}

#[test]
fn two_thoughts_of_a_turn_stay_apart() {
    let mut bench = bench();
    let mut all = bench.say(&[thought("a", "one")]);
    all.extend(bench.say(&[thought("b", "two")]));
    let starts: Vec<&Value> = all.iter().filter(|event| event["type"] == "thinking_start").collect();
    assert_eq!(starts.len(), 2);
    assert_eq!(starts[0]["responseId"], starts[1]["responseId"]);
    assert_ne!(starts[0]["segmentId"], starts[1]["segmentId"]);
}

#[test]
fn a_tool_call_starts_streams_its_output_and_ends() {
    let mut bench = bench();
    let mut all = bench.say(&[call("t1", "Bash", json!({"command": "ls"}))]);
    all.extend(bench.say(&[grow("t1", Part::Output, "a\n")]));
    all.extend(bench.say(&[grow("t1", Part::Output, " ")]));
    all.extend(bench.say(&[result("t1", ToolState::Done, "a\n ")]));
    assert_eq!(
        all,
        [
            json!({"type": "tool_call_start", "callId": "t1", "toolName": "Bash",
                "arguments": "{\"command\":\"ls\"}"}),
            json!({"type": "tool_output_delta", "callId": "t1", "toolName": "Bash", "delta": "a\n"}),
            json!({"type": "tool_output_delta", "callId": "t1", "toolName": "Bash", "delta": " "}),
            json!({"type": "tool_result", "callId": "t1", "toolName": "Bash", "ok": true, "result": "a\n "}),
        ]
    );
}

#[test]
fn a_call_whose_input_streams_starts_when_its_arguments_are_complete() {
    let mut bench = bench();
    let mut all = bench.say(&[streaming_call("t1", "Bash")]);
    all.extend(bench.say(&[grow("t1", Part::Input, "{\"comm")]));
    all.extend(bench.say(&[grow("t1", Part::Input, "and\":\"ls\"}")]));
    assert_eq!(all, [] as [Value; 0]);
    all.extend(bench.say(&[call("t1", "Bash", json!({"command": "ls"}))]));
    all.extend(bench.say(&[complete("t1")]));
    assert_eq!(types(&all), ["tool_call_start"]);
    assert_eq!(all[0]["arguments"], "{\"command\":\"ls\"}");
}

#[test]
fn a_call_with_an_empty_input_starts_at_once() {
    let all = bench().say(&[call("t1", "now", json!({}))]);
    assert_eq!((&all[0]["type"], &all[0]["arguments"]), (&json!("tool_call_start"), &json!("{}")));
}

#[test]
fn a_call_that_is_only_known_by_its_fragments_starts_when_they_end() {
    let mut bench = bench();
    let mut all = bench.say(&[grow("t1", Part::Input, "{\"a\":")]);
    all.extend(bench.say(&[grow("t1", Part::Input, "1}")]));
    assert_eq!(all, [] as [Value; 0]);
    all.extend(bench.say(&[complete("t1")]));
    assert_eq!(all[0]["arguments"], "{\"a\":1}");
    all.extend(bench.say(&[call("t1", "Bash", json!({"a": 1}))]));
    assert_eq!(all.len(), 1);
}

#[test]
fn a_call_whose_input_never_comes_starts_when_the_agent_goes_on_or_nothing_more_comes() {
    let mut bench = bench();
    assert_eq!(types(&bench.say(&[streaming_call("t1", "now")])), [] as [&str; 0]);
    let all = bench.say(&[call("t2", "Bash", json!({"command": "ls"}))]);
    assert_eq!(types(&all), ["tool_call_start", "tool_call_start"]);
    assert_eq!((&all[0]["callId"], &all[0]["arguments"]), (&json!("t1"), &json!("{}")));
    bench.say(&[streaming_call("t3", "now")]);
    let rest = bench.finish();
    assert_eq!(types(&rest), ["tool_call_start", "text_done"]);
    assert_eq!(rest[0]["callId"], "t3");
}

#[test]
fn a_tool_result_has_a_result_or_an_error_with_a_code_and_never_both() {
    let limited = json!({"error": {"code": "rate_limit_tools", "message": "later"}}).to_string();
    for (state, output, code) in [
        (ToolState::Failed, "no such file", "tool_error"),
        (ToolState::Failed, "rate_limit_tools is only a word here", "tool_error"),
        (ToolState::Failed, limited.as_str(), "rate_limit_tools"),
        (ToolState::Interrupted, "", "tool_interrupted"),
        (ToolState::Denied, "not allowed", "tool_denied"),
    ] {
        let mut bench = bench();
        bench.say(&[call("t1", "Bash", json!({"command": "ls"}))]);
        let all = bench.say(&[result("t1", state, output)]);
        let expected = json!({"type": "tool_result", "callId": "t1", "toolName": "Bash", "ok": false,
            "error": {"code": code, "message": output}});
        assert_eq!(all, [expected], "{state:?}");
    }
}

#[test]
fn a_result_without_a_call_is_told_with_what_it_knows() {
    let mut bench = bench();
    let all = bench.say(&[result("lost", ToolState::Done, "out")]);
    let expected =
        json!({"type": "tool_result", "callId": "lost", "toolName": "", "ok": true, "result": "out"});
    assert_eq!(all, [expected]);
}

#[test]
fn a_result_that_came_before_its_call_is_told_again_after_it() {
    let mut bench = bench();
    bench.say(&[result("t1", ToolState::Done, "out")]);
    let all = bench.say(&[call("t1", "Bash", json!({"command": "ls"}))]);
    assert_eq!(types(&all), ["tool_call_start", "tool_result"]);
}

#[test]
fn a_result_that_is_repeated_is_told_once_and_a_different_one_again() {
    let mut bench = bench();
    bench.say(&[call("t1", "Bash", json!({"command": "ls"}))]);
    assert_eq!(bench.say(&[result("t1", ToolState::Done, "a")]).len(), 1);
    assert_eq!(bench.say(&[result("t1", ToolState::Done, "a")]).len(), 0);
    assert_eq!(bench.say(&[result("t1", ToolState::Done, "b")]).len(), 1);
}

#[test]
fn an_interruption_closes_calls_and_text_and_is_told_once() {
    let mut bench = bench();
    bench.say(&[turn(Turn::Start)]);
    bench.say(&[grow("m/0", Part::Reply, "I beg")]);
    bench.say(&[call("t1", "Bash", json!({"command": "sleep 9"}))]);
    let all = bench.say(&[interrupt("user_cancel")]);
    assert_eq!(
        all,
        [
            json!({"type": "text_segment_done", "responseId": "r0", "segmentId": "m/0", "text": "I beg",
                "interrupted": true}),
            json!({"type": "tool_result", "callId": "t1", "toolName": "Bash", "ok": false,
                "error": {"code": "tool_interrupted", "message": ""}}),
            json!({"type": "interrupt", "payload": {"reason": "user_cancel"}}),
            json!({"type": "output_cancelled", "responseId": "r0"}),
        ]
    );
    assert_eq!(bench.say(&[interrupt("user_cancel")]), [] as [Value; 0], "agents tell of it twice");
    assert_eq!(bench.say(&[turn(Turn::Done)]), [] as [Value; 0], "no text_done follows a cancelled response");
    let next = bench.say(&[prompt("p", "go on"), turn(Turn::Start), interrupt("shutdown")]);
    assert_eq!(types(&next), ["user_message", "interrupt", "output_cancelled"]);
    assert_eq!(next[1]["payload"]["reason"], "shutdown");
}

#[test]
fn output_cancelled_without_a_response_has_no_response_id() {
    let mut bench = bench();
    let all = bench.say(&[notice("n", NoticeKind::Interrupted, "Interrupted")]);
    assert_eq!(types(&all), ["interrupt", "output_cancelled"]);
    assert_eq!(all[1].get("responseId"), None);
}

#[test]
fn a_question_is_told_and_so_is_its_answer() {
    let mut bench = bench();
    bench.say(&[call("t1", "Bash", json!({"command": "rm x"}))]);
    let asked = bench.say(&[ask("t1", "q")]);
    let expected = json!({"type": "tool_ask", "callId": "t1", "toolName": "Bash", "askId": "q", "reason": null,
        "options": ["yes"]});
    assert_eq!(asked, [expected]);
    let answered = bench.say(&[Event::Ask { key: "t1".into(), ask: None }]);
    assert_eq!(answered, [json!({"type": "tool_ask_done", "callId": "t1", "toolName": "Bash"})]);
}

#[test]
fn truncated_and_agent_callback_are_flags_beside_the_outcome() {
    let mut bench = bench();
    let tool = Tool { agent_callback: true, ..Tool::call("agents_message", json!({"to": "fred"}).into()) };
    bench.say(&[Event::put("t1", Block::Tool(Box::new(tool)))]);
    let output = Box::new(Output { truncated: true, ..Output::text("half") });
    let end = End::Result { name: None, state: ToolState::Interrupted, output };
    let all = bench.say(&[Event::End { key: "t1".into(), end }]);
    assert_eq!(types(&all), ["tool_result"], "an interrupted exchange has no answer");
    assert_eq!((&all[0]["truncated"], &all[0]["agentCallback"]), (&json!(true), &json!(true)));
    assert_eq!(all[0]["error"]["code"], "tool_interrupted");
}

#[test]
fn an_agent_s_answer_to_a_message_is_a_callback_result() {
    let mut bench = bench();
    bench.say(&[turn(Turn::Start)]);
    let mut tool = Tool::call("agents_message", json!({"to": "fred", "content": "hi"}).into());
    tool.agent_callback = true;
    bench.say(&[Event::put("t1", Block::Tool(Box::new(tool)))]);
    let all = bench.say(&[result("t1", ToolState::Done, "hello back")]);
    assert_eq!(types(&all), ["tool_result", "agent_callback_result"]);
    assert_eq!(all[0]["agentCallback"], true);
    let callback = json!({"type": "agent_callback_result", "responseId": "r0", "callId": "t1",
        "result": "hello back"});
    assert_eq!(all[1], callback);
}

#[test]
fn a_message_from_another_agent_is_an_event_of_its_own() {
    let author = Author::Peer { name: "fred".into() };
    let block = Block::Prompt(Prompt { text: "hi".into(), author, ..Prompt::default() });
    let expected = json!({"type": "agent_message", "id": "p", "text": "hi", "from": "fred"});
    assert_eq!(bench().say(&[Event::put("p", block)]), [expected]);
}

#[test]
fn a_prompt_that_waits_is_told_again_when_it_is_delivered() {
    let mut bench = bench();
    let waiting = Prompt { text: "next".into(), queued: true, ..Prompt::default() };
    let all = bench.say(&[Event::put("p", Block::Prompt(waiting))]);
    assert_eq!(all, [json!({"type": "user_message", "id": "p", "text": "next", "queued": true})]);
    assert_eq!(
        bench.say(&[prompt("p", "next")]),
        [json!({"type": "user_message", "id": "p", "text": "next"})]
    );
    assert_eq!(bench.say(&[prompt("p", "next")]), [] as [Value; 0]);
}

#[test]
fn a_subagent_s_words_are_a_response_of_their_own() {
    let mut bench = bench();
    let mut all = bench.say(&[call("task", "Task", json!({"description": "d", "prompt": "p"}))]);
    all.extend(bench.say(&[under("task", reply("s1", "inner"))]));
    all.extend(bench.say(&[result("task", ToolState::Done, "inner")]));
    all.extend(bench.say(&[reply("m", "outer")]));
    all.extend(bench.say(&[turn(Turn::Done)]));
    let done: Vec<&Value> = all.iter().filter(|event| event["type"] == "text_done").collect();
    assert_eq!(done.len(), 2);
    assert_eq!((&done[0]["text"], &done[0]["parentCallId"]), (&json!("inner"), &json!("task")));
    assert_eq!((&done[1]["text"], done[1].get("parentCallId")), (&json!("outer"), None));
    let order = types(&all);
    let position = |kind: &str| order.iter().position(|known| *known == kind).unwrap();
    assert!(position("text_done") < position("tool_result"));
}

#[test]
fn a_person_s_next_prompt_ends_a_response_whose_end_nobody_told() {
    let mut bench = bench();
    bench.say(&[prompt("p1", "one")]);
    bench.say(&[reply("a", "answer")]);
    let all = bench.say(&[prompt("p2", "two"), turn(Turn::Start)]);
    assert_eq!(types(&all), ["text_done", "user_message"]);
    assert_eq!(all[1], json!({"type": "user_message", "id": "p2", "text": "two"}));
    let finish = bench.finish();
    assert_eq!(finish, [] as [Value; 0], "a response without content has nothing to finish");
}

#[test]
fn what_follows_the_end_of_a_turn_in_one_record_belongs_to_the_next() {
    let mut bench = bench();
    bench.say(&[reply("a", "answer")]);
    let all = bench.say(&[turn(Turn::Done), prompt("p2", "two")]);
    assert_eq!(types(&all), ["text_done", "user_message"]);
}

#[test]
fn remarks_are_notices_and_start_up_reports_are_hidden() {
    let mut bench = bench();
    let status = |name: &str| NoticeKind::Status { name: name.into() };
    let compaction = NoticeKind::Compaction { before: Some(9), after: None };
    let all = bench.say(&[
        notice("a", NoticeKind::Error, "overloaded"),
        notice("b", status("init"), "started"),
        notice("c", status("client_launched"), "launched"),
        notice("d", status("mode"), "plan"),
        notice("e", compaction, "what was said"),
        prompt("f", "Caveat: The messages below were generated by the user while running local commands."),
        Event::put("g", Block::Unknown(Unknown { kind: "odd".into(), raw: json!({"type": "odd"}).into() })),
    ]);
    assert_eq!(
        all,
        [
            json!({"type": "notice", "kind": "error", "text": "overloaded"}),
            json!({"type": "notice", "kind": "mode", "text": "plan"}),
            json!({"type": "context_compaction", "text": "what was said", "tokensBefore": 9, "tokensAfter": null}),
            json!({"type": "notice", "kind": "unknown", "name": "odd", "text": "{\"type\":\"odd\"}"}),
        ]
    );
}

#[test]
fn events_carry_the_record_s_time() {
    let mut bench = Bench::new(Profile::Events);
    let all = bench.say(&[prompt("p", "hi")]);
    assert_eq!(all[0]["timestamp"], "2026-03-04T05:06:07.089Z");
}
