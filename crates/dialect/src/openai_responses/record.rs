//! One event as spans. It says nothing about them.

use parlor_model::json::{Kind, Reader, Span};

/// An event's fields, whatever its type.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) kind: Option<Span>,
    pub(super) index: Option<u64>,
    pub(super) item_id: Option<Span>,
    pub(super) part: u64,
    pub(super) delta: Option<Span>,
    pub(super) pieces: Vec<Span>,
    pub(super) text: Option<Span>,
    pub(super) item: Option<Span>,
    pub(super) response: Option<Span>,
    pub(super) error: Option<Span>,
    pub(super) message: Option<Span>,
    pub(super) object: Option<Span>,
}

impl Record {
    pub(super) fn field(&mut self, reader: &mut Reader<'_>, key: &[u8]) {
        match key {
            b"type" => self.kind = reader.text(),
            b"output_index" => self.index = reader.number().map(|index| index as u64),
            b"item_id" => self.item_id = reader.text(),
            b"content_index" | b"summary_index" => {
                self.part = reader.number().map_or(0, |index| index as u64)
            }
            b"delta" if reader.kind() == Kind::Object => {
                reader.object(|reader, _| self.pieces.extend(reader.text()));
            }
            b"delta" => self.delta = reader.text(),
            b"text" | b"refusal" => self.text = reader.text(),
            b"item" => self.item = Some(reader.raw()),
            b"response" => self.response = Some(reader.raw()),
            b"error" => self.error = Some(reader.raw()),
            b"message" => self.message = reader.text(),
            b"object" => self.object = reader.text(),
            _ => {}
        }
    }
}
