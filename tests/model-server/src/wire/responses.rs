//! OpenAI's responses: reads a request and writes an answer. It must not choose what is answered.

use serde_json::{Value, json};

use super::{CREATED, Frame, new_id, texts};
use crate::answer::{Answer, Asked, Part};
use crate::script::Stop;
use crate::tools::{Call, Input};

pub(super) fn read(body: &Value) -> Asked {
    let mut asked = Asked { wants_thoughts: true, ..Asked::default() };
    asked.offer.add(&body["tools"]);
    if let Some(text) = body["input"].as_str() {
        asked.conversation.prompt(text.to_owned());
    }
    for item in body["input"].as_array().into_iter().flatten() {
        let kind = item["type"].as_str().unwrap_or("message");
        match (kind, item["role"].as_str()) {
            ("message", Some("user")) => {
                texts(&item["content"]).into_iter().for_each(|text| asked.conversation.prompt(text));
            }
            ("message", Some("assistant")) | ("reasoning", _) => asked.conversation.answer(None),
            // What a subagent is given to do: the text lies in a part that the provider would have locked.
            ("agent_message", _) => {
                for part in item["content"].as_array().into_iter().flatten() {
                    if let Some(text) = part["encrypted_content"].as_str() {
                        asked.conversation.prompt(text.to_owned());
                    }
                }
            }
            // Current models are told of their tools, and of those that a search found, in the conversation.
            ("additional_tools", _) => asked.offer.add(&item["tools"]),
            ("tool_search_call", _) => asked.conversation.answer(["tool_search".to_owned()]),
            ("tool_search_output", _) => {
                asked.offer.add_found(&item["tools"]);
                asked.conversation.result(String::new());
            }
            (kind, _) if kind.ends_with("_call") => {
                asked.conversation.answer(item["name"].as_str().map(str::to_owned));
            }
            (kind, _) if kind.ends_with("_output") => asked.conversation.result(output_text(&item["output"])),
            _ => {}
        }
    }
    asked
}

pub(super) fn frames(answer: &Answer, asked: &Asked) -> Vec<Frame> {
    let id = new_id("resp_");
    let mut stream = Stream { frames: Vec::new(), pause_ms: answer.pace.pause_ms };
    stream.push("response.created", json!({"response": response(&id, "in_progress", &[], asked)}));
    stream.push("response.in_progress", json!({"response": response(&id, "in_progress", &[], asked)}));
    let mut output = Vec::new();
    for (index, part) in answer.parts.iter().enumerate() {
        let item = match part {
            Part::Thought(text) => stream.thought(index, text, answer),
            Part::Reply(text) => stream.reply(index, text, answer),
            Part::Call(call) => stream.call(index, call, answer),
        };
        stream.push("response.output_item.done", json!({"output_index": index, "item": item}));
        output.push(item);
    }
    let end = ended(&id, &output, answer, asked);
    let event = if answer.stop == Stop::Length { "response.incomplete" } else { "response.completed" };
    stream.push(event, json!({"response": end}));
    stream.frames
}

pub(super) fn whole(answer: &Answer, asked: &Asked) -> Value {
    let output: Vec<Value> = answer
        .parts
        .iter()
        .map(|part| match part {
            Part::Thought(text) => thought_item(&new_id("rs_"), Some(text)),
            Part::Reply(text) => reply_item(&new_id("msg_"), Some(text)),
            Part::Call(call) => call_item(&new_id("fc_"), &new_id("call_"), call, &call.input_text()),
        })
        .collect();
    ended(&new_id("resp_"), &output, answer, asked)
}

pub(super) fn broken(message: &str) -> Frame {
    let response = json!({"id": new_id("resp_"), "object": "response", "status": "failed", "error": {"code": "server_error", "message": message}});
    Frame::named("response.failed", json!({"response": response}), 0)
}

struct Stream {
    frames: Vec<Frame>,
    pause_ms: u64,
}

impl Stream {
    fn push(&mut self, event: &'static str, data: Value) {
        self.push_after(event, data, 0);
    }

    fn push_after(&mut self, event: &'static str, mut data: Value, pause_ms: u64) {
        data["sequence_number"] = Value::from(self.frames.len());
        self.frames.push(Frame::named(event, data, pause_ms));
    }

    fn thought(&mut self, index: usize, text: &str, answer: &Answer) -> Value {
        let id = new_id("rs_");
        let place =
            |more: Value| merged(json!({"item_id": id, "output_index": index, "summary_index": 0}), more);
        self.push(
            "response.output_item.added",
            json!({"output_index": index, "item": thought_item(&id, None)}),
        );
        let part = |text: &str| json!({"part": {"type": "summary_text", "text": text}});
        self.push("response.reasoning_summary_part.added", place(part("")));
        for piece in answer.pace.pieces(text) {
            self.push_after(
                "response.reasoning_summary_text.delta",
                place(json!({"delta": piece})),
                self.pause_ms,
            );
        }
        self.push("response.reasoning_summary_text.done", place(json!({"text": text})));
        self.push("response.reasoning_summary_part.done", place(part(text)));
        thought_item(&id, Some(text))
    }

