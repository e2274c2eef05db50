//! How searchable text lies in the index: pieces joined into compressed blocks, each with a filter of its trigrams.
//! Only bytes in and out; it knows no files.

use std::cell::RefCell;
use std::ops::Range;

use parlor_model::Key;
use parlor_model::time::Time;

/// The text of one entry, as it can be searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The entry that the text belongs to.
    pub entry: Key,
    /// When it was said.
    pub at: Option<Time>,
    /// The text. Only the first 8 MB of it can be found.
    pub text: String,
}

/// A block is closed at this size: big enough to compress well, small enough to unpack for one hit.
pub(crate) const BLOCK_BYTES: usize = 64 * 1024;

/// How many pieces a block has at most: their index has 12 bits in the number of a document.
pub(crate) const BLOCK_PIECES: usize = 1 << 12;

/// A packed block begins with the place of its text.
const START_BYTES: usize = 4;

/// How much of a piece is indexed.
pub(crate) const PIECE_BYTES: usize = 8 * 1024 * 1024;

/// A block's text and the directory of its pieces, unpacked.
pub(crate) struct Block {
    /// For each piece the lengths of its text and of its entry's name, when it was said, and the name.
    directory: Vec<u8>,
    text: String,
}

/// Takes packed blocks apart, one after the other in the same memory.
#[derive(Default)]
pub(crate) struct Unpacker {
    buffer: Vec<u8>,
}

thread_local! {
    /// What the library works with. To make it takes four times as long as to unpack a block.
    static CONTEXT: RefCell<zstd::bulk::Decompressor<'static>> = RefCell::default();
}

/// One piece inside a block.
pub(crate) struct Part<'a> {
    pub(crate) entry: &'a str,
    pub(crate) at: Option<Time>,
    /// Where its text is in the text of the block.
    pub(crate) range: Range<usize>,
}

impl Block {
    /// Joins pieces; each text is followed by a line end.
    pub(crate) fn join<'a>(parts: impl IntoIterator<Item = (&'a str, Option<Time>, &'a str)>) -> Block {
        let (mut directory, mut all) = (Vec::new(), String::new());
        for (entry, at, text) in parts {
            let entry = cut(entry, usize::from(u16::MAX));
            directory.extend((text.len() as u32).to_le_bytes());
            directory.extend((entry.len() as u16).to_le_bytes());
            directory.extend(at.map_or(i64::MIN, |at| at.0).to_le_bytes());
            directory.extend(entry.as_bytes());
            all.push_str(text);
            all.push('\n');
        }
        Block { directory, text: all }
    }

    /// Compresses it: where the text begins, the directory, the text.
    pub(crate) fn pack(&self) -> std::io::Result<Vec<u8>> {
        let mut raw = Vec::with_capacity(self.raw_bytes());
        raw.extend((START_BYTES as u32 + self.directory.len() as u32).to_le_bytes());
        raw.extend(&self.directory);
        raw.extend(self.text.as_bytes());
        zstd::bulk::compress(&raw, 3)
    }

    /// Its size before compression.
    pub(crate) fn raw_bytes(&self) -> usize {
        START_BYTES + self.directory.len() + self.text.len()
    }

    /// All its text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Its pieces in order; fewer, if the directory is damaged.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let mut directory = self.directory.as_slice();
        let text = self.text();
        let mut start = 0;
        std::iter::from_fn(move || {
            let (fixed, rest) = directory.split_at_checked(14)?;
            let text_bytes = u32::from_le_bytes(fixed[..4].try_into().ok()?) as usize;
            let entry_bytes = usize::from(u16::from_le_bytes(fixed[4..6].try_into().ok()?));
            let at = i64::from_le_bytes(fixed[6..14].try_into().ok()?);
            let (entry, rest) = rest.split_at_checked(entry_bytes)?;
            directory = rest;
            let range = start..start + text_bytes;
            text.get(range.clone())?;
            start = range.end + 1;
            let at = (at != i64::MIN).then_some(Time(at));
            Some(Part { entry: std::str::from_utf8(entry).ok()?, at, range })
        })
    }
}

impl Unpacker {
    /// Takes a block apart that was packed before; `None` if it is not one.
    pub(crate) fn unpack(&mut self, packed: &[u8], raw_bytes: usize) -> Option<Block> {
        // The number comes from a file that may be damaged.
        if raw_bytes > 2 * PIECE_BYTES {
            return None;
        }
        let mut raw = std::mem::take(&mut self.buffer);
        raw.clear();
        raw.reserve(raw_bytes);
        CONTEXT.with_borrow_mut(|context| context.decompress_to_buffer(packed, &mut raw)).ok()?;
        let text_start = u32::from_le_bytes(raw.get(..START_BYTES)?.try_into().ok()?) as usize;
        let directory = raw.get(START_BYTES..text_start)?.to_vec();
        raw.drain(..text_start);
        Some(Block { directory, text: String::from_utf8(raw).ok()? })
    }

