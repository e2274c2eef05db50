//! One small sound session per format. Each has words of its own, so that a suite can see whether they are shown.

use parlor_dialect::Format;

/// The word in the reply of a format's session.
pub fn reply(format: Format) -> String {
    format!("marigold-{}", format.name())
}

/// The word in the tool output of a format's session.
pub fn output(format: Format) -> String {
    format!("basil-{}", format.name())
}

/// The lines of a format's session.
pub fn lines(format: Format) -> Vec<String> {
    let lines: &[&str] = match format {
        Format::ClaudeSession => CLAUDE_SESSION,
        Format::ClaudeStream => CLAUDE_STREAM,
        Format::CodexRollout => CODEX_ROLLOUT,
        Format::CodexExec => CODEX_EXEC,
        Format::CodexApp => CODEX_APP,
        Format::PiSession => PI_SESSION,
        Format::PiEvents => PI_EVENTS,
        Format::OpenaiChat => OPENAI_CHAT,
        Format::OpenaiResponses => OPENAI_RESPONSES,
        Format::Acp => ACP,
        Format::Cdev => CDEV,
        Format::Bridge => BRIDGE,
        Format::Legion => LEGION,
    };
    let named = |line: &&str| line.replace("MARIGOLD", &reply(format)).replace("BASIL", &output(format));
    lines.iter().map(named).collect()
}

/// The same as the bytes of a file.
pub fn file(format: Format) -> Vec<u8> {
    join(&lines(format))
}

/// Lines as the bytes of a file.
pub fn join<T: AsRef<[u8]>>(lines: &[T]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in lines {
        bytes.extend_from_slice(line.as_ref());
        bytes.push(b'\n');
    }
    bytes
}

const CLAUDE_SESSION: &[&str] = &[
    r#"{"type":"summary","summary":"Flowers","leafUuid":"u0"}"#,
    r#"{"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"/w","sessionId":"cs","version":"2.1.0","gitBranch":"main","type":"user","message":{"role":"user","content":"Which flower? é😀"},"uuid":"u1","timestamp":"2026-01-02T03:04:05.006Z"}"#,
    r#"{"parentUuid":"u1","isSidechain":false,"cwd":"/w","sessionId":"cs","version":"2.1.0","type":"assistant","message":{"id":"msg_cs1","type":"message","role":"assistant","model":"claude-x","content":[{"type":"thinking","thinking":"look","signature":"s"}],"usage":{"input_tokens":3,"output_tokens":1}},"uuid":"u2","timestamp":"2026-01-02T03:04:06.006Z"}"#,
    r#"{"parentUuid":"u2","isSidechain":false,"cwd":"/w","sessionId":"cs","version":"2.1.0","type":"assistant","message":{"id":"msg_cs1","type":"message","role":"assistant","model":"claude-x","content":[{"type":"tool_use","id":"toolu_cs1","name":"Bash","input":{"command":"ls"}}],"usage":{"input_tokens":3,"output_tokens":9}},"uuid":"u3","timestamp":"2026-01-02T03:04:07.006Z"}"#,
    r#"{"parentUuid":"u3","isSidechain":false,"cwd":"/w","sessionId":"cs","version":"2.1.0","type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_cs1","type":"tool_result","content":"BASIL","is_error":false}]},"uuid":"u4","timestamp":"2026-01-02T03:04:08.006Z","toolUseResult":{"stdout":"BASIL","stderr":"","interrupted":false}}"#,
    r#"{"parentUuid":"u4","isSidechain":false,"cwd":"/w","sessionId":"cs","version":"2.1.0","type":"assistant","message":{"id":"msg_cs2","type":"message","role":"assistant","model":"claude-x","content":[{"type":"text","text":"A MARIGOLD é😀"}],"stop_reason":"end_turn","usage":{"input_tokens":4,"output_tokens":5}},"uuid":"u5","timestamp":"2026-01-02T03:04:09.006Z"}"#,
];

