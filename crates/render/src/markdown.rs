//! Markdown becomes HTML or terminal text. Raw HTML in it is text, links go only where a person would expect, and
//! nothing is loaded: a picture is a link. It must not fail or take more than linear time on any input.
//!
//! HTML: the usual elements; a code block is `<figure class="code">` with an optional `<figcaption>` (its language)
//! and `<pre><code>`; a picture is `<a class="image">`; a link that is not followed is text and its address in
//! `<span class="address">`; a table stands in `<div class="table">`; a task is `<li class="task">` with a disabled
//! checkbox. Text too big or too deep is `<pre class="plain">` after a `<p class="cut">`.

use crate::html::Html;
use crate::paint::Paint;

/// Appends the Markdown as HTML.
pub(crate) fn to_html(text: &str, html: &mut Html) {
    html.markup("<p>").text(text).markup("</p>");
}

/// The Markdown for a terminal of the given width.
pub(crate) fn to_terminal(text: &str, width: usize, paint: Paint) -> String {
    let _ = (width, paint);
    text.to_owned()
}
