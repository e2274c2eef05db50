//! The lexer for languages made of words, strings and comments. Every byte is looked at a fixed number of times: what
//! turns out not to be a token is remembered, so that it is not tried again.

mod shell;
mod signs;
mod strings;

use std::ops::Range;

use super::language::{Code, Heredoc, Prefixes, Token};
use strings::Frame;

/// Hands over the tokens of `code` by these rules.
pub(super) fn read(rules: &'static Code, code: &str, take: &mut dyn FnMut(Token, Range<usize>)) {
    Lexer::new(rules, code, take).run();
}

/// What a byte may start.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Sign,
    Space,
    LineEnd,
    Word,
    Digit,
    /// A comment, a string, or something of the language's own.
    Start,
}

struct Lexer<'a> {
    rules: &'static Code,
    code: &'a str,
    bytes: &'a [u8],
    at: usize,
    take: &'a mut dyn FnMut(Token, Range<usize>),
    kinds: [Kind; 256],
    /// For each first byte, the lengths that known words have.
    lengths: [u32; 256],
    /// The last byte that is not white space.
    previous: u8,
    /// True when what came last is a value, so that `/` divides.
    value: bool,
    /// True when nothing but white space came in this line.
    line_start: bool,
    /// Strings that wait for the code inside them to end.
    frames: Vec<Frame>,
    /// Brackets that are open in an attribute.
    attribute: u32,
    /// Up to here no `/` starts a regular expression.
    no_regex: usize,
    shell: shell::State,
    heredocs: Vec<strings::Waiting>,
}

impl<'a> Lexer<'a> {
    fn new(rules: &'static Code, code: &'a str, take: &'a mut dyn FnMut(Token, Range<usize>)) -> Self {
        let mut lengths = [0u32; 256];
        for word in [rules.keywords, rules.soft, rules.types].into_iter().flatten() {
            let Some(first) = word.bytes().next() else { continue };
            let bit = 1 << word.len().min(31);
            lengths[first as usize] |= bit;
            if rules.any_case {
                lengths[first.to_ascii_uppercase() as usize] |= bit;
            }
        }
        Lexer {
            rules,
            code,
            bytes: code.as_bytes(),
            at: 0,
            take,
            kinds: kinds(rules),
            lengths,
            previous: b'\n',
            value: false,
            line_start: true,
            frames: Vec::new(),
            attribute: 0,
            no_regex: 0,
            shell: shell::State::default(),
            heredocs: Vec::new(),
        }
    }

