//! Web addresses: which may be followed, and where one stands in plain text. It must not resolve or fetch anything.

use std::ops::Range;

/// True when a link may lead there: the web or mail, never a script, a file or a page of our own.
pub(super) fn is_followed(address: &str) -> bool {
    let Some((scheme, _)) = address.split_once(':') else { return false };
    ["http", "https", "mailto"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
}

/// The first bare web address in `text`. Signs that end a sentence are not part of it.
pub(super) fn find(text: &str) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let mut from = 0;
    loop {
        let colon = from + memchr::memchr(b':', bytes.get(from..)?)?;
        if !bytes[colon..].starts_with(b"://") {
            from = colon + 1;
            continue;
        }
        let before = &bytes[..colon];
        let scheme = ["https", "http"].iter().find(|scheme| before.ends_with(scheme.as_bytes()));
        if let Some(scheme) = scheme {
            let start = colon - scheme.len();
            let word =
                start.checked_sub(1).and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_alphanumeric);
            let end = end(text, colon + 3);
            if !word && end > colon + 3 {
                return Some(start..end);
            }
        }
        from = colon + 3;
    }
}

/// Where the address whose host starts at `from` ends.
fn end(text: &str, from: usize) -> usize {
    let bytes = text.as_bytes();
    let stop = |byte: &u8| {
        byte.is_ascii_control() || matches!(byte, b' ' | b'<' | b'>' | b'"' | b'`' | b'|' | b'\\')
    };
    let mut end = bytes.iter().skip(from).position(stop).map_or(bytes.len(), |length| from + length);
    let count = |sign: u8| bytes[from..end].iter().filter(|byte| **byte == sign).count();
    let mut unopened = count(b')').saturating_sub(count(b'('));
    while end > from {
        match bytes[end - 1] {
            b'.' | b',' | b';' | b':' | b'!' | b'?' | b'\'' | b'*' | b'_' | b']' | b'}' => {}
            b')' if unopened > 0 => unopened -= 1,
            _ => break,
        }
        end -= 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_web_and_mail_are_followed() {
        for address in ["http://a", "HTTPS://a", "mailto:a@b", "https:a"] {
            assert!(is_followed(address), "{address}");
        }
        for address in [
            "javascript:alert(1)",
            " javascript:x",
            "java\nscript:x",
            "data:text/html,x",
            "file:///etc/passwd",
            "vbscript:x",
            "src/main.rs",
            "//evil.test",
            "#top",
            "",
            "http",
            " http://a",
        ] {
            assert!(!is_followed(address), "{address}");
        }
    }

    #[test]
    fn bare_addresses_end_where_a_reader_ends_them() {
        for (text, found) in [
            ("see https://a.test/x_y?z=1#q.", Some("https://a.test/x_y?z=1#q")),
            ("(https://a.test/b)", Some("https://a.test/b")),
            ("https://a.test/b_(c)", Some("https://a.test/b_(c)")),
            ("**http://a**", Some("http://a")),
            ("xhttp://a", None),
            ("ftp://a http://b é", Some("http://b")),
            ("http://", None),
            ("http:// http://....", None),
            ("https://é.test/ü fin", Some("https://é.test/ü")),
            ("://://://", None),
        ] {
            assert_eq!(find(text).map(|range| &text[range]), found, "{text}");
        }
    }
}
