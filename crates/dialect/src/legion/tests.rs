use crate::Format::Legion;
use crate::told::check;
use crate::{Claim, Format};
use bytes::Bytes;
use parlor_model::line::Line;
use parlor_model::time::Time;

#[test]
fn the_older_form_keeps_calls_and_results_in_its_metadata() {
    check(
        Legion,
        &[
            r#"{"type":"system","content":"Claude Code Launched","timestamp":"2025-10-22T22:42:24.874251+00:00","metadata":{"subtype":"client_launched","tools":[]},"session_id":"s"}"#,
            r#"{"type":"system","content":"System message","timestamp":1761073198.2,"metadata":{"subtype":"init","model":"sonnet","working_directory":"/w"},"session_id":"s"}"#,
            r#"{"type":"user","content":"Send it","session_id":"s","timestamp":"2025-10-21T18:59:02.228585+00:00"}"#,
            r#"{"type":"assistant","content":"Assistant response","timestamp":1761073198.27,"metadata":{"tool_uses":[{"id":"t1","name":"mcp__legion__send_comm","input":{"summary":"Q1"},"timestamp":1761073198.27}],"has_tool_uses":true,"has_tool_results":false,"has_thinking":false,"model":"sonnet"},"session_id":"s"}"#,
            r#"{"type":"user","content":"Tool results: 1 results","timestamp":1761073198.33,"metadata":{"tool_uses":[],"tool_results":[{"tool_use_id":"t1","content":"sent","is_error":null}],"has_tool_results":true},"session_id":"s"}"#,
            r#"{"type":"assistant","content":"Let me think","timestamp":1761073198.4,"message_id":"a1","metadata":{"thinking_content":"A B","thinking_blocks":[{"content":"A"},{"content":"B"}],"has_thinking":true}}"#,
            r#"{"type":"assistant","content":"plain","timestamp":1761073198.5}"#,
        ],
        r#"
        hidden client-launched
          id s
        hidden init
          model sonnet
          Cwd { path: "/w" }
        shown
          put m1/0 prompt "Send it" attachments 0
        shown
          put t1 tool mcp__legion__send_comm {"summary":"Q1"} Pending
        shown
          end t1 Done "sent" patches 0
        shown
          put a1/thought0 thought "A"
          put a1/thought1 thought "B"
          put a1/0 reply "Let me think"
        shown
          put m4/0 reply "plain"
        "#,
    );
}

#[test]
fn placeholders_are_known_exactly_and_only_with_their_flag() {
    check(
        Legion,
        &[
            r#"{"type":"assistant","content":"Assistant response","message_id":"a","metadata":{"has_tool_uses":false}}"#,
            r#"{"type":"assistant","content":"Assistant response.","message_id":"b","metadata":{"has_tool_uses":true,"tool_uses":[]}}"#,
            r#"{"type":"assistant","content":"Assistant response","message_id":"c","metadata":{"has_thinking":true,"thinking_content":"so"}}"#,
            r#"{"type":"user","content":"Tool results: 1 results","message_id":"d"}"#,
            r#"{"type":"user","content":"Tool results: many results","message_id":"e","metadata":{"has_tool_results":true}}"#,
            r#"{"type":"user","content":"Tool results: 0 results","message_id":"f","metadata":{"has_tool_results":true,"tool_results":[]}}"#,
        ],
        r#"
        shown
          put a/0 reply "Assistant response"
        shown
          put b/0 reply "Assistant response."
        shown
          put c/thought0 thought "so"
        shown
          put d/0 prompt "Tool results: 1 results" attachments 0
        shown
          put e/0 prompt "Tool results: many results" attachments 0
        hidden step
        "#,
    );
}

