//! What a page may hold, by the tree that a browser's parser makes of it. It must not look at the source text alone:
//! what counts is what a browser sees. What may be in it is the list of the stricter judge, which sees the page first.

use std::collections::{HashMap, HashSet};

use ammonia::Builder;
use parlor_tests::markup::{self, ATTRIBUTES, ELEMENTS};
use parlor_tests::screen;
use scraper::{ElementRef, Html};

/// Checks a whole page, and gives the text of every element that has an id.
pub(crate) fn check_page(page: &str, context: &str) -> HashMap<String, String> {
    markup::check_page(page, context);
    let tree = Html::parse_document(page);
    assert!(tree.errors.is_empty(), "{context}: {:?}", tree.errors);
    let children: Vec<ElementRef<'_>> = tree.root_element().child_elements().collect();
    let [head, body] = children[..] else { panic!("{context}: a page has a head and a body") };
    let names: Vec<&str> = head.child_elements().map(|child| child.value().name()).collect();
    assert_eq!(names, ["meta", "meta", "meta", "meta", "meta", "title", "style"], "{context}");
    for element in head.descendent_elements().filter(|element| element.value().name() == "meta") {
        let attributes: Vec<_> = element.value().attrs().collect();
        assert!(attributes.iter().all(|(_, value)| HEAD.contains(value)), "{context}: {attributes:?}");
    }
    let style: String = head
        .child_elements()
        .filter(|child| child.value().name() == "style")
        .flat_map(|style| style.text())
        .collect();
    assert_eq!(style.trim(), parlor_render::page::STYLE.trim(), "{context}");
    check_elements(body, context);
    let identified = body
        .descendent_elements()
        .filter_map(|element| Some((element.value().id()?.to_owned(), element.text().collect())));
    let mut texts: HashMap<String, String> = identified.collect();
    texts.insert(
        "top".to_owned(),
        head.child_elements().chain(body.child_elements().take(1)).flat_map(|top| top.text()).collect(),
    );
    texts
}

/// Checks a piece of a page, also against a sanitizer.
pub(crate) fn check_piece(html: &str, context: &str) {
    markup::check(html, context);
    let tree = Html::parse_fragment(html);
    assert!(tree.errors.is_empty(), "{context}: {:?}", tree.errors);
    check_elements(tree.root_element(), context);
    check_with_sanitizer(html, context);
}

/// The values of our own head.
const HEAD: [&str; 11] = [
    "utf-8",
    "Content-Security-Policy",
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:",
    "viewport",
    "width=device-width,initial-scale=1",
    "color-scheme",
    "light dark",
    "referrer",
    "no-referrer",
    "generator",
    "parlor",
];

fn check_elements(top: ElementRef<'_>, context: &str) {
    for element in top.descendent_elements().filter(|element| element.id() != top.id()) {
        let name = element.value().name();
        assert!(ELEMENTS.contains(&name), "{context}: <{name}>");
        for (attribute, value) in element.value().attrs() {
            assert!(ATTRIBUTES.contains(&attribute), "{context}: <{name} {attribute}={value:.80?}>");
            assert!(is_harmless(&element, attribute, value), "{context}: <{name} {attribute}={value:.80?}>");
        }
    }
    for text in top.text() {
        screen::check(text, context);
    }
}

fn is_harmless(element: &ElementRef<'_>, attribute: &str, value: &str) -> bool {
    let name = element.value().name();
    let chars = |allowed: &str| value.chars().all(|c| c.is_ascii_alphanumeric() || allowed.contains(c));
    match attribute {
        "href" => name == "a" && is_address(value) && (value.starts_with('#') || opens_apart(element)),
        "src" => name == "img" && is_picture(value),
        "class" => chars("- "),
        "id" => value.starts_with("e-"),
        "datetime" | "data-since" => chars("-:.TZ+"),
        "alt" | "aria-label" | "title" | "data-ask" => !value.contains(screen::is_hidden),
        "type" => name == "input" && value == "checkbox" && element.value().attr("disabled").is_some(),
        "start" => name == "ol" && chars(""),
        "loading" => value == "lazy",
        "rel" => value.starts_with("noopener noreferrer"),
        "target" => value == "_blank",
        "role" => value == "img",
        "aria-hidden" => value == "true",
        "checked" | "disabled" | "hidden" | "open" => value.is_empty(),
        _ => false,
    }
}

fn is_address(value: &str) -> bool {
    let clean = !value.contains(|c: char| c.is_control());
    let scheme =
        ["http:", "https:", "mailto:"].iter().any(|scheme| value.to_ascii_lowercase().starts_with(scheme));
    value.starts_with("#e-") || (clean && scheme)
}

fn opens_apart(element: &ElementRef<'_>) -> bool {
    element.value().attr("rel").is_some_and(|rel| rel.contains("noopener"))
        && element.value().attr("target") == Some("_blank")
}

fn is_picture(value: &str) -> bool {
    let data = ["png", "jpeg", "gif", "webp"]
        .iter()
        .find_map(|kind| value.strip_prefix(&format!("data:image/{kind};base64,")));
    data.is_some_and(|data| data.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)))
}

/// A sanitizer with the same lists, written by others, finds nothing to take out.
fn check_with_sanitizer(html: &str, context: &str) {
    let mut builder = Builder::empty();
    builder
        .tags(HashSet::from(ELEMENTS))
        .generic_attributes(HashSet::from(ATTRIBUTES))
        .url_schemes(HashSet::from(["http", "https", "mailto", "data"]))
        .link_rel(None);
    let clean = Html::parse_fragment(&builder.clean(html).to_string());
    let ours = Html::parse_fragment(html);
    assert!(
        outline(ours.root_element()) == outline(clean.root_element()),
        "{context}: a sanitizer would change this"
    );
}

/// Every element with its attributes in a fixed order, and all text.
fn outline(top: ElementRef<'_>) -> Vec<String> {
    let elements = top.descendent_elements().map(|element| {
        let mut attributes: Vec<_> = element.value().attrs().collect();
        attributes.sort_unstable();
        format!("{} {attributes:?}", element.value().name())
    });
    elements.chain(top.text().map(screen::squeezed).filter(|text| !text.is_empty())).collect()
}
