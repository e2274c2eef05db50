//! Content blocks as Claude's API, its SDK and the apps around them write them: read, and put under a message's key.
//! It knows no envelope: which record a block came in is the business of each format.

use bytes::Bytes;
use parlor_model::Key;
use parlor_model::block::{Attachment, Author, Block, Prompt, Reply, Source, Thought, Unknown};
use parlor_model::event::{End, Event};
use parlor_model::json::{Json, Kind, Reader, Span};
use parlor_model::line::Line;
use parlor_model::rule::is_caveat;
use parlor_model::text::Text;
use parlor_model::tool::{FileChange, FilePatch, Hunk, Output, Piece, Tool, ToolState};
use parlor_model::usage::Usage;

/// One content block.
#[derive(Debug)]
pub(crate) enum Content {
    /// Words.
    Text(Text),
    /// A thought; `redacted` when the provider keeps it to itself.
    Thinking { text: Text, redacted: bool },
    /// A tool call.
    Call { id: Option<Key>, name: Key, input: Json },
    /// A tool's answer.
    Result(Outcome),
    /// A picture or document.
    Attachment { attachment: Attachment, raw: Json },
    /// A block nobody knows.
    Other { kind: Key, raw: Json },
}

/// What a tool gave back, and to which call.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// The call's id; empty when the record has none.
    pub(crate) id: Key,
    /// The tool's name, where the result carries it.
    pub(crate) name: Option<Key>,
    /// True when the record says that it failed.
    pub(crate) failed: bool,
    /// What came back.
    pub(crate) output: Output,
}

impl Outcome {
    /// The event that ends the call.
    pub(crate) fn event(self) -> Event {
        let state = if self.failed { ToolState::Failed } else { ToolState::Done };
        self.event_as(state)
    }

    /// The event that ends the call in a state that another record told.
    pub(crate) fn event_as(self, state: ToolState) -> Event {
        Event::End {
            key: self.id,
            end: End::Result { name: self.name, state, output: Box::new(self.output) },
        }
    }
}

/// Where blocks belong: the record that brought them.
#[derive(Debug, Default)]
pub(crate) struct Place {
    /// The record's own name: blocks are `key/0`, `key/1`, ….
    pub(crate) key: Key,
    /// The task it happened in.
    pub(crate) under: Option<Key>,
    /// The API message.
    pub(crate) message: Option<Key>,
}

impl Place {
    /// The event that puts a block at `index` of this record.
    pub(crate) fn put(&self, index: usize, block: Block) -> Event {
        self.put_as(format!("{}/{index}", self.key).into(), block)
    }

    /// The event that puts a block which has a key of its own.
    pub(crate) fn put_as(&self, key: Key, block: Block) -> Event {
        Event::Put { key, under: self.under.clone(), message: self.message.clone(), block }
    }

    /// Says an assistant's blocks. Returns whether anything was said.
    pub(crate) fn answer(&self, contents: Vec<Content>, out: &mut Vec<Event>) -> bool {
        let before = out.len();
        for (index, content) in contents.into_iter().enumerate() {
            match content {
                Content::Text(text) if text.is_empty() => {}
                Content::Text(text) => out.push(self.put(index, reply(text))),
                other => self.shared(index, other, out),
            }
        }
        out.len() > before
    }

    /// Says a user's blocks: prompts, and the answers of tools. Caveats are left out.
    pub(crate) fn ask(&self, contents: Vec<Content>, out: &mut Vec<Event>) -> bool {
        let before = out.len();
        let author = if self.under.is_some() { Author::Caller } else { Author::Person };
        let mut attachments = Vec::new();
        let mut first = None;
        for (index, content) in contents.into_iter().enumerate() {
            match content {
                Content::Text(text) if text.is_blank() || is_caveat(&text.as_str()) => {}
                Content::Text(text) => {
                    first.get_or_insert(out.len());
                    let prompt = Prompt { text, author: author.clone(), ..Prompt::default() };
                    out.push(self.put(index, Block::Prompt(prompt)));
                }
                Content::Attachment { attachment, .. } => attachments.push(attachment),
                other => self.shared(index, other, out),
            }
        }
        // All attachments of a message belong to its first words, on whichever side of them they stand.
        match first.and_then(|first| out.get_mut(first)) {
            Some(Event::Put { block: Block::Prompt(prompt), .. }) => prompt.attachments = attachments,
            _ if attachments.is_empty() => {}
            _ => out.push(self.put(0, Block::Prompt(Prompt { author, attachments, ..Prompt::default() }))),
        }
        out.len() > before
    }

