//! One vocabulary of events for every agent: text, thinking, tools and stops, from the raw stream to what is shown.

use std::collections::BTreeSet;

use parlor_dialect::Format::{self, ClaudeSession, ClaudeStream, CodexExec};
use parlor_model::block::{Block, NoticeKind};
use parlor_model::session::Phase;
use parlor_model::time::Time;
use parlor_model::tool::ToolState;
use parlor_profile::Profile::Events;
use parlor_tests::{Talk, sessions};
use serde_json::{Value, json};

/// A stream of Claude's, each line a second after the one before.
#[derive(Default)]
struct Stream {
    lines: Vec<String>,
    /// The API message that is open, and its blocks so far.
    message: Option<String>,
    blocks: Vec<Value>,
}

impl Stream {
    fn line(&mut self, mut line: Value) -> &mut Self {
        let at = format!("2026-01-02T03:04:{:02}.000Z", self.lines.len());
        line["session_id"] = "s".into();
        line["parent_tool_use_id"] = line.get("parent_tool_use_id").cloned().unwrap_or(Value::Null);
        line["timestamp"] = at.into();
        self.lines.push(line.to_string());
        self
    }

    fn event(&mut self, event: Value) -> &mut Self {
        self.line(json!({"type": "stream_event", "event": event}))
    }

    fn prompt(&mut self, text: &str) -> &mut Self {
        self.line(json!({"type": "user", "message": {"role": "user", "content": text}}))
    }

    fn open(&mut self, index: usize, block: Value) -> &mut Self {
        if index == 0 {
            if self.message.is_some() {
                self.event(json!({"type": "message_stop"}));
            }
            let id = format!("m{}", self.lines.len());
            self.event(json!({"type": "message_start", "message": {"id": id, "role": "assistant", "content": [], "model": "x"}}));
            self.message = Some(id);
            self.blocks.clear();
        }
        self.blocks.push(block.clone());
        self.event(json!({"type": "content_block_start", "index": index, "content_block": block}))
    }

    fn delta(&mut self, index: usize, kind: &str, field: &str, text: &str) -> &mut Self {
        let mut delta = json!({"type": kind});
        delta[field] = text.into();
        match self.blocks[index].get(field).and_then(Value::as_str) {
            Some(before) => self.blocks[index][field] = format!("{before}{text}").into(),
            None => self.blocks[index]["input"] = serde_json::from_str(text).unwrap_or_default(),
        }
        self.event(json!({"type": "content_block_delta", "index": index, "delta": delta}))
    }

    fn text(&mut self, index: usize, deltas: &[&str]) -> &mut Self {
        self.open(index, json!({"type": "text", "text": ""}));
        for delta in deltas {
            self.delta(index, "text_delta", "text", delta);
        }
        self
    }

    fn thinking(&mut self, index: usize, deltas: &[&str]) -> &mut Self {
        self.open(index, json!({"type": "thinking", "thinking": ""}));
        for delta in deltas {
            self.delta(index, "thinking_delta", "thinking", delta);
        }
        self
    }

    fn call(&mut self, index: usize, id: &str, name: &str, input: &str) -> &mut Self {
        self.open(index, json!({"type": "tool_use", "id": id, "name": name, "input": {}}));
        self.delta(index, "input_json_delta", "partial_json", input).stop(index)
    }

    fn stop(&mut self, index: usize) -> &mut Self {
        let message =
            json!({"id": self.message, "role": "assistant", "model": "x", "content": [self.blocks[index]]});
        self.line(json!({"type": "assistant", "message": message}));
        self.event(json!({"type": "content_block_stop", "index": index}))
    }

    fn result(&mut self, id: &str, text: &str, is_error: bool) -> &mut Self {
        self.line(json!({"type": "user", "message": {"role": "user",
            "content": [{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error}]}}))
    }

    fn cancel(&mut self) -> &mut Self {
        self.prompt("[Request interrupted by user]")
    }

    fn done(&mut self, result: &str) -> &mut Self {
        self.line(json!({"type": "result", "subtype": "success", "is_error": false, "result": result}))
    }

    fn talk(&self) -> Talk {
        Talk::of(ClaudeStream, &self.lines)
    }
}

/// The events with their times left out.
fn events(talk: &Talk) -> Vec<Value> {
    let bare = |event: &Value| {
        let mut event = event.clone();
        if let Some(fields) = event.as_object_mut() {
            fields.remove("timestamp");
        }
        event
    };
    talk.told(Events).iter().map(bare).collect()
}

