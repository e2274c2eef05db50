//! Markdown's events become lines for a terminal. It must not write a character of the text but through `Paint`.

use pulldown_cmark::{CodeBlockKind, CowStr, Event, Parser, Tag, TagEnd};

use super::{OPTIONS, events_max, label};
use crate::ansi;
use crate::highlight;
use crate::paint::{Ink, Paint, width, wrap};

/// Text is never laid out narrower than this, however deep it stands.
const WIDTH_MIN: usize = 20;

/// The lines, or `None` when the text grows out of proportion.
pub(super) fn write(text: &str, width: usize, paint: Paint) -> Option<String> {
    let mut page = Page { width, paint, ..Page::default() };
    let mut left = events_max(text);
    for event in Parser::new_ext(text, OPTIONS) {
        left -= 1;
        if left == 0 {
            return None;
        }
        page.event(event);
    }
    page.flush();
    Some(page.out)
}

#[derive(Default)]
struct Page<'a> {
    width: usize,
    paint: Paint,
    out: String,
    /// What stands before each line: a quote's bar, a list's marker or the room under it.
    prefixes: Vec<Prefix>,
    /// The paragraph that is being read, painted.
    inline: String,
    inks: Vec<Ink>,
    /// The next number of each open list, `None` for bullets.
    lists: Vec<Option<u64>>,
    links: Vec<(CowStr<'a>, usize)>,
    code: Option<(CowStr<'a>, String)>,
    table: Option<Vec<Vec<String>>>,
    /// True when a blank line comes before the next block.
    apart: bool,
}

struct Prefix {
    first: Option<String>,
    rest: String,
}

impl<'a> Page<'a> {
    fn event(&mut self, event: Event<'a>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.push(&text),
            },
            Event::Code(code) => {
                self.inks.push(Ink::Orange);
                self.push(&code);
                self.inks.pop();
            }
            Event::Html(text)
            | Event::InlineHtml(text)
            | Event::FootnoteReference(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text) => self.push(&text),
            Event::SoftBreak => self.push(" "),
            Event::HardBreak => self.inline.push('\n'),
            Event::Rule => {
                self.block();
                let rule = self.paint.ink(Ink::Dim, &"─".repeat(self.room().min(40)));
                self.line(&rule);
                self.apart = true;
            }
            Event::TaskListMarker(done) => self.push(if done { "☑ " } else { "☐ " }),
        }
    }

    fn start(&mut self, tag: Tag<'a>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock | Tag::MetadataBlock(_) => self.block(),
            Tag::Heading { .. } => {
                self.block();
                self.inks.extend([Ink::Bold, Ink::Blue]);
            }
            Tag::BlockQuote(_) => {
                self.block();
                let bar = self.paint.ink(Ink::Dim, "│ ");
                self.prefixes.push(Prefix { first: None, rest: bar });
            }
            Tag::CodeBlock(kind) => {
                self.block();
                let info = match kind {
                    CodeBlockKind::Fenced(info) => info,
                    CodeBlockKind::Indented => "".into(),
                };
                self.code = Some((info, String::new()));
            }
            Tag::List(first) => {
                self.flush();
                if self.lists.is_empty() {
                    self.block();
                }
                self.lists.push(first);
            }
            Tag::Item => self.start_item(),
            Tag::Table(_) => {
                self.block();
                self.table = Some(Vec::new());
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(rows) = &mut self.table {
                    rows.push(Vec::new());
                }
            }
            Tag::Emphasis => self.inks.push(Ink::Italic),
            Tag::Strong => self.inks.push(Ink::Bold),
            Tag::Strikethrough => self.inks.push(Ink::Strike),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((dest_url, self.inline.len()));
                self.inks.push(Ink::Underline);
            }
            Tag::TableCell
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock | TagEnd::MetadataBlock(_) => self.flush(),
            TagEnd::Heading(_) => {
                self.flush();
                self.inks.truncate(self.inks.len().saturating_sub(2));
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.prefixes.pop();
                self.apart = true;
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.lists.pop();
                self.apart = true;
            }
            TagEnd::Item => {
                self.flush();
                if self.prefixes.last().is_some_and(|prefix| prefix.first.is_some()) {
                    self.line("");
                }
                self.prefixes.pop();
            }
            TagEnd::Table => self.end_table(),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.inline).replace('\n', " ");
                if let Some(row) = self.table.as_mut().and_then(|rows| rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.inks.pop();
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript => {}
        }
    }

    fn start_item(&mut self) {
        self.flush();
        self.apart = false;
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                let marker = format!("{number}. ");
                *number = number.saturating_add(1);
                marker
            }
            Some(None) | None => "• ".to_owned(),
        };
        let rest = " ".repeat(width(&marker));
        let first = self.paint.ink(Ink::Dim, &marker);
        self.prefixes.push(Prefix { first: Some(first), rest });
    }

    /// Appends text in the inks that are in force; more than a few add nothing.
    fn push(&mut self, text: &str) {
        let inks = &self.inks[self.inks.len().saturating_sub(4)..];
        self.paint.push(inks, text, &mut self.inline);
    }

    fn end_link(&mut self) {
        self.inks.pop();
        let Some((address, start)) = self.links.pop() else { return };
        if ansi::to_plain(self.inline.get(start..).unwrap_or_default()) != *address {
            self.paint.push(&[Ink::Dim], &format!(" ({address})"), &mut self.inline);
        }
    }

    fn end_code(&mut self) {
        let Some((info, code)) = self.code.take() else { return };
        // Line ends are cut before painting: afterwards a colour may stand behind them.
        let painted = highlight::to_terminal(label(&info), code.trim_end_matches('\n'), self.paint);
        self.prefixes.push(Prefix { first: None, rest: "  ".to_owned() });
        for line in painted.trim_end_matches('\n').split('\n') {
            self.line(line);
        }
        self.prefixes.pop();
        self.apart = true;
    }

    fn end_table(&mut self) {
        let Some(rows) = self.table.take() else { return };
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut widths = vec![1; columns];
        for row in &rows {
            for (column, cell) in row.iter().enumerate() {
                widths[column] = widths[column].max(width(cell));
            }
        }
        fit(&mut widths, self.room().saturating_sub(3 * columns.saturating_sub(1)));
        let bar = self.paint.ink(Ink::Dim, " │ ");
        for (index, row) in rows.iter().enumerate() {
            let cells: Vec<Vec<String>> =
                row.iter().zip(&widths).map(|(cell, width)| wrap(cell, *width)).collect();
            for height in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
                let mut line = String::new();
                for (column, (lines, columns)) in cells.iter().zip(&widths).enumerate() {
                    if column > 0 {
                        line.push_str(&bar);
                    }
                    let cell = lines.get(height).map_or("", String::as_str);
                    line.push_str(cell);
                    line.extend(std::iter::repeat_n(' ', columns.saturating_sub(width(cell))));
                }
                self.line(line.trim_end_matches(' '));
            }
            if index == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                let rule = self.paint.ink(Ink::Dim, &rule.join("─┼─"));
                self.line(&rule);
            }
        }
        self.apart = true;
    }

    /// Starts a block, apart from the one before it.
    fn block(&mut self) {
        self.flush();
        if self.apart {
            self.apart = false;
            self.line("");
        }
    }

    /// Writes the paragraph that was read.
    fn flush(&mut self) {
        if self.inline.is_empty() {
            return;
        }
        let inline = std::mem::take(&mut self.inline);
        for line in wrap(inline.trim_end_matches('\n'), self.room()) {
            self.line(&line);
        }
        self.apart = true;
    }

    /// Columns left of the line.
    fn room(&self) -> usize {
        let taken: usize = self.prefixes.iter().map(|prefix| width(&prefix.rest)).sum();
        self.width.saturating_sub(taken).max(WIDTH_MIN)
    }

    fn line(&mut self, line: &str) {
        let start = self.out.len();
        for prefix in &mut self.prefixes {
            let first = prefix.first.take();
            self.out.push_str(first.as_deref().unwrap_or(&prefix.rest));
        }
        self.out.push_str(line);
        let length = self.out.trim_end_matches(' ').len().max(start);
        self.out.truncate(length);
        self.out.push('\n');
    }
}

