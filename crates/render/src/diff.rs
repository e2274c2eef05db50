//! What changed between two texts, or in the hunks a tool reports: lines with their numbers, and the words that differ.
//! It must not read files, and its work is bounded by size, not by a clock.
//!
//! HTML: `<div class="diff">` holds one `<div>` per line with class `add`, `del`, `same` or `gap`; in it `<i>` old
//! number, `<i>` new number, `<span>` sign, `<span>` text with `<mark>` around the words that differ. A diff that is
//! not the whole story ends with `<div class="cut">`.

mod words;

use parlor_model::tool::Hunk;
use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};

use crate::html::Html;
use crate::paint::{Ink, Paint};

/// The lines of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Diff {
    /// In file order, removed before added.
    pub(crate) lines: Vec<DiffLine>,
    /// How many lines were added.
    pub(crate) added: u64,
    /// How many lines were removed.
    pub(crate) removed: u64,
    /// True when the texts were too big to compare, or lines were left out.
    pub(crate) truncated: bool,
}

/// One line of a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DiffLine {
    /// Its number in the old text, from 1.
    pub(crate) old: Option<u64>,
    /// Its number in the new text, from 1.
    pub(crate) new: Option<u64>,
    /// What happened to it.
    pub(crate) sign: Sign,
    /// Its text, in pieces; `true` marks those that differ from the line it replaces or is replaced by.
    pub(crate) parts: Vec<(bool, String)>,
}

/// What happened to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    Same,
    Added,
    Removed,
    /// Not a line: a remark, or `⋯` for lines between two hunks.
    Gap,
}

/// Unchanged lines shown around a change.
const CONTEXT_LINES: usize = 3;

/// Texts bigger than this together are not compared: all of the old is shown as removed, all of the new as added.
const COMPARED_BYTES_MAX: usize = 2 << 20;

/// Nor are texts with more lines than this between the first and the last that differ: a million braces against a
/// million others take the algorithm seconds.
const COMPARED_LINES_MAX: usize = 50_000;

/// Lines of one diff; the rest is cut, and counted.
const LINES_MAX: usize = 20_000;

impl Diff {
    /// The change from one text to another, with three lines around it. Numbers count from the start of the texts.
    pub(crate) fn between(old: &str, new: &str) -> Diff {
        if old.len().saturating_add(new.len()) > COMPARED_BYTES_MAX {
            return Diff::replaced(old, new);
        }
        let lines = |text: &str| -> Vec<String> { text.lines().map(str::to_owned).collect() };
        let (mut old_lines, mut new_lines) = (lines(old), lines(new));
        if old_lines == new_lines && old != new {
            // Only line ends differ. A snippet often lacks the last one, so they count only when nothing else does.
            let ends = |text: &str| lines(&text.replace('\n', "␊\n").replace("\r␊", "␍␊"));
            (old_lines, new_lines) = (ends(old), ends(new));
        }
        let same = |(a, b): &(&String, &String)| a == b;
        let before = old_lines.iter().zip(&new_lines).take_while(same).count();
        let after = old_lines.iter().rev().zip(new_lines.iter().rev()).take_while(same).count();
        if (old_lines.len() + new_lines.len()).saturating_sub(2 * (before + after)) > COMPARED_LINES_MAX {
            return Diff::replaced(old, new);
        }
        let mut builder = Builder::default();
        let operations = capture_diff_slices(Algorithm::Myers, &old_lines, &new_lines);
        for (index, group) in group_diff_ops(operations, CONTEXT_LINES).iter().enumerate() {
            let Some(first) = group.first() else { continue };
            if index > 0 {
                builder.gap("⋯");
            }
            builder.start(first.old_range().start as u64 + 1, first.new_range().start as u64 + 1);
            group.iter().for_each(|operation| builder.operation(operation, &old_lines, &new_lines));
        }
        builder.finish()
    }

    /// The change as a tool reports it. Where it gives no numbers they count from the start of the hunk.
    pub(crate) fn of_hunks(hunks: &[Hunk]) -> Diff {
        let mut builder = Builder::default();
        for (index, hunk) in hunks.iter().enumerate() {
            if index > 0 {
                builder.gap("⋯");
            }
            builder.start(hunk.old_start.max(1), hunk.new_start.max(1));
            for line in &hunk.lines {
                let line = line.as_str();
                let rest = line.get(1..).unwrap_or_default();
                match line.as_bytes().first() {
                    Some(b'+') => builder.added.push(rest.to_owned()),
                    Some(b'-') => builder.remove(rest),
                    Some(b'\\') => builder.gap(rest.trim_start()),
                    Some(b' ') => builder.same(rest),
                    _ => builder.same(&line),
                }
            }
        }
        builder.finish()
    }

