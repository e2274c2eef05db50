//! Characters that mislead a reader, and what stands for them: what is read must be what is there. It knows neither
//! HTML nor the terminal; both ask here.

/// What stands for a control character or one that turns the direction of text around; `None` for all others. Line
/// ends and tabs are text; a carriage return stands for nothing.
pub(crate) fn replacement(c: char) -> Option<&'static str> {
    match c {
        '\n' | '\t' => None,
        '\r' => Some(""),
        '\u{061c}' => Some("[U+061C]"),
        '\u{200e}' => Some("[U+200E]"),
        '\u{200f}' => Some("[U+200F]"),
        '\u{202a}' => Some("[U+202A]"),
        '\u{202b}' => Some("[U+202B]"),
        '\u{202c}' => Some("[U+202C]"),
        '\u{202d}' => Some("[U+202D]"),
        '\u{202e}' => Some("[U+202E]"),
        '\u{2066}' => Some("[U+2066]"),
        '\u{2067}' => Some("[U+2067]"),
        '\u{2068}' => Some("[U+2068]"),
        '\u{2069}' => Some("[U+2069]"),
        c if c.is_control() => Some("\u{fffd}"),
        _ => None,
    }
}

/// Bytes that may start such a character: C0 controls and DEL, and the lead bytes of U+0080, U+0600 and U+2000.
pub(crate) const MAY_START: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = byte != b'\n' as usize && byte != b'\t' as usize;
        byte += 1;
    }
    table[0x7f] = true;
    table[0xc2] = true;
    table[0xd8] = true;
    table[0xe2] = true;
    table
};

/// Appends text with those characters replaced.
pub(crate) fn push(text: &str, out: &mut String) {
    let mut done = 0;
    let mut at = 0;
    while let Some(&byte) = text.as_bytes().get(at) {
        if !MAY_START[byte as usize] {
            at += 1;
            continue;
        }
        let Some(c) = text[at..].chars().next() else { break };
        if let Some(replacement) = replacement(c) {
            out.push_str(&text[done..at]);
            out.push_str(replacement);
            done = at + c.len_utf8();
        }
        at += c.len_utf8();
    }
    out.push_str(&text[done..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_replaced_character_has_its_lead_byte_in_the_table() {
        for c in ('\0'..=char::MAX).filter(|c| replacement(*c).is_some()) {
            assert!(MAY_START[c.encode_utf8(&mut [0; 4]).as_bytes()[0] as usize], "{c:?}");
        }
    }

    #[test]
    fn controls_and_turning_characters_show_and_the_rest_stays() {
        let mut out = String::new();
        push("a\x1b[2J\u{9b}b\r\n\té€😀\u{202e}", &mut out);
        assert_eq!(out, "a\u{fffd}[2J\u{fffd}b\n\té€😀[U+202E]");
    }
}
