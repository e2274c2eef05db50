use crate::Format::{PiEvents, PiSession};
use crate::telling::{facts, fates, line_of, tell};
use crate::{Claim, pi_events, pi_session};
use parlor_model::event::{Fate, Meta};
use parlor_model::rule::Rule;

fn step(step: &str) -> String {
    format!(r#"{{"type":"message_update","assistantMessageEvent":{step}}}"#)
}

const START: &str = r#"{"type":"message_start","message":{"role":"assistant","content":[],"timestamp":7}}"#;

/// An assistant's message of the time 7.
fn message(content: &str, stop: &str) -> String {
    format!(
        r#"{{"role":"assistant","content":[{content}],"stopReason":"{stop}","errorMessage":"E","timestamp":7}}"#
    )
}

fn end(message: &str) -> String {
    format!(r#"{{"type":"message_end","message":{message}}}"#)
}

fn entry(id: &str, parent: &str, message: &str) -> String {
    format!(r#"{{"type":"message","id":"{id}","parentId":{parent},"message":{message}}}"#)
}

fn user(at: u32, text: &str) -> String {
    format!(r#"{{"role":"user","content":"{text}","timestamp":{at}}}"#)
}

fn told(format: crate::Format, lines: &[String]) -> Vec<String> {
    tell(format, &lines.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn deltas_are_assembled_by_their_index_and_the_message_has_the_last_word() {
    let call = r#"{"type":"toolCall","id":"c","name":"bash","arguments":{"command":"x"}}"#;
    let lines = [
        START.to_owned(),
        step(r#"{"type":"text_start","contentIndex":0}"#),
        step(r#"{"type":"text_delta","contentIndex":0,"delta":"a"}"#),
        step(r#"{"type":"toolcall_start","contentIndex":1,"id":"c","toolName":"bash"}"#),
        step(r#"{"type":"toolcall_delta","contentIndex":1,"delta":"{"}"#),
        step(r#"{"type":"text_delta","contentIndex":0,"delta":"b"}"#),
        step(r#"{"type":"text_end","contentIndex":0,"content":"ab"}"#),
        end(&message(&format!(r#"{{"type":"text","text":"abc"}},{call}"#), "toolUse")),
    ];
    assert_eq!(
        told(PiEvents, &lines),
        [
            "assistant-7/0 reply… ",
            "assistant-7/0 + a",
            "c tool bash  Pending",
            "c + {",
            "assistant-7/0 + b",
            "assistant-7/0 reply ab",
            "assistant-7/0 reply abc",
            r#"c tool bash {"command":"x"} Pending"#
        ]
    );
}

#[test]
fn older_streams_name_a_call_in_the_message_so_far() {
    let lines = [
        START.to_owned(),
        step(
            r#"{"type":"toolcall_start","contentIndex":1,"partial":{"content":[{},{"id":"c","name":"bash"}]}}"#,
        ),
    ];
    assert_eq!(told(PiEvents, &lines), ["c tool bash  Pending"]);
}

#[test]
fn a_call_that_is_streamed_before_its_id_is_one_block_with_it() {
    let lines = [
        START.to_owned(),
        step(r#"{"type":"toolcall_delta","contentIndex":0,"delta":"{}"}"#),
        end(&message(r#"{"type":"toolCall","id":"c","name":"f","arguments":{}}"#, "toolUse")),
        r#"{"type":"tool_execution_end","toolCallId":"c","toolName":"f","result":{"content":[{"type":"text","text":"r"}]}}"#.into(),
    ];
    let told = told(PiEvents, &lines);
    assert_eq!(told[2..], ["assistant-7/0 tool f {} Pending", "assistant-7/0 = Done r"]);
}

#[test]
fn accumulated_output_grows_by_its_suffix_and_a_moving_window_replaces_it() {
    let update = |text: &str| {
        format!(
            r#"{{"type":"tool_execution_update","toolCallId":"c","toolName":"bash","args":{{}},"partialResult":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#
        )
    };
    let told = told(PiEvents, &[update("1\\n"), update("1\\n2\\n"), update("1\\n2\\n"), update("2\\n3\\n")]);
    assert_eq!(told, ["c + 1\n", "c + 2\n", "c tool bash {} Running"]);
    let same = update("1\\n");
    assert_eq!(fates(PiEvents, &[&same, &same]), [Fate::Shown, Fate::Hidden(Rule::Step)]);
}

#[test]
fn a_result_that_comes_again_as_a_message_repeats() {
    let ended = r#"{"type":"tool_execution_end","toolCallId":"c","toolName":"bash","result":{"content":[]},"isError":false}"#;
    let again = end(r#"{"role":"toolResult","toolCallId":"c","content":[],"timestamp":1}"#);
    assert_eq!(
        fates(PiEvents, &[ended, &again, &again]),
        [Fate::Shown, Fate::Hidden(Rule::Repeat), Fate::Shown]
    );
}

#[test]
fn results_end_as_the_tool_says() {
    for (is_error, text, expected) in [
        ("false", "Command aborted", "c = Done Command aborted"),
        ("true", "x\\n\\nCommand aborted", "c = Interrupted x\n\nCommand aborted"),
        ("true", "Command exited with code 2", "c = Failed Command exited with code 2"),
        ("null", "error: bad", "c = Done error: bad"),
    ] {
        let line = entry(
            "a",
            "null",
            &format!(
                r#"{{"role":"toolResult","toolCallId":"c","content":[{{"type":"text","text":"{text}"}}],"isError":{is_error}}}"#
            ),
        );
        assert_eq!(told(PiSession, &[line]), [expected]);
    }
}

#[test]
fn a_retry_turns_the_error_into_a_remark_in_the_stream_and_in_the_file() {
    let (failed, good) =
        (message("", "error"), message(r#"{"type":"text","text":"ok"}"#, "stop").replace(":7}", ":8}"));
    let stream = [
        r#"{"type":"agent_start"}"#.into(),
        end(&failed),
        r#"{"type":"agent_end","willRetry":true}"#.into(),
        r#"{"type":"auto_retry_start","attempt":1,"errorMessage":"E"}"#.into(),
        r#"{"type":"agent_start"}"#.into(),
        end(&good),
        r#"{"type":"agent_end","willRetry":false}"#.into(),
        r#"{"type":"agent_settled"}"#.into(),
    ];
    let file = [entry("a", "null", &failed), entry("b", "\"a\"", &good)];
    let blocks =
        ["assistant-7/error notice error E", "assistant-7/error notice retry E", "assistant-8/0 reply ok"];
    for told in [told(PiEvents, &stream), told(PiSession, &file)] {
        let said: Vec<&String> = told.iter().filter(|line| line.contains('/')).collect();
        assert_eq!(said, blocks);
        assert_eq!(told.last().unwrap(), "done");
    }
    let turns: Vec<String> = told(PiSession, &file).into_iter().filter(|line| !line.contains('/')).collect();
    assert_eq!(turns, ["failed ", "start", "done"]);
}

#[test]
fn an_error_without_a_retry_fails_the_turn_when_it_settles() {
    let old = [end(&message("", "error")), r#"{"type":"agent_end","messages":[]}"#.into()];
    let new = [
        end(&message("", "error")),
        r#"{"type":"agent_end","willRetry":false}"#.into(),
        r#"{"type":"agent_settled","aborted":false}"#.into(),
    ];
    for told in [told(PiEvents, &old), told(PiEvents, &new)] {
        assert_eq!(told, ["assistant-7/error notice error E", "failed "]);
    }
}

#[test]
fn an_abort_cuts_the_last_block_and_calls_are_not_run() {
    let cut = message(
        r#"{"type":"text","text":"ha"},{"type":"toolCall","id":"c","name":"f","arguments":{}}"#,
        "aborted",
    );
    assert_eq!(
        told(PiSession, &[entry("a", "null", &cut)]),
        ["assistant-7/0 reply ha", "c tool f {} Interrupted", "stopped aborted"]
    );
    let cut = message(r#"{"type":"text","text":"ha"}"#, "aborted");
    assert_eq!(told(PiSession, &[entry("a", "null", &cut)]), ["assistant-7/0 reply! ha", "stopped aborted"]);
    let between = message("", "error").replace("\"E\"", "\"This operation was aborted\"");
    assert_eq!(told(PiSession, &[entry("a", "null", &between)]), ["stopped aborted"]);
}

#[test]
fn a_prompt_after_a_call_without_a_result_means_that_the_call_was_lost() {
    let call = message(r#"{"type":"toolCall","id":"c","name":"f","arguments":{}}"#, "toolUse");
    let told = told(PiSession, &[entry("a", "null", &call), entry("b", "\"a\"", &user(9, "again"))]);
    assert_eq!(told, ["c tool f {} Pending", "start", "c interrupted", "user-9 prompt again"]);
}

#[test]
fn a_parent_that_is_not_the_last_entry_leaves_everything_after_it() {
    let lines = [
        entry("a", "null", &user(1, "one")),
        entry("b", "\"a\"", &user(2, "two")),
        entry("c", "\"b\"", &user(3, "three")),
        entry("d", "\"a\"", &user(4, "four")),
        entry("e", "\"nowhere\"", &user(5, "five")),
        entry("f", "null", &user(6, "six")),
    ];
    let told: Vec<String> = told(PiSession, &lines).into_iter().filter(|line| line != "start").collect();
    assert_eq!(
        told,
        [
            "user-1 prompt one",
            "user-2 prompt two",
            "user-3 prompt three",
            "overtake user-2",
            "user-4 prompt four",
            "user-5 prompt five",
            "overtake user-1",
            "user-6 prompt six"
        ]
    );
}

#[test]
fn the_first_version_is_linear_and_equal_times_are_two_messages() {
    let line =
        format!(r#"{{"type":"message","timestamp":"2025-01-01T00:00:00Z","message":{}}}"#, user(1, "x"));
    let told: Vec<String> = told(PiSession, &[line.clone(), line]);
    assert_eq!(told, ["start", "user-1 prompt x", "start", "user-1~2 prompt x"]);
}

#[test]
fn an_id_that_another_message_uses_again_is_another_call() {
    let call = message(r#"{"type":"toolCall","id":"c","name":"f","arguments":{}}"#, "toolUse");
    let result = r#"{"role":"toolResult","toolCallId":"c","content":"r"}"#;
    let told = told(
        PiSession,
        &[
            entry("a", "null", &call),
            entry("b", "\"a\"", result),
            entry("d", "\"b\"", &call.replace(":7}", ":8}")),
            entry("e", "\"d\"", result),
        ],
    );
    assert_eq!(told, ["c tool f {} Pending", "c = Done r", "c~2 tool f {} Pending", "c~2 = Done r"]);
}

#[test]
fn entries_around_the_conversation_have_their_places() {
    let lines = [
        r#"{"type":"compaction","id":"a","parentId":null,"summary":"S","tokensBefore":9}"#,
        r#"{"type":"branch_summary","id":"b","parentId":"a","summary":"B"}"#,
        r#"{"type":"custom_message","id":"c","parentId":"b","content":"M","display":true}"#,
        r#"{"type":"custom_message","id":"d","parentId":"c","content":"M","display":false}"#,
        r#"{"type":"message","id":"e","parentId":"d","message":{"role":"bashExecution","command":"ls","output":"o","exitCode":1,"timestamp":3}}"#,
        r#"{"type":"label","id":"f","parentId":"e","targetId":"a","label":"L"}"#,
        r#"{"type":"checkpoint","id":"g","parentId":"f"}"#,
    ];
    assert_eq!(
        tell(PiSession, &lines),
        [
            "compaction-1 notice compaction S",
            "b notice info B",
            "c prompt M",
            "bashExecution-3 notice command o\n(exit code 1)"
        ]
    );
    let twice = r#"{"type":"custom_message","content":"M"}"#;
    assert_eq!(tell(PiSession, &[twice, twice]), ["custom_message prompt M", "custom_message~2 prompt M"]);
    assert_eq!(fates(PiSession, &lines)[3], Fate::Hidden(Rule::Injected));
    assert_eq!(fates(PiSession, &lines)[6], Fate::Unknown("checkpoint".into()));
}

#[test]
fn headers_names_and_queues_are_facts() {
    let header = r#"{"type":"session","version":3,"id":"s","cwd":"/w","parentSession":"/x/2026_p.jsonl"}"#;
    for format in [PiSession, PiEvents] {
        let facts = facts(format, &[header]);
        assert!(
            matches!(&facts[..], [Meta::Id { .. }, Meta::Cwd { .. }, Meta::Parent { id }] if id == "p"),
            "{facts:?}"
        );
    }
    let named = facts(PiSession, &[r#"{"type":"session_info","id":"a","parentId":null,"name":"N"}"#]);
    assert!(matches!(&named[..], [Meta::Title { text, .. }] if *text == "N"));
    let queue = facts(PiEvents, &[r#"{"type":"queue_update","steering":["a"],"followUp":["b"]}"#]);
    assert!(matches!(&queue[..], [Meta::Queue { prompts, .. }] if prompts.len() == 2));
}

#[test]
fn the_protocol_is_hidden_and_an_extension_that_asks_is_seen() {
    assert_eq!(
        fates(
            PiEvents,
            &[
                r#"{"id":"1","type":"response","command":"prompt","success":false,"error":"busy"}"#,
                r#"{"id":"1","type":"prompt","message":"hi"}"#,
                r#"{"type":"abort"}"#,
                r#"{"type":"extension_ui_request","id":"1","method":"confirm","title":"Sure?"}"#,
                r#"{"type":"extension_ui_request","id":"2","method":"setStatus","title":"x"}"#,
                r#"{"type":"novelty"}"#,
                "not json",
            ]
        ),
        [
            Fate::Hidden(Rule::Protocol),
            Fate::Hidden(Rule::Protocol),
            Fate::Hidden(Rule::Protocol),
            Fate::Shown,
            Fate::Hidden(Rule::Status),
            Fate::Unknown("novelty".into()),
            Fate::Unknown("text".into()),
        ]
    );
}

#[test]
fn an_edit_s_diff_has_its_true_line_numbers() {
    use parlor_model::event::{End, Event};
    let call = message(r#"{"type":"toolCall","id":"c","name":"edit","arguments":{"path":"f"}}"#, "toolUse");
    let result = r#"{"role":"toolResult","toolCallId":"c","content":[],"details":{"diff":"     ...\n 41 a\n-42 b\n+42 c\n     ...\n 90 z"}}"#;
    let mut events = Vec::new();
    let mut decoder = crate::Decoder::new(PiSession);
    for line in [entry("a", "null", &call), entry("b", "\"a\"", result)] {
        decoder.read(&line_of(&line), &mut events);
    }
    let Some(Event::End { end: End::Result { output, .. }, .. }) = events.pop() else { panic!("{events:?}") };
    assert_eq!(output.patches[0].path, "f");
    assert_eq!(output.patches[0].hunks[0].old_start, 41);
    assert_eq!(output.patches[0].hunks[0].lines, [" a", "-b", "+c"]);
    assert_eq!(output.patches[0].hunks[1].new_start, 90);
}

#[test]
fn claims_keep_clear_of_other_formats() {
    for (line, session, events) in [
        (
            r#"{"type":"message_start","message":{"id":"msg","type":"message","role":"assistant"}}"#,
            Claim::No,
            Claim::No,
        ),
        (r#"{"type":"message_start","message":{"role":"user","timestamp":1}}"#, Claim::No, Claim::Yes),
        (r#"{"type":"user","uuid":"x","parentUuid":null,"message":{"role":"user"}}"#, Claim::No, Claim::No),
        (r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user"}}"#, Claim::Yes, Claim::No),
        (r#"{"type":"session.start","id":"a","parentId":null}"#, Claim::Maybe, Claim::No),
        (r#"{"type":"turn.started"}"#, Claim::No, Claim::No),
    ] {
        assert_eq!(pi_session::claim(&line_of(line)), session, "{line}");
        assert_eq!(pi_events::claim(&line_of(line)), events, "{line}");
    }
}
