//! Reads JSON lazily, in one pass, over bytes that may be damaged.
//!
//! A session line is mostly text that nobody will look at: the reader walks its structure once and hands out
//! [`Span`]s; text is decoded only when it is shown. It never fails and never recurses: what is malformed marks the
//! reader as damaged and what was read before stays read. It does not validate what it skips.

/// A byte range inside a line: a whole JSON value, or the inside of a JSON string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// What kind of value comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `{`
    Object,
    /// `[`
    Array,
    /// `"`
    String,
    /// A digit or a minus sign.
    Number,
    /// `true`
    True,
    /// `false`
    False,
    /// `null`
    Null,
    /// The input ended, or what follows cannot start a value.
    Nothing,
}

/// A pull reader over one line. Every method that reads a value consumes exactly that value.
#[derive(Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    damage: Option<usize>,
    left: bool,
}

impl<'a> Reader<'a> {
    /// Starts at the first byte of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, at: 0, damage: None, left: false }
    }

    /// Where the reader stands.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The offset of the first malformed byte met so far.
    pub fn damage(&self) -> Option<usize> {
        self.damage
    }

    /// Gives up on the rest of the line without calling it damaged: for readers that have seen enough.
    pub fn leave(&mut self) {
        self.left = true;
        self.at = self.bytes.len();
    }

    /// Peeks at the kind of the next value.
    pub fn kind(&mut self) -> Kind {
        self.space();
        match self.bytes.get(self.at) {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b'0'..=b'9' | b'-') => Kind::Number,
            Some(b't') => Kind::True,
            Some(b'f') => Kind::False,
            Some(b'n') => Kind::Null,
            _ => Kind::Nothing,
        }
    }

    /// Reads an object, calling `field` with each raw key (escapes untouched). What `field` leaves unread is skipped.
    /// Returns false, having skipped the value, when it is not an object.
    pub fn object(&mut self, mut field: impl FnMut(&mut Self, &'a [u8])) -> bool {
        if self.kind() != Kind::Object {
            self.skip();
            return false;
        }
        self.at += 1;
        self.space();
        if self.eat(b'}') {
            return true;
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                self.fail();
                return true;
            }
            let key = self.string();
            self.space();
            if !self.eat(b':') {
                self.fail();
                return true;
            }
            self.space();
            let before = self.at;
            field(self, &self.bytes[key.start..key.end]);
            if self.at == before {
                self.skip();
            }
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return true;
                }
                _ => {
                    self.fail();
                    return true;
                }
            }
        }
    }

    /// Reads an array, calling `item` at each element. What `item` leaves unread is skipped.
    /// Returns false, having skipped the value, when it is not an array.
    pub fn array(&mut self, mut item: impl FnMut(&mut Self)) -> bool {
        if self.kind() != Kind::Array {
            self.skip();
            return false;
        }
        self.at += 1;
        self.space();
        if self.eat(b']') {
            return true;
        }
        loop {
            self.space();
            let before = self.at;
            item(self);
            if self.at == before {
                self.skip();
            }
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return true;
                }
                _ => {
                    self.fail();
                    return true;
                }
            }
        }
    }

    /// Reads a string; anything else is skipped and gives `None`. The span is the inside, escapes untouched.
    pub fn text(&mut self) -> Option<Span> {
        if self.kind() == Kind::String {
            Some(self.string())
        } else {
            self.skip();
            None
        }
    }

    /// Reads any value as its raw span.
    pub fn raw(&mut self) -> Span {
        self.space();
        let start = self.at;
        self.skip();
        Span { start, end: self.at }
    }

    /// Reads a boolean; anything else is skipped and gives `None`.
    pub fn bool(&mut self) -> Option<bool> {
        let kind = self.kind();
        self.skip();
        match kind {
            Kind::True => Some(true),
            Kind::False => Some(false),
            _ => None,
        }
    }

    /// Reads a number, also one written as a string; anything else is skipped and gives `None`.
    pub fn number(&mut self) -> Option<f64> {
        let span = match self.kind() {
            Kind::Number => self.raw(),
            Kind::String => self.string(),
            _ => {
                self.skip();
                return None;
            }
        };
        std::str::from_utf8(&self.bytes[span.start..span.end])
            .ok()?
            .trim()
            .parse()
            .ok()
            .filter(|n: &f64| n.is_finite())
    }

    /// Reads a whole number, also one written as a string or with a fraction.
    pub fn integer(&mut self) -> Option<i64> {
        self.space();
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let ends = rest.get(digits).is_none_or(|byte| matches!(byte, b',' | b'}' | b']'));
        if (1..=18).contains(&digits) && ends {
            self.at += digits;
            return Some(rest[..digits].iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0')));
        }
        self.number().map(|n| n as i64)
    }

    /// Reads a count: a whole number that is not negative.
    pub fn count(&mut self) -> Option<u64> {
        self.integer().and_then(|n| n.try_into().ok())
    }

    /// Skips one value of any kind and any depth.
    pub fn skip(&mut self) {
        match self.kind() {
            Kind::String => {
                self.string();
            }
            Kind::Object | Kind::Array => self.skip_nested(),
            Kind::Nothing => self.fail(),
            Kind::Number => {
                let rest = &self.bytes[self.at..];
                let length =
                    rest.iter().position(|b| !matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'));
                self.at += length.unwrap_or(rest.len());
            }
            Kind::True => self.word(b"true"),
            Kind::False => self.word(b"false"),
            Kind::Null => self.word(b"null"),
        }
    }

    /// Ends the reading. `Some(offset)` when the line is malformed or something follows the value.
    pub fn finish(mut self) -> Option<usize> {
        self.space();
        if self.damage.is_none() && self.at < self.bytes.len() {
            self.damage = Some(self.at);
        }
        self.damage
    }

    fn word(&mut self, word: &[u8]) {
        if self.bytes[self.at..].starts_with(word) {
            self.at += word.len();
        } else {
            self.fail();
        }
    }

    fn skip_nested(&mut self) {
        let mut depth = 0usize;
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'"' => {
                    self.string();
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        self.at += 1;
                        return;
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
        self.fail();
    }

    /// Reads the string whose opening quote is here; the span excludes the quotes.
    ///
    /// Only quotes are searched: a quote that ends nothing has an odd number of backslashes before it. Text has far
    /// more escaped line ends than escaped quotes, so this stops less often than a search for every escape.
    fn string(&mut self) -> Span {
        let start = self.at + 1;
        let mut at = start;
        // Keys and ids are short: eight bytes at a time beat the call of a vector search.
        let near = start + 24;
        while at < near
            && let Some(chunk) = self.bytes.get(at..).and_then(|rest| rest.first_chunk::<8>())
        {
            let found = quotes(u64::from_le_bytes(*chunk));
            if found == 0 {
                at += 8;
                continue;
            }
            at += found.trailing_zeros() as usize / 8;
            if !self.is_escaped(start, at) {
                self.at = at + 1;
                return Span { start, end: at };
            }
            at += 1;
        }
        while let Some(found) = self.bytes.get(at..).and_then(|rest| memchr::memchr(b'"', rest)) {
            at += found;
            if !self.is_escaped(start, at) {
                self.at = at + 1;
                return Span { start, end: at };
            }
            at += 1;
        }
        // The string runs past the end: the line is cut there.
        self.at = self.bytes.len();
        self.fail();
        Span { start: start.min(self.bytes.len()), end: self.bytes.len() }
    }

    /// Whether the quote at `at`, in the string that starts at `start`, is part of its text.
    fn is_escaped(&self, start: usize, at: usize) -> bool {
        let before = self.bytes[start..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        before % 2 == 1
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn fail(&mut self) {
        if !self.left {
            self.damage.get_or_insert(self.at.min(self.bytes.len()));
        }
        self.at = self.bytes.len();
    }
}

/// Marks the top bit of each byte of `word` that is a quote; the lowest mark is always right.
fn quotes(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = 0x8080_8080_8080_8080;
    let bytes = word ^ (ONES * b'"' as u64);
    bytes.wrapping_sub(ONES) & !bytes & TOPS
}
