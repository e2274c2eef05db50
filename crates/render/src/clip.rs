//! Text that is too long keeps its head and its tail, and says what is missing. It must not cut a character in two.

use std::borrow::Cow;

use parlor_model::json::Json;
use parlor_model::tool::{Output, Piece};

use crate::measure::{plural, size};

/// A text as far as it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clip<'a> {
    /// The start, or all of it.
    pub(crate) head: &'a str,
    /// What is left out between head and tail.
    pub(crate) missing: Option<Missing>,
    /// The end; empty when nothing is left out.
    pub(crate) tail: &'a str,
}

/// How much is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    lines: u64,
    bytes: u64,
}

impl Missing {
    /// `… 312 lines not shown`, or the size when it is less than a line.
    pub(crate) fn words(self) -> String {
        match self.lines {
            0 => format!("… {} not shown", size(self.bytes)),
            lines => format!("… {} not shown", plural(lines, "line")),
        }
    }
}

impl<'a> Clip<'a> {
    /// The text within these limits: two thirds of what fits from the start, one third from the end.
    pub(crate) fn new(text: &'a str, bytes: usize, lines: usize) -> Clip<'a> {
        if text.len() <= bytes && (text.len() <= lines || count_lines(text) <= lines as u64) {
            return Clip { head: text, missing: None, tail: "" };
        }
        let (head_bytes, head_lines) = (bytes - bytes / 3, (lines - lines / 3).max(1));
        let ends =
            memchr::memchr_iter(b'\n', text.as_bytes()).nth(head_lines - 1).map_or(text.len(), |end| end + 1);
        let mut head = text.floor_char_boundary(ends.min(head_bytes));
        // Whole lines where the limit is in bytes and a line end is near.
        if let Some(end) = memchr::memrchr(b'\n', &text.as_bytes()[head.saturating_sub(400)..head]) {
            head = head.saturating_sub(400) + end + 1;
        }
        let rest = &text[head..];
        let starts =
            memchr::memrchr_iter(b'\n', rest.trim_end_matches('\n').as_bytes()).nth((lines / 3).max(1) - 1);
        let by_bytes = rest.len().saturating_sub(bytes / 3);
        let tail = rest.ceil_char_boundary(starts.map_or(0, |start| start + 1).max(by_bytes));
        let skipped = &rest[..tail];
        if skipped.is_empty() {
            return Clip { head: text, missing: None, tail: "" };
        }
        let missing = Missing {
            lines: memchr::memchr_iter(b'\n', skipped.as_bytes()).count() as u64,
            bytes: skipped.len() as u64,
        };
        Clip { head: &text[..head], missing: Some(missing), tail: &rest[tail..] }
    }
}

/// How many lines a text has; a line end at the very end starts no new one.
pub(crate) fn count_lines(text: &str) -> u64 {
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).count();
    (ends + usize::from(!text.is_empty() && !text.ends_with('\n'))) as u64
}

/// The text up to the end of its `lines`-th line, and the rest.
pub(crate) fn split_lines(text: &str, lines: usize) -> (&str, &str) {
    match memchr::memchr_iter(b'\n', text.as_bytes()).nth(lines.saturating_sub(1)) {
        Some(end) => text.split_at(end + 1),
        None => (text, ""),
    }
}

/// The last `lines` lines that say something, of at most some kilobytes: not those of brackets and rules alone.
pub(crate) fn last_lines(text: &str, lines: usize) -> Vec<&str> {
    let near = &text[text.ceil_char_boundary(text.len().saturating_sub(2048))..];
    let mut last: Vec<&str> = near.lines().rev().filter(says_something).take(lines).collect();
    last.reverse();
    last
}

fn says_something(line: &&str) -> bool {
    line.chars().any(char::is_alphanumeric)
}

/// One line of at most `characters` characters, with an ellipsis where something is missing.
pub(crate) fn one_line(text: &str, characters: usize) -> Cow<'_, str> {
    let text = text.trim();
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(characters) {
        Some((end, _)) => Cow::Owned(format!("{}…", line[..end].trim_end())),
        None if line.len() < text.len() => Cow::Owned(format!("{line} …")),
        None => Cow::Borrowed(line),
    }
}

/// The text of an output: borrowed when it is one piece.
pub(crate) fn output_text(output: &Output) -> Cow<'_, str> {
    let mut texts = output.parts.iter().filter_map(|piece| match piece {
        Piece::Text { text } => Some(text),
        Piece::Attachment { .. } | Piece::Other { .. } => None,
    });
    match (texts.next(), texts.next()) {
        (None, _) => Cow::Borrowed(""),
        (Some(text), None) => text.as_str(),
        _ => Cow::Owned(output.joined()),
    }
}

