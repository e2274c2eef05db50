//! One pass over a record of Claude Code: where its parts are. It decides nothing.

use parlor_model::json::{Kind, Reader, Span};
use parlor_model::line::Line;
use parlor_model::time::Time;
use parlor_model::usage::Usage;

use super::facts::{self, Facts};

/// The parts of a session line or of a stream line; what a line lacks is empty.
#[derive(Debug, Default)]
pub(super) struct Raw {
    pub(super) kind: Option<Span>,
    pub(super) subtype: Option<Span>,
    pub(super) uuid: Option<Span>,
    pub(super) parent_uuid: Option<Span>,
    pub(super) session_id: Option<Span>,
    pub(super) at: Option<Time>,
    pub(super) cwd: Option<Span>,
    pub(super) branch: Option<Span>,
    pub(super) version: Option<Span>,
    pub(super) agent_id: Option<Span>,
    pub(super) sidechain: bool,
    /// A session file says `isSidechain` on every line of the chain, a stream never.
    pub(super) has_sidechain: bool,
    pub(super) meta: bool,
    pub(super) synthetic: bool,
    pub(super) replay: bool,
    pub(super) compact_summary: bool,
    pub(super) api_error: bool,
    pub(super) aborted: bool,
    /// Why a tool did not run: `user-rejected`, `permission-rule`, `interrupted`, …
    pub(super) denial: Option<Span>,
    pub(super) origin: Option<Span>,
    pub(super) block_index: Option<u64>,
    /// The tool call that a subagent's line belongs to.
    pub(super) under: Option<Span>,
    pub(super) tool_id: Option<Span>,
    pub(super) message: Message,
    pub(super) facts: Facts,
    pub(super) result_string: Option<Span>,
    /// Values that only some kinds of record carry, read again when that kind is met.
    pub(super) content: Option<Span>,
    pub(super) attachment: Option<Span>,
    pub(super) data: Option<Span>,
    pub(super) event: Option<Span>,
    /// From which block on a streamed message was given up.
    pub(super) abandoned_from: Option<u64>,
    pub(super) summary: Option<Span>,
    pub(super) leaf: Option<Span>,
}

/// The parts of an API message.
#[derive(Debug, Default)]
pub(super) struct Message {
    pub(super) id: Option<Span>,
    pub(super) role: Option<Span>,
    pub(super) model: Option<Span>,
    pub(super) stop_reason: Option<Span>,
    pub(super) usage: Option<Usage>,
    pub(super) content: Content,
    depth: Depth,
    /// True when the rest was left unread.
    pub(super) left: bool,
}

/// A message's content.
#[derive(Debug, Default)]
pub(super) enum Content {
    #[default]
    None,
    Text(Span),
    Blocks(Vec<RawBlock>),
    /// Neither text nor blocks.
    Other(Span),
}

/// The parts of a content block of any type. SDKs leave the type out: the keys tell it.
#[derive(Debug, Default)]
pub(super) struct RawBlock {
    pub(super) kind: Option<Span>,
    pub(super) text: Option<Span>,
    pub(super) thinking: Option<Span>,
    pub(super) id: Option<Span>,
    pub(super) name: Option<Span>,
    pub(super) server: Option<Span>,
    pub(super) input: Option<Span>,
    pub(super) tool_use_id: Option<Span>,
    pub(super) is_error: bool,
    pub(super) content: Option<Pieces>,
    pub(super) source: Option<Span>,
    pub(super) title: Option<Span>,
    pub(super) whole: Span,
}

/// A tool result's content: a string, or pieces.
#[derive(Debug)]
pub(super) enum Pieces {
    Text(Span),
    List(Vec<RawPiece>),
    Other(Span),
}

/// One piece of a tool result.
#[derive(Debug, Default)]
pub(super) struct RawPiece {
    pub(super) kind: Option<Span>,
    pub(super) text: Option<Span>,
    pub(super) source: Option<Span>,
    pub(super) whole: Span,
}

/// How much of a record is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Depth {
    /// All of it.
    #[default]
    Whole,
    /// Until it is clear that it is a tool's result, which no list shows: most bytes of a session are results.
    Skim,
}