#[test]
fn the_newer_form_has_the_sdks_blocks_without_types() {
    check(
        Legion,
        &[
            r#"{"_type":"SystemMessage","timestamp":1790131136.87,"session_id":"s","data":{"subtype":"init","data":{"type":"system","cwd":"/w","model":"opus","claude_code_version":"2.1"}},"message_id":"r0"}"#,
            r#"{"_type":"AssistantMessage","session_id":"s","data":{"content":[{"thinking":"hm","signature":"x"},{"text":"Editing."},{"id":"t1","name":"Edit","input":{"file_path":"/a"}}],"model":"opus","parent_tool_use_id":null,"usage":{"input_tokens":2,"output_tokens":3},"message_id":"msg_1"},"message_id":"r1"}"#,
            r#"{"_type":"UserMessage","session_id":"s","data":{"content":[{"tool_use_id":"t1","content":"done","is_error":null}],"tool_use_result":{"filePath":"/a","structuredPatch":[{"oldStart":1,"newStart":1,"lines":["-a","+b"]}]}},"message_id":"r2"}"#,
            r#"{"_type":"AssistantMessage","session_id":"s","data":{"content":[{"text":"inner"}],"parent_tool_use_id":"t9","uuid":"u3"}}"#,
            r#"{"_type":"ResultMessage","session_id":"s","data":{"subtype":"success","is_error":false,"result":"Editing.","total_cost_usd":0.25,"usage":{"input_tokens":9}},"message_id":"r4"}"#,
            r#"{"_type":"ResultMessage","session_id":"s","data":{"subtype":"error_max_turns","is_error":false,"errors":["too long"]}}"#,
            r#"{"_type":"ResultMessage","data":{"subtype":"success","is_error":false,"result":"Other"}}"#,
            r#"{"_type":"Novelty","data":{}}"#,
        ],
        r#"
        hidden init
          id s
          model opus
          Cwd { path: "/w" }
          Version { version: "2.1" }
        shown
          usage msg_1 2+3
          put r1/0 thought "hm"
          put r1/1 reply "Editing."
          put t1 tool Edit {"file_path":"/a"} Pending
        shown
          end t1 Done "done" patches 1
        shown
          put u3/0 under t9 reply "inner"
        hidden same-result
          cost 0.25
          done
        shown
          failed too long
        shown
          put n1 notice Result "Other"
          done
        unknown Novelty
        "#,
    );
}

#[test]
fn a_calls_own_records_move_it_and_repeat_nothing() {
    check(
        Legion,
        &[
            r#"{"type":"tool_call","timestamp":1,"session_id":"s","tool_use_id":"t1","name":"Edit","input":{"a":1},"status":"pending","content":null}"#,
            r#"{"_type":"ToolCallUpdate","data":{"tool_use_id":"t1","name":"Edit","input":{"a":1},"status":"pending"}}"#,
            r#"{"_type":"ToolCallUpdate","data":{"tool_use_id":"t1","name":"Edit","input":{"a":1},"status":"awaiting_permission","permission":{"message":"Allow Edit?"},"_triggering_message":{"data":{"request_id":"q1"}}}}"#,
            r#"{"_type":"ToolCallUpdate","data":{"tool_use_id":"t1","name":"Edit","status":"running"}}"#,
            r#"{"_type":"UserMessage","data":{"content":[{"tool_use_id":"t1","content":"ok","is_error":false}]}}"#,
            r#"{"_type":"ToolCallUpdate","data":{"tool_use_id":"t1","name":"Edit","status":"completed","result":"ok"}}"#,
            r#"{"_type":"ToolCallUpdate","data":{"tool_use_id":"t2","name":"Bash","input":{},"status":"denied","error":"No"}}"#,
            r#"{"_type":"UserMessage","data":{"content":[{"tool_use_id":"t2","content":"rejected","is_error":true}]}}"#,
            r#"{"_type":"ToolCallUpdate","data":{"tool_use_id":"t3","name":"Bash","input":{},"status":"interrupted"}}"#,
        ],
        r#"
        shown
          id s
          put t1 tool Edit {"a":1} Pending
        hidden repeat
        shown
          ask t1 q1 "Allow Edit?" []
        shown
          answered t1
        shown
          end t1 Done "ok" patches 0
        hidden repeat
        shown
          put t2 tool Bash {} Pending
          end t2 Denied "No" patches 0
        shown
          end t2 Denied "rejected" patches 0
        shown
          put t3 tool Bash {} Pending
          end t3 Interrupted "" patches 0
        "#,
    );
}

