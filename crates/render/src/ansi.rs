//! Command output with ANSI styling. SGR colours become classes or clean SGR; every other escape is dropped. It must
//! not let output move the cursor, set a title, clear the screen or turn text around.
//!
//! Classes, on `<span class="a …">`: foreground `a-black a-red a-green a-yellow a-blue a-magenta a-cyan a-white` and their bright
//! forms `a-bright-black` … `a-bright-white`; background the same with `b-` for `a-` (`b-red`, `b-bright-red`);
//! `a-bold a-dim a-italic a-underline a-strike a-reverse`. Colours beyond the sixteen become the nearest of them.

use crate::html::Html;
use crate::paint::{Paint, RESET};
use crate::visible;

/// A span is some 30 bytes for a 4-byte escape; after this many the rest of the output is shown without styling, so
/// that hostile output cannot grow without measure.
const SPANS_MAX: usize = 20_000;

/// Parameters of one SGR escape that are read; the rest is ignored.
const PARAMETERS_MAX: usize = 32;

/// Appends the output as text and `<span>`s, for a `<pre>`.
pub(crate) fn to_html(text: &str, html: &mut Html) {
    let mut open = Style::default();
    let mut spans = 0;
    read(text, &mut |style, text| {
        let style = if spans < SPANS_MAX { style } else { Style::default() };
        if style != open {
            if open != Style::default() {
                html.markup("</span>");
            }
            if style != Style::default() {
                style.open_html(html);
                spans += 1;
            }
            open = style;
        }
        html.text(text);
    });
    if open != Style::default() {
        html.markup("</span>");
    }
}

/// The output for a terminal: clean SGR when colours are on, plain text when they are off. Styling ends before each
/// line end and starts again after it.
pub(crate) fn to_terminal(text: &str, paint: Paint) -> String {
    let mut out = String::with_capacity(text.len());
    read(text, &mut |style, text| {
        if !paint.colour || style == Style::default() {
            visible::push(text, &mut out);
            return;
        }
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                out.push('\n');
            }
            if !line.is_empty() {
                style.open_terminal(&mut out);
                visible::push(line, &mut out);
                out.push_str(RESET);
            }
        }
    });
    out
}

/// The output as plain text: all escapes dropped, progress lines in their last state.
pub(crate) fn to_plain(text: &str) -> String {
    to_terminal(text, Paint { colour: false })
}

/// How a run of text looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Style {
    /// 0 is the default colour, 1 to 16 are the sixteen colours.
    foreground: u8,
    background: u8,
    /// Bits in the order of `ATTRIBUTES`.
    attributes: u8,
}

const BOLD: u8 = 1;
const DIM: u8 = 2;
const ITALIC: u8 = 4;
const UNDERLINE: u8 = 8;
const REVERSE: u8 = 16;
const STRIKE: u8 = 32;

static ATTRIBUTES: [(u8, &str, &str); 6] = [
    (BOLD, " a-bold", ";1"),
    (DIM, " a-dim", ";2"),
    (ITALIC, " a-italic", ";3"),
    (UNDERLINE, " a-underline", ";4"),
    (REVERSE, " a-reverse", ";7"),
    (STRIKE, " a-strike", ";9"),
];

/// Class and SGR of each colour, as foreground and as background, and what it looks like on xterm.
type Colour = (&'static str, &'static str, &'static str, &'static str, [u8; 3]);

static COLOURS: [Colour; 16] = [
    (" a-black", ";30", " b-black", ";40", [0, 0, 0]),
    (" a-red", ";31", " b-red", ";41", [205, 0, 0]),
    (" a-green", ";32", " b-green", ";42", [0, 205, 0]),
    (" a-yellow", ";33", " b-yellow", ";43", [205, 205, 0]),
    (" a-blue", ";34", " b-blue", ";44", [0, 0, 238]),
    (" a-magenta", ";35", " b-magenta", ";45", [205, 0, 205]),
    (" a-cyan", ";36", " b-cyan", ";46", [0, 205, 205]),
    (" a-white", ";37", " b-white", ";47", [229, 229, 229]),
    (" a-bright-black", ";90", " b-bright-black", ";100", [127, 127, 127]),
    (" a-bright-red", ";91", " b-bright-red", ";101", [255, 0, 0]),
    (" a-bright-green", ";92", " b-bright-green", ";102", [0, 255, 0]),
    (" a-bright-yellow", ";93", " b-bright-yellow", ";103", [255, 255, 0]),
    (" a-bright-blue", ";94", " b-bright-blue", ";104", [92, 92, 255]),
    (" a-bright-magenta", ";95", " b-bright-magenta", ";105", [255, 0, 255]),
    (" a-bright-cyan", ";96", " b-bright-cyan", ";106", [0, 255, 255]),
    (" a-bright-white", ";97", " b-bright-white", ";107", [255, 255, 255]),
];

