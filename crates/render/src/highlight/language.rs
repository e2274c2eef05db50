//! What a language looks like to the lexer, and how one is found by name or by file. It must not hold any language:
//! those are in the tables.

use super::languages::LANGUAGES;

/// What a piece of code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Comment,
    String,
    Number,
    Keyword,
    Type,
    Function,
    /// An attribute, a key, an option, a variable of the shell.
    Meta,
    Added,
    Removed,
}

/// One language.
pub(super) struct Language {
    /// What code blocks call it; the first is its own name.
    pub(super) names: &'static [&'static str],
    /// How its files end; without a dot, how they are called.
    pub(super) files: &'static [&'static str],
    pub(super) grammar: Grammar,
}

impl Language {
    /// The language's own name.
    pub(super) fn name(&self) -> &'static str {
        self.names.first().copied().unwrap_or_default()
    }
}

/// Which lexer reads it.
pub(super) enum Grammar {
    Code(&'static Code),
    Markup,
    Markdown,
    Diff,
}

/// The rules of a language made of words, strings and comments. Word lists are sorted.
pub(super) struct Code {
    pub(super) keywords: &'static [&'static str],
    /// Words that are keywords only where a name, a string or a bracket follows: they are names elsewhere.
    pub(super) soft: &'static [&'static str],
    pub(super) types: &'static [&'static str],
    pub(super) line_comments: &'static [&'static str],
    pub(super) block_comment: Option<Block>,
    /// Longer openings first.
    pub(super) strings: &'static [Quote],
    /// Signs that are part of words, beside letters, digits and `_`.
    pub(super) word_signs: &'static [u8],
    pub(super) prefixes: Prefixes,
    pub(super) heredoc: Heredoc,
    /// The sign after a key, where the language has keys.
    pub(super) key: Option<u8>,
    /// Names with a capital are types.
    pub(super) capital_types: bool,
    /// After a dot or before a colon every word is a name.
    pub(super) members_are_names: bool,
    /// Soft keywords only start a line.
    pub(super) soft_starts_line: bool,
    /// `'a` without an end is a lifetime.
    pub(super) lifetimes: bool,
    /// `#word` at the start of a line.
    pub(super) directives: bool,
    /// `/…/` where a value can stand.
    pub(super) regex: bool,
    /// `@word`; `@` starts a keyword where `at_keywords` is true.
    pub(super) decorators: bool,
    pub(super) at_keywords: bool,
    /// `#[…]`
    pub(super) attributes: bool,
    /// `word!(…)`
    pub(super) macros: bool,
    pub(super) any_case: bool,
    /// Words are commands and arguments.
    pub(super) shell: bool,
    /// Comments and strings start only where a word could.
    pub(super) needs_gap: bool,
}

/// A language with nothing, for `..NOTHING`.
pub(super) const NOTHING: Code = Code {
    keywords: &[],
    soft: &[],
    types: &[],
    line_comments: &[],
    block_comment: None,
    strings: &[],
    word_signs: &[],
    prefixes: Prefixes::None,
    heredoc: Heredoc::None,
    key: None,
    capital_types: false,
    members_are_names: false,
    soft_starts_line: false,
    lifetimes: false,
    directives: false,
    regex: false,
    decorators: false,
    at_keywords: false,
    attributes: false,
    macros: false,
    any_case: false,
    shell: false,
    needs_gap: false,
};

/// A comment with two ends.
pub(super) struct Block {
    pub(super) open: &'static str,
    pub(super) close: &'static str,
    pub(super) nested: bool,
}

/// A kind of string.
pub(super) struct Quote {
    pub(super) open: &'static str,
    pub(super) close: &'static str,
    /// A backslash takes the next character with it.
    pub(super) escapes: bool,
    /// It may go on over line ends.
    pub(super) lines: bool,
    pub(super) inside: Inside,
}

/// What code a string may hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Inside {
    Nothing,
    /// `${…}`
    DollarBrace,
    /// `#{…}`
    HashBrace,
    /// `{…}`, and `{{` is a brace.
    Brace,
    /// `\(…)`
    BackslashParen,
    /// `$name`, `${…}` and `$(…)`
    Shell,
}

/// Which words before a quote belong to the string.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Prefixes {
    None,
    /// `r#"…"#`, `b"…"`, `c"…"`
    Rust,
    /// Up to two of `rbuf`, in any case.
    Python,
    /// `R"x(…)x"`, `L"…"`, `u8"…"`
    Cpp,
    /// `$"…{}…"`, `@"…"`: signs, not words.
    CSharp,
}

/// How a string that starts on the next line is announced.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Heredoc {
    None,
    /// `<<EOF`, `<<-'EOF'`
    Shell,
    /// `<<~EOF`
    Ruby,
    /// `<<<EOF`
    Php,
}

/// The language that goes by this name.
pub(super) fn named(name: &str) -> Option<&'static Language> {
    LANGUAGES.iter().find(|language| language.names.iter().any(|known| known.eq_ignore_ascii_case(name)))
}

/// The language of the file at this path.
pub(super) fn of_path(path: &str) -> Option<&'static Language> {
    let file = path.rsplit(['/', '\\']).next()?;
    let is_end = |known: &str| match known.starts_with('.') {
        true => {
            let start = file.len().checked_sub(known.len());
            start.and_then(|start| file.get(start..)).is_some_and(|end| end.eq_ignore_ascii_case(known))
        }
        false => file.eq_ignore_ascii_case(known),
    };
    LANGUAGES.iter().find(|language| language.files.iter().any(|known| is_end(known)))
}
