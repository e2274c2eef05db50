//! Source code with its tokens marked: one linear pass over the bytes, driven by a table per language. It must not
//! parse, backtrack or fail; what it does not know is plain text.
//!
//! Classes, on `<span>`: `t-c` comment, `t-s` string, `t-n` number, `t-k` keyword, `t-y` type, `t-f` function,
//! `t-a` attribute, key or meta, `t-add` and `t-del` lines of a diff.

mod code;
mod language;
#[rustfmt::skip]
mod languages;
mod lines;
mod markup;

use std::ops::Range;

use language::{Grammar, Language, Token};

use crate::html::Html;
use crate::paint::{Ink, Paint};

/// Code bigger than this is shown without marks.
const BYTES_MAX: usize = 512 << 10;

/// Appends the code as text and `<span>`s, for a `<pre>`. `language` is the name on a code block, or a path.
pub(crate) fn to_html(language: &str, code: &str, html: &mut Html) {
    let mut done = 0;
    tokens(language, code, &mut |token, range| {
        let (Some(before), Some(text)) = (code.get(done..range.start), code.get(range.clone())) else {
            return;
        };
        html.text(before).markup(token.markup()).text(text).markup("</span>");
        done = range.end;
    });
    html.text(code.get(done..).unwrap_or_default());
}

/// The code for a terminal.
pub(crate) fn to_terminal(language: &str, code: &str, paint: Paint) -> String {
    let mut out = String::with_capacity(code.len() * 2);
    let mut done = 0;
    if paint.colour {
        tokens(language, code, &mut |token, range| {
            let (Some(before), Some(text)) = (code.get(done..range.start), code.get(range.clone())) else {
                return;
            };
            paint.push(&[Ink::Plain], before, &mut out);
            paint.push(&[token.ink()], text, &mut out);
            done = range.end;
        });
    }
    paint.push(&[Ink::Plain], code.get(done..).unwrap_or_default(), &mut out);
    out
}

/// The language of a file by its name; empty when it is not one we mark.
pub(crate) fn language_of_path(path: &str) -> &'static str {
    language::of_path(path).map_or("", Language::name)
}

/// Hands over the tokens of the code, in order and apart. What lies between them is plain.
fn tokens(language: &str, code: &str, take: &mut dyn FnMut(Token, Range<usize>)) {
    if code.len() > BYTES_MAX {
        return;
    }
    let Some(language) = language::named(language).or_else(|| language::of_path(language)) else { return };
    match language.grammar {
        Grammar::Code(rules) => code::read(rules, code, take),
        Grammar::Markup => markup::read(code, take),
        Grammar::Markdown => lines::read_markdown(code, take),
        Grammar::Diff => lines::read_diff(code, take),
    }
}

impl Token {
    fn markup(self) -> &'static str {
        match self {
            Token::Comment => "<span class=\"t-c\">",
            Token::String => "<span class=\"t-s\">",
            Token::Number => "<span class=\"t-n\">",
            Token::Keyword => "<span class=\"t-k\">",
            Token::Type => "<span class=\"t-y\">",
            Token::Function => "<span class=\"t-f\">",
            Token::Meta => "<span class=\"t-a\">",
            Token::Added => "<span class=\"t-add\">",
            Token::Removed => "<span class=\"t-del\">",
        }
    }

    fn ink(self) -> Ink {
        match self {
            Token::Comment => Ink::Comment,
            Token::String => Ink::String,
            Token::Number => Ink::Number,
            Token::Keyword => Ink::Keyword,
            Token::Type => Ink::Type,
            Token::Function => Ink::Function,
            Token::Meta => Ink::Meta,
            Token::Added => Ink::Add,
            Token::Removed => Ink::Del,
        }
    }
}

#[cfg(test)]
mod tests;
