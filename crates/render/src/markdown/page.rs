//! Markdown's events become HTML. It must not write a character of the text but through `Html::text`.

use std::ops::Range;

use pulldown_cmark::{Alignment, CodeBlockKind, CowStr, Event, HeadingLevel, LinkType, Parser, Tag, TagEnd};

use super::{OPTIONS, address, events_max, label};
use crate::highlight;
use crate::html::Html;

/// Elements within a line that are open at once; deeper ones are left out, as browsers would.
const INLINE_MAX: usize = 32;

/// Of an address that is not followed, this much is shown: it may be a whole picture.
const ADDRESS_CHARS_MAX: usize = 200;

/// Writes the text, or gives up with `false` when it grows out of proportion.
pub(super) fn write(text: &str, html: &mut Html) -> bool {
    let mut page = Page {
        text,
        html,
        pending: 0..0,
        inline: 0,
        links: Vec::new(),
        code: None,
        columns: Columns::default(),
    };
    let mut left = events_max(text);
    for (event, range) in Parser::new_ext(text, OPTIONS).into_offset_iter() {
        left -= 1;
        if left == 0 {
            return false;
        }
        page.event(event, range);
    }
    page.flush();
    true
}

struct Page<'a, 'h> {
    text: &'a str,
    html: &'h mut Html,
    /// Text not yet written: the parser cuts text at every sign that could mean something.
    pending: Range<usize>,
    inline: usize,
    links: Vec<Link<'a>>,
    /// The language and the lines of the open code block.
    code: Option<(CowStr<'a>, String)>,
    columns: Columns,
}

/// A link or picture that is open.
struct Link<'a> {
    end: &'static str,
    /// The address to show after it, where it is not followed, and where its text starts.
    shown: Option<(CowStr<'a>, usize)>,
}

/// Where a table's cells stand.
#[derive(Default)]
struct Columns {
    alignments: Vec<Alignment>,
    next: usize,
    head: bool,
}

impl<'a> Page<'a, '_> {
    fn event(&mut self, event: Event<'a>, range: Range<usize>) {
        if let Event::Text(text) = &event {
            match &mut self.code {
                Some((_, code)) => code.push_str(text),
                None => self.push_text(text, range),
            }
            return;
        }
        self.flush();
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Code(code) => {
                self.html.markup("<code>").text(&code).markup("</code>");
            }
            Event::InlineHtml(raw) if is_line_break(&raw) => {
                self.html.markup("<br>");
            }
            Event::SoftBreak => {
                self.html.markup("\n");
            }
            Event::HardBreak => {
                self.html.markup("<br>");
            }
            Event::Rule => {
                self.html.markup("<hr>");
            }
            Event::TaskListMarker(done) => {
                self.html.markup(match done {
                    true => "<input type=\"checkbox\" disabled checked> ",
                    false => "<input type=\"checkbox\" disabled> ",
                });
            }
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::FootnoteReference(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text) => {
                self.html.text(&text);
            }
        }
    }

    fn push_text(&mut self, text: &str, range: Range<usize>) {
        if range.len() != text.len() {
            // An entity or an escape: what is read is not what is written.
            self.flush();
            self.html.text(text);
        } else if range.start == self.pending.end {
            self.pending.end = range.end;
        } else {
            self.flush();
            self.pending = range;
        }
    }

    /// Writes the text that waits, with bare web addresses as links.
    fn flush(&mut self) {
        let mut rest = self.text.get(std::mem::take(&mut self.pending)).unwrap_or_default();
        if rest.is_empty() {
            return;
        }
        while self.links.is_empty()
            && let Some(found) = address::find(rest)
        {
            let address = &rest[found.clone()];
            self.html.text(&rest[..found.start]);
            self.html.markup("<a href=\"").text(address).markup(ANCHOR_END).text(address).markup("</a>");
            rest = &rest[found.end..];
        }
        self.html.text(rest);
    }

    fn start(&mut self, tag: Tag<'a>) {
        match tag {
            Tag::Paragraph => self.open("<p>"),
            Tag::Heading { level, .. } => self.open(heading(level).0),
            Tag::BlockQuote(_) => self.open("<blockquote>"),
            Tag::CodeBlock(CodeBlockKind::Fenced(info)) => self.code = Some((info, String::new())),
            Tag::CodeBlock(CodeBlockKind::Indented) => self.code = Some(("".into(), String::new())),
            Tag::HtmlBlock | Tag::MetadataBlock(_) => self.open("<p class=\"raw\">"),
            Tag::List(None) => self.open("<ul>"),
            Tag::List(Some(1)) => self.open("<ol>"),
            Tag::List(Some(first)) => {
                self.html.markup("<ol start=\"").number(first).markup("\">");
            }
            Tag::Item => self.open("<li>"),
            Tag::Table(alignments) => {
                self.columns.alignments = alignments;
                self.open("<div class=\"table\"><table>");
            }
            Tag::TableHead => {
                (self.columns.next, self.columns.head) = (0, true);
                self.open("<thead><tr>");
            }
            Tag::TableRow => {
                self.columns.next = 0;
                self.open("<tr>");
            }
            Tag::TableCell => self.start_cell(),
            Tag::Emphasis => self.start_inline("<em>"),
            Tag::Strong => self.start_inline("<strong>"),
            Tag::Strikethrough => self.start_inline("<del>"),
            Tag::Link { link_type, dest_url, .. } => self.start_link(link_type, dest_url),
            Tag::Image { dest_url, .. } => self.start_image(dest_url),
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock | TagEnd::MetadataBlock(_) => self.open("</p>"),
            TagEnd::Heading(level) => self.open(heading(level).1),
            TagEnd::BlockQuote(_) => self.open("</blockquote>"),
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(true) => self.open("</ol>"),
            TagEnd::List(false) => self.open("</ul>"),
            TagEnd::Item => self.open("</li>"),
            TagEnd::Table => self.open("</tbody></table></div>"),
            TagEnd::TableHead => {
                self.columns.head = false;
                self.open("</tr></thead><tbody>");
            }
            TagEnd::TableRow => self.open("</tr>"),
            TagEnd::TableCell => self.open(if self.columns.head { "</th>" } else { "</td>" }),
            TagEnd::Emphasis => self.end_inline("</em>"),
            TagEnd::Strong => self.end_inline("</strong>"),
            TagEnd::Strikethrough => self.end_inline("</del>"),
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript => {}
        }
    }

    fn open(&mut self, markup: &'static str) {
        self.html.markup(markup);
    }

    fn start_inline(&mut self, markup: &'static str) {
        self.inline += 1;
        if self.inline <= INLINE_MAX {
            self.html.markup(markup);
        }
    }

    fn end_inline(&mut self, markup: &'static str) {
        if self.inline <= INLINE_MAX {
            self.html.markup(markup);
        }
        self.inline = self.inline.saturating_sub(1);
    }

    fn start_cell(&mut self) {
        let alignment = self.columns.alignments.get(self.columns.next).unwrap_or(&Alignment::None);
        let markup = match (self.columns.head, alignment) {
            (true, Alignment::None) => "<th>",
            (true, Alignment::Left) => "<th class=\"left\">",
            (true, Alignment::Center) => "<th class=\"center\">",
            (true, Alignment::Right) => "<th class=\"right\">",
            (false, Alignment::None) => "<td>",
            (false, Alignment::Left) => "<td class=\"left\">",
            (false, Alignment::Center) => "<td class=\"center\">",
            (false, Alignment::Right) => "<td class=\"right\">",
        };
        self.columns.next += 1;
        self.open(markup);
    }

    fn start_link(&mut self, kind: LinkType, address: CowStr<'a>) {
        let mail = kind == LinkType::Email;
        if !self.links.is_empty() {
            self.links.push(Link { end: "", shown: None });
        } else if mail || address::is_followed(&address) {
            self.html
                .markup("<a href=\"")
                .markup(if mail { "mailto:" } else { "" })
                .text(&address)
                .markup(ANCHOR_END);
            self.links.push(Link { end: "</a>", shown: None });
        } else {
            self.links.push(Link { end: "", shown: Some((address, self.html.as_str().len())) });
        }
    }

    fn start_image(&mut self, address: CowStr<'a>) {
        if self.links.is_empty() && address::is_followed(&address) {
            self.html.markup("<a class=\"image\" href=\"").text(&address).markup(ANCHOR_END);
            self.links.push(Link { end: "</a>", shown: None });
        } else {
            self.html.markup("<span class=\"image\">");
            let start = self.html.as_str().len();
            self.links.push(Link { end: "</span>", shown: Some((address, start)) });
        }
    }

    fn end_link(&mut self) {
        let Some(link) = self.links.pop() else { return };
        self.html.markup(link.end);
        let Some((address, start)) = link.shown else { return };
        let mut shown = Html::default();
        let end = address.char_indices().nth(ADDRESS_CHARS_MAX).map_or(address.len(), |(at, _)| at);
        shown.text(&address[..end]);
        let text = self.html.as_str().get(start..).unwrap_or_default();
        if text.strip_suffix(link.end) != Some(shown.as_str()) {
            self.html.markup(" <span class=\"address\">(").append(&shown);
            self.html.markup(if end < address.len() { "…)</span>" } else { ")</span>" });
        }
    }

    fn end_code(&mut self) {
        let Some((info, code)) = self.code.take() else { return };
        let label = label(&info);
        self.html.markup("<figure class=\"code\">");
        if !label.is_empty() {
            self.html.markup("<figcaption>").text(label).markup("</figcaption>");
        }
        self.html.markup("<pre><code>");
        highlight::to_html(label, &code, self.html);
        self.html.markup("</code></pre></figure>");
    }
}

