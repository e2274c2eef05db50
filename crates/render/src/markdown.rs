//! Markdown becomes HTML or terminal text. Raw HTML in it is text, links go only where a person would expect, and
//! nothing is loaded: a picture is a link. It must not fail or take more than linear time on any input.
//!
//! HTML: the usual elements; a code block is `<figure class="code">` with an optional `<figcaption>` (its language)
//! and `<pre><code>`; a picture is `<a class="image">` or `<span class="image">`; what points elsewhere than the web
//! is text with its address in `<span class="address">`; a table stands in `<div class="table">`, its cells may have
//! class `left`, `center` or `right`; a task starts with a disabled checkbox; raw HTML is `<p class="raw">`, to be
//! shown with its white space. A line end in a paragraph stays a line end: a page that wants to keep it says
//! `white-space: pre-line`. Text too big or too deep is a `<p class="cut">` and a `<pre class="plain">`.

mod address;
mod page;
mod terminal;

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser};

use crate::html::Html;
use crate::paint::{Ink, Paint};

/// Text bigger than this is shown as it is.
const BYTES_MAX: usize = 1 << 20;

/// Markers of quotes and lists before the text of one line. Each line costs the parser up to its depth, so that depth
/// without bound would be quadratic.
const DEPTH_MAX: usize = 64;

/// Columns before a marker. Nesting by indentation is as deep as nesting by markers.
const INDENT_MAX: usize = 4 * DEPTH_MAX;

/// Appends the Markdown as HTML.
pub(crate) fn to_html(text: &str, html: &mut Html) {
    let before = html.as_str().len();
    if !is_too_much(text) && page::write(text, html) {
        return;
    }
    html.take_back(before);
    html.markup("<p class=\"cut\">")
        .markup(TOO_MUCH)
        .markup("</p><pre class=\"plain\">")
        .text(text)
        .markup("</pre>");
}

/// The Markdown for a terminal of the given width. Every line ends with a line end.
pub(crate) fn to_terminal(text: &str, width: usize, paint: Paint) -> String {
    if !is_too_much(text)
        && let Some(out) = terminal::write(text, width, paint)
    {
        return out;
    }
    let mut out = paint.ink(Ink::Warn, TOO_MUCH);
    out.push('\n');
    paint.push(&[Ink::Plain], text, &mut out);
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

/// The Markdown with its raw HTML escaped, for documents that other programs show: text in every viewer.
pub(crate) fn without_html(mut text: String) -> String {
    // What was inside of HTML is Markdown afterwards, and may open or close other things.
    const PASSES: usize = 8;
    'passes: for _ in 0..PASSES {
        let before = text.len();
        // A viewer without tables reads a row as a line of text, and finds HTML where there was a cell too many.
        for options in [OPTIONS, Options::empty()] {
            let Some(ranges) = html_in(&text, options) else { break 'passes };
            text = escape(&text, ranges);
        }
        if text.len() == before {
            return text;
        }
    }
    // A reference is safe whatever stands before it; a second backslash would undo the first.
    text.replace('<', "&lt;")
}

fn escape(text: &str, ranges: Vec<Range<usize>>) -> String {
    let (mut escaped, mut done) = (String::with_capacity(text.len() + 64), 0);
    for range in ranges {
        escaped.push_str(text.get(done..range.start).unwrap_or_default());
        escaped.push_str(&text[range.clone()].replace('<', "\\<"));
        done = range.end;
    }
    escaped.push_str(&text[done..]);
    escaped
}

/// Where raw HTML stands; `None` when the text is too much to tell.
fn html_in(text: &str, options: Options) -> Option<Vec<Range<usize>>> {
    if is_too_much(text) {
        return None;
    }
    let mut ranges = Vec::new();
    let mut left = events_max(text);
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        left = left.checked_sub(1)?;
        if matches!(event, Event::Html(_) | Event::InlineHtml(_)) {
            ranges.push(range);
        }
    }
    Some(ranges)
}

const TOO_MUCH: &str = "Too big or too deep to be laid out; shown as it is";

/// What of Markdown beyond CommonMark is understood.
const OPTIONS: Options =
    Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH).union(Options::ENABLE_TASKLISTS);

/// More events than this come only from tables whose short rows are filled up to a very long first one.
fn events_max(text: &str) -> usize {
    text.len().saturating_mul(4).saturating_add(256)
}

fn is_too_much(text: &str) -> bool {
    text.len() > BYTES_MAX || lines(text).any(is_too_deep)
}

/// The lines of a text. `str::lines` searches byte by byte, which shows in the time of a whole page.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]);
    ends.scan(0, |start, end| Some(text.get(std::mem::replace(start, end + 1)..end).unwrap_or_default()))
}

fn is_too_deep(line: &str) -> bool {
    let mut markers = 0;
    for (indent, byte) in line.bytes().enumerate() {
        match byte {
            b' ' | b'\t' | b'0'..=b'9' => {}
            b'>' | b'-' | b'+' | b'*' | b'.' | b')' => {
                // A rule is a line of markers too, but nothing follows it and nothing nests.
                markers += 1;
                if markers > DEPTH_MAX || indent > INDENT_MAX {
                    return !is_rule(line);
                }
            }
            _ => return false,
        }
    }
    false
}

