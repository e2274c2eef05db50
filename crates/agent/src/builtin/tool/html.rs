//! A web page as plain text, simply: tags go, blocks become lines, and what is no text for people is left out. It must not fail on
//! anything that calls itself HTML.

/// Elements whose content nobody reads.
const UNSEEN: [&str; 8] = ["title", "script", "style", "noscript", "svg", "template", "head", "iframe"];
/// Elements that begin a line.
const BLOCKS: [&str; 28] = [
    "p",
    "div",
    "br",
    "hr",
    "tr",
    "table",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "section",
    "article",
    "header",
    "footer",
    "nav",
    "main",
    "aside",
    "blockquote",
    "pre",
    "figure",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "option",
];

/// The text of a page.
pub(crate) fn text(html: &str) -> String {
    let mut out = Out::default();
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        out.push(&rest[..start]);
        rest = &rest[start..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
            continue;
        }
        let Some((tag, after)) = tag(rest) else {
            out.push("<");
            rest = &rest[1..];
            continue;
        };
        rest = after;
        let name = tag.trim_start_matches('/');
        if UNSEEN.contains(&name) && !tag.starts_with('/') {
            rest = after_end(rest, name);
        } else if BLOCKS.contains(&name) || matches!(name, "h5" | "h6") {
            out.block(name, tag.starts_with('/'));
        }
    }
    out.push(rest);
    out.finish()
}

/// The title of a page.
pub(crate) fn title(html: &str) -> Option<String> {
    let start = find_ignoring_case(html, "<title")?;
    let inside = &html[start + html[start..].find('>')? + 1..];
    let end = find_ignoring_case(inside, "</title")?;
    let mut out = Out::default();
    out.push(&inside[..end]);
    Some(out.finish()).filter(|title| !title.is_empty())
}

/// The name of the tag that begins here, with `/` before it when it ends something, and what follows it.
fn tag(text: &str) -> Option<(String, &str)> {
    let inside = text.get(1..)?;
    if !inside.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?')) {
        return None;
    }
    // A `>` in quotes ends nothing.
    let mut quote = None;
    let end = inside.char_indices().find(|(_, c)| match (quote, c) {
        (None, '>') => true,
        (None, '"' | '\'') => {
            quote = Some(*c);
            false
        }
        (Some(open), c) if open == *c => {
            quote = None;
            false
        }
        _ => false,
    });
    let end = end.map_or_else(|| inside.find('>').unwrap_or(inside.len()), |(index, _)| index);
    let name: String = inside[..end]
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || *c == '/')
        .take(20)
        .collect::<String>()
        .to_ascii_lowercase();
    let name =
        if name.ends_with('/') && name.len() > 1 { name.trim_end_matches('/').to_owned() } else { name };
    Some((name, inside.get(end + 1..).unwrap_or_default()))
}

fn after_end<'a>(text: &'a str, name: &str) -> &'a str {
    let Some(start) = find_ignoring_case(text, &format!("</{name}")) else { return "" };
    let rest = &text[start..];
    rest.find('>').map_or("", |end| &rest[end + 1..])
}

fn find_ignoring_case(text: &str, wanted: &str) -> Option<usize> {
    let (text, wanted) = (text.as_bytes(), wanted.as_bytes());
    memchr::memchr_iter(wanted[0], text).find(|start| {
        text.get(*start..*start + wanted.len()).is_some_and(|part| part.eq_ignore_ascii_case(wanted))
    })
}

/// Text whose white space has been put in order.
#[derive(Default)]
struct Out {
    text: String,
    space: bool,
}

impl Out {
    fn push(&mut self, html: &str) {
        for c in decode(html).chars() {
            if c.is_whitespace() {
                self.space = true;
            } else {
                if self.space && !self.text.is_empty() && !self.text.ends_with(['\n', ' ']) {
                    self.text.push(' ');
                }
                self.space = false;
                self.text.push(c);
            }
        }
    }

    fn block(&mut self, name: &str, ends: bool) {
        self.space = false;
        let lines = if matches!(name, "p" | "h1" | "h2" | "h3" | "h4" | "pre" | "table" | "ul" | "ol") {
            2
        } else {
            1
        };
        let there = self.text.bytes().rev().take_while(|byte| *byte == b'\n').count();
        if !self.text.is_empty() {
            (there..lines).for_each(|_| self.text.push('\n'));
        }
        match name {
            "li" if !ends => self.text.push_str("- "),
            "h1" | "h2" | "h3" | "h4" if !ends => {
                let level = name.as_bytes().get(1).map_or(1, |digit| usize::from(digit - b'0'));
                self.text.push_str(&"#".repeat(level));
                self.text.push(' ');
            }
            _ => {}
        }
    }

    fn finish(self) -> String {
        let lines = self.text.lines().map(str::trim_end).filter(|line| !matches!(*line, "-" | "#" | "##"));
        lines.collect::<Vec<_>>().join("\n").trim().to_owned()
    }
}

/// The characters that HTML writes by name or number.
fn decode(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        decoded.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = rest.bytes().take(12).position(|byte| byte == b';');
        match end.and_then(|end| Some((entity(&rest[1..end])?, end))) {
            Some((c, end)) => {
                decoded.push(c);
                rest = &rest[end + 1..];
            }
            None => {
                decoded.push('&');
                rest = &rest[1..];
            }
        }
    }
    decoded.push_str(rest);
    decoded
}

fn entity(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let hex = number.strip_prefix(['x', 'X']);
        let code = hex.map_or_else(|| number.parse().ok(), |hex| u32::from_str_radix(hex, 16).ok())?;
        return char::from_u32(code).filter(|c| !c.is_control());
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "ndash" => '–',
        "mdash" => '—',
        "hellip" => '…',
        "copy" => '©',
        "rsquo" => '’',
        "lsquo" => '‘',
        "ldquo" => '“',
        "rdquo" => '”',
        "bull" => '•',
        "middot" => '·',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_becomes_lines() {
        let page = "<!doctype html><HTML><head><title>A &amp; B</title><style>p{}</style></head><body>\
<h1>Head</h1><p>One\n  two <b>three</b>&nbsp;&#8212; &lt;x&gt;</p><ul><li>a</li><li>b<br/>c</li></ul>\
<script>if (a < b) { alert('</p>') }</script><!-- no --><a title=\"a > b\" href=x>link</a></body>";
        assert_eq!(text(page), "# Head\n\nOne two three — <x>\n\n- a\n- b\nc\n\nlink");
        assert_eq!(title(page).unwrap(), "A & B");
    }

    #[test]
    fn broken_pages_are_no_trouble() {
        for (page, expected) in [
            ("a < b && c", "a < b && c"),
            ("<", "<"),
            ("x<script>never closed", "x"),
            ("x<!-- never closed", "x"),
            ("<p", ""),
            ("<a title=\"never closed>text</a>", "text"),
            ("&#0;&#xffffffff;&unknown;&", "&#0;&#xffffffff;&unknown;&"),
            ("ü<b>ö</b>", "üö"),
        ] {
            assert_eq!(text(page), expected, "{page}");
        }
    }
}