const CLAUDE_STREAM: &[&str] = &[
    r#"{"type":"system","subtype":"init","cwd":"/w","session_id":"st","tools":["Bash"],"model":"claude-x","permissionMode":"default","uuid":"w0"}"#,
    r#"{"type":"assistant","message":{"id":"msg_st0","type":"message","role":"assistant","model":"claude-x","content":[{"type":"tool_use","id":"toolu_st0","name":"Task","input":{"description":"look","prompt":"Look around","subagent_type":"Explore"}}],"usage":{"input_tokens":3,"output_tokens":1}},"parent_tool_use_id":null,"session_id":"st","uuid":"w0a"}"#,
    r#"{"type":"assistant","message":{"id":"msg_st0s","type":"message","role":"assistant","model":"claude-x","content":[{"type":"tool_use","id":"toolu_st0s","name":"Read","input":{"file_path":"/a"}}],"usage":{"input_tokens":3,"output_tokens":1}},"parent_tool_use_id":"toolu_st0","session_id":"st","uuid":"w0b"}"#,
    r#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_st0s","type":"tool_result","content":"inner"}]},"parent_tool_use_id":"toolu_st0","session_id":"st","uuid":"w0c"}"#,
    r#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_st0","type":"tool_result","content":[{"type":"text","text":"looked"}]}]},"parent_tool_use_id":null,"session_id":"st","uuid":"w0d"}"#,
    r#"{"type":"assistant","message":{"id":"msg_st1","type":"message","role":"assistant","model":"claude-x","content":[{"type":"tool_use","id":"toolu_st1","name":"Bash","input":{"command":"ls"}}],"usage":{"input_tokens":3,"output_tokens":1}},"parent_tool_use_id":null,"session_id":"st","uuid":"w1"}"#,
    r#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_st1","type":"tool_result","content":"BASIL"}]},"parent_tool_use_id":null,"session_id":"st","uuid":"w2"}"#,
    r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"msg_st2","type":"message","role":"assistant","model":"claude-x","content":[],"usage":{"input_tokens":3,"output_tokens":1}}},"session_id":"st","parent_tool_use_id":null,"uuid":"w3"}"#,
    r#"{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}},"session_id":"st","parent_tool_use_id":null,"uuid":"w4"}"#,
    r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"A MARI"}},"session_id":"st","parent_tool_use_id":null,"uuid":"w5"}"#,
    r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" \n"}},"session_id":"st","parent_tool_use_id":null,"uuid":"w6"}"#,
    r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"MARIGOLD é😀"}},"session_id":"st","parent_tool_use_id":null,"uuid":"w7"}"#,
    r#"{"type":"assistant","message":{"id":"msg_st2","type":"message","role":"assistant","model":"claude-x","content":[{"type":"text","text":"A MARI \nMARIGOLD é😀"}],"usage":{"input_tokens":3,"output_tokens":1}},"parent_tool_use_id":null,"session_id":"st","uuid":"w8"}"#,
    r#"{"type":"stream_event","event":{"type":"content_block_stop","index":0},"session_id":"st","parent_tool_use_id":null,"uuid":"w9"}"#,
    r#"{"type":"stream_event","event":{"type":"message_stop"},"session_id":"st","parent_tool_use_id":null,"uuid":"w10"}"#,
    r#"{"type":"result","subtype":"success","is_error":false,"duration_ms":10,"num_turns":1,"result":"A MARI \nMARIGOLD é😀","session_id":"st","total_cost_usd":0.01,"usage":{"input_tokens":3,"output_tokens":8},"uuid":"w11"}"#,
];

const CODEX_ROLLOUT: &[&str] = &[
    r#"{"timestamp":"2026-01-02T03:04:05.006Z","type":"session_meta","payload":{"id":"cr","timestamp":"2026-01-02T03:04:05.006Z","cwd":"/w","originator":"codex_cli_rs","cli_version":"0.9","source":"cli"}}"#,
    r#"{"timestamp":"2026-01-02T03:04:05.106Z","type":"turn_context","payload":{"cwd":"/w","approval_policy":"never","model":"gpt-x"}}"#,
    r#"{"timestamp":"2026-01-02T03:04:05.206Z","type":"event_msg","payload":{"type":"user_message","message":"Never mind"}}"#,
    r#"{"timestamp":"2026-01-02T03:04:05.306Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Fine"}]}}"#,
    r#"{"timestamp":"2026-01-02T03:04:05.406Z","type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}"#,
    r#"{"timestamp":"2026-01-02T03:04:06.006Z","type":"event_msg","payload":{"type":"user_message","message":"Which flower? é😀"}}"#,
    r#"{"timestamp":"2026-01-02T03:04:07.006Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"call_cr1"}}"#,
    r#"{"timestamp":"2026-01-02T03:04:08.006Z","type":"response_item","payload":{"type":"function_call_output","call_id":"call_cr1","output":"BASIL"}}"#,
    r#"{"timestamp":"2026-01-02T03:04:09.006Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"A MARIGOLD é😀"}]}}"#,
    r#"{"timestamp":"2026-01-02T03:04:10.006Z","type":"event_msg","payload":{"type":"task_complete","last_agent_message":"A MARIGOLD é😀"}}"#,
];

