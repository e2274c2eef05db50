//! Source code with its tokens marked: one linear pass over the bytes, driven by a table per language. It must not
//! parse, backtrack or fail; what it does not know is plain text.
//!
//! Classes, on `<span>`: `t-c` comment, `t-s` string, `t-n` number, `t-k` keyword, `t-y` type, `t-f` function,
//! `t-a` attribute or meta, `t-add` and `t-del` lines of a diff.

use crate::html::Html;
use crate::paint::Paint;

/// Appends the code as text and `<span>`s, for a `<pre>`.
pub(crate) fn to_html(language: &str, code: &str, html: &mut Html) {
    let _ = language;
    html.text(code);
}

/// The code for a terminal.
pub(crate) fn to_terminal(language: &str, code: &str, paint: Paint) -> String {
    let _ = (language, paint);
    code.to_owned()
}

/// The language of a file by its name; empty when it is not one we mark.
pub(crate) fn language_of_path(path: &str) -> &'static str {
    let _ = path;
    ""
}
