//! The end of a large file, read before the rest, so that there is something to look at meanwhile. It is a view of its
//! own, and the whole replaces it: it must not be followed, continued or kept.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use bytes::Bytes;
use parlor_dialect::Format;
use parlor_found::DETECT_LINES;
use parlor_model::line::Line;
use parlor_model::record::{Origin, Record};

use crate::follow::is_packed;
use crate::view::View;

/// The epoch of every glance: no whole session has it.
pub const EPOCH: &str = "end";

/// A smaller file is read whole in about the time that its end takes.
const LARGE: u64 = 4 << 20;

/// No more of the end is read than this, and never most of the file.
const MOST: u64 = 16 << 20;

/// How much is read at once. A large piece of memory would have the allocator put its house in order first, which takes
/// longer than all the rest of the reading.
const PIECE_BYTES: u64 = 64 << 10;

/// So many lines are folded to see how many entries they make that stand by themselves: in some sessions nearly every line
/// makes one, and where an agent's helpers speak, few do.
const SAMPLE: usize = 32;

/// Then as many are folded as it seems to take, and a quarter on top; at the last try all that may be read.
const TRIES: usize = 3;

/// The end of the file at `path` with more than `roots` entries that stand by themselves, where they fit. `None` when the
/// file is not large, or when its end holds nothing to look at.
pub(crate) fn glance(path: &Path, roots: usize) -> Option<View> {
    let size = fs::metadata(path).ok()?.len();
    if size < LARGE || is_packed(path) {
        return None;
    }
    let mut end = End::of(path, size)?;
    let mut view = fold(end.last(SAMPLE)?)?;
    let mut lines = SAMPLE;
    for again in 0..TRIES {
        let shown = view.roots().len();
        if shown > roots {
            break;
        }
        lines = match again + 1 == TRIES {
            true => usize::MAX,
            false => lines.saturating_mul(roots + 1) / shown.max(1) * 5 / 4,
        };
        view = fold(end.last(lines)?)?;
    }
    (!view.roots().is_empty()).then_some(view)
}

/// The end of a file, as far as it has been read.
struct End {
    file: File,
    /// Where what has been read begins, and how far back may be read.
    start: u64,
    least: u64,
    /// The lines that are whole.
    lines: VecDeque<Line>,
    /// The end of the line before them; `None` while it may be the unfinished last line of the file.
    open: Option<Bytes>,
}

impl End {
    fn of(path: &Path, size: u64) -> Option<End> {
        let least = size - MOST.min(size / 4);
        Some(End { file: File::open(path).ok()?, start: size, least, lines: VecDeque::new(), open: None })
    }

    /// The last lines, at most so many. No more is read than it takes.
    fn last(&mut self, count: usize) -> Option<impl Iterator<Item = &Line>> {
        while self.lines.len() < count && self.start > self.least {
            // As much again of a line that goes on and on, so that it is not copied once for every piece.
            let size = PIECE_BYTES.max(self.open.as_ref().map_or(0, Bytes::len) as u64);
            let size = size.min(self.start - self.least);
            self.start -= size;
            let mut piece = Vec::with_capacity(size as usize);
            self.file.seek(SeekFrom::Start(self.start)).ok()?;
            (&self.file).take(size).read_to_end(&mut piece).ok().filter(|read| *read as u64 == size)?;
            self.put_before(piece.into());
        }
        Some(self.lines.range(self.lines.len().saturating_sub(count)..))
    }

    fn put_before(&mut self, piece: Bytes) {
        let mut until = piece.len();
        for end in memchr::memrchr_iter(b'\n', &piece) {
            let part = piece.slice(end + 1..until);
            if let Some(open) = self.open.replace(Bytes::new()) {
                self.lines.push_front(Line::new(joined(part, open)));
            }
            until = end;
        }
        if let Some(open) = self.open.take() {
            self.open = Some(joined(piece.slice(..until), open));
        }
    }
}

