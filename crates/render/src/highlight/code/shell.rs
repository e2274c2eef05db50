//! The shell, where a word means something by where it stands: a command, an option, a variable. It must not try to
//! understand quoting beyond what colours need.

use super::super::language::Token;
use super::Lexer;

/// Where in a command the lexer stands.
pub(super) struct State {
    /// The next word is a command.
    pub(super) command: bool,
    /// The last word was the left side of an assignment.
    pub(super) assigns: bool,
    /// A `for`, `case` or `select` waits for its `in`.
    awaits_in: bool,
}

impl Default for State {
    fn default() -> Self {
        State { command: true, assigns: false, awaits_in: false }
    }
}

/// Keywords after which an ordinary word comes, not a command.
const BEFORE_NAMES: [&[u8]; 12] = [
    b"case",
    b"declare",
    b"export",
    b"for",
    b"function",
    b"in",
    b"local",
    b"readonly",
    b"select",
    b"typeset",
    b"unset",
    b"esac",
];

impl Lexer<'_> {
    pub(super) fn shell_word(&mut self) {
        let start = self.at;
        let bytes = self.bytes;
        let length =
            bytes[start..].iter().position(|byte| !self.is_word(*byte)).unwrap_or(bytes.len() - start);
        self.at += length;
        let word = &bytes[start..self.at];
        let next = self.peek(0);
        let before = start.checked_sub(1).map_or(b'\n', |at| bytes[at]);
        let is_keyword = self.rules.keywords.binary_search_by(|known| known.as_bytes().cmp(word)).is_ok();
        let glued = !matches!(
            before,
            b' ' | b'\t' | b'\n' | b'\r' | b';' | b'|' | b'&' | b'(' | b')' | b'{' | b'`' | b'!'
        );
        self.line_start = false;
        let token = if glued && !(before == b'=' && self.shell.assigns) {
            None
        } else if next == b'=' || (next == b'+' && self.peek(1) == b'=') {
            self.shell.assigns = true;
            self.previous = b'a';
            self.emit(Token::Meta, start);
            return;
        } else if before == b'=' {
            // The value of an assignment; a command may still follow.
            return;
        } else if word == b"in" && self.shell.awaits_in {
            self.shell.awaits_in = false;
            Some(Token::Keyword)
        } else if word.iter().all(u8::is_ascii_digit) && matches!(next, b'<' | b'>') {
            Some(Token::Number)
        } else if self.shell.command && is_keyword && !matches!(next, b'"' | b'\'' | b'$') {
            self.shell.command = !BEFORE_NAMES.contains(&word);
            self.shell.awaits_in = matches!(word, b"for" | b"case" | b"select");
            self.shell.assigns = false;
            self.previous = b'a';
            self.emit(Token::Keyword, start);
            return;
        } else if self.shell.command {
            Some(Token::Function)
        } else {
            (word[0] == b'-' && word.len() > 1).then_some(Token::Meta)
        };
        self.shell.command = false;
        self.shell.assigns = false;
        self.previous = b'a';
        if let Some(token) = token {
            self.emit(token, start);
        }
    }

    pub(super) fn shell_sign(&mut self, byte: u8) {
        match byte {
            b';' | b'|' | b'&' | b'(' | b')' | b'`' | b'!' => {
                // `>&2` and `&>` are redirections, not ends of commands.
                let before = self.at.checked_sub(2).map_or(0, |at| self.bytes[at]);
                let redirects = byte == b'&' && (before == b'>' || before == b'<' || self.peek(0) == b'>');
                if !redirects {
                    self.shell.command = true;
                }
                self.shell.assigns = false;
            }
            b'{' => self.shell.command = true,
            b'=' | b'+' => {}
            b'\\' => {
                self.at = (self.at + usize::from(self.peek(0).is_ascii_punctuation())).min(self.bytes.len())
            }
            _ => self.shell.assigns = false,
        }
    }

    /// `$name`, `${…}`, `$'…'`.
    pub(super) fn variable(&mut self) -> bool {
        let start = self.at;
        if matches!(self.peek(1), b'\'' | b'"') {
            self.at += 1;
            let single = self.peek(0) == b'\'';
            if single {
                self.at += 1;
                while !matches!(self.peek(0), b'\'' | 0) {
                    self.at += 1 + usize::from(self.peek(0) == b'\\');
                }
                self.finish(Token::String, start, self.at + 1);
                self.previous = b'"';
                return true;
            }
            return self.string();
        }
        let length = self.variable_len();
        if length == 0 {
            return false;
        }
        self.finish(Token::Meta, start, start + length);
        self.previous = b'a';
        self.shell.command = self.shell.command && self.shell.assigns;
        true
    }

    /// The length of the variable that starts here, or 0.
    pub(super) fn variable_len(&self) -> usize {
        let rest = &self.bytes[self.at + 1..];
        match rest.first() {
            Some(b'{') => {
                // A brace that does not end in its line is left alone; nested ones are counted.
                let mut depth = 0usize;
                for (at, byte) in rest.iter().enumerate().take(256) {
                    match byte {
                        b'{' => depth += 1,
                        b'}' if depth == 1 => return at + 2,
                        b'}' => depth -= 1,
                        b'\n' => return 0,
                        _ => {}
                    }
                }
                0
            }
            Some(b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'$' | b'!' | b'-') => 2,
            Some(_) => {
                match rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count() {
                    0 => 0,
                    length => length + 1,
                }
            }
            None => 0,
        }
    }
}
