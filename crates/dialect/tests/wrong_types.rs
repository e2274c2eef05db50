//! Every field may be missing or of another type, every line may be cut: nothing panics, and every line has a fate.

use bytes::Bytes;
use parlor_dialect::{Decoder, Format};
use parlor_model::event::Fate;
use parlor_model::line::Line;
use serde_json::{Value, json};

fn conversations() -> Vec<(Format, Vec<Value>)> {
    let message = json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "t"}, {"type": "text",
        "text": "x"}, {"type": "toolCall", "id": "c", "name": "edit", "arguments": {"path": "p"}}], "model": "m",
        "usage": {"input": 1, "cost": {"total": 0.1}}, "stopReason": "error", "errorMessage": "e", "timestamp": 5});
    let result = json!({"role": "toolResult", "toolCallId": "c", "toolName": "edit", "content": [{"type": "text",
        "text": "ok"}, {"type": "image", "data": "aa", "mimeType": "image/png"}], "isError": true,
        "details": {"diff": " 1 a\n-2 b\n+2 c", "truncation": {"truncated": true}}, "timestamp": 6});
    let shell =
        json!({"role": "bashExecution", "command": "ls", "output": "o", "exitCode": 1, "timestamp": 7});
    vec![
        (
            Format::PiSession,
            vec![
                json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/",
                    "parentSession": "/a/b_c.jsonl"}),
                json!({"type": "message", "id": "a", "parentId": null, "timestamp": 1, "message": message}),
                json!({"type": "message", "id": "b", "parentId": "a", "message": result}),
                json!({"type": "message", "id": "c", "parentId": "b", "message": shell}),
                json!({"type": "compaction", "id": "d", "parentId": "a", "summary": "s", "tokensBefore": 9}),
                json!({"type": "custom_message", "id": "e", "parentId": null, "content": "x", "display": true}),
            ],
        ),
        (
            Format::PiEvents,
            vec![
                json!({"type": "agent_start"}),
                json!({"type": "message_start", "message": {"role": "assistant", "timestamp": 5}}),
                json!({"type": "message_update", "assistantMessageEvent": {"type": "text_delta", "contentIndex": 1,
                    "delta": "x"}}),
                json!({"type": "message_update", "assistantMessageEvent": {"type": "toolcall_start",
                    "contentIndex": 2, "partial": {"content": [{}, {}, {"id": "c", "name": "bash"}]}}}),
                json!({"type": "message_update", "assistantMessageEvent": {"type": "toolcall_delta",
                    "contentIndex": 2, "delta": "{"}}),
                json!({"type": "message_end", "message": message}),
                json!({"type": "tool_execution_start", "toolCallId": "c", "toolName": "bash", "args": {}}),
                json!({"type": "tool_execution_update", "toolCallId": "c", "toolName": "bash", "args": {},
                    "partialResult": {"content": [{"type": "text", "text": "so far"}]}}),
                json!({"type": "tool_execution_end", "toolCallId": "c", "toolName": "bash", "result": result,
                    "isError": false, "durationMs": 3}),
                json!({"type": "queue_update", "steering": ["a"], "followUp": []}),
                json!({"type": "compaction_end", "result": {"summary": "s", "tokensBefore": 3}}),
                json!({"type": "extension_ui_request", "id": "1", "method": "select", "title": "t", "options": ["a"]}),
                json!({"type": "response", "command": "get_state", "data": {"sessionId": "s", "model": {"id": "m"}}}),
                json!({"type": "agent_end", "messages": [], "willRetry": false}),
                json!({"type": "agent_settled", "aborted": true}),
            ],
        ),
        (
            Format::OpenaiChat,
            vec![
                json!({"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [
                    {"index": 0, "delta": {"content": "a", "reasoning": "b", "reasoning_details": [{"text": "b"}],
                    "tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{"}}]},
                    "finish_reason": "stop"}], "usage": {"prompt_tokens": 3,
                    "prompt_tokens_details": {"cached_tokens": 9}}, "error": {"message": "e"}}),
                json!({"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]},
                    {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]},
                    {"role": "tool", "tool_call_id": "c", "content": "r"}]}),
            ],
        ),
        (
            Format::OpenaiResponses,
            vec![
                json!({"type": "response.created", "response": {"id": "r", "model": "m", "created_at": 1}}),
                json!({"type": "response.output_text.delta", "item_id": "i", "output_index": 0, "delta": "x"}),
                json!({"type": "response.output_item.done", "output_index": 1, "item": {"id": "i", "type": "mcp_call",
                    "name": "n", "server_label": "s", "arguments": "{}", "output": "o", "status": "completed"}}),
                json!({"type": "response.output_item.done", "output_index": 0, "item": {"id": "i", "type": "message",
                    "content": [{"type": "output_text", "text": "x"}]}}),
                json!({"type": "response.failed", "response": {"id": "r", "status": "failed",
                    "error": {"message": "e"}, "usage": {"input_tokens": 1}}}),
            ],
        ),
        (
            Format::Acp,
            vec![
                json!({"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": {"sessionId": "s",
                    "prompt": [{"type": "text", "text": "x"}, {"type": "resource_link", "uri": "u", "name": "n"}]}}),
                json!({"jsonrpc": "2.0", "method": "session/update", "params": {"update": {"sessionUpdate":
                    "agent_message_chunk", "content": {"type": "text", "text": "x"}, "messageId": "m"}}}),
                json!({"jsonrpc": "2.0", "method": "session/update", "params": {"update": {"sessionUpdate":
                    "tool_call_update", "toolCallId": "c", "status": "completed", "rawOutput": {"output": "o"},
                    "content": [{"type": "diff", "path": "p", "oldText": "a\nb", "newText": "a"}],
                    "locations": [{"path": "p"}], "_meta": {"terminal_output_delta": {"data": "d"}}}}}),
                json!({"jsonrpc": "2.0", "id": 0, "method": "session/request_permission", "params": {"toolCall":
                    {"toolCallId": "c"}, "options": [{"optionId": "n", "name": "No", "kind": "reject_once"}]}}),
                json!({"jsonrpc": "2.0", "id": 0, "result": {"outcome": {"outcome": "selected", "optionId": "n"}}}),
                json!({"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "cancelled", "usage": {"inputTokens": 1}}}),
            ],
        ),
    ]
}

