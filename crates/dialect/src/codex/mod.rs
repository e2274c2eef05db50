//! What Codex's three formats have in common: fields in their many spellings, items, outputs, token counts.
//!
//! It knows no envelope: how a line is framed is each format's own matter.

pub(crate) mod command;
pub(crate) mod fields;
pub(crate) mod item;
pub(crate) mod mirror;
pub(crate) mod output;
pub(crate) mod prompt;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod usage;

use bytes::Bytes;
use parlor_model::Key;
use parlor_model::block::{Notice, NoticeKind};
use parlor_model::event::{Event, Fate, Reading};
use parlor_model::json::Json;
use parlor_model::line::Line;
use parlor_model::text::Text;

use crate::decoder::unknown;

/// The reading of a line that is no sound JSON object: plain text, or damaged.
pub(crate) fn unreadable(line: &Line) -> Reading {
    let reading = unknown(line, "");
    match reading.fate {
        Fate::Unknown(ref kind) if kind != "text" => Reading::damaged("not valid JSON"),
        _ => reading,
    }
}

/// A notice under the call of the subagent it is about.
pub(crate) fn notice(key: Key, under: Option<Key>, kind: NoticeKind, text: Text) -> Event {
    Event::Put { key, under, message: None, block: parlor_model::block::Block::Notice(Notice { kind, text }) }
}

/// A JSON object made of values that are JSON already.
pub(crate) fn object(fields: &[(&str, &Json)]) -> Json {
    let mut bytes =
        Vec::with_capacity(fields.iter().map(|(key, value)| key.len() + value.bytes().len() + 4).sum());
    bytes.push(b'{');
    for (key, value) in fields.iter().filter(|(_, value)| !value.is_missing()) {
        if bytes.len() > 1 {
            bytes.push(b',');
        }
        bytes.extend_from_slice(format!("\"{key}\":").as_bytes());
        bytes.extend_from_slice(value.bytes());
    }
    bytes.push(b'}');
    Json::new(Bytes::from(bytes))
}

/// A JSON string with this text.
pub(crate) fn string(text: &str) -> Json {
    Json::from(serde_json::Value::from(text))
}
