//! One message as Pi writes it: spans of its parts. It says nothing about them.

use parlor_model::Key;
use parlor_model::block::{Attachment, Source};
use parlor_model::json::{Kind, Reader, Span};
use parlor_model::line::Line;
use parlor_model::text::Text;
use parlor_model::time::Time;
use parlor_model::tool::{FileChange, FilePatch, Hunk, Output, Piece, ToolState};
use parlor_model::usage::Usage;

/// A message of any role. Fields that a role does not have stay empty.
#[derive(Debug, Default)]
pub(crate) struct Message {
    pub(crate) role: Option<Span>,
    pub(crate) at: Option<Time>,
    /// The timestamp as it is written: with the role it names the message in the stream and in the file alike.
    pub(crate) stamp: Option<Span>,
    pub(crate) content: Vec<Item>,
    /// Content that is one string.
    pub(crate) plain: Option<Span>,
    pub(crate) model: Option<Span>,
    pub(crate) usage: Option<Usage>,
    pub(crate) cost: f64,
    pub(crate) stop: Option<Span>,
    pub(crate) error: Option<Span>,
    pub(crate) tool_call: Option<Span>,
    pub(crate) tool_name: Option<Span>,
    pub(crate) is_error: bool,
    pub(crate) duration_ms: Option<u64>,
    details: Details,
    pub(crate) command: Option<Span>,
    pub(crate) output: Option<Span>,
    pub(crate) exit_code: Option<i64>,
    pub(crate) cancelled: bool,
    pub(crate) summary: Option<Span>,
    pub(crate) tokens_before: Option<u64>,
    pub(crate) hidden: bool,
}

/// One part of a message's content.
#[derive(Debug, Default)]
pub(crate) struct Item {
    pub(crate) kind: Option<Span>,
    pub(crate) raw: Span,
    pub(crate) text: Option<Span>,
    pub(crate) thinking: Option<Span>,
    pub(crate) redacted: bool,
    pub(crate) id: Option<Span>,
    pub(crate) name: Option<Span>,
    pub(crate) arguments: Option<Span>,
    data: Option<Span>,
    media_type: Option<Span>,
}

/// What a tool tells besides the text that the model sees.
#[derive(Debug, Default)]
struct Details {
    patch: Option<Span>,
    diff: Option<Span>,
    truncated: bool,
    exit_code: Option<i64>,
}

impl Message {
    /// Reads the object that stands next.
    pub(crate) fn read(reader: &mut Reader<'_>, line: &Line) -> Message {
        let mut message = Message::default();
        reader.object(|reader, key| message.field(reader, key, line));
        message
    }

    /// Takes one field. Session entries that are messages themselves hand their fields here.
    pub(crate) fn field(&mut self, reader: &mut Reader<'_>, key: &[u8], line: &Line) {
        match key {
            b"role" => self.role = reader.text(),
            b"timestamp" => {
                let span = reader.raw();
                self.at = std::str::from_utf8(line.word(span))
                    .ok()
                    .and_then(|raw| Time::parse(raw.trim_matches('"')));
                self.stamp = Some(span);
            }
            b"content" if reader.kind() == Kind::String => self.plain = reader.text(),
            b"content" => {
                reader.array(|reader| self.content.push(Item::read(reader, line)));
            }
            b"model" => self.model = reader.text(),
            b"usage" => self.read_usage(reader),
            b"stopReason" => self.stop = reader.text(),
            b"errorMessage" => self.error = reader.text(),
            b"toolCallId" => self.tool_call = reader.text(),
            b"toolName" => self.tool_name = reader.text(),
            b"isError" => self.is_error = reader.bool() == Some(true),
            b"durationMs" => self.duration_ms = count(reader),
            b"details" => self.details = Details::read(reader),
            b"command" => self.command = reader.text(),
            b"output" => self.output = reader.text(),
            b"exitCode" => self.exit_code = reader.integer(),
            b"cancelled" => self.cancelled = reader.bool() == Some(true),
            b"summary" => self.summary = reader.text(),
            b"tokensBefore" => self.tokens_before = count(reader),
            b"display" => self.hidden = reader.bool() == Some(false),
            _ => {}
        }
    }