/// Makes the widest columns narrower until all fit.
fn fit(widths: &mut [usize], room: usize) {
    let total = |most: usize| widths.iter().fold(0usize, |sum, width| sum.saturating_add((*width).min(most)));
    let (mut low, mut high) = (1, room.max(1));
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if total(middle) <= room {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    widths.iter_mut().for_each(|width| *width = (*width).min(low));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, width: usize) -> Vec<String> {
        let out = write(text, width, Paint { colour: false }).unwrap();
        out.lines().map(str::to_owned).collect()
    }

    #[test]
    fn markdown_becomes_lines() {
        for (text, expected) in [
            ("one\ntwo", vec!["one two"]),
            ("# Head\ntext **bold** `code`", vec!["Head", "", "text bold code"]),
            ("a\n\n- b\n- c\n  - d\n\ne", vec!["a", "", "• b", "• c", "  • d", "", "e"]),
            ("9. a\n10. b\n\n    c", vec!["9. a", "10. b", "", "    c"]),
            ("> q\n>\n> r", vec!["│ q", "│", "│ r"]),
            ("```rust\nfn a() {}\n\n  b\n```\nafter", vec!["  fn a() {}", "", "    b", "", "after"]),
            ("|a|long|\n|-|-|\n|1|2|\n", vec!["a │ long", "──┼─────", "1 │ 2"]),
            ("[a](https://b.test) <https://c.test>", vec!["a (https://b.test) https://c.test"]),
            ("- [x] a\n- [ ] b", vec!["• ☑ a", "• ☐ b"]),
            ("a<br>b <script>", vec!["a<br>b <script>"]),
            ("-\n- x", vec!["•", "• x"]),
        ] {
            assert_eq!(lines(text, 40), expected, "{text}");
        }
    }

    #[test]
    fn colour_adds_no_lines_behind_code() {
        for text in ["```python\n'''open\n\n\n```", "```json\n{\"a\n\n\n", "~~~rust\n/* open\n\n"] {
            let count = |colour| write(text, 40, Paint { colour }).unwrap().lines().count();
            assert_eq!(count(true), count(false), "{text:?}");
        }
    }

    #[test]
    fn colour_moves_nothing_in_a_table() {
        let row = |cell: &str| format!("|{cell}|b|\n|-|-|\n|1|2|\n");
        let long = "lorem ipsum dolor".repeat(4);
        for text in [
            row(&format!("{long}` `")),
            row(&format!("{long}`   ` ` `")),
            row(&format!("{long}` ` ` ` {long}")),
            row("☝`\u{fe0f}`"),
        ] {
            for columns in 20..90 {
                let bare = |colour| -> Vec<String> {
                    let plain = ansi::to_plain(&write(&text, columns, Paint { colour }).unwrap());
                    plain.lines().map(|line| line.trim_end().to_owned()).collect()
                };
                assert_eq!(bare(true), bare(false), "{text:?} at {columns}");
            }
        }
    }

    #[test]
    fn text_and_tables_fit_the_width() {
        let words = "lorem ipsum dolor sit amet ".repeat(10);
        let text = format!("> - {words}\n\n|a|b|\n|-|-|\n|{words}|x|\n");
        for columns in [24, 40, 80] {
            assert!(lines(&text, columns).iter().all(|line| width(line) <= columns), "{columns}");
        }
    }

    #[test]
    fn escapes_of_the_text_do_not_reach_the_terminal() {
        let text = "a\x1b[2J `b\x1b]0;x\x07` [c](https://d\x1b[H)\n\n```\ne\x1b[1m\n```\n\n|\x1b[5n|\n|-|\n";
        let out = write(text, 80, Paint { colour: true }).unwrap();
        for escape in out.split('\x1b').skip(1) {
            let end = escape.find(|c: char| !matches!(c, '[' | ';' | '0'..='9'));
            assert_eq!(end.and_then(|at| escape.get(at..at + 1)), Some("m"), "{out:?}");
        }
        assert_eq!(out.matches("\u{fffd}").count(), 6, "{out:?}");
    }
}
