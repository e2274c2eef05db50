//! Entries become HTML, terminal text, Markdown and plain text. The only crate that knows HTML; it knows no dialect,
//! no file and no clock.

mod ansi;
mod attachment_html;
mod card_html;
mod clip;
mod context;
mod diff;
pub mod entry_html;
pub mod export_markdown;
mod highlight;
mod html;
mod markdown;
mod measure;
mod notice_html;
pub mod page;
mod paint;
mod patch;
pub mod plain;
mod run;
#[cfg(test)]
mod sample;
pub mod terminal;
mod terminal_lines;
mod title;
mod view;
mod visible;

pub use context::{Context, Limits, Options, Outline};
pub use html::Html;
pub use paint::Paint;
pub use title::title_call;