    /// The role as a word.
    pub(crate) fn role<'a>(&self, line: &'a Line) -> &'a [u8] {
        self.role.map_or(b"", |span| line.word(span))
    }

    /// All text of the content, in order; pictures are attachments.
    pub(crate) fn text(&self, line: &Line) -> Text {
        if let Some(plain) = self.plain {
            return line.text(plain);
        }
        let mut texts = self.content.iter().filter_map(|item| item.text);
        match (texts.next(), texts.next()) {
            (None, _) => Text::default(),
            (Some(only), None) => line.text(only),
            (Some(_), Some(_)) => {
                let all: Vec<String> = self
                    .content
                    .iter()
                    .filter_map(|item| Some(line.text(item.text?).as_str().into_owned()))
                    .collect();
                all.join("\n").into()
            }
        }
    }

    /// The pictures of the content.
    pub(crate) fn attachments(&self, line: &Line) -> Vec<Attachment> {
        self.content.iter().filter_map(|item| item.attachment(line)).collect()
    }

    /// The content as a tool's output, and how the call ended. `path` is the file that an edit was about.
    pub(crate) fn result(&self, line: &Line, path: Option<&Text>) -> (ToolState, Output) {
        let piece = |item: &Item| match (item.text, item.attachment(line)) {
            (Some(text), _) => Piece::Text { text: line.text(text) },
            (None, Some(attachment)) => Piece::attachment(attachment),
            (None, None) => Piece::Other { raw: line.json(item.raw) },
        };
        let mut parts: Vec<Piece> = self.content.iter().map(piece).collect();
        if let Some(plain) = self.plain {
            parts.push(Piece::Text { text: line.text(plain) });
        }
        let mut output = Output {
            parts,
            truncated: self.details.truncated,
            exit_code: self.details.exit_code,
            duration_ms: self.duration_ms,
            patches: self.details.patches(line, path),
            ..Output::default()
        };
        (self.state(line, &mut output), output)
    }

    /// Pi ends the output of a command with a remark of its own when it failed or was stopped.
    fn state(&self, line: &Line, output: &mut Output) -> ToolState {
        if !self.is_error {
            return ToolState::Done;
        }
        let text = self.text(line);
        let text = text.as_str();
        let remark = text.rsplit('\n').next().unwrap_or_default();
        if let Some(code) = remark.strip_prefix("Command exited with code ") {
            output.exit_code = output.exit_code.or_else(|| code.parse().ok());
        }
        match remark {
            "Command aborted" | "Operation aborted" => ToolState::Interrupted,
            _ => ToolState::Failed,
        }
    }

    fn read_usage(&mut self, reader: &mut Reader<'_>) {
        let mut usage = Usage::default();
        let cost = &mut self.cost;
        let is_object = reader.object(|reader, key| match key {
            b"input" => usage.input = count(reader).unwrap_or(0),
            b"output" => usage.output = count(reader).unwrap_or(0),
            b"cacheRead" => usage.cache_read = count(reader).unwrap_or(0),
            b"cacheWrite" => usage.cache_write = count(reader).unwrap_or(0),
            b"reasoning" => usage.reasoning = count(reader).unwrap_or(0),
            b"cost" => {
                reader.object(|reader, key| {
                    if key == b"total" {
                        *cost = reader.number().unwrap_or(0.0);
                    }
                });
            }
            _ => {}
        });
        self.usage = is_object.then_some(usage).filter(|usage| usage.total() > 0);
    }
}