    /// All of the old removed, all of the new added: for what is too big to compare.
    fn replaced(old: &str, new: &str) -> Diff {
        let mut builder = Builder { work: words::Work::NONE, ..Builder::default() };
        builder.diff.truncated = true;
        builder.start(1, 1);
        old.lines().for_each(|line| builder.remove(line));
        new.lines().for_each(|line| builder.added.push(line.to_owned()));
        builder.finish()
    }

    /// Appends the diff as HTML.
    pub(crate) fn to_html(&self, html: &mut Html) {
        html.markup("<div class=\"diff\">");
        for line in &self.lines {
            html.markup(match line.sign {
                Sign::Same => "<div class=\"same\"><i>",
                Sign::Added => "<div class=\"add\"><i>",
                Sign::Removed => "<div class=\"del\"><i>",
                Sign::Gap => "<div class=\"gap\"><i>",
            });
            line.old.map(|number| html.number(number));
            html.markup("</i><i>");
            line.new.map(|number| html.number(number));
            html.markup("</i><span>").markup(line.sign.as_str()).markup("</span><span>");
            for (changed, text) in &line.parts {
                match changed {
                    true => html.markup("<mark>").text(text).markup("</mark>"),
                    false => html.text(text),
                };
            }
            html.markup("</span></div>");
        }
        if self.truncated {
            html.markup("<div class=\"cut\">").markup(TRUNCATED).markup("</div>");
        }
        html.markup("</div>");
    }

    /// The diff for a terminal, numbers and signs first, one line each.
    pub(crate) fn to_terminal(&self, paint: Paint) -> String {
        let digits = |number: Option<u64>| number.map_or(0, |number| number.to_string().len());
        let number_width =
            self.lines.iter().map(|line| digits(line.old).max(digits(line.new))).max().unwrap_or(0);
        let mut out = String::new();
        for line in &self.lines {
            let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
            let numbers = format!("{:>number_width$} {:>number_width$} ", number(line.old), number(line.new));
            paint.push(&[Ink::Dim], &numbers, &mut out);
            let (ink, mark) = match line.sign {
                Sign::Same => (Ink::Plain, Ink::Plain),
                Sign::Added => (Ink::Add, Ink::AddMark),
                Sign::Removed => (Ink::Del, Ink::DelMark),
                Sign::Gap => (Ink::Dim, Ink::Dim),
            };
            paint.push(&[ink], line.sign.as_str(), &mut out);
            out.push(' ');
            for (changed, text) in &line.parts {
                paint.push(&[if *changed { mark } else { ink }], text, &mut out);
            }
            out.push('\n');
        }
        if self.truncated {
            paint.push(&[Ink::Warn], TRUNCATED, &mut out);
            out.push('\n');
        }
        out
    }
}

impl Sign {
    /// The sign as it is written before the line.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Sign::Same | Sign::Gap => " ",
            Sign::Added => "+",
            Sign::Removed => "-",
        }
    }
}

const TRUNCATED: &str = "Too big to compare in full";

/// Collects lines, numbers them, and holds changed ones back until both sides of a change are complete.
#[derive(Default)]
struct Builder {
    diff: Diff,
    old: u64,
    new: u64,
    removed: Vec<String>,
    added: Vec<String>,
    work: words::Work,
}

impl Builder {
    /// Lines that follow have these numbers.
    fn start(&mut self, old: u64, new: u64) {
        self.change();
        (self.old, self.new) = (old, new);
    }

    fn operation(&mut self, operation: &DiffOp, old_lines: &[String], new_lines: &[String]) {
        let old = old_lines.get(operation.old_range()).unwrap_or_default();
        let new = new_lines.get(operation.new_range()).unwrap_or_default();
        match operation {
            DiffOp::Equal { .. } => old.iter().for_each(|line| self.same(line)),
            DiffOp::Delete { .. } | DiffOp::Insert { .. } | DiffOp::Replace { .. } => {
                old.iter().for_each(|line| self.remove(line));
                new.iter().for_each(|line| self.added.push(line.clone()));
            }
        }
    }

