//! Terminal styling: a closed set of inks, display width, and wrapping. It must not let text bring its own escapes:
//! whatever passes through `Paint` is made visible first, so only the literals of this file can style or move.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::visible;

/// Whether styling is written at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paint {
    /// True when the reader shows colours.
    pub colour: bool,
}

/// What a piece of terminal text is; how that looks is decided here alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Plain,
    Blue,
    Green,
    Orange,
    Purple,
    Gray,
    Bad,
    Warn,
    Gold,
    Dim,
    Bold,
    Italic,
    Underline,
    Strike,
    Add,
    Del,
    /// The words of an added line that differ.
    AddMark,
    /// The words of a removed line that differ.
    DelMark,
    Comment,
    String,
    Number,
    Keyword,
    Type,
    Function,
    Meta,
}

/// Ends all styling.
pub(crate) const RESET: &str = "\x1b[0m";

/// Styling that is open at a line break is carried over up to this length; our own inks stay far below it.
const OPEN_MAX: usize = 128;

impl Paint {
    /// The text in an ink, made visible.
    pub(crate) fn ink(self, ink: Ink, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + 12);
        self.push(&[ink], text, &mut out);
        out
    }

    /// Appends the text in several inks at once, made visible. Styling ends before each line end and starts again
    /// after it, so that every line stands for itself.
    pub(crate) fn push(self, inks: &[Ink], text: &str, out: &mut String) {
        let styled = self.colour && inks.iter().any(|ink| !ink.open().is_empty());
        if !styled {
            visible::push(text, out);
            return;
        }
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                out.push('\n');
            }
            if line.is_empty() {
                continue;
            }
            inks.iter().for_each(|ink| out.push_str(ink.open()));
            visible::push(line, out);
            out.push_str(RESET);
        }
    }
}

impl Ink {
    /// The escape that starts it.
    fn open(self) -> &'static str {
        match self {
            Ink::Plain => "",
            Ink::Blue | Ink::Function => "\x1b[34m",
            Ink::Green | Ink::String | Ink::Add => "\x1b[32m",
            Ink::Orange => "\x1b[38;5;208m",
            Ink::Purple | Ink::Keyword => "\x1b[35m",
            Ink::Gray | Ink::Comment => "\x1b[90m",
            Ink::Bad | Ink::Del => "\x1b[31m",
            Ink::Warn | Ink::Type => "\x1b[33m",
            Ink::Gold => "\x1b[38;5;178m",
            Ink::Dim => "\x1b[2m",
            Ink::Bold => "\x1b[1m",
            Ink::Italic => "\x1b[3m",
            Ink::Underline => "\x1b[4m",
            Ink::Strike => "\x1b[9m",
            Ink::AddMark => "\x1b[1;4;32m",
            Ink::DelMark => "\x1b[1;4;31m",
            Ink::Number | Ink::Meta => "\x1b[36m",
        }
    }
}

/// Columns a line takes on a terminal, not counting SGR escapes.
pub(crate) fn width(text: &str) -> usize {
    if !text.contains('\x1b') {
        return text.width();
    }
    // Measured as one: a character may change the width of the one before it, whatever escape stands between them.
    let mut bare = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        bare.push_str(&rest[..at]);
        rest = &rest[at + sgr_len(&rest[at..]).max(1)..];
    }
    bare.push_str(rest);
    bare.width()
}

/// Breaks text into lines of at most `width` columns, at spaces where it can. SGR escapes take no room, and styling
/// that is open at a break ends before it and starts again after it. A tab takes four columns.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut wrapper =
        Wrapper { lines: Vec::new(), width: width.max(1), line: String::new(), ..Wrapper::default() };
    for line in text.split('\n') {
        wrapper.line(line);
    }
    if text.ends_with('\n') {
        wrapper.lines.pop();
    }
    wrapper.lines
}

/// The state of wrapping. Each byte is moved to the next line at most once, so the work is linear.
#[derive(Default)]
struct Wrapper {
    lines: Vec<String>,
    width: usize,
    line: String,
    columns: usize,
    /// The escapes since the last reset.
    open: String,
    /// Where the line can be broken.
    gap: Option<Gap>,
}