const CODEX_EXEC: &[&str] = &[
    r#"{"type":"thread.started","thread_id":"ce"}"#,
    r#"{"type":"turn.started"}"#,
    r#"{"type":"item.started","item":{"id":"item_0","type":"command_execution","command":"ls","aggregated_output":"","exit_code":null,"status":"in_progress"}}"#,
    r#"{"type":"item.completed","item":{"id":"item_0","type":"command_execution","command":"ls","aggregated_output":"BASIL","exit_code":0,"status":"completed"}}"#,
    r#"{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"A MARIGOLD é😀"}}"#,
    r#"{"type":"turn.completed","usage":{"input_tokens":9,"cached_input_tokens":3,"output_tokens":5}}"#,
];

const CODEX_APP: &[&str] = &[
    r#"{"id":1,"result":{"thread":{"id":"ca"},"model":"gpt-x"}}"#,
    r#"{"method":"thread/started","params":{"thread":{"id":"ca"}}}"#,
    r#"{"method":"turn/started","params":{"threadId":"ca","turn":{"id":"turn1","items":[],"status":"inProgress"}}}"#,
    r#"{"method":"item/completed","params":{"threadId":"ca","turnId":"turn1","item":{"type":"userMessage","id":"ca_u","content":[{"type":"text","text":"Which flower?"}]}}}"#,
    r#"{"method":"item/started","params":{"threadId":"ca","turnId":"turn1","item":{"type":"commandExecution","id":"ca_c","command":"ls","cwd":"/w","status":"inProgress","aggregatedOutput":null,"exitCode":null}}}"#,
    r#"{"method":"item/completed","params":{"threadId":"ca","turnId":"turn1","item":{"type":"commandExecution","id":"ca_c","command":"ls","cwd":"/w","status":"completed","aggregatedOutput":"BASIL","exitCode":0}}}"#,
    r#"{"method":"item/started","params":{"threadId":"ca","turnId":"turn1","item":{"type":"agentMessage","id":"ca_m","text":""}}}"#,
    r#"{"method":"item/agentMessage/delta","params":{"threadId":"ca","turnId":"turn1","itemId":"ca_m","delta":"A "}}"#,
    r#"{"method":"item/agentMessage/delta","params":{"threadId":"ca","turnId":"turn1","itemId":"ca_m","delta":"MARIGOLD é😀"}}"#,
    r#"{"method":"item/completed","params":{"threadId":"ca","turnId":"turn1","item":{"type":"agentMessage","id":"ca_m","text":"A MARIGOLD é😀"}}}"#,
    r#"{"method":"turn/completed","params":{"threadId":"ca","turn":{"id":"turn1","items":[],"status":"completed","error":null}}}"#,
];

const PI_SESSION: &[&str] = &[
    r#"{"type":"session","version":3,"id":"ps","timestamp":"2026-01-02T03:04:05.006Z","cwd":"/w"}"#,
    r#"{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-02T03:04:06.006Z","message":{"role":"user","content":[{"type":"text","text":"Which flower?"}],"timestamp":1767323046006}}"#,
    r#"{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-01-02T03:04:07.006Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"ps_c1","name":"bash","arguments":{"command":"ls"}}],"provider":"p","model":"m","usage":{"input":3,"output":4},"stopReason":"toolUse","timestamp":1767323047006}}"#,
    r#"{"type":"message","id":"a3","parentId":"a2","timestamp":"2026-01-02T03:04:08.006Z","message":{"role":"toolResult","toolCallId":"ps_c1","toolName":"bash","content":[{"type":"text","text":"BASIL"}],"isError":false,"timestamp":1767323048006}}"#,
    r#"{"type":"message","id":"a4","parentId":"a3","timestamp":"2026-01-02T03:04:09.006Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"yes"},{"type":"text","text":"A MARIGOLD é😀"}],"provider":"p","model":"m","usage":{"input":3,"output":4},"stopReason":"stop","timestamp":1767323049006}}"#,
];

