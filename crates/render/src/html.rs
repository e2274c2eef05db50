//! HTML that is safe by construction: markup is a literal of this crate, everything else is escaped.

use crate::visible;

/// A piece of HTML. Only this crate can put markup into it, and only markup that stands in its source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Html(String);

impl Html {
    /// An empty piece with room for `capacity` bytes.
    pub fn with_capacity(capacity: usize) -> Self {
        Html(String::with_capacity(capacity))
    }

    /// Appends markup. A `&'static str` cannot come from an agent.
    pub(crate) fn markup(&mut self, literal: &'static str) -> &mut Self {
        self.0.push_str(literal);
        self
    }

    /// Appends text, escaped for element content and for quoted attribute values alike. Control characters and the
    /// characters that turn the direction of text around become visible, so that what is read is what is there.
    pub fn text(&mut self, text: &str) -> &mut Self {
        let mut done = 0;
        let mut at = 0;
        while let Some(found) = first_to_look_at(text.as_bytes(), at) {
            let (taken, replacement) = replace(&text[found..]);
            at = found + taken;
            if let Some(replacement) = replacement {
                self.0.push_str(&text[done..found]);
                self.0.push_str(replacement);
                done = at;
            }
        }
        self.0.push_str(&text[done..]);
        self
    }

    /// Appends a number.
    pub fn number(&mut self, number: impl Into<u64>) -> &mut Self {
        let mut buffer = [0u8; 20];
        let mut at = buffer.len();
        let mut rest: u64 = number.into();
        loop {
            at -= 1;
            buffer[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.0.push_str(std::str::from_utf8(&buffer[at..]).unwrap_or_default());
        self
    }

    /// Appends another piece.
    pub fn append(&mut self, other: &Html) -> &mut Self {
        self.0.push_str(&other.0);
        self
    }

    /// Takes back everything after the first `length` bytes, which must be a length this piece had before.
    pub(crate) fn take_back(&mut self, length: usize) {
        self.0.truncate(length);
    }

    /// Forgets the content and keeps the room.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The HTML.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The HTML, owned.
    pub fn into_string(self) -> String {
        self.0
    }
}

/// Bytes that may start something to replace: HTML's five, and what `visible` replaces.
static NEEDS_LOOK: [bool; 256] = {
    let mut table = visible::MAY_START;
    table[b'<' as usize] = true;
    table[b'>' as usize] = true;
    table[b'&' as usize] = true;
    table[b'"' as usize] = true;
    table[b'\'' as usize] = true;
    table
};

/// The first place from `at` on that needs a look. Most text needs none: eight bytes at a time are passed in one step.
fn first_to_look_at(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at;
    while let Some(chunk) = bytes.get(at..at + 8) {
        if chunk.iter().fold(false, |look, byte| look | NEEDS_LOOK[*byte as usize]) {
            break;
        }
        at += 8;
    }
    bytes.get(at..)?.iter().position(|byte| NEEDS_LOOK[*byte as usize]).map(|found| at + found)
}

/// How many bytes the first character of `text` takes, and what stands for it.
fn replace(text: &str) -> (usize, Option<&'static str>) {
    let Some(c) = text.chars().next() else { return (1, None) };
    let replacement = match c {
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '&' => Some("&amp;"),
        '"' => Some("&quot;"),
        '\'' => Some("&#39;"),
        c => visible::replacement(c),
    };
    (c.len_utf8(), replacement)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_turning_characters_show() {
        let mut html = Html::default();
        html.text("<a href=\"x\" onclick='y'>&amp; é € 😀\u{202e}x\u{7}\0\n\t\u{85}");
        assert_eq!(
            html.as_str(),
            "&lt;a href=&quot;x&quot; onclick=&#39;y&#39;&gt;&amp;amp; é € 😀[U+202E]x\u{fffd}\u{fffd}\n\t\u{fffd}"
        );
    }

    #[test]
    fn numbers_are_written_in_full() {
        let mut html = Html::default();
        html.number(0u64).markup(" ").number(u64::MAX);
        assert_eq!(html.as_str(), "0 18446744073709551615");
    }
}
