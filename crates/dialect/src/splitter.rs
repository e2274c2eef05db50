//! Bytes become lines, however the bytes are cut up.

use bytes::{Bytes, BytesMut};
use parlor_model::line::Line;

/// Splits at LF only: U+2028, U+2029 and U+0085 are legal inside JSON strings.
#[derive(Debug, Default)]
pub struct Splitter {
    rest: BytesMut,
}

impl Splitter {
    /// Takes the next bytes and gives every line that is complete.
    pub fn push(&mut self, bytes: &[u8], lines: &mut Vec<Line>) {
        let mut bytes = bytes;
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            self.rest.extend_from_slice(&bytes[..end]);
            lines.push(Line::new(self.rest.split().freeze()));
            bytes = &bytes[end + 1..];
        }
        self.rest.extend_from_slice(bytes);
    }

    /// Gives the last line, when the input does not end with LF.
    pub fn finish(&mut self) -> Option<Line> {
        (!self.rest.is_empty()).then(|| Line::new(self.rest.split().freeze()))
    }

    /// Splits bytes that are all there: the lines share them.
    pub fn split(bytes: &Bytes) -> impl Iterator<Item = Line> + '_ {
        let mut at = 0;
        std::iter::from_fn(move || {
            let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
            let end = memchr::memchr(b'\n', rest).map_or(bytes.len(), |end| at + end);
            let line = Line::new(bytes.slice(at..end));
            at = end + 1;
            Some(line)
        })
    }
}