    fn run(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at) {
            match self.kinds[byte as usize] {
                Kind::Space => self.at += 1,
                Kind::LineEnd => self.line_end(),
                Kind::Word if self.rules.shell => self.shell_word(),
                Kind::Word => self.word(),
                Kind::Digit if self.rules.shell => self.shell_word(),
                Kind::Digit => self.number(),
                Kind::Start => {
                    if !self.start(byte) {
                        self.sign(byte);
                    }
                    self.line_start = false;
                }
                Kind::Sign => {
                    self.sign(byte);
                    self.line_start = false;
                }
            }
        }
    }

    fn emit(&mut self, token: Token, start: usize) {
        if start < self.at {
            (self.take)(token, start..self.at);
        }
    }

    /// Ends a token here.
    fn finish(&mut self, token: Token, start: usize, end: usize) {
        self.at = end.min(self.bytes.len());
        self.emit(token, start);
        self.line_start = false;
    }

    fn peek(&self, offset: usize) -> u8 {
        self.bytes.get(self.at + offset).copied().unwrap_or(0)
    }

    /// The first byte from `at` on that is not a space.
    fn next_sign(&self, at: usize) -> u8 {
        self.bytes.iter().skip(at).copied().find(|byte| !matches!(byte, b' ' | b'\t')).unwrap_or(0)
    }

    fn is_word(&self, byte: u8) -> bool {
        matches!(self.kinds[byte as usize], Kind::Word | Kind::Digit)
    }

    fn line_end(&mut self) {
        self.at += 1;
        self.line_start = true;
        if self.rules.shell && self.previous != b'\\' {
            self.shell.command = true;
        }
        if !self.heredocs.is_empty() {
            self.heredoc_bodies();
        }
    }

    fn sign(&mut self, byte: u8) {
        if byte == b'.'
            && !self.value
            && self.previous != b'.'
            && self.peek(1).is_ascii_digit()
            && !self.rules.shell
        {
            self.number();
            return;
        }
        self.at += 1;
        self.previous = byte;
        self.value = matches!(byte, b')' | b']' | b'}');
        match byte {
            b'[' if self.attribute > 0 => self.attribute = self.attribute.saturating_add(1),
            b']' if self.attribute > 0 => self.attribute -= 1,
            _ => {}
        }
        if self.rules.shell {
            self.shell_sign(byte);
        }
        if !self.frames.is_empty() {
            self.frame_sign(byte);
        }
    }

    /// Reads what this byte starts; false when it is only a sign.
    fn start(&mut self, byte: u8) -> bool {
        let gap = !self.rules.needs_gap || self.is_after_gap();
        (gap && self.comment())
            // In the shell a string may start within a word.
            || ((gap || self.rules.shell) && self.string())
            || match byte {
                b'#' if self.rules.directives && self.line_start => self.directive(),
                b'#' if self.rules.attributes => self.attribute_start(),
                b'@' if self.rules.decorators || self.rules.at_keywords => self.decorator(),
                b'/' if self.rules.regex => self.regex(),
                b'\'' if self.rules.lifetimes => self.lifetime(),
                b'<' if self.rules.heredoc != Heredoc::None => self.heredoc(),
                b'$' if self.rules.shell => self.variable(),
                b'$' | b'@' if self.rules.prefixes == Prefixes::CSharp => self.prefixed_by_signs(),
                b'#' if self.rules.key == Some(b':') => self.colour(),
                _ => false,
            }
    }

    fn is_after_gap(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.bytes.get(at));
        before.is_none_or(|byte| {
            matches!(
                byte,
                b' ' | b'\t'
                    | b'\n'
                    | b'\r'
                    | b'('
                    | b')'
                    | b'['
                    | b'{'
                    | b','
                    | b';'
                    | b'='
                    | b':'
                    | b'|'
                    | b'&'
                    | b'<'
                    | b'>'
                    | b'!'
            )
        })
    }

    fn comment(&mut self) -> bool {
        let rest = &self.bytes[self.at..];
        if self.rules.line_comments.iter().any(|open| rest.starts_with(open.as_bytes())) {
            // In the shell a `#` within a word, as in `${x#y}`, is not a comment.
            if self.rules.needs_gap
                && !matches!(
                    self.bytes.get(self.at.wrapping_sub(1)),
                    None | Some(b' ' | b'\t' | b'\n' | b'\r' | b';' | b'(' | b')')
                )
            {
                return false;
            }
            let end = memchr::memchr(b'\n', rest).map_or(self.bytes.len(), |length| self.at + length);
            self.finish(Token::Comment, self.at, end);
            return true;
        }
        let Some(block) = &self.rules.block_comment else { return false };
        if !rest.starts_with(block.open.as_bytes()) {
            return false;
        }
        let mut depth = 1usize;
        let mut at = self.at + block.open.len();
        let (open, close) = (block.open.as_bytes(), block.close.as_bytes());
        let first = [open, close].map(|end| end.first().copied().unwrap_or(0));
        while depth > 0 {
            let found = self.bytes.get(at..).and_then(|rest| match block.nested {
                true => memchr::memchr2(first[0], first[1], rest),
                false => memchr::memchr(first[1], rest),
            });
            let Some(found) = found else {
                at = self.bytes.len();
                break;
            };
            at += found;
            let rest = &self.bytes[at..];
            if rest.starts_with(close) {
                depth -= 1;
                at += close.len();
            } else if block.nested && rest.starts_with(open) {
                depth += 1;
                at += open.len();
            } else {
                at += 1;
            }
        }
        self.finish(Token::Comment, self.at, at);
        true
    }

    fn word(&mut self) {
        let start = self.at;
        let bytes = self.bytes;
        let length =
            bytes[start..].iter().position(|byte| !self.is_word(*byte)).unwrap_or(bytes.len() - start);
        self.at += length;
        let next = self.peek(0);
        if matches!(next, b'"' | b'\'' | b'#') && self.prefixed(start) {
            return;
        }
        let word = &bytes[start..self.at];
        let line_start = std::mem::replace(&mut self.line_start, false);
        let token = self.class(word, start, line_start);
        self.value = token != Some(Token::Keyword)
            || matches!(word, b"this" | b"self" | b"super" | b"true" | b"false" | b"null");
        self.previous = word.last().copied().unwrap_or(0);
        if let Some(token) = token {
            if token == Token::Function && self.rules.macros && next == b'!' {
                self.at += 1;
            }
            self.emit(token, start);
        }
    }

    /// What a word is.
    fn class(&self, word: &[u8], start: usize, line_start: bool) -> Option<Token> {
        if self.attribute > 0 {
            return Some(Token::Meta);
        }
        let next = self.next_sign(self.at);
        let member = self.rules.members_are_names && self.is_member(word, start, next);
        if let Some(key) = self.rules.key
            && next == key
            && self.is_key(key)
        {
            return Some(Token::Meta);
        }
        if !member && let Some(token) = self.known(word, next, line_start) {
            return Some(token);
        }
        let capital = word[0].is_ascii_uppercase();
        if next == b'(' && !capital && self.rules.key.is_none() {
            return Some(Token::Function);
        }
        if self.rules.macros && self.peek(0) == b'!' && self.peek(1) != b'=' {
            return Some(Token::Function);
        }
        (capital && self.rules.capital_types && !is_constant(word)).then_some(Token::Type)
    }

    /// True for a word that names a part of a value: `a.default`, `{ default: 1 }`.
    fn is_member(&self, word: &[u8], start: usize, next: u8) -> bool {
        let two_dots = start >= 2 && self.bytes[start - 2] == b'.';
        (self.previous == b'.' && !two_dots)
            || (next == b':' && (self.previous == b',' || (self.previous == b'{' && word != b"default")))
    }

    fn is_key(&self, key: u8) -> bool {
        let space = self.bytes[self.at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let after = self.peek(space + 1);
        match key {
            b'=' => after != b'=',
            // A style's key stands after a brace or a semicolon, and `a:hover` is none; other keys are followed by a gap.
            _ if self.rules.at_keywords => {
                matches!(self.previous, b'{' | b';') && !after.is_ascii_alphabetic()
            }
            _ => matches!(after, b' ' | b'\n' | b'\r' | b'\t' | 0),
        }
    }

    /// The class of a word that is in one of the lists.
    fn known(&self, word: &[u8], next: u8, line_start: bool) -> Option<Token> {
        let bit = 1u32 << word.len().min(31);
        if self.lengths[word[0] as usize] & bit == 0 {
            return None;
        }
        let mut lower = [0u8; 32];
        let word = match lower.get_mut(..word.len()) {
            Some(lower) if self.rules.any_case => {
                lower.copy_from_slice(word);
                lower.make_ascii_lowercase();
                &*lower
            }
            _ => word,
        };
        let is_in = |words: &[&str]| words.binary_search_by(|known| known.as_bytes().cmp(word)).is_ok();
        if is_in(self.rules.keywords) {
            return Some(Token::Keyword);
        }
        if is_in(self.rules.soft) && self.is_soft_keyword(next, line_start) {
            return Some(Token::Keyword);
        }
        is_in(self.rules.types).then_some(Token::Type)
    }

    fn is_soft_keyword(&self, next: u8, line_start: bool) -> bool {
        if self.rules.soft_starts_line {
            let follows =
                self.is_word(next) || matches!(next, b'(' | b'[' | b'{' | b'"' | b'\'' | b'-' | b'*');
            return line_start && self.peek(0) == b' ' && follows;
        }
        self.is_word(next) || matches!(next, b'"' | b'\'' | b'{' | b'[' | b'*' | b'#')
    }
}

