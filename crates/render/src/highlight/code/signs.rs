//! Numbers, and what a language's own signs start: directives, attributes, decorators, regular expressions. It must
//! not read past the end of the line in search of an end, or must remember that there was none.

use super::super::language::Token;
use super::Lexer;

impl Lexer<'_> {
    pub(super) fn number(&mut self) {
        let start = self.at;
        let hex = self.bytes[start] == b'0' && matches!(self.peek(1), b'x' | b'X');
        self.at += 1;
        loop {
            let byte = self.peek(0);
            let last = self.bytes[self.at - 1];
            let goes_on = match byte {
                b'.' => {
                    let after = self.peek(1);
                    after.is_ascii_digit() && last != b'.'
                        || (after != b'.'
                            && !after.is_ascii_alphabetic()
                            && after != b'_'
                            && last.is_ascii_digit())
                        || (self.rules.directives && matches!(after, b'f' | b'F' | b'l' | b'L' | b'e'))
                }
                b'+' | b'-' => {
                    let exponent =
                        if hex { matches!(last, b'p' | b'P') } else { matches!(last, b'e' | b'E') };
                    exponent
                        && self.peek(1).is_ascii_digit()
                        && self.bytes[start].is_ascii_digit()
                        && !self.rules.shell
                }
                b'\'' => {
                    self.rules.directives && last.is_ascii_hexdigit() && self.peek(1).is_ascii_hexdigit()
                }
                b'%' => self.rules.at_keywords && self.rules.key.is_some(),
                b'_' => true,
                byte => byte.is_ascii_alphanumeric(),
            };
            if !goes_on {
                break;
            }
            self.at += 1;
        }
        self.emit(Token::Number, start);
        (self.previous, self.value, self.line_start) = (b'0', true, false);
    }

    /// `#include <x>`: the word is a keyword, what is included a string.
    pub(super) fn directive(&mut self) -> bool {
        let start = self.at;
        let spaces = self.bytes[start + 1..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let from = start + 1 + spaces;
        let length = self.bytes[from..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        if length == 0 {
            return false;
        }
        let include = &self.bytes[from..from + length] == b"include";
        self.finish(Token::Keyword, start, from + length);
        (self.previous, self.value) = (b'#', false);
        if include && self.next_sign(self.at) == b'<' {
            let line = &self.bytes[self.at..];
            let open = memchr::memchr(b'<', line).unwrap_or(0);
            let end = line.iter().position(|byte| matches!(byte, b'>' | b'\n')).unwrap_or(line.len() - 1);
            if line[end] == b'>' {
                self.finish(Token::String, self.at + open, self.at + end + 1);
            }
        }
        true
    }

    pub(super) fn attribute_start(&mut self) -> bool {
        let inner = usize::from(self.peek(1) == b'!');
        if self.peek(1 + inner) != b'[' {
            return false;
        }
        let start = self.at;
        self.finish(Token::Meta, start, start + 2 + inner);
        self.attribute = 1;
        self.previous = b'[';
        true
    }

    pub(super) fn decorator(&mut self) -> bool {
        let start = self.at;
        let rest = &self.bytes[start + 1..];
        let first = rest.first().copied().unwrap_or(0);
        let allowed = !self.rules.soft_starts_line || self.line_start;
        if !allowed || !(first.is_ascii_alphabetic() || first == b'_') {
            return false;
        }
        let length = rest.iter().take_while(|byte| self.is_word(**byte) || **byte == b'.').count();
        let keyword = self.rules.at_keywords || &rest[..length] == b"interface";
        self.finish(if keyword { Token::Keyword } else { Token::Meta }, start, start + 1 + length);
        (self.previous, self.value) = (b'@', false);
        true
    }

    /// `/…/` where a value can stand, up to the end of the line.
    pub(super) fn regex(&mut self) -> bool {
        if self.value || self.at < self.no_regex {
            return false;
        }
        let mut at = self.at + 1;
        let mut class = false;
        loop {
            match self.bytes.get(at) {
                None | Some(b'\n') => {
                    self.no_regex = at;
                    return false;
                }
                Some(b'\\') => at += 1,
                Some(b'[') => class = true,
                Some(b']') => class = false,
                Some(b'/') if !class => break,
                Some(_) => {}
            }
            at += 1;
        }
        at += 1;
        at += self.bytes.iter().skip(at).take_while(|byte| byte.is_ascii_lowercase()).count();
        self.finish(Token::String, self.at, at);
        (self.previous, self.value) = (b'/', true);
        true
    }

    /// `#fff` in a style.
    pub(super) fn colour(&mut self) -> bool {
        let rest = &self.bytes[self.at + 1..];
        let length = rest.iter().take_while(|byte| self.is_word(**byte)).count();
        let hex = rest[..length].iter().all(u8::is_ascii_hexdigit) && matches!(length, 3 | 4 | 6 | 8);
        if !hex || !matches!(self.previous, b':' | b' ' | b',' | b'0' | b'(') && !self.value {
            return false;
        }
        self.finish(Token::Number, self.at, self.at + 1 + length);
        (self.previous, self.value) = (b'0', true);
        true
    }
}