impl Style {
    fn open_html(self, html: &mut Html) {
        html.markup("<span class=\"a");
        self.each(&mut |class, _| {
            html.markup(class);
        });
        html.markup("\">");
    }

    fn open_terminal(self, out: &mut String) {
        out.push_str("\x1b[0");
        self.each(&mut |_, sgr| out.push_str(sgr));
        out.push('m');
    }

    /// Calls `take` with the class and the SGR parameter of everything that is set.
    fn each(self, take: &mut dyn FnMut(&'static str, &'static str)) {
        let colour = |number: u8| COLOURS.get(usize::from(number).wrapping_sub(1));
        if let Some(colour) = colour(self.foreground) {
            take(colour.0, colour.1);
        }
        if let Some(colour) = colour(self.background) {
            take(colour.2, colour.3);
        }
        for (bit, class, sgr) in &ATTRIBUTES {
            if self.attributes & bit != 0 {
                take(class, sgr);
            }
        }
    }

    /// Applies the parameters of an SGR escape.
    fn apply(&mut self, parameters: &[u8]) {
        let numbers: Vec<u16> = parameters
            .split(|byte| matches!(byte, b';' | b':'))
            .take(PARAMETERS_MAX)
            .map(|digits| {
                digits.iter().fold(0u16, |n, d| n.saturating_mul(10).saturating_add(u16::from(d & 15)))
            })
            .collect();
        // `38:2::r:g:b` has an empty colour space that `38;2;r;g;b` has not.
        let colon = parameters.contains(&b':');
        let mut at = 0;
        while let Some(&number) = numbers.get(at) {
            at += 1;
            if let 38 | 48 = number {
                let (colour, taken) = extended_colour(numbers.get(at..).unwrap_or_default(), colon);
                at += taken;
                let plane = if number == 38 { &mut self.foreground } else { &mut self.background };
                *plane = colour.unwrap_or(*plane);
            } else {
                self.apply_one(number);
            }
        }
    }

    fn apply_one(&mut self, number: u16) {
        match number {
            0 => *self = Style::default(),
            1 => self.attributes |= BOLD,
            2 => self.attributes |= DIM,
            3 => self.attributes |= ITALIC,
            4 | 21 => self.attributes |= UNDERLINE,
            7 => self.attributes |= REVERSE,
            9 => self.attributes |= STRIKE,
            22 => self.attributes &= !(BOLD | DIM),
            23 => self.attributes &= !ITALIC,
            24 => self.attributes &= !UNDERLINE,
            27 => self.attributes &= !REVERSE,
            29 => self.attributes &= !STRIKE,
            30..=37 => self.foreground = (number - 29) as u8,
            39 => self.foreground = 0,
            40..=47 => self.background = (number - 39) as u8,
            49 => self.background = 0,
            90..=97 => self.foreground = (number - 81) as u8,
            100..=107 => self.background = (number - 91) as u8,
            // Blinking and concealed text is shown like any other.
            _ => {}
        }
    }
}

/// The colour after a 38 or 48, and how many parameters it took.
fn extended_colour(rest: &[u16], colon: bool) -> (Option<u8>, usize) {
    let byte = |number: u16| number.min(255) as u8;
    match rest {
        [5, index, ..] => (Some(colour_of_index(byte(*index))), 2),
        [2, _, r, g, b, ..] if colon => (Some(nearest([byte(*r), byte(*g), byte(*b)])), 5),
        [2, r, g, b, ..] => (Some(nearest([byte(*r), byte(*g), byte(*b)])), 4),
        _ => (None, rest.len()),
    }
}

fn colour_of_index(index: u8) -> u8 {
    match index {
        0..=15 => index + 1,
        16..=231 => {
            let level = |n: u8| if n == 0 { 0 } else { 55 + n * 40 };
            let cube = index - 16;
            nearest([level(cube / 36), level(cube / 6 % 6), level(cube % 6)])
        }
        232..=255 => nearest([8 + (index - 232) * 10; 3]),
    }
}

/// The number of the nearest of the sixteen colours.
fn nearest(colour: [u8; 3]) -> u8 {
    let distance = |other: [u8; 3]| -> u32 {
        colour.iter().zip(other).map(|(a, b)| u32::from(a.abs_diff(b)).pow(2)).sum()
    };
    let best = (0u8..16).min_by_key(|index| distance(COLOURS[usize::from(*index)].4));
    best.unwrap_or(0) + 1
}