/// A space between words.
struct Gap {
    /// The length of the line up to and with the space.
    at: usize,
    /// Its columns.
    columns: usize,
    /// The escapes that are open there.
    open: String,
}

/// True when nothing is to be read in a line: it holds colours and spaces at most.
pub(crate) fn is_blank(line: &str) -> bool {
    line.split(' ').all(is_only_escapes)
}

/// True when nothing would be seen of a line: it holds colours at most.
fn is_only_escapes(mut line: &str) -> bool {
    while let Some(escape) = Some(sgr_len(line)).filter(|length| *length > 0) {
        line = &line[escape..];
    }
    line.is_empty()
}

impl Wrapper {
    fn line(&mut self, text: &str) {
        let mut at = 0;
        let mut words = false;
        while let Some(c) = text[at..].chars().next() {
            let escape = sgr_len(&text[at..]);
            if escape > 0 {
                self.escape(&text[at..at + escape]);
                at += escape;
                continue;
            }
            at += c.len_utf8();
            if c == '\t' {
                (0..4).for_each(|_| self.character(' ', words));
            } else {
                self.character(c, words);
            }
            words |= !c.is_whitespace();
        }
        self.finish();
    }

    fn escape(&mut self, escape: &str) {
        self.line.push_str(escape);
        if escape == RESET || escape == "\x1b[m" {
            self.open.clear();
        } else if self.open.len() + escape.len() <= OPEN_MAX {
            self.open.push_str(escape);
        }
    }

    fn character(&mut self, c: char, words: bool) {
        let columns = c.width().unwrap_or(0);
        if c == ' ' && words {
            // A space at the edge hangs over and is cut with the break.
            self.line.push(c);
            self.columns += 1;
            self.gap = Some(Gap { at: self.line.len(), columns: self.columns, open: self.open.clone() });
            return;
        }
        if self.columns + columns > self.width && self.columns > 0 {
            self.break_line();
        }
        self.line.push(c);
        self.columns += columns;
    }

    fn break_line(&mut self) {
        let gap = self.gap.take().unwrap_or_else(|| Gap {
            at: self.line.len(),
            columns: self.columns,
            open: self.open.clone(),
        });
        let tail = self.line.split_off(gap.at);
        self.cut_end();
        if is_blank(&self.line) {
            self.line.clear();
        } else {
            if !gap.open.is_empty() {
                self.line.push_str(RESET);
            }
            self.lines.push(std::mem::take(&mut self.line));
        }
        self.line = gap.open;
        self.line.push_str(&tail);
        self.columns = self.columns.saturating_sub(gap.columns);
        if self.columns > self.width {
            // Spaces hung over the edge before the gap was used; nothing else can be wider than a line.
            self.columns = width(&tail);
        }
    }

    /// Cuts the spaces at the end of the line. Those under a style may be seen, so only what hangs over the edge goes.
    fn cut_end(&mut self) {
        self.line.truncate(self.line.trim_end_matches(' ').len());
        if !self.line.ends_with('m') {
            return;
        }
        let mut over = width(&self.line).saturating_sub(self.width);
        let mut end = self.line.len();
        let mut escapes = Vec::new();
        while over > 0 {
            let before = &self.line[..end];
            if before.ends_with(' ') {
                end -= 1;
                over -= 1;
            } else if let Some(at) = before.rfind('\x1b').filter(|at| at + sgr_len(&before[*at..]) == end) {
                escapes.push(before[at..].to_owned());
                end = at;
            } else {
                break;
            }
        }
        self.line.truncate(end);
        self.line.extend(escapes.into_iter().rev());
    }

    fn finish(&mut self) {
        self.cut_end();
        if !self.open.is_empty() {
            self.line.push_str(RESET);
        }
        self.lines.push(std::mem::take(&mut self.line));
        self.line.push_str(&self.open);
        self.columns = 0;
        self.gap = None;
    }
}

