//! The lexers for what is made of lines: a diff, and Markdown as source.

use std::ops::Range;

use super::language::Token;

/// Hands over the lines of a diff.
pub(super) fn read_diff(code: &str, take: &mut dyn FnMut(Token, Range<usize>)) {
    for (range, line) in lines(code) {
        let header = ["+++ ", "--- ", "@@", "diff ", "index ", "*** ", "new file", "deleted file", "rename "];
        let token = match line.as_bytes().first() {
            _ if header.iter().any(|header| line.starts_with(header)) => Token::Meta,
            Some(b'+') => Token::Added,
            Some(b'-') => Token::Removed,
            _ => continue,
        };
        take(token, range);
    }
}

/// Hands over the tokens of Markdown.
pub(super) fn read_markdown(code: &str, take: &mut dyn FnMut(Token, Range<usize>)) {
    let mut fence = None;
    for (range, line) in lines(code) {
        let text = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| text.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => {
                fence = Some(mark);
                take(Token::Meta, range);
            }
            (Some(open), Some(mark))
                if open == mark && text.trim_end().bytes().all(|byte| byte == mark.as_bytes()[0]) =>
            {
                fence = None;
                take(Token::Meta, range);
            }
            (Some(_), _) => take(Token::String, range),
            (None, None) if text.starts_with('#') => take(Token::Keyword, range),
            (None, None) if text.starts_with('>') => take(Token::Comment, range),
            (None, None) => inline(range.start, line, take),
        }
    }
}

/// A list's marker and the code spans of a line.
fn inline(offset: usize, line: &str, take: &mut dyn FnMut(Token, Range<usize>)) {
    let indent = line.len() - line.trim_start().len();
    let mut at = 0;
    if ["- ", "* ", "+ "].iter().any(|marker| line[indent..].starts_with(marker)) {
        take(Token::Keyword, offset + indent..offset + indent + 1);
        at = indent + 2;
    }
    while let Some(open) = memchr::memchr(b'`', &line.as_bytes()[at..]) {
        let start = at + open;
        let Some(close) = memchr::memchr(b'`', &line.as_bytes()[start + 1..]) else { return };
        at = start + close + 2;
        take(Token::String, offset + start..offset + at);
    }
}

/// The lines with their places, without line ends.
fn lines(code: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    let mut start = 0;
    code.split_inclusive('\n').map(move |whole| {
        let line = whole.trim_end_matches(['\n', '\r']);
        let range = start..start + line.len();
        start += whole.len();
        (range, line)
    })
}
