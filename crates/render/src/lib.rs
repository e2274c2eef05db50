//! Entries become HTML, terminal text, Markdown and plain text. The only crate that knows HTML; it knows no dialect,
//! no file and no clock.

mod ansi;
mod diff;
mod highlight;
mod html;
mod markdown;
mod paint;

pub use html::Html;
pub use paint::Paint;
