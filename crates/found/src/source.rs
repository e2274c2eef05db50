//! Where lines come from: a file, stdin, or a found session, unpacked where it is packed. It must not read
//! records.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use parlor_dialect::{Format, Splitter};
use parlor_model::line::Line;

use crate::{FoundError, plain};

/// How many lines are looked at to find the format.
pub const DETECT_LINES: usize = 20;

/// A packed file may not unpack to more than this: a few kilobytes could otherwise fill the memory.
const UNPACKED_LIMIT: u64 = 4 * 1024 * 1024 * 1024;

/// How much of a file is read to find its format.
const HEAD_BYTES: u64 = 256 * 1024;

/// How much of a file is looked at to tell text from other things.
const BINARY_LOOK: usize = 1024;

/// Bytes that are made of lines.
#[derive(Clone, Debug)]
pub struct Source {
    /// What it is called in messages.
    pub name: String,
    /// The file, unless it is stdin.
    pub path: Option<PathBuf>,
    /// All of it, unpacked.
    pub bytes: Bytes,
}

impl Source {
    /// A file.
    pub fn file(path: &Path) -> Result<Source, FoundError> {
        let name = plain(&path.to_string_lossy());
        let bytes = read(path, &name)?;
        let start = &bytes[..bytes.len().min(BINARY_LOOK)];
        // A record may follow NUL bytes that a crash left behind, but no record holds one.
        let record = start.iter().find(|byte| !byte.is_ascii_whitespace() && **byte != 0);
        if start.contains(&0) && record != Some(&b'{') && !start.iter().all(|byte| *byte == 0) {
            return Err(FoundError(format!(
                "`{name}` is a binary file; sessions are text with one JSON record per line"
            )));
        }
        Ok(Source { name, path: Some(path.to_owned()), bytes })
    }

    /// The lines in order.
    pub fn lines(&self) -> impl Iterator<Item = Line> + '_ {
        Splitter::split(&self.bytes)
    }

    /// The format by the first lines. `None` when nobody claims them.
    pub fn detect(&self) -> Option<Format> {
        let head: Vec<Line> = self.lines().filter(|line| !line.is_blank()).take(DETECT_LINES).collect();
        Format::detect(&head)
    }

    /// True when there is nothing but white space.
    pub fn is_blank(&self) -> bool {
        self.lines().all(|line| line.is_blank())
    }
}

/// The format of a file by its first lines, without reading the rest.
pub fn format_of(path: &Path) -> Option<Format> {
    let mut head = Vec::new();
    File::open(path).ok()?.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    let lines: Vec<Line> = Splitter::split(&unpack(Bytes::from(head)).ok()?)
        .filter(|line| !line.is_blank())
        .take(DETECT_LINES)
        .collect();
    Format::detect(&lines)
}

/// The bytes of a file, unpacked, or a message that names it and says what to do.
fn read(path: &Path, name: &str) -> Result<Bytes, FoundError> {
    let file = File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => FoundError(format!("there is no file `{name}`")),
        ErrorKind::PermissionDenied => {
            FoundError(format!("no permission to read `{name}`; try `ls -l {name}` to see who may"))
        }
        _ => FoundError::of(format!("cannot open `{name}`"), &error),
    })?;
    let cannot = |error: io::Error| FoundError::of(format!("cannot read `{name}`"), &error);
    if file.metadata().map_err(cannot)?.is_dir() {
        return Err(FoundError(format!(
            "`{name}` is a folder; name a file in it, or list its sessions with `parlor show {name}`"
        )));
    }
    let bytes = parlor_map::bytes(&file).map_err(cannot)?;
    unpack(bytes)
        .map_err(|error| FoundError::of(format!("cannot unpack `{name}`: it may be cut or damaged"), &error))
}

/// Unpacks gzip and zstd, told by their first bytes; other bytes stay as they are.
pub fn unpack(bytes: Bytes) -> io::Result<Bytes> {
    match &bytes[..bytes.len().min(4)] {
        [0x1f, 0x8b, ..] => read_all(flate2::read::MultiGzDecoder::new(&bytes[..])),
        [0x28, 0xb5, 0x2f, 0xfd] => read_all(zstd::stream::read::Decoder::with_buffer(&bytes[..])?),
        _ => Ok(bytes),
    }
}

fn read_all(reader: impl Read) -> io::Result<Bytes> {
    let mut unpacked = Vec::new();
    reader.take(UNPACKED_LIMIT + 1).read_to_end(&mut unpacked)?;
    if unpacked.len() as u64 > UNPACKED_LIMIT {
        return Err(io::Error::other("it unpacks to more than 4 GB"));
    }
    Ok(Bytes::from(unpacked))
}
