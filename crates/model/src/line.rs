//! One line of input, as a dialect sees it.

use bytes::Bytes;

use crate::Key;
use crate::json::{Json, Span};
use crate::text::{Text, decode};

/// A line without its line end. Slices of it share its bytes.
#[derive(Clone, Debug)]
pub struct Line(Bytes);

impl Line {
    /// Wraps the bytes of a line, dropping one trailing CR and a leading byte order mark.
    pub fn new(mut bytes: Bytes) -> Self {
        if bytes.last() == Some(&b'\r') {
            bytes.truncate(bytes.len() - 1);
        }
        if bytes.starts_with(b"\xef\xbb\xbf") {
            bytes = bytes.slice(3..);
        }
        Line(bytes)
    }

    /// The bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.0
    }

    /// True when there is nothing but white space or NUL bytes (a file grown by a crash is filled with them).
    pub fn is_blank(&self) -> bool {
        self.0.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0)
    }

    /// The inside of a JSON string as text, decoded later.
    pub fn text(&self, span: Span) -> Text {
        Text::escaped(self.0.slice(span.start..span.end))
    }

    /// A JSON value, read later.
    pub fn json(&self, span: Span) -> Json {
        Json::new(self.0.slice(span.start..span.end))
    }

    /// The inside of a JSON string as a key.
    pub fn key(&self, span: Span) -> Key {
        Key::from(decode(&self.0[span.start..span.end]))
    }

    /// The raw inside of a JSON string, for matching on words that need no escapes.
    pub fn word(&self, span: Span) -> &[u8] {
        &self.0[span.start..span.end]
    }

    /// A part of the line that starts at `start`, sharing its bytes: for lines with a prefix such as `data: `.
    pub fn tail(&self, start: usize) -> Line {
        Line(self.0.slice(start.min(self.0.len())..))
    }
}
