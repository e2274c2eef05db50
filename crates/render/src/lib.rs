//! Entries become HTML, terminal text, Markdown and plain text. The only crate that knows HTML; it knows no dialect,
//! no file and no clock.

mod ansi;
mod attachment_html;
mod card_html;
mod clip;
mod context;
mod diff;
pub mod entry_html;
mod highlight;
mod html;
mod markdown;
mod measure;
pub mod page;
mod paint;
mod patch;
#[cfg(test)]
mod sample;
mod view;

pub use context::{Context, Limits, Options, Outline};
pub use html::Html;
pub use paint::Paint;
pub use view::title_call;