fn normal() -> Stream {
    let mut stream = Stream::default();
    stream
        .prompt("Run the tests")
        .thinking(0, &["which", " ones"])
        .stop(0)
        .text(1, &["I will", " \n", "run them."])
        .stop(1);
    stream.call(2, "toolu_1", "Bash", "{\"command\":\"make test\"}").result("toolu_1", "ok", false);
    stream.text(0, &["**All** pass."]).stop(0).done("**All** pass.");
    stream
}

#[test]
fn a_normal_turn_is_prompt_thinking_text_call_result_text_in_streaming_order() {
    let talk = normal().talk();
    let told = events(&talk);
    let kinds: Vec<&str> = told.iter().filter_map(|event| event["type"].as_str()).collect();
    assert_eq!(
        kinds,
        [
            "user_message",
            "thinking_start",
            "thinking_delta",
            "thinking_delta",
            "thinking_done",
            "text_delta",
            "text_delta",
            "text_delta",
            "text_segment_done",
            "tool_call_start",
            "tool_result",
            "text_delta",
            "text_segment_done",
            "text_done",
        ]
    );
    let one = |kind: &str| told.iter().find(|event| event["type"] == kind).unwrap();
    let id = one("text_done")["responseId"].clone();
    assert!(
        told.iter().filter_map(|event| event.get("responseId")).all(|other| *other == id),
        "one run, one response"
    );
    assert_eq!(one("thinking_done")["text"], "which ones");
    assert_eq!(
        *one("tool_call_start"),
        json!({"type": "tool_call_start", "callId": "toolu_1", "toolName": "Bash",
        "arguments": "{\"command\":\"make test\"}"})
    );
    assert_eq!(
        *one("tool_result"),
        json!({"type": "tool_result", "callId": "toolu_1", "toolName": "Bash", "ok": true, "result": "ok"})
    );
    let deltas: String = told
        .iter()
        .filter(|event| event["type"] == "text_delta")
        .filter_map(|event| event["delta"].as_str())
        .collect();
    assert_eq!(deltas, "I will \nrun them.**All** pass.");
    assert_eq!(one("text_done")["text"], deltas, "what was accumulated is what is done");
    assert_eq!(talk.session().phase, Phase::Idle);
    let html = talk.html();
    assert!(html.contains("<strong>All</strong> pass."), "and it is rendered as Markdown");
}

#[test]
fn every_event_has_the_time_of_its_own_record() {
    let talk = normal().talk();
    let times: Vec<&str> =
        talk.told(Events).iter().map(|event| event["timestamp"].as_str().unwrap()).collect();
    assert!(times.is_sorted() && times.iter().collect::<BTreeSet<_>>().len() > 10, "{times:?}");
    assert_eq!(talk.all(Events, "text_delta")[0]["timestamp"], "2026-01-02T03:04:08.000Z");
}

#[test]
fn a_cancel_during_text_keeps_what_was_said_marks_it_and_dates_it_by_its_first_word() {
    let mut stream = Stream::default();
    let talk = stream.prompt("Tell me").text(0, &["Once", " upon"]).cancel().done("").talk();
    let Block::Reply(reply) = &talk.entries()[1].block else { panic!() };
    assert!(reply.interrupted && !reply.streaming && reply.text == "Once upon");
    let began = Time::parse("2026-01-02T03:04:02.000Z");
    assert_eq!(talk.entries()[1].at, began, "when it began and not when it was cut");
    for (shown, mark) in [
        (talk.html(), "⚠ Interrupted</span>"),
        (talk.text(), "Once upon\n⚠ Interrupted"),
        (talk.terminal(), "⚠ Interrupted"),
        (talk.markdown(), "⚠ Interrupted"),
    ] {
        assert!(shown.contains("Once upon") && shown.contains(mark), "{shown}");
    }
    let told = events(&talk);
    let position = |kind: &str| told.iter().position(|event| event["type"] == kind);
    let segment = &told[position("text_segment_done").unwrap()];
    assert_eq!((&segment["text"], &segment["interrupted"]), (&json!("Once upon"), &json!(true)));
    let interrupt = json!({"type": "interrupt", "payload": {"reason": "user_cancel"}});
    assert_eq!(told[position("interrupt").unwrap()], interrupt);
    let cancelled: Vec<&Value> = told.iter().filter(|event| event["type"] == "output_cancelled").collect();
    assert_eq!(cancelled, [&json!({"type": "output_cancelled", "responseId": segment["responseId"]})]);
    assert_eq!(position("text_done"), None, "a cut response is not done");
    assert_eq!(talk.session().phase, Phase::Idle);
}

