//! Found files outlive the agents' own clean-up: what they hold is kept, compressed, and read back when they are gone.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use bytes::Bytes;
use parlor_dialect::{Format, Splitter};
use parlor_found::{Found, Subagents, is_subagent_of, note_beside, owner_named};
use parlor_model::line::Line;
use parlor_model::record::{Origin, Record};

use crate::actor::Home;
use crate::error::HubError;
use crate::hub::Inner;
use crate::view::View;

/// How much is kept at once.
const PIECE_BYTES: u64 = 16 << 20;

/// How much of the end of what is kept is held against the file before more is added.
const MARK_BYTES: u64 = 64 << 10;

/// Keeps what the files of a session have beyond what is kept of them, of which these are the lengths.
pub(crate) fn keep(inner: &Inner, found: &Found, kept: &HashMap<String, u64>) -> Result<(), HubError> {
    for file in found.files() {
        keep_file(inner, &file.path, kept)?;
    }
    for note in found.subagents.iter().filter_map(|file| note_beside(&file.path)) {
        let path = note.to_string_lossy().into_owned();
        // One that was read while it was being written is read again.
        if let Ok(bytes) = fs::read(&note)
            && kept.get(&path) != Some(&(bytes.len() as u64))
        {
            inner.store.archive(&path, 0, &bytes)?;
        }
    }
    Ok(())
}

/// Keeps whole lines only. Packed files are kept by their agents.
fn keep_file(inner: &Inner, file: &Path, kept: &HashMap<String, u64>) -> Result<(), HubError> {
    let path = file.to_string_lossy().into_owned();
    if path.ends_with(".zst") || path.ends_with(".gz") {
        return Ok(());
    }
    let size = fs::metadata(file).map_or(0, |metadata| metadata.len());
    let mut from = kept.get(&path).copied().filter(|kept| *kept <= size).unwrap_or(0);
    // A file that was written anew, and longer, is not what was kept going on: it begins another version.
    if from > 0
        && from < size
        && !inner.store.archive_ends_as(&path, &before(file, from).unwrap_or_default())?
    {
        from = 0;
    }
    while from < size {
        let Some(piece) = read_lines(file, from) else { break };
        inner.store.archive(&path, from, &piece)?;
        from += piece.len() as u64;
    }
    Ok(())
}

/// The bytes of a file before a place.
fn before(path: &Path, end: u64) -> Option<Vec<u8>> {
    let mut file = File::open(path).ok()?;
    let start = end.saturating_sub(MARK_BYTES);
    file.seek(SeekFrom::Start(start)).ok()?;
    let mut piece = Vec::new();
    file.take(end - start).read_to_end(&mut piece).ok()?;
    Some(piece)
}

/// Whole lines from a place in a file on.
fn read_lines(path: &Path, from: u64) -> Option<Vec<u8>> {
    let mut file = File::open(path).ok()?;
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut piece = Vec::new();
    file.take(PIECE_BYTES).read_to_end(&mut piece).ok()?;
    let end = piece.iter().rposition(|byte| *byte == b'\n')? + 1;
    piece.truncate(end);
    Some(piece)
}

/// A session whose file is gone.
pub(crate) fn read(inner: &Inner, id: &str) -> Result<(Home, View), HubError> {
    let missing = || {
        HubError::NotFound(format!(
            "there is no session `{}`; look at the list for what there is",
            parlor_found::plain(id)
        ))
    };
    let paths: Vec<String> = inner.store.archived()?.into_iter().map(|archived| archived.path).collect();
    let path = paths.iter().find(|path| id_in(path, id)).ok_or_else(missing)?;
    let bytes = inner.store.read_archive(path)?.ok_or_else(missing)?;
    let mut subagents = subagents(inner, Path::new(path), &paths, &bytes)?;
    let head: Vec<Line> = Splitter::split(&bytes).filter(|line| !line.is_blank()).take(20).collect();
    let mut view = View::new(format!("archive-{}", bytes.len()).into(), Format::detect(&head));
    for line in Splitter::split(&bytes) {
        let record = Record { seq: view.end(), at: None, origin: Origin::Agent, body: line.bytes().clone() };
        view.push_with(record, &mut subagents);
    }
    Ok((Home::Archive, view))
}

/// What was kept of a session's subagents.
fn subagents(inner: &Inner, session: &Path, paths: &[String], bytes: &Bytes) -> Result<Subagents, HubError> {
    let (own, id) = (session.with_extension(""), session.file_stem().and_then(|stem| stem.to_str()));
    let mut files = Vec::new();
    for path in paths {
        let file = Path::new(path);
        let is_inside = file.starts_with(&own);
        if (is_inside || is_subagent_of(file, session))
            && let Some(kept) = inner.store.read_archive(path)?
            && (is_inside || owner_named(&kept).as_deref() == id)
        {
            files.push((file.to_owned(), kept));
        }
    }
    Ok(Subagents::kept(files, bytes))
}

fn id_in(path: &str, id: &str) -> bool {
    Path::new(path).file_name().is_some_and(|name| name.to_string_lossy().contains(id))
}