const PI_EVENTS: &[&str] = &[
    r#"{"type":"session","version":3,"id":"pe","timestamp":"2026-01-02T03:04:05.006Z","cwd":"/w"}"#,
    r#"{"type":"agent_start"}"#,
    r#"{"type":"turn_start"}"#,
    r#"{"type":"message_start","message":{"role":"user","content":[{"type":"text","text":"Which flower?"}],"timestamp":1767323046006}}"#,
    r#"{"type":"message_end","message":{"role":"user","content":[{"type":"text","text":"Which flower?"}],"timestamp":1767323046006}}"#,
    r#"{"type":"tool_execution_start","toolCallId":"pe_c1","toolName":"bash","args":{"command":"ls"}}"#,
    r#"{"type":"tool_execution_end","toolCallId":"pe_c1","toolName":"bash","result":{"content":[{"type":"text","text":"BASIL"}]},"isError":false}"#,
    r#"{"type":"message_start","message":{"role":"assistant","content":[],"provider":"p","model":"m","timestamp":1767323047006}}"#,
    r#"{"type":"message_update","assistantMessageEvent":{"type":"text_start","contentIndex":0}}"#,
    r#"{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"A "}}"#,
    r#"{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"MARIGOLD é😀"}}"#,
    r#"{"type":"message_update","assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"A MARIGOLD é😀"}}"#,
    r#"{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"A MARIGOLD é😀"}],"provider":"p","model":"m","usage":{"input":3,"output":4},"stopReason":"stop","timestamp":1767323047006}}"#,
    r#"{"type":"turn_end","message":{"role":"assistant","content":[{"type":"text","text":"A MARIGOLD é😀"}]},"toolResults":[]}"#,
    r#"{"type":"agent_end","messages":[]}"#,
];

const OPENAI_CHAT: &[&str] = &[
    r#"data: {"id":"oc","object":"chat.completion.chunk","created":1767323046,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
    r#"data: {"id":"oc","object":"chat.completion.chunk","created":1767323046,"model":"m","choices":[{"index":0,"delta":{"content":"A "},"finish_reason":null}]}"#,
    r#"data: {"id":"oc","object":"chat.completion.chunk","created":1767323046,"model":"m","choices":[{"index":0,"delta":{"content":"MARIGOLD é😀"},"finish_reason":null}]}"#,
    r#"data: {"id":"oc","object":"chat.completion.chunk","created":1767323046,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"oc_c1","type":"function","function":{"name":"bash","arguments":"{\"command\":"}}]},"finish_reason":null}]}"#,
    r#"data: {"id":"oc","object":"chat.completion.chunk","created":1767323046,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"BASIL\"}"}}]},"finish_reason":null}]}"#,
    r#"data: {"id":"oc","object":"chat.completion.chunk","created":1767323046,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
    r#"data: {"id":"oc","object":"chat.completion.chunk","created":1767323046,"model":"m","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}"#,
    r#"data: [DONE]"#,
];

const OPENAI_RESPONSES: &[&str] = &[
    r#"data: {"type":"response.created","response":{"id":"resp_or","object":"response","created_at":1767323046,"status":"in_progress","model":"m","output":[]},"sequence_number":0}"#,
    r#"data: {"type":"response.output_item.added","item":{"id":"or_m","type":"message","status":"in_progress","content":[],"role":"assistant"},"output_index":0,"sequence_number":1}"#,
    r#"data: {"type":"response.output_text.delta","content_index":0,"delta":"A ","item_id":"or_m","output_index":0,"sequence_number":2}"#,
    r#"data: {"type":"response.output_text.delta","content_index":0,"delta":"MARIGOLD é😀","item_id":"or_m","output_index":0,"sequence_number":3}"#,
    r#"data: {"type":"response.output_text.done","content_index":0,"text":"A MARIGOLD é😀","item_id":"or_m","output_index":0,"sequence_number":4}"#,
    r#"data: {"type":"response.output_item.done","item":{"id":"or_m","type":"message","status":"completed","content":[{"type":"output_text","text":"A MARIGOLD é😀","annotations":[]}],"role":"assistant"},"output_index":0,"sequence_number":5}"#,
    r#"data: {"type":"response.output_item.added","item":{"id":"or_f","type":"function_call","status":"in_progress","arguments":"","call_id":"or_c1","name":"bash"},"output_index":1,"sequence_number":6}"#,
    r#"data: {"type":"response.function_call_arguments.delta","delta":"{\"command\":\"BASIL\"}","item_id":"or_f","output_index":1,"sequence_number":7}"#,
    r#"data: {"type":"response.output_item.done","item":{"id":"or_f","type":"function_call","status":"completed","arguments":"{\"command\":\"BASIL\"}","call_id":"or_c1","name":"bash"},"output_index":1,"sequence_number":8}"#,
    r#"data: {"type":"response.completed","response":{"id":"resp_or","object":"response","created_at":1767323046,"status":"completed","model":"m","output":[],"usage":{"input_tokens":3,"output_tokens":4}},"sequence_number":9}"#,
];