#[test]
fn permissions_find_their_call_by_its_name_and_input() {
    check(
        Legion,
        &[
            r#"{"_type":"AssistantMessage","data":{"content":[{"id":"t1","name":"Edit","input":{"a":1,"b":2}}]},"message_id":"r"}"#,
            r#"{"type":"permission_request","metadata":{"tool_name":"Edit","input_params":{"b":2,"a":1},"request_id":"q1"}}"#,
            r#"{"type":"permission_response","metadata":{"behavior":"allow"}}"#,
            r#"{"type":"permission_request","metadata":{"tool_name":"Bash","input_params":{},"request_id":"q2"}}"#,
            r#"{"type":"permission_response","metadata":{"decision":"deny","request_id":"q2"}}"#,
            r#"{"type":"permission_response","metadata":{"decision":"deny"}}"#,
        ],
        r#"
        shown
          put t1 tool Edit {"a":1,"b":2} Pending
        shown
          ask t1 q1 "" []
        shown
          answered t1
        shown
          put q1 tool Bash {} Pending
          ask q1 q2 "" []
        shown
          end q1 Denied "" patches 0
        hidden status
        "#,
    );
}

#[test]
fn other_system_messages_are_short_notices() {
    check(
        Legion,
        &[
            r#"{"type":"system","content":"Mode changed","message_id":"a","metadata":{"subtype":"mode_change"}}"#,
            r#"{"type":"system","content":"Hook: guard","message_id":"b","metadata":{"subtype":"hook_response","exit_code":0}}"#,
            r#"{"type":"system","content":"Hook: guard failed","message_id":"c","metadata":{"subtype":"hook_response","exit_code":1}}"#,
            r#"{"_type":"SystemMessage","data":{"subtype":"compact_boundary","data":{"compact_metadata":{"pre_tokens":900,"post_tokens":"90"}}},"message_id":"d"}"#,
            r#"{"_type":"UserMessage","data":{"content":"This session is being continued from a previous conversation. Summary."},"message_id":"e"}"#,
            r#"{"_type":"TaskNotificationMessage","data":{"summary":"Explored","status":"completed"},"message_id":"f"}"#,
            r#"{"_type":"SystemMessage","data":{"subtype":"status","data":{"status":"requesting"}}}"#,
            r#"{"type":"user","content":"[Request interrupted by user for tool use]"}"#,
            r#"{"type":"system","metadata":null}"#,
            r#"{"type":"user","content":null}"#,
            r#"{"type":"user"}"#,
        ],
        r#"
        shown
          put a notice Status { name: "mode_change" } "Mode changed"
        hidden quiet-hook
        shown
          put c notice Hook { name: "" } "Hook: guard failed"
        shown
          put n1 notice Compaction { before: Some(900), after: Some(90) } ""
        shown
          put n1 notice Compaction { before: None, after: None } "This session is being continued from a previous conversation. Summary."
        shown
          put f notice Task "Explored"
        hidden status
        shown
          interrupted user_cancel
        shown
          put n2 notice Status { name: "" } ""
        hidden step
        unknown user
        "#,
    );
}

#[test]
fn both_timestamps_of_one_file_are_one_kind_of_instant() {
    for (stamp, expected) in [
        ("\"2025-10-21T18:59:02.228585+00:00\"", 1_761_073_142_228_585),
        ("1761073142.228585", 1_761_073_142_228_585),
    ] {
        let line = format!(r#"{{"type":"user","content":"x","timestamp":{stamp}}}"#);
        let mut decoder = crate::Decoder::new(Some(Legion));
        let reading = decoder.read(&Line::new(Bytes::from(line)), &mut Vec::new());
        assert_eq!(reading.at, Some(Time(expected)));
    }
}

#[test]
fn legion_claims_its_own_lines_only() {
    for (line, claim) in [
        (r#"{"_type":"UserMessage","timestamp":1.0,"data":{}}"#, Claim::Yes),
        (r#"{"type":"user","content":"x","session_id":"s","timestamp":1.0}"#, Claim::Yes),
        (
            r#"{"type":"assistant","content":"x","timestamp":1.0,"metadata":{"has_tool_uses":false}}"#,
            Claim::Yes,
        ),
        (r#"{"type":"user","content":"x"}"#, Claim::No),
        (r#"{"type":"system","subtype":"init","session_id":"s"}"#, Claim::No),
        (
            r#"{"type":"user","sessionId":"s","session_id":"s","content":"x","timestamp":"x","message":{}}"#,
            Claim::No,
        ),
    ] {
        let line = Line::new(Bytes::copy_from_slice(line.as_bytes()));
        assert_eq!(Format::Legion.claim(&line), claim, "{line:?}");
    }
}
