//! Files as shared bytes, mapped instead of copied where they are large. The one place with `unsafe`; it must
//! not look into what it maps.

use std::fs::File;
use std::io::{self, Read};

use bytes::Bytes;

/// Files up to this size are read: a copy is cheap then, and it cannot change or vanish under the reader.
pub const READ_LIMIT: u64 = 64 * 1024 * 1024;

/// The bytes of a whole file. Slices of them share the copy or the map.
pub fn bytes(file: &File) -> io::Result<Bytes> {
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() <= READ_LIMIT {
        let mut content = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0).saturating_add(1));
        let mut file = file;
        file.read_to_end(&mut content)?;
        return Ok(Bytes::from(content));
    }
    // SAFETY: the map is read-only and private. A writer that changes bytes in place could make two reads of
    // the same byte differ, which readers of raw records must bear with anyway: nothing here relies on what
    // the bytes are. A file that is cut while it is mapped ends the process with SIGBUS; session files only
    // grow, and only those beyond `READ_LIMIT`, which could not be copied in reasonable time and memory, are
    // mapped at all.
    let map = unsafe { memmap2::MmapOptions::new().map_copy_read_only(file)? };
    Ok(Bytes::from_owner(map))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_file_beyond_the_limit_is_mapped_and_reads_the_same() {
        let path = std::env::temp_dir().join(format!("parlor-map-{}", std::process::id()));
        let mut file = File::create(&path).unwrap();
        file.write_all(b"start").unwrap();
        // A hole: large on paper, nothing on disk.
        file.set_len(READ_LIMIT + 10).unwrap();
        let bytes = bytes(&File::open(&path).unwrap()).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(bytes.len() as u64, READ_LIMIT + 10);
        assert!(bytes.starts_with(b"start\0"));
        assert_eq!(bytes.slice(bytes.len() - 3..).as_ref(), &[0, 0, 0]);
    }

    #[test]
    fn a_small_file_is_read() {
        let path = std::env::temp_dir().join(format!("parlor-read-{}", std::process::id()));
        std::fs::write(&path, "one\ntwo").unwrap();
        let bytes = bytes(&File::open(&path).unwrap()).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(bytes, "one\ntwo");
    }
}
