//! One JSON object of a chat completion as spans. It says nothing about them.

use parlor_model::json::{Kind, Reader, Span};
use parlor_model::line::Line;
use parlor_model::text::Text;
use parlor_model::time::Time;
use parlor_model::usage::Usage;

/// A streamed chunk, a whole answer, an error, or a request.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    pub(crate) id: Option<Span>,
    pub(crate) object: Option<Span>,
    pub(crate) model: Option<Span>,
    pub(crate) at: Option<Time>,
    pub(crate) has_choices: bool,
    pub(crate) choices: Vec<Choice>,
    /// True for an answer that was not streamed.
    pub(crate) is_whole: bool,
    pub(crate) usage: Option<Usage>,
    pub(crate) error: Option<Text>,
    /// The messages of a request.
    pub(crate) messages: Option<Span>,
}

/// One of the answers asked for, or what is new of it.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    pub(crate) index: u64,
    pub(crate) finish: Option<Span>,
    /// Thoughts and text in the order of the content.
    pub(crate) texts: Vec<(TextKind, Span)>,
    pub(crate) calls: Vec<CallPart>,
    reasoning: [Option<Span>; 2],
    details: Vec<Span>,
}

/// Whether text is thought or said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextKind {
    /// Reasoning.
    Thought,
    /// Content, or a refusal.
    Reply,
}

/// What a chunk says of a tool call.
#[derive(Debug, Default)]
pub(crate) struct CallPart {
    pub(crate) index: Option<u64>,
    pub(crate) id: Option<Span>,
    pub(crate) name: Option<Span>,
    /// A fragment of JSON in a string.
    pub(crate) arguments: Option<Span>,
    /// Arguments that are an object already.
    pub(crate) object: Option<Span>,
}

impl Chunk {
    /// Reads a line; `None` when it is not a sound JSON object.
    pub(crate) fn read(line: &Line) -> Option<Chunk> {
        let mut reader = Reader::new(line.bytes());
        let mut chunk = Chunk::default();
        let mut remark = None;
        let is_object = reader.object(|reader, key| match key {
            b"id" => chunk.id = reader.text(),
            b"object" => chunk.object = reader.text(),
            b"model" => chunk.model = reader.text(),
            b"created" => chunk.at = Time::read(reader, line.bytes()),
            b"choices" if reader.kind() == Kind::Array => {
                chunk.has_choices = true;
                reader.array(|reader| chunk.choice(reader, line));
            }
            b"usage" => chunk.usage = usage(reader).or(chunk.usage),
            b"x_groq" => {
                reader.object(|reader, key| match key {
                    b"usage" => chunk.usage = chunk.usage.or(usage(reader)),
                    b"error" => chunk.error = reader.text().map(|span| line.text(span)),
                    _ => {}
                });
            }
            b"error" => chunk.error = error(reader, line).or(chunk.error.take()),
            b"message" => remark = reader.text(),
            b"messages" if reader.kind() == Kind::Array => chunk.messages = Some(reader.raw()),
            _ => {}
        });
        if chunk.object.is_some_and(|object| line.word(object) == b"error") && chunk.error.is_none() {
            chunk.error = remark.map(|span| line.text(span));
        }
        (reader.finish().is_none() && is_object).then_some(chunk)
    }

    fn choice(&mut self, reader: &mut Reader<'_>, line: &Line) {
        let mut choice = Choice::default();
        let mut whole = false;
        reader.object(|reader, key| match key {
            b"index" => choice.index = reader.number().map_or(0, |index| index as u64),
            b"finish_reason" => choice.finish = reader.text().filter(|span| span.start < span.end),
            b"delta" => {
                reader.object(|reader, key| choice.field(reader, key, line));
            }
            b"message" => {
                whole = reader.object(|reader, key| choice.field(reader, key, line));
            }
            _ => {}
        });
        self.is_whole |= whole;
        choice.settle_reasoning();
        self.choices.push(choice);
    }
}

impl Choice {
    fn field(&mut self, reader: &mut Reader<'_>, key: &[u8], line: &Line) {
        match key {
            b"content" if reader.kind() == Kind::Array => {
                reader.array(|reader| content_part(reader, line, &mut self.texts));
            }
            b"content" | b"refusal" => self.texts.extend(reader.text().map(|span| (TextKind::Reply, span))),
            b"reasoning_content" => self.reasoning[0] = reader.text(),
            b"reasoning" => self.reasoning[1] = reader.text(),
            b"reasoning_details" => {
                reader.array(|reader| {
                    reader.object(|reader, key| {
                        if key == b"text" || key == b"summary" {
                            self.details.extend(reader.text());
                        }
                    });
                });
            }
            b"tool_calls" => {
                reader.array(|reader| self.calls.push(CallPart::read(reader)));
            }
            b"function_call" if reader.kind() == Kind::Object => {
                let mut part = CallPart { index: Some(0), ..CallPart::default() };
                part.function(reader);
                self.calls.push(part);
            }
            _ => {}
        }
    }