/// JSON with line ends and indents, by its brackets alone: it neither fails nor recurses on what is no JSON, and
/// leaves the words of that apart. At most about `limit` bytes of it.
pub(crate) fn indented(json: &Json, limit: usize) -> String {
    let whole = json.lossy();
    let text = &whole[..whole.floor_char_boundary(limit)];
    let json = text.trim_start().starts_with(['{', '[']);
    let mut out = if json { by_brackets(text) } else { text.to_owned() };
    if text.len() < whole.len() {
        out.push_str("\n… ");
        out.push_str(&size((whole.len() - text.len()) as u64));
        out.push_str(" not shown");
    }
    out
}

fn by_brackets(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    let (mut depth, mut quoted, mut escaped, mut opened) = (0usize, false, false, false);
    let (mut spaced, mut last) = (false, ':');
    for c in text.chars() {
        if quoted {
            quoted = c != '"' || escaped;
            escaped = c == '\\' && !escaped;
            out.push(c);
            continue;
        }
        if c.is_ascii_whitespace() {
            spaced = true;
            continue;
        }
        // In JSON a sign stands between any two words; what has none there is text.
        if spaced && !is_sign(last) && !is_sign(c) {
            out.push(' ');
        }
        (spaced, last) = (false, c);
        let closes = matches!(c, '}' | ']');
        if closes {
            depth = depth.saturating_sub(1);
        }
        if opened != closes && (opened || closes) {
            line_break(&mut out, depth);
        }
        opened = false;
        match c {
            '"' => quoted = true,
            '{' | '[' => (depth, opened) = (depth + 1, true),
            _ => {}
        }
        out.push(c);
        match c {
            ',' => line_break(&mut out, depth),
            ':' => out.push(' '),
            _ => {}
        }
    }
    out
}

fn is_sign(c: char) -> bool {
    matches!(c, '{' | '}' | '[' | ']' | ',' | ':')
}

fn line_break(out: &mut String, depth: usize) {
    out.push('\n');
    // Deeper than this, indents would cost more than they tell.
    (0..depth.min(24)).for_each(|_| out.push_str("  "));
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn a_text_within_its_limits_is_whole() {
        for text in ["", "a", "a\nb\n", "ééé"] {
            assert_eq!(Clip::new(text, 6, 2), Clip { head: text, missing: None, tail: "" });
        }
    }

    #[test]
    fn a_long_text_keeps_head_and_tail_and_counts_the_rest() {
        let text: String = (0..100).map(|n| format!("line {n}\n")).collect();
        let clip = Clip::new(&text, 10_000, 9);
        assert_eq!(clip.head.lines().count(), 6);
        assert_eq!(clip.tail, "line 97\nline 98\nline 99\n");
        assert_eq!(clip.missing.unwrap().words(), "… 91 lines not shown");

        let wide = "é".repeat(100_000);
        let clip = Clip::new(&wide, 301, 10);
        assert!(clip.head.len() + clip.tail.len() <= 301);
        assert_eq!(clip.missing.unwrap().words(), "… 199 KB not shown");
    }

    #[test]
    fn no_limit_and_no_text_makes_a_clip_panic_or_lose_its_count() {
        for text in ["", "\n", "\n\n\n", "é\né", "a\nb\nc\nd\ne", &"x\n".repeat(50), &"é".repeat(50)] {
            for bytes in [0, 1, 2, 3, 7, 50, usize::MAX] {
                for lines in [0, 1, 2, 3, 7, usize::MAX] {
                    let clip = Clip::new(text, bytes, lines);
                    let missing = clip.missing.map_or(0, |missing| missing.bytes as usize);
                    assert_eq!(clip.head.len() + missing + clip.tail.len(), text.len());
                }
            }
        }
    }

    #[test]
    fn json_is_indented_by_its_brackets_and_never_refused() {
        let json = |text: &str| Json::new(Bytes::copy_from_slice(text.as_bytes()));
        assert_eq!(
            indented(&json(r#"{"a":[1,{}],"b":"x,\"{"}"#), 1000),
            "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": \"x,\\\"{\"\n}"
        );
        for (text, shown) in [
            ("HTTP/1.1 200 OK, fine", "HTTP/1.1 200 OK, fine"),
            ("[info] two  words: x", "[\n  info\n]two words: x"),
        ] {
            assert_eq!(indented(&json(text), 1000), shown);
        }
        for bad in ["}}]]", "{\"a", "nonsense, really", &"[".repeat(5000)] {
            indented(&json(bad), 3000);
        }
        assert!(indented(&json(&"[".repeat(5000)), 100).ends_with("… 4 KB not shown"));
    }

    #[test]
    fn one_line_is_one_line() {
        assert_eq!(one_line("  abc  ", 5), "abc");
        assert_eq!(one_line("abcdefg", 5), "abcde…");
        assert_eq!(one_line("ab\ncd", 5), "ab …");
        assert_eq!(last_lines("a\n\nb\n \nc\n}\n", 2), ["b", "c"]);
        assert!(last_lines("}\n", 2).is_empty());
        assert_eq!(split_lines("a\nb\nc", 2), ("a\nb\n", "c"));
    }
}
