//! What a tool's structured result tells beyond its text: patches with true line numbers, exit codes, totals.

use parlor_model::json::{Kind, Reader, Span};
use parlor_model::line::Line;
use parlor_model::tool::{FileChange, FilePatch, Hunk, Output, Totals};

/// The parts of `toolUseResult` that Parlor shows, of any tool.
#[derive(Debug, Default)]
pub(super) struct Facts {
    hunks: Vec<RawHunk>,
    path: Option<Span>,
    created: bool,
    pub(super) interrupted: bool,
    duration_ms: Option<u64>,
    http_status: Option<u16>,
    bytes: Option<u64>,
    files: Vec<Span>,
    truncated: bool,
    totals: Totals,
    pub(super) agent_id: Option<Span>,
}

#[derive(Debug, Default)]
struct RawHunk {
    old_start: u64,
    new_start: u64,
    lines: Vec<Span>,
}

/// Reads a structured result.
pub(super) fn read(reader: &mut Reader<'_>, bytes: &[u8], facts: &mut Facts) {
    if reader.kind() != Kind::Object {
        reader.skip();
        return;
    }
    reader.object(|reader, key| match key {
        b"structuredPatch" => {
            reader.array(|reader| facts.hunks.push(hunk(reader)));
        }
        b"filePath" => facts.path = reader.text(),
        b"type" => {
            facts.created = reader.text().is_some_and(|span| &bytes[span.start..span.end] == b"create")
        }
        b"interrupted" => facts.interrupted = reader.bool().unwrap_or(false),
        b"durationMs" => facts.duration_ms = reader.count(),
        b"durationSeconds" => facts.duration_ms = reader.number().map(|n| (n * 1000.0) as u64),
        b"code" => facts.http_status = reader.count().and_then(|code| code.try_into().ok()),
        b"bytes" => facts.bytes = reader.count(),
        b"filenames" => {
            reader.array(|reader| facts.files.extend(reader.text()));
        }
        b"truncated" => facts.truncated = reader.bool().unwrap_or(false),
        b"persistedOutputPath" => facts.truncated = reader.text().is_some(),
        b"totalToolUseCount" => facts.totals.tools = reader.count(),
        b"totalTokens" => facts.totals.tokens = reader.count(),
        b"totalDurationMs" => facts.totals.duration_ms = reader.count(),
        b"agentId" => facts.agent_id = reader.text(),
        _ => {}
    });
}

fn hunk(reader: &mut Reader<'_>) -> RawHunk {
    let mut hunk = RawHunk::default();
    reader.object(|reader, key| match key {
        b"oldStart" => hunk.old_start = reader.count().unwrap_or(0),
        b"newStart" => hunk.new_start = reader.count().unwrap_or(0),
        b"lines" => {
            reader.array(|reader| hunk.lines.extend(reader.text()));
        }
        _ => {}
    });
    hunk
}

impl Facts {
    /// Adds what is known to a tool's output.
    pub(super) fn apply(&self, line: &Line, output: &mut Output) {
        output.duration_ms = self.duration_ms;
        output.http_status = self.http_status;
        output.bytes = self.bytes;
        output.truncated |= self.truncated;
        output.files = self.files.iter().map(|span| line.text(*span)).collect();
        let totals = Totals { agent_id: self.agent_id.map(|span| line.key(span)), ..self.totals.clone() };
        output.totals = (totals != Totals::default()).then(|| Box::new(totals));
        if let Some(path) = self.path.filter(|_| !self.hunks.is_empty()) {
            let change = if self.created { FileChange::Add } else { FileChange::Update };
            let hunk = |raw: &RawHunk| Hunk {
                old_start: raw.old_start,
                new_start: raw.new_start,
                lines: raw.lines.iter().map(|span| line.text(*span)).collect(),
            };
            output.patches = vec![FilePatch {
                path: line.text(path),
                change,
                hunks: self.hunks.iter().map(hunk).collect(),
            }];
        }
    }
}
