//! A file that an agent writes, followed as it grows: bytes become records, whole lines only. It must not decode them,
//! nor decide when to look.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use parlor_dialect::Splitter;
use parlor_found::{Found, FoundError, Growth, Source, Subagents};
use parlor_model::Key;
use parlor_model::json::Reader;
use parlor_model::line::Line;
use parlor_model::record::{Origin, Record};

use crate::clock;
use crate::view::View;

/// How much is read at once: records that follow are folded in between.
const PIECE_BYTES: u64 = 8 << 20;

/// How much of what was read is compared with the file when it has grown.
const MARK_BYTES: usize = 64;

/// A last line without its end is taken for whole after this long.
const PATIENCE: Duration = Duration::from_millis(800);

/// Where a file's reader stands.
pub(crate) struct Follow {
    pub(crate) path: PathBuf,
    /// The file itself, open since it was first seen to grow: opening it for every line would wake whoever watches the
    /// folder, ourselves among them.
    file: Option<File>,
    /// Tells this file from another one of the same name.
    identity: u64,
    /// When it was written last, as far as it was looked at.
    modified: Option<SystemTime>,
    /// How much has been read, the unfinished line included.
    read: u64,
    /// The last bytes that were read: a file that was written anew, in place and longer, has others there.
    mark: Vec<u8>,
    /// The line that has no end yet.
    rest: Vec<u8>,
    rest_since: Option<Instant>,
    /// True when the unfinished line was taken for whole.
    rest_taken: bool,
    packed: bool,
    /// Counts replacements, so that each has an epoch of its own.
    generation: u64,
    subagents: Subagents,
}

/// Reads a session that was found, to be looked at once.
pub(crate) fn read_once(found: &Found) -> Result<View, FoundError> {
    let source = Source::file(&found.file.path)?;
    let mut subagents = Subagents::known(&found.subagents, &source.bytes);
    let mut view = View::new(Key::default(), source.detect());
    for line in source.lines() {
        view.push_with(record(view.end(), line), &mut subagents);
    }
    Ok(view)
}

/// What became of a look at the file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Nothing is new.
    Same,
    /// Lines were added to the view.
    Grown,
    /// It is another file now, or a shorter one: it must be read again.
    Replaced,
    /// It is gone.
    Gone,
}

impl Follow {
    /// Reads a file as it is now.
    pub(crate) fn open(path: &Path, generation: u64) -> Result<(Follow, View), FoundError> {
        let source = Source::file(path)?;
        let metadata = fs::metadata(path).ok();
        let size = metadata.as_ref().map_or(0, fs::Metadata::len);
        let format = source.detect();
        let packed = size != source.bytes.len() as u64 && is_packed(path);
        let subagents =
            format.map(|format| Subagents::of(Some(path), format, &source.bytes)).unwrap_or_default();
        let mut follow = Follow {
            path: path.to_owned(),
            file: None,
            identity: metadata.as_ref().map_or(0, identity),
            modified: metadata.and_then(|metadata| metadata.modified().ok()),
            read: if packed { size } else { source.bytes.len() as u64 },
            mark: last_bytes(&source.bytes).to_vec(),
            rest: Vec::new(),
            rest_since: None,
            rest_taken: false,
            packed,
            generation,
            subagents,
        };
        let mut view = View::new(follow.epoch(&source.bytes), format);
        let whole =
            source.bytes.len() - source.bytes.rsplit(|byte| *byte == b'\n').next().map_or(0, <[u8]>::len);
        for line in Splitter::split(&source.bytes.slice(..whole)) {
            let record = record(view.end(), line);
            view.push_with(record, &mut follow.subagents);
        }
        follow.rest = source.bytes[whole..].to_vec();
        if !follow.rest.is_empty() && is_whole(&follow.rest) {
            follow.take_rest(&mut view);
        } else if !follow.rest.is_empty() {
            follow.rest_since = Some(clock::moment());
        }
        Ok((follow, view))
    }

    /// Takes in what was added to the file since the last look.
    pub(crate) fn look(&mut self, view: &mut View) -> Look {
        let Ok(metadata) = fs::metadata(&self.path) else { return Look::Gone };
        if identity(&metadata) != self.identity || metadata.len() < self.read {
            return Look::Replaced;
        }
        if self.packed {
            return if metadata.len() == self.read { Look::Same } else { Look::Replaced };
        }
        let modified = metadata.modified().ok();
        let written = std::mem::replace(&mut self.modified, modified) != modified;
        if metadata.len() == self.read {
            return if written && !self.holds(view) { Look::Replaced } else { self.settle(view) };
        }
        match self.read_more(view, metadata.len()) {
            Ok(look) => look,
            Err(_) => Look::Gone,
        }
    }

    /// Takes in what the session's subagents have done since the last look.
    pub(crate) fn look_at_subagents(&mut self, view: &mut View) -> Look {
        match view.go_on(&mut self.subagents) {
            Growth::None => Look::Same,
            Growth::Told => Look::Grown,
            Growth::Replaced => Look::Replaced,
        }
    }