const ACP: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":1,"result":{"sessionId":"ac"}}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"ac","prompt":[{"type":"text","text":"Which flower?"}]}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"ac","update":{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"look"}}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"ac","update":{"sessionUpdate":"tool_call","toolCallId":"ac_c1","title":"ls","kind":"execute","status":"pending","rawInput":{"command":"ls"}}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"ac","update":{"sessionUpdate":"tool_call_update","toolCallId":"ac_c1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"BASIL"}}]}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"ac","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"A "}}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"ac","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"MARIGOLD é😀"}}}}"#,
    r#"{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}"#,
];

const CDEV: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":1,"result":{"messages":[{"id":1,"session_id":"cd","type":"user","uuid":"c1","timestamp":"2026-01-02T03:04:05.006Z","git_branch":"main","message":{"role":"user","content":"Which flower?"}}],"total":1,"has_more":false}}"#,
    r#"{"id":2,"session_id":"cd","type":"assistant","uuid":"c2","timestamp":"2026-01-02T03:04:06.006Z","message":{"model":"claude-x","role":"assistant","content":[{"type":"thinking","thinking":"look","signature":"s"},{"type":"tool_use","id":"cd_t1","name":"Bash","input":{"command":"ls"}}]}}"#,
    r#"{"id":3,"session_id":"cd","type":"user","uuid":"c3","timestamp":"2026-01-02T03:04:07.006Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"cd_t1","content":"BASIL"}]}}"#,
    r#"{"id":4,"session_id":"cd","type":"assistant","uuid":"c4","timestamp":"2026-01-02T03:04:08.006Z","message":{"model":"claude-x","role":"assistant","content":[{"type":"text","text":"A MARIGOLD é😀"}]}}"#,
    r#"{"jsonrpc":"2.0","method":"event/claude_status","params":{"state":"idle"}}"#,
];

const BRIDGE: &[&str] = &[
    r#"{"type":"stream","id":"b1","timestamp":"2026-01-02T03:04:05.006Z","message":{"type":"user","content":"Which flower?"}}"#,
    r#"{"type":"stream","message":{"type":"state","state":"executing"}}"#,
    r#"{"type":"stream","message":{"type":"assistant","content":"A ","delta":true}}"#,
    r#"{"type":"stream","message":{"type":"assistant","content":"MARIGOLD é😀","delta":true}}"#,
    r#"{"type":"stream","id":"b2","timestamp":"2026-01-02T03:04:06.006Z","message":{"type":"assistant","content":"A MARIGOLD é😀","delta":false}}"#,
    r#"{"type":"stream","id":"b3","timestamp":"2026-01-02T03:04:07.006Z","message":{"type":"tool_use","id":"br_t1","name":"Bash","input":{"command":"ls"}}}"#,
    r#"{"type":"stream","id":"b4","timestamp":"2026-01-02T03:04:08.006Z","message":{"type":"tool_result","id":"br_t1","tool":"Bash","output":"BASIL","success":true}}"#,
    r#"{"type":"stream","message":{"type":"usage","inputTokens":3,"outputTokens":4,"totalCost":0.01}}"#,
    r#"{"type":"stream","message":{"type":"state","state":"idle"}}"#,
];

const LEGION: &[&str] = &[
    r#"{"type":"system","content":"Claude Code Launched","timestamp":"2026-01-02T03:04:05.006000+00:00","metadata":{"subtype":"client_launched"},"session_id":"le"}"#,
    r#"{"type":"user","content":"Which flower?","session_id":"le","timestamp":"2026-01-02T03:04:06.006000+00:00"}"#,
    r#"{"type":"assistant","content":"Assistant response","timestamp":1767323047.006,"metadata":{"tool_uses":[{"id":"le_t1","name":"Bash","input":{"command":"ls"},"timestamp":1767323047.006}],"has_tool_uses":true,"has_thinking":false,"has_tool_results":false,"model":"claude-x"},"session_id":"le"}"#,
    r#"{"type":"user","content":"Tool results: 1 results","timestamp":1767323048.006,"metadata":{"tool_uses":[],"tool_results":[{"tool_use_id":"le_t1","content":"BASIL","is_error":null}],"has_tool_uses":false,"has_tool_results":true},"session_id":"le"}"#,
    r#"{"_type":"AssistantMessage","timestamp":1767323049.006,"session_id":"le","data":{"content":[{"text":"A MARIGOLD é😀"}],"model":"claude-x","parent_tool_use_id":null,"message_id":"msg_le"},"message_id":"l5"}"#,
    r#"{"_type":"ResultMessage","timestamp":1767323050.006,"session_id":"le","data":{"subtype":"success","is_error":false,"result":"A MARIGOLD é😀","total_cost_usd":0.01},"message_id":"l6"}"#,
];
