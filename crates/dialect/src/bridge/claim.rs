//! Which lines are cli-bridge's own. It reads no further than their keys.

use parlor_model::json::{Kind, Reader, Span};
use parlor_model::line::Line;

use crate::Claim;

/// How sure this format is that the line is its own.
pub(crate) fn claim(line: &Line) -> Claim {
    let mut reader = Reader::new(line.bytes());
    let (mut kind, mut inner, mut keys) = (None, None, Keys::default());
    reader.object(|reader, key| match key {
        b"type" => kind = reader.text(),
        b"message" if reader.kind() == Kind::Object => {
            reader.object(|reader, key| {
                if key == b"type" {
                    inner = reader.text();
                }
            });
        }
        _ => keys.take(reader, key),
    });
    let word = |span: Option<Span>| span.map(|span| line.word(span)).unwrap_or_default();
    if keys.foreign {
        return Claim::No;
    }
    let known = is_kind(word(inner));
    match word(kind) {
        b"stream" if known => Claim::Yes,
        b"" if known && keys.id => Claim::Yes,
        b"" | b"history" if keys.messages && keys.has_more => Claim::Yes,
        b"assistant" if keys.delta && keys.content => Claim::Yes,
        b"state" if keys.state => Claim::Yes,
        b"usage" if keys.tokens => Claim::Yes,
        b"tool_result" if keys.id && keys.output => Claim::Yes,
        b"progress" if keys.id && keys.elapsed => Claim::Yes,
        b"subagent_start" | b"subagent_complete" if keys.id => Claim::Yes,
        b"user" | b"assistant" | b"system" | b"thinking" if keys.content => Claim::Maybe,
        b"tool_use" if keys.id => Claim::Maybe,
        _ => Claim::No,
    }
}

/// The top-level keys that tell this format from its neighbours.
#[derive(Default)]
struct Keys {
    id: bool,
    content: bool,
    delta: bool,
    state: bool,
    tokens: bool,
    output: bool,
    elapsed: bool,
    messages: bool,
    has_more: bool,
    foreign: bool,
}

impl Keys {
    fn take(&mut self, reader: &mut Reader<'_>, key: &[u8]) {
        match key {
            b"id" => self.id = true,
            b"content" => self.content = true,
            b"delta" => self.delta = matches!(reader.kind(), Kind::True | Kind::False),
            b"state" => self.state = reader.kind() == Kind::String,
            b"inputTokens" | b"outputTokens" => self.tokens = true,
            b"output" => self.output = true,
            b"elapsed" => self.elapsed = true,
            b"messages" => self.messages = reader.kind() == Kind::Array,
            b"hasMore" => self.has_more = true,
            // Session files and other apps name their sessions and chains; this one never does.
            b"session_id" | b"sessionId" | b"uuid" | b"parentUuid" | b"parentId" | b"metadata" => {
                self.foreign = true
            }
            _ => {}
        }
    }
}

fn is_kind(kind: &[u8]) -> bool {
    matches!(
        kind,
        b"assistant"
            | b"user"
            | b"system"
            | b"thinking"
            | b"tool_use"
            | b"tool_result"
            | b"progress"
            | b"usage"
            | b"state"
            | b"permission"
            | b"question"
            | b"subagent_start"
            | b"subagent_complete"
    )
}
