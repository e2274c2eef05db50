//! Text that may still be the escaped bytes of the record it came from. It must not decode before someone reads it.

use std::borrow::Cow;

use bytes::Bytes;
use serde::{Serialize, Serializer};

/// A string value: shared bytes of a record, decoded on reading, or a string that was built here.
#[derive(Clone)]
pub struct Text(Inner);

#[derive(Clone)]
enum Inner {
    /// The inside of a JSON string, escapes untouched.
    Escaped(Bytes),
    /// Plain bytes, perhaps not valid UTF-8.
    Plain(Bytes),
    Owned(String),
}

impl Text {
    /// The inside of a JSON string, still escaped.
    pub fn escaped(bytes: Bytes) -> Self {
        Text(Inner::Escaped(bytes))
    }

    /// Bytes that are text as they are; what is not UTF-8 reads as U+FFFD.
    pub fn plain(bytes: Bytes) -> Self {
        Text(Inner::Plain(bytes))
    }

    /// The text, decoded.
    pub fn as_str(&self) -> Cow<'_, str> {
        match &self.0 {
            Inner::Escaped(bytes) => decode(bytes),
            Inner::Plain(bytes) => String::from_utf8_lossy(bytes),
            Inner::Owned(text) => Cow::Borrowed(text),
        }
    }

    /// True when there is no text at all.
    pub fn is_empty(&self) -> bool {
        self.raw_len() == 0
    }

    /// True when there is nothing but white space.
    pub fn is_blank(&self) -> bool {
        self.is_empty() || self.as_str().trim().is_empty()
    }

    /// The size in bytes as stored: a cheap upper bound of the decoded length.
    pub fn raw_len(&self) -> usize {
        match &self.0 {
            Inner::Escaped(bytes) | Inner::Plain(bytes) => bytes.len(),
            Inner::Owned(text) => text.len(),
        }
    }

    /// Appends in place, for text that streams in.
    pub fn push(&mut self, more: &str) {
        if !matches!(self.0, Inner::Owned(_)) {
            self.0 = Inner::Owned(self.as_str().into_owned());
        }
        if let Inner::Owned(text) = &mut self.0 {
            text.push_str(more);
        }
    }

    /// True when the text starts with `prefix`, looking only as far as needed. `prefix` must need no JSON escapes.
    pub fn starts_with(&self, prefix: &str) -> bool {
        match &self.0 {
            Inner::Escaped(bytes) | Inner::Plain(bytes) => bytes.starts_with(prefix.as_bytes()),
            Inner::Owned(text) => text.starts_with(prefix),
        }
    }

    /// True when these are the very bytes it is stored as: a cheap test that may miss equal text.
    pub fn is_raw(&self, bytes: &[u8]) -> bool {
        match &self.0 {
            Inner::Escaped(stored) | Inner::Plain(stored) => stored == bytes,
            Inner::Owned(text) => text.as_bytes() == bytes,
        }
    }

    /// An owned copy that no longer holds on to the record it came from.
    pub fn detach(&self) -> Text {
        Text(Inner::Owned(self.as_str().into_owned()))
    }
}

impl Default for Text {
    fn default() -> Self {
        Text(Inner::Owned(String::new()))
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Text(Inner::Owned(text))
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Text(Inner::Owned(text.to_owned()))
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Text {}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&self.as_str(), f)
    }
}

impl std::fmt::Display for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.as_str())
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.as_str())
    }
}

/// Decodes the inside of a JSON string. Total: a bad escape stands for itself, a lone surrogate and bytes that are
/// not UTF-8 become U+FFFD.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let Some(first) = memchr::memchr(b'\\', bytes) else {
        return String::from_utf8_lossy(bytes);
    };
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    let mut next = Some(first);
    while let Some(found) = next {
        out.extend_from_slice(&bytes[at..found]);
        at = found + escape(&bytes[found..], &mut out);
        next = memchr::memchr(b'\\', &bytes[at..]).map(|offset| at + offset);
    }
    out.extend_from_slice(&bytes[at..]);
    Cow::Owned(
        String::from_utf8(out).unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned()),
    )
}

/// Decodes the escape at the start of `bytes` into `out` and returns how many bytes it took.
fn escape(bytes: &[u8], out: &mut Vec<u8>) -> usize {
    let plain = match bytes.get(1) {
        Some(b'n') => b'\n',
        Some(b't') => b'\t',
        Some(b'r') => b'\r',
        Some(b'b') => 8,
        Some(b'f') => 12,
        Some(&c @ (b'"' | b'\\' | b'/')) => c,
        Some(b'u') => return unicode_escape(bytes, out),
        _ => {
            out.push(b'\\');
            return 1;
        }
    };
    out.push(plain);
    2
}

fn unicode_escape(bytes: &[u8], out: &mut Vec<u8>) -> usize {
    let unit = |at: usize| -> Option<u32> {
        let digits = bytes.get(at..at + 4).filter(|d| d.iter().all(u8::is_ascii_hexdigit))?;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let Some(high) = unit(2) else {
        out.push(b'\\');
        return 1;
    };
    let (code, taken) = match high {
        0xd800..=0xdbff => {
            match unit(8).filter(|low| bytes[6..8] == *b"\\u" && (0xdc00..=0xdfff).contains(low)) {
                Some(low) => (0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00), 12),
                None => (0xfffd, 6),
            }
        }
        _ => (high, 6),
    };
    let c = char::from_u32(code).unwrap_or('\u{fffd}');
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_decode_and_bad_ones_stand_for_themselves() {
        for (raw, plain) in [
            (r"plain", "plain"),
            (r#"a\n\t\"\\\/b"#, "a\n\t\"\\/b"),
            (r"\u00e9\ud83d\ude00", "é😀"),
            (r"\ud83d!", "\u{fffd}!"),
            (r"\ude00", "\u{fffd}"),
            (r"\ud83d\u0041", "\u{fffd}A"),
            (r"\x \u12", r"\x \u12"),
            (r"end\", r"end\"),
        ] {
            assert_eq!(decode(raw.as_bytes()), plain, "{raw}");
        }
        assert_eq!(decode(b"a\xffb"), "a\u{fffd}b");
        assert_eq!(decode(b"\\n\xff"), "\n\u{fffd}");
    }

    #[test]
    fn text_agrees_with_a_strict_parser() {
        let strict: String = serde_json::from_str(r#""tab\t quote\" \u2028 \ud83c\udf89 end""#).unwrap();
        assert_eq!(
            Text::escaped(Bytes::from_static(br#"tab\t quote\" \u2028 \ud83c\udf89 end"#)),
            strict.as_str()
        );
    }
}
