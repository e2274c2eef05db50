//! Parlor's vocabulary. Every other crate speaks these words; this one knows none of them.
//!
//! A [`Record`](record::Record) is what crossed the boundary. A dialect turns it into [`Event`](event::Event)s, the
//! transcript folds those into [`Entry`](entry::Entry)s, and profiles and renderers show them. Nothing here does I/O,
//! reads a clock, or fails on bad input.

pub mod action;
pub mod agents;
pub mod block;
pub mod entry;
pub mod event;
pub mod json;
pub mod line;
pub mod order;
pub mod outline;
pub mod queue;
pub mod record;
pub mod role;
pub mod rule;
pub mod seen;
pub mod session;
pub mod text;
pub mod time;
pub mod tool;
pub mod usage;

/// A short name given by an agent or made from one: ids of blocks, messages, sessions, models.
pub type Key = smol_str::SmolStr;
