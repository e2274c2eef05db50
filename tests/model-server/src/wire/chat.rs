//! OpenAI's chat completions: reads a request and writes an answer. It must not choose what is answered.

use serde_json::{Value, json};

use super::{CREATED, Frame, new_id, texts};
use crate::answer::{Answer, Asked, Part};
use crate::script::Stop;

pub(super) fn read(body: &Value) -> Asked {
    let mut asked = Asked { wants_thoughts: true, ..Asked::default() };
    asked.offer.add(&body["tools"]);
    asked.wants_usage = body["stream_options"]["include_usage"] == true;
    for message in body["messages"].as_array().into_iter().flatten() {
        match message["role"].as_str() {
            Some("user") => {
                texts(&message["content"]).into_iter().for_each(|text| asked.conversation.prompt(text))
            }
            Some("assistant") => {
                let calls = message["tool_calls"].as_array().into_iter().flatten();
                asked
                    .conversation
                    .answer(calls.filter_map(|call| call["function"]["name"].as_str().map(str::to_owned)));
            }
            Some("tool") => asked.conversation.result(texts(&message["content"]).join("\n")),
            _ => {}
        }
    }
    asked
}

pub(super) fn frames(answer: &Answer, asked: &Asked) -> Vec<Frame> {
    let id = new_id("chatcmpl-");
    let chunk = |choices: Value, pause_ms: u64| {
        let data = json!({"id": id, "object": "chat.completion.chunk", "created": CREATED, "model": asked.model, "choices": choices});
        Frame { event: None, data: data.to_string(), pause_ms }
    };
    let delta = |delta: Value, pause_ms: u64| {
        chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]), pause_ms)
    };
    let pause_ms = answer.pace.pause_ms;
    let mut frames = vec![delta(json!({"role": "assistant", "content": ""}), 0)];
    let mut call_index = 0;
    for part in &answer.parts {
        match part {
            Part::Thought(text) | Part::Reply(text) => {
                let key = if let Part::Thought(_) = part { "reasoning_content" } else { "content" };
                frames.extend(
                    answer.pace.pieces(text).into_iter().map(|piece| delta(json!({key: piece}), pause_ms)),
                );
            }
            Part::Call(call) => {
                let function = json!({"name": call.name, "arguments": ""});
                let opened = json!({"index": call_index, "id": new_id("call_"), "type": "function", "function": function});
                frames.push(delta(json!({"tool_calls": [opened]}), 0));
                for piece in answer.pace.pieces(&call.input_text()) {
                    let grown = json!({"index": call_index, "function": {"arguments": piece}});
                    frames.push(delta(json!({"tool_calls": [grown]}), pause_ms));
                }
                call_index += 1;
            }
        }
    }
    frames.push(chunk(json!([{"index": 0, "delta": {}, "finish_reason": finish_reason(answer)}]), 0));
    if asked.wants_usage {
        let data = json!({
            "id": id, "object": "chat.completion.chunk", "created": CREATED, "model": asked.model, "choices": [],
            "usage": usage(answer, asked),
        });
        frames.push(Frame { event: None, data: data.to_string(), pause_ms: 0 });
    }
    frames.push(Frame { event: None, data: "[DONE]".to_owned(), pause_ms: 0 });
    frames
}

pub(super) fn whole(answer: &Answer, asked: &Asked) -> Value {
    let (mut content, mut thought, mut calls) = (String::new(), String::new(), Vec::new());
    for part in &answer.parts {
        match part {
            Part::Thought(text) => thought.push_str(text),
            Part::Reply(text) => content.push_str(text),
            Part::Call(call) => {
                let function = json!({"name": call.name, "arguments": call.input_text()});
                calls.push(json!({"id": new_id("call_"), "type": "function", "function": function}));
            }
        }
    }
    let mut message = json!({"role": "assistant", "content": content});
    if !thought.is_empty() {
        message["reasoning_content"] = Value::from(thought);
    }
    if !calls.is_empty() {
        message["tool_calls"] = Value::from(calls);
    }
    json!({
        "id": new_id("chatcmpl-"), "object": "chat.completion", "created": CREATED, "model": asked.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason(answer)}],
        "usage": usage(answer, asked),
    })
}

pub(super) fn broken(message: &str) -> Frame {
    let data = json!({"error": {"message": message, "type": "server_error", "code": "overloaded"}});
    Frame { event: None, data: data.to_string(), pause_ms: 0 }
}

fn usage(answer: &Answer, asked: &Asked) -> Value {
    let (input, output) = (asked.input_tokens, answer.tokens());
    json!({
        "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
        "prompt_tokens_details": {"cached_tokens": 0}, "completion_tokens_details": {"reasoning_tokens": 0},
    })
}

fn finish_reason(answer: &Answer) -> &'static str {
    match answer.stop {
        Stop::Length => "length",
        Stop::Refusal => "content_filter",
        Stop::Natural if answer.calls_tools() => "tool_calls",
        Stop::Natural => "stop",
    }
}