    /// What means the same whoever says it.
    fn shared(&self, index: usize, content: Content, out: &mut Vec<Event>) {
        match content {
            Content::Text(text) => out.push(self.put(index, reply(text))),
            Content::Thinking { text, redacted } => {
                out.push(self.put(index, Block::Thought(Thought { text, redacted, ..Thought::default() })));
            }
            Content::Call { id, name, input } => {
                let key = id.unwrap_or_else(|| format!("{}/{index}", self.key).into());
                out.push(self.put_as(key, Block::Tool(Box::new(Tool::call(name, input)))));
            }
            Content::Result(mut outcome) => {
                if outcome.id.is_empty() {
                    outcome.id = format!("{}/{index}", self.key).into();
                }
                out.push(outcome.event());
            }
            Content::Attachment { raw, .. } => {
                out.push(self.put(index, Block::Unknown(Unknown { kind: "attachment".into(), raw })));
            }
            Content::Other { kind, raw } => out.push(self.put(index, Block::Unknown(Unknown { kind, raw }))),
        }
    }
}

/// True when everything that a user's message says is the caveat before local commands.
pub(crate) fn only_caveat(contents: &[Content]) -> bool {
    !contents.is_empty()
        && contents.iter().all(|content| matches!(content, Content::Text(text) if is_caveat(&text.as_str())))
}

/// The words of a message, when it holds nothing but one text.
pub(crate) fn only_text(contents: &[Content]) -> Option<&Text> {
    match contents {
        [Content::Text(text)] => Some(text),
        _ => None,
    }
}

/// True for the message that Claude Code writes in the user's name when a turn is stopped.
pub(crate) fn is_stop(text: &Text) -> bool {
    text.starts_with("[Request interrupted by user")
        && matches!(
            &*text.as_str(),
            "[Request interrupted by user]" | "[Request interrupted by user for tool use]"
        )
}

/// True for the summary that continues a compacted conversation, which is written in the user's name.
pub(crate) fn is_continuation(text: &Text) -> bool {
    text.starts_with("This session is being continued from a previous conversation")
}

/// Reads a `content` value: a string is one text, an array is its blocks, an object is one block.
pub(crate) fn contents(reader: &mut Reader<'_>, line: &Line) -> Vec<Content> {
    match reader.kind() {
        Kind::String => reader.text().map(|span| Content::Text(line.text(span))).into_iter().collect(),
        Kind::Array => {
            let mut contents = Vec::new();
            reader.array(|reader| match reader.kind() {
                Kind::String => contents.extend(reader.text().map(|span| Content::Text(line.text(span)))),
                _ => contents.push(content(reader, line)),
            });
            contents
        }
        Kind::Null => {
            reader.skip();
            Vec::new()
        }
        _ => vec![content(reader, line)],
    }
}

/// Reads one block. A block without a `type` is recognised by its keys, as the SDK writes it.
pub(crate) fn content(reader: &mut Reader<'_>, line: &Line) -> Content {
    read(reader, line, Fields::default())
}

fn read(reader: &mut Reader<'_>, line: &Line, mut fields: Fields) -> Content {
    reader.kind();
    let start = reader.position();
    reader.object(|reader, key| fields.take(reader, line, key));
    let raw = line.json(Span { start, end: reader.position() });
    fields.content(line, raw)
}

/// Reads a tool's output: a string, an array of texts and pictures, or any other value.
pub(crate) fn output(reader: &mut Reader<'_>, line: &Line) -> Output {
    let mut parts = Vec::new();
    match reader.kind() {
        Kind::String => parts.extend(reader.text().map(|span| Piece::Text { text: line.text(span) })),
        Kind::Array => {
            reader.array(|reader| match reader.kind() {
                Kind::String => parts.extend(reader.text().map(|span| Piece::Text { text: line.text(span) })),
                Kind::Object => parts.push(piece(reader, line)),
                _ => parts.push(Piece::Other { raw: line.json(reader.raw()) }),
            });
        }
        Kind::Null | Kind::Nothing => reader.skip(),
        _ => parts.push(Piece::Other { raw: line.json(reader.raw()) }),
    }
    Output { parts, ..Output::default() }
}

