//! What may reach a terminal or a text file. It must not know who wrote it.

/// Text without colours: line ends and tabs are its only control characters, and nothing turns its direction around.
pub fn check(text: &str) {
    for (at, c) in text.char_indices() {
        assert!(!is_control(c), "{c:?} at {at}: {:?}", text.get(at.saturating_sub(20)..at));
    }
}

/// Text with colours: gives it without them.
pub fn check_coloured(text: &str) -> String {
    let mut pieces = text.split('\x1b');
    let mut bare = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find('m').unwrap_or_else(|| panic!("an escape that is no colour: {piece:?}"));
        let code = piece[..end]
            .strip_prefix('[')
            .unwrap_or_else(|| panic!("an escape that is no colour: {piece:?}"));
        assert!(code.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'), "{code:?}");
        bare.push_str(&piece[end + 1..]);
    }
    check(&bare);
    bare
}

fn is_control(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_colours_pass() {
        assert_eq!(check_coloured("\x1b[1;31mred\x1b[0m\n"), "red\n");
        for bad in ["\x1b[2J", "\x1b]0;x\x07", "\x1b[31", "a\x08", "\u{202e}", "\u{9b}m"] {
            assert!(std::panic::catch_unwind(|| check_coloured(bad)).is_err(), "{bad:?}");
        }
    }
}
