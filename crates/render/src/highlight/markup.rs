//! The lexer for HTML and XML: tags, attributes, comments. Scripts and styles inside are read by their own rules.

use std::ops::Range;

use super::code;
use super::language::Token;
use super::languages::{CSS, JAVASCRIPT};

/// Hands over the tokens of a page.
pub(super) fn read(code: &str, take: &mut dyn FnMut(Token, Range<usize>)) {
    let bytes = code.as_bytes();
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'<', &bytes[at..]) {
        let start = at + found;
        let rest = &bytes[start..];
        at = if rest.starts_with(b"<!--") {
            until(bytes, start, b"-->", Token::Comment, take)
        } else if rest.starts_with(b"<![CDATA[") {
            until(bytes, start, b"]]>", Token::String, take)
        } else if rest.starts_with(b"<!") || rest.starts_with(b"<?") {
            until(bytes, start, b">", Token::Meta, take)
        } else {
            tag(code, start, take)
        };
    }
}

/// Takes everything to an end sign, or to the end.
fn until(
    bytes: &[u8],
    start: usize,
    end: &[u8],
    token: Token,
    take: &mut dyn FnMut(Token, Range<usize>),
) -> usize {
    let found = memchr::memmem::find(&bytes[start..], end);
    let stop = found.map_or(bytes.len(), |found| start + found + end.len());
    take(token, start..stop);
    stop
}

/// Reads a tag with its attributes, and the script or style it opens.
fn tag(code: &str, start: usize, take: &mut dyn FnMut(Token, Range<usize>)) -> usize {
    let bytes = code.as_bytes();
    let run = |from: usize| bytes.iter().skip(from).take_while(|byte| is_name(**byte)).count();
    let closing = usize::from(bytes.get(start + 1) == Some(&b'/'));
    let from = start + 1 + closing;
    let length = run(from);
    if length == 0 {
        return start + 1;
    }
    take(Token::Keyword, from..from + length);
    let mut at = from + length;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'>' => {
                at += 1;
                break;
            }
            b'<' => return at,
            b'"' | b'\'' => {
                let end = memchr::memchr(byte, &bytes[at + 1..]).map_or(bytes.len(), |found| at + found + 2);
                take(Token::String, at..end);
                at = end;
            }
            byte if is_name(byte) => {
                let length = run(at);
                take(Token::Meta, at..at + length);
                at += length;
            }
            _ => at += 1,
        }
    }
    let name = &bytes[from..from + length];
    let (rules, end): (_, &[u8]) = match name {
        b"script" if closing == 0 => (&JAVASCRIPT, b"</script"),
        b"style" if closing == 0 => (&CSS, b"</style"),
        _ => return at,
    };
    let stop = memchr::memmem::find(&bytes[at..], end).map_or(bytes.len(), |found| at + found);
    let inside = code.get(at..stop).unwrap_or_default();
    code::read(rules, inside, &mut |token, range| take(token, range.start + at..range.end + at));
    stop
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':' | b'.' | 0x80..)
}