/// Nothing of the page leaks to where a link leads, and it cannot reach back.
const ANCHOR_END: &str = "\" rel=\"noopener noreferrer\" target=\"_blank\">";

fn heading(level: HeadingLevel) -> (&'static str, &'static str) {
    match level {
        HeadingLevel::H1 => ("<h1>", "</h1>"),
        HeadingLevel::H2 => ("<h2>", "</h2>"),
        HeadingLevel::H3 => ("<h3>", "</h3>"),
        HeadingLevel::H4 => ("<h4>", "</h4>"),
        HeadingLevel::H5 => ("<h5>", "</h5>"),
        HeadingLevel::H6 => ("<h6>", "</h6>"),
    }
}

/// The one element that models write on purpose, for lines within a table's cell.
fn is_line_break(raw: &str) -> bool {
    matches!(raw, "<br>" | "<br/>" | "<br />")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(text: &str) -> String {
        let mut html = Html::default();
        assert!(write(text, &mut html));
        html.into_string()
    }

    #[test]
    fn markdown_becomes_elements() {
        for (text, expected) in [
            ("a *b* **c** ~~d~~ `e`", "<p>a <em>b</em> <strong>c</strong> <del>d</del> <code>e</code></p>"),
            ("one\ntwo  \nthree", "<p>one\ntwo<br>three</p>"),
            ("# A\n\n###### B", "<h1>A</h1><h6>B</h6>"),
            ("> q\n> r", "<blockquote><p>q\nr</p></blockquote>"),
            ("- a\n- b\n  - c", "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>"),
            ("3. a\n4. b", "<ol start=\"3\"><li>a</li><li>b</li></ol>"),
            (
                "- [x] a\n- [ ] b",
                "<ul><li><input type=\"checkbox\" disabled checked> a</li><li><input type=\"checkbox\" disabled> b</li></ul>",
            ),
            ("---", "<hr>"),
            (
                "|a|b|\n|:-|-:|\n|1|2|",
                "<div class=\"table\"><table><thead><tr><th class=\"left\">a</th><th class=\"right\">b</th></tr></thead>\
                 <tbody><tr><td class=\"left\">1</td><td class=\"right\">2</td></tr></tbody></table></div>",
            ),
            (
                "|a|\n|-|\n|x<br>y|",
                "<div class=\"table\"><table><thead><tr><th>a</th></tr></thead><tbody><tr><td>x<br>y</td></tr></tbody></table></div>",
            ),
            (
                "```nosuch\n<x>\n```",
                "<figure class=\"code\"><figcaption>nosuch</figcaption><pre><code>&lt;x&gt;\n</code></pre></figure>",
            ),
            ("    a\n    b", "<figure class=\"code\"><pre><code>a\nb</code></pre></figure>"),
            ("a &amp; b \\* c_d_e", "<p>a &amp; b * c_d_e</p>"),
        ] {
            assert_eq!(html(text), expected, "{text}");
        }
    }

    #[test]
    fn raw_html_is_text() {
        for (text, expected) in [
            ("<script>alert(1)</script>", "<p class=\"raw\">&lt;script&gt;alert(1)&lt;/script&gt;</p>"),
            ("a <img src=x onerror=alert(1)> b", "<p>a &lt;img src=x onerror=alert(1)&gt; b</p>"),
            ("&lt;b&gt; &#60;i&#62;", "<p>&lt;b&gt; &lt;i&gt;</p>"),
            ("<br onclick=x>", "<p class=\"raw\">&lt;br onclick=x&gt;</p>"),
        ] {
            assert_eq!(html(text), expected, "{text}");
        }
    }

    #[test]
    fn links_lead_only_to_the_web_and_pictures_are_not_loaded() {
        let anchor = "rel=\"noopener noreferrer\" target=\"_blank\"";
        for (text, expected) in [
            ("[a](https://b.test)", format!("<p><a href=\"https://b.test\" {anchor}>a</a></p>")),
            ("<https://b.test/?a&b>", format!("<p><a href=\"https://b.test/?a&amp;b\" {anchor}>https://b.test/?a&amp;b</a></p>")),
            ("<a@b.test>", format!("<p><a href=\"mailto:a@b.test\" {anchor}>a@b.test</a></p>")),
            ("see https://b.test/c_d.", format!("<p>see <a href=\"https://b.test/c_d\" {anchor}>https://b.test/c_d</a>.</p>")),
            ("`https://b.test`", "<p><code>https://b.test</code></p>".into()),
            ("[x](https://b.test \"t\")", format!("<p><a href=\"https://b.test\" {anchor}>x</a></p>")),
            ("[a](javascript:alert(1))", "<p>a <span class=\"address\">(javascript:alert(1))</span></p>".into()),
            ("[a](java&#115;cript:x)", "<p>a <span class=\"address\">(javascript:x)</span></p>".into()),
            ("[a](src/main.rs)", "<p>a <span class=\"address\">(src/main.rs)</span></p>".into()),
            ("[src/main.rs](src/main.rs)", "<p>src/main.rs</p>".into()),
            ("[a](https://b.test/\"onclick=x)", format!("<p><a href=\"https://b.test/&quot;onclick=x\" {anchor}>a</a></p>")),
            ("![alt](https://b.test/x.png)", format!("<p><a class=\"image\" href=\"https://b.test/x.png\" {anchor}>alt</a></p>")),
            ("![alt](data:image/png;base64,AA)", "<p><span class=\"image\">alt</span> <span class=\"address\">(data:image/png;base64,AA)</span></p>".into()),
            (
                "[![alt](https://b.test/x.png)](https://c.test)",
                format!("<p><a href=\"https://c.test\" {anchor}><span class=\"image\">alt</span> <span class=\"address\">(https://b.test/x.png)</span></a></p>"),
            ),
            (
                "[a <https://b.test>](x)",
                "<p>a https://b.test <span class=\"address\">(x)</span></p>".into(),
            ),
        ] {
            assert_eq!(html(text), expected, "{text}");
        }
    }

    #[test]
    fn elements_are_balanced_whatever_comes() {
        for pattern in super::super::tests::HOSTILE {
            for tail in ["", "\n\nx", "*", "](", "]]]]", "\n>"] {
                let page = html(&format!("{}{tail}", pattern.repeat(60)));
                let mut open = Vec::new();
                for piece in page.split('<').skip(1) {
                    let name = piece.split(['>', ' ']).next().unwrap_or_default();
                    match name.strip_prefix('/') {
                        Some(name) => assert_eq!(open.pop(), Some(name), "{pattern:?} {tail:?}"),
                        None if ["br", "hr", "input"].contains(&name) => {}
                        None => open.push(name),
                    }
                }
                assert!(open.is_empty(), "{pattern:?} {tail:?}");
            }
        }
    }
}