/// Reads token counts by the API's names, or by the apps' own.
pub(crate) fn usage(reader: &mut Reader<'_>) -> Option<Usage> {
    let mut usage = Usage::default();
    let mut found = false;
    reader.object(|reader, key| {
        let count = match key {
            b"input_tokens" => &mut usage.input,
            b"output_tokens" => &mut usage.output,
            b"cache_read_input_tokens" => &mut usage.cache_read,
            b"cache_creation_input_tokens" => &mut usage.cache_write,
            _ => return,
        };
        *count = tokens(reader);
        found = true;
    });
    found.then_some(usage)
}

/// Reads a count of tokens; what is negative or no number counts nothing.
pub(crate) fn tokens(reader: &mut Reader<'_>) -> u64 {
    reader.integer().and_then(|count| u64::try_from(count).ok()).unwrap_or(0)
}

/// Reads the change to a file from a structured tool result, where it has one.
pub(crate) fn patches(reader: &mut Reader<'_>, line: &Line) -> Vec<FilePatch> {
    let mut path = Text::default();
    let mut hunks = Vec::new();
    reader.object(|reader, key| match key {
        b"filePath" => path = reader.text().map(|span| line.text(span)).unwrap_or_default(),
        b"structuredPatch" => {
            reader.array(|reader| hunks.push(hunk(reader, line)));
        }
        _ => {}
    });
    if hunks.is_empty() { Vec::new() } else { vec![FilePatch { path, change: FileChange::Update, hunks }] }
}

fn hunk(reader: &mut Reader<'_>, line: &Line) -> Hunk {
    let mut hunk = Hunk::default();
    reader.object(|reader, key| match key {
        b"oldStart" => hunk.old_start = tokens(reader),
        b"newStart" => hunk.new_start = tokens(reader),
        b"lines" => {
            reader.array(|reader| hunk.lines.extend(reader.text().map(|span| line.text(span))));
        }
        _ => {}
    });
    hunk
}

fn reply(text: Text) -> Block {
    Block::Reply(Reply { text, ..Reply::default() })
}

fn piece(reader: &mut Reader<'_>, line: &Line) -> Piece {
    let start = reader.position();
    match read(reader, line, Fields { is_piece: true, ..Fields::default() }) {
        Content::Text(text) => Piece::Text { text },
        Content::Attachment { attachment, .. } => Piece::attachment(attachment),
        Content::Other { raw, .. } => Piece::Other { raw },
        // A thought, a call or an answer inside of an answer is no form that any agent writes: keep it as it is.
        Content::Thinking { .. } | Content::Call { .. } | Content::Result(_) => {
            Piece::Other { raw: line.json(Span { start, end: reader.position() }) }
        }
    }
}

/// The fields that any block may have.
#[derive(Default)]
struct Fields {
    /// True inside of an output: pieces have no output of their own, so that hostile nesting cannot recurse.
    is_piece: bool,
    kind: Option<Span>,
    text: Option<Span>,
    thinking: Option<Span>,
    id: Option<Span>,
    tool_use_id: Option<Span>,
    name: Option<Span>,
    input: Option<Span>,
    encoded_input: Option<Span>,
    output: Option<Output>,
    failed: bool,
    source: Option<(Key, Source)>,
    title: Option<Span>,
}