    fn reply(&mut self, index: usize, text: &str, answer: &Answer) -> Value {
        let id = new_id("msg_");
        let place =
            |more: Value| merged(json!({"item_id": id, "output_index": index, "content_index": 0}), more);
        self.push(
            "response.output_item.added",
            json!({"output_index": index, "item": reply_item(&id, None)}),
        );
        let part = |text: &str| json!({"part": {"type": "output_text", "text": text, "annotations": []}});
        self.push("response.content_part.added", place(part("")));
        for piece in answer.pace.pieces(text) {
            self.push_after("response.output_text.delta", place(json!({"delta": piece})), self.pause_ms);
        }
        self.push("response.output_text.done", place(json!({"text": text})));
        self.push("response.content_part.done", place(part(text)));
        reply_item(&id, Some(text))
    }

    fn call(&mut self, index: usize, call: &Call, answer: &Answer) -> Value {
        let (id, call_id) = (new_id("fc_"), new_id("call_"));
        let input = call.input_text();
        let (delta, done, key) = match (&call.input, call.name.as_str()) {
            // A search is written whole: it has no events of its own here.
            (_, "tool_search") => return call_item(&id, &call_id, call, &input),
            (Input::Object(_), _) => (
                "response.function_call_arguments.delta",
                "response.function_call_arguments.done",
                "arguments",
            ),
            (Input::Text(_), _) => {
                ("response.custom_tool_call_input.delta", "response.custom_tool_call_input.done", "input")
            }
        };
        let place = |more: Value| merged(json!({"item_id": id, "output_index": index}), more);
        let opened = merged(call_item(&id, &call_id, call, ""), json!({"status": "in_progress"}));
        self.push("response.output_item.added", json!({"output_index": index, "item": opened}));
        for piece in answer.pace.pieces(&input) {
            self.push_after(delta, place(json!({"delta": piece})), self.pause_ms);
        }
        self.push(done, place(json!({key: input})));
        call_item(&id, &call_id, call, &input)
    }
}

fn thought_item(id: &str, text: Option<&str>) -> Value {
    let summary: Vec<Value> = text.iter().map(|text| json!({"type": "summary_text", "text": text})).collect();
    json!({"id": id, "type": "reasoning", "summary": summary, "encrypted_content": ""})
}

fn reply_item(id: &str, text: Option<&str>) -> Value {
    let content: Vec<Value> =
        text.iter().map(|text| json!({"type": "output_text", "text": text, "annotations": []})).collect();
    let status = if text.is_some() { "completed" } else { "in_progress" };
    json!({"id": id, "type": "message", "role": "assistant", "status": status, "content": content})
}

fn call_item(id: &str, call_id: &str, call: &Call, input: &str) -> Value {
    let mut item = match &call.input {
        Input::Object(arguments) if call.name == "tool_search" => {
            return json!({"id": id, "type": "tool_search_call", "status": "completed", "call_id": call_id, "execution": "client", "arguments": arguments});
        }
        Input::Object(_) => json!({"id": id, "type": "function_call", "arguments": input}),
        Input::Text(_) => json!({"id": id, "type": "custom_tool_call", "input": input}),
    };
    item = merged(item, json!({"status": "completed", "call_id": call_id, "name": call.name}));
    if let Some(namespace) = &call.namespace {
        item["namespace"] = Value::from(namespace.as_str());
    }
    item
}

fn ended(id: &str, output: &[Value], answer: &Answer, asked: &Asked) -> Value {
    let (input, tokens) = (asked.input_tokens, answer.tokens());
    let usage = json!({
        "input_tokens": input, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": tokens,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": input + tokens,
    });
    let (status, details) = match answer.stop {
        Stop::Length => ("incomplete", json!({"reason": "max_output_tokens"})),
        Stop::Natural | Stop::Refusal => ("completed", Value::Null),
    };
    merged(response(id, status, output, asked), json!({"usage": usage, "incomplete_details": details}))
}

fn response(id: &str, status: &str, output: &[Value], asked: &Asked) -> Value {
    json!({
        "id": id, "object": "response", "created_at": CREATED, "status": status, "model": asked.model,
        "output": output, "error": null, "incomplete_details": null, "usage": null,
    })
}

fn output_text(output: &Value) -> String {
    match output {
        Value::String(text) => text.clone(),
        Value::Array(_) => texts(output).join("\n"),
        other => other.to_string(),
    }
}

fn merged(mut value: Value, more: Value) -> Value {
    if let (Some(fields), Value::Object(more)) = (value.as_object_mut(), more) {
        fields.extend(more);
    }
    value
}
