//! Reads a text file with line numbers. It changes nothing, and refuses what is no text.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;

use serde::Deserialize;

use super::{Outcome, RESULT_BYTES, lenient, resolve};

/// The largest file that is read.
const FILE_BYTES: u64 = 64 << 20;
/// How many lines are given unless the model says otherwise.
const LINES: usize = 2_000;
/// How much of a line is given.
const LINE_CHARS: usize = 2_000;
/// Where one looks for bytes that no text has.
const PROBE: usize = 8_000;

/// The input.
#[derive(Debug, Deserialize)]
pub(crate) struct Read {
    file_path: String,
    #[serde(default, deserialize_with = "lenient::count")]
    offset: Option<u64>,
    #[serde(default, deserialize_with = "lenient::count")]
    limit: Option<u64>,
}

impl Read {
    pub(crate) fn run(&self, cwd: &Path) -> Outcome {
        let path = resolve(cwd, &self.file_path);
        bytes(&path).and_then(|bytes| self.lines(&path, &bytes)).into()
    }

    fn lines(&self, path: &Path, bytes: &[u8]) -> Result<Outcome, String> {
        let name = path.display();
        if let Some(picture) = picture(bytes) {
            return Ok(Outcome::done(format!(
                "{name} is {picture}, {} bytes. Pictures cannot be shown here.",
                bytes.len()
            )));
        }
        if bytes.iter().take(PROBE).any(|byte| *byte == 0) {
            let size = bytes.len();
            return Err(format!(
                "{name} is a binary file of {size} bytes. Look at it with `Bash`, such as by `file` or `xxd`."
            ));
        }
        let text = String::from_utf8_lossy(bytes);
        let total = text.lines().count();
        let count =
            |wanted: Option<u64>, usual| wanted.map_or(usual, |count| count.clamp(1, 1 << 40) as usize);
        let first = count(self.offset, 1);
        if total == 0 {
            return Ok(Outcome::done(format!("{name} is empty.")));
        }
        if first > total {
            return Err(format!("{name} has only {total} lines. Choose a smaller `offset`."));
        }
        let mut told = String::new();
        let mut next = first;
        for line in text.lines().skip(first - 1).take(count(self.limit, LINES)) {
            let short: String = line.chars().take(LINE_CHARS).collect();
            let mark = if short.len() < line.len() { " [… the line goes on]" } else { "" };
            if told.len() + short.len() + mark.len() + 120 > RESULT_BYTES {
                break;
            }
            let _ = writeln!(told, "{next:>6}\t{short}{mark}");
            next += 1;
        }
        if next <= total {
            let _ = write!(told, "[{name} has {total} lines; go on with offset {next}]");
        }
        let truncated = next <= total && self.limit.is_none();
        Ok(Outcome { truncated, ..Outcome::done(told) })
    }
}

/// The bytes of a file that is one, and not too large.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    let name = path.display();
    let problem = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("{name} does not exist. Find the right path with `Glob`."),
        _ => format!("{name} cannot be read: {error}."),
    };
    let facts = std::fs::metadata(path).map_err(problem)?;
    if facts.is_dir() {
        return Err(format!("{name} is a folder. List what is in it with `Glob`."));
    }
    if !facts.is_file() {
        return Err(format!("{name} is not a regular file, so it is not read."));
    }
    if facts.len() > FILE_BYTES {
        let (size, limit) = (facts.len() >> 20, FILE_BYTES >> 20);
        return Err(format!(
            "{name} is too large: {size} MB of at most {limit} MB. Read parts of it with `Bash` or `Grep`."
        ));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(FILE_BYTES).read_to_end(&mut bytes))
        .map_err(problem)?;
    Ok(bytes)
}

/// What kind of picture the bytes are.
fn picture(bytes: &[u8]) -> Option<String> {
    let size = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Some(format!("a PNG picture of {} × {} pixels", size(16)?, size(20)?));
    }
    let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    let kinds = [
        (bytes.starts_with(b"\xff\xd8\xff"), "a JPEG picture"),
        (bytes.starts_with(b"GIF8"), "a GIF picture"),
    ];
    let kind = kinds.iter().find(|(is_it, _)| *is_it).map(|(_, kind)| *kind);
    kind.or(is_webp.then_some("a WebP picture")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use parlor_model::seen::Ended;

    use super::*;

    fn read(content: &[u8], offset: Option<u64>, limit: Option<u64>) -> Outcome {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("f"), content).unwrap();
        Read { file_path: "f".into(), offset, limit }.run(folder.path())
    }

    #[test]
    fn lines_are_numbered_and_the_rest_is_announced() {
        assert_eq!(read(b"a\nb\n", None, None).text, "     1\ta\n     2\tb\n");
        let part = read(b"a\nb\nc\nd\n", Some(2), Some(2)).text;
        assert!(
            part.starts_with("     2\tb\n     3\tc\n[") && part.ends_with("go on with offset 4]"),
            "{part}"
        );
        assert!(read(b"a\n", Some(9), None).text.contains("only 1 lines"));
        assert!(read(b"", None, None).text.contains("is empty"));
    }

    #[test]
    fn a_long_file_ends_at_a_line_and_says_where_to_go_on() {
        let outcome = read("x".repeat(99).as_bytes(), None, None);
        assert!(!outcome.truncated);
        let outcome = read("some words in a line\n".repeat(5_000).as_bytes(), None, None);
        assert!(outcome.truncated && outcome.text.len() <= RESULT_BYTES);
        assert!(outcome.text.contains("has 5000 lines; go on with offset"));
    }

    #[test]
    fn what_is_no_text_is_refused_with_a_way_out() {
        let binary = read(b"ab\0cd", None, None);
        assert!(binary.state == Ended::Failed && binary.text.contains("binary file of 5 bytes"));
        let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        png.extend([0, 0, 0, 3, 0, 0, 0, 5]);
        assert!(read(&png, None, None).text.contains("a PNG picture of 3 × 5 pixels"));
        let folder = tempfile::tempdir().unwrap();
        let read =
            |path: &str| Read { file_path: path.into(), offset: None, limit: None }.run(folder.path()).text;
        assert!(read(".").contains("is a folder"));
        assert!(read("none").contains("does not exist"));
        assert!(read("/dev/zero").contains("not a regular file"));
    }
}
