//! Command output with ANSI styling. SGR colours become classes or clean SGR; every other escape is dropped. It must
//! not let output move the cursor, set a title, clear the screen or turn text around.
//!
//! Classes, on `<span>`: foreground `a-black a-red a-green a-yellow a-blue a-magenta a-cyan a-white` and their bright
//! forms `a-bright-black` … `a-bright-white`; background the same with `b-` for `a-` (`b-red`, `b-bright-red`);
//! `a-bold a-dim a-italic a-underline a-strike a-reverse`.

use crate::html::Html;
use crate::paint::Paint;

/// The output as HTML: text and `<span>`s, for a `<pre>`.
pub(crate) fn to_html(text: &str, html: &mut Html) {
    html.text(text);
}

/// The output for a terminal: clean SGR when colours are on, plain text when they are off.
pub(crate) fn to_terminal(text: &str, paint: Paint) -> String {
    let _ = paint;
    text.to_owned()
}

/// The output as plain text: all escapes dropped, progress lines in their last state.
pub(crate) fn to_plain(text: &str) -> String {
    text.to_owned()
}
