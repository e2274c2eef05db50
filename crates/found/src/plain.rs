//! Text from anywhere as one harmless line, for messages and tables. It must not be used for what a reader wants whole.

/// One line without anything that a terminal would obey: control characters and those that turn the direction
/// of text are shown as U+FFFD, and white space is one blank. Titles and paths come from agents and may be
/// hostile.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.trim().chars() {
        match c {
            c if c.is_whitespace() => {
                if !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            c if c.is_control() || turns_text(c) => {
                out.push('\u{fffd}');
            }
            c => out.push(c),
        }
    }
    out
}

/// The characters that turn the direction of the text after them.
fn turns_text(c: char) -> bool {
    matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