#[test]
fn a_cancel_during_tools_interrupts_each_open_call_and_no_other() {
    let mut stream = Stream::default();
    stream.prompt("Go").text(0, &["Looking"]).stop(0).call(1, "t1", "Bash", "{\"command\":\"a\"}");
    stream.call(2, "t2", "Bash", "{\"command\":\"b\"}").call(3, "t3", "Bash", "{\"command\":\"c\"}");
    let talk = stream.result("t1", "fine", false).cancel().result("t3", "Exit code 137", true).talk();
    let states = ["t1", "t2", "t3"].map(|id| talk.tool(id).state);
    assert_eq!(
        states,
        [ToolState::Done, ToolState::Interrupted, ToolState::Interrupted],
        "and a late error changes nothing"
    );
    let codes: Vec<(&str, &Value)> = talk
        .all(Events, "tool_result")
        .into_iter()
        .filter(|event| event["ok"] == false)
        .map(|event| (event["callId"].as_str().unwrap(), &event["error"]["code"]))
        .collect();
    assert_eq!(codes[..2], [("t2", &json!("tool_interrupted")), ("t3", &json!("tool_interrupted"))]);
    let html = talk.html();
    assert_eq!(html.matches("class=\"card interrupted\"").count(), 2);
    assert_eq!(html.matches("<span class=\"warn\">⚠ Interrupted</span>").count(), 2);
    assert!(html.contains("class=\"card success\"") && html.contains("Looking"));
    let errors = talk
        .entries()
        .iter()
        .filter(|entry| matches!(&entry.block, Block::Notice(notice) if notice.kind == NoticeKind::Error));
    assert_eq!(errors.count(), 0);
    assert!(
        html.find("Looking").unwrap() < html.find("e-t1").unwrap(),
        "text stands before the tools it led to"
    );
}

#[test]
fn a_response_with_nothing_in_it_leaves_no_bubble_and_one_with_only_a_call_stays() {
    let mut stream = Stream::default();
    let empty = stream.prompt("Go").cancel().talk();
    assert_eq!(empty.html().matches("entry assistant").count(), 0);
    let mut stream = Stream::default();
    let call = stream.prompt("Go").call(0, "t", "Bash", "{\"command\":\"x\"}").cancel().talk();
    assert!(call.html().contains("entry assistant") && call.html().contains("card interrupted"));
}

#[test]
fn calls_stand_in_the_bubble_of_the_turn_that_made_them() {
    let mut stream = Stream::default();
    stream
        .prompt("One")
        .text(0, &["first"])
        .stop(0)
        .call(1, "a", "Bash", "{}")
        .result("a", "x", false)
        .done("first");
    stream
        .prompt("Two")
        .text(0, &["second"])
        .stop(0)
        .call(1, "b", "Bash", "{}")
        .result("b", "y", false)
        .done("second");
    let talk = stream.talk();
    let order =
        ["One", "first", "e-a\"", "Two", "second", "e-b\""].map(|words| talk.html().find(words).unwrap());
    assert!(order.is_sorted(), "{order:?}");
    let opens: Vec<bool> = talk.entries().iter().map(|entry| entry.opens).collect();
    assert_eq!(opens, [true, true, false, true, true, false], "a bubble for each speaker of each turn");
    let responses: BTreeSet<&str> =
        talk.all(Events, "text_done").iter().filter_map(|event| event["responseId"].as_str()).collect();
    assert_eq!(responses.len(), 2);
}

#[test]
fn equal_and_backward_times_change_no_order() {
    let line = |uuid: &str, at: &str, text: &str| {
        json!({"type": "assistant", "uuid": uuid, "parentUuid": null, "isSidechain": false, "sessionId": "s", "timestamp": at,
            "message": {"id": uuid, "role": "assistant", "content": [{"type": "text", "text": text}]}})
        .to_string()
    };
    let same = "2026-01-02T03:04:05.000Z";
    let texts = ["w0", "w1", "w2", "w3"];
    let times = [same, same, "2026-01-02T03:04:04.000Z", same];
    let lines: Vec<String> = texts.iter().zip(times).map(|(text, at)| line(text, at, text)).collect();
    let talk = Talk::of(ClaudeSession, &lines);
    let ids: Vec<&str> = talk.entries().iter().map(|entry| entry.message.as_deref().unwrap()).collect();
    assert_eq!(ids, texts);
    let order = texts.map(|text| talk.html().find(text).unwrap());
    assert!(order.is_sorted());
}

