use crate::Format::Bridge;
use crate::told::check;
use crate::{Claim, Format};
use bytes::Bytes;
use parlor_model::line::Line;

#[test]
fn the_flow_of_a_turn() {
    check(
        Bridge,
        &[
            r#"{"type":"stream","message":{"type":"user","content":"What changed?"}}"#,
            r#"{"type":"stream","message":{"type":"state","state":"executing"}}"#,
            r#"{"type":"stream","message":{"type":"system","content":"Session initialized with model sonnet-x","subtype":"init"}}"#,
            r#"{"type":"stream","message":{"type":"state","state":"thinking"}}"#,
            r#"{"type":"stream","message":{"type":"assistant","content":"I'll ","delta":true}}"#,
            r#"{"type":"stream","message":{"type":"assistant","content":"check","delta":true}}"#,
            r#"{"type":"stream","id":"r1","message":{"type":"assistant","content":"I'll check","delta":false}}"#,
            r#"{"type":"stream","message":{"type":"state","state":"executing","tool":"Bash"}}"#,
            r#"{"type":"stream","message":{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"git log"}}}"#,
            r#"{"type":"stream","message":{"type":"progress","id":"t1","tool":"Bash","elapsed":5}}"#,
            r#"{"type":"stream","message":{"type":"tool_result","id":"t1","tool":"Bash","output":"41f","success":true,"isError":false}}"#,
            r#"{"type":"stream","message":{"type":"usage","inputTokens":14,"outputTokens":"571","totalCost":0.5}}"#,
            r#"{"type":"stream","message":{"type":"system","content":"I'll check","subtype":"result"}}"#,
            r#"{"type":"stream","message":{"type":"state","state":"idle"}}"#,
            r#"{"type":"stream","message":{"type":"state","state":"idle"}}"#,
            r#"{"type":"stream","message":{"type":"system","content":"Something else","subtype":"result"}}"#,
        ],
        r#"
        shown
          put m1/0 prompt "What changed?" attachments 0
        hidden status
          start
        hidden init
          model sonnet-x
        hidden status
        shown
          grow m2 "I'll "
        shown
          grow m2 "check"
        shown
          put m2 reply "I'll check"
        hidden status
        shown
          put t1 tool Bash {"command":"git log"} Pending
        hidden status
          answered t1
        shown
          end t1 Done "41f" patches 0
        hidden usage
          usage turn0 14+571
          cost 0.5
        hidden same-result
        hidden status
          done
        hidden same-idle
        shown
          put n3 notice Result "Something else"
        "#,
    );
}

#[test]
fn stored_records_and_history_repeat_what_was_streamed_under_the_same_name() {
    check(
        Bridge,
        &[
            r#"{"type":"stream","id":"e0","message":{"type":"assistant","content":"Hel","delta":true}}"#,
            r#"{"type":"stream","id":"e1","message":{"type":"assistant","content":"Hello","delta":false}}"#,
            r#"{"id":"e1","timestamp":"2025-12-22T03:14:37Z","message":{"type":"assistant","content":"Hello"},"rawContent":"x"}"#,
            r#"{"type":"history","messages":[{"id":"e1","message":{"type":"assistant","content":"Hello"}},{"id":"e2","message":{"type":"new"}},{"type":"user","content":"bare"}],"hasMore":false}"#,
            r#"{"type":"assistant","content":"bare too","delta":false}"#,
        ],
        r#"
        shown
          grow m1 "Hel"
        shown
          put m1 reply "Hello"
        shown
          put m1 reply "Hello"
        shown
          put m1 reply "Hello"
          put n2 unknown new
          put m3/0 prompt "bare" attachments 0
        shown
          put m4 reply "bare too"
        "#,
    );
}

#[test]
fn text_that_never_completed_is_not_overwritten_by_the_next() {
    check(
        Bridge,
        &[
            r#"{"type":"assistant","content":"First thought","delta":true}"#,
            r#"{"type":"assistant","content":"Another reply","delta":false}"#,
            r#"{"type":"thinking","content":"hm","thinking":"hm","delta":true}"#,
            r#"{"type":"thinking","content":"hm, yes","delta":false}"#,
            r#"{"type":"assistant","content":" ","delta":true}"#,
            r#"{"type":"interrupted"}"#,
        ],
        r#"
        shown
          grow m1 "First thought"
        shown
          put m2 reply "Another reply"
        shown
          grow m3 thought "hm"
        shown
          put m3 thought "hm, yes"
        shown
          grow m4 " "
        shown
          interrupted interrupted
        "#,
    );
}

#[test]
fn results_are_accepted_under_both_names() {
    check(
        Bridge,
        &[
            r#"{"type":"tool_result","tool_use_id":"a","content":"one","is_error":null}"#,
            r#"{"type":"tool_result","id":"b","output":"two","success":false}"#,
            r#"{"type":"tool_result","id":"c","output":[{"text":"x"},{"text":"y"}],"isError":true}"#,
            r#"{"type":"assistant","content":[{"text":"Look"},{"thinking":"t","signature":""},{"id":"d","name":"Read","input":{}}]}"#,
            r#"{"type":"user","content":[{"tool_use_id":"d","content":"z","is_error":false}]}"#,
            r#"{"type":"tool_use","id":"e","name":"Read","input":{},"inputDescription":"d","result":{"output":"kept","success":true}}"#,
        ],
        r#"
        shown
          end a Done "one" patches 0
        shown
          end b Failed "two" patches 0
        shown
          end c Failed "x\ny" patches 0
        shown
          put m1/0 reply "Look"
          put m1/1 thought "t"
          put d tool Read {} Pending
        shown
          end d Done "z" patches 0
        shown
          put e tool Read {} Pending
          end e Done "kept" patches 0
        "#,
    );
}

