//! What may reach a terminal or a text file, written down apart from the crate that makes it. It must not know who wrote it.

/// True for what must never reach a reader raw: controls but for line ends and tabs, and what turns text around.
pub fn is_hidden(c: char) -> bool {
    let turns =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (c.is_control() && !matches!(c, '\n' | '\t'))
}

/// The text as a reader must see it.
pub fn visible(text: &str) -> String {
    let mut shown = String::new();
    for c in text.chars() {
        match c {
            '\r' => {}
            c if !is_hidden(c) => shown.push(c),
            c if c.is_control() => shown.push('\u{fffd}'),
            c => shown.push_str(&format!("[U+{:04X}]", c as u32)),
        }
    }
    shown
}

/// The text without white space, which layout may change.
pub fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Text without colours has no escapes at all.
pub fn check(text: &str, context: &str) {
    if let Some((at, c)) = text.char_indices().find(|(_, c)| is_hidden(*c)) {
        let from = text.floor_char_boundary(at.saturating_sub(60));
        panic!("{context}: {c:?} after {:?}", &text[from..at]);
    }
}

/// Text with colours has no escapes but those, and loses nothing with them. Gives it without.
pub fn check_coloured(text: &str, context: &str) -> String {
    let mut pieces = text.split('\x1b');
    let mut bare = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let code = piece.strip_prefix('[').and_then(|piece| piece.split_once('m'));
        let colour = code.filter(|(code, _)| code.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'));
        let (_, rest) =
            colour.unwrap_or_else(|| panic!("{context}: an escape that is no colour: {piece:.40?}"));
        bare.push_str(rest);
    }
    check(&bare, context);
    bare
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_colours_pass() {
        assert_eq!(check_coloured("\x1b[1;31mred\x1b[0m\n", "red"), "red\n");
        for bad in ["\x1b[2J", "\x1b]0;x\x07", "\x1b[31", "a\x08", "\u{202e}", "\u{9b}m"] {
            assert!(std::panic::catch_unwind(|| check_coloured(bad, "bad")).is_err(), "{bad:?}");
        }
    }
}