/// Reads output and hands over its runs: text without escapes, line ends included, progress lines in their last state.
fn read(text: &str, take: &mut dyn FnMut(Style, &str)) {
    let mut style = Style::default();
    let mut rest = text;
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest.as_bytes()).map_or(rest.len(), |at| at + 1);
        let (line, after) = rest.split_at(end);
        let content = line.trim_end_matches(['\n', '\r']);
        if memchr::memchr2(b'\r', 8, content.as_bytes()).is_some() {
            read_overwritten(content, &mut style, take);
        } else if memchr::memchr(0x1b, content.as_bytes()).is_some() {
            for piece in (Pieces { rest: content }) {
                match piece {
                    Piece::Text(text) => take(style, text),
                    Piece::Style(parameters) => style.apply(parameters),
                    Piece::EraseLine(_) => {}
                }
            }
        } else {
            take(style, content);
        }
        if line.ends_with('\n') {
            take(style, "\n");
        }
        rest = after;
    }
}

/// Reads a line that writes over itself: a carriage return goes back to its start, a backspace one character.
fn read_overwritten(line: &str, style: &mut Style, take: &mut dyn FnMut(Style, &str)) {
    let mut cells: Vec<(Style, char)> = Vec::new();
    let mut cursor = 0usize;
    for piece in (Pieces { rest: line }) {
        match piece {
            Piece::Style(parameters) => style.apply(parameters),
            Piece::EraseLine(b"" | b"0") => cells.truncate(cursor),
            // The cursor would stay where it is, but what is written next would then stand behind a gap that every
            // erasing makes anew: quadratic work for nothing a reader wants.
            Piece::EraseLine(b"2") => {
                cells.clear();
                cursor = 0;
            }
            Piece::EraseLine(_) => {}
            Piece::Text(text) => {
                for c in text.chars() {
                    match c {
                        '\r' => cursor = 0,
                        '\u{8}' => cursor = cursor.saturating_sub(1),
                        c => {
                            match cells.get_mut(cursor) {
                                Some(cell) => *cell = (*style, c),
                                None => cells.push((*style, c)),
                            }
                            cursor += 1;
                        }
                    }
                }
            }
        }
    }
    let mut run = String::new();
    for chunk in cells.chunk_by(|a, b| a.0 == b.0) {
        run.clear();
        run.extend(chunk.iter().map(|cell| cell.1));
        take(chunk[0].0, &run);
    }
}

