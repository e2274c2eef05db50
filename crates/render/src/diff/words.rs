//! Marks the words that differ between a removed line and the added line that replaces it. It must not spend more
//! than a fixed amount of work on a whole diff.

use std::ops::Range;

use similar::{Algorithm, capture_diff_slices};

/// Text in pieces; `true` marks those that differ.
type Parts = Vec<(bool, String)>;

/// A line with more words than this is not looked into.
const WORDS_MAX: usize = 200;

/// A change with more pairs of lines than this pairs them in order, without looking for the best partner.
const PAIRS_MAX: usize = 64;

/// What may be spent on one diff, counted in pairs of words that could be compared.
const WORK_MAX: usize = 4_000_000;

/// What every comparison costs, however short the lines.
const WORK_EACH: usize = 200;

/// Two lines belong together when this share of their letters, in percent, is the same.
const ALIKE_PERCENT: usize = 50;

/// What is left to spend.
pub(super) struct Work(usize);

impl Work {
    /// Nothing to spend: nothing will be marked.
    pub(super) const NONE: Work = Work(0);
}

impl Default for Work {
    fn default() -> Self {
        Work(WORK_MAX)
    }
}

/// Finds for each removed line the added line that replaces it, in order, and marks what differs in both.
pub(super) fn mark(removed: Vec<String>, added: Vec<String>, work: &mut Work) -> (Vec<Parts>, Vec<Parts>) {
    let mut pairs: Vec<(usize, usize, Marked)> = Vec::new();
    let search = removed.len().saturating_mul(added.len()) <= PAIRS_MAX;
    let mut next = 0;
    for (index, old) in removed.iter().enumerate() {
        let candidates = if search { next..added.len() } else { index..index + 1 };
        for candidate in candidates {
            let Some(new) = added.get(candidate) else { break };
            if let Some(marked) = compare(old, new, work) {
                pairs.push((index, candidate, marked));
                next = candidate + 1;
                break;
            }
        }
    }
    let mut old_parts: Vec<Parts> = removed.into_iter().map(super::whole).collect();
    let mut new_parts: Vec<Parts> = added.into_iter().map(super::whole).collect();
    for (old, new, marked) in pairs {
        old_parts[old] = marked.old;
        new_parts[new] = marked.new;
    }
    (old_parts, new_parts)
}

/// Two lines with what differs marked.
struct Marked {
    old: Parts,
    new: Parts,
}

/// Marks what differs, or gives `None` when the lines are not alike or there is no work left to spend.
fn compare(old: &str, new: &str, work: &mut Work) -> Option<Marked> {
    work.0 = work.0.checked_sub(WORK_EACH)?;
    let (old_words, new_words) = (words(old)?, words(new)?);
    work.0 = work.0.checked_sub(old_words.len().saturating_mul(new_words.len()))?;
    let most = letters(&old_words).max(letters(&new_words));
    // Lines that share too few words cannot be alike, in whatever order the words stand: most lines are told apart
    // here, at a fraction of the price.
    let shared: Vec<&str> = old_words.iter().filter(|word| new_words.contains(word)).copied().collect();
    if letters(&shared) * 100 < most * ALIKE_PERCENT {
        return None;
    }
    let mut marked = Marked { old: Vec::new(), new: Vec::new() };
    let mut same = 0;
    for operation in capture_diff_slices(Algorithm::Myers, &old_words, &new_words) {
        let equal = operation.tag() == similar::DiffTag::Equal;
        for (parts, words, range) in [
            (&mut marked.old, &old_words, operation.old_range()),
            (&mut marked.new, &new_words, operation.new_range()),
        ] {
            push(parts, !equal, words, range);
        }
        if equal {
            same += letters(old_words.get(operation.old_range()).unwrap_or_default());
        }
    }
    (same * 100 >= most * ALIKE_PERCENT && most > 0).then_some(marked)
}

fn push(parts: &mut Parts, changed: bool, words: &[&str], range: Range<usize>) {
    let text = words.get(range).unwrap_or_default().concat();
    if text.is_empty() {
        return;
    }
    match parts.last_mut() {
        Some((last, so_far)) if *last == changed => so_far.push_str(&text),
        _ => parts.push((changed, text)),
    }
}

/// Bytes that are not white space.
fn letters(words: &[&str]) -> usize {
    words.iter().filter(|word| !word.trim().is_empty()).map(|word| word.len()).sum()
}

/// Splits a line into runs of letters and digits, runs of spaces, and single other characters.
fn words(line: &str) -> Option<Vec<&str>> {
    let kind = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 0u8,
        c if c.is_whitespace() => 1,
        _ => 2,
    };
    let mut words = Vec::new();
    let mut start = 0;
    let mut last = None;
    for (at, c) in line.char_indices() {
        let this = kind(c);
        if last.is_some_and(|last| last != this || this == 2) {
            words.push(&line[start..at]);
            start = at;
            if words.len() > WORDS_MAX {
                return None;
            }
        }
        last = Some(this);
    }
    words.push(&line[start..]);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_split_into_words_spaces_and_signs() {
        assert_eq!(
            words("let x_1 = é(2);"),
            Some(vec!["let", " ", "x_1", " ", "=", " ", "é", "(", "2", ")", ";"])
        );
        assert_eq!(words(""), Some(vec![""]));
        assert_eq!(words(&"(".repeat(WORDS_MAX * 2)), None);
    }

    #[test]
    fn work_runs_out_and_then_nothing_is_marked() {
        let mut work = Work(WORK_EACH + 24);
        let (old, _) =
            mark(vec!["a b c".into(), "a b c".into()], vec!["a b d".into(), "a b d".into()], &mut work);
        assert_eq!(old[0].len(), 1);
        let mut work = Work(2 * WORK_EACH + 25);
        let (old, _) =
            mark(vec!["a b c".into(), "a b c".into()], vec!["a b d".into(), "a b d".into()], &mut work);
        assert_eq!((old[0].len(), old[1].len()), (2, 1));
    }
}
