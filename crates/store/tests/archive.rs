//! The archive gives back the bytes it was given, also of versions that were overwritten.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use parlor_store::{Store, StoreError};

#[test]
fn a_file_that_grows_and_begins_anew_is_kept_whole() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let line = |index: usize| format!("{{\"type\":\"user\",\"index\":{index},\"text\":\"héllo\"}}\n");
    let mut first = String::new();
    for index in 0..5000 {
        store.archive("/a.jsonl", first.len() as u64, line(index).as_bytes()).unwrap();
        first.push_str(&line(index));
    }
    assert!(store.read_archive("/a.jsonl").unwrap().unwrap() == first);

    let big: Vec<u8> =
        (0..5_000_000_u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    store.archive("/a.jsonl", 0, &big).unwrap();
    store.archive("/a.jsonl", big.len() as u64, b"tail").unwrap();
    store.archive("/empty", 0, b"").unwrap();
    store.archive("/empty", 0, b"").unwrap();
    drop(store);

    let store = Store::open(folder.path()).unwrap();
    let listed: Vec<_> =
        store.archived().unwrap().into_iter().map(|file| (file.path, file.version, file.length)).collect();
    assert_eq!(listed, [("/a.jsonl".to_owned(), 2, 5_000_004), ("/empty".to_owned(), 1, 0)]);
    let again = store.read_archive("/a.jsonl").unwrap().unwrap();
    assert!(again[..5_000_000] == big && again[5_000_000..] == *b"tail");
    assert!(store.read_archive_version("/a.jsonl", 1).unwrap().unwrap() == first);
    assert_eq!(store.archived_versions("/a.jsonl").unwrap().len(), 2);
    assert_eq!(store.read_archive("/empty").unwrap().unwrap().len(), 0);
    assert!(store.read_archive("/nobody").unwrap().is_none());
    assert!(store.read_archive_version("/a.jsonl", 3).unwrap().is_none());
}

#[test]
fn the_end_of_what_is_kept_can_be_held_against_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    store.archive("/a", 0, &vec![b'x'; 1024 * 1024]).unwrap();
    store.archive("/a", 1024 * 1024, b"the end").unwrap();
    for (bytes, same) in
        [("end", true), ("xxthe end", true), ("", true), ("And", false), ("xxthe END", false)]
    {
        assert_eq!(store.archive_ends_as("/a", bytes.as_bytes()).unwrap(), same, "{bytes}");
    }
    assert!(!store.archive_ends_as("/nobody", b"x").unwrap());
}

#[test]
fn a_gap_is_refused_and_says_where_to_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    assert!(matches!(store.archive("/a", 5, b"x"), Err(StoreError::Gap { expected: 0, given: 5, .. })));
    store.archive("/a", 0, b"0123").unwrap();
    for wrong in [2, 5] {
        let error = store.archive("/a", wrong, b"x").unwrap_err();
        assert!(error.to_string().contains("continue at 4"), "{error}");
    }
    assert!(store.read_archive("/a").unwrap().unwrap() == "0123");
}

#[test]
fn lines_that_come_one_by_one_are_compressed_together() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let mut length = 0;
    for index in 0..2000 {
        let line = format!(
            "{{\"type\":\"assistant\",\"uuid\":\"{index:032x}\",\"message\":{{\"role\":\"assistant\"}}}}\n"
        );
        store.archive("/a", length, line.as_bytes()).unwrap();
        length += line.len() as u64;
    }
    drop(store);
    let size = std::fs::metadata(folder.path().join("archive.db")).unwrap().len();
    assert!(size < length / 2, "{size} bytes for {length}");
}