    fn same(&mut self, text: &str) {
        self.change();
        let line = DiffLine {
            old: Some(self.old),
            new: Some(self.new),
            sign: Sign::Same,
            parts: whole(text.to_owned()),
        };
        self.push(line);
        self.old = self.old.saturating_add(1);
        self.new = self.new.saturating_add(1);
    }

    /// Holds a removed line back, before the added lines of its change even where the tool wrote it after them.
    fn remove(&mut self, text: &str) {
        self.removed.push(text.to_owned());
    }

    fn gap(&mut self, text: &str) {
        self.change();
        self.push(DiffLine { old: None, new: None, sign: Sign::Gap, parts: whole(text.to_owned()) });
    }

    /// Writes the change that was held back.
    fn change(&mut self) {
        let (removed, added) = (std::mem::take(&mut self.removed), std::mem::take(&mut self.added));
        self.diff.removed = self.diff.removed.saturating_add(removed.len() as u64);
        self.diff.added = self.diff.added.saturating_add(added.len() as u64);
        let (old_parts, new_parts) = words::mark(removed, added, &mut self.work);
        for parts in old_parts {
            self.push(DiffLine { old: Some(self.old), new: None, sign: Sign::Removed, parts });
            self.old = self.old.saturating_add(1);
        }
        for parts in new_parts {
            self.push(DiffLine { old: None, new: Some(self.new), sign: Sign::Added, parts });
            self.new = self.new.saturating_add(1);
        }
    }

    fn push(&mut self, line: DiffLine) {
        if self.diff.lines.len() < LINES_MAX {
            self.diff.lines.push(line);
        } else {
            self.diff.truncated = true;
        }
    }

    fn finish(mut self) -> Diff {
        self.change();
        self.diff
    }
}