#[test]
fn text_that_comes_whole_is_one_delta_and_its_end() {
    let talk = Talk::of(CodexExec, &sessions::lines(CodexExec));
    let deltas = talk.all(Events, "text_delta");
    let done = talk.all(Events, "text_done");
    assert_eq!((deltas.len(), done.len()), (1, 1));
    assert_eq!(deltas[0]["delta"], done[0]["text"]);
    assert!(done[0]["text"].as_str().unwrap().contains(&sessions::reply(CodexExec)));
}

#[test]
fn every_agent_speaks_the_same_events() {
    let known = [
        "user_message",
        "agent_message",
        "thinking_start",
        "thinking_delta",
        "thinking_done",
        "text_delta",
        "text_segment_done",
        "text_done",
        "tool_call_start",
        "tool_output_delta",
        "tool_result",
        "notice",
        "overtaken",
    ];
    for format in Format::ALL {
        let talk = Talk::of(format, &sessions::lines(format));
        let kinds: BTreeSet<&str> = talk.types(Events).into_iter().collect();
        for kind in &kinds {
            assert!(known.contains(kind), "{}: {kind}", format.name());
        }
        for kind in ["text_delta", "text_done", "tool_call_start"] {
            assert!(kinds.contains(kind), "{} says no {kind}", format.name());
        }
        // A model alone does not run its calls.
        let runs = !matches!(format, Format::OpenaiChat | Format::OpenaiResponses);
        assert_eq!(kinds.contains("tool_result"), runs, "{}", format.name());
        let deltas: String =
            talk.all(Events, "text_delta").iter().filter_map(|event| event["delta"].as_str()).collect();
        let done: String =
            talk.all(Events, "text_done").iter().filter_map(|event| event["text"].as_str()).collect();
        assert_eq!(deltas, done, "{}", format.name());
        assert!(
            talk.html().contains("<article class=\"entry assistant") && talk.html().contains("class=\"card "),
            "{}",
            format.name()
        );
    }
}

#[test]
fn every_end_of_a_call_is_told_in_one_form() {
    let mut stream = Stream::default();
    stream
        .prompt("Go")
        .call(0, "good", "Bash", "{}")
        .call(1, "bad", "Bash", "{}")
        .call(2, "limit", "Bash", "{}");
    stream.call(3, "cut", "Bash", "{}").result("good", "fine", false).result(
        "bad",
        "Exit code 3\nboom",
        true,
    );
    stream
        .result("limit", "{\"error\":{\"code\":\"rate_limit_tools\",\"message\":\"slow down\"}}", true)
        .cancel();
    let talk = stream.talk();
    let codes: Vec<(&str, Option<&str>)> = talk
        .all(Events, "tool_result")
        .into_iter()
        .map(|event| (event["callId"].as_str().unwrap(), event["error"]["code"].as_str()))
        .collect();
    assert_eq!(
        codes,
        [
            ("good", None),
            ("bad", Some("tool_error")),
            ("limit", Some("rate_limit_tools")),
            ("cut", Some("tool_interrupted"))
        ]
    );
    for event in talk.all(Events, "tool_result") {
        assert_eq!(event["ok"] == true, event.get("result").is_some_and(Value::is_string), "{event}");
        assert_eq!(event["ok"] == false, event.get("error").is_some(), "{event}");
        assert!(event["toolName"] == "Bash");
    }
    assert_eq!(talk.all(Events, "tool_result")[1]["error"]["message"], "Exit code 3\nboom");
    // The same call with the same end, by another agent, is told in the same words.
    let codex = Talk::of(
        CodexExec,
        &[
            r#"{"type":"item.completed","item":{"id":"i","type":"command_execution","command":"x","aggregated_output":"boom","exit_code":3,"status":"failed"}}"#,
        ],
    );
    let event = codex.all(Events, "tool_result")[0];
    assert_eq!(
        (&event["ok"], &event["error"]),
        (&json!(false), &json!({"code": "tool_error", "message": "boom"}))
    );
}