    /// Takes the memory of a block back, to be used again.
    pub(crate) fn recycle(&mut self, block: Block) {
        self.buffer = block.text.into_bytes();
    }
}

/// The beginning of `text`, at most `bytes` long, without cutting a character.
pub(crate) fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// Tells which blocks cannot contain a text: one bit for every three bytes in a row, whatever their case.
pub(crate) struct Grams {
    bits: Vec<u8>,
}

impl Grams {
    /// The filter of `text`, a sixteenth of its size.
    pub(crate) fn of(text: &str) -> Grams {
        // These two fold to the letters k and s, which the needle's own bytes would not show.
        if text.contains(['\u{212a}', '\u{17f}']) {
            return Grams { bits: vec![0xff; 1] };
        }
        let mut bits = vec![0; (text.len() / 16).clamp(16, BLOCK_BYTES / 16)];
        let count = bits.len() as u64 * 8;
        for gram in text.as_bytes().windows(3) {
            let bit = place(gram, count);
            bits[bit / 8] |= 1 << (bit % 8);
        }
        Grams { bits }
    }

    /// As it lies in the file.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bits
    }

    /// Whether the text behind the filter `bits` may contain `needle`, without regard to case.
    pub(crate) fn may_contain(bits: &[u8], needle: &[u8]) -> bool {
        let count = bits.len() as u64 * 8;
        needle.windows(3).filter(|gram| gram.is_ascii()).all(|gram| {
            let bit = place(gram, count);
            bits.get(bit / 8).is_some_and(|byte| byte & (1 << (bit % 8)) != 0)
        })
    }
}

/// Where the bit of three bytes is among `count`.
fn place(gram: &[u8], count: u64) -> usize {
    let folded = gram.iter().fold(0_u32, |folded, byte| folded << 8 | u32::from(byte.to_ascii_lowercase()));
    let hash = u64::from(folded.wrapping_mul(0x9e37_79b1));
    ((hash * count) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_comes_back_as_it_was() {
        let pieces =
            [("a/1", Some(Time(-5)), "first"), ("", None, ""), ("käse", Some(Time(7)), "zwei\nZeilen ✓")];
        let block = Block::join(pieces);
        let packed = block.pack().unwrap();
        let again = Unpacker::default().unpack(&packed, block.raw_bytes()).unwrap();
        let parts: Vec<_> =
            again.parts().map(|part| (part.entry, part.at, &again.text()[part.range.clone()])).collect();
        assert_eq!(parts, pieces);
    }

    #[test]
    fn damaged_blocks_are_refused_or_cut_but_never_panic() {
        let block = Block::join([("a", None, "text"), ("b", None, "more text")]);
        let packed = block.pack().unwrap();
        let mut unpacker = Unpacker::default();
        let mut survived = 0;
        let whole = zstd::bulk::decompress(&packed, block.raw_bytes()).unwrap();
        for index in 0..whole.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut raw = whole.clone();
                raw[index] = value;
                let packed = zstd::bulk::compress(&raw, 3).unwrap();
                if let Some(block) = unpacker.unpack(&packed, raw.len()) {
                    assert!(block.parts().count() <= 2 + raw.len() / 14);
                    survived += 1;
                }
            }
        }
        assert!(survived > 0, "most scribbles leave something to be read");
        for length in 0..packed.len() {
            assert!(Unpacker::default().unpack(&packed[..length], block.raw_bytes()).is_none());
        }
    }

    #[test]
    fn the_filter_never_denies_what_is_there() {
        let text = "Fn Main() { let käse = \"ÄÖÜ\"; }\nsecond LINE";
        let grams = Grams::of(text);
        for (start, _) in text.char_indices() {
            for (end, _) in text.char_indices().filter(|(end, _)| *end > start) {
                assert!(
                    Grams::may_contain(grams.bytes(), &text.as_bytes()[start..end]),
                    "{}",
                    &text[start..end]
                );
                assert!(Grams::may_contain(grams.bytes(), text[start..end].to_ascii_uppercase().as_bytes()));
            }
        }
        assert!(Grams::may_contain(Grams::of("\u{212a}elvin").bytes(), b"kelvin"));
        assert!(!Grams::may_contain(grams.bytes(), b"entirely different words"));
    }
}
