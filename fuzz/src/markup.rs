//! A grammar far stricter than HTML's: what passes it means the same to every browser. It must not repair anything.

/// Elements that end themselves.
const VOID: [&str; 6] = ["meta", "br", "hr", "img", "input", "wbr"];

/// A whole page: our own head, then the body.
pub fn check_page(page: &str) {
    assert!(page.starts_with("<!doctype html>\n<html lang=\"en\">\n<head>"));
    let (head, rest) = page.split_once("<style>").expect("a page has a style");
    let (_, rest) = rest.split_once("</style>").expect("the style ends");
    let head = head.trim_start_matches("<!doctype html>");
    check(&format!("{head}{rest}"));
}

/// Markup: every `<` starts one of our elements with our attributes, and every element ends where it should.
pub fn check(html: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find(['<', '>']) {
        check_text(&rest[..at]);
        let tag = rest[at..].strip_prefix('<').unwrap_or_else(|| panic!("a bare > in {:?}", excerpt(rest)));
        let end = tag.find('>').expect("a tag ends");
        rest = &tag[end + 1..];
        let tag = &tag[..end];
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "before {:?}", excerpt(rest)),
            None => {
                let name = check_tag(tag);
                if !VOID.contains(&name) {
                    open.push(name);
                }
            }
        }
    }
    check_text(rest);
    assert!(open.is_empty(), "left open: {open:?}");
}

fn check_tag(tag: &str) -> &str {
    let (name, mut attributes) = tag.split_once(' ').unwrap_or((tag, ""));
    assert!(ELEMENTS.contains(&name), "<{tag}>");
    while !attributes.is_empty() {
        let end = attributes.find(['=', ' ']).unwrap_or(attributes.len());
        let attribute = &attributes[..end];
        assert!(ATTRIBUTES.contains(&attribute), "<{tag}>");
        attributes = &attributes[end..];
        if let Some(value) = attributes.strip_prefix("=\"") {
            let (value, after) = value.split_once('"').expect("a value ends");
            check_text(value);
            check_value(name, attribute, value);
            attributes = after;
        }
        attributes = attributes.strip_prefix(' ').unwrap_or_else(|| {
            assert!(attributes.is_empty(), "<{tag}>");
            attributes
        });
    }
    name
}

fn check_value(element: &str, attribute: &str, value: &str) {
    let small = value.to_ascii_lowercase();
    match attribute {
        "href" => assert!(
            ["http:", "https:", "mailto:", "#"].iter().any(|scheme| small.starts_with(scheme)),
            "{value}"
        ),
        "src" => assert!(
            element == "img"
                && ["png", "jpeg", "gif", "webp"]
                    .iter()
                    .any(|kind| value.starts_with(&format!("data:image/{kind};base64,"))),
            "{value}"
        ),
        _ => {}
    }
}

/// Text: each `&` starts one of the five references that our escaping writes, and nothing is invisible.
fn check_text(text: &str) {
    crate::screen::check(text);
    for piece in text.split('&').skip(1) {
        assert!(
            ["lt;", "gt;", "amp;", "quot;", "#39;"].iter().any(|known| piece.starts_with(known)),
            "&{:?}",
            excerpt(piece)
        );
    }
}

fn excerpt(text: &str) -> String {
    text.chars().take(60).collect()
}

const ELEMENTS: [&str; 49] = [
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
    "head",
    "header",
    "hr",
    "html",
    "i",
    "img",
    "input",
    "li",
    "main",
    "mark",
    "meta",
    "nav",
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
    "title",
    "tr",
    "ul",
];

const ATTRIBUTES: [&str; 26] = [
    "alt",
    "aria-hidden",
    "aria-label",
    "charset",
    "checked",
    "class",
    "content",
    "data-ask",
    "data-since",
    "datetime",
    "disabled",
    "hidden",
    "href",
    "http-equiv",
    "id",
    "lang",
    "loading",
    "name",
    "open",
    "rel",
    "role",
    "src",
    "start",
    "target",
    "title",
    "type",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_markup_passes() {
        check("<p class=\"x\">a &lt; b<br><a href=\"https://a.test\">c</a></p>");
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
            assert!(std::panic::catch_unwind(|| check(bad)).is_err(), "{bad}");
        }
    }
}