impl Fields {
    fn take(&mut self, reader: &mut Reader<'_>, line: &Line, key: &[u8]) {
        match key {
            b"type" => self.kind = reader.text(),
            b"text" => self.text = reader.text(),
            b"thinking" => self.thinking = reader.text(),
            b"id" | b"tool_id" => self.id = reader.text(),
            b"tool_use_id" => self.tool_use_id = reader.text(),
            b"name" | b"tool_name" => self.name = reader.text(),
            // cdev's live events carry the input as a string of JSON.
            b"input" | b"tool_input" if reader.kind() == Kind::String => self.encoded_input = reader.text(),
            b"input" | b"tool_input" => self.input = Some(reader.raw()),
            b"content" | b"output" if !self.is_piece => self.output = Some(output(reader, line)),
            b"is_error" | b"isError" => self.failed |= reader.bool() == Some(true),
            b"success" => self.failed |= reader.bool() == Some(false),
            b"source" => self.source = source(reader, line),
            b"title" => self.title = reader.text(),
            _ => {}
        }
    }

    fn content(self, line: &Line, raw: Json) -> Content {
        match self.kind.map(|span| line.word(span)) {
            Some(b"text") if self.text.is_some() => self.text(line),
            Some(b"thinking") => self.thinking(line),
            Some(b"redacted_thinking") => Content::Thinking { text: Text::default(), redacted: true },
            Some(b"tool_use" | b"server_tool_use" | b"mcp_tool_use") => self.call(line),
            Some(b"tool_result" | b"mcp_tool_result") => self.result(line),
            Some(kind) if kind.ends_with(b"_tool_result") => self.result(line),
            Some(b"image" | b"document") => self.attachment(line, raw),
            Some(kind) => Content::Other { kind: String::from_utf8_lossy(kind).into(), raw },
            None if self.tool_use_id.is_some() => self.result(line),
            None if self.thinking.is_some() => self.thinking(line),
            None if self.name.is_some() && (self.id.is_some() || self.input.is_some()) => self.call(line),
            None if self.text.is_some() => self.text(line),
            None if self.source.is_some() => self.attachment(line, raw),
            None => Content::Other { kind: "untyped".into(), raw },
        }
    }

    fn text(&self, line: &Line) -> Content {
        Content::Text(self.text.map(|span| line.text(span)).unwrap_or_default())
    }

    fn thinking(&self, line: &Line) -> Content {
        // The API names the field `thinking`; cdev's live events name it `text`.
        let span = self.thinking.or(self.text);
        Content::Thinking { text: span.map(|span| line.text(span)).unwrap_or_default(), redacted: false }
    }

    fn call(self, line: &Line) -> Content {
        let decoded = |span: Span| Json::new(Bytes::from(line.text(span).as_str().into_owned()));
        let input = self.input.map(|span| line.json(span)).or_else(|| self.encoded_input.map(decoded));
        let name = self.name.map(|span| line.key(span)).unwrap_or_default();
        Content::Call { id: key(line, self.id), name, input: input.unwrap_or_default() }
    }

    fn result(self, line: &Line) -> Content {
        let id = key(line, self.tool_use_id.or(self.id)).unwrap_or_default();
        let name = key(line, self.name);
        Content::Result(Outcome { id, name, failed: self.failed, output: self.output.unwrap_or_default() })
    }

    fn attachment(self, line: &Line, raw: Json) -> Content {
        let (media_type, source) = self.source.unwrap_or((Key::default(), Source::Missing));
        let name = self.title.map(|span| line.text(span));
        Content::Attachment { attachment: Attachment { media_type, name, source }, raw }
    }
}

/// An id that says something: an empty one is none.
pub(crate) fn key(line: &Line, span: Option<Span>) -> Option<Key> {
    span.filter(|span| span.end > span.start).map(|span| line.key(span))
}

fn source(reader: &mut Reader<'_>, line: &Line) -> Option<(Key, Source)> {
    let (mut kind, mut media_type, mut data, mut url) = (None, None, None, None);
    let object = reader.object(|reader, key| match key {
        b"type" => kind = reader.text(),
        b"media_type" => media_type = reader.text(),
        b"data" => data = reader.text(),
        b"url" => url = reader.text(),
        _ => {}
    });
    let text = |span: Option<Span>| span.map(|span| line.text(span));
    let source = match kind.map(|span| line.word(span)) {
        Some(b"text") => text(data).map(Source::Text),
        _ => text(data).map(Source::Base64).or_else(|| text(url).map(Source::Url)),
    };
    object.then(|| (key(line, media_type).unwrap_or_default(), source.unwrap_or(Source::Missing)))
}

#[cfg(test)]
mod tests;
