//! Content blocks become events: the same for the session file and the stream.

use parlor_model::Key;
use parlor_model::block::{Attachment, Block, Reply, Source, Thought, Unknown};
use parlor_model::event::{End, Event};
use parlor_model::json::{Json, Span};
use parlor_model::line::Line;
use parlor_model::text::Text;
use parlor_model::tool::{Output, Piece, Tool, ToolState};

use super::record::{Pieces, Raw, RawBlock, RawPiece};

/// What a content block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    Text,
    Thinking,
    Redacted,
    Call,
    Result,
    Picture,
    Other,
}

impl RawBlock {
    /// The block's kind: by its type, or by its keys where an SDK left the type out.
    pub(super) fn kind(&self, line: &Line) -> BlockKind {
        match self.kind.map(|span| line.word(span)) {
            Some(b"text") => BlockKind::Text,
            Some(b"thinking") => BlockKind::Thinking,
            Some(b"redacted_thinking") => BlockKind::Redacted,
            Some(b"tool_use" | b"server_tool_use" | b"mcp_tool_use") => BlockKind::Call,
            Some(b"image" | b"document") => BlockKind::Picture,
            Some(word) if word.ends_with(b"tool_result") => BlockKind::Result,
            Some(_) => BlockKind::Other,
            None if self.tool_use_id.is_some() => BlockKind::Result,
            None if self.name.is_some() && self.input.is_some() => BlockKind::Call,
            None if self.thinking.is_some() => BlockKind::Thinking,
            None if self.text.is_some() => BlockKind::Text,
            None => BlockKind::Other,
        }
    }
}

/// One block of an assistant message, in its complete form. `key` names it unless it is a tool call with an id.
pub(super) fn assistant_block(line: &Line, block: &RawBlock, key: Key, aborted: bool) -> (Key, Block) {
    let text = |span: Option<Span>| span.map_or_else(Text::default, |span| line.text(span));
    match block.kind(line) {
        BlockKind::Text => {
            (key, Block::Reply(Reply { text: text(block.text), interrupted: aborted, ..Reply::default() }))
        }
        BlockKind::Thinking => (
            key,
            Block::Thought(Thought {
                text: text(block.thinking),
                interrupted: aborted,
                ..Thought::default()
            }),
        ),
        BlockKind::Redacted => (key, Block::Thought(Thought { redacted: true, ..Thought::default() })),
        BlockKind::Call => {
            let input = block.input.map_or_else(Json::default, |span| line.json(span));
            let id = block.id.filter(|span| span.end > span.start).map_or(key, |span| line.key(span));
            (id, Block::Tool(Box::new(Tool::call(call_name(line, block), input))))
        }
        BlockKind::Result | BlockKind::Picture | BlockKind::Other => {
            let kind = block.kind.map_or_else(|| Key::new_static("block"), |span| line.key(span));
            (key, Block::Unknown(Unknown { kind, raw: line.json(block.whole) }))
        }
    }
}

fn call_name(line: &Line, block: &RawBlock) -> Key {
    let name = block.name.map_or_else(Key::default, |span| line.key(span));
    match block.server {
        Some(server) => format!("mcp__{}__{name}", line.key(server)).into(),
        None => name,
    }
}

/// The result in a block: which call it answers, and how.
pub(super) fn tool_result(line: &Line, block: &RawBlock, raw: &Raw) -> Event {
    let mut output = Output { parts: parts(line, block.content.as_ref()), ..Output::default() };
    raw.facts.apply(line, &mut output);
    let state = state(line, block, raw, &output);
    if state == ToolState::Failed {
        output.exit_code = exit_code(&output);
    }
    if output
        .parts
        .iter()
        .any(|piece| matches!(piece, Piece::Text { text } if text.starts_with("<persisted-output>")))
    {
        output.truncated = true;
    }
    let key = block.tool_use_id.map_or_else(Key::default, |span| line.key(span));
    Event::End { key, end: End::Result { name: None, state, output: Box::new(output) } }
}

/// How the call ended. Only `is_error` and the CLI's own exact markers count, never words of a tool's output.
fn state(line: &Line, block: &RawBlock, raw: &Raw, output: &Output) -> ToolState {
    let text = output.parts.first().and_then(|piece| match piece {
        Piece::Text { text } => Some(text),
        Piece::Attachment { .. } | Piece::Other { .. } => None,
    });
    let starts = |prefix: &str| text.is_some_and(|text| text.starts_with(prefix));
    if !block.is_error {
        return if raw.facts.interrupted { ToolState::Interrupted } else { ToolState::Done };
    }
    let stopped_while_running =
        text.is_some_and(|text| text.as_str().contains("this call was stopped while running"));
    match raw.denial.map(|span| line.word(span)) {
        Some(b"interrupted") => ToolState::Interrupted,
        Some(_) if stopped_while_running => ToolState::Interrupted,
        Some(_) => ToolState::Denied,
        None if starts("[Request interrupted by user for tool use]") || starts("[Tool call interrupted:") => {
            ToolState::Interrupted
        }
        None if starts("The user doesn't want to proceed with this tool use.") => {
            if stopped_while_running {
                ToolState::Interrupted
            } else {
                ToolState::Denied
            }
        }
        None if raw.facts.interrupted => ToolState::Interrupted,
        None => ToolState::Failed,
    }
}

/// `Exit code 3` stands alone on the first line of a failed command's result.
fn exit_code(output: &Output) -> Option<i64> {
    let Some(Piece::Text { text }) = output
        .parts
        .first()
        .filter(|piece| matches!(piece, Piece::Text { text } if text.starts_with("Exit code ")))
    else {
        return None;
    };
    text.as_str().lines().next()?.strip_prefix("Exit code ")?.trim().parse().ok()
}

fn parts(line: &Line, pieces: Option<&Pieces>) -> Vec<Piece> {
    match pieces {
        None => Vec::new(),
        Some(Pieces::Text(span)) => vec![Piece::Text { text: line.text(*span) }],
        Some(Pieces::Other(span)) => vec![Piece::Other { raw: line.json(*span) }],
        Some(Pieces::List(list)) => list.iter().map(|raw| piece(line, raw)).collect(),
    }
}

fn piece(line: &Line, raw: &RawPiece) -> Piece {
    match (raw.kind.map(|span| line.word(span)), raw.text, raw.source) {
        (Some(b"text") | None, Some(text), _) => Piece::Text { text: line.text(text) },
        (Some(b"image" | b"document"), _, Some(source)) => {
            Piece::attachment(attachment(&line.json(source), None))
        }
        _ => Piece::Other { raw: line.json(raw.whole) },
    }
}

/// The picture or document of a block.
pub(super) fn picture(line: &Line, block: &RawBlock) -> Attachment {
    let source = block.source.map_or_else(Json::default, |span| line.json(span));
    attachment(&source, block.title.map(|span| line.text(span)))
}

fn attachment(source: &Json, name: Option<Text>) -> Attachment {
    let kind = source.field_text("type").unwrap_or_default();
    let from = match &*kind.as_str() {
        "url" => source.field_text("url").map(Source::Url),
        "text" => source.field_text("data").map(Source::Text),
        _ => source.field_text("data").map(Source::Base64),
    };
    let media_type =
        source.field_text("media_type").map_or_else(Key::default, |text| Key::from(text.as_str()));
    Attachment { media_type, name, source: from.unwrap_or(Source::Missing) }
}
