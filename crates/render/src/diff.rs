//! What changed between two texts, or in the hunks a tool reports: lines with their numbers, and the words that differ.
//! It must not read files, and its work is bounded by size, not by a clock.
//!
//! HTML: `<div class="diff">` holds one `<div>` per line with class `add`, `del`, `same` or `gap`; in it `<i>` old
//! number, `<i>` new number, `<b>` sign, `<span>` text, with `<mark>` around the words that differ. A diff that was
//! too big to compare ends with `<div class="cut">`.

use parlor_model::tool::Hunk;

use crate::html::Html;
use crate::paint::Paint;

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
    /// Lines between two hunks, left out.
    Gap,
}

impl Diff {
    /// The change from one text to another, with three lines around it.
    pub(crate) fn between(old: &str, new: &str) -> Diff {
        let line = |sign| {
            move |text: &str| DiffLine { old: None, new: None, sign, parts: vec![(false, text.to_owned())] }
        };
        let mut lines: Vec<DiffLine> = old.lines().map(line(Sign::Removed)).collect();
        let removed = lines.len() as u64;
        lines.extend(new.lines().map(line(Sign::Added)));
        let added = lines.len() as u64 - removed;
        Diff { lines, added, removed, truncated: false }
    }

    /// The change as a tool reports it.
    pub(crate) fn of_hunks(hunks: &[Hunk]) -> Diff {
        let _ = hunks;
        Diff::default()
    }

    /// Appends the diff as HTML.
    pub(crate) fn to_html(&self, html: &mut Html) {
        html.markup("<div class=\"diff\"></div>");
    }

    /// The diff for a terminal, numbers and signs first.
    pub(crate) fn to_terminal(&self, paint: Paint) -> String {
        let _ = paint;
        String::new()
    }
}