    /// Servers give the same reasoning under several names: one of them is taken, and it comes before the content.
    fn settle_reasoning(&mut self) {
        let full = |span: &Span| span.start < span.end;
        self.texts.retain(|(_, span)| full(span));
        let named = self.reasoning.into_iter().flatten().find(full);
        let thoughts: Vec<Span> = match named {
            Some(span) => vec![span],
            None => self.details.iter().copied().filter(full).collect(),
        };
        let thoughts = thoughts.into_iter().map(|span| (TextKind::Thought, span));
        self.texts.splice(0..0, thoughts);
    }
}

impl CallPart {
    fn read(reader: &mut Reader<'_>) -> CallPart {
        let mut part = CallPart::default();
        reader.object(|reader, key| match key {
            b"index" => part.index = reader.number().map(|index| index as u64),
            b"id" => part.id = reader.text().filter(|span| span.start < span.end),
            b"function" => part.function(reader),
            _ => {}
        });
        part
    }

    fn function(&mut self, reader: &mut Reader<'_>) {
        reader.object(|reader, key| match key {
            b"name" => self.name = reader.text().filter(|span| span.start < span.end),
            b"arguments" if reader.kind() == Kind::Object => self.object = Some(reader.raw()),
            b"arguments" => self.arguments = reader.text(),
            _ => {}
        });
    }
}

/// Mistral sends content as parts, of which a thought is again a list of texts.
fn content_part(reader: &mut Reader<'_>, line: &Line, texts: &mut Vec<(TextKind, Span)>) {
    if reader.kind() == Kind::String {
        texts.extend(reader.text().map(|span| (TextKind::Reply, span)));
        return;
    }
    let (mut kind, mut text, mut thoughts) = (None, None, Vec::new());
    reader.object(|reader, key| match key {
        b"type" => kind = reader.text(),
        b"text" => text = reader.text(),
        b"thinking" if reader.kind() == Kind::String => thoughts.extend(reader.text()),
        b"thinking" => {
            reader.array(|reader| {
                reader.object(|reader, key| {
                    if key == b"text" {
                        thoughts.extend(reader.text());
                    }
                });
            });
        }
        _ => {}
    });
    texts.extend(thoughts.into_iter().map(|span| (TextKind::Thought, span)));
    if kind.is_none_or(|kind| matches!(line.word(kind), b"text" | b"output_text" | b"refusal")) {
        texts.extend(text.map(|span| (TextKind::Reply, span)));
    }
}

/// The words of an error: a string, or the message of an object.
pub(crate) fn error(reader: &mut Reader<'_>, line: &Line) -> Option<Text> {
    if reader.kind() == Kind::String {
        return reader.text().map(|span| line.text(span));
    }
    if reader.kind() != Kind::Object {
        return None;
    }
    let (mut message, mut raw) = (None, reader.position());
    let start = std::mem::take(&mut raw);
    reader.object(|reader, key| {
        if key == b"message" {
            message = reader.text();
        }
    });
    let whole = Span { start, end: reader.position() };
    Some(message.map_or_else(|| line.json(whole).lossy().into_owned().into(), |span| line.text(span)))
}

/// Tokens: cached ones are part of the prompt's count and are taken out of it.
pub(crate) fn usage(reader: &mut Reader<'_>) -> Option<Usage> {
    let count = |reader: &mut Reader<'_>| reader.number().map_or(0, |number| number as u64);
    let mut usage = Usage::default();
    let is_object = reader.object(|reader, key| match key {
        b"prompt_tokens" | b"input_tokens" => usage.input = count(reader),
        b"completion_tokens" | b"output_tokens" => usage.output = count(reader),
        b"prompt_cache_hit_tokens" | b"cached_tokens" => usage.cache_read = count(reader),
        b"prompt_tokens_details" | b"input_tokens_details" => {
            reader.object(|reader, key| {
                if key == b"cached_tokens" {
                    usage.cache_read = count(reader);
                }
            });
        }
        b"completion_tokens_details" | b"output_tokens_details" => {
            reader.object(|reader, key| {
                if key == b"reasoning_tokens" {
                    usage.reasoning = count(reader);
                }
            });
        }
        _ => {}
    });
    usage.input = usage.input.saturating_sub(usage.cache_read);
    is_object.then_some(usage)
}
