//! The end of a large file, read before the rest, so that there is something to look at meanwhile. It is a view of its
//! own, and the whole replaces it: it must not be followed, continued or kept.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use bytes::Bytes;
use parlor_dialect::{Format, Splitter};
use parlor_found::format_of;
use parlor_model::record::{Origin, Record};

use crate::follow::is_packed;
use crate::view::View;

/// The epoch of every glance: no whole session has it.
pub const EPOCH: &str = "end";

/// A smaller file is read whole in about the time that its end takes.
const LARGE: u64 = 4 << 20;

/// How much of the end is read: more where records are long, but not without bound, and never most of the file.
const BYTES: [u64; 3] = [1 << 20, 4 << 20, 16 << 20];

/// The end of the file at `path` with more than `roots` entries that stand by themselves, where they fit. `None` when the
/// file is not large, or when its end holds nothing to look at.
pub(crate) fn glance(path: &Path, roots: usize) -> Option<View> {
    let size = fs::metadata(path).ok()?.len();
    if size < LARGE || is_packed(path) {
        return None;
    }
    let format = format_of(path)?;
    let mut view = None;
    for bytes in BYTES.into_iter().take_while(|bytes| bytes * 4 <= size) {
        let end = fold(&last_lines(path, size - bytes)?, format);
        let enough = end.roots().len() > roots;
        view = Some(end);
        if enough {
            break;
        }
    }
    view.filter(|view| !view.roots().is_empty())
}

/// The lines after a place in a file that are whole.
fn last_lines(path: &Path, from: u64) -> Option<Bytes> {
    let mut file = File::open(path).ok()?;
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut piece = Vec::new();
    file.take(BYTES[BYTES.len() - 1]).read_to_end(&mut piece).ok()?;
    let piece = Bytes::from(piece);
    let end = memchr::memrchr(b'\n', &piece).map_or(0, |end| end + 1);
    let start = memchr::memchr(b'\n', &piece).map_or(0, |start| start + 1);
    Some(piece.slice(start.min(end)..end))
}

fn fold(lines: &Bytes, format: Format) -> View {
    let mut view = View::new(EPOCH.into(), Some(format));
    for line in Splitter::split(lines) {
        view.push(Record { seq: view.end(), at: None, origin: Origin::Agent, body: line.bytes().clone() });
    }
    view
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