/// Reads a line. The second value is where it is damaged.
pub(super) fn read(line: &Line) -> (Raw, Option<usize>) {
    read_to(line, Depth::Whole)
}

/// Reads a line as far as `depth` says.
pub(super) fn read_to(line: &Line, depth: Depth) -> (Raw, Option<usize>) {
    let bytes = line.bytes();
    let mut raw = Raw { message: Message { depth, ..Message::default() }, ..Raw::default() };
    let mut reader = Reader::new(bytes);
    let is_object = reader.object(|reader, key| field(reader, key, bytes, &mut raw));
    let damage = reader.finish().or((!is_object).then_some(0));
    (raw, damage)
}

fn field(reader: &mut Reader<'_>, key: &[u8], bytes: &[u8], raw: &mut Raw) {
    match key {
        b"type" => raw.kind = reader.text(),
        b"message" => message(reader, &mut raw.message),
        b"toolUseResult" | b"tool_use_result" => match reader.kind() {
            Kind::String => raw.result_string = reader.text(),
            _ => facts::read(reader, bytes, &mut raw.facts),
        },
        b"uuid" => raw.uuid = reader.text(),
        b"parentUuid" => raw.parent_uuid = reader.text(),
        b"sessionId" | b"session_id" => raw.session_id = reader.text(),
        b"timestamp" => raw.at = Time::read(reader, bytes),
        b"cwd" => raw.cwd = reader.text(),
        b"gitBranch" => raw.branch = reader.text(),
        b"version" | b"claude_code_version" => raw.version = reader.text(),
        b"subtype" => raw.subtype = reader.text(),
        b"isSidechain" => {
            raw.has_sidechain = true;
            raw.sidechain = reader.bool().unwrap_or(false);
        }
        b"agentId" => raw.agent_id = reader.text(),
        b"isMeta" => raw.meta = reader.bool().unwrap_or(false),
        b"isSynthetic" => raw.synthetic = reader.bool().unwrap_or(false),
        b"isReplay" => raw.replay = reader.bool().unwrap_or(false),
        b"isCompactSummary" => raw.compact_summary = reader.bool().unwrap_or(false),
        b"isApiErrorMessage" | b"is_api_error_message" => raw.api_error = reader.bool().unwrap_or(false),
        b"isAbortedMidStream" | b"aborted" => raw.aborted = reader.bool().unwrap_or(false),
        b"toolDenialKind" => raw.denial = reader.text(),
        b"tool_result_meta" => raw.denial = non_execution(reader).or(raw.denial),
        b"origin" => {
            reader.object(|reader, key| {
                if key == b"kind" {
                    raw.origin = reader.text();
                }
            });
        }
        b"apiBlockIndex" => raw.block_index = reader.count(),
        b"parent_tool_use_id" | b"parentToolUseID" => raw.under = reader.text(),
        b"tool_use_id" | b"toolUseID" => raw.tool_id = reader.text(),
        b"content" => raw.content = Some(reader.raw()),
        b"attachment" => raw.attachment = Some(reader.raw()),
        b"data" => raw.data = Some(reader.raw()),
        b"event" => raw.event = Some(reader.raw()),
        b"abandoned_blocks" => {
            reader.object(|reader, key| {
                if key == b"from_block_index" {
                    raw.abandoned_from = reader.count();
                }
            });
        }
        b"summary" | b"aiTitle" | b"customTitle" => raw.summary = reader.text(),
        b"leafUuid" => raw.leaf = reader.text(),
        _ => {}
    }
}

fn non_execution(reader: &mut Reader<'_>) -> Option<Span> {
    let mut found = None;
    reader.array(|reader| {
        reader.object(|reader, key| {
            if key == b"non_execution_kind" {
                found = reader.text();
            }
        });
    });
    found
}

