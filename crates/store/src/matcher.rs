//! Finds what a query means inside a text, and cuts out what is shown of it. Pure: no files.

use std::ops::Range;

use parlor_model::Key;
use parlor_model::time::Time;
use regex::{Regex, RegexBuilder};
use serde::Serialize;

use crate::block::Grams;
use crate::error::StoreError;

/// What to search for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// What somebody typed. Whatever it is, only a regular expression can be wrong.
    pub words: String,
    /// How it is meant.
    pub kind: Kind,
    /// Only in this session.
    pub session: Option<String>,
    /// How many hits are wanted, at most 1,000.
    pub limit: usize,
}

/// How the words of a query are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// All of these words, in any order, without regard to case or accents. The last one may be only begun, unless it
    /// is in thousands of entries as it stands.
    Words,
    /// Exactly these characters. Case counts only if there is a capital among them.
    Substring,
    /// A regular expression, in which `^` and `$` mean the ends of a line.
    Regex,
}

/// A piece of text in which the query was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hit {
    /// The session.
    pub session: String,
    /// The entry in it.
    pub entry: Key,
    /// When it was said.
    pub at: Option<Time>,
    /// Some text around the first match, on one line, with `…` where it was cut.
    pub snippet: String,
    /// Where the matches are in the snippet, in bytes. Empty when the word was written with other accents.
    pub ranges: Vec<Range<usize>>,
}

/// How much of the text is shown before and after the beginning of a match.
const BEFORE_BYTES: usize = 60;
const AFTER_BYTES: usize = 180;

/// How many words of a query count.
const WORDS: usize = 32;

/// A compiled query.
pub(crate) struct Matcher {
    /// A piece is a hit if each of these is found.
    all: Vec<Regex>,
    /// One text of each of these groups is in every hit, whatever its case: for the filter of the blocks.
    needles: Vec<Vec<Vec<u8>>>,
    /// Whether a block that matches nowhere as a whole has no piece that matches.
    pub(crate) whole_block: bool,
}

/// The words of a text, as the index of words cuts them.
pub(crate) fn words(text: &str) -> Vec<&str> {
    text.split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(WORDS)
        .collect()
}

/// Whether the language of `word` puts no spaces between words, so that the index of words does not know them.
pub(crate) fn is_unspaced(word: &str) -> bool {
    word.chars().any(|character| {
        matches!(character, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
            | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
            | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
    })
}

impl Matcher {
    /// Finds each of `words` anywhere.
    pub(crate) fn substrings(words: &[&str]) -> Result<Matcher, StoreError> {
        let all = words.iter().map(|word| literal(word)).collect::<Result<_, _>>()?;
        let needles = words.iter().map(|word| vec![word.as_bytes().to_vec()]).collect();
        Ok(Matcher { all, needles, whole_block: true })
    }

    /// Finds a regular expression.
    pub(crate) fn regex(pattern: &str) -> Result<Matcher, StoreError> {
        // These tell the ends of a piece from the ends of its lines, which the text of a whole block cannot show.
        let whole_block = !["\\A", "\\z", "-m"].iter().any(|sign| pattern.contains(sign));
        let needles = beginnings(pattern).into_iter().collect();
        Ok(Matcher { all: vec![compile(pattern, pattern)?], needles, whole_block })
    }

    /// Whether the block behind the filter `bits` may have a hit.
    pub(crate) fn may_match(&self, bits: &[u8]) -> bool {
        self.needles.iter().all(|group| group.iter().any(|needle| Grams::may_contain(bits, needle)))
    }

    /// Whether `text` is a hit.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.all.iter().all(|regex| regex.is_match(text))
    }

    /// What to show of `text`.
    pub(crate) fn snippet(&self, text: &str) -> (String, Vec<Range<usize>>) {
        let first = self.all.iter().filter_map(|regex| regex.find(text)).map(|found| found.start()).min();
        let window = window(text, first.unwrap_or(0));
        let mut ranges: Vec<_> = self
            .all
            .iter()
            .flat_map(|regex| {
                regex.find_iter(&text[..window.end]).skip_while(|found| found.end() <= window.start)
            })
            .filter(|found| !found.is_empty())
            .map(|found| found.start()..found.end())
            .collect();
        // A match that goes on beyond the window is not found in the cut text.
        if let Some(found) =
            self.all.iter().filter_map(|regex| regex.find(text)).min_by_key(regex::Match::start)
            && found.end() > window.end
        {
            ranges.push(found.start()..window.end);
        }
        show(text, window, ranges)
    }
}

