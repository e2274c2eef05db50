//! Anthropic's messages: reads a request and writes an answer. It must not choose what is answered.

use serde_json::{Value, json};

use super::{Frame, new_id, texts};
use crate::answer::{Answer, Asked, Part};
use crate::marker::Marker;
use crate::script::Stop;

pub(super) fn read(body: &Value) -> Asked {
    let mut asked = Asked::default();
    asked.offer.add(&body["tools"]);
    asked.wants_thoughts = matches!(body["thinking"]["type"].as_str(), Some("enabled" | "adaptive"));
    for message in body["messages"].as_array().into_iter().flatten() {
        let content = &message["content"];
        if message["role"] == "assistant" {
            let blocks = content.as_array().into_iter().flatten();
            asked.conversation.answer(
                blocks
                    .filter(|block| block["type"] == "tool_use")
                    .filter_map(|block| text_of(&block["name"])),
            );
            continue;
        }
        for block in content.as_array().into_iter().flatten().filter(|block| block["type"] == "tool_result") {
            for reference in block["content"].as_array().into_iter().flatten() {
                if let Some(name) = reference["tool_name"].as_str() {
                    asked.offer.give_out(name);
                }
            }
            asked.conversation.result(texts(&block["content"]).join("\n"));
        }
        // Claude's own notes come under the role `system`, and so does what a person says in the middle of a turn.
        let is_note = message["role"] == "system";
        for text in texts(content).into_iter().filter(|text| !is_note || Marker::last_in(text).is_some()) {
            asked.conversation.prompt(text);
        }
    }
    asked
}

pub(super) fn frames(answer: &Answer, asked: &Asked) -> Vec<Frame> {
    let start = message(asked, Vec::new(), Value::Null, 1);
    let mut frames =
        vec![Frame::named("message_start", json!({"message": start}), 0), Frame::named("ping", json!({}), 0)];
    for (index, part) in answer.parts.iter().enumerate() {
        let opened = match part {
            Part::Thought(_) => json!({"type": "thinking", "thinking": "", "signature": ""}),
            Part::Reply(_) => json!({"type": "text", "text": ""}),
            Part::Call(call) => {
                json!({"type": "tool_use", "id": new_id("toolu_"), "name": call.name, "input": {}})
            }
        };
        frames.push(Frame::named("content_block_start", json!({"index": index, "content_block": opened}), 0));
        let (kind, key, text) = match part {
            Part::Thought(text) => ("thinking_delta", "thinking", text.clone()),
            Part::Reply(text) => ("text_delta", "text", text.clone()),
            Part::Call(call) => ("input_json_delta", "partial_json", call.input_text()),
        };
        let delta = |value: Value| json!({"index": index, "delta": value});
        for piece in answer.pace.pieces(&text) {
            let data = delta(json!({"type": kind, key: piece}));
            frames.push(Frame::named("content_block_delta", data, answer.pace.pause_ms));
        }
        if let Part::Thought(_) = part {
            let data = delta(json!({"type": "signature_delta", "signature": new_id("signature")}));
            frames.push(Frame::named("content_block_delta", data, 0));
        }
        frames.push(Frame::named("content_block_stop", json!({"index": index}), 0));
    }
    let end = json!({"delta": {"stop_reason": stop_reason(answer), "stop_sequence": null}, "usage": usage(asked, answer.tokens())});
    frames.push(Frame::named("message_delta", end, 0));
    frames.push(Frame::named("message_stop", json!({}), 0));
    frames
}

pub(super) fn whole(answer: &Answer, asked: &Asked) -> Value {
    let content = answer
        .parts
        .iter()
        .map(|part| match part {
            Part::Thought(text) => {
                json!({"type": "thinking", "thinking": text, "signature": new_id("signature")})
            }
            Part::Reply(text) => json!({"type": "text", "text": text}),
            Part::Call(call) => {
                let input: Value = serde_json::from_str(&call.input_text()).unwrap_or_default();
                json!({"type": "tool_use", "id": new_id("toolu_"), "name": call.name, "input": input})
            }
        })
        .collect();
    message(asked, content, stop_reason(answer), answer.tokens())
}

pub(super) fn refusal(status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        400..500 => "invalid_request_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": new_id("req_")})
}

pub(super) fn broken(message: &str) -> Frame {
    Frame::named("error", json!({"error": {"type": "overloaded_error", "message": message}}), 0)
}

fn message(asked: &Asked, content: Vec<Value>, stop_reason: Value, output_tokens: usize) -> Value {
    json!({
        "id": new_id("msg_"), "type": "message", "role": "assistant", "model": asked.model, "content": content,
        "stop_reason": stop_reason, "stop_sequence": null, "usage": usage(asked, output_tokens),
    })
}

fn usage(asked: &Asked, output_tokens: usize) -> Value {
    json!({
        "input_tokens": asked.input_tokens, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
        "output_tokens": output_tokens,
    })
}

fn stop_reason(answer: &Answer) -> Value {
    Value::from(match answer.stop {
        Stop::Length => "max_tokens",
        Stop::Refusal => "refusal",
        Stop::Natural if answer.calls_tools() => "tool_use",
        Stop::Natural => "end_turn",
    })
}

fn text_of(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}
