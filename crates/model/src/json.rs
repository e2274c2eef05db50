//! JSON as it was written: values are the bytes of a line, read when someone asks. It never fails.

use std::borrow::Cow;

use bytes::Bytes;
use serde::{Serialize, Serializer};

use crate::text::{Text, decode};

mod reader;

pub use reader::{Kind, Reader, Span};

/// A JSON value kept as the bytes it was written in, read again only when someone asks.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Json(Bytes);

impl Json {
    /// Wraps the bytes of one JSON value.
    pub fn new(bytes: Bytes) -> Self {
        Json(bytes)
    }

    /// The bytes as they were written.
    pub fn bytes(&self) -> &Bytes {
        &self.0
    }

    /// True for a missing value: no bytes at all.
    pub fn is_missing(&self) -> bool {
        self.0.is_empty()
    }

    /// The kind of the value.
    pub fn kind(&self) -> Kind {
        Reader::new(&self.0).kind()
    }

    /// The value of a field, when this is an object that has it. The last of duplicate keys wins.
    pub fn get(&self, key: &str) -> Option<Json> {
        let mut found = None;
        Reader::new(&self.0).object(|reader, name| {
            if name == key.as_bytes() {
                found = Some(reader.raw());
            }
        });
        found.map(|span| self.slice(span))
    }

    /// The elements, when this is an array.
    pub fn items(&self) -> Vec<Json> {
        let mut items = Vec::new();
        if self.kind() == Kind::Array {
            Reader::new(&self.0).array(|reader| {
                let span = reader.raw();
                items.push(self.slice(span));
            });
        }
        items
    }

    /// The fields in order, when this is an object. Keys are decoded.
    pub fn fields(&self) -> Vec<(String, Json)> {
        let mut fields = Vec::new();
        if self.kind() == Kind::Object {
            Reader::new(&self.0).object(|reader, name| {
                let span = reader.raw();
                fields.push((decode(name).into_owned(), self.slice(span)));
            });
        }
        fields
    }

    /// The text, when this is a string.
    pub fn text(&self) -> Option<Text> {
        let span = (self.kind() == Kind::String).then(|| Reader::new(&self.0).text())??;
        Some(Text::escaped(self.slice_span(span)))
    }

    /// The text of a string field: `value.get(key)?.text()`.
    pub fn field_text(&self, key: &str) -> Option<Text> {
        self.get(key)?.text()
    }

    /// The number, also when it is written as a string.
    pub fn number(&self) -> Option<f64> {
        Reader::new(&self.0).number()
    }

    /// The boolean.
    pub fn bool(&self) -> Option<bool> {
        Reader::new(&self.0).bool()
    }

    /// The value as a tree, for pretty-printing and profiles; malformed JSON becomes a string of itself.
    pub fn value(&self) -> serde_json::Value {
        if self.0.is_empty() {
            return serde_json::Value::Null;
        }
        serde_json::from_slice(&self.0).unwrap_or_else(|_| self.lossy().into_owned().into())
    }

    /// The raw bytes as text.
    pub fn lossy(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }

    fn slice(&self, span: Span) -> Json {
        Json(self.slice_span(span))
    }

    fn slice_span(&self, span: Span) -> Bytes {
        self.0.slice(span.start..span.end)
    }
}

/// The fields of an object, found in one pass: for readers that ask for many of them.
#[derive(Debug)]
pub struct Fields<'a> {
    of: &'a Json,
    fields: Vec<(&'a [u8], Span)>,
}

impl<'a> Fields<'a> {
    /// The fields of `json`; none when it is not an object.
    pub fn of(json: &'a Json) -> Self {
        let mut fields = Vec::new();
        if json.kind() == Kind::Object {
            Reader::new(&json.0).object(|reader, name| fields.push((name, reader.raw())));
        }
        Fields { of: json, fields }
    }

    /// The value of a field. The last of duplicate keys wins.
    pub fn get(&self, key: &str) -> Option<Json> {
        let found = self.fields.iter().rev().find(|(name, _)| *name == key.as_bytes());
        found.map(|(_, span)| self.of.slice(*span))
    }

    /// The text of a string field.
    pub fn text(&self, key: &str) -> Option<Text> {
        self.get(key)?.text()
    }

    /// The text of the first of these fields that is a string.
    pub fn first_text(&self, keys: &[&str]) -> Option<Text> {
        keys.iter().find_map(|key| self.text(key))
    }
}

impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Self {
        Json(Bytes::from(value.to_string()))
    }
}

impl std::fmt::Debug for Json {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Json({})", self.lossy())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

#[cfg(test)]
mod tests;
