//! Found files outlive the agents' own clean-up: what they hold is kept, compressed, and read back when they are gone.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use parlor_dialect::{Format, Splitter};
use parlor_found::Found;
use parlor_model::line::Line;
use parlor_model::record::{Origin, Record};

use crate::actor::Home;
use crate::error::HubError;
use crate::hub::Inner;
use crate::view::View;

/// How much is kept at once.
const PIECE_BYTES: u64 = 16 << 20;

/// Keeps what a file has beyond what is kept of it, whole lines only. Packed files are kept by their agents.
pub(crate) fn keep(inner: &Inner, found: &Found, kept: u64) -> Result<(), HubError> {
    let path = found.file.path.to_string_lossy().into_owned();
    if path.ends_with(".zst") || path.ends_with(".gz") {
        return Ok(());
    }
    let size = fs::metadata(&found.file.path).map_or(0, |metadata| metadata.len());
    let mut from = if size < kept { 0 } else { kept };
    while from < size {
        let Some(piece) = read_lines(&found.file.path, from) else { break };
        inner.store.archive(&path, from, &piece)?;
        from += piece.len() as u64;
    }
    Ok(())
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
    let path = inner.store.archived()?.into_iter().map(|archived| archived.path).find(|path| id_in(path, id));
    let path = path.ok_or_else(missing)?;
    let bytes = inner.store.read_archive(&path)?.ok_or_else(missing)?;
    let head: Vec<Line> = Splitter::split(&bytes).filter(|line| !line.is_blank()).take(20).collect();
    let mut view = View::new(format!("archive-{}", bytes.len()).into(), Format::detect(&head));
    for line in Splitter::split(&bytes) {
        view.push(Record { seq: view.end(), at: None, origin: Origin::Agent, body: line.bytes().clone() });
    }
    Ok((Home::Archive, view))
}

fn id_in(path: &str, id: &str) -> bool {
    Path::new(path).file_name().is_some_and(|name| name.to_string_lossy().contains(id))
}
