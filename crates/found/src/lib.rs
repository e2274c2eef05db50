//! The sessions that agents wrote on this machine: found by their folders, skimmed for a list, read whole. It must not
//! keep, watch or show them.

mod find;
mod plain;
mod skim;
mod source;
mod subagent;
mod tree;

pub use find::{
    Folder, Found, Stamp, files_in, folders, holds_records, is_subagent_of, note_beside, owner_named,
};
pub use plain::plain;
pub use skim::{Row, Tokens, arrange, skim};
pub use source::{DETECT_LINES, Source, format_of, unpack};
pub use subagent::{Fold, Growth, Nested, Subagents};
pub use tree::{Touched, Tree, sessions, sessions_in, sessions_of, starting_with};

/// How sessions are read. It changes with the version, and whenever the same file would be listed or searched differently, so
/// that what an older Parlor made of a file is made again.
pub const READING: &str = concat!(env!("CARGO_PKG_VERSION"), "/3");

/// Why a session could not be found or read. The message says what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct FoundError(pub String);

impl FoundError {
    fn of(what: impl Into<String>, error: &dyn std::error::Error) -> FoundError {
        FoundError(format!("{}: {error}", what.into()))
    }
}