/// Two pieces as one; only a line that lies in both is copied.
fn joined(first: Bytes, second: Bytes) -> Bytes {
    match (first.is_empty(), second.is_empty()) {
        (true, _) => second,
        (_, true) => first,
        _ => [first, second].concat().into(),
    }
}

fn fold<'a>(lines: impl Iterator<Item = &'a Line>) -> Option<View> {
    let lines: Vec<&Line> = lines.collect();
    let first: Vec<Line> = lines.iter().take(DETECT_LINES).copied().cloned().collect();
    let mut view = View::new(EPOCH.into(), Some(Format::detect(&first)?));
    for line in lines {
        view.push(Record { seq: view.end(), at: None, origin: Origin::Agent, body: line.bytes().clone() });
    }
    Some(view)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::follow::Follow;

    fn write(path: &Path, lines: usize) -> u64 {
        let mut file = File::create(path).unwrap();
        let filler = "and so on ".repeat(100);
        for line in 0..lines {
            let record = format!(
                r#"{{"type":"assistant","uuid":"u{line}","sessionId":"s","message":{{"id":"m{line}","role":"assistant","content":[{{"type":"text","text":"{line} {filler}"}}]}}}}"#
            );
            writeln!(file, "{record}").unwrap();
        }
        file.metadata().unwrap().len()
    }

    #[test]
    fn the_end_of_a_large_file_reads_as_in_the_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large.jsonl");
        assert!(write(&path, 5_000) > LARGE);
        let (_, whole) = Follow::open(&path, 0).unwrap();
        let end = glance(&path, 200).unwrap();
        assert!((200..2_000).contains(&end.roots().len()), "little of it was read");
        let last = |view: &View| -> Vec<(String, String)> {
            let entries = view.entries().iter().rev().take(200);
            entries.map(|entry| (entry.id.to_string(), format!("{:?}", entry.block))).collect()
        };
        assert_eq!(last(&end), last(&whole));
        assert_ne!(end.epoch, whole.epoch);
        assert_eq!(end.session().counts.unknown, 0, "the line that was cut is left out");
    }

    #[test]
    fn the_last_lines_are_whole_however_long_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let piece = PIECE_BYTES as usize;
        let lengths = [5 * piece, 3, piece - 1, 0, piece, 10 * piece, 1, piece + 1, 0, 0, 7];
        let letter = |line: usize, at: usize| char::from(b'a' + ((at + at / 26 + line) % 26) as u8);
        let text = |line| (0..lengths[line % lengths.len()]).map(|at| letter(line, at)).collect();
        let lines: Vec<String> = (0..44).map(text).collect();
        for unfinished in ["", "unfinished", &"x".repeat(2 * piece)] {
            fs::write(&path, format!("{}\n{unfinished}", lines.join("\n"))).unwrap();
            let size = fs::metadata(&path).unwrap().len();
            let mut end = End::of(&path, size).unwrap();
            // In steps, as a second try asks for more.
            for count in [1, 2, 5, 10, usize::MAX] {
                let last: Vec<String> = end
                    .last(count)
                    .unwrap()
                    .map(|line| String::from_utf8(line.bytes().to_vec()).unwrap())
                    .collect();
                assert!(last.len() == count || count == usize::MAX && last.len() > 5, "{count}");
                assert!(lines.ends_with(&last), "{count}");
            }
        }
    }

    #[test]
    fn a_small_file_and_one_whose_end_is_a_single_line_are_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("small.jsonl");
        write(&path, 100);
        assert!(glance(&path, 10).is_none());
        let long = format!(
            r#"{{"type":"user","uuid":"long","sessionId":"s","message":{{"role":"user","content":"{}"}}}}"#,
            "x".repeat(LARGE as usize)
        );
        let mut file = File::options().append(true).open(&path).unwrap();
        writeln!(file, "{long}").unwrap();
        assert!(glance(&path, 10).is_none());
    }
}