#[test]
fn output_streams_into_its_own_call() {
    let talk = Talk::of(
        Format::PiEvents,
        &[
            r#"{"type":"tool_execution_start","toolCallId":"a","toolName":"bash","args":{"command":"x"}}"#,
            r#"{"type":"tool_execution_start","toolCallId":"b","toolName":"bash","args":{"command":"y"}}"#,
            r#"{"type":"tool_execution_update","toolCallId":"a","toolName":"bash","args":{},"partialResult":{"content":[{"type":"text","text":"one\n"}]}}"#,
            r#"{"type":"tool_execution_update","toolCallId":"a","toolName":"bash","args":{},"partialResult":{"content":[{"type":"text","text":"one\ntwo"}]}}"#,
        ],
    );
    let deltas: Vec<(&str, &str)> = talk
        .all(Events, "tool_output_delta")
        .iter()
        .map(|event| (event["callId"].as_str().unwrap(), event["delta"].as_str().unwrap()))
        .collect();
    assert_eq!(deltas, [("a", "one\n"), ("a", "two")]);
    assert_eq!(talk.tool("a").output.as_ref().unwrap().joined(), "one\ntwo");
    assert_eq!((talk.tool("a").state, talk.tool("b").output.is_none()), (ToolState::Running, true));
    assert!(talk.html().contains("card pending running"));
}

#[test]
fn an_exchange_between_agents_is_an_open_card_with_message_work_and_answer() {
    let mut stream = Stream::default();
    stream.prompt("Ask Fred").call(
        0,
        "x",
        "mcp__parlor__agents_message",
        "{\"to\":\"fred\",\"content\":\"Is it **done**?\"}",
    );
    stream.line(
        json!({"type": "assistant", "parent_tool_use_id": "x", "message": {"id": "n", "role": "assistant",
        "content": [{"type": "tool_use", "id": "inner", "name": "Bash", "input": {"command": "make"}}]}}),
    );
    stream.line(json!({"type": "user", "parent_tool_use_id": "x", "message": {"role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "inner", "content": "built"}]}}));
    let talk = stream.result("x", "Yes, it is.", false).done("").talk();
    assert!(talk.tool("x").agent_callback);
    let callback = talk.all(Events, "agent_callback_result");
    assert_eq!(
        (callback.len(), &callback[0]["callId"], &callback[0]["result"]),
        (1, &json!("x"), &json!("Yes, it is."))
    );
    assert!(callback[0]["responseId"].is_string());
    let inner =
        talk.all(Events, "tool_call_start").into_iter().find(|event| event["callId"] == "inner").unwrap();
    assert_eq!(inner["parentCallId"], "x");
    let pieces = talk.pieces();
    let card = pieces.iter().find(|piece| piece.contains("id=\"e-x\"")).unwrap();
    assert!(card.contains("<details class=\"card success agent-callback\" open>"), "{card}");
    for part in ["to fred", "<strong>done</strong>", "Yes, it is."] {
        assert!(card.contains(part), "{part} in {card}");
    }
    assert!(card.contains("id=\"e-inner\"") && card.contains("make"), "the work lies inside: {card}");
    assert_eq!(pieces.len(), 2);
}

#[test]
fn a_message_from_another_agent_goes_the_same_way_as_everything_else() {
    let line = r#"{"type":"user","uuid":"u","parentUuid":null,"isSidechain":false,"sessionId":"s","message":{"role":"user","content":"<teammate-message teammate_id=\"ann\">hello there</teammate-message>"}}"#;
    let talk = Talk::of(ClaudeSession, &[line]);
    assert_eq!(talk.types(Events), ["agent_message"]);
    let html = talk.html();
    assert!(html.contains("Agent ann") && html.contains("hello there") && !html.contains("entry user"));
}

#[test]
fn an_empty_conversation_says_so() {
    assert!(Talk::of(ClaudeSession, &[] as &[&str]).page().contains("<p class=\"empty\">"));
    assert!(!normal().talk().page().contains("<p class=\"empty\">"));
}

#[test]
fn what_grows_has_a_sign_that_more_comes_until_it_ends_or_is_cut() {
    let more = |lines: &[String]| {
        let mut talk = Talk::begin(ClaudeStream);
        lines.iter().for_each(|line| {
            talk.say(line);
        });
        let html = talk.html();
        (html.contains("class=\"caret\""), html.contains("</i>Thinking</summary>"))
    };
    let mut stream = Stream::default();
    assert_eq!(more(&stream.prompt("Go").thinking(0, &["hm"]).lines), (false, true));
    assert_eq!(more(&stream.stop(0).lines), (false, false));
    assert_eq!(more(&stream.text(1, &["Hel", "lo"]).lines), (true, false));
    let cut = stream.lines.len();
    assert_eq!(more(&stream.cancel().lines), (false, false));
    stream.lines.truncate(cut);
    assert_eq!(more(&stream.stop(1).done("Hello").lines), (false, false));
}