/// What to show of `text`, in which the index found `words`, the last one perhaps only begun. No automaton is built for a
/// few short texts: that takes longer than all the rest of a search for a rare word.
pub(crate) fn word_snippet(words: &[&str], text: &str) -> (String, Vec<Range<usize>>) {
    let mut found = runs_of_words(text).filter_map(|run| found_in(words, text, run));
    let Some(first) = found.next() else { return show(text, window(text, 0), Vec::new()) };
    let window = window(text, first.start);
    let mut ranges = vec![first];
    ranges.extend(found.take_while(|range| range.end <= window.end));
    show(text, window, ranges)
}

/// The words of a text one after the other, as the index of words cuts them.
fn runs_of_words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        let start = rest + text[rest..].find(char::is_alphanumeric)?;
        let after = text[start..].find(|character: char| !character.is_alphanumeric());
        rest = after.map_or(text.len(), |length| start + length);
        Some(start..rest)
    })
}

/// The part of a run of letters that is one of `words`, or begins with the last of them.
fn found_in(words: &[&str], text: &str, run: Range<usize>) -> Option<Range<usize>> {
    let (last, _) = words.split_last()?;
    let lengths = words.iter().filter_map(|word| Some((word, begins(&text[run.clone()], word)?)));
    let fits = |(word, length): &(&&str, usize)| *length == run.len() || word == &last;
    lengths.filter(fits).map(|(_, length)| run.start..run.start + length).max_by_key(|range| range.end)
}

/// How many bytes of `text` are `word` in whatever case, if it begins with that.
fn begins(text: &str, word: &str) -> Option<usize> {
    let mut rest = text.chars();
    let same = |one: char, other: char| match one.is_ascii() && other.is_ascii() {
        true => one.eq_ignore_ascii_case(&other),
        false => one.to_lowercase().eq(other.to_lowercase()),
    };
    word.chars()
        .all(|character| rest.next().is_some_and(|other| same(character, other)))
        .then(|| text.len() - rest.as_str().len())
}

fn literal(text: &str) -> Result<Regex, StoreError> {
    let escaped = regex::escape(text);
    match text.chars().any(char::is_uppercase) {
        true => compile(&escaped, text),
        false => compile(&format!("(?i:{escaped})"), text),
    }
}

fn compile(pattern: &str, shown: &str) -> Result<Regex, StoreError> {
    RegexBuilder::new(pattern).multi_line(true).size_limit(4 * 1024 * 1024).build().map_err(|error| {
        let reason = error.to_string();
        // The library draws the pattern over several lines and says what is wrong in the last one.
        let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        StoreError::Pattern { pattern: shown.to_owned(), reason }
    })
}

/// The texts with which a match of `pattern` can begin, if they are few and long enough for the filter.
fn beginnings(pattern: &str) -> Option<Vec<Vec<u8>>> {
    let hir = regex_syntax::ParserBuilder::new().multi_line(true).build().parse(pattern).ok()?;
    let found = regex_syntax::hir::literal::Extractor::new().extract(&hir);
    let mut texts: Vec<Vec<u8>> =
        found.literals()?.iter().map(|literal| literal.as_bytes().to_ascii_lowercase()).collect();
    texts.sort();
    texts.dedup();
    texts.iter().all(|text| text.len() >= 3).then_some(texts)
}

