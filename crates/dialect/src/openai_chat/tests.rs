use crate::Format::OpenaiChat;
use crate::telling::{fates, line_of, tell};
use parlor_model::event::Fate;
use parlor_model::rule::Rule;

/// A chunk of the answer `a` with this delta.
fn delta(delta: &str, finish: &str) -> String {
    format!(r#"data: {{"id":"a","choices":[{{"index":0,"delta":{delta},"finish_reason":{finish}}}]}}"#)
}

fn told(deltas: &[&str]) -> Vec<String> {
    let mut lines: Vec<String> = deltas.iter().map(|text| delta(text, "null")).collect();
    lines.push("data: [DONE]".into());
    tell(OpenaiChat, &lines.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The last form of every tool call, in order.
fn calls(deltas: &[&str]) -> Vec<String> {
    let told = told(deltas);
    let complete = told.iter().filter(|line| line.contains(" tool "));
    let mut last: Vec<String> = Vec::new();
    for line in complete {
        let key = line.split(' ').next().unwrap().to_owned() + " ";
        last.retain(|other| !other.starts_with(&key));
        last.push(line.clone());
    }
    last
}

#[test]
fn text_grows_and_is_then_put_whole() {
    assert_eq!(
        told(&[r#"{"role":"assistant","content":""}"#, r#"{"content":"He"}"#, r#"{"content":"y\n"}"#]),
        ["start", "a/0/0 reply… ", "a/0/0 + He", "a/0/0 + y\n", "a/0/0 reply Hey\n", "done"]
    );
}

#[test]
fn reasoning_is_taken_once_under_any_name() {
    let both = r#"{"reasoning_content":"hm","reasoning":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm"}]}"#;
    for thought in [
        both,
        r#"{"reasoning":"hm","content":null}"#,
        r#"{"reasoning_details":[{"type":"reasoning.summary","summary":"hm"},{"type":"reasoning.encrypted","data":"x"}]}"#,
        r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}"#,
    ] {
        let told = told(&[thought, r#"{"content":"so"}"#]);
        assert_eq!(
            told,
            [
                "start",
                "a/0/0 thought… ",
                "a/0/0 + hm",
                "a/0/0 thought hm",
                "a/0/1 reply… ",
                "a/0/1 + so",
                "a/0/1 reply so",
                "done"
            ],
            "{thought}"
        );
    }
}

#[test]
fn calls_are_told_apart_by_index_id_and_completeness() {
    let call = |index: &str, id: &str, name: &str, arguments: &str| {
        format!(
            r#"{{"tool_calls":[{{{index}"id":{id},"function":{{"name":{name},"arguments":{arguments}}}}}]}}"#
        )
    };
    let table: [(&str, Vec<String>, Vec<&str>); 8] = [
        (
            "fragments by index",
            vec![
                call(r#""index":0,"#, "\"c\"", "\"f\"", "\"\""),
                call(r#""index":0,"#, "null", "null", r#""{\"x\":""#),
                call(r#""index":0,"#, "\"\"", "\"\"", r#""1}""#),
            ],
            vec![r#"c tool f {"x":1} Pending"#],
        ),
        (
            "two calls whose fragments alternate",
            vec![
                call(r#""index":0,"#, "\"c\"", "\"f\"", r#""{""#),
                call(r#""index":1,"#, "\"d\"", "\"g\"", r#""{""#),
                call(r#""index":0,"#, "null", "null", r#""}""#),
                call(r#""index":1,"#, "null", "null", r#""}""#),
            ],
            vec!["c tool f {} Pending", "d tool g {} Pending"],
        ),
        (
            "no index, whole calls",
            vec![call("", "\"c\"", "\"f\"", r#""{}""#), call("", "\"d\"", "\"f\"", r#""{}""#)],
            vec!["c tool f {} Pending", "d tool f {} Pending"],
        ),
        (
            "the same index with a new id and a name",
            vec![
                call(r#""index":0,"#, "\"c\"", "\"f\"", r#""{}""#),
                call(r#""index":0,"#, "\"d\"", "\"f\"", r#""{}""#),
            ],
            vec!["c tool f {} Pending", "d tool f {} Pending"],
        ),
        (
            "a gateway that makes up ids for fragments",
            vec![
                call(r#""index":0,"#, "\"c\"", "\"f\"", r#""{""#),
                call(r#""index":0,"#, "\"z\"", "null", r#""}""#),
            ],
            vec!["c tool f {} Pending"],
        ),
        (
            "a name that is repeated with each fragment",
            vec![
                call(r#""index":0,"#, "\"c\"", "\"f\"", r#""{""#),
                call(r#""index":0,"#, "\"c\"", "\"f\"", r#""}""#),
            ],
            vec!["c tool f {} Pending"],
        ),
        (
            "arguments that are an object",
            vec![call("", "\"c\"", "\"f\"", r#"{"x":1}"#)],
            vec![r#"c tool f {"x":1} Pending"#],
        ),
        (
            "no arguments at all",
            vec![call("", "null", "\"f\"", "\"\"")],
            vec!["a/0/call-0 tool f {} Pending"],
        ),
    ];
    for (quirk, deltas, expected) in table {
        assert_eq!(calls(&deltas.iter().map(String::as_str).collect::<Vec<_>>()), expected, "{quirk}");
    }
    assert_eq!(
        calls(&[
            r#"{"function_call":{"name":"f","arguments":""}}"#,
            r#"{"function_call":{"arguments":"{}"}}"#
        ]),
        ["a/0/call-0 tool f {} Pending"]
    );
}

#[test]
fn an_id_that_comes_again_in_the_next_answer_is_another_call() {
    let chunk = |id: &str| {
        format!(
            r#"data:{{"id":"{id}","choices":[{{"delta":{{"tool_calls":[{{"id":"call_0","function":{{"name":"f","arguments":"{{}}"}}}}]}},"finish_reason":"stop"}}]}}"#
        )
    };
    let request = r#"{"model":"m","messages":[{"role":"tool","tool_call_id":"call_0","content":"r"}]}"#;
    let told = tell(OpenaiChat, &[&chunk("a"), &chunk("b"), request]);
    assert!(told.contains(&"call_0 tool f {} Pending".to_owned()), "{told:?}");
    assert!(told.contains(&"call_0~2 tool f {} Pending".to_owned()), "{told:?}");
    assert_eq!(told.last().unwrap(), "call_0~2 = Done r");
    assert!(!told.contains(&"done".to_owned()), "a turn with calls goes on, whatever the finish reason");
}

#[test]
fn a_turn_ends_once_however_often_it_is_said() {
    let lines = [delta(r#"{"content":"x"}"#, "\"stop\""), delta("{}", "\"stop\""), "data: [DONE]".into()];
    let told = tell(OpenaiChat, &lines.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(told.iter().filter(|line| *line == "done").count(), 1);
    let cut = tell(OpenaiChat, &[&delta(r#"{"content":"x"}"#, "\"length\"")]);
    assert_eq!(
        cut[cut.len() - 2..],
        ["a/stop notice warning The answer was cut off at the token limit", "done"]
    );
}

#[test]
fn errors_end_the_turn_in_every_form() {
    for error in [
        r#"data: {"error":{"message":"no","code":500}}"#,
        r#"data: {"error":"no"}"#,
        r#"data: {"object":"error","message":"no"}"#,
        r#"error: {"detail":"x","error":{"message":"no"}}"#,
        r#"data: {"id":"a","choices":[{"index":0,"delta":{"content":""},"finish_reason":null}],"error":{"message":"no"}}"#,
        r#"data: {"id":"a","choices":[],"x_groq":{"error":"no"}}"#,
    ] {
        let told = tell(OpenaiChat, &[&delta(r#"{"content":"half"}"#, "null"), error, "data: [DONE]"]);
        assert_eq!(told[told.len() - 2..], ["a/0/0 reply half", "failed no"], "{error}");
    }
}

#[test]
fn cached_tokens_are_taken_out_of_the_input_and_the_last_count_wins() {
    let usage = r#"data: {"id":"a","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}"#;
    let groq =
        r#"data: {"id":"a","choices":[],"x_groq":{"usage":{"prompt_tokens":3,"completion_tokens":1}}}"#;
    assert_eq!(tell(OpenaiChat, &[usage, groq]), ["start", "a usage 6+4+2", "a usage 3+0+1"]);
    assert_eq!(fates(OpenaiChat, &[usage]), [Fate::Hidden(Rule::Usage)]);
}

#[test]
fn a_whole_answer_reads_like_a_streamed_one() {
    let whole = r#"{"id":"a","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}]}"#;
    assert_eq!(tell(OpenaiChat, &[whole]), ["start", "a/0/0 reply… ", "a/0/0 + x", "a/0/0 reply x", "done"]);
}

#[test]
fn requests_say_only_what_is_new() {
    let first =
        r#"{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"one"}]}"#;
    let answer = delta(r#"{"content":"x"}"#, "\"stop\"");
    let second = r#"{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"one"},{"role":"assistant","content":"x"},{"role":"user","content":[{"type":"text","text":"two"}]}]}"#;
    let told = tell(OpenaiChat, &[first, &answer, "data: [DONE]", second, second]);
    assert_eq!(told.first().unwrap(), "request-0/1 prompt one");
    assert_eq!(told.last().unwrap(), "request-0/3 prompt two");
    assert_eq!(told.iter().filter(|line| line.contains("reply x")).count(), 1);
}

#[test]
fn framing_is_hidden_and_other_streams_are_not_claimed() {
    assert_eq!(
        fates(OpenaiChat, &[": KEEP-ALIVE", "event: error", "data: [DONE]", "data:", "HTTP 400"]),
        [
            Fate::Hidden(Rule::Status),
            Fate::Hidden(Rule::Step),
            Fate::Hidden(Rule::Step),
            Fate::Hidden(Rule::Step),
            Fate::Unknown("text".into()),
        ]
    );
    for foreign in [
        r#"data: {"type":"message_start","message":{"id":"x"}}"#,
        r#"data: {"type":"response.created","response":{}}"#,
        r#"{"type":"error","error":{"message":"x"}}"#,
        "plain",
    ] {
        assert_eq!(super::claim(&line_of(foreign)), crate::Claim::No, "{foreign}");
    }
}