    /// True when the file still says what was read of it: as long as before is not the same as before.
    fn holds(&self, view: &View) -> bool {
        let Ok(source) = Source::file(&self.path) else { return false };
        let rest = Line::new(Bytes::copy_from_slice(&self.rest));
        let rest = (!self.rest.is_empty()).then(|| rest.bytes().clone());
        let known = view.records().iter().map(|record| record.body.clone());
        // It may have grown meanwhile, which the next look sees.
        let Some(read) = usize::try_from(self.read).ok().filter(|read| *read <= source.bytes.len()) else {
            return false;
        };
        Splitter::split(&source.bytes.slice(..read)).map(|line| line.bytes().clone()).eq(known.chain(rest))
    }

    fn read_more(&mut self, view: &mut View, size: u64) -> std::io::Result<Look> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(File::open(&self.path)?),
        };
        let start = self.read - self.mark.len() as u64;
        file.seek(SeekFrom::Start(start))?;
        let mut piece = Vec::with_capacity((size - start).min(PIECE_BYTES) as usize);
        file.take(PIECE_BYTES).read_to_end(&mut piece)?;
        let metadata = file.metadata()?;
        if identity(&metadata) != self.identity {
            return Ok(Look::Replaced);
        }
        // What was written until now has been read: it is no reason to compare all of it.
        self.modified = metadata.modified().ok();
        let Some(mut new) = piece.strip_prefix(self.mark.as_slice()) else { return Ok(Look::Replaced) };
        self.read += new.len() as u64;
        self.mark = last_bytes(&piece).to_vec();
        if self.rest_taken {
            match new.first() {
                // The line went on after it was taken for whole.
                Some(byte) if *byte != b'\n' && *byte != b'\r' => return Ok(Look::Replaced),
                Some(_) => {
                    let end = new.iter().position(|byte| *byte == b'\n').map_or(new.len(), |end| end + 1);
                    new = &new[end..];
                    self.rest_taken = false;
                }
                None => return Ok(Look::Same),
            }
        }
        self.rest.extend_from_slice(new);
        let mut grown = false;
        if let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') {
            let tail = self.rest.split_off(end + 1);
            let lines = Bytes::from(std::mem::replace(&mut self.rest, tail));
            for line in Splitter::split(&lines) {
                self.subagents.hear(&line);
                view.push_with(record(view.end(), line), &mut self.subagents);
                grown = true;
            }
        }
        self.rest_since = (!self.rest.is_empty()).then(clock::moment);
        Ok(if grown { Look::Grown } else { Look::Same })
    }

    /// A line that stays without an end is shown all the same: nothing more may come.
    fn settle(&mut self, view: &mut View) -> Look {
        match self.rest_since {
            Some(since) if since.elapsed() >= PATIENCE => {
                self.take_rest(view);
                Look::Grown
            }
            _ => Look::Same,
        }
    }

    fn take_rest(&mut self, view: &mut View) {
        let line = Line::new(Bytes::from(std::mem::take(&mut self.rest)));
        view.push_with(record(view.end(), line), &mut self.subagents);
        self.rest_since = None;
        self.rest_taken = true;
    }

    /// How much of the file is in the view: for a reader that goes on from here.
    pub(crate) fn read_bytes(&self) -> u64 {
        self.read - self.rest.len() as u64
    }

    /// Reads the file anew, under a new epoch.
    pub(crate) fn reopen(&self) -> Result<(Follow, View), FoundError> {
        Follow::open(&self.path, self.generation + 1)
    }

    /// The same for the same file after a restart. Work of subagents is folded in where it was found, which another reading
    /// need not repeat: such a session has another epoch each time.
    fn epoch(&self, bytes: &[u8]) -> Key {
        static READINGS: AtomicU64 = AtomicU64::new(1);
        let start = &bytes[..bytes.len().min(512)];
        let first = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let hash = first.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        let (process, reading) = match self.subagents.is_empty() {
            true => (0, 0),
            false => (std::process::id(), READINGS.fetch_add(1, Ordering::Relaxed)),
        };
        format!("{:x}-{hash:x}-{:x}-{process:x}-{reading:x}", self.identity, self.generation).into()
    }
}

fn last_bytes(bytes: &[u8]) -> &[u8] {
    &bytes[bytes.len().saturating_sub(MARK_BYTES)..]
}

fn record(seq: u64, line: Line) -> Record {
    Record { seq, at: None, origin: Origin::Agent, body: line.bytes().clone() }
}

/// True when a line without its end is sound JSON already.
fn is_whole(line: &[u8]) -> bool {
    let mut reader = Reader::new(line);
    reader.skip();
    reader.finish().is_none()
}

pub(crate) fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "zst" || ending == "gz")
}

#[cfg(unix)]
fn identity(metadata: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn identity(_metadata: &fs::Metadata) -> u64 {
    0
}

#[cfg(test)]
pub(crate) mod tests;
