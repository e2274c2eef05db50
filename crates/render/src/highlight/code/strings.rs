//! Strings, the code inside them, and strings that start on the next line. It must not read a byte twice, but for the
//! one line that a heredoc's end may stand on.

use super::super::language::{Heredoc, Inside, Prefixes, Quote, Token};
use super::Lexer;

/// Strings within strings that are followed; deeper ones are plain text of the string.
const FRAMES_MAX: usize = 16;

/// Heredocs announced in one line that are followed.
const HEREDOCS_MAX: usize = 4;

/// A string that waits for the code inside it to end.
pub(super) struct Frame {
    quote: &'static Quote,
    inside: Inside,
    close: u8,
    /// Brackets of the same kind that are open in the code.
    depth: usize,
}

/// A string announced in this line that starts on the next.
pub(super) struct Waiting {
    /// Where its end word stands.
    start: usize,
    end: usize,
    /// The end word may be indented.
    indented: bool,
}

impl Lexer<'_> {
    /// Reads the string that starts here, if one does.
    pub(super) fn string(&mut self) -> bool {
        let rest = &self.bytes[self.at..];
        let Some(quote) = self.rules.strings.iter().find(|quote| rest.starts_with(quote.open.as_bytes()))
        else {
            return false;
        };
        let start = self.at;
        self.at += quote.open.len();
        self.string_rest(quote, quote.inside, start);
        true
    }

    /// Reads a string from within, up to its end or to code inside it.
    pub(super) fn string_rest(&mut self, quote: &'static Quote, inside: Inside, start: usize) {
        let close = quote.close.as_bytes();
        let first = close.first().copied().unwrap_or(0);
        let mut start = start;
        while let Some(&byte) = self.bytes.get(self.at) {
            if byte == first && self.bytes[self.at..].starts_with(close) {
                self.at += close.len();
                break;
            }
            if inside != Inside::Nothing {
                let opening = self.opening_len(inside, byte);
                if opening > 0 && self.open_frame(quote, inside, start, opening) {
                    return;
                }
                if byte == b'$' && inside == Inside::Shell && opening == 0 {
                    start = self.variable_in_string(start);
                    continue;
                }
            }
            match byte {
                b'\\' if quote.escapes => self.at += 1,
                b'\n' if !quote.lines => break,
                b'{' if inside == Inside::Brace && self.peek(1) == b'{' => self.at += 1,
                _ => {}
            }
            self.at += 1;
        }
        self.at = self.at.min(self.bytes.len());
        self.end_string(start);
    }

    /// The length of what opens code inside a string here, or 0.
    fn opening_len(&self, inside: Inside, byte: u8) -> usize {
        match (inside, byte, self.peek(1)) {
            (Inside::DollarBrace, b'$', b'{') | (Inside::HashBrace, b'#', b'{') => 2,
            (Inside::BackslashParen, b'\\', b'(') => 2,
            // Arithmetic is left as part of the string.
            (Inside::Shell, b'$', b'(') if self.peek(2) != b'(' => 2,
            (Inside::Brace, b'{', next) if next != b'{' => 1,
            _ => 0,
        }
    }

    /// Reads a `$` in a string of the shell and returns where the string goes on.
    fn variable_in_string(&mut self, start: usize) -> usize {
        let length = self.variable_len();
        if length == 0 {
            self.at += 1;
            return start;
        }
        self.emit(Token::String, start);
        let from = self.at;
        self.at += length;
        self.emit(Token::Meta, from);
        self.at
    }

    fn end_string(&mut self, start: usize) {
        let token = match self.rules.key {
            Some(b':') if self.next_sign(self.at) == b':' => Token::Meta,
            _ => Token::String,
        };
        self.emit(token, start);
        (self.previous, self.value, self.line_start) = (b'"', true, false);
        self.shell.command = self.shell.command && self.shell.assigns;
    }

    /// Leaves the string for the code inside it; false when there are too many open.
    fn open_frame(&mut self, quote: &'static Quote, inside: Inside, start: usize, skip: usize) -> bool {
        if self.frames.len() >= FRAMES_MAX {
            return false;
        }
        self.emit(Token::String, start);
        self.at += skip;
        let close = if matches!(inside, Inside::Shell | Inside::BackslashParen) { b')' } else { b'}' };
        self.frames.push(Frame { quote, inside, close, depth: 0 });
        (self.previous, self.value) = (b'{', false);
        self.shell.command = true;
        true
    }

    /// A bracket in the code inside a string may end that code.
    pub(super) fn frame_sign(&mut self, byte: u8) {
        let Some(frame) = self.frames.last_mut() else { return };
        if byte == frame.close && frame.depth > 0 {
            frame.depth -= 1;
        } else if byte == frame.close {
            let (quote, inside) = (frame.quote, frame.inside);
            self.frames.pop();
            self.string_rest(quote, inside, self.at);
        } else if (byte, frame.close) == (b'{', b'}') || (byte, frame.close) == (b'(', b')') {
            frame.depth += 1;
        }
    }

    /// Reads the string that the word from `start` to here belongs to, if it does.
    pub(super) fn prefixed(&mut self, start: usize) -> bool {
        let word = &self.bytes[start..self.at];
        match self.rules.prefixes {
            Prefixes::None | Prefixes::CSharp => false,
            Prefixes::Rust => match word {
                b"r" | b"br" | b"cr" => self.raw_hashes(start),
                b"b" if self.peek(0) == b'\'' => self.character(start),
                b"b" | b"c" if self.peek(0) == b'"' => self.quoted(start, None),
                _ => false,
            },
            Prefixes::Python => {
                let prefix = word.len() <= 2 && word.iter().all(|byte| b"rbufRBUFtT".contains(byte));
                let code = word.iter().any(|byte| b"fFtT".contains(byte));
                prefix && self.peek(0) != b'#' && self.quoted(start, code.then_some(Inside::Brace))
            }
            Prefixes::Cpp => match word {
                b"R" | b"LR" | b"uR" | b"UR" | b"u8R" if self.peek(0) == b'"' => self.raw_delimited(start),
                b"L" | b"u" | b"U" | b"u8" => self.quoted(start, None),
                _ => false,
            },
        }
    }

    /// Reads an ordinary string whose token starts before its quote.
    fn quoted(&mut self, start: usize, inside: Option<Inside>) -> bool {
        let rest = &self.bytes[self.at..];
        let Some(quote) = self.rules.strings.iter().find(|quote| rest.starts_with(quote.open.as_bytes()))
        else {
            return false;
        };
        self.at += quote.open.len();
        self.string_rest(quote, inside.unwrap_or(quote.inside), start);
        true
    }

    /// `r##"…"##`
    fn raw_hashes(&mut self, start: usize) -> bool {
        let hashes = self.bytes[self.at..].iter().take_while(|byte| **byte == b'#').count();
        if self.peek(hashes) != b'"' {
            return false;
        }
        let mut at = self.at + hashes + 1;
        let end = loop {
            let Some(found) = memchr::memchr(b'"', &self.bytes[at..]) else { break self.bytes.len() };
            at += found + 1;
            // Hashes that do not end the string are skipped, so that none is counted twice.
            let follow = self.bytes[at..].iter().take(hashes).take_while(|byte| **byte == b'#').count();
            at += follow;
            if follow == hashes {
                break at;
            }
        };
        self.finish(Token::String, start, end);
        (self.previous, self.value) = (b'"', true);
        true
    }

    /// `R"x(…)x"`
    fn raw_delimited(&mut self, start: usize) -> bool {
        let rest = &self.bytes[self.at + 1..];
        let Some(length) = rest.iter().take(17).position(|byte| *byte == b'(') else { return false };
        let mut end = Vec::with_capacity(18);
        end.push(b')');
        end.extend_from_slice(&rest[..length]);
        end.push(b'"');
        let found = memchr::memmem::find(&rest[length..], &end);
        let end = found.map_or(self.bytes.len(), |found| self.at + 1 + length + found + end.len());
        self.finish(Token::String, start, end);
        (self.previous, self.value) = (b'"', true);
        true
    }

    /// `$"…{x}…"`, `@"…"`, `$@"…"`
    pub(super) fn prefixed_by_signs(&mut self) -> bool {
        static VERBATIM: Quote =
            Quote { open: "\"", close: "\"", escapes: false, lines: true, inside: Inside::Nothing };
        static ORDINARY: Quote =
            Quote { open: "\"", close: "\"", escapes: true, lines: false, inside: Inside::Nothing };
        static RAW: Quote =
            Quote { open: "\"\"\"", close: "\"\"\"", escapes: false, lines: true, inside: Inside::Nothing };
        let signs =
            self.bytes[self.at..].iter().take(4).take_while(|byte| matches!(byte, b'$' | b'@')).count();
        let prefix = &self.bytes[self.at..self.at + signs];
        let (verbatim, code) = (prefix.contains(&b'@'), prefix.contains(&b'$'));
        let rest = &self.bytes[self.at + signs..];
        let quote = match (rest.starts_with(b"\"\"\""), verbatim) {
            (true, false) => &RAW,
            (_, true) => &VERBATIM,
            (false, false) => &ORDINARY,
        };
        if !rest.starts_with(quote.open.as_bytes()) {
            return false;
        }
        let start = self.at;
        self.at += signs + quote.open.len();
        self.string_rest(quote, if code { Inside::Brace } else { Inside::Nothing }, start);
        true
    }

    /// `'a'` is a character, `'a` a lifetime.
    pub(super) fn lifetime(&mut self) -> bool {
        let start = self.at;
        if self.character(start) {
            return true;
        }
        let length = self.bytes[start + 1..].iter().take_while(|byte| self.is_word(**byte)).count();
        self.at = start + 1 + length;
        (self.previous, self.value) = (b'\'', false);
        true
    }

    /// Reads `'x'` at the current place.
    fn character(&mut self, start: usize) -> bool {
        let rest = self.code.get(self.at + 1..).unwrap_or_default();
        let length = match rest.chars().next() {
            Some('\\') => {
                rest.bytes().skip(2).take(12).position(|byte| byte == b'\'').map(|length| length + 2)
            }
            Some(c) if c != '\'' => {
                (rest.as_bytes().get(c.len_utf8()) == Some(&b'\'')).then_some(c.len_utf8())
            }
            _ => None,
        };
        let Some(length) = length else { return false };
        self.finish(Token::String, start, self.at + length + 2);
        (self.previous, self.value) = (b'\'', true);
        true
    }

    /// `<<EOF`: remembers the string that starts on the next line.
    pub(super) fn heredoc(&mut self) -> bool {
        let rest = &self.bytes[self.at..];
        let (open, flags): (&[u8], &[u8]) = match self.rules.heredoc {
            Heredoc::None => return false,
            Heredoc::Shell => (b"<<", b"-"),
            Heredoc::Ruby => (b"<<", b"~-"),
            Heredoc::Php => (b"<<<", b""),
        };
        if !rest.starts_with(open)
            || rest.get(open.len()) == Some(&b'<')
            || self.heredocs.len() >= HEREDOCS_MAX
        {
            return false;
        }
        let mut at = open.len();
        let indented =
            rest.get(at).is_some_and(|byte| flags.contains(byte)) || self.rules.heredoc == Heredoc::Php;
        at += usize::from(indented && self.rules.heredoc != Heredoc::Php);
        let spaces = rest[at..].iter().take_while(|byte| **byte == b' ').count();
        if self.rules.heredoc == Heredoc::Shell {
            at += spaces;
        }
        let quoted = rest.get(at).is_some_and(|byte| matches!(byte, b'"' | b'\'' | b'\\'));
        at += usize::from(quoted);
        let length =
            rest[at..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        let first = rest.get(at).copied().unwrap_or(0);
        // `a << b` shifts; only capitals or quotes make a heredoc where that is possible.
        let bare = self.rules.heredoc == Heredoc::Php
            || first.is_ascii_uppercase()
            || first == b'_'
            || (spaces == 0 && self.rules.shell);
        if length == 0 || first.is_ascii_digit() || !(quoted || bare) {
            return false;
        }
        let start = self.at;
        self.heredocs.push(Waiting { start: start + at, end: start + at + length, indented });
        let closing = rest.get(at + length).is_some_and(|byte| quoted && matches!(byte, b'"' | b'\''));
        let word = at - usize::from(quoted);
        self.finish(Token::String, start + word, start + at + length + usize::from(closing));
        (self.previous, self.value) = (b'"', true);
        true
    }

    /// Reads the strings that start on this line.
    pub(super) fn heredoc_bodies(&mut self) {
        for waiting in std::mem::take(&mut self.heredocs) {
            let word = &self.bytes[waiting.start..waiting.end];
            let start = self.at;
            loop {
                let line = &self.bytes[self.at..];
                let length = memchr::memchr(b'\n', line).unwrap_or(line.len());
                let text = line[..length].trim_ascii_end();
                let text = if waiting.indented { text.trim_ascii_start() } else { text };
                let text = text.strip_suffix(b";").unwrap_or(text);
                self.at += length;
                if text == word || self.at >= self.bytes.len() {
                    break;
                }
                self.at += 1;
            }
            self.emit(Token::String, start);
        }
    }
}
