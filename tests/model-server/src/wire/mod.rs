//! The wire formats behind one face: which there are, and what a piece of a stream is. Each format has its file.

mod anthropic;
mod chat;
mod responses;

use serde_json::Value;

use crate::answer::{Answer, Asked};

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    /// Anthropic's messages.
    Anthropic,
    /// OpenAI's responses.
    Responses,
    /// OpenAI's chat completions.
    Chat,
}

/// One server-sent event.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) event: Option<&'static str>,
    pub(crate) data: String,
    /// How long to wait before it is sent.
    pub(crate) pause_ms: u64,
}

impl Wire {
    /// Which format a path speaks; anything may stand before `/v1`, and `/v1` itself may be missing.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let ends = [
            ("/messages", Self::Anthropic),
            ("/responses", Self::Responses),
            ("/chat/completions", Self::Chat),
        ];
        ends.into_iter().find(|(end, _)| path.ends_with(end)).map(|(_, wire)| wire)
    }

    /// Reads a request.
    pub(crate) fn read(self, body: &Value) -> Asked {
        let mut asked = match self {
            Self::Anthropic => anthropic::read(body),
            Self::Responses => responses::read(body),
            Self::Chat => chat::read(body),
        };
        asked.model = body["model"].as_str().unwrap_or("scripted").to_owned();
        asked.wants_stream = body["stream"] == true;
        asked.input_tokens = body.to_string().len() / 4 + 1;
        asked
    }

    /// Writes an answer as a stream.
    pub(crate) fn frames(self, answer: &Answer, asked: &Asked) -> Vec<Frame> {
        match self {
            Self::Anthropic => anthropic::frames(answer, asked),
            Self::Responses => responses::frames(answer, asked),
            Self::Chat => chat::frames(answer, asked),
        }
    }

    /// Writes an answer in one piece.
    pub(crate) fn whole(self, answer: &Answer, asked: &Asked) -> Value {
        match self {
            Self::Anthropic => anthropic::whole(answer, asked),
            Self::Responses => responses::whole(answer, asked),
            Self::Chat => chat::whole(answer, asked),
        }
    }

    /// The body of an HTTP error.
    pub(crate) fn refusal(self, status: u16, message: &str) -> Value {
        match self {
            Self::Anthropic => anthropic::refusal(status, message),
            Self::Responses | Self::Chat => openai_refusal(status, message),
        }
    }

    /// The event that ends a stream with an error.
    pub(crate) fn broken(self, message: &str) -> Frame {
        match self {
            Self::Anthropic => anthropic::broken(message),
            Self::Responses => responses::broken(message),
            Self::Chat => chat::broken(message),
        }
    }
}

impl Frame {
    /// An event with its name, which is also the `type` of its data.
    fn named(event: &'static str, mut data: Value, pause_ms: u64) -> Self {
        if let Some(fields) = data.as_object_mut() {
            fields.shift_insert(0, "type".to_owned(), Value::from(event));
        }
        Self { event: Some(event), data: data.to_string(), pause_ms }
    }

    /// The event as it goes over the wire.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        match self.event {
            Some(event) => format!("event: {event}\ndata: {}\n\n", self.data).into_bytes(),
            None => format!("data: {}\n\n", self.data).into_bytes(),
        }
    }
}

/// The error body that both of OpenAI's formats share.
fn openai_refusal(status: u16, message: &str) -> Value {
    let (kind, code) = match status {
        401 | 403 => ("invalid_request_error", "invalid_api_key"),
        429 => ("rate_limit_error", "rate_limit_exceeded"),
        400..500 => ("invalid_request_error", "invalid_request"),
        _ => ("server_error", "server_error"),
    };
    serde_json::json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
}

/// An id that no other server, run or session has used.
fn new_id(prefix: &str) -> String {
    format!("{prefix}{}", uuid::Uuid::new_v4().simple())
}

/// The texts of a message's content: a string, or a list of parts.
fn texts(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

/// Scripted answers are always made in the same second: nobody's test should depend on the clock.
const CREATED: u64 = 1_767_225_600;