/// `MAX_SIZE` is a constant, `T` and `Vec` are types.
fn is_constant(word: &[u8]) -> bool {
    word.len() > 1
        && word.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
}

fn kinds(rules: &Code) -> [Kind; 256] {
    let mut kinds = [Kind::Sign; 256];
    for (byte, kind) in kinds.iter_mut().enumerate() {
        *kind = match byte as u8 {
            b' ' | b'\t' | b'\r' => Kind::Space,
            b'\n' => Kind::LineEnd,
            b'0'..=b'9' => Kind::Digit,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80.. => Kind::Word,
            _ => Kind::Sign,
        };
    }
    rules.word_signs.iter().for_each(|sign| kinds[*sign as usize] = Kind::Word);
    let opens = rules.line_comments.iter().copied();
    let opens = opens.chain(rules.block_comment.iter().map(|block| block.open));
    let opens = opens.chain(rules.strings.iter().map(|quote| quote.open));
    for first in opens.filter_map(|open| open.bytes().next()) {
        kinds[first as usize] = Kind::Start;
    }
    for (wanted, sign) in [
        (rules.directives || rules.attributes || rules.key == Some(b':'), b'#'),
        (rules.decorators || rules.at_keywords || rules.prefixes == Prefixes::CSharp, b'@'),
        (rules.regex, b'/'),
        (rules.lifetimes, b'\''),
        (rules.heredoc != Heredoc::None, b'<'),
        (rules.shell || rules.prefixes == Prefixes::CSharp, b'$'),
    ] {
        if wanted {
            kinds[sign as usize] = Kind::Start;
        }
    }
    kinds
}
