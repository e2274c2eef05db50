//! A grammar far stricter than HTML's: what passes it means the same to every browser. It must not repair anything.
//! What it lets pass is one list, which the judge that reads pages as a browser does takes from here.

use crate::screen;

/// Elements in a body.
pub const ELEMENTS: [&str; 44] = [
    "a",
    "article",
    "b",
    "blockquote",
    "body",
    "br",
    "code",
    "del",
    "details",
    "div",
    "em",
    "figcaption",
    "figure",
    "footer",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "i",
    "img",
    "input",
    "li",
    "main",
    "mark",
    "ol",
    "p",
    "pre",
    "section",
    "small",
    "span",
    "strong",
    "summary",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "time",
    "tr",
    "ul",
];

/// Attributes of any of them.
pub const ATTRIBUTES: [&str; 21] = [
    "alt",
    "aria-hidden",
    "aria-label",
    "checked",
    "class",
    "data-ask",
    "data-since",
    "datetime",
    "disabled",
    "hidden",
    "href",
    "id",
    "loading",
    "open",
    "rel",
    "role",
    "src",
    "start",
    "target",
    "title",
    "type",
];

/// Elements around a body, of which a page has only our own.
const HEAD_ELEMENTS: [&str; 4] = ["head", "html", "meta", "title"];

/// Attributes of those.
const HEAD_ATTRIBUTES: [&str; 5] = ["charset", "content", "http-equiv", "lang", "name"];

/// Elements that end themselves.
const VOID: [&str; 6] = ["meta", "br", "hr", "img", "input", "wbr"];

/// A whole page: our own head, then the body.
pub fn check_page(page: &str, context: &str) {
    assert!(page.starts_with("<!doctype html>\n<html lang=\"en\">\n<head>"), "{context}");
    let style =
        page.split_once("<style>").and_then(|(head, rest)| Some((head, rest.split_once("</style>")?.1)));
    let Some((head, rest)) = style else { panic!("{context}: a page has a style") };
    check(&format!("{}{rest}", head.trim_start_matches("<!doctype html>")), context);
}

/// Markup: every `<` starts one of our elements with our attributes, and every element ends where it should.
pub fn check(html: &str, context: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find(['<', '>']) {
        check_text(&rest[..at], context);
        let tag = rest[at..].strip_prefix('<').and_then(|tag| tag.split_once('>'));
        let Some((tag, after)) = tag else { panic!("{context}: a bare < or > in {:?}", excerpt(rest)) };
        rest = after;
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "{context}: before {:?}", excerpt(rest)),
            None => {
                let name = check_tag(tag, context);
                if !VOID.contains(&name) {
                    open.push(name);
                }
            }
        }
    }
    check_text(rest, context);
    assert!(open.is_empty(), "{context}: left open: {open:?}");
}

fn check_tag<'a>(tag: &'a str, context: &str) -> &'a str {
    let (name, mut attributes) = tag.split_once(' ').unwrap_or((tag, ""));
    assert!(ELEMENTS.contains(&name) || HEAD_ELEMENTS.contains(&name), "{context}: <{tag}>");
    while !attributes.is_empty() {
        let end = attributes.find(['=', ' ']).unwrap_or(attributes.len());
        let attribute = &attributes[..end];
        assert!(
            ATTRIBUTES.contains(&attribute) || HEAD_ATTRIBUTES.contains(&attribute),
            "{context}: <{tag}>"
        );
        attributes = &attributes[end..];
        if let Some(value) = attributes.strip_prefix("=\"") {
            let Some((value, after)) = value.split_once('"') else { panic!("{context}: <{tag}>") };
            check_text(value, context);
            check_value(name, attribute, value, context);
            attributes = after;
        }
        attributes = attributes.strip_prefix(' ').unwrap_or_else(|| {
            assert!(attributes.is_empty(), "{context}: <{tag}>");
            attributes
        });
    }
    name
}

fn check_value(element: &str, attribute: &str, value: &str, context: &str) {
    let small = value.to_ascii_lowercase();
    let sound = match attribute {
        "href" => ["http:", "https:", "mailto:", "#"].iter().any(|scheme| small.starts_with(scheme)),
        "src" => {
            let kinds = ["png", "jpeg", "gif", "webp"];
            element == "img"
                && kinds.iter().any(|kind| value.starts_with(&format!("data:image/{kind};base64,")))
        }
        _ => true,
    };
    assert!(sound, "{context}: <{element} {attribute}={:?}>", excerpt(value));
}

/// Text: each `&` starts one of the five references that our escaping writes, and nothing is invisible.
fn check_text(text: &str, context: &str) {
    screen::check(text, context);
    for piece in text.split('&').skip(1) {
        assert!(
            ["lt;", "gt;", "amp;", "quot;", "#39;"].iter().any(|known| piece.starts_with(known)),
            "{context}: &{:?}",
            excerpt(piece)
        );
    }
}

fn excerpt(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_markup_passes() {
        check("<p class=\"x\">a &lt; b<br><a href=\"https://a.test\">c</a></p>", "ours");
        for bad in [
            "<script>x</script>",
            "<p onclick=\"x\">y</p>",
            "<p class='x'>y</p>",
            "<a href=\"javascript:x\">y</a>",
            "<img src=\"https://a.test/x.png\">",
            "<p>a & b</p>",
            "<p>a > b</p>",
            "<p><b>x</p></b>",
            "<p>x",
            "<p>\u{1b}</p>",
        ] {
            assert!(std::panic::catch_unwind(|| check(bad, "bad")).is_err(), "{bad}");
        }
    }
}
