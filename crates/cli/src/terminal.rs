//! What the output can show: colours, its width, and text that cannot take the terminal over.

use std::io::IsTerminal;

pub(crate) use parlor_found::plain;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::args::Color;

/// The width when nobody says one.
const DEFAULT_WIDTH: usize = 80;

/// What stdout can show.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal {
    /// True when a person reads it as it comes.
    pub(crate) is_terminal: bool,
    /// True when colours are wanted.
    pub(crate) color: bool,
    /// Its width in characters.
    pub(crate) width: usize,
}

impl Terminal {
    /// Looks at stdout and the environment.
    pub(crate) fn of_stdout(color: Color) -> Terminal {
        let is_terminal = std::io::stdout().is_terminal();
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let color = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => is_terminal && !set("NO_COLOR") && !dumb,
        };
        let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
        let measured = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let width = columns.or_else(measured).unwrap_or(DEFAULT_WIDTH).clamp(20, 1000);
        Terminal { is_terminal, color, width }
    }
}

/// The text cut to `width` columns, with an ellipsis where it was cut.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used >= width {
            break;
        }
        out.push(c);
    }
    if width > 0 {
        out.push('…');
    }
    out
}

/// The text filled up with blanks to `width` columns.
pub(crate) fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        assert_eq!(plain("  a\x1b[31mred\n\tb\u{202e}c\u{9b}d "), "a\u{fffd}[31mred b\u{fffd}c\u{fffd}d");
    }

    #[test]
    fn cutting_counts_columns_not_bytes() {
        for (text, width, expected) in [
            ("short", 5, "short"),
            ("longer", 5, "long…"),
            ("漢字漢字", 5, "漢字…"),
            ("漢字", 4, "漢字"),
            ("ab", 0, ""),
        ] {
            assert_eq!(cut(text, width), expected, "{text} {width}");
        }
        assert_eq!(pad("漢", 4), "漢  ");
    }
}