impl Item {
    /// Reads the part that stands next; a bare string is text.
    pub(crate) fn read(reader: &mut Reader<'_>, line: &Line) -> Item {
        if reader.kind() == Kind::String {
            return Item { text: reader.text(), ..Item::default() };
        }
        let start = reader.position();
        let mut item = Item::default();
        reader.object(|reader, key| match key {
            b"type" => item.kind = reader.text(),
            b"text" => item.text = reader.text(),
            b"thinking" => item.thinking = reader.text(),
            b"redacted" => item.redacted = reader.bool() == Some(true),
            b"id" => item.id = reader.text().filter(|id| id.start < id.end),
            b"name" => item.name = reader.text(),
            b"arguments" => item.arguments = Some(reader.raw()),
            b"data" => item.data = reader.text(),
            b"mimeType" => item.media_type = reader.text(),
            _ => {}
        });
        item.raw =
            Span { start: start.min(line.bytes().len()), end: reader.position().min(line.bytes().len()) };
        // Only text parts carry text: a picture's caption or a signature is no speech.
        if item.kind.is_some_and(|kind| line.word(kind) != b"text") {
            item.text = None;
        }
        item
    }

    /// The picture this is.
    fn attachment(&self, line: &Line) -> Option<Attachment> {
        let data = self.data.filter(|_| self.kind.is_some_and(|kind| line.word(kind) == b"image"))?;
        let media_type = self.media_type.map(|span| line.key(span)).unwrap_or_default();
        Some(Attachment { media_type, name: None, source: Source::Base64(line.text(data)) })
    }
}

impl Details {
    fn read(reader: &mut Reader<'_>) -> Details {
        let mut details = Details::default();
        reader.object(|reader, key| match key {
            b"patch" => details.patch = reader.text(),
            b"diff" => details.diff = reader.text(),
            b"truncated" => details.truncated |= reader.bool() == Some(true),
            b"exit_code" | b"exitCode" => details.exit_code = reader.integer(),
            b"truncation" => {
                reader.object(|reader, key| {
                    if key == b"truncated" {
                        details.truncated |= reader.bool() == Some(true);
                    }
                });
            }
            _ => {}
        });
        details
    }

    fn patches(&self, line: &Line, path: Option<&Text>) -> Vec<FilePatch> {
        if let Some(patch) = self.patch {
            let patch = line.text(patch);
            let patch = patch.as_str();
            let named = patch.lines().find_map(|line| line.strip_prefix("+++ ")).map(Text::from);
            let path = path.cloned().or(named).unwrap_or_default();
            return vec![FilePatch::parse_unified(path, FileChange::Update, &patch)];
        }
        let hunks = self.diff.and_then(|diff| numbered_hunks(&line.text(diff).as_str())).unwrap_or_default();
        if hunks.is_empty() {
            return Vec::new();
        }
        vec![FilePatch { path: path.cloned().unwrap_or_default(), change: FileChange::Update, hunks }]
    }
}

/// Reads Pi's own diff, where each line is a sign, its number and the text; `...` stands for what is left out.
/// `None` when a line has another form: forks print other diffs under the same name.
fn numbered_hunks(diff: &str) -> Option<Vec<Hunk>> {
    let mut hunks: Vec<Hunk> = Vec::new();
    let mut fresh = true;
    for line in diff.lines() {
        let (sign, rest) = line.split_at_checked(1)?;
        let rest = rest.trim_start_matches(' ');
        if rest == "..." {
            fresh = true;
            continue;
        }
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number: u64 = rest.get(..digits)?.parse().ok()?;
        let text = rest.get(digits..)?;
        let text = text.strip_prefix(' ').unwrap_or(text);
        if !matches!(sign, " " | "+" | "-") {
            return None;
        }
        if std::mem::take(&mut fresh) {
            hunks.push(Hunk { old_start: number, new_start: number, lines: Vec::new() });
        }
        hunks.last_mut()?.lines.push(format!("{sign}{text}").into());
    }
    Some(hunks)
}

/// The inside of a JSON string that stands in `span`, as a key.
pub(crate) fn json_text(line: &Line, span: Option<Span>) -> Option<Key> {
    span.map(|span| line.key(span)).filter(|key| !key.is_empty())
}

fn count(reader: &mut Reader<'_>) -> Option<u64> {
    reader.number().map(|number| number as u64)
}