/// True for a line of one repeated sign, such as a rule or an underlined heading.
fn is_rule(line: &str) -> bool {
    let line = line.trim();
    let Some(first) = line.bytes().next().filter(|first| *first != b'>') else { return false };
    line.bytes().all(|byte| byte == first)
}

/// The first word of a code block's info string.
fn label(info: &str) -> &str {
    info.trim_start_matches(['{', '.', ' ']).split([' ', ',', '{', '}', '\t']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_deep_is_told_from_rules_and_prose() {
        for (line, deep) in [
            ("-".repeat(500), false),
            (format!("  {}", "*".repeat(500)), false),
            ("> ".repeat(500), true),
            (">".repeat(500), true),
            ("- ".repeat(500), true),
            ("1. ".repeat(50), false),
            ("1. ".repeat(500), true),
            ("1) ".repeat(500), true),
            (".".repeat(500), false),
            (format!("{}- x", " ".repeat(400)), true),
            (format!("{}x", " ".repeat(400)), false),
            ("> > - * text".into(), false),
            (String::new(), false),
        ] {
            assert_eq!(is_too_deep(&line), deep, "{line}");
            assert_eq!(is_too_much(&format!("a\n\n{line}\nb")), deep, "{line}");
            assert_eq!(is_too_much(&format!("a\r\n{line}")), deep, "{line}");
        }
    }

    #[test]
    fn html_is_escaped_until_none_is_left() {
        for (text, escaped) in [
            ("a < b `<i>`", "a < b `<i>`"),
            ("\\\\<b>x", "\\\\\\<b>x"),
            ("<div>\\<b>", "\\<div>\\\\\\<b>"),
            ("<div>\n```\n\n```\n<b>", "\\<div>\n```\n\n```\n\\<b>"),
            ("|a|\n|-|\n|x|</b>|", "|a|\n|-|\n|x|\\</b>|"),
        ] {
            assert_eq!(without_html(text.into()), escaped, "{text}");
        }
        for pattern in HOSTILE.iter().chain(&["<div>\n```\n\n", "<b>`", "\\<b>"]) {
            let text = without_html(format!("{}\n<b>`", pattern.repeat(300)));
            assert_eq!(html_in(&text, OPTIONS).unwrap_or_default(), [], "{pattern:?}");
        }
        let deep = without_html(format!("{}<b>", ">".repeat(1000)));
        assert!(deep.ends_with(">&lt;b>"));
    }

    #[test]
    fn what_is_too_much_is_shown_as_it_is() {
        let mut html = Html::default();
        to_html(&format!("{}<b>", ">".repeat(1000)), &mut html);
        assert!(html.as_str().starts_with("<p class=\"cut\">Too big"));
        assert!(html.as_str().ends_with("&gt;&lt;b&gt;</pre>"));
        let table = format!("|{}\n|{}\n{}", "a|".repeat(2000), "-|".repeat(2000), "|x|\n".repeat(2000));
        let mut html = Html::default();
        to_html(&table, &mut html);
        assert!(html.as_str().starts_with("<p class=\"cut\">"));
        assert!(to_terminal(&table, 80, Paint { colour: false }).starts_with("Too big"));
    }

    /// Inputs that trouble Markdown parsers. Output that grows with the square of the input would show here; time is
    /// measured elsewhere.
    #[test]
    fn hostile_input_stays_in_proportion() {
        for pattern in HOSTILE {
            let text = pattern.repeat(20_000 / pattern.len());
            let mut html = Html::default();
            to_html(&text, &mut html);
            assert!(html.as_str().len() < 40 * text.len() + 4096, "{pattern:?}: {}", html.as_str().len());
            assert!(
                to_terminal(&text, 80, Paint { colour: true }).len() < 60 * text.len() + 4096,
                "{pattern:?}"
            );
        }
    }

    pub(super) const HOSTILE: [&str; 24] = [
        ">",
        "> ",
        "- ",
        "1. ",
        "[",
        "![",
        "[[]",
        "[](",
        "](",
        "*",
        "**a ",
        "_a*",
        "`",
        "~~",
        "<",
        "<!--",
        "<a href=\"",
        "&",
        "\\",
        "|a",
        "|a|\n|-|\n",
        "```\n",
        "[a]: b\n[a] ",
        "http://a",
    ];

    /// Run with `cargo test --release -p parlor-render -- --ignored --nocapture measure`.
    #[test]
    #[ignore = "measures time"]
    #[allow(clippy::disallowed_methods)]
    fn measure_hostile_input() {
        for pattern in HOSTILE {
            let mut times = Vec::new();
            for size in [BYTES_MAX / 4, BYTES_MAX] {
                let text = pattern.repeat(size / pattern.len());
                let start = std::time::Instant::now();
                let mut html = Html::default();
                to_html(&text, &mut html);
                times.push(start.elapsed());
            }
            println!("{pattern:?}: {:?} {:?}", times[0], times[1]);
            assert!(times[1].as_secs() < 2, "{pattern:?}");
        }
    }
}
