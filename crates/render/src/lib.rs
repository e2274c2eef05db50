//! Entries become HTML, terminal text, Markdown and plain text. The only crate that knows HTML; it knows no dialect,
//! no file and no clock.

mod html;

pub use html::Html;