fn whole(text: String) -> Vec<(bool, String)> {
    if text.is_empty() { Vec::new() } else { vec![(false, text)] }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line per line: sign, numbers, and text with the differing words in brackets.
    fn shown(diff: &Diff) -> Vec<String> {
        let number = |number: Option<u64>| number.map_or("·".to_owned(), |number| number.to_string());
        let parts = |line: &DiffLine| -> String {
            line.parts
                .iter()
                .map(|(changed, text)| if *changed { format!("[{text}]") } else { text.clone() })
                .collect()
        };
        let lines = diff.lines.iter();
        lines
            .map(|line| {
                format!("{}{} {} {}", line.sign.as_str(), number(line.old), number(line.new), parts(line))
            })
            .collect()
    }

    #[test]
    fn lines_have_numbers_signs_and_marked_words() {
        for (old, new, expected) in [
            ("a\nb\nc", "a\nb\nc", vec![]),
            ("", "", vec![]),
            ("", "x\ny", vec!["+· 1 x", "+· 2 y"]),
            ("x\n", "", vec!["-1 · x"]),
            ("a", "a\nb", vec![" 1 1 a", "+· 2 b"]),
            (
                "a\nlet x = 1;\nc\n",
                "a\nlet y = 1;\nc\n",
                vec![" 1 1 a", "-2 · let [x] = 1;", "+· 2 let [y] = 1;", " 3 3 c"],
            ),
            ("a\n", "a", vec!["-1 · a␊", "+· 1 a"]),
            ("é ä\n", "é ö\n", vec!["-1 · é [ä]", "+· 1 é [ö]"]),
            (
                "Some(self.base * 2u32.pow(self.attempt))",
                "self.budget.try_take(1)?;\nSome(self.base * 2u32.pow(self.attempt.min(8)))",
                vec![
                    "-1 · Some(self.base * 2u32.pow(self.attempt))",
                    "+· 1 self.budget.try_take(1)?;",
                    "+· 2 Some(self.base * 2u32.pow(self.attempt[.min(8)]))",
                ],
            ),
        ] {
            assert_eq!(shown(&Diff::between(old, new)), expected, "{old:?} {new:?}");
        }
    }

    #[test]
    fn distant_changes_keep_three_lines_around_them_and_a_gap_between() {
        let old: String = (1..=30).map(|n| format!("{n}\n")).collect();
        let new = old.replace("\n5\n", "\nfive\n").replace("\n25\n", "\n");
        let diff = Diff::between(&old, &new);
        assert_eq!((diff.added, diff.removed, diff.truncated), (1, 2, false));
        let shown = shown(&diff);
        assert_eq!(shown[0], " 2 2 2");
        assert_eq!(shown[8], " · · ⋯");
        assert_eq!(shown[9], " 22 22 22");
        assert_eq!(shown.last().map(String::as_str), Some(" 28 27 28"));
    }

    #[test]
    fn hunks_keep_their_numbers_and_removed_lines_come_first() {
        let hunk = |old_start, new_start, lines: &[&str]| Hunk {
            old_start,
            new_start,
            lines: lines.iter().map(|line| (*line).into()).collect(),
        };
        let diff = Diff::of_hunks(&[
            hunk(41, 45, &[" keep", "+new one", "-old one", "\\ No newline at end of file"]),
            hunk(0, 0, &["-gone", "é odd", ""]),
        ]);
        assert_eq!(
            shown(&diff),
            [
                " 41 45 keep",
                "-42 · [old] one",
                "+· 46 [new] one",
                " · · No newline at end of file",
                " · · ⋯",
                "-1 · gone",
                " 2 1 é odd",
                " 3 2 "
            ]
        );
        assert_eq!((diff.added, diff.removed), (1, 2));
    }

    #[test]
    fn html_and_terminal_are_safe() {
        let diff = Diff::between("<script>a</script>\n", "<script>\x1b[2Jb</script>\n");
        let mut html = Html::default();
        diff.to_html(&mut html);
        assert_eq!(
            html.as_str(),
            "<div class=\"diff\"><div class=\"del\"><i>1</i><i></i><span>-</span><span>&lt;script&gt;<mark>a</mark>&lt;/script&gt;</span></div>\
             <div class=\"add\"><i></i><i>1</i><span>+</span><span>&lt;script&gt;<mark>\u{fffd}[2Jb</mark>&lt;/script&gt;</span></div></div>"
        );
        assert_eq!(
            diff.to_terminal(Paint { colour: false }),
            "1   - <script>a</script>\n  1 + <script>\u{fffd}[2Jb</script>\n"
        );
    }

    #[test]
    fn what_is_too_big_is_cut_and_says_so() {
        let many = Diff::between(&"}\n".repeat(COMPARED_LINES_MAX), &"{\n".repeat(COMPARED_LINES_MAX));
        assert!(many.truncated);
        let one = Diff::between(&"}\n".repeat(COMPARED_LINES_MAX), &"}\n".repeat(COMPARED_LINES_MAX + 1));
        assert_eq!((one.added, one.removed, one.truncated), (1, 0, false));
        let big = "line\n".repeat(COMPARED_BYTES_MAX / 5);
        let diff = Diff::between(&big, "x");
        assert!(diff.truncated);
        assert_eq!((diff.lines.len(), diff.added), (LINES_MAX, 1));
        assert_eq!(diff.removed, COMPARED_BYTES_MAX as u64 / 5);
        let mut html = Html::default();
        diff.to_html(&mut html);
        assert!(html.as_str().ends_with("<div class=\"cut\">Too big to compare in full</div></div>"));
    }

    /// Texts that share many lines in no common order are the worst case. Run by hand in a release build.
    #[test]
    #[ignore = "measures time"]
    #[allow(clippy::disallowed_methods)]
    fn measure_hostile_texts() {
        let shuffled = |factor: usize, words: &str| -> String {
            (0..30_000usize).map(|n| format!("{} {words}\n", n.wrapping_mul(factor) % 9973)).collect()
        };
        for (old, new) in [
            (shuffled(1, "x"), shuffled(7919, "x")),
            (shuffled(1, "a b c d"), shuffled(1, "a e c f")),
            ("}\n".repeat(500_000), "}\n{\n".repeat(250_000)),
            ("}\n".repeat(25_000), "}\n{\n".repeat(12_000)),
            ("a b ".repeat(200_000), "b a ".repeat(200_000)),
            ("a(b)c(d)\n".repeat(50_000), "a[b]c[d]\n".repeat(50_000)),
        ] {
            let start = std::time::Instant::now();
            let diff = Diff::between(&old, &new);
            println!("{} bytes, {} lines: {:?}", old.len(), diff.lines.len(), start.elapsed());
            assert!(start.elapsed().as_secs() < 3);
        }
    }
}