/// A piece of a line.
enum Piece<'a> {
    Text(&'a str),
    /// The parameters of an SGR escape.
    Style(&'a [u8]),
    /// The parameters of an escape that erases in the line.
    EraseLine(&'a [u8]),
}

/// The pieces of a line; escapes that are neither styling nor erasing are skipped.
struct Pieces<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        loop {
            let bytes = self.rest.as_bytes();
            let start = memchr::memchr(0x1b, bytes).unwrap_or(bytes.len());
            if start > 0 {
                let (text, rest) = self.rest.split_at(start);
                self.rest = rest;
                return Some(Piece::Text(text));
            }
            if bytes.is_empty() {
                return None;
            }
            let length = escape_len(bytes);
            let (escape, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
            self.rest = rest;
            let parameters = escape.as_bytes().get(2..escape.len().saturating_sub(1)).unwrap_or_default();
            let plain = parameters.iter().all(|byte| matches!(byte, b'0'..=b'9' | b';' | b':'));
            match escape.as_bytes() {
                [_, b'[', .., b'm'] if plain => return Some(Piece::Style(parameters)),
                [_, b'[', .., b'K'] if plain => return Some(Piece::EraseLine(parameters)),
                _ => {}
            }
        }
    }
}

/// The length of the escape at the start of `bytes`, which always ends before a character that is not ASCII.
fn escape_len(bytes: &[u8]) -> usize {
    let run = |from: usize, low: u8, high: u8| -> usize {
        bytes.iter().skip(from).take_while(|byte| (low..=high).contains(byte)).count()
    };
    match bytes.get(1) {
        Some(b'[') => {
            let body = 2 + run(2, 0x20, 0x3f);
            body + run(body, 0x40, 0x7e).min(1)
        }
        Some(b']' | b'P' | b'X' | b'^' | b'_') => string_len(bytes),
        Some(0x20..=0x2f) => {
            let body = 1 + run(1, 0x20, 0x2f);
            body + run(body, 0x30, 0x7e).min(1)
        }
        Some(0x30..=0x7e) => 2,
        _ => 1,
    }
}

/// The length of an escape that carries a string. One that does not end in its line loses only its start: output
/// must not be able to hide what comes after it.
fn string_len(bytes: &[u8]) -> usize {
    match memchr::memchr2(0x07, 0x1b, &bytes[2..]) {
        Some(at) if bytes[2 + at] == 0x07 => at + 3,
        Some(at) if bytes.get(at + 3) == Some(&b'\\') => at + 4,
        Some(at) => at + 2,
        None => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(text: &str) -> String {
        let mut html = Html::default();
        to_html(text, &mut html);
        html.into_string()
    }

    #[test]
    fn colours_become_classes() {
        for (text, expected) in [
            ("plain <b>", "plain &lt;b&gt;"),
            ("\x1b[31mred\x1b[0m x", "<span class=\"a a-red\">red</span> x"),
            (
                "\x1b[1;32mok\x1b[22m!\x1b[m",
                "<span class=\"a a-green a-bold\">ok</span><span class=\"a a-green\">!</span>",
            ),
            ("\x1b[97;41mx", "<span class=\"a a-bright-white b-red\">x</span>"),
            ("\x1b[38;5;9mx", "<span class=\"a a-bright-red\">x</span>"),
            ("\x1b[38;5;196mx", "<span class=\"a a-bright-red\">x</span>"),
            ("\x1b[38;5;240mx", "<span class=\"a a-bright-black\">x</span>"),
            ("\x1b[38;2;250;250;10mx", "<span class=\"a a-bright-yellow\">x</span>"),
            ("\x1b[38:2::250:250:10mx", "<span class=\"a a-bright-yellow\">x</span>"),
            ("\x1b[48;2;0;0;0;4mx", "<span class=\"a b-black a-underline\">x</span>"),
            ("\x1b[31ma\nb\x1b[39m", "<span class=\"a a-red\">a\nb</span>"),
            ("\x1b[31m\x1b[0mx", "x"),
            ("\x1b[8mhidden", "hidden"),
            ("\x1b[38mx\x1b[38;5mx\x1b[99999999999mx", "xxx"),
        ] {
            assert_eq!(html(text), expected, "{text:?}");
        }
    }

    #[test]
    fn no_escape_but_styling_reaches_a_terminal() {
        let hostile = [
            "\x1b]0;title\x07",
            "\x1b]8;;https://x.test\x1b\\",
            "\x1b]52;c;aGk=\x07",
            "\x1b[2J",
            "\x1b[H",
            "\x1b[?1049h",
            "\x1b[10;10f",
            "\x1bPq#0\x1b\\",
            "\x1b_apc\x1b\\",
            "\x1b^pm\x1b\\",
            "\x1bXsos\x1b\\",
            "\x1bc",
            "\x1b(0",
            "\x1b#8",
            "\x1b[>4;2m",
            "\x1b[?25l",
            "\x1b[6n",
            "\x1b",
            "\x1b\x1b",
            "\x1b[",
        ];
        for escape in hostile {
            let text = format!("a{escape}\x1b[31mb\x1b[0m");
            assert_eq!(to_terminal(&text, Paint { colour: true }), "a\x1b[0;31mb\x1b[0m", "{escape:?}");
            assert_eq!(to_plain(&text), "ab", "{escape:?}");
            assert_eq!(html(&text), "a<span class=\"a a-red\">b</span>", "{escape:?}");
        }
    }

    #[test]
    fn other_controls_show_and_do_nothing() {
        assert_eq!(
            to_plain("a\x07\u{9b}2J\u{202e}b\0\x0b\x0c\x7f"),
            "a\u{fffd}\u{fffd}2J[U+202E]b\u{fffd}\u{fffd}\u{fffd}\u{fffd}"
        );
    }

    #[test]
    fn a_string_escape_that_does_not_end_hides_nothing() {
        assert_eq!(to_plain("\x1b]0;never\nnext é"), "0;never\nnext é");
        assert_eq!(to_plain("\x1b[12é"), "é");
    }

    #[test]
    fn progress_lines_keep_their_last_state() {
        for (text, expected) in [
            ("10%\r50%\r100%\nx", "100%\nx"),
            ("windows\r\nline\r\n", "windows\nline\n"),
            ("long text\rab", "abng text"),
            ("long text\r\x1b[Kab", "ab"),
            ("long\x1b[2K\rab", "ab"),
            ("abc\x08\x08X", "aXc"),
            ("\x08\x08a", "a"),
            ("\r\r\r", ""),
            ("ab\x1b[2Kc\rd", "d"),
        ] {
            assert_eq!(to_plain(text), expected, "{text:?}");
        }
        assert_eq!(html("\x1b[31m1\r\x1b[32m2"), "<span class=\"a a-green\">2</span>");
    }

    #[test]
    fn spans_are_bounded_and_the_text_is_whole() {
        let page = html(&"\x1b[31mx\x1b[32my".repeat(SPANS_MAX));
        assert_eq!(page.matches("<span").count(), SPANS_MAX);
        assert_eq!(page.matches("</span>").count(), SPANS_MAX);
        assert_eq!(to_plain(&"\x1b[31mx".repeat(1000)), "x".repeat(1000));
    }
}