/// The length of the SGR escape at the start of `text`, or 0.
fn sgr_len(text: &str) -> usize {
    let Some(rest) = text.strip_prefix("\x1b[") else { return 0 };
    let parameters = rest.bytes().take_while(|byte| matches!(byte, b'0'..=b'9' | b';' | b':')).count();
    if rest.as_bytes().get(parameters) == Some(&b'm') { parameters + 3 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ink_is_written_only_with_colour_and_never_brings_escapes() {
        let hostile = "a\x1b]0;title\x07\nb\x1b[2J";
        assert_eq!(Paint { colour: false }.ink(Ink::Bad, "x"), "x");
        assert_eq!(
            Paint { colour: true }.ink(Ink::Bad, hostile),
            "\x1b[31ma\u{fffd}]0;title\u{fffd}\x1b[0m\n\x1b[31mb\u{fffd}[2J\x1b[0m"
        );
    }

    #[test]
    fn width_counts_columns_and_not_escapes() {
        for (text, columns) in [
            ("abc", 3),
            ("\x1b[1;31mabc\x1b[0m", 3),
            ("日本", 4),
            ("é", 1),
            ("\x1b", 0),
            ("", 0),
            ("☝\x1b[1m\u{fe0f}", 2),
        ] {
            assert_eq!(width(text), columns, "{text:?}");
        }
    }

    #[test]
    fn wrapping_breaks_at_spaces_and_carries_styling() {
        for (text, columns, lines) in [
            ("one two three", 7, vec!["one two", "three"]),
            ("one two three", 80, vec!["one two three"]),
            ("abcdefgh", 3, vec!["abc", "def", "gh"]),
            ("ab cdefgh", 3, vec!["ab", "cde", "fgh"]),
            ("日本語", 4, vec!["日本", "語"]),
            ("日本", 1, vec!["日", "本"]),
            ("a\n\nb\n", 5, vec!["a", "", "b"]),
            ("    abc", 4, vec!["abc"]),
            ("\tx", 8, vec!["    x"]),
            ("x", 0, vec!["x"]),
            ("", 5, vec![""]),
            ("a      b", 3, vec!["a", "b"]),
            ("\x1b[1mone two\x1b[0m x", 4, vec!["\x1b[1mone\x1b[0m", "\x1b[1mtwo\x1b[0m", "x"]),
            ("\x1b[1ma\nb\x1b[0m", 4, vec!["\x1b[1ma\x1b[0m", "\x1b[1mb\x1b[0m"]),
            ("a\x1b[1m  \x1b[0m", 2, vec!["a\x1b[1m \x1b[0m"]),
            (
                "a\x1b[1m \x1b[0m \x1b[4m \x1b[0mb",
                1,
                vec!["a\x1b[1m\x1b[0m\x1b[4m\x1b[0m", "\x1b[4m\x1b[0mb"],
            ),
        ] {
            assert_eq!(wrap(text, columns), lines, "{text:?} at {columns}");
        }
    }

    #[test]
    fn a_line_of_colours_and_spaces_is_blank() {
        for (line, blank) in
            [("", true), ("\x1b[2m  \x1b[0m ", true), ("\x1b[2m a\x1b[0m", false), ("\x1b[2", false)]
        {
            assert_eq!(is_blank(line), blank, "{line:?}");
        }
    }

    #[test]
    fn colour_makes_no_line_of_its_own() {
        let plain = format!("{}{{", " ".repeat(30));
        let coloured = format!("\x1b[2m{plain}\x1b[0m");
        assert_eq!(wrap(&plain, 10).len(), wrap(&coloured, 10).len());
    }

    #[test]
    fn no_wrapped_line_is_wider_than_asked_and_no_word_is_lost() {
        let text =
            "\x1b[31mlorem ipsum   dolor\x1b[0m sit amet, \x1b[4mconsectetur\x1b[0m 日本語 adipiscing-elit "
                .repeat(20);
        for columns in 2..40 {
            let lines = wrap(&text, columns);
            assert!(lines.iter().all(|line| width(line) <= columns), "{columns}");
            let letters = |text: &str| -> String {
                let mut out = String::new();
                let mut at = 0;
                while let Some(c) = text[at..].chars().next() {
                    let escape = sgr_len(&text[at..]);
                    if escape == 0 && !c.is_whitespace() {
                        out.push(c);
                    }
                    at += escape.max(c.len_utf8());
                }
                out
            };
            assert_eq!(letters(&lines.concat()), letters(&text), "{columns}");
        }
    }
}
