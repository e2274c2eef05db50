use crate::Format::Acp;
use crate::telling::{facts, fates, tell};
use parlor_model::event::{Fate, Meta};
use parlor_model::rule::Rule;

fn update(update: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{update}}}}}"#)
}

fn chunk(kind: &str, text: &str) -> String {
    update(&format!(r#"{{"sessionUpdate":"{kind}","content":{{"type":"text","text":"{text}"}}}}"#))
}

fn told(lines: &[String]) -> Vec<String> {
    tell(Acp, &lines.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn chunks_that_follow_each_other_are_one_message_until_something_else_comes() {
    let call = update(
        r#"{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","kind":"read","status":"pending","locations":[{"path":"/x"}]}"#,
    );
    assert_eq!(
        told(&[
            chunk("agent_thought_chunk", "hm"),
            chunk("agent_message_chunk", "a"),
            chunk("agent_message_chunk", ""),
            chunk("agent_message_chunk", "b"),
            call,
            chunk("agent_message_chunk", "c"),
            r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#.into(),
        ]),
        [
            "start",
            "message-1 thought… ",
            "message-1 + hm",
            "message-1 thought hm",
            "message-2 reply… ",
            "message-2 + a",
            "message-2 + b",
            "message-2 reply ab",
            r#"c tool read {"path":"/x"} Pending"#,
            "message-3 reply… ",
            "message-3 + c",
            "message-3 reply c",
            "done"
        ]
    );
}

#[test]
fn updates_replace_what_they_name_and_leave_the_rest() {
    let lines = [
        update(
            r#"{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","kind":"edit","rawInput":{"path":"p"}}"#,
        ),
        update(
            r#"{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"in_progress","rawInput":null,"content":[{"type":"content","content":{"type":"text","text":"one"}}]}"#,
        ),
        update(
            r#"{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"failed","content":[{"type":"content","content":{"type":"text","text":"two"}}]}"#,
        ),
    ];
    let told = told(&lines);
    assert_eq!(told[2], r#"c tool edit {"path":"p"} Running"#);
    assert_eq!(told.last().unwrap(), "c = Failed two");
}

#[test]
fn a_diff_is_a_patch_of_what_changed() {
    use crate::{Decoder, Format};
    use parlor_model::event::{End, Event};
    let line = update(
        r#"{"sessionUpdate":"tool_call","toolCallId":"c","kind":"edit","status":"completed","content":[{"type":"diff","path":"f","oldText":"1\n2\n3\n4\n5\n6","newText":"1\n2\n3\n4\nfive\n6"},{"type":"diff","path":"g","oldText":null,"newText":"x\ny"}]}"#,
    );
    let mut events = Vec::new();
    Decoder::new(Format::Acp).read(&crate::telling::line_of(&line), &mut events);
    let Some(Event::End { end: End::Result { output, .. }, .. }) = events.pop() else { panic!("{events:?}") };
    assert_eq!(output.patches[0].hunks[0].lines, [" 2", " 3", " 4", "-5", "+five", " 6"]);
    assert_eq!(output.patches[1].hunks[0].lines, ["+x", "+y"]);
}

#[test]
fn a_permission_is_an_ask_and_a_refusal_denies_the_call() {
    let ask = r#"{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"c","title":"rm","kind":"execute","rawInput":{"command":"rm"}},"options":[{"optionId":"y","name":"Allow","kind":"allow_once"},{"optionId":"n","name":"Reject","kind":"reject_once"}]}}"#;
    let no = r#"{"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"selected","optionId":"n"}}}"#;
    let failed = update(r#"{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"failed"}"#);
    let told = told(&[ask.into(), no.into(), failed]);
    assert_eq!(told[2], r#"c ask Some(["Allow", "Reject"])"#);
    assert_eq!(told[3], "c ask None");
    assert_eq!(told.last().unwrap(), "c = Denied ");
}

#[test]
fn prompts_of_the_client_open_a_turn_and_their_echo_repeats_them() {
    let prompt = r#"{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"prompt":[{"type":"text","text":"hi"}]}}"#;
    let lines = [prompt.to_owned(), chunk("user_message_chunk", "hi")];
    assert_eq!(told(&lines), ["start", "prompt-1 prompt hi"]);
    assert_eq!(told(&lines[1..]), ["message-1 prompt ", "message-1 prompt hi"]);
    for (answer, end) in [
        (r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}"#, "stopped cancelled"),
        (r#"{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"no"}}"#, "failed no"),
    ] {
        assert_eq!(tell(Acp, &[prompt, answer]).last().unwrap(), end);
    }
}

#[test]
fn an_error_of_the_client_does_not_fail_the_turn() {
    let request = r#"{"jsonrpc":"2.0","id":0,"method":"fs/read_text_file","params":{"path":"x"}}"#;
    let error = r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"no"}}"#;
    assert_eq!(fates(Acp, &[request, error]), [Fate::Hidden(Rule::Protocol), Fate::Hidden(Rule::Protocol)]);
}

#[test]
fn a_plan_is_a_tool_call_that_each_update_replaces() {
    let plan = update(r#"{"sessionUpdate":"plan","entries":[{"content":"x","status":"pending"}]}"#);
    let told = told(&[plan.clone(), plan]);
    assert_eq!(told[1], r#"plan-1 tool plan {"entries":[{"content":"x","status":"pending"}]} Done"#);
    assert_eq!(told[1], told[2]);
}

#[test]
fn terminal_output_that_comes_in_pieces_grows() {
    let lines = [
        update(
            r#"{"sessionUpdate":"tool_call","toolCallId":"c","kind":"execute","rawInput":{"command":"x"}}"#,
        ),
        update(
            r#"{"sessionUpdate":"tool_call_update","toolCallId":"c","_meta":{"terminal_output_delta":{"data":"one "}}}"#,
        ),
        update(
            r#"{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed","_meta":{"terminal_output_delta":{"data":"two"},"terminal_exit":{"exit_code":0}}}"#,
        ),
    ];
    let told = told(&lines);
    assert_eq!(told[2], "c + one ");
    assert_eq!(told.last().unwrap(), "c = Done one two");
}

#[test]
fn titles_models_and_ids_are_facts() {
    let lines = [
        r#"{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s","models":{"currentModelId":"m"}}}"#.to_owned(),
        update(r#"{"sessionUpdate":"session_info_update","title":"T"}"#),
    ];
    let facts = facts(Acp, &lines.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(matches!(&facts[..], [Meta::Id { .. }, Meta::Model { .. }, Meta::Title { .. }]), "{facts:?}");
}
