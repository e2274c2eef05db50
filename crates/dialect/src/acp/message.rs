//! One JSON-RPC message as spans. It says nothing about them.

use parlor_model::block::{Attachment, Source};
use parlor_model::json::{Json, Kind, Reader, Span};
use parlor_model::line::Line;

/// A request, a notification, or an answer.
#[derive(Debug, Default)]
pub(crate) struct Message {
    /// The id as it is written: a number or a string, and zero is one too.
    pub(crate) id: Option<Span>,
    pub(crate) method: Option<Span>,
    pub(crate) params: Option<Span>,
    pub(crate) update: Option<Update>,
    pub(crate) result: Option<Span>,
    pub(crate) error: Option<Span>,
}

/// The update of a session.
#[derive(Debug, Default)]
pub(crate) struct Update {
    pub(crate) kind: Option<Span>,
    /// The text of a content block that is text.
    pub(crate) text: Option<Span>,
    pub(crate) message: Option<Span>,
    pub(crate) tool: Option<Span>,
    pub(crate) usage: Option<Span>,
    content: Option<Span>,
    whole: Span,
}

impl Message {
    /// Reads a line; `None` when it is not a sound JSON-RPC message.
    pub(crate) fn read(line: &Line) -> Option<Message> {
        let mut reader = Reader::new(line.bytes());
        let mut message = Message::default();
        // The mark tells it from other agents' records, which have ids and methods too.
        let mut marked = false;
        reader.object(|reader, key| match key {
            b"jsonrpc" => marked = true,
            b"id" if reader.kind() != Kind::Null => message.id = Some(trim(line, reader.raw())),
            b"method" => message.method = reader.text(),
            b"params" => message.params(reader),
            b"result" => message.result = Some(reader.raw()),
            b"error" if reader.kind() == Kind::Object => message.error = Some(reader.raw()),
            _ => {}
        });
        (reader.finish().is_none() && marked).then_some(message)
    }

    fn params(&mut self, reader: &mut Reader<'_>) {
        let start = reader.position();
        reader.object(|reader, key| {
            if key == b"update" && reader.kind() == Kind::Object {
                self.update = Some(Update::read(reader));
            }
        });
        self.params = Some(Span { start, end: reader.position() });
    }
}

impl Update {
    fn read(reader: &mut Reader<'_>) -> Update {
        let mut update = Update::default();
        let start = reader.position();
        reader.object(|reader, key| match key {
            b"sessionUpdate" => update.kind = reader.text(),
            b"messageId" => update.message = reader.text(),
            b"toolCallId" => update.tool = reader.text(),
            b"content" if reader.kind() == Kind::Object => {
                let start = reader.position();
                reader.object(|reader, key| {
                    if key == b"text" {
                        update.text = reader.text();
                    }
                });
                update.content = Some(Span { start, end: reader.position() });
            }
            b"_meta" => {
                reader.object(|reader, key| {
                    if key == b"usage" {
                        update.usage = Some(reader.raw());
                    }
                });
            }
            _ => {}
        });
        update.whole = Span { start, end: reader.position() };
        update
    }

    /// The update as a value.
    pub(crate) fn json(&self, line: &Line) -> Json {
        line.json(self.whole)
    }

    /// Its content block as a value.
    pub(crate) fn content(&self, line: &Line) -> Json {
        self.content.map(|span| line.json(span)).unwrap_or_default()
    }
}

/// The picture or document that a content block holds.
pub(crate) fn attachment(block: &Json) -> Option<Attachment> {
    let inner = block.get("resource").unwrap_or_else(|| block.clone());
    let media_type = inner.field_text("mimeType").map(|word| word.as_str().into()).unwrap_or_default();
    let uri = inner.field_text("uri");
    let source = match &*block.field_text("type")?.as_str() {
        "text" => return None,
        "resource" => match (inner.field_text("text"), inner.field_text("blob")) {
            (Some(text), _) => Source::Text(text),
            (None, Some(blob)) => Source::Base64(blob),
            (None, None) => Source::Missing,
        },
        "resource_link" => Source::Url(uri.clone().unwrap_or_default()),
        _ => inner.field_text("data").map_or(Source::Missing, Source::Base64),
    };
    Some(Attachment { media_type, name: inner.field_text("name").or(uri), source })
}

/// An id without its quotes, so that it reads the same in a request and in its answer.
fn trim(line: &Line, span: Span) -> Span {
    match line.word(span) {
        [b'"', .., b'"'] => Span { start: span.start + 1, end: span.end - 1 },
        _ => span,
    }
}