/// Every variant of a value in which one place holds something else, or is gone.
fn variants(value: &Value) -> Vec<Value> {
    let mut found = vec![
        json!(null),
        json!(-1),
        json!(1e300),
        json!("\u{e9}\u{d7ff}"),
        json!([]),
        json!({}),
        json!([[1, "x"], {}]),
        json!(true),
    ];
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                let mut without = fields.clone();
                without.remove(key);
                found.push(Value::Object(without));
                for variant in variants(field) {
                    let mut changed = fields.clone();
                    changed.insert(key.clone(), variant);
                    found.push(Value::Object(changed));
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                for variant in variants(item) {
                    let mut changed = items.clone();
                    changed[index] = variant;
                    found.push(Value::Array(changed));
                }
            }
        }
        _ => {}
    }
    found
}

#[test]
fn a_field_of_another_type_never_panics_and_what_follows_is_still_read() {
    let mut read = 0;
    for (format, lines) in conversations() {
        for (index, line) in lines.iter().enumerate() {
            for variant in variants(line) {
                let mut decoder = Decoder::new(format);
                for (at, line) in lines.iter().enumerate() {
                    let line = if at == index { &variant } else { line };
                    let mut events = Vec::new();
                    let reading = decoder.read(&Line::new(Bytes::from(line.to_string())), &mut events);
                    assert!(!matches!(reading.fate, Fate::Damaged(_)), "{line}");
                    read += 1;
                }
            }
        }
    }
    assert!(read > 10_000, "{read}");
}

#[test]
fn a_cut_line_is_damaged_or_text_and_says_nothing() {
    for (format, lines) in conversations() {
        for line in lines {
            let text = line.to_string();
            for end in (1..text.len()).filter(|end| text.is_char_boundary(*end)) {
                for prefix in ["", "data: "] {
                    let cut = format!("{prefix}{}", &text[..end]);
                    let mut events = Vec::new();
                    let reading = Decoder::new(format).read(&Line::new(Bytes::from(cut)), &mut events);
                    assert!(
                        matches!(reading.fate, Fate::Damaged(_) | Fate::Unknown(_)),
                        "{format:?} {}",
                        &text[..end]
                    );
                    assert!(events.is_empty(), "{format:?} {}", &text[..end]);
                }
            }
        }
    }
}
