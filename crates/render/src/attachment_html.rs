//! Pictures and documents as HTML. It loads nothing: a picture is shown from its own bytes or named.

use parlor_model::block::{Attachment, Source};

use crate::clip::{Clip, one_line};
use crate::html::Html;
use crate::measure::size;

/// Appends an attachment: a picture of a harmless kind within `most_bytes`, or a label.
pub(crate) fn attachment(one: &Attachment, most_bytes: usize, html: &mut Html) {
    let name = one.name.as_ref().map(|name| one_line(&name.as_str(), 120).into_owned());
    if let (Some(kind), Source::Base64(data)) = (image_kind(&one.media_type), &one.source) {
        let data = data.as_str();
        if data.len() <= most_bytes && is_base64(&data) {
            html.markup("<img class=\"picture\" loading=\"lazy\" alt=\"")
                .text(name.as_deref().unwrap_or("picture"));
            html.markup("\" src=\"data:").markup(kind).markup(";base64,").text(&data).markup("\">");
            return;
        }
    }
    html.markup("<div class=\"attachment\"><i class=\"icon i-file\"></i>").text(&words(one).join(" · "));
    match &one.source {
        Source::Url(url) => link(&url.as_str(), html),
        Source::Text(text) => {
            let text = text.as_str();
            let clip = Clip::new(&text, 64 << 10, 2_000);
            html.markup("<details class=\"quiet\"><summary>Text</summary><pre>").text(clip.head);
            if let Some(missing) = clip.missing {
                html.markup("\n").text(&missing.words()).markup("\n").text(clip.tail);
            }
            html.markup("</pre></details>");
        }
        Source::Base64(_) | Source::Missing => {}
    }
    html.markup("</div>");
}

/// What an attachment is and where, in a line: `screenshot.png · image/png · 12 KB`.
pub(crate) fn label(one: &Attachment) -> String {
    let mut words = words(one);
    if let Source::Url(url) = &one.source {
        words.push(one_line(&url.as_str(), 300).into_owned());
    }
    words.join(" · ")
}

fn words(one: &Attachment) -> Vec<String> {
    let mut words = Vec::new();
    words.extend(one.name.as_ref().map(|name| one_line(&name.as_str(), 120).into_owned()));
    match one.media_type.as_str() {
        "" => words.push("attachment".to_owned()),
        media_type => words.push(one_line(media_type, 60).into_owned()),
    }
    match &one.source {
        Source::Base64(data) => words.push(size((data.raw_len() / 4 * 3) as u64)),
        Source::Missing => words.push("not in the record".to_owned()),
        Source::Url(_) | Source::Text(_) => {}
    }
    words
}

/// A link to an address on the web; any other address is text.
pub(crate) fn link(url: &str, html: &mut Html) {
    let shown = one_line(url, 300);
    if !is_web(url) {
        html.markup(" <span class=\"address\">").text(&shown).markup("</span>");
        return;
    }
    html.markup(" <a href=\"")
        .text(url.trim())
        .markup("\" target=\"_blank\" rel=\"noopener noreferrer nofollow\">");
    html.text(&shown).markup("</a>");
}

fn is_web(url: &str) -> bool {
    let url = url.trim();
    let web = ["https://", "http://"]
        .iter()
        .any(|scheme| url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    web && !url.contains(|c: char| c.is_control() || c.is_whitespace())
}

/// The kinds of picture that cannot carry a script.
fn image_kind(media_type: &str) -> Option<&'static str> {
    ["image/png", "image/jpeg", "image/gif", "image/webp"]
        .into_iter()
        .find(|kind| kind.eq_ignore_ascii_case(media_type))
}

fn is_base64(data: &str) -> bool {
    let body = data.trim_end_matches('=');
    !body.is_empty() && body.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html_of(media_type: &str, source: Source) -> String {
        let mut html = Html::default();
        attachment(&Attachment { media_type: media_type.into(), name: None, source }, 100, &mut html);
        html.into_string()
    }

    #[test]
    fn only_harmless_pictures_are_shown() {
        let base64 = |data: &str| Source::Base64(data.into());
        assert!(
            html_of("image/png", base64("iVBORw0KGgo="))
                .contains("src=\"data:image/png;base64,iVBORw0KGgo=\"")
        );
        for (media_type, data) in [
            ("image/svg+xml", "PHN2Zz4="),
            ("text/html", "PHN2Zz4="),
            ("image/png", "\" onload=\"x"),
            ("image/png", ""),
            ("image/png", &"A".repeat(101)),
        ] {
            assert!(!html_of(media_type, base64(data)).contains("<img"), "{media_type} {data}");
        }
    }

    #[test]
    fn only_addresses_on_the_web_are_links() {
        for (url, linked) in [
            ("https://example.org/a?b=1&c", true),
            ("HTTP://example.org", true),
            ("javascript:alert(1)", false),
            ("data:text/html,x", false),
            ("https://a b", false),
            ("é", false),
        ] {
            assert_eq!(html_of("", Source::Url(url.into())).contains("<a href"), linked, "{url}");
        }
    }
}
