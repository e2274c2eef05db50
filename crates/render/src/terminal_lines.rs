//! Lines for a terminal: margins, wrapping and folding. It knows no entries.

use crate::ansi;
use crate::clip::{Clip, count_lines, split_lines};
use crate::context::Context;
use crate::measure::plural;
use crate::paint::{Ink, Paint, is_blank, width, wrap};

/// Lines of an output that are shown before it is unfolded.
pub(crate) const FOLDED_LINES: usize = 4;

/// What has been written, and what every part of it depends on.
pub(crate) struct Lines<'a> {
    pub(crate) out: String,
    pub(crate) width: usize,
    pub(crate) paint: Paint,
    pub(crate) context: &'a Context<'a>,
}

impl Lines<'_> {
    /// Output within the limits: its first lines, or all of it when the reader wants it unfolded.
    pub(crate) fn folded(&mut self, margin: &str, text: &str, lines: usize) {
        let limits = &self.context.options.limits;
        let text = text.trim_end_matches('\n');
        if self.context.options.unfolded {
            let clip = Clip::new(text, limits.bytes, limits.lines);
            self.output(margin, clip.head);
            if let Some(missing) = clip.missing {
                self.wrapped(margin, Ink::Dim, &missing.words());
                self.output(margin, clip.tail);
            }
            return;
        }
        let (first, rest) = split_lines(text, lines);
        let most = self.width.saturating_mul(lines);
        let cut = first.floor_char_boundary(most.min(first.len()));
        self.output(margin, &first[..cut]);
        match (cut < first.len(), rest.is_empty()) {
            (true, true) => self.wrapped(margin, Ink::Dim, "…"),
            _ => self.more(margin, rest),
        }
    }

    /// How many lines the rest has, if there is a rest.
    pub(crate) fn more(&mut self, margin: &str, rest: &str) {
        if !rest.is_empty() {
            self.wrapped(margin, Ink::Dim, &format!("… +{}", plural(count_lines(rest), "line")));
        }
    }

    /// What a program wrote.
    fn output(&mut self, margin: &str, text: &str) {
        let text = ansi::to_terminal(text, self.paint);
        for line in wrap(&text, self.width.saturating_sub(margin.len())) {
            self.out.push_str(if line.is_empty() { "" } else { margin });
            self.out.push_str(&line);
            self.out.push('\n');
        }
    }

    /// Markdown within the limits, not yet laid out.
    pub(crate) fn prose(&self, text: &str) -> String {
        let clip = Clip::new(text, self.context.options.limits.prose_bytes, usize::MAX);
        match clip.missing {
            None => clip.head.to_owned(),
            Some(missing) => format!("{}\n\n{}\n\n{}", clip.head, missing.words(), clip.tail),
        }
    }

    /// Lines that are painted and wrapped already.
    pub(crate) fn indent(&mut self, margin: &str, text: &str) {
        let lines: Vec<&str> = text.split('\n').collect();
        // Empty lines at the end are cut, also those that hold colours and spaces; the colours themselves must end.
        let seen = lines.iter().rposition(|line| !is_blank(line)).map_or(1, |last| last + 1);
        let (seen, cut) = lines.split_at(seen.min(lines.len()));
        for (number, line) in seen.iter().enumerate() {
            if !line.is_empty() {
                self.out.push_str(margin);
            }
            self.out.push_str(line);
            if number + 1 == seen.len() {
                self.out.extend(cut.iter().copied());
            }
            self.out.push('\n');
        }
    }

    /// Text of others, painted and wrapped here; the lines after the first are indented like it.
    pub(crate) fn wrapped(&mut self, margin: &str, ink: Ink, text: &str) {
        let painted = self.paint.ink(ink, text);
        let columns = width(margin);
        for (number, line) in wrap(&painted, self.width.saturating_sub(columns)).iter().enumerate() {
            match number {
                0 => self.out.push_str(margin),
                _ if line.is_empty() => {}
                _ => (0..columns).for_each(|_| self.out.push(' ')),
            }
            self.out.push_str(line);
            self.out.push('\n');
        }
    }

    /// One line, or as many as it takes.
    pub(crate) fn line(&mut self, margin: &'static str, ink: Ink, text: &str) {
        self.wrapped(margin, ink, text);
    }
}
