//! Claude Code: its session file and its stream share their messages.

mod aside;
mod content;
mod conversation;
mod facts;
mod record;
pub(crate) mod session;
pub(crate) mod stream;
mod words;