pub(super) fn message(reader: &mut Reader<'_>, message: &mut Message) {
    if reader.kind() == Kind::String {
        message.content = reader.text().map_or(Content::None, Content::Text);
        return;
    }
    reader.object(|reader, key| match key {
        b"id" => message.id = reader.text(),
        b"role" => message.role = reader.text(),
        b"model" => message.model = reader.text(),
        b"stop_reason" => message.stop_reason = reader.text(),
        b"usage" => message.usage = usage(reader),
        b"content" => {
            message.content = content(reader, message.depth);
            let first = if let Content::Blocks(blocks) = &message.content { blocks.first() } else { None };
            message.left =
                message.depth == Depth::Skim && first.is_some_and(|block| block.tool_use_id.is_some());
        }
        _ => {}
    });
}

fn content(reader: &mut Reader<'_>, depth: Depth) -> Content {
    match reader.kind() {
        Kind::String => reader.text().map_or(Content::None, Content::Text),
        Kind::Array => {
            let mut blocks = Vec::new();
            reader.array(|reader| blocks.push(block_to(reader, depth)));
            Content::Blocks(blocks)
        }
        Kind::Null => {
            reader.skip();
            Content::None
        }
        _ => Content::Other(reader.raw()),
    }
}

/// Reads a content block.
pub(super) fn block(reader: &mut Reader<'_>) -> RawBlock {
    block_to(reader, Depth::Whole)
}

fn block_to(reader: &mut Reader<'_>, depth: Depth) -> RawBlock {
    let mut block = RawBlock::default();
    if reader.kind() == Kind::String {
        block.text = reader.text();
        return block;
    }
    let start = reader.position();
    reader.object(|reader, key| match key {
        b"type" => block.kind = reader.text(),
        b"text" => block.text = reader.text(),
        b"thinking" => block.thinking = reader.text(),
        b"id" => block.id = reader.text(),
        b"name" => block.name = reader.text(),
        b"server_name" => block.server = reader.text(),
        b"input" => block.input = Some(reader.raw()),
        b"tool_use_id" | b"tool_call_id" => {
            block.tool_use_id = reader.text();
            if depth == Depth::Skim {
                reader.leave();
            }
        }
        b"is_error" => block.is_error = reader.bool().unwrap_or(false),
        b"content" => block.content = Some(pieces(reader)),
        b"source" => block.source = Some(reader.raw()),
        b"title" => block.title = reader.text(),
        _ => {}
    });
    block.whole = Span { start, end: reader.position() };
    block
}

fn pieces(reader: &mut Reader<'_>) -> Pieces {
    match reader.kind() {
        Kind::String => reader.text().map_or(Pieces::List(Vec::new()), Pieces::Text),
        Kind::Array => {
            let mut list = Vec::new();
            reader.array(|reader| list.push(piece(reader)));
            Pieces::List(list)
        }
        Kind::Null => {
            reader.skip();
            Pieces::List(Vec::new())
        }
        _ => Pieces::Other(reader.raw()),
    }
}

fn piece(reader: &mut Reader<'_>) -> RawPiece {
    let mut piece = RawPiece::default();
    if reader.kind() == Kind::String {
        piece.text = reader.text();
        return piece;
    }
    let start = reader.position();
    reader.object(|reader, key| match key {
        b"type" => piece.kind = reader.text(),
        b"text" => piece.text = reader.text(),
        b"source" => piece.source = Some(reader.raw()),
        _ => {}
    });
    piece.whole = Span { start, end: reader.position() };
    piece
}

/// Reads an API usage object. Cached input is counted apart from `input_tokens` there already.
pub(super) fn usage(reader: &mut Reader<'_>) -> Option<Usage> {
    let mut usage = Usage::default();
    let count = |reader: &mut Reader<'_>| reader.count().unwrap_or(0);
    reader
        .object(|reader, key| match key {
            b"input_tokens" => usage.input = count(reader),
            b"output_tokens" => usage.output = count(reader),
            b"cache_read_input_tokens" => usage.cache_read = count(reader),
            b"cache_creation_input_tokens" => usage.cache_write = count(reader),
            b"output_tokens_details" => {
                reader.object(|reader, key| {
                    if key == b"thinking_tokens" {
                        usage.reasoning = count(reader);
                    }
                });
            }
            _ => {}
        })
        .then_some(usage)
}