#[test]
fn questions_are_tied_to_their_call_whichever_comes_first() {
    check(
        Bridge,
        &[
            r#"{"type":"permission","id":"p1","tool":"Bash","input":{"command":"rm","x":1},"options":["allow","deny"]}"#,
            r#"{"type":"tool_use","id":"t1","name":"Bash","input":{"x":1,"command":"rm"}}"#,
            r#"{"type":"state","state":"waiting_permission","tool":"Bash"}"#,
            r#"{"type":"state","state":"executing","tool":"Bash"}"#,
            r#"{"type":"tool_result","id":"t1","tool":"Bash","output":"ok"}"#,
            r#"{"type":"tool_use","id":"t2","name":"Write","input":{"file_path":"a"}}"#,
            r#"{"type":"permission","id":"p2","tool":"Write","input":{"file_path":"a"}}"#,
            r#"{"type":"question","id":"q1","questions":[{"question":"Which?","options":[{"label":"A"},{"label":"B"}]}]}"#,
        ],
        r#"
        shown
          put request p1 tool Bash {"command":"rm","x":1} Pending
          ask request p1 p1 "" ["allow", "deny"]
        shown
          put request p1 tool Bash {"x":1,"command":"rm"} Pending
        hidden status
        hidden status
          answered request p1
          start
        shown
          end request p1 Done "ok" patches 0
        shown
          put t2 tool Write {"file_path":"a"} Pending
        shown
          ask t2 p2 "" []
        shown
          put request q1 tool AskUserQuestion {"questions":[{"question":"Which?","options":[{"label":"A"},{"label":"B"}]}]} Pending
          ask request q1 q1 "Which?" ["A", "B"]
        "#,
    );
}

#[test]
fn a_subagent_opens_a_task_unless_its_call_is_there() {
    check(
        Bridge,
        &[
            r#"{"type":"subagent_start","id":"s1","description":"Look around"}"#,
            r#"{"type":"subagent_complete","id":"s1","summary":"Seen it"}"#,
            r#"{"type":"tool_use","id":"t1","name":"Task","input":{}}"#,
            r#"{"type":"subagent_start","id":"t1","description":"Look"}"#,
            r#"{"type":"subagent_complete","id":"t1","summary":"Done"}"#,
            r#"{"type":"tool_result","id":"t1","output":"Done"}"#,
        ],
        r#"
        shown
          put s1 tool Task {"description":"Look around"} Running
        shown
          end s1 Done "Seen it" patches 0
        shown
          put t1 tool Task {} Pending
        hidden step
        hidden step
        shown
          end t1 Done "Done" patches 0
        "#,
    );
}

#[test]
fn bad_input_has_an_answer() {
    check(
        Bridge,
        &[
            r#"{"type":"stream","message":{"type":"nova","content":"?"}}"#,
            r#"{"type":"stream"}"#,
            r#"{"type":"stream","message":{"type":"assistant","content":7,"delta":"yes"}}"#,
            r#"{"type":"tool_result","output":"nameless"}"#,
            r#"{"type":"state","state":9}"#,
            r#"{"type":"stream","message":{"type":"assistant","content":"cut"#,
            r#"{"type":"connected","sessionId":"s","model":"sonnet"}"#,
            r#"{"type":"error","code":"x","message":"No"}"#,
        ],
        r#"
        unknown nova
        unknown stream
        shown
          put m1/0 unknown untyped
        shown
          end t2 Done "nameless" patches 0
        hidden status
        damaged the line is cut
        hidden init
          id s
          model sonnet
        shown
          put n3 notice Error "No"
        "#,
    );
}

#[test]
fn bridge_claims_its_own_lines_only() {
    for (line, claim) in [
        (r#"{"type":"stream","message":{"type":"state","state":"idle"}}"#, Claim::Yes),
        (r#"{"id":"a","timestamp":"x","message":{"type":"user","content":"x"}}"#, Claim::Yes),
        (r#"{"messages":[],"hasMore":true}"#, Claim::Yes),
        (r#"{"type":"assistant","content":"x","delta":true}"#, Claim::Yes),
        (r#"{"type":"user","content":"x"}"#, Claim::Maybe),
        (r#"{"type":"user","content":"x","session_id":"s","timestamp":1.0}"#, Claim::No),
        (r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user"}}"#, Claim::No),
        (r#"{"type":"assistant","message":{"type":"message","content":[]}}"#, Claim::No),
        (r#"{"type":"system","content":"x","subtype":"y","uuid":"u"}"#, Claim::No),
    ] {
        let line = Line::new(Bytes::copy_from_slice(line.as_bytes()));
        assert_eq!(Format::Bridge.claim(&line), claim, "{line:?}");
    }
}
