//! Lines of server-sent events. It knows the framing and nothing of what is sent.

use parlor_model::line::Line;

/// One line of a stream of events.
pub(crate) enum Sse {
    /// The JSON after `data:`, or a bare line of JSON: recordings often keep only that.
    Data(Line),
    /// `data: [DONE]`.
    Done,
    /// A JSON after `error:`, which some gateways write.
    Error(Line),
    /// A comment: a heartbeat.
    Comment,
    /// The name, id or retry time of the event whose data follows.
    Field,
    /// Not a line of such a stream.
    Other,
}

impl Sse {
    /// Reads a line.
    pub(crate) fn of(line: &Line) -> Sse {
        let bytes = line.bytes();
        let after = |prefix: &[u8]| -> Option<Line> {
            let rest = bytes.strip_prefix(prefix)?;
            let start =
                bytes.len() - rest.len() + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            Some(line.tail(start))
        };
        if let Some(data) = after(b"data:") {
            return match data.bytes().trim_ascii_end() {
                b"[DONE]" => Sse::Done,
                b"" => Sse::Field,
                _ => Sse::Data(data),
            };
        }
        if let Some(error) = after(b"error:") {
            return Sse::Error(error);
        }
        match bytes.trim_ascii_start().first() {
            Some(b'{') => Sse::Data(line.clone()),
            Some(b':') => Sse::Comment,
            _ if [&b"event:"[..], b"id:", b"retry:"].iter().any(|field| bytes.starts_with(field)) => {
                Sse::Field
            }
            _ if bytes.trim_ascii() == b"[DONE]" => Sse::Done,
            _ => Sse::Other,
        }
    }
}
