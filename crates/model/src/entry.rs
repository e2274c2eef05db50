//! A block in its place: what clients receive and renderers show.

use serde::Serialize;

use crate::Key;
use crate::block::Block;
use crate::time::Time;

/// A block with its place in the conversation. Its id and place never change; its block and `rev` do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// The block's key, unique in the session.
    pub id: Key,
    /// The tool call this happened under: the subagent's `Task`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Key>,
    /// The API message it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Key>,
    /// The record that opened it.
    pub seq: u64,
    /// When: the record's own timestamp, or its predecessor's where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
    /// When it ended, for tool calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Time>,
    /// How often it has changed.
    pub rev: u32,
    /// The first of a run of reads and searches, which are shown as one; itself for the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<Key>,
    /// True when it opens a new bubble: the one before it was somebody else's.
    pub opens: bool,
    /// True when it was rewound, rolled back or abandoned.
    #[serde(skip_serializing_if = "crate::block::is_false")]
    pub overtaken: bool,
    /// The block.
    #[serde(flatten)]
    pub block: Block,
}
