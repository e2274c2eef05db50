//! Splits what a program prints into lines of bounded length. It reads nothing by itself and knows no format.

use bytes::{Bytes, BytesMut};

/// The longest line that is kept whole.
pub(crate) const LINE_LIMIT: usize = 32 << 20;

/// One line of a program's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Its bytes without the line end, as they came.
    pub(crate) bytes: Bytes,
    /// How many bytes were left out at its end.
    pub(crate) cut: u64,
}

/// Collects bytes until there are lines.
#[derive(Debug)]
pub(crate) struct Lines {
    limit: usize,
    begun: BytesMut,
    /// Bytes left out of the line that has begun.
    cut: u64,
}

impl Lines {
    /// Lines of at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Lines {
        Lines { limit, begun: BytesMut::new(), cut: 0 }
    }

    /// Takes what was read and hands over the lines that it completes.
    pub(crate) fn push(&mut self, mut read: &[u8], out: &mut Vec<Line>) {
        while let Some(end) = memchr::memchr(b'\n', read) {
            self.add(&read[..end]);
            out.push(self.take());
            read = &read[end + 1..];
        }
        self.add(read);
    }

    /// The line that never got its end.
    pub(crate) fn finish(&mut self) -> Option<Line> {
        (!self.begun.is_empty()).then(|| self.take())
    }

    fn add(&mut self, bytes: &[u8]) {
        let room = self.limit.saturating_sub(self.begun.len()).min(bytes.len());
        self.begun.extend_from_slice(&bytes[..room]);
        self.cut += (bytes.len() - room) as u64;
    }

    fn take(&mut self) -> Line {
        let mut bytes = std::mem::take(&mut self.begun).freeze();
        if bytes.last() == Some(&b'\r') {
            bytes.truncate(bytes.len() - 1);
        }
        Line { bytes, cut: std::mem::take(&mut self.cut) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(limit: usize, pieces: &[&[u8]]) -> Vec<(Vec<u8>, u64)> {
        let (mut lines, mut out) = (Lines::new(limit), Vec::new());
        for piece in pieces {
            lines.push(piece, &mut out);
        }
        out.extend(lines.finish());
        out.into_iter().map(|line| (line.bytes.to_vec(), line.cut)).collect()
    }

    #[test]
    fn lines_come_out_however_they_were_read() {
        let whole = split(100, &[b"one\r\n\ntwo\xff\nthree"]);
        let bytes: Vec<&[u8]> = b"one\r\n\ntwo\xff\nthree".chunks(1).collect();
        assert_eq!(whole, split(100, &bytes));
        let expected: [&[u8]; 4] = [b"one", b"", b"two\xff", b"three"];
        assert_eq!(whole.iter().map(|(line, _)| line.as_slice()).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_long_line_is_cut_and_the_next_one_is_whole() {
        let lines = split(4, &[b"123", b"45678", b"9\nabc\n"]);
        assert_eq!(lines, [(b"1234".to_vec(), 5), (b"abc".to_vec(), 0)]);
    }
}