/// The part of `text` to be shown around a match that begins at `start`.
fn window(text: &str, start: usize) -> Range<usize> {
    let from = text.floor_char_boundary(start.saturating_sub(BEFORE_BYTES));
    let to = text.floor_char_boundary((start + AFTER_BYTES).min(text.len()));
    from..to
}

/// Cuts `window` out of `text`, on one line, and moves the ranges into it.
fn show(text: &str, window: Range<usize>, mut ranges: Vec<Range<usize>>) -> (String, Vec<Range<usize>>) {
    let mut snippet = String::with_capacity(window.len() + 6);
    if window.start > 0 {
        snippet.push('…');
    }
    let moved = snippet.len();
    snippet.extend(text[window.clone()].chars().map(|character| match character {
        // Each of these is one byte, so that what follows stays in its place.
        '\0'..=' ' | '\x7f' => ' ',
        other => other,
    }));
    if window.end < text.len() {
        snippet.push('…');
    }
    ranges.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    let mut shown: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        let start = range.start.max(window.start) - window.start + moved;
        let end = range.end.min(window.end) - window.start + moved;
        if start < end && shown.last().is_none_or(|last| last.end <= start) {
            shown.push(start..end);
        }
    }
    (snippet, shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(snippet: &(String, Vec<Range<usize>>)) -> Vec<&str> {
        snippet.1.iter().map(|range| &snippet.0[range.clone()]).collect()
    }

    #[test]
    fn ranges_name_what_was_found() {
        let text = format!("{} The Needle,\n\tand a needle again {}", "ä".repeat(300), "ö".repeat(300));
        let snippet = Matcher::substrings(&["needle"]).unwrap().snippet(&text);
        assert_eq!(shown(&snippet), ["Needle", "needle"]);
        assert!(snippet.0.starts_with('…') && snippet.0.ends_with('…') && !snippet.0.contains('\n'));

        let snippet = Matcher::substrings(&["Needle"]).unwrap().snippet(&text);
        assert_eq!(shown(&snippet), ["Needle"]);
    }

    #[test]
    fn a_match_longer_than_the_window_is_cut() {
        let text = "x".repeat(10_000);
        let snippet = Matcher::regex("x+").unwrap().snippet(&text);
        assert_eq!(snippet.1.as_slice(), std::slice::from_ref(&(0..AFTER_BYTES)));
        assert!(snippet.0.len() < 300);
    }

    #[test]
    fn words_are_whole_but_the_last_may_be_begun() {
        let find = |words: &[&str], text: &str| {
            let snippet = word_snippet(words, text);
            shown(&snippet).into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(find(&["run", "test"], "Runs run TESTS in untested_run"), ["run", "TEST", "run"]);
        assert_eq!(find(&["run"], "runs"), ["run"]);
        assert_eq!(find(&["resume"], "résumé"), [""; 0]);
    }

    #[test]
    fn the_filter_of_a_pattern_lets_every_match_pass() {
        let text = "Error: cannot open FILE main.rs";
        let bits = Grams::of(text);
        for pattern in [
            "error|warning",
            "(?i)ERR[o]r: c",
            "^Error",
            r"\bcannot\s+open",
            "(?i:file) .*",
            "m[a-z]+",
            "x?rs",
        ] {
            let matcher = Matcher::regex(pattern).unwrap();
            assert!(!matcher.is_match(text) || matcher.may_match(bits.bytes()), "{pattern}");
        }
        for pattern in ["zebra", "(?i)zebra|quagga", "zebra.*"] {
            assert!(!Matcher::regex(pattern).unwrap().may_match(bits.bytes()), "{pattern}");
        }
    }

    #[test]
    fn a_bad_pattern_is_explained_in_one_line() {
        let Err(error) = Matcher::regex("(foo") else { panic!("it is not a pattern") };
        assert_eq!(
            error.to_string(),
            "`(foo` is not a regular expression that can be searched for: unclosed group"
        );
        assert!(Matcher::regex("(a{1000}){1000}").is_err());
    }
}
