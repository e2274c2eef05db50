//! Where lines come from: a file, stdin, or a found session, unpacked where it is packed. It must not read
//! records.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use parlor_dialect::{Format, Splitter};
use parlor_model::line::Line;

use crate::args::Input;
use crate::{find, terminal};

/// How many lines are looked at to find the format.
pub(crate) const DETECT_LINES: usize = 20;

/// A packed file may not unpack to more than this: a few kilobytes could otherwise fill the memory.
const UNPACKED_LIMIT: u64 = 4 * 1024 * 1024 * 1024;

/// How much of a file is looked at to tell text from other things.
const BINARY_LOOK: usize = 1024;

/// Bytes that are made of lines.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// What it is called in messages.
    pub(crate) name: String,
    /// The file, unless it is stdin.
    pub(crate) path: Option<PathBuf>,
    /// All of it, unpacked.
    pub(crate) bytes: Bytes,
}

impl Source {
    /// What was typed for a session: a path, `-`, or the start of an id.
    pub(crate) fn named(name: &str) -> Result<Source> {
        if name == "-" {
            return Source::stdin();
        }
        let path = Path::new(name);
        let missing = matches!(path.symlink_metadata(), Err(error) if error.kind() == ErrorKind::NotFound);
        if !missing {
            return Source::file(path);
        }
        if name.contains(['/', '\\']) || name.ends_with(".jsonl") {
            bail!(
                "there is no file `{}`; run `parlor ls` to see the sessions on this machine",
                terminal::plain(name)
            );
        }
        Source::file(&find::by_id(name)?)
    }

    /// A file.
    pub(crate) fn file(path: &Path) -> Result<Source> {
        let name = terminal::plain(&path.to_string_lossy());
        let bytes = read(path, &name)?;
        let start = &bytes[..bytes.len().min(BINARY_LOOK)];
        // A record may follow NUL bytes that a crash left behind, but no record holds one.
        let record = start.iter().find(|byte| !byte.is_ascii_whitespace() && **byte != 0);
        if start.contains(&0) && record != Some(&b'{') && !start.iter().all(|byte| *byte == 0) {
            bail!("`{name}` is a binary file; sessions are text with one JSON record per line");
        }
        Ok(Source { name, path: Some(path.to_owned()), bytes })
    }

    /// All of stdin.
    pub(crate) fn stdin() -> Result<Source> {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).context("cannot read stdin")?;
        let bytes = unpack(Bytes::from(bytes)).context("cannot unpack stdin")?;
        Ok(Source { name: "stdin".into(), path: None, bytes })
    }

    /// The lines in order.
    pub(crate) fn lines(&self) -> impl Iterator<Item = Line> + '_ {
        Splitter::split(&self.bytes)
    }

    /// The format by the first lines, unless it is known already. `None` when nobody claims them.
    pub(crate) fn detect(&self, input: Input) -> Option<Format> {
        match input {
            Input::Known(format) => Some(format),
            Input::Auto => {
                let head: Vec<Line> =
                    self.lines().filter(|line| !line.is_blank()).take(DETECT_LINES).collect();
                Format::detect(&head)
            }
        }
    }

    /// The format, or a message that says what to do without one.
    pub(crate) fn format(&self, input: Input) -> Result<Format> {
        self.detect(input).with_context(|| {
            let formats = Format::ALL.map(Format::name).join(", ");
            format!("`{}` is in no format that Parlor knows; if you know better, say `--from` and one of: {formats}", self.name)
        })
    }

    /// True when there is nothing but white space.
    pub(crate) fn is_blank(&self) -> bool {
        self.lines().all(|line| line.is_blank())
    }
}

/// The bytes of a file, unpacked, or a message that names it and says what to do.
fn read(path: &Path, name: &str) -> Result<Bytes> {
    let file = File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => anyhow::anyhow!("there is no file `{name}`"),
        ErrorKind::PermissionDenied => {
            anyhow::anyhow!("no permission to read `{name}`; try `ls -l {name}` to see who may")
        }
        _ => anyhow::Error::new(error).context(format!("cannot open `{name}`")),
    })?;
    let metadata = file.metadata().with_context(|| format!("cannot read `{name}`"))?;
    if metadata.is_dir() {
        bail!("`{name}` is a folder; name a file in it, or list its sessions with `parlor show {name}`");
    }
    let bytes = parlor_map::bytes(&file).with_context(|| format!("cannot read `{name}`"))?;
    unpack(bytes).with_context(|| format!("cannot unpack `{name}`: it may be cut or damaged"))
}

/// Unpacks gzip and zstd, told by their first bytes; other bytes stay as they are.
fn unpack(bytes: Bytes) -> Result<Bytes> {
    match &bytes[..bytes.len().min(4)] {
        [0x1f, 0x8b, ..] => read_all(flate2::read::MultiGzDecoder::new(&bytes[..])),
        [0x28, 0xb5, 0x2f, 0xfd] => read_all(zstd::stream::read::Decoder::with_buffer(&bytes[..])?),
        _ => Ok(bytes),
    }
}

fn read_all(reader: impl Read) -> Result<Bytes> {
    let mut unpacked = Vec::new();
    reader.take(UNPACKED_LIMIT + 1).read_to_end(&mut unpacked)?;
    if unpacked.len() as u64 > UNPACKED_LIMIT {
        bail!("it unpacks to more than 4 GB");
    }
    Ok(Bytes::from(unpacked))
}
