//! A tool call and what came back: one thing, from the first fragment of its input to its result.

use serde::Serialize;

use crate::Key;
use crate::action::Action;
use crate::block::{Attachment, Exchange, is_false};
use crate::event::{Ask, Decision};
use crate::json::Json;
use crate::text::Text;

/// A tool call.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Tool {
    /// The tool's name as the agent calls it.
    pub name: Key,
    /// A title the agent gives the call, where it gives one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<Text>,
    /// The input, a JSON value. While it streams it may be a fragment.
    pub input: Json,
    /// Where the call stands.
    pub state: ToolState,
    /// What came back, so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Box<Output>>,
    /// What it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<Box<Ask>>,
    /// What a person said when it asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Box<Decision>>,
    /// True when no call was seen, only its result.
    #[serde(skip_serializing_if = "is_false")]
    pub orphan: bool,
    /// True when it carries a message to another agent.
    #[serde(skip_serializing_if = "is_false")]
    pub agent_callback: bool,
    /// The work done under it, where it started a subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent: Option<Box<Totals>>,
    /// The exchange that it began, where it carries a message to another agent of this house.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Box<Exchange>>,
}

impl Tool {
    /// A call that has just been made.
    pub fn call(name: impl Into<Key>, input: Json) -> Tool {
        Tool { name: name.into(), input, ..Tool::default() }
    }

    /// What the call does, read from its name and input.
    pub fn action(&self) -> Action {
        Action::of(&self.name, &self.input)
    }
}

/// Where a tool call stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolState {
    /// Called; nobody has said that it runs.
    #[default]
    Pending,
    /// Waits for a person's approval or answer.
    Waiting,
    /// Runs: it was approved, or its first output is there.
    Running,
    /// Ended well.
    Done,
    /// Ended with an error.
    Failed,
    /// A person or a rule said no.
    Denied,
    /// Cut off.
    Interrupted,
}

impl ToolState {
    /// True when nothing more will come.
    pub fn is_final(self) -> bool {
        match self {
            ToolState::Pending | ToolState::Waiting | ToolState::Running => false,
            ToolState::Done | ToolState::Failed | ToolState::Denied | ToolState::Interrupted => true,
        }
    }
}

/// What a tool gave back.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Output {
    /// What the model was told, in order.
    pub parts: Vec<Piece>,
    /// True when the agent or Parlor cut it.
    #[serde(skip_serializing_if = "is_false")]
    pub truncated: bool,
    /// The exit code of a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The change to files as the tool itself tells it, with true line numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patches: Vec<FilePatch>,
    /// The status of an HTTP answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
    /// The size of what was fetched or written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Files that a search found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Text>,
    /// A subagent's totals by its own account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub totals: Option<Box<Totals>>,
}

impl Output {
    /// Output that is one text.
    pub fn text(text: impl Into<Text>) -> Output {
        Output { parts: vec![Piece::Text { text: text.into() }], ..Output::default() }
    }

    /// All text pieces, joined by line ends. Pictures are counted elsewhere.
    pub fn joined(&self) -> String {
        let mut joined = String::new();
        for piece in &self.parts {
            if let Piece::Text { text } = piece {
                if !joined.is_empty() && !joined.ends_with('\n') {
                    joined.push('\n');
                }
                joined.push_str(&text.as_str());
            }
        }
        joined
    }

    /// Appends streamed text.
    pub fn push(&mut self, more: &str) {
        match self.parts.last_mut() {
            Some(Piece::Text { text }) => text.push(more),
            _ => self.parts.push(Piece::Text { text: more.into() }),
        }
    }
}

/// One piece of a tool's output.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "piece", rename_all = "snake_case")]
pub enum Piece {
    /// Text.
    Text {
        /// The text.
        text: Text,
    },
    /// A picture or document.
    Attachment {
        /// It.
        attachment: Box<Attachment>,
    },
    /// Something else, kept as it is.
    Other {
        /// Its bytes.
        raw: Json,
    },
}

impl Piece {
    /// A picture or document.
    pub fn attachment(attachment: Attachment) -> Piece {
        Piece::Attachment { attachment: Box::new(attachment) }
    }
}

/// The change to one file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FilePatch {
    /// Which file.
    pub path: Text,
    /// What happened to it.
    pub change: FileChange,
    /// The hunks, in file order.
    pub hunks: Vec<Hunk>,
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileChange {
    /// It was there and is different.
    #[default]
    Update,
    /// It is new.
    Add,
    /// It is gone.
    Delete,
}

/// A run of changed lines with their surroundings.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Hunk {
    /// First line in the old file, from 1; 0 when nobody knows (numbers then count from the snippet's start).
    pub old_start: u64,
    /// First line in the new file, from 1; 0 when nobody knows.
    pub new_start: u64,
    /// The lines, each with its sign first: a space, `+`, `-`, or `\` for a remark.
    pub lines: Vec<Text>,
}

impl FilePatch {
    /// Reads the hunks of a unified diff of one file. Lines before the first `@@` are headers and left out.
    pub fn parse_unified(path: Text, change: FileChange, diff: &str) -> FilePatch {
        let mut hunks: Vec<Hunk> = Vec::new();
        for line in diff.lines() {
            if line.starts_with("@@") {
                let (old_start, new_start) = hunk_header(line);
                hunks.push(Hunk { old_start, new_start, lines: Vec::new() });
            } else if let Some(hunk) = hunks.last_mut() {
                let line = if line.is_empty() { " " } else { line };
                if line.starts_with([' ', '+', '-', '\\']) {
                    hunk.lines.push(line.into());
                }
            }
        }
        FilePatch { path, change, hunks }
    }

    /// A file that is new (`+`) or gone (`-`): one hunk with every line of its content.
    pub fn whole(path: Text, change: FileChange, content: &str) -> FilePatch {
        let sign = if change == FileChange::Delete { '-' } else { '+' };
        let lines = content.lines().map(|line| format!("{sign}{line}").into()).collect();
        FilePatch { path, change, hunks: vec![Hunk { old_start: 1, new_start: 1, lines }] }
    }
}

/// The start lines in `@@ -41,3 +41,5 @@`; 0 where they are missing, as in a patch without numbers.
fn hunk_header(line: &str) -> (u64, u64) {
    let start = |sign: char| -> u64 {
        let word = line.split(' ').find(|word| word.starts_with(sign) && word.len() > 1);
        word.and_then(|word| word[1..].split(',').next()?.parse().ok()).unwrap_or(0)
    };
    (start('-'), start('+'))
}

/// What a subagent used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Tool calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<u64>,
    /// Tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The subagent's own id, which names its session file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<Key>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unified_diff_gives_hunks_with_their_numbers() {
        let diff = "--- a/x\n+++ b/x\n@@ -41,2 +41,3 @@ fn x\n keep\n-old\n+new\n+more\n\n@@\n+tail\n\\ No newline\n";
        let patch = FilePatch::parse_unified("x".into(), FileChange::Update, diff);
        assert_eq!(patch.hunks.len(), 2);
        assert_eq!((patch.hunks[0].old_start, patch.hunks[0].new_start), (41, 41));
        assert_eq!(patch.hunks[0].lines.len(), 5);
        assert_eq!((patch.hunks[1].old_start, patch.hunks[1].lines.len()), (0, 2));
    }
}
